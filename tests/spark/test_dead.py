"""Rows that were removed and still lie in data files: Spark leaves them out of whatever it reads, or fails."""

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import coalesce
from coalesce.arrow import encode
from coalesce.model.datafile import DataFile
from coalesce.model.version import MATERIALIZE_PARTITION_COLUMNS
from coalesce.table.table import Table, core_of
from tests.checker import check_files
from tests.spark.events import DAYS, SCHEMA, make_events, rows
from tests.spark.queries import fingerprint, query
from tests.spark.test_compact import facts
from tests.support.engines import by_jobs
from tests.support.examples import examples
from tests.support.order import forget_order
from tests.support.settings import INTERPRETED, changed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("rows_are_read")

MARK = {"remove.by": "mark"}
SHORT = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("k", pa.int64())])
DAY = date(2026, 5, 1)


def load(spark: "SparkSession", table: Table, **options: object) -> "DataFrame":
    """The table, natively."""
    reader = spark.read.format("coalesce")
    for name, value in options.items():
        reader = reader.option(name, str(value))
    return reader.load(table.location)


def plan_of(frame: "DataFrame") -> str:
    """The plan that is run, as text."""
    return str(frame._jdf.queryExecution().executedPlan().toString())


def keys(frame: "DataFrame") -> list[int]:
    """The keys of its rows, sorted."""
    return sorted(row.k for row in frame.select("k").collect())


def short(path: Path, apps: list[str | None], count: int, **properties: str) -> Table:
    """A table of one shared file: `count` rows of some apps, in turn, all of one day."""
    table = coalesce.create(
        path, SHORT, partition_by=["dt", "app"], rule=coalesce.small("app"), properties={**MARK, **properties}
    )
    columns = {"dt": [DAY] * count, "app": [apps[i % len(apps)] for i in range(count)], "k": list(range(count))}
    table.append(pa.table(columns, schema=SHORT))
    assert len(table.files()) == 1
    return table


def removed(table: Table) -> int:
    """How many rows its files hold that it has no more."""
    return table.state.dead_rows


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Shared files of three writes, in which tuples of several apps are dead; a fourth write has none.

    Of some of the files it is not known that their rows lie in the order of tuples.
    """
    table = make_events(tmp_path_factory.mktemp("dead") / "events")
    table.set_properties(MARK)
    table.drop_partition(app="A")
    table.drop_partition(dt=DAYS[1], app="B")
    table.delete("app IS NULL AND dt IS NULL")
    table.delete("app IN ('[#small]', '10') AND dt > DATE '2026-05-04'")
    several = sorted(file.path for file in table.files() if file.dead)
    forget_order(table, lambda file: file.path in several[::3])
    table.append(rows(450, 60))
    assert removed(table) > 40
    assert {file.ordered for file in table.files() if file.dead} == {True, False}
    return table


# --- what is shown -----------------------------------------------------------------------------------------------


def test_the_same_rows_as_without_spark(spark: "SparkSession", events: Table) -> None:
    """All rows, some columns, filters, counts with and without columns, and the estimate: dead rows are nowhere."""
    frame = load(spark, events)
    assert str(frame.orderBy("k").toArrow().to_pylist()) == str(events.scan().to_arrow().sort_by("k").to_pylist())
    for where in ["true", "app = 'A'", "app IS NULL", "dt IS NULL", "k > 200", "app = '10'", "r = 1 AND app <> 'B'"]:
        assert frame.where(where).count() == events.count(where), where
        assert keys(frame.where(where)) == sorted(events.scan(where).to_arrow().column("k").to_pylist()), where
    assert frame.columns == SCHEMA.names
    assert {row.app for row in frame.select("app").distinct().collect()} == set(events.distinct("app"))
    assert frame.select("info.b").where("app = 'A'").count() == events.count("app = 'A'")
    statistics = frame._jdf.queryExecution().optimizedPlan().stats()
    assert int(str(statistics.sizeInBytes())) <= events.state.bytes


def test_how_it_is_read(spark: "SparkSession", events: Table) -> None:
    """Compiled and vectorised; dead rows by their places, or by the tuple's column; other files are read as ever."""
    counted = plan_of(load(spark, events).selectExpr("sum(k)"))
    assert counted.count("LiveRows") == 1  # see test_live_rows.py
    assert "_tmp_metadata_row_index" not in counted
    plan = plan_of(load(spark, events).where("k > -9").selectExpr("sum(k)"))
    found = [line.partition("FileScan coalesce")[2] for line in plan.splitlines() if "FileScan" in line]
    plain, placed, told = found
    assert all("Batched: true" in line for line in found)
    assert "ReadSchema: struct<k:bigint>" in plain
    assert "ReadSchema: struct<k:bigint,_tmp_metadata_row_index:bigint>" in placed
    assert "ReadSchema: struct<app:string,k:bigint>" in told
    assert ["_file" in line for line in found] == [False, True, True]
    assert sum("OpenHashSet" in line for line in plan.splitlines()) == 1
    assert sum("binarySearch" in line for line in plan.splitlines()) == 1
    # A query that no file with dead rows is for has the plan that it would have anyway.
    alone = plan_of(load(spark, events).where("k >= 450"))
    assert alone.count("FileScan coalesce") == 1
    assert "OpenHashSet" not in alone
    assert "binarySearch" not in alone
    assert "*(1) ColumnarToRow" in alone


def test_rows_are_numbered_however_a_file_is_read(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many row groups and pages, of which a filter skips some; in pieces; row by row, and with Parquet's own filter."""
    monkeypatch.setattr(encode, "SHARED_ROW_GROUP_BYTES", 24_000)
    monkeypatch.setattr(encode, "_PAGE_BYTES", 1_000)
    table = short(tmp_path / "t", [f"app {i}" for i in range(30)], 60_000)
    for number in (0, 3, 4, 5, 11, 29):
        table.drop_partition(app=f"app {number}")
    (file,) = table.files()
    held = pq.read_metadata(tmp_path / "t" / file.path)
    assert held.num_row_groups > 3
    left = [k for k in range(60_000) if k % 30 not in (0, 3, 4, 5, 11, 29)]
    row_by_row = {"spark.sql.parquet.enableVectorizedReader": "false"}
    for settings in (
        {"spark.sql.files.maxPartitionBytes": str(file.bytes // 5)},
        row_by_row,
        {**row_by_row, "spark.sql.parquet.recordLevelFilter.enabled": "true"},
    ):
        with changed(spark, settings):
            frame = load(spark, table)
            assert keys(frame) == left, settings
            some = keys(frame.where("k > 20000 AND k < 21000 OR k = 55001"))
            assert some == [k for k in left if 20_000 < k < 21_000 or k == 55_001], settings


def test_a_column_that_has_the_name_of_sparks(spark: "SparkSession", tmp_path: Path) -> None:
    """Where Spark's reader would take a column for the numbers of rows, tuples tell which are dead."""
    name = "_tmp_metadata_row_index"
    schema = pa.schema([("app", pa.string()), (name.upper(), pa.int64()), ("k", pa.int64())])
    table = coalesce.create(tmp_path / "t", schema, partition_by=["app"], rule=coalesce.small("app"), properties=MARK)
    table.append(pa.table({"app": ["A", "B", "C"] * 4, name.upper(): [7] * 12, "k": list(range(12))}, schema))
    table.drop_partition(app="B")
    assert table.files()[0].ordered
    assert keys(load(spark, table)) == [k for k in range(12) if k % 3 != 1]


def test_hashes_that_do_not_tell(spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where live tuples have the hash of a dead one, or are too many to try, the tuples themselves are compared."""
    from coalesce.spark.source import dead

    # A hash passes over NULL: (NULL, x) and (x, NULL) have the same.
    schema = pa.schema([("a", pa.string()), ("b", pa.string()), ("k", pa.int64())])
    table = coalesce.create(
        tmp_path / "t", schema, partition_by=["a", "b"], rule=coalesce.small("a", "b"), properties=MARK
    )
    table.append(pa.table({"a": ["x", None, "y"] * 3, "b": [None, "x", "y"] * 3, "k": list(range(9))}, schema))
    forget_order(table)
    table.drop_partition(a="y")
    assert "named_struct" not in plan_of(load(spark, table))
    table.drop_partition(a="x", b=None)
    assert removed(table) == 6
    assert "named_struct" in plan_of(load(spark, table))
    assert keys(load(spark, table)) == [1, 4, 7]
    monkeypatch.setattr(dead, "_TRIED", 0)
    table.append(pa.table({"a": ["z"], "b": ["z"], "k": [9]}, schema))
    assert keys(load(spark, table)) == [1, 4, 7, 9]


def test_a_table_without_dead_rows_is_read_as_before(spark: "SparkSession", tmp_path: Path) -> None:
    """One scan, no condition of ours, no column of ours; also after what was marked is gone."""
    table = make_events(tmp_path / "t", writes=1)
    plain = load(spark, table).selectExpr("sum(k)")._jdf.queryExecution().optimizedPlan().toString()
    assert "OpenHashSet" not in plain
    assert "_file" not in plain
    assert "Union" not in plain
    table.set_properties({"remove.by": "rewrite"})
    table.drop_partition(app="A")
    assert removed(table) == 0
    again = load(spark, table).selectExpr("sum(k)")._jdf.queryExecution().optimizedPlan().toString()
    assert len(again.splitlines()) == len(plain.splitlines())


@pytest.mark.parametrize("by", ["auto", "mark", "rewrite"])
def test_every_way_to_remove(spark: "SparkSession", tmp_path: Path, by: str) -> None:
    """Whatever `remove.by` says, the rows are gone; what was marked counts as removed and not as a row."""
    table = short(tmp_path / "t", ["A", "B", "C", "D", "E"], 50, **{"remove.by": by})
    table.drop_partition(app="A")
    assert removed(table) == (0 if by == "rewrite" else 10)
    assert keys(load(spark, table)) == [k for k in range(50) if k % 5]
    table.drop_partition(app="B")
    table.delete("app = 'C'")
    assert removed(table) == {"auto": 0, "mark": 30, "rewrite": 0}[by]
    assert keys(load(spark, table)) == [k for k in range(50) if k % 5 > 2]
    table.append(pa.table({"dt": [DAY], "app": ["A"], "k": [99]}, schema=SHORT))
    assert keys(load(spark, table).where("app = 'A'")) == [99]
    table.overwrite(pa.table({"dt": [DAY], "app": ["D"], "k": [100]}, schema=SHORT), "app = 'D'")
    assert keys(load(spark, table)) == [*range(4, 50, 5), 99, 100]


def test_one_live_value_is_no_constant(spark: "SparkSession", tmp_path: Path) -> None:
    """Where all but one app of a file are dead, that app is not taken for the value of every row."""
    from coalesce.spark.source import versions
    from coalesce.spark.source.constants import by_file

    table = short(tmp_path / "t", ["A", "B", None], 30)
    table.drop_partition(app="A")
    table.drop_partition(app=None)
    assert [f.partitions for f in table.files()] == [({"dt": DAY, "app": "B"},)]
    found = versions.resolve(table.location, spark)
    (index,) = found.load(found.version.manifests)
    known = [by_file(index, found.version.spec, found.version.schema.field(n).id).known.tolist() for n in ("dt", "app")]
    assert known == [[True], [False]]
    assert [f.name for f in found.constants.everywhere] == ["dt"]
    frame = load(spark, table)
    assert frame.count() == 10
    assert [row.app for row in frame.select("app").distinct().collect()] == ["B"]
    assert frame.where("app IS NULL").count() == frame.where("app = 'A'").count() == 0


TYPES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.bool_(), [True, False, None]),
    (pa.int8(), [-128, 127, None]),
    (pa.int16(), [-1, 1, None]),
    (pa.int32(), [0, 2**31 - 1, None]),
    (pa.int64(), [-(2**63), 2**63 - 1, None]),
    (pa.string(), ["", "a b\0c'`é😀", None]),
    (pa.binary(), [b"", b"\0\xff ", None]),
    (pa.date32(), [date(1, 1, 1), date(2026, 5, 1), None]),
    (pa.timestamp("us", "UTC"), [datetime(1582, 10, 1, tzinfo=UTC), datetime(2026, 5, 1, 1, 2, 3, 4, UTC), None]),
    (pa.timestamp("us"), [datetime(1, 1, 1), datetime(2026, 5, 1, 1, 2, 3, 4), None]),
    (pa.decimal128(10, 2), [Decimal("-1.50"), Decimal("1.50"), None]),
    (pa.decimal128(38, 5), [Decimal("12345678901234567890.12345"), Decimal(0), None]),
]


def test_every_type(spark: "SparkSession", tmp_path: Path) -> None:
    """Of every type that can be marked a value, and NULL, is removed, in whatever zone the session is."""
    for number, (type_, values) in enumerate(TYPES):
        schema = pa.schema([("p", type_), ("k", pa.int64())])
        table = coalesce.create(
            tmp_path / str(number), schema, partition_by=["p"], rule=coalesce.small("p"), properties=MARK
        )
        table.append(pa.table({"p": values * 4, "k": list(range(12))}, schema=schema))
        assert len(table.files()) == 1
        for place, value in enumerate(values[1:], 1):
            table.drop_partition(p=value)
            if place == 2:  # by its tuple, where it was by its place before
                forget_order(table)
            assert removed(table) == 4 * place, type_
            left = [k for k in range(12) if k % 3 == 0 or k % 3 > place]
            with changed(spark, {"spark.sql.session.timeZone": "America/New_York"}):
                assert keys(load(spark, table)) == left, (type_, value)


def test_odd_names_and_renamed_columns(spark: "SparkSession", tmp_path: Path) -> None:
    """Names with blanks, dots and quotes; a column that has the name ours would have; a column that was renamed."""
    names = ["a b`c.d", "_file", "k", "_FILE_"]
    schema = pa.schema(zip(names, [pa.string(), pa.int32(), pa.int64(), pa.string()], strict=True))
    table = coalesce.create(
        tmp_path / "t", schema, partition_by=["`a b``c.d`", "_file"], rule=coalesce.small("_file"), properties=MARK
    )
    table.append(
        pa.table({names[0]: ["x"] * 9, "_file": [1, 2, None] * 3, "k": list(range(9)), "_FILE_": ["s"] * 9}, schema)
    )
    table.drop_partition(_file=1)
    assert removed(table) == 3
    frame = load(spark, table)
    assert keys(frame) == keys(frame.where("_file = 2 OR _file IS NULL")) == [1, 2, 4, 5, 7, 8]
    assert frame.columns == names
    with changed(spark, {"spark.sql.caseSensitive": "true"}):
        assert keys(load(spark, table).where("_file = 2 AND _FILE_ = 's'")) == [1, 4, 7]
    table.rename_column("_file", "number")
    table.rename_column("k", "key")
    assert [row.KEY for row in load(spark, table).where("NUMBER IS NULL").select("KEY").orderBy("key").collect()] == [
        2,
        5,
        8,
    ]
    table.drop_partition(number=2)
    assert load(spark, table).count() == 3


def test_widened_columns(spark: "SparkSession", tmp_path: Path) -> None:
    """Tuples that were marked when their columns were narrower are known in the wider type."""
    schema = pa.schema([("d", pa.date32()), ("n", pa.int8()), ("k", pa.int64())])
    table = coalesce.create(
        tmp_path / "t", schema, partition_by=["d", "n"], rule=coalesce.small("d", "n"), properties=MARK
    )
    values = [(DAYS[i % 3], [-1, 1, None][i // 3 % 3]) for i in range(27)]
    columns = {"d": [d for d, _ in values], "n": [n for _, n in values], "k": list(range(27))}
    table.append(pa.table(columns, schema=schema))
    table.drop_partition(d=DAYS[0], n=-1)
    table.widen_column("n", "int64")
    table.widen_column("d", "timestamp_ntz")
    table.drop_partition(n=None)
    assert removed(table) == 3 + 9
    assert keys(load(spark, table)) == [i for i in range(27) if i // 3 % 3 != 2 and (i % 3, i // 3 % 3) != (0, 0)]


def test_specs_of_all_kinds(spark: "SparkSession", tmp_path: Path) -> None:
    """Files of several specs, each with dead rows of its own; a field that was dropped and is void; adopted files."""
    table = short(tmp_path / "t", ["A", "B", "C", "D"], 40)
    table.drop_partition(app="A")
    table.evolve(drop="app")
    more = pa.table({"dt": [DAYS[i % 4] for i in range(40)], "app": ["A"] * 40, "k": list(range(40, 80))}, schema=SHORT)
    table.set_rule(coalesce.small("dt"))
    table.append(more)
    table.drop_partition(dt=DAYS[2])
    assert removed(table) == 20
    left = [k for k in range(40) if k % 4] + [k for k in range(40, 80) if k % 4 != 2]
    assert keys(load(spark, table)) == left
    assert keys(load(spark, table).where("app = 'A'")) == left[30:]
    assert plan_of(load(spark, table)).count("FileScan coalesce") == 1
    forget_order(table)
    assert keys(load(spark, table)) == left
    assert keys(load(spark, table).where("app = 'A'")) == left[30:]
    assert plan_of(load(spark, table)).count("FileScan coalesce") == 2

    # A file without `app`, which only its entry knows, and with rows of two days.
    path = tmp_path / "t" / "app=Z" / "part-0.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"dt": [DAYS[0], DAYS[3]] * 2, "k": [100, 101, 102, 103]}), path)
    days = [(day - date(1970, 1, 1)).days for day in (DAYS[0], DAYS[3])]
    transaction = core_of(table).transaction("adopt")
    transaction.add(
        [
            DataFile(
                path="app=Z/part-0.parquet",
                spec_id=0,
                rows=4,
                bytes=path.stat().st_size,
                tuples=tuple((day, "Z") for day in days),
                tuple_rows=(2, 2),
                complete=True,
            )
        ]
    )
    transaction.change(
        lambda head: replace(head, writer_features=head.writer_features - {MATERIALIZE_PARTITION_COLUMNS})
    )
    core_of(table).commit(transaction)
    table.drop_partition(dt=DAYS[3], app="Z")
    assert removed(table) == 22
    assert keys(load(spark, table)) == [*left, 100, 102]
    assert keys(load(spark, table).where("app = 'Z' AND dt IS NOT NULL")) == [100, 102]


# --- traps -------------------------------------------------------------------------------------------------------


def test_conditions_do_not_see_dead_rows(spark: "SparkSession", tmp_path: Path) -> None:
    """A condition or a column that would fail on rows that were removed does not: they are left out before it."""
    table = short(tmp_path / "t", ["1", "2", "none"], 30)
    table.drop_partition(app="none")
    for ordered in (True, False):
        assert table.files()[0].ordered == ordered
        frame = load(spark, table)
        assert keys(frame.where("CAST(app AS INT) + 0 * k = 2")) == list(range(1, 30, 3))
        assert frame.selectExpr("sum(CAST(app AS INT)) AS s").collect()[0].s == 30
        forget_order(table)
    jobs = by_jobs(coalesce.open(table.location, spark=spark), spark)
    jobs.delete("CAST(app AS INT) + 0 * k = 2")
    assert keys(load(spark, jobs)) == list(range(0, 30, 3))


def test_without_the_rule_it_fails(spark: "SparkSession", events: Table) -> None:
    """Where the optimizer's rule is left out, the scan says so instead of showing rows that were removed."""
    without = {"spark.sql.optimizer.excludedRules": "coalesce.spark.PruneFiles"}
    with changed(spark, without), pytest.raises(Exception, match="hold rows that were removed"):
        load(spark, events).collect()


@pytest.mark.parametrize("type_", [pa.date32(), pa.timestamp("us", "UTC")])
def test_sessions_that_shift_old_dates(spark: "SparkSession", tmp_path: Path, type_: pa.DataType) -> None:
    """Files are what we wrote, whatever a session takes them for: dead rows stay dead, and dates what they are."""
    days = pa.array([date(1500, 1, 1), date(2020, 1, 1), date(1400, 1, 1)] * 10).cast(type_)
    data = pa.table({"d": days, "s": ["Y", "x", "z"] * 10, "k": range(30)})
    path = tmp_path / "t"
    coalesce.create(path, data.schema, partition_by=["d"], rule=coalesce.small("d"), properties=MARK).append(data)
    table = by_jobs(coalesce.open(path, spark=spark), spark)
    table.delete("d < '1600-01-01' AND d > '1450-01-01'")
    assert removed(table) == 10
    modes = ("datetimeRebaseModeInRead", "int96RebaseModeInRead")
    for mode in ("LEGACY", "EXCEPTION", "CORRECTED"):
        with changed(spark, {f"spark.sql.parquet.{name}": mode for name in modes}):
            assert keys(load(spark, table)) == [k for k in range(30) if k % 3]
            assert {row.d.year for row in load(spark, table).select("d").distinct().collect()} == {1400, 2020}
    with changed(spark, {f"spark.sql.parquet.{name}": "LEGACY" for name in modes}):
        assert table.delete("lower(s) = 'z' AND k < 10").rows_removed == 3
        table.append(load(spark, table).where("k = 29").selectExpr("d", "s", "k + 100 AS k"))
        table.drop_partition(d=datetime(2020, 1, 1, tzinfo=UTC) if type_ != pa.date32() else date(2020, 1, 1))
        table.purge()
    assert removed(table) == 0
    left = [*(k for k in range(10, 30) if k % 3 == 2), 129]
    found = coalesce.open(path).scan().to_arrow()
    assert sorted(found.column("k").to_pylist()) == left
    assert set(found.column("d").cast(pa.string()).to_pylist()) <= {"1400-01-01", "1400-01-01 00:00:00.000000Z"}
    assert not coalesce.open(path).check(deep=True)


def test_what_spark_does_with_partition_values(spark: "SparkSession", events: Table, tmp_path: Path) -> None:
    """Values without rows, pruning by a join, a filter that Spark makes for a join: none brings dead rows back."""
    load(spark, events).createOrReplaceTempView("ours")
    with changed(spark, {"spark.sql.optimizer.metadataOnly": "true"}):
        assert {row.dt for row in spark.sql("SELECT DISTINCT dt FROM ours").collect()} == set(events.distinct("dt"))
    numbered = spark.range(8).selectExpr(f"date_add(DATE '{DAYS[0]}', CAST(id AS INT)) AS day", "id AS number")
    numbered.write.parquet(str(tmp_path / "days"))
    spark.read.parquet(str(tmp_path / "days")).createOrReplaceTempView("days")
    joined = spark.sql("SELECT /*+ BROADCAST(d) */ k FROM ours JOIN days d ON dt = day WHERE number = 1")
    assert "dynamicpruning" in plan_of(joined).lower()
    assert keys(joined) == keys(load(spark, events).where(f"dt = DATE '{DAYS[1]}'"))
    settings = {
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "0",
        "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
    }
    with changed(spark, settings):
        both = spark.sql("SELECT a.k FROM ours a JOIN ours b ON a.k = b.k WHERE b.app IN ('A', 'B') AND b.r = 1")
        assert "might_contain" in plan_of(both)
        assert keys(both) == sorted(events.scan("app IN ('A', 'B') AND r = 1").to_arrow().column("k").to_pylist())


def test_versions_caches_and_metadata(spark: "SparkSession", tmp_path: Path) -> None:
    """Two versions in one query, a cached frame, the files' own columns, samples and limits."""
    table = short(tmp_path / "t", ["A", "B", "C"], 30)
    before = table.state.number
    table.drop_partition(app="A")
    old, new = load(spark, table, version=before), load(spark, table)
    assert old.union(new).count() == 50
    assert keys(old.exceptAll(new)) == list(range(0, 30, 3))
    assert keys(new.alias("x").join(old.alias("y"), "k")) == keys(new)
    cached = new.cache()
    try:
        assert cached.count() == 20
        assert cached.where("app = 'A'").count() == 0
        table.drop_partition(app="B")
        assert cached.count() == 20
    finally:
        cached.unpersist()
    newest = load(spark, table)
    shown = newest.select("k", "_metadata.row_index", "_metadata.file_name").collect()
    assert sorted(row.k for row in shown) == list(range(2, 30, 3))
    assert {row.row_index for row in shown} == set(range(20, 30))
    assert len({row.file_name for row in shown}) == 1
    assert keys(newest.where("_metadata.row_index < 25 AND k > 2")) == list(range(5, 15, 3))
    assert keys(newest.where("_metadata.file_size > 0")) == list(range(2, 30, 3))
    assert len(newest.inputFiles()) == 1
    assert newest.limit(15).count() == 10
    assert newest.sample(1.0).count() == 10


def test_streams(spark: "SparkSession", tmp_path: Path) -> None:
    """A stream that begins with what the table holds begins without what was removed from it."""
    table = short(tmp_path / "t", ["A", "B", "C"], 30)
    table.drop_partition(app="A")
    found: list[list[int]] = []
    for _ in range(2):
        query = (
            spark.readStream.format("coalesce")
            .load(table.location)
            .where("k < 20 OR app = 'A'")
            .writeStream.foreachBatch(lambda batch, _: found.append(keys(batch)))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        table.append(pa.table({"dt": [DAY], "app": ["A"], "k": [99]}, schema=SHORT))
    assert found == [[k for k in range(20) if k % 3], [99]]


def test_conditions_that_only_spark_understands(spark: "SparkSession", tmp_path: Path) -> None:
    """Catalyst says which tuples go; where it cannot, or must not, the file is looked into, and errors are errors."""
    made = short(tmp_path / "t", ["a", "A", "B", "1", None], 100)
    table = coalesce.open(made.location, spark=spark)
    table.delete("lower(APP) = 'a' AND nvl(app, '') <> 'A'")
    assert (removed(table), table.count()) == (20, 80)
    spark.udf.register("shout", lambda text: None if text is None else text.upper())
    try:
        table.delete("shout(app) = 'A' AND k < 50")
        assert (removed(table), table.count()) == (0, 70)
    finally:
        spark.sql("DROP TEMPORARY FUNCTION shout")
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        table.delete("CAST(app AS INT) = 1")
    with pytest.raises(Exception, match="no_such_function"):
        table.delete("no_such_function(app) = 1")
    assert table.count() == 70
    table.delete("app IS NULL OR try_cast(app AS INT) = 1")
    assert (removed(table), table.count()) == (40, 30)
    assert keys(load(spark, table)) == [k for k in range(100) if k % 5 == 2 or (k % 5 == 1 and k >= 50)]


# --- files written again -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["rewrite", "compact"])
def test_what_is_written_again_has_no_dead_rows(spark: "SparkSession", tmp_path: Path, way: str) -> None:
    """A job that rewrites or compacts files leaves dead rows behind; the others keep their ids and versions."""
    made = make_events(tmp_path / "t")
    table = by_jobs(coalesce.open(made.location, spark=spark), spark)
    table.set_properties(MARK)
    table.drop_partition(app="A")
    table.drop_partition(app=None)
    table.delete("dt IS NULL AND app = 'B'")
    before = facts(table)
    assert removed(table) > 0
    if way == "compact":
        table.compact()
        assert facts(table) == before
    else:
        table.delete("k % 10 = 3")
        kept = table.count()
        assert kept == len([f for f in before if int(f.partition("'k': ")[2].partition(",")[0]) % 10 != 3])
        assert set(facts(table)) < set(before)
    check_files(core_of(table).storage, table.state, [f for f in table.files() if not f.dead])
    assert load(spark, table).where("app = 'A' OR app IS NULL").count() == 0
    assert load(spark, table).count() == table.count()


# --- anything at all ---------------------------------------------------------------------------------------------

QUERIES = 12
SPECS = [("dt", "app"), ("app", "r"), ("dt", "app", "r"), ("r",), ("app",), ("amount", "dt")]


def random_table(path: Path, rng: random.Random) -> tuple[Table, pa.Table]:
    """A table of several writes under one or two specs, from which tuples were removed; and what it must hold."""
    fields = rng.choice(SPECS)
    small = coalesce.small(*fields) if rng.random() < 0.5 else coalesce.small(fields[-1])
    table = coalesce.create(path, SCHEMA, partition_by=list(fields), rule=small, properties=MARK)
    held: list[dict[str, Any]] = []
    for number in range(3):
        table.append(rows(number * 150, 150))
        held += rows(number * 150, 150).to_pylist()
        for _ in range(rng.randint(0, 4)):
            one = rng.choice(held)
            names = rng.sample(fields, rng.randint(1, len(fields)))
            gone = {name: one[name] for name in names}
            table.drop_partition(gone)
            held = [row for row in held if any(row[name] != value for name, value in gone.items())]
        if number == 0 and rng.random() < 0.5:
            extra = sorted({"r", "dt", "app"} - set(fields))
            table.evolve(add=extra[0]) if extra else table.evolve(drop=fields[-1])
    return table, pa.Table.from_pylist(held, SCHEMA)


COMPILED = {name: value for name, value in INTERPRETED.items() if "codegen" not in name}


@pytest.fixture
def few_tasks(spark: "SparkSession", seed: int) -> Iterator[None]:
    """Few rows and many queries: mostly nothing is compiled, which takes long; but only what is can count rows."""
    with changed(spark, COMPILED if seed % 3 == 1 else INTERPRETED):
        yield


@pytest.mark.usefixtures("few_tasks")
@pytest.mark.parametrize("seed", range(examples(3)))
def test_same_rows_as_in_memory(
    spark: "SparkSession", tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Generated queries give the same rows on a table with dead rows and on the rows that are left, in memory."""
    from coalesce.spark.source import dead

    if seed % 2:  # also where there are too many tuples to try, and values are compared
        monkeypatch.setattr(dead, "_TRIED", 0)
    table, held = random_table(tmp_path / "t", random.Random(seed))
    forget_order(table, lambda file: file.rows % 2 < (seed + 1) % 3)  # of some, of all, of no files
    load(spark, table).createOrReplaceTempView("ours")
    pq.write_table(held, tmp_path / "plain.parquet")
    # In memory: Spark's reader of plain Parquet skips row groups that hold a NaN or a zero of the other sign.
    spark.read.parquet(str(tmp_path / "plain.parquet")).localCheckpoint().createOrReplaceTempView("plain")
    days = ", ".join(f"(DATE '{day}', {1 + number // 7}, 'day {number}')" for number, day in enumerate(DAYS))
    spark.sql(f"SELECT * FROM VALUES {days} AS d(day, week, name)").createOrReplaceTempView("days")
    numbers = [1000 * seed + 7 * number + 1 for number in range(QUERIES)]
    both = [fingerprint(number, view) for number in numbers for view in ("ours", "plain")]
    found = {(row.q, row.t): (row.c, row.x, row.y) for row in spark.sql(" UNION ALL ".join(both)).collect()}
    different = [n for n in numbers if found[n, "ours"] != found[n, "plain"]]
    assert not different, [(query(n), found[n, "ours"][0], found[n, "plain"][0]) for n in different]
