"""A table read as a stream: every row once, in micro-batches of whole versions, across restarts."""

import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import coalesce
from coalesce.table.table import Table
from tests.support.settings import TIME_ZONE, changed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = pa.schema([("app", pa.string()), ("k", pa.int64())])

Batches = list[list[int]]
Run = Callable[..., Batches]


def rows(*keys: int) -> pa.Table:
    """One row for each key, of three apps."""
    return pa.table({"app": [f"app{k % 3}" for k in keys], "k": list(keys)}, schema=SCHEMA)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Three apps that share a file in each of two versions."""
    table = coalesce.create(tmp_path / "table", SCHEMA, partition_by=["app"], rule=coalesce.small("app"))
    table.append(rows(1, 2, 3))
    table.append(rows(4, 5, 6))
    return table


@pytest.fixture
def run(spark: "SparkSession", tmp_path: Path) -> Run:
    """Runs a stream until it has read what is there, with one checkpoint for the test; the keys of each batch."""

    def run(source: "Table | DataFrame", where: str = "true", **options: object) -> Batches:
        batches: Batches = []
        if isinstance(source, Table):
            reader = spark.readStream.format("coalesce")
            for name, value in options.items():
                reader = reader.option(name, str(value))
            source = reader.load(source.location)
        query = (
            source.where(where)
            .writeStream.foreachBatch(lambda batch, _: batches.append(sorted(row.k for row in batch.collect())))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return batches

    return run


def test_what_is_there_then_what_comes(table: Table, run: Run) -> None:
    """A first run has all rows, the next ones what was committed between; nothing new is no batch."""
    assert run(table) == [[1, 2, 3, 4, 5, 6]]
    assert run(table) == []
    table.append(rows(7))
    table.append(rows(8, 9))
    assert run(table) == [[7, 8, 9]]


def test_a_batch_has_so_many_files(table: Table, run: Run) -> None:
    """`maxFilesPerTrigger` ends micro-batches between versions."""
    run(table)
    for key in range(7, 12):
        table.append(rows(key))
    assert run(table, maxFilesPerTrigger=2) == [[7, 8], [9, 10], [11]]


def test_where_a_stream_starts(table: Table, run: Run, tmp_path: Path) -> None:
    """With a version, with the next one to come, or with everything."""
    assert run(table, startingVersion=2) == [[4, 5, 6]]
    shutil.rmtree(tmp_path / "checkpoint")
    assert run(table, startingVersion="latest") in ([], [[]])
    table.append(rows(7))
    assert run(table, startingVersion="latest") == [[7]]


def test_other_commits(table: Table, run: Run) -> None:
    """Compaction brings nothing, nor does evolution; a deletion stops the stream until it may be passed over."""
    from pyspark.errors import StreamingQueryException

    run(table)
    table.append(rows(7))
    table.set_rule(coalesce.keep_all())
    table.compact()
    table.append(rows(8))
    assert run(table) == [[7], [8]]
    table.append(rows(9))
    table.delete("app = 'app0'")
    table.append(rows(10))
    with pytest.raises(StreamingQueryException, match=r"\(delete\) removed or replaced rows"):
        run(table)
    assert run(table, skipChanges="true") == [[10]]


def test_filters_prune(spark: "SparkSession", table: Table, run: Run) -> None:
    """A filter of the stream reads only the files that may match, in every batch."""
    run(table, "app = 'app1'")
    table.append(pa.table({"app": ["one", "two"], "k": [11, 12]}, schema=SCHEMA))
    table.append(pa.table({"app": ["app1"], "k": [13]}, schema=SCHEMA))
    assert run(table, "app = 'app1'") == [[13]]
    report = coalesce.open(table.location, spark=spark).last_scan()
    assert report is not None
    assert report.stages[-1].files == 1


def test_evolution_between_runs(spark: "SparkSession", table: Table, run: Run) -> None:
    """A stream that is started again has the columns of now, also for what was committed before they changed."""
    run(table)
    table.append(rows(7))
    table.add_column("note", "string")
    table.rename_column("app", "tenant")
    table.append(pa.table({"tenant": ["x"], "k": [8], "note": ["n"]}))
    stream = spark.readStream.format("coalesce").load(table.location)
    assert stream.columns == ["tenant", "k", "note"]
    assert run(stream, "note IS NOT NULL OR tenant = 'app1'") == [[7, 8]]


def test_evolution_between_load_and_start(spark: "SparkSession", table: Table, run: Run) -> None:
    """A DataFrame keeps the columns it was made with: Spark knows them by place, and the table's places changed."""
    from pyspark.errors import StreamingQueryException

    run(table)
    table.append(rows(7))
    stream = spark.readStream.format("coalesce").load(table.location)
    table.reorder(["k", "app"])
    with pytest.raises(StreamingQueryException, match=r"columns .* are others in version 4 .*load the table again"):
        run(stream)
    assert run(table) == [[7]]


def test_columns_that_are_wider_now(spark: "SparkSession", tmp_path: Path, run: Run) -> None:
    """Older versions are read with the types of now, also if they were read with their own before, and the reverse."""
    days = coalesce.create(
        tmp_path / "days", pa.schema([("day", pa.date32()), ("k", pa.int64())]), partition_by=["day"], spark=spark
    )
    for key in (1, 2):
        days.append(pa.table({"day": [date(2026, 5, key)], "k": [key]}))

    def found_in_the_past() -> list[list[int]]:
        frames = [days.read(version=version).where("day = DATE '2026-05-01'") for version in (1, 2)]
        return [[row.k for row in frame.collect()] for frame in frames]

    assert found_in_the_past() == [[1], [1]]
    days.widen_column("day", "timestamp_ntz")
    found = run(days, "day = TIMESTAMP_NTZ '2026-05-01 00:00:00'", startingVersion=1, maxFilesPerTrigger=1)
    assert [batch for batch in found if batch] == [[1]]
    assert found_in_the_past() == [[1], [1]]


def test_the_time_zone_changes_between_micro_batches(spark: "SparkSession", tmp_path: Path) -> None:
    """A condition on a timestamp means what it meant when the stream was made; started again, what it means then."""
    hours = [datetime(2026, 5, 1, tzinfo=UTC) + timedelta(hours=n) for n in range(96)]
    at = pa.array(hours, pa.timestamp("us", "UTC"))
    everything = pa.table({"at": at, "k": range(len(hours))})
    table = coalesce.create(tmp_path / "t", everything.schema, partition_by=["at"], rule=coalesce.small("at"))
    where = "at >= '2026-05-02' AND CAST(at AS DATE) <= DATE '2026-05-04' AND hour(at) < 6"
    schema = coalesce.open(table.location, spark=spark).read().schema

    def run(zone: str) -> tuple[list[int], list[int]]:
        """What a stream of the newest versions finds that is made in this zone, and what rows in memory say."""
        streamed: list[int] = []
        zones = cycle(["America/New_York", "UTC", "Asia/Tokyo"])

        def each(batch: "DataFrame", number: int) -> None:
            del number
            streamed.extend(row.k for row in batch.collect())
            batch.sparkSession.conf.set(TIME_ZONE, next(zones))
            spark.conf.set(TIME_ZONE, next(zones))

        with changed(spark, {TIME_ZONE: zone}):
            wanted = spark.createDataFrame(new, schema).where(where)
            expected = sorted(row.k for row in wanted.collect())
            stream = spark.readStream.format("coalesce").option("maxFilesPerTrigger", 1).load(table.location)
            writer = stream.where(where).writeStream.foreachBatch(each).trigger(availableNow=True)
            writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
        return sorted(streamed), expected

    new = everything.slice(0, 24)
    table.append(new)
    first = run("UTC")
    new = everything.slice(24)
    for start in (24, 48, 72):
        table.append(everything.slice(start, 24))
    then = run("Asia/Tokyo")
    assert first[0] == first[1]
    assert then[0] == then[1]
    assert len(then[0]) > 6


def test_the_file_sink_of_a_stream_does_not_reach_the_table(
    spark: "SparkSession", table: Table, tmp_path: Path
) -> None:
    """Spark lets a stream write files into a table's directory. They are in no version, and the rows stay as before."""
    before = sorted(row.k for row in coalesce.open(table.location, spark=spark).read().collect())
    stream = spark.readStream.format("coalesce").load(table.location)
    sink = stream.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    sink.trigger(availableNow=True).start(table.location).awaitTermination()
    assert (Path(table.location) / "_spark_metadata").exists()
    found = spark.read.format("coalesce").load(table.location)
    assert sorted(row.k for row in found.collect()) == before
    table.append(rows(7))
    assert coalesce.open(table.location).count() == len(before) + 1


def test_from_table_to_table(spark: "SparkSession", table: Table, tmp_path: Path) -> None:
    """With `each_batch` on the other side, what is read once is written once."""
    copy = coalesce.create(tmp_path / "copy", table.schema, partition_by=["app"], spark=spark)
    for key in (7, 8):
        query = (
            spark.readStream.format("coalesce")
            .load(table.location)
            .writeStream.foreachBatch(coalesce.each_batch(copy))
            .option("checkpointLocation", str(tmp_path / "copying"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        table.append(rows(key))
    assert sorted(row.k for row in copy.read().collect()) == [1, 2, 3, 4, 5, 6, 7]


def test_tables_of_the_catalog_and_state(spark: "SparkSession", table: Table, tmp_path: Path) -> None:
    """`readStream.table` works, and so do aggregates over the whole stream."""
    spark.sql(f"CREATE TABLE streamed USING coalesce LOCATION '{table.location}'")
    try:
        for _ in range(2):
            query = (
                spark.readStream.table("streamed")
                .groupBy("app")
                .count()
                .writeStream.format("memory")
                .queryName("counts")
                .outputMode("complete")
                .option("checkpointLocation", str(tmp_path / "counting"))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
            found = {row.app: row["count"] for row in spark.table("counts").collect()}
            table.append(rows(3))
        assert found == {"app0": 3, "app1": 2, "app2": 2}
    finally:
        spark.sql("DROP TABLE streamed")


def test_another_table_in_its_place(table: Table, run: Run, tmp_path: Path) -> None:
    """A checkpoint belongs to one table."""
    from pyspark.errors import StreamingQueryException

    run(table)
    shutil.rmtree(table.location)
    other = coalesce.create(tmp_path / "table", SCHEMA)
    with pytest.raises(StreamingQueryException, match="dropped and created again"):
        run(other)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("startingVersion", "soon", "startingVersion is a number such as 7, or latest; not 'soon'"),
        ("maxFilesPerTrigger", "0", "maxFilesPerTrigger is a number such as 1000, not '0'"),
        ("skipChanges", "maybe", "skipChanges is true or false, not 'maybe'"),
        ("version", "1", "instead of version or asOf, say startingVersion"),
    ],
)
def test_bad_options(spark: "SparkSession", table: Table, option: str, value: str, message: str) -> None:
    """Said when the stream is described, not when it runs."""
    from pyspark.errors import IllegalArgumentException

    with pytest.raises(IllegalArgumentException, match=message):
        spark.readStream.format("coalesce").option(option, value).load(table.location)
