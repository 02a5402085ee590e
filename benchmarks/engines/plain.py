"""Plain Parquet on Spark, without a table format: a directory for each logical partition, and one for each day."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from benchmarks.engines.engine import Footprint, NotOffered, measured
from benchmarks.engines.spark_table import SparkTable
from benchmarks.staged import Target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class _Directories(SparkTable):
    """What both have in common: Spark lists the directories when the table is opened, and again after each change."""

    by: tuple[str, ...]

    def settings(self) -> Mapping[str, str]:
        """See `SparkTable`; only logical partitions in the new rows are replaced when something is overwritten."""
        return {"spark.sql.sources.partitionOverwriteMode": "dynamic"}

    @property
    def table(self) -> str:
        """See `SparkTable`."""
        return self.name

    def open(self, name: str) -> None:
        """See `Engine`."""
        self.name = name
        # Values in the names of directories are texts unless Spark is told: an app called 007 is not the number 7.
        frame = self.rows(self._location)
        frame.select(*self.staged.columns).createOrReplaceTempView(name)

    def delete(self, where: str) -> None:
        """See `Engine`."""
        raise NotOffered("has no DELETE: whoever wants it writes the directories again")

    def merge(self, source: Path) -> None:
        """See `Engine`."""
        raise NotOffered("has no MERGE")

    def update(self, column: str, value: str, where: str) -> None:
        """See `Engine`."""
        raise NotOffered("has no UPDATE")

    def rename(self, old: str, new: str) -> None:
        """See `Engine`."""
        raise NotOffered("has no rename: all files would be written again")

    def footprint(self) -> Footprint:
        """See `Engine`."""
        return measured(self._location, ())


class Hive(_Directories):
    """`partitionBy("dt", "app")`, after `repartition("dt", "app")`: one file for each logical partition, as few as this
    layout can have. Removing a tenant deletes its directories, which no reader or writer is told of.
    """

    def create(self, name: str, source: Path, by: Sequence[str] = ("dt", "app")) -> None:
        """See `Engine`."""
        self.name = name
        self._write(source, "error")
        self.open(name)

    def _write(self, source: Path, mode: str) -> None:
        rows = self.rows(source).repartition("dt", "app")
        rows.write.mode(mode).partitionBy("dt", "app").parquet(str(self._location))

    def append(self, source: Path) -> None:
        """See `Engine`."""
        self._write(source, "append")
        self.open(self.name)

    def overwrite(self, source: Path, target: Target) -> None:
        """See `Engine`; exactly the directories of the new rows."""
        self._write(source, "overwrite")
        self.open(self.name)

    def delete_tenant(self, app: str) -> None:
        """See `Engine`."""
        for directory in self._location.glob("dt=*/app=*"):
            if unquote(directory.name.partition("=")[2]) == app:
                shutil.rmtree(directory)
        self.open(self.name)


class ByDay(_Directories):
    """`partitionBy("dt")`, rows sorted by app: the honest simple alternative. Row groups are skipped by the bounds in
    the footers. What changes, changes by writing its day again.
    """

    def create(self, name: str, source: Path, by: Sequence[str] = ("dt", "app")) -> None:
        """See `Engine`."""
        self.name = name
        sorted_by_day(self.rows(source)).write.partitionBy("dt").parquet(str(self._location))
        self.open(name)

    def append(self, source: Path) -> None:
        """See `Engine`."""
        sorted_by_day(self.rows(source)).write.mode("append").partitionBy("dt").parquet(str(self._location))
        self.open(self.name)

    def overwrite(self, source: Path, target: Target) -> None:
        """See `Engine`; the day is written again."""
        others = self.spark.table(self.name).where(f"dt = DATE '{target.day}' AND NOT ({target.where})")
        self._replace_days(others.unionByName(self.rows(source)))

    def delete_tenant(self, app: str) -> None:
        """See `Engine`; every day is written again."""
        self._replace_days(self.spark.table(self.name).where(f"app != '{app}'"))

    def _replace_days(self, rows: "DataFrame") -> None:
        sorted_by_day(rows).write.mode("overwrite").partitionBy("dt").parquet(str(self._location))
        self.open(self.name)


def sorted_by_day(rows: "DataFrame") -> "DataFrame":
    """Each day in one task, sorted by app."""
    return rows.repartition("dt").sortWithinPartitions("dt", "app")
