"""Few rows, which the driver collects and writes: the same table as by jobs, in fewer passes, and never too much."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

import coalesce
from coalesce.errors import SchemaError
from coalesce.model.datafile import DataFile
from coalesce.table.table import Table, core_of
from tests.arrow.generated import Generated, plain_rows, tables
from tests.builders import make_snapshot
from tests.spark.frames import content, frame_of
from tests.support.engines import NOTHING, by_jobs
from tests.support.examples import examples
from tests.support.settings import TIME_ZONE, changed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MB = 1024 * 1024
SCHEMA = "dt DATE, app STRING, k BIGINT, v DOUBLE"


def said(files: Iterable[DataFile]) -> list[tuple[object, ...]]:
    """All that entries say but where the files are and how long, in an order of their own."""
    told = [
        (f.rows, f.tuples, f.tuple_rows, f.physical_key, f.complete, f.spec_id, f.rule_id, f.first_row_id, f.statistics)
        for f in files
    ]
    return sorted(told, key=lambda entry: repr(entry[:4]))


def events(spark: "SparkSession", rows: int, first: int = 0) -> "DataFrame":
    """Rows of two days and seven apps, one of them NULL."""
    return spark.range(first, first + rows, 1, 3).selectExpr(
        "date_add(DATE'2026-05-01', int(id % 2)) AS dt",
        "nullif(concat('app-', id % 7), 'app-3') AS app",
        "id AS k",
        "id / 8D AS v",
    )


@contextmanager
def jobs_of(spark: "SparkSession") -> Iterator[list[int]]:
    """The Spark jobs that run inside, once it is over."""
    context, group, found = spark.sparkContext, "counted jobs", list[int]()
    context.setJobGroup(group, group)
    before = set(context.statusTracker().getJobIdsForGroup(group))
    try:
        yield found
    finally:
        found += sorted(set(context.statusTracker().getJobIdsForGroup(group)) - before)
        context._jsc.clearJobGroup()


def stages_of(table: Table) -> list[str]:
    """What the last write of the table did."""
    return list(core_of(table).engines.frames.last_write.stages)  # type: ignore[union-attr]


def room_for(table: Table, spark: "SparkSession", most_bytes: int) -> Table:
    """The table; its driver takes no more than these bytes of rows."""
    from coalesce.spark.engine import SparkEngine
    from coalesce.spark.write.here import Here

    engines = core_of(table).engines
    core_of(table).engines = replace(engines, frames=SparkEngine(spark, here=Here(write=most_bytes)))
    return table


@pytest.fixture
def table(spark: "SparkSession", tmp_path: Path) -> Table:
    """A table that has rows already, which tell how wide they are."""
    made = coalesce.create(
        tmp_path / "t",
        events(spark, 0).schema,
        partition_by=["dt", "app"],
        rule=coalesce.small("app"),
        spark=spark,
    )
    made.append(events(spark, 100, first=1_000_000))
    return made


# --- the same table ----------------------------------------------------------------------------------------------


def test_what_entries_say_does_not_depend_on_who_wrote_the_files(
    spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Rows of any types, partitioned in any way: the same tuples, counts, statistics and physical keys either way."""
    from coalesce.spark.write.here import Here
    from coalesce.spark.write.report import WriteReport
    from coalesce.spark.write.writer import write

    @given(tables())
    @settings(max_examples=examples(8), phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck))
    def check(generated: Generated) -> None:
        # At a target of a few bytes, how rows are cut into files is a matter of estimates.
        version = replace(generated.version, properties={})
        frame = frame_of(spark, generated.rows, version.schema)
        few, many = (
            said(
                write(make_snapshot(tmp_path_factory.mktemp("table"), version), frame, WriteReport(), Here(write=most))
            )
            for most in (2**40, NOTHING)
        )
        assert few == many

    check()


def test_tables_do_not_depend_on_who_wrote_them(spark: "SparkSession", tmp_path: Path) -> None:
    """Appends, overwrites and evolution: entries, ids and rows of both tables are equal at every version."""

    def made(name: str) -> Table:
        return coalesce.create(
            tmp_path / name,
            events(spark, 0).schema,
            partition_by=["dt", "app"],
            rule=coalesce.small("app"),
            spark=spark,
        )

    here, jobs = made("here"), by_jobs(made("jobs"), spark)
    for table in (here, jobs):
        table.append(events(spark, 50))
        table.append(frame_of(spark, events(spark, 40, first=100).toArrow()), layout="known")
        table.overwrite_partitions(events(spark, 10, first=200))
        table.add_column("note", "string", default="none")
        table.append(events(spark, 30, first=300).selectExpr("*", "concat('n', k) AS note"))
        table.overwrite(events(spark, 12, first=400).where("app = 'app-1'"), "app = 'app-1'")
        table.append(events(spark, 9, first=500).selectExpr("*", "k + 1 AS more"), schema_mode="merge")
    assert "collect" in stages_of(here)
    assert stages_of(jobs)[-2:] == ["write", "read back"]
    assert here.version == jobs.version
    for number in range(here.version + 1):
        left, right = (coalesce.open(t.location, version=number, spark=spark) for t in (here, jobs))
        assert said(left.files()) == said(right.files())
        assert content(left) == content(right)


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "+05:30", "GMT+8", "EST5EDT"])
def test_instants_do_not_depend_on_the_zone_of_the_session(spark: "SparkSession", tmp_path: Path, zone: str) -> None:
    """Timestamps with and without a zone, days of them as a partition field: as by jobs, in any zone."""
    text = (
        "SELECT TIMESTAMP'2026-03-08 02:30:00' AS at, TIMESTAMP_NTZ'2026-03-08 02:30:00' AS wall, id FROM range(3) "
        "UNION ALL SELECT TIMESTAMP'1582-10-10 00:00:00 UTC', TIMESTAMP_NTZ'0001-01-01 00:00:00', 7L"
    )
    written = []
    with changed(spark, {TIME_ZONE: zone}):
        for name in ("here", "jobs"):
            frame = spark.sql(text)
            table = coalesce.create(tmp_path / name, frame.schema, partition_by=["day(at)", "month(wall)"], spark=spark)
            table = by_jobs(table, spark) if name == "jobs" else table
            table.append(frame)
            written.append((said(table.files()), content(table)))
    assert written[0] == written[1]


# --- how many passes ---------------------------------------------------------------------------------------------


def test_a_frame_whose_plan_says_that_it_is_small_is_computed_once(spark: "SparkSession", table: Table) -> None:
    """One job collects the rows: nothing is counted, shuffled or read back."""
    with jobs_of(spark) as jobs:
        table.append(events(spark, 1_000))
    assert len(jobs) == 1
    assert stages_of(table) == ["collect", "write"]
    assert table.count() == 1_100


def test_a_small_frame_of_which_spark_knows_nothing_is_computed_once(spark: "SparkSession", table: Table) -> None:
    """An RDD may hold anything; a few rows more than there is room for are asked for, and all have come."""
    frame = spark.createDataFrame(events(spark, 500).rdd, SCHEMA)
    table.append(frame)
    assert stages_of(table) == ["collect", "write"]
    assert table.count() == 600


def test_a_large_frame_is_not_collected(spark: "SparkSession", table: Table) -> None:
    """Rows beyond what there is room for are written by jobs, whether the plan tells how many there are or not."""
    room_for(table, spark, 2 * MB)
    table.append(events(spark, 1_500))
    assert stages_of(table) == ["collect", "write"], "the plan says that there are 1,500"
    table.append(spark.createDataFrame(events(spark, 12_000).rdd, SCHEMA))
    assert stages_of(table) == ["collect", "count", "write"], "they were counted"
    table.append(events(spark, 100_000))
    assert stages_of(table) == ["collect", "count", "write", "read back"]
    assert table.count() == 113_600


@pytest.mark.parametrize("known", [True, False])
def test_wide_rows_never_reach_the_driver(spark: "SparkSession", tmp_path: Path, known: bool) -> None:
    """A thousand rows of 100 KB are too much: the table's own rows say so, or the rows that come are measured."""
    text = "array_join(transform(sequence(1, 1600), i -> sha2(string(id * 1600 + i), 256)), '') AS text"
    wide = spark.range(1_000).selectExpr("id % 2 AS app", "id AS k", text)
    table = room_for(coalesce.create(tmp_path / "t", wide.schema, partition_by=["app"], spark=spark), spark, 32 * MB)
    if known:
        table.append(wide.limit(10))
    table.append(wide)
    assert stages_of(table)[-2:] == ["write", "read back"]


def test_rows_wider_than_those_of_the_table_never_reach_the_driver(spark: "SparkSession", table: Table) -> None:
    """A table of narrow rows lets expect many more; of rows that are wide all the same, none is collected."""
    from coalesce.spark.write.few import FewRows

    wide = events(spark, 500).withColumn("app", F.repeat(F.lit("wide-"), F.lit(20_000)))
    for frame in (wide, spark.createDataFrame(wide.rdd, SCHEMA)):
        few = FewRows(core_of(table).snapshot(), frame, 16 * MB)
        before = pa.total_allocated_bytes()
        assert few.at_first() is None
        assert few.counted(500) is None
        assert pa.total_allocated_bytes() - before < MB
        assert few.sample is None


def test_a_sample_of_wide_rows_has_room(spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the first rows of a table some are looked at, to see how large they are: fewer, if they are wide."""
    from coalesce.spark.jvm.collected import collected as kept
    from coalesce.spark.write import writer

    samples = list[int]()

    def collected(frame: "DataFrame") -> pa.Table:
        rows = kept(frame)
        samples.append(rows.nbytes)
        return rows

    monkeypatch.setattr(writer, "collected", collected)
    monkeypatch.setattr(writer, "_SAMPLE_BYTES", MB)
    wide = spark.range(300).selectExpr("id AS k", "repeat('wide-', 20000) AS text")
    table = by_jobs(coalesce.create(tmp_path / "t", wide.schema, spark=spark), spark)
    table.append(wide)
    empty, sample = samples
    assert empty < 8 * 1024, "their values did not come"
    assert 0 < sample <= MB + 1024
    assert table.count() == 300


def test_a_few_rows_may_be_wide(spark: "SparkSession", table: Table) -> None:
    """One row takes more than its share; all together have room, so they are collected, as they are."""
    frame = events(spark, 1_000).withColumn("app", F.when(F.col("k") == 5, F.repeat(F.lit("x"), F.lit(1_000_000))))
    room_for(table, spark, 64 * MB).append(frame)
    assert stages_of(table) == ["collect", "write"]
    assert table.read().where("k = 5").selectExpr("length(app)").collect()[0][0] == 1_000_000


@pytest.mark.parametrize("columns", [0, 2_000])
def test_rows_of_no_or_of_many_columns_are_measured(spark: "SparkSession", tmp_path: Path, columns: int) -> None:
    """The first rows of a table, of which nothing is known: as many columns as a frame can have, or defaults only."""
    names = [f"c{i}" for i in range(columns)]
    schema = pa.schema([(name, pa.int64()) for name in names or ["k"]])
    table = coalesce.create(tmp_path / "t", schema, spark=spark)
    table.append(spark.range(3).select(*(F.col("id").alias(name) for name in names)))
    assert stages_of(table) == ["collect", "write"]
    assert table.count() == 3


def test_what_is_observed_are_all_rows(spark: "SparkSession", table: Table) -> None:
    """`DataFrame.observe` tells of the first job over a frame, which may not be one that stops at a limit."""
    observed = Observation("rows")
    frame = spark.createDataFrame(events(spark, 12_000).rdd.repartition(2), SCHEMA)
    room_for(table, spark, 2 * MB).append(frame.observe(observed, F.count(F.lit(1)).alias("rows")))
    assert observed.get == {"rows": 12_000}


# --- the same refusals -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("work", ["here", "jobs"])
def test_rows_are_refused_in_the_same_words(spark: "SparkSession", tmp_path: Path, work: str) -> None:
    """NULLs that may not be, rows outside of what is overwritten, columns that there are not; and nothing is left."""
    schema = pa.schema([pa.field("app", pa.string(), nullable=False), ("k", pa.int64())])
    table = coalesce.create(tmp_path / "t", schema, partition_by=["app"], spark=spark)
    table = by_jobs(table, spark) if work == "jobs" else table
    table.append(spark.sql("SELECT 'a' AS app, 1L AS k"))
    before = sorted(f.path for f in core_of(table).storage.list(""))
    frame = spark.range(5).selectExpr("IF(id < 3, NULL, 'a') AS app", "id AS k")
    with pytest.raises(SchemaError, match="column 'app' is required and has 3 NULLs"):
        table.append(frame)
    with pytest.raises(SchemaError, match="1 row does not match app = 'b', such as app = 'a', k = 4"):
        table.overwrite(frame.where("k = 4"), "app = 'b'")
    with pytest.raises(SchemaError, match="2 rows do not match"):
        table.overwrite(frame.where("k > 2"), "lower(app) = 'b'")
    with pytest.raises(SchemaError, match="no column 'kk' in the table"):
        table.append(frame.withColumnRenamed("k", "kk"))
    assert sorted(f.path for f in core_of(table).storage.list("")) == before


def test_rows_come_back(spark: "SparkSession", table: Table) -> None:
    """What Spark reads of few rows is what was given."""
    rows = events(spark, 300, first=7)
    table.append(rows)
    assert sorted(plain_rows(table.read().where("k < 1000").toArrow())) == sorted(plain_rows(rows.toArrow()))
