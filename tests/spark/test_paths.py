"""A table by its path in SQL, coalesce.`/data/events`: read, inserted into, changed, at versions of the past."""

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import coalesce
from coalesce.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Ten rows of two apps, in a directory whose name SQL has to quote."""
    schema = pa.schema([("app", pa.string()), ("k", pa.int64())])
    table = coalesce.create(tmp_path / "the events", schema, partition_by=["app"])
    table.append([{"app": "ab"[k % 2], "k": k} for k in range(10)])
    return table


def keys(table: Table) -> list[int]:
    """The keys in the newest version."""
    found: list[int] = table.refresh().scan().to_arrow().column("k").to_pylist()
    return sorted(found)


def test_rows_are_read_inserted_and_changed(spark: "SparkSession", table: Table) -> None:
    """Every statement that takes the name of a table takes a path, in subqueries and as its own source as well."""
    name = f"coalesce.`{table.location}`"
    spark.sql(f"DELETE FROM {name} WHERE k = 1")
    spark.sql(f"UPDATE {name} AS v SET k = v.k + 100 WHERE k IN (SELECT max(k) FROM {name})")
    spark.sql(f"MERGE INTO {name} t USING {name} s ON t.k = s.k - 1 WHEN MATCHED AND t.k < 5 THEN DELETE")
    assert keys(table) == [0, 5, 6, 7, 8, 109]
    spark.sql(f"INSERT INTO {name} VALUES ('c', 77)")
    spark.sql(f"INSERT OVERWRITE {name} SELECT * FROM {name} WHERE k > 50")
    assert keys(table) == [77, 109]
    assert spark.sql(f"SELECT count(*) FROM {name} VERSION AS OF 1").collect()[0][0] == 10
    assert spark.sql(f"SELECT count(*) FROM {name} WITH (version = 1) WHERE app = 'a'").collect()[0][0] == 5
    assert spark.newSession().sql(f"SELECT count(*) FROM {name}").collect()[0][0] == 2


def test_a_query_by_path_prunes(spark: "SparkSession", table: Table) -> None:
    """It is the native scan, over the files that the planner picked."""
    plan = spark.sql(f"SELECT k FROM coalesce.`{table.location}` WHERE app = 'a'")._jdf.queryExecution().toString()
    assert "1 of 2 files" in plan


def test_what_is_not_there_is_said(spark: "SparkSession", tmp_path: Path) -> None:
    """In our words, for whatever has a slash in it."""
    with pytest.raises(Exception, match="there is no coalesce table at"):
        spark.sql(f"SELECT * FROM coalesce.`{tmp_path}/none`")
