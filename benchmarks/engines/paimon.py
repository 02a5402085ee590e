"""Apache Paimon, on Spark 3.5."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import peers
from benchmarks.engines.engine import Footprint, NotOffered, Read, measured
from benchmarks.engines.spark_table import SparkTable
from benchmarks.staged import Target


class Paimon(SparkTable):
    """An append table by dt, in 16 buckets of app, which its documentation advises where a column of many values is
    asked for; zstd at level 1 is its default. Release 0.9.0 on Spark 3.5, the newest that could be fetched when this
    was written: there are newer ones, so compare with care.
    """

    def settings(self) -> Mapping[str, str]:
        """See `SparkTable`."""
        return peers.settings("paimon", self.place / "warehouse")

    def versions(self) -> dict[str, str]:
        """See `Engine`."""
        return {**super().versions(), "paimon": peers.version("paimon")}

    @property
    def table(self) -> str:
        """See `SparkTable`."""
        return f"lake.db.{self.name}"

    def create(self, name: str, source: Path, by: Sequence[str] = ("dt", "app")) -> None:
        """See `Engine`."""
        self.name = name
        self.run("CREATE DATABASE IF NOT EXISTS lake.db")
        self.run(
            f"CREATE TABLE {self.table} ({self.columns}) USING paimon PARTITIONED BY (dt) "
            "TBLPROPERTIES ('bucket' = '16', 'bucket-key' = 'app', 'file.format' = 'parquet')"
        )
        self.append(source)

    def open(self, name: str) -> None:
        """See `Engine`."""
        self.name = name

    def append(self, source: Path) -> None:
        """See `Engine`."""
        self.rows(source).createOrReplaceTempView("source")
        self.run(f"INSERT INTO {self.table} SELECT * FROM source")

    def read(self) -> Read:
        """See `Engine`; its scans tell Spark neither files nor bytes."""
        super().read()
        return Read(files=None, bytes=None)

    def overwrite(self, source: Path, target: Target) -> None:
        """See `Engine`; a DELETE and an append, two commits: it overwrites whole partitions of its own only."""
        self.delete(target.where)
        self.append(source)

    def compact(self) -> None:
        """See `Engine`; it sorts only tables without buckets."""
        self.run(f"CALL lake.sys.compact(table => 'db.{self.name}')")

    def merge(self, source: Path) -> None:
        """See `Engine`."""
        raise NotOffered("merges into tables with a primary key only")

    def rename(self, old: str, new: str) -> None:
        """See `Engine`."""
        raise NotOffered("renames no column that a bucket goes by")

    def footprint(self) -> Footprint:
        """See `Engine`."""
        directories = ("manifest", "snapshot", "schema", "changelog", "index")
        disk = measured(self.place / "warehouse" / "db.db" / self.name, directories)
        said = self.spark.sql(f"SELECT count(*) n, sum(file_size_in_bytes) size FROM lake.db.`{self.name}$files`")
        found = said.collect()[0]
        return Footprint(
            files=int(found["n"]),
            directories=disk.directories,
            data_bytes=int(found["size"] or 0),
            metadata_bytes=disk.metadata_bytes,
        )
