"""Apache Iceberg on Spark, in four layouts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from benchmarks import peers
from benchmarks.engines.engine import Footprint, Read, measured
from benchmarks.engines.spark_table import SparkTable
from benchmarks.staged import Target


class _Iceberg(SparkTable):
    """What the four have in common: a Hadoop catalog, and zstd at level 1, as everybody here.

    How rows are distributed (`write.distribution-mode`) is left to it, unless a layout says otherwise.
    """

    fields: ClassVar[str] = ""
    mode: ClassVar[str] = "copy-on-write"
    strategy: ClassVar[str] = "binpack"

    def settings(self) -> Mapping[str, str]:
        """See `SparkTable`."""
        return peers.settings("iceberg", self.place / "warehouse")

    def versions(self) -> dict[str, str]:
        """See `Engine`."""
        return {**super().versions(), "iceberg": peers.version("iceberg")}

    @property
    def table(self) -> str:
        """See `SparkTable`."""
        return f"lake.db.{self.name}"

    def create(self, name: str, source: Path, by: Sequence[str] = ("dt", "app")) -> None:
        """See `Engine`."""
        self.name = name
        properties = {
            "write.parquet.compression-codec": "zstd",
            "write.parquet.compression-level": "1",
            "write.delete.mode": self.mode,
            "write.update.mode": self.mode,
            "write.merge.mode": self.mode,
            **self.properties(),
        }
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        self.run(
            f"CREATE TABLE {self.table} ({self.columns}) USING iceberg PARTITIONED BY ({self.fields}) "
            f"TBLPROPERTIES ({listed})"
        )
        self.ordered()
        self.append(source)

    def properties(self) -> Mapping[str, str]:
        """More properties of the table."""
        return {}

    def ordered(self) -> None:
        """Say in which order rows are written, if in any."""

    def open(self, name: str) -> None:
        """See `Engine`."""
        self.name = name

    def read(self) -> Read:
        """See `Engine`; of the bytes that it reads, Spark is told of few."""
        return replace(super().read(), bytes=None)

    def compact(self) -> None:
        """See `Engine`; data files, then manifests, as its page on maintenance has it."""
        arguments = f"table => 'db.{self.name}', strategy => '{self.strategy}'"
        self.run(f"CALL lake.system.rewrite_data_files({arguments})")
        self.run(f"CALL lake.system.rewrite_manifests('db.{self.name}')")

    def change_spec(self, field: str) -> None:
        """See `Engine`; metadata only."""
        self.run(f"ALTER TABLE {self.table} ADD PARTITION FIELD {field}")

    def footprint(self) -> Footprint:
        """See `Engine`; files of older snapshots are on disk, too, but not counted. What says which rows are deleted is
        metadata: of several vectors in one file, each tells the size of the file.
        """
        disk = measured(self.place / "warehouse" / "db" / self.name, ("metadata",))
        size = "sum(file_size_in_bytes) size"
        said = self.spark.sql(f"SELECT count(*) n, {size} FROM {self.table}.data_files").collect()[0]
        files = f"SELECT DISTINCT file_path, file_size_in_bytes FROM {self.table}.delete_files"
        deletes = self.spark.sql(f"SELECT {size} FROM ({files})").collect()[0]
        return Footprint(
            files=int(said["n"]),
            directories=disk.directories,
            data_bytes=int(said["size"] or 0),
            metadata_bytes=disk.metadata_bytes + int(deletes["size"] or 0),
        )


class IcebergPartitioned(_Iceberg):
    """By (dt, app), as everyone begins; copy-on-write, the default. A task sorts its rows and has one file open at a
    time (`write.spark.fanout.enabled` is off): thousands of open ones do not fit into the memory that all have here.
    """

    fields = "dt, app"

    def properties(self) -> Mapping[str, str]:
        """See `_Iceberg`."""
        return {"write.spark.fanout.enabled": "false"}


class _Shared(_Iceberg):
    """Where tenants share files, Iceberg does not replace one by a condition: it removes only whole files so."""

    def overwrite(self, source: Path, target: Target) -> None:
        """See `Engine`; a DELETE and an append, two commits: readers may see the one without the other."""
        self.delete(target.where)
        self.append(source)


class IcebergByDay(_Shared):
    """By dt, `WRITE ORDERED BY app`, so that the bounds of each file and row group are narrow; rows are distributed by
    the hash of the day, so that each has one file and nobody samples rows for ranges first; copy-on-write, the default.
    Compaction sorts what it writes again, which would have no order otherwise.
    """

    fields = "dt"
    strategy = "sort"

    def properties(self) -> Mapping[str, str]:
        """See `_Iceberg`."""
        return {"write.distribution-mode": "hash"}

    def ordered(self) -> None:
        """See `_Iceberg`."""
        self.run(f"ALTER TABLE {self.table} WRITE ORDERED BY app")


class IcebergByDayMergeOnRead(IcebergByDay):
    """As `iceberg-day`, but merge-on-read with version 3 of the format, whose deletion vectors make changes of a few
    rows cheap, and later reads dearer.
    """

    mode = "merge-on-read"

    def properties(self) -> Mapping[str, str]:
        """See `_Iceberg`."""
        return {**super().properties(), "format-version": "3"}


class IcebergBucketCopyOnWrite(_Shared):
    """By (dt, bucket(16, app)), the advice for a column of many values, each file sorted by app; copy-on-write."""

    fields = "dt, bucket(16, app)"
    strategy = "sort"

    def ordered(self) -> None:
        """See `_Iceberg`."""
        self.run(f"ALTER TABLE {self.table} WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY app")


class IcebergBucketMergeOnRead(IcebergBucketCopyOnWrite):
    """By (dt, bucket(16, app)), the advice for a column of many values, each file sorted by app; merge-on-read with
    version 3 of the format, whose deletion vectors its documentation prefers to files of positions.
    """

    mode = "merge-on-read"

    def properties(self) -> Mapping[str, str]:
        """See `_Iceberg`."""
        return {"format-version": "3"}
