"""Changes read by Spark: the same as without it, as a frame and as a stream."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import coalesce
from coalesce.table.table import Table
from tests.table.test_feed import ADDED, OPERATIONS, create, held, played, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def history(path: Path) -> Table:
    """A table to which everything has happened."""
    table = create(path)
    table.append(rows(range(100, 140)))
    for number, name in enumerate(sorted(OPERATIONS), start=1):
        OPERATIONS[name](table, number)
    table.append(rows(range(300, 310)))
    return table


def test_a_frame_has_the_changes_that_arrow_has(spark: "SparkSession", tmp_path: Path) -> None:
    """Of every kind of version, and of some of them; counts, filters and chosen columns agree."""
    table = history(tmp_path)
    reader = spark.read.format("coalesce").option("readChanges", "true")
    for first, last in ((0, table.version), (3, 6), (5, 5)):
        frame = reader.option("startingVersion", first).option("endingVersion", last).load(table.location)
        expected = table.changes(first, last).to_arrow()
        assert frame.columns == expected.column_names
        found = Counter(tuple(row) for row in frame.drop("_commit_timestamp").collect())
        assert found == Counter(tuple(r.values()) for r in expected.drop_columns(["_commit_timestamp"]).to_pylist())
        assert frame.count() == expected.num_rows
        inserted = [row for row in expected.to_pylist() if row["_change_type"] == "insert"]
        assert frame.where("_change_type = 'insert'").select("id").count() == len(inserted)
    stamps = {row[0] for row in frame.select("_commit_timestamp").collect()}
    assert len(stamps) <= 1


def test_a_stream_of_changes_begins_with_all_rows_and_goes_on(spark: "SparkSession", tmp_path: Path) -> None:
    """Played back from nothing, what a sink has got of it is the table; across a restart, each change once."""
    table = create(tmp_path / "table")
    table.append(rows(range(100, 130)))
    table.delete("app = 'app1'")

    def run(**options: str) -> None:
        stream = spark.readStream.format("coalesce").option("readChanges", "true").options(**options)
        writer = stream.load(table.location).writeStream.format("coalesce").trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start(
            str(tmp_path / "copy")
        ).awaitTermination()

    def copied() -> Counter[tuple[object, ...]]:
        changes = coalesce.open(tmp_path / "copy").scan().to_arrow().sort_by([("_commit_version", "ascending")])
        order = {"delete": 0, "update_preimage": 0, "update_postimage": 1, "insert": 1}
        found = sorted(changes.to_pylist(), key=lambda r: (r["_commit_version"], order[r["_change_type"]]))
        return played(type(changes).from_pylist(found, schema=changes.schema), Counter())

    run()
    assert copied() == held(table)
    table.upsert(rows([100, 900], 5), keys=["id"])
    table.overwrite_partitions(rows([102], 6))
    table.compact()
    run(maxFilesPerTrigger="1")
    assert copied() == held(table)
    assert set(ADDED) < set(coalesce.open(tmp_path / "copy").schema.names)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"readChanges": "true"}, "say with which version the changes begin"),
        ({"readChanges": "yes"}, "readChanges is true or false, not 'yes'"),
        ({"startingVersion": "1"}, "startingVersion goes with readChanges"),
        ({"readChanges": "true", "startingVersion": "1", "version": "1"}, "leave out version"),
        ({"readChanges": "true", "startingVersion": "9"}, "no changes from version 9"),
        ({"readChangeFeed": "true", "startingVersion": "1"}, "say readChanges = true"),
        ({"readChanges": "true", "startingVersion": "no such tag"}, "no such tag"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    spark: "SparkSession", tmp_path: Path, options: dict[str, str], sentence: str
) -> None:
    """Options that are misspelt, missing, or another format's."""
    table = create(tmp_path)
    table.append(rows([1]))
    with pytest.raises(Exception, match=sentence):
        spark.read.format("coalesce").options(**options).load(table.location)


def test_changes_take_no_schema_and_no_skipping(spark: "SparkSession", tmp_path: Path) -> None:
    """They have the table's columns; and a stream of them skips nothing."""
    table = create(tmp_path)
    with pytest.raises(Exception, match="leave the schema out"):
        spark.read.schema("id bigint").format("coalesce").option("readChanges", "true").load(table.location)
    stream = spark.readStream.format("coalesce").option("readChanges", "true").option("skipChanges", "true")
    with pytest.raises(Exception, match="skipChanges is for streams of new rows"):
        stream.load(table.location)
