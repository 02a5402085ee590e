"""Delta Lake on Spark, in three layouts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from benchmarks import peers
from benchmarks.engines.engine import Footprint, NotOffered, measured
from benchmarks.engines.plain import sorted_by_day
from benchmarks.engines.spark_table import SparkTable
from benchmarks.staged import Staged, Target


class _Delta(SparkTable):
    """What the three have in common: deletion vectors are on, which it advises for DELETE, UPDATE and MERGE."""

    by: ClassVar[tuple[str, ...]] = ()

    def __init__(self, staged: Staged, place: Path) -> None:
        super().__init__(staged, place)
        self._mapped: set[str] = set()

    def settings(self) -> Mapping[str, str]:
        """See `SparkTable`."""
        # It computes its state in 50 tasks, for clusters; here in as many as there are cores, which is faster.
        return {**peers.settings("delta", self.place), "spark.databricks.delta.snapshotPartitions": "2"}

    def versions(self) -> dict[str, str]:
        """See `Engine`."""
        return {**super().versions(), "delta": peers.version("delta")}

    @property
    def table(self) -> str:
        """See `SparkTable`."""
        return f"delta.`{self._location}`"

    def create(self, name: str, source: Path, by: Sequence[str] = ("dt", "app")) -> None:
        """See `Engine`."""
        self.name = name
        self.run(
            f"CREATE TABLE {self.table} ({self.columns}) USING delta {self.layout()} "
            f"TBLPROPERTIES ('delta.enableDeletionVectors' = 'true'{self.properties()})"
        )
        self.append(source)

    def layout(self) -> str:
        """The clause of CREATE TABLE that says how rows are laid out."""
        return f"PARTITIONED BY ({', '.join(self.by)})"

    def properties(self) -> str:
        """More properties of the table, after a comma."""
        return ""

    def open(self, name: str) -> None:
        """See `Engine`."""
        self.name = name

    def append(self, source: Path) -> None:
        """See `Engine`."""
        self.rows(source).write.format("delta").mode("append").save(str(self._location))

    def overwrite(self, source: Path, target: Target) -> None:
        """See `Engine`; `replaceWhere`."""
        writer = self.rows(source).write.format("delta").mode("overwrite").option("replaceWhere", target.where)
        writer.save(str(self._location))

    def compact(self) -> None:
        """See `Engine`."""
        self.run(f"OPTIMIZE {self.table}")

    def rename(self, old: str, new: str) -> None:
        """See `Engine`; a table has to map names to columns first, which it is told once and for all."""
        if self.name not in self._mapped:
            self.run(f"ALTER TABLE {self.table} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
            self._mapped.add(self.name)
        super().rename(old, new)

    def change_spec(self, field: str) -> None:
        """See `Engine`; the documentation's way is to overwrite the table with itself."""
        if "(" in field:
            raise NotOffered(f"has no {field.partition('(')[0]} of a column to partition by")
        rows = self.spark.read.format("delta").load(str(self._location))
        writer = rows.repartition(*self.by, field).write.format("delta").mode("overwrite")
        writer.option("overwriteSchema", "true").partitionBy(*self.by, field).save(str(self._location))

    def footprint(self) -> Footprint:
        """See `Engine`; files that are of no version but an older one are on disk, too, but not counted."""
        disk = measured(self._location, ("_delta_log", ".bin"))
        said = self.spark.sql(f"DESCRIBE DETAIL {self.table}").collect()[0]
        return Footprint(
            files=int(said["numFiles"]),
            directories=disk.directories,
            data_bytes=int(said["sizeInBytes"]),
            metadata_bytes=disk.metadata_bytes,
        )


class DeltaPartitioned(_Delta):
    """By (dt, app), as everyone begins. Optimized writes are on, which its documentation advises for partitioned
    tables: rows are shuffled so that each logical partition gets one file of each write.
    """

    by = ("dt", "app")

    def properties(self) -> str:
        """See `_Delta`."""
        return ", 'delta.autoOptimize.optimizeWrite' = 'true'"


class DeltaByDay(_Delta):
    """By dt, rows sorted by app when they are written, so that the bounds of each file and row group are narrow.
    Compaction is plain `OPTIMIZE`: it merges what is small, as ours does, where `ZORDER BY` writes every day again.
    """

    by = ("dt",)

    def append(self, source: Path) -> None:
        """See `Engine`."""
        sorted_by_day(self.rows(source)).write.format("delta").mode("append").save(str(self._location))


class DeltaLiquid(_Delta):
    """`CLUSTER BY (dt, app)`, the advice for new tables, for skew and for columns of many values. Rows are clustered by
    OPTIMIZE, so the first write is followed by one, and its time is in that of the write.
    """

    def layout(self) -> str:
        """See `_Delta`."""
        return "CLUSTER BY (dt, app)"

    def create(self, name: str, source: Path, by: Sequence[str] = ("dt", "app")) -> None:
        """See `Engine`."""
        super().create(name, source, by)
        self.compact()

    def change_spec(self, field: str) -> None:
        """See `Engine`; new rows are clustered otherwise, old ones by `OPTIMIZE FULL` if one likes."""
        if "(" in field:
            raise NotOffered(f"has no {field.partition('(')[0]} of a column to cluster by")
        self.run(f"ALTER TABLE {self.table} CLUSTER BY (dt, app, {field})")
