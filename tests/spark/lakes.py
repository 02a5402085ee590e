"""A catalog `lake` in the shared session, with one table, for the tests of a module."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import coalesce
from coalesce.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = "dt DATE, app STRING, k BIGINT"


@dataclass(frozen=True)
class Lake:
    """The session, and the directory that its catalog `lake` is of."""

    spark: "SparkSession"
    root: Path

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement; its rows as plain tuples."""
        return [tuple(row) for row in self.spark.sql(statement).collect()]

    def numbers(self, source: str) -> list[int]:
        """The column `k` of a table, in order."""
        return [number for (number,) in self.sql(f"SELECT k FROM {source} ORDER BY k")]

    def table(self, name: str) -> Table:
        """A table by its path in the warehouse, opened afresh."""
        return coalesce.open(self.root / name, spark=self.spark)


@contextmanager
def attached(spark: "SparkSession", root: Path) -> Iterator[Lake]:
    """The shared session with a catalog `lake`, and without it afterwards."""
    coalesce.attach(spark, catalog="lake", warehouse=root)
    try:
        yield Lake(spark, root.resolve())
    finally:
        for name in ("spark.sql.catalog.lake", "spark.sql.catalog.lake.warehouse"):
            spark.conf.unset(name)


def events(lake: Lake, name: str = "db.events") -> None:
    """A table with three rows, one for each of three days, in two commits."""
    lake.sql(f"CREATE TABLE lake.{name} ({COLUMNS}) PARTITIONED BY (dt, app)")
    lake.sql(f"INSERT INTO lake.{name} VALUES (DATE '2026-05-01', 'A', 1), (DATE '2026-05-02', 'B', 2)")
    lake.sql(f"INSERT INTO lake.{name} VALUES (DATE '2026-05-03', 'C', 3)")
