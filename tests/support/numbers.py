"""Rows by their number, the column `k` that tables of tests have: what is there, in an order that files do not give."""

from typing import TYPE_CHECKING

from coalesce.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def frame_numbers(frame: "DataFrame") -> list[int]:
    """The numbers of a DataFrame's rows."""
    return sorted(row.k for row in frame.select("k").collect())


def sql_numbers(spark: "SparkSession", source: str) -> list[int]:
    """The numbers of the rows of a table or view of the catalog."""
    return sorted(row.k for row in spark.sql(f"SELECT k FROM {source}").collect())


def table_numbers(table: Table) -> list[int]:
    """The numbers of the rows of a table's newest version, read without Spark."""
    found: list[int] = sorted(table.refresh().scan(columns=["k"]).to_arrow().column("k").to_pylist())
    return found
