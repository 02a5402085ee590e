"""Columns that are called like words of SQL, of which Catalyst writes the names without quotes."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import coalesce

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("word", ["null", "True", "false", "ALL", "as", "distinct", "not", "interval"])
def test_what_is_read_counted_and_deleted(spark: "SparkSession", tmp_path: Path, word: str) -> None:
    """As of any other column: by which files are pruned, rows counted and removed."""
    rows = spark.sql(f"SELECT CAST(id % 3 AS INT) AS dt, IF(id % 4 = 3, NULL, 'x') AS `{word}`, id FROM range(40)")
    table = coalesce.create(tmp_path / "t", rows.schema, partition_by=["dt", word], spark=spark)
    table.append(rows)
    frame = table.read()
    for condition, expected in (
        (f"`{word}` = 'x'", 30),
        (f"`{word}` IS NULL", 10),
        (f"coalesce(`{word}`, 'y') = 'y'", 10),
        (f"concat(`{word}`, 'z') = 'xz'", 30),
        (f"reverse(concat('a', `{word}`)) = 'xa'", 30),  # which only Catalyst can judge, by the tuples
    ):
        assert frame.where(condition).count() == expected, condition
        assert len(frame.where(condition).collect()) == expected, condition
    frame.createOrReplaceTempView("words")
    spark.sql(f"DELETE FROM coalesce.`{tmp_path / 't'}` WHERE `{word}` IS NULL")
    assert coalesce.open(tmp_path / "t").count() == 30
    spark.sql(f"DELETE FROM coalesce.`{tmp_path / 't'}` WHERE concat(`{word}`, 'z') = 'xz' AND id < 20")
    assert coalesce.open(tmp_path / "t").count() == 15


def test_a_column_that_is_true(spark: "SparkSession", tmp_path: Path) -> None:
    """By itself it is a condition."""
    rows = spark.sql("SELECT CAST(id % 3 AS INT) AS dt, id % 2 = 0 AS `true`, id FROM range(40)")
    table = coalesce.create(tmp_path / "t", rows.schema, partition_by=["dt"], spark=spark)
    table.append(rows)
    assert table.read().where("`true`").count() == 20
    assert len(table.read().where("NOT `true`").collect()) == 20
