"""A stream written with `format("coalesce")`: each micro-batch once, the table made as it was described."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import coalesce
from coalesce.model.rule import BySize
from coalesce.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = pa.schema([("app", pa.string()), ("k", pa.int64())])


@pytest.fixture
def source(tmp_path: Path, spark: "SparkSession") -> Table:
    """A table that streams come from."""
    table = coalesce.create(tmp_path / "source", SCHEMA, partition_by=["app"], spark=spark)
    table.append([{"app": f"app{k % 3}", "k": k} for k in range(9)])
    return table


def stream(spark: "SparkSession", source: Table) -> "DataFrame":
    """Its rows, as a stream."""
    return spark.readStream.format("coalesce").load(source.location)


def written(frame: "DataFrame", directory: Path, target: Path, mode: str = "append", **options: str) -> None:
    """Run the stream until it has written what there is."""
    writer: Any = frame.writeStream.format("coalesce").outputMode(mode)
    writer = writer.option("checkpointLocation", str(directory / "checkpoint")).options(**options)
    writer.trigger(availableNow=True).start(str(target)).awaitTermination()


def keys(table: Table) -> list[int]:
    """The keys in a table."""
    found: list[int] = table.refresh().scan().to_arrow().column("k").to_pylist()
    return sorted(found)


def test_a_batch_that_is_given_again_is_not_written_again(spark: "SparkSession", source: Table, tmp_path: Path) -> None:
    """The process died after the commit and before Spark knew: the checkpoint lacks the batch, the table has it."""
    target = tmp_path / "target"
    frame = stream(spark, source)
    written(frame, tmp_path, target, targetFileSize="1MB")
    made = coalesce.open(target)
    assert keys(made) == list(range(9))
    source.append([{"app": "app1", "k": 9}])
    written(frame, tmp_path, target)
    assert keys(made) == list(range(10))
    before = made.version
    for commit in (tmp_path / "checkpoint" / "commits").glob("*1*"):
        commit.unlink()  # that of the second batch, and its checksum
    written(frame, tmp_path, target)
    assert keys(made) == list(range(10))
    assert made.version == before


def test_the_first_batch_makes_the_table(spark: "SparkSession", source: Table, tmp_path: Path) -> None:
    """With the partition fields, the rule and the size of files that the writer was given."""
    writer = stream(spark, source).writeStream.format("coalesce").partitionBy("app")
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).option("smallColumns", "app")
    writer.trigger(availableNow=True).start(str(tmp_path / "target")).awaitTermination()
    state = coalesce.open(tmp_path / "target").state
    assert [field.name for field in state.spec.fields] == ["app"]
    assert isinstance(state.rule, BySize)


def test_complete_mode_replaces_all_rows(spark: "SparkSession", source: Table, tmp_path: Path) -> None:
    """Each batch of an aggregate has all groups, and older counts go."""
    counts = stream(spark, source).groupBy("app").count().selectExpr("app", "count AS k")
    target = tmp_path / "target"
    written(counts, tmp_path, target, "complete")
    source.append([{"app": "app0", "k": 9}])
    written(counts, tmp_path, target, "complete")
    assert keys(coalesce.open(target)) == [3, 3, 4]


def test_a_stream_into_a_table_of_the_catalog(spark: "SparkSession", source: Table, tmp_path: Path) -> None:
    """`toTable` makes the table if there is none, and goes on with it."""
    try:
        writer = stream(spark, source).writeStream.format("coalesce").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.toTable("streamed").awaitTermination()
        assert spark.table("streamed").count() == 9
        source.append([{"app": "app0", "k": 9}])
        writer.toTable("streamed").awaitTermination()
        assert spark.table("streamed").count() == 10
    finally:
        spark.sql("DROP TABLE IF EXISTS streamed")


def test_what_cannot_be_meant_is_refused_before_the_query_starts(
    spark: "SparkSession", source: Table, tmp_path: Path
) -> None:
    """Modes, options and fields that are not the table's: a sentence, and no query."""
    frame, target = stream(spark, source), tmp_path / "target"
    with pytest.raises(Exception, match="did you mean checkpointLocation"):
        written(frame, tmp_path, target, chekpointLocation="x")
    with pytest.raises(Exception, match="the option txnAppId belongs to"):
        written(frame, tmp_path, target, txnAppId="x")
    with pytest.raises(Exception, match="in the mode append or complete, not update"):
        written(frame, tmp_path, target, "update")
    written(frame, tmp_path, target)
    writer = frame.writeStream.format("coalesce").partitionBy("app")
    with pytest.raises(Exception, match="the table is partitioned by nothing, not by app"):
        writer.option("checkpointLocation", str(tmp_path / "other")).start(str(target))
    assert not spark.streams.active


def test_rows_that_do_not_fit_end_the_query(spark: "SparkSession", source: Table, tmp_path: Path) -> None:
    """With the sentence that `append` has for it, and nothing written."""
    target = coalesce.create(tmp_path / "target", SCHEMA)
    with pytest.raises(Exception, match="column 'extra'"):
        written(stream(spark, source).selectExpr("*", "1 AS extra"), tmp_path, tmp_path / "target")
    assert keys(target) == []
    written(stream(spark, source).selectExpr("*", "1 AS extra"), tmp_path, tmp_path / "target", mergeSchema="true")
    assert target.refresh().schema.names == ("app", "k", "extra")
