"""Files that lack their partition columns, as a Hive-style directory has them: the entries know the values."""

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import coalesce
from coalesce.model.datafile import DataFile
from coalesce.model.version import MATERIALIZE_PARTITION_COLUMNS
from coalesce.table.table import Table, core_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("rows_are_read")

SCHEMA = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("k", pa.int64()), ("s", pa.string())])
DAY = date(2026, 5, 1).toordinal() - date(1970, 1, 1).toordinal()


def adopt(table: Table, root: Path, apps: list[str | None], days: int) -> None:
    """Commit files without `dt` and `app`, one for each pair, as they would lie in a Hive-style directory."""
    files = []
    for number, (day, app) in enumerate((DAY + d, a) for d in range(days) for a in apps):
        path = f"dt={day}/app={'__HIVE_DEFAULT_PARTITION__' if app is None else app}/part-0.parquet"
        (root / path).parent.mkdir(parents=True)
        pq.write_table(pa.table({"k": [number * 10, number * 10 + 1], "s": ["x", "y"]}), root / path)
        size = (root / path).stat().st_size
        files.append(
            DataFile(
                path=path, spec_id=0, rows=2, bytes=size, physical_key=(day, app), tuples=((day, app),), complete=True
            )
        )
    transaction = core_of(table).transaction("adopt")
    transaction.add(files)
    # The format's word for it: not every file holds the columns its tuples are made of.
    transaction.change(
        lambda head: replace(head, writer_features=head.writer_features - {MATERIALIZE_PARTITION_COLUMNS})
    )
    core_of(table).commit(transaction)


@pytest.fixture
def adopted(tmp_path: Path) -> Table:
    """Three days of three apps, eighteen rows."""
    table = coalesce.create(tmp_path / "t", SCHEMA, partition_by=["dt", "app"], rule=coalesce.small("app"))
    adopt(table, tmp_path / "t", ["A", "B", None], 3)
    return table


def test_values_come_from_the_entries(spark: "SparkSession", adopted: Table) -> None:
    """While every file has one day and one app, both are partition values to Spark."""
    frame = spark.read.format("coalesce").load(adopted.location)
    assert frame.orderBy("k").toArrow().to_pylist() == adopted.scan().to_arrow().sort_by("k").to_pylist()
    assert frame.where("app = 'A'").count() == 6
    assert frame.where("app IS NULL AND dt = DATE '2026-05-02'").count() == 2
    assert frame.groupBy("app").count().count() == 3


def test_shared_files_beside_them(spark: "SparkSession", adopted: Table) -> None:
    """Rows appended to shared files hold `app`; the adopted files still do not; a query reads both right."""
    adopted.append(
        pa.table(
            {
                "dt": [date(2026, 5, 1), date(2026, 5, 1), date(2026, 5, 9)],
                "app": ["A", "C", None],
                "k": [1000, 1001, 1002],
                "s": ["x", "z", "z"],
            },
            schema=SCHEMA,
        )
    )
    frame = spark.read.format("coalesce").load(adopted.location)
    assert frame.orderBy("k").toArrow().to_pylist() == adopted.scan().to_arrow().sort_by("k").to_pylist()
    for where in [
        "app = 'A'",
        "app IS NULL",
        "app = 'C'",
        "s = 'x' AND app = 'A'",
        "dt = DATE '2026-05-01' AND app <> 'B'",
        "k > 100 OR app = 'B'",
        "dt > DATE '2026-05-02'",
    ]:
        assert frame.where(where).count() == adopted.count(where) > 0, where
    assert frame.where("lower(app) = 'a'").count() == 7
    assert {(row.app, row.c) for row in frame.groupBy("app").agg({"k": "count"}).toDF("app", "c").collect()} == {
        ("A", 7),
        ("B", 6),
        ("C", 1),
        (None, 7),
    }
    assert frame.select("s").where("app = 'A'").distinct().count() == 2
    assert frame.alias("x").join(frame.alias("y"), ["dt", "app"]).where("x.k = 1000").count() == 3
    frame.createOrReplaceTempView("mixed")
    both = spark.sql("SELECT count(*) AS c FROM mixed WHERE app IN (SELECT app FROM mixed WHERE k >= 1000)").collect()
    assert both[0].c == 8
    assert len(frame.inputFiles()) == 11


def test_only_the_columns_asked_for_are_read(spark: "SparkSession", adopted: Table) -> None:
    """Reading in parts keeps column pruning, file pruning and filters on row groups."""
    adopted.append(
        pa.table({"dt": [date(2026, 5, 1)] * 2, "app": ["A", "C"], "k": [1, 2], "s": ["x", "y"]}, schema=SCHEMA)
    )
    read = spark.read.format("coalesce").load(adopted.location)
    frame = read.where("app IN ('A', 'C') AND s = 'y'").select("k")
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert plan.count("FileScan coalesce") == 2
    assert "ReadSchema: struct<app:string,k:bigint,s:string>" in plan
    assert "4 of 10 files" in plan
    assert sorted(row.k for row in frame.collect()) == [1, 2, 31, 61]
    frame = read.where("app = 'C' AND s = 'y'").select("k")
    assert frame._jdf.queryExecution().executedPlan().toString().count("FileScan coalesce") == 1
    assert [row.k for row in frame.collect()] == [2]


def test_names_in_any_case_and_renamed(spark: "SparkSession", adopted: Table) -> None:
    """Adopted columns are found by their physical names, whatever they are called now."""
    adopted.rename_column("s", "subject")
    adopted.rename_column("app", "application")
    frame = spark.read.format("coalesce").load(adopted.location)
    assert frame.where("subject = 'x' AND application = 'A'").count() == 3
    adopted.append(
        pa.table({"dt": [date(2026, 5, 1)] * 2, "application": ["A", "C"], "k": [1, 2], "subject": ["x", "x"]})
    )
    frame = spark.read.format("coalesce").load(adopted.location)
    assert frame.where("subject = 'x' AND application = 'A'").count() == 4
