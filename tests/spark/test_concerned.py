"""What the source of a MERGE tells of the rows that it is about, and in how many words a scan is told of it."""

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import coalesce
from coalesce.predicate.expr import InRange, InSet
from coalesce.spark.session import native
from coalesce.spark.write.concerned import scanned
from coalesce.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def numbered(path: Path, *files: range, spark: "SparkSession | None" = None) -> Table:
    """A table with a file for each of the ranges."""
    schema = pa.schema([("k", pa.int64()), ("v", pa.int64())])
    table = coalesce.create(path, schema, partition_by=[], spark=spark)
    for numbers in files:
        table.append(pa.table({"k": list(numbers), "v": [0] * len(numbers)}, schema=schema))
    return table


def listed(*numbers: int) -> str:
    """That the number is one of these."""
    return f"k IN ({', '.join(map(str, numbers))})"


def test_a_long_list_is_told_by_its_ends(tmp_path: Path) -> None:
    """A hundred numbers of one file are a range to the scan; a few stay as they are."""
    table = numbered(tmp_path / "t", range(1000))
    long, short = table.plan(listed(*range(0, 200, 2))), table.plan(listed(1, 3, 900))
    told = scanned(long)
    assert isinstance(long.predicate, InSet)
    assert isinstance(told, InRange)
    assert (told.lower, told.lower_inclusive, told.upper, told.upper_inclusive) == (0, True, 198, True)
    assert scanned(short) is short.predicate


def test_a_list_that_prunes_more_than_its_ends_is_told(tmp_path: Path) -> None:
    """Between the ends lies a file without any of the numbers."""
    table = numbered(tmp_path / "t", range(100), range(500, 600), range(900, 1000))
    plan = table.plan(listed(*range(40), *range(960, 1000)))
    assert plan.file_count == 2
    assert scanned(plan) is plan.predicate


def test_every_row_is_told(tmp_path: Path) -> None:
    """Without conditions there is nothing to say."""
    plan = numbered(tmp_path / "t", range(3)).plan()
    assert scanned(plan) is plan.predicate


def test_a_source_of_many_values(spark: "SparkSession", tmp_path: Path) -> None:
    """More values than are listed: rows between the ends that are none of them stay as they are."""
    table = numbered(tmp_path / "t", range(2000), range(2000, 4000), range(9000, 9100), spark=spark)
    source = pa.table({"k": list(range(1000, 4000, 2)), "v": [7] * 1500})
    merge = table.merge(source, "t.k = s.k").when_matched_update().when_not_matched_insert()
    assert merge.execute().rows_updated == 1500
    changed = {row["k"] for row in table.scan().to_arrow().to_pylist() if row["v"] == 7}
    assert changed == set(range(1000, 4000, 2))
    assert table.count() == 4100


def test_columns_that_are_called_like_words_of_sparks(spark: "SparkSession", tmp_path: Path) -> None:
    """`current_date` is a column, and so are names that stand for something while rows are looked for."""
    names = ["current_date", "row", "file", "goes", "a`b", "source", "_metadata"]
    row = dict.fromkeys(names, "old") | {"current_date": "key"}
    table = coalesce.create(tmp_path / "t", pa.Table.from_pylist([row]).schema, partition_by=["row"], spark=spark)
    table.append(pa.Table.from_pylist([row, row | {"current_date": "other"}]))
    new = dict.fromkeys(names, "new") | {"current_date": "key"}
    on = "t.`current_date` = s.`current_date`"
    table.merge(pa.Table.from_pylist([new]), on).when_matched_update().execute()
    assert sorted(table.scan().to_arrow().to_pylist(), key=lambda r: str(r["current_date"])) == [
        new,
        row | {"current_date": "other"},
    ]
    table.update({"`row`": "concat(`current_date`, '!')"}, "`current_date` = 'key'")
    assert {r["row"] for r in table.scan().to_arrow().to_pylist()} == {"key!", "old"}


def test_what_was_asked_before_is_answered_from_memory(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small scan asks which version; how much of it, and which files, only once. Of a newer version it asks anew."""
    table = numbered(tmp_path / "t", range(100), range(500, 600), spark=spark)
    asked: list[str] = []
    answers = dict(native._CALLS)

    def answer(question: dict[str, object], subject: object) -> str:
        asked.append(str(question["call"]))
        return answers[str(question["call"])](question, subject)

    for call in answers:
        monkeypatch.setitem(native._CALLS, call, answer)

    def query() -> list[int]:
        frame = spark.read.format("coalesce").load(str(table.location)).filter("k BETWEEN 90 AND 200")
        return sorted(row["k"] for row in frame.collect())

    assert query() == list(range(90, 100))
    asked.clear()
    assert query() == list(range(90, 100))
    assert asked == ["resolve"]
    report = table.last_scan()
    assert report is not None
    assert report.stages[-1].files == 1
    table.append(pa.table({"k": [150], "v": [1]}))
    assert query() == [*range(90, 100), 150]
    table.delete("k = 95")
    assert query() == [*range(90, 95), *range(96, 100), 150]
