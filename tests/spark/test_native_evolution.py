"""Columns that were renamed, dropped, added or widened, over files that know nothing of it."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import coalesce
from tests.spark.events import make_events, rows
from tests.support.settings import changed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("rows_are_read")


def load(spark: "SparkSession", path: Path, version: int | None = None) -> "DataFrame":
    """The table's rows, at a version if one is given."""
    reader = spark.read.format("coalesce")
    return (reader if version is None else reader.option("version", version)).load(str(path))


def test_renamed_columns_are_found_and_still_prune(spark: "SparkSession", tmp_path: Path) -> None:
    """A rename, also of a partition column and inside a struct, costs no pruning: files, row groups and filters."""
    table = make_events(tmp_path / "events")
    expected = table.count("dt = DATE '2026-05-03' AND app = 'A'")
    table.rename_column("dt", "day")
    table.rename_column("app", "application")
    table.rename_column("k", "number")
    table.rename_column("info.b", "label")
    frame = load(spark, tmp_path / "events")
    asked = frame.where("day = DATE '2026-05-03' AND application = 'A'")
    assert asked.count() == expected > 0
    assert {row.number for row in frame.where("info.label = 'b1' AND number < 20").collect()} == {
        i for i in range(20) if i % 2 and i % 13
    }
    reopened = coalesce.open(tmp_path / "events", spark=spark)
    asked.collect()
    report = reopened.last_scan()
    assert report is not None
    assert report.stages[-1].files < report.stages[0].files
    assert load(spark, tmp_path / "events", version=3).columns[0] == "dt"


def test_a_name_used_again_never_shows_the_old_values(spark: "SparkSession", tmp_path: Path) -> None:
    """Drop a column and add another one of that name: old rows hold its default, and filters agree."""
    table = make_events(tmp_path / "events", writes=1)
    table.drop_column("s")
    table.add_column("s", "string")
    table.add_column("n", "int32", default=7)
    frame = load(spark, tmp_path / "events")
    assert frame.where("s IS NOT NULL").count() == 0
    assert frame.where("s = 's1'").count() == 0
    assert frame.where("n = 7").count() == 150
    assert frame.where("n IS NULL OR n <> 7").count() == 0
    new = {"dt": [date(2026, 5, 1)], "app": ["A"], "k": [1000], "s": ["new"], "n": pa.array([8], pa.int32())}
    table.append(pa.table(new))
    frame = load(spark, tmp_path / "events")
    assert [(row.k, row.n) for row in frame.where("s = 'new'").collect()] == [(1000, 8)]
    assert frame.where("n > 7").count() == 1


def test_defaults_of_every_type(spark: "SparkSession", tmp_path: Path) -> None:
    """What rows older than a column hold is the same to Spark and to Arrow."""
    table = coalesce.create(tmp_path / "t", pa.schema([("k", pa.int64())]))
    table.append(pa.table({"k": [1]}))
    defaults = {
        "boolean": True, "int8": -3, "int16": 300, "int32": 70000, "int64": 2**40, "float": 1.5, "double": -0.25,
        "string": "it's \\ \n\"x\"", "binary": b"\x00\xff", "date": "2026-05-17",
        "timestamp": "2026-05-17T12:00:00.123456Z", "timestamp_ntz": "2026-05-17T12:00:00", "decimal(10,2)": "12.50",
    }  # fmt: skip
    for number, (type_, value) in enumerate(defaults.items()):
        table.add_column(f"c{number}", type_, default=value)
    ours = load(spark, tmp_path / "t").toArrow().to_pylist()
    assert ours == table.scan().to_arrow().to_pylist()
    assert all(value is not None for value in ours[0].values())


def test_widened_types(spark: "SparkSession", tmp_path: Path) -> None:
    """Old files hold the narrow type and new ones the wide: values, filters and pruning see one column."""
    narrow = pa.schema(
        [("p", pa.int32()), ("i", pa.int32()), ("f", pa.float32()), ("d", pa.decimal128(5, 2)), ("b", pa.int8())]
    )
    table = coalesce.create(tmp_path / "t", narrow, partition_by=["p"])
    table.append(
        pa.table(
            {"p": [1, 2, 3], "i": [1, 2, None], "f": [1.5, 2.5, None], "d": [Decimal("1.25"), None, Decimal("-9.99")],
             "b": [1, 2, 3]}, schema=narrow
        )
    )  # fmt: skip
    for name, type_ in [("p", "int64"), ("i", "int64"), ("f", "double"), ("d", "decimal(12,2)"), ("b", "int32")]:
        table.widen_column(name, type_)
    table.append(
        pa.table(
            {"p": [2**40], "i": [2**41], "f": [1e300], "d": [Decimal("1234567.89")], "b": pa.array([7], pa.int32())}
        )
    )
    frame = load(spark, tmp_path / "t")
    assert frame.orderBy("p").toArrow().to_pylist() == table.scan().to_arrow().sort_by("p").to_pylist()
    for where, expected in [
        ("p = 2", 1), ("p > 2", 2), ("i = 2", 1), ("i > 1000", 1), ("i IN (1, 2199023255552)", 2), ("f = 2.5D", 1),
        ("f > 1e100", 1), ("d = 1.25", 1), ("d > 1000", 1), ("b = 7", 1), ("b < 3", 2), ("p IN (1, 1099511627776)", 2),
    ]:  # fmt: skip
        assert frame.where(where).count() == expected, where


def test_mixed_specs(spark: "SparkSession", tmp_path: Path) -> None:
    """Files of three specs side by side: each is judged by its own, and a column constant in some is read in all."""
    table = make_events(tmp_path / "events", partition_by=("dt", "app"), writes=1)
    table.evolve(add="bucket(4, s)", drop="dt")
    table.append(rows(150, 150))
    table.evolve(add="r")
    table.append(rows(300, 150))
    frame = load(spark, tmp_path / "events")
    for where in ["dt = DATE '2026-05-03'", "app = 'A'", "s = 's3'", "r = 1", "dt IS NULL", "r = 2 AND s = 's4'"]:
        assert frame.where(where).count() == table.count(where) > 0, where


def test_nested_columns_are_pruned(spark: "SparkSession", tmp_path: Path) -> None:
    """Of a struct only the members asked for are read, by their stored names after a rename."""
    table = make_events(tmp_path / "events", writes=1)
    table.rename_column("info.a", "first")
    frame = load(spark, tmp_path / "events").select("info.first").where("info.first = 2")
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "ReadSchema: struct<info:struct<first:int>>" in plan
    assert frame.count() == len([i for i in range(150) if i % 5 == 2 and i % 13])


def test_bounds_of_renamed_columns_are_compared_exactly(spark: "SparkSession", tmp_path: Path) -> None:
    """Row groups of a single value, which is the literal itself, the one below or the one above it."""
    schema = pa.schema([("p", pa.int64()), ("n", pa.int64())])
    table = coalesce.create(tmp_path / "t", schema, partition_by=["bucket(64, p)"])
    table.append(pa.table({"p": [1, 2, 3, 4], "n": pa.array([4, 5, 6, None], pa.int64())}, schema=schema))
    assert len(table.files()) == 4
    table.rename_column("n", "m")
    frame = load(spark, tmp_path / "t")
    expected = {
        "m = 5": [5],
        "m <=> 5": [5],
        "m > 5": [6],
        "m >= 5": [5, 6],
        "m < 5": [4],
        "m <= 5": [4, 5],
        "NOT (m = 5)": [4, 6],
        "NOT (m > 5)": [4, 5],
        "m IN (4, 6)": [4, 6],
        "NOT (m >= 5 AND m <= 5)": [4, 6],
        "m < 5 OR m > 5": [4, 6],
    }
    found = {where: sorted(row.m for row in frame.where(f"({where}) AND p > 0").collect()) for where in expected}
    assert found == expected
    assert [row.p for row in frame.where("m IS NULL").collect()] == [4]


ODD_NAMES = [
    "größe", "r-x", "123", "a`b", "a ", " a", "a\n", "a--b", "a/*b*/", "a.b", "select", "`a`", "`x y`",
]  # fmt: skip


@pytest.mark.parametrize("renamed", [False, True])
@pytest.mark.parametrize("name", ODD_NAMES)
def test_filters_find_columns_of_odd_names(spark: "SparkSession", tmp_path: Path, name: str, renamed: bool) -> None:
    """Beside columns whose names are nearly the same, hold less, and have no NaN."""
    ones = pa.array([1.0] * 20)
    hundreds = pa.array([100.0] * 19 + [float("nan")])
    rows = pa.table({"p": [i % 4 for i in range(20)], "a": ones, "x y": ones, name: hundreds, "z": ones})
    table = coalesce.create(tmp_path / "t", rows.schema, partition_by=["p"], rule=coalesce.small("p"))
    table.append(rows)
    if renamed:
        table.rename_column("z", "other")
    frame, quoted = load(spark, tmp_path / "t"), f"`{name.replace('`', '``')}`"
    expected = {
        "{} = 100": 19,
        "{} > 50": 20,
        "{} IN (100, 101)": 19,
        "NOT ({} <= 100)": 1,
        "{} = 1": 0,
        "{} IS NULL": 0,
    }
    found = {where: len(frame.where(f"{where.format(quoted)} AND p >= 0").collect()) for where in expected}
    assert found == expected
    spark.sql(f"DELETE FROM coalesce.`{tmp_path}/t` WHERE {quoted} > 100 AND p >= 0")
    assert table.refresh().count() == 19


def test_names_in_filters_are_not_quoted_whatever_a_setting_lists(spark: "SparkSession", tmp_path: Path) -> None:
    """Spark quotes them for the sources of a list; ours cannot be put on it."""
    rows = pa.table({"p": [1, 2], "x y": [5, 6], "z": [0, 0]})
    table = coalesce.create(tmp_path / "t", rows.schema, partition_by=["p"], rule=coalesce.small("p"))
    table.append(rows)
    table.rename_column("z", "other")
    listed = {"spark.sql.optimizer.nestedPredicatePushdown.supportedFileSources": "parquet,coalesce,orc"}
    with changed(spark, listed):
        assert [row.p for row in load(spark, tmp_path / "t").where("`x y` > 5").collect()] == [2]


@pytest.mark.parametrize("batches", ["true", "false"])
@pytest.mark.parametrize("prunes", ["true", "false"])
def test_defaults_are_shown_whatever_reader_there_is(
    spark: "SparkSession", tmp_path: Path, batches: str, prunes: str
) -> None:
    """Spark's own tables lose theirs row by row in a session that prunes nothing inside columns."""
    table = make_events(tmp_path / "events", writes=1)
    table.add_column("n", "int32", default=7)
    names = {
        "spark.sql.parquet.enableVectorizedReader": batches,
        "spark.sql.optimizer.nestedSchemaPruning.enabled": prunes,
    }
    with changed(spark, names):
        frame = load(spark, tmp_path / "events")
        assert {row.n for row in frame.select("n").collect()} == {7}
        assert len(frame.where("n = 7").collect()) == frame.where("n = 7").count() == 150
    table.add_column("raw", "binary", default=b"\x00z")
    with changed(spark, names):
        frame = load(spark, tmp_path / "events")
        assert {(row.n, bytes(row.raw)) for row in frame.select("n", "raw").collect()} == {(7, b"\x00z")}
        assert len(frame.where("n = 7").collect()) == 150
