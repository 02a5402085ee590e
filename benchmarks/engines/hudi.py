"""Apache Hudi, on Spark 3.5."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import peers
from benchmarks.engines.engine import Footprint, NotOffered, measured
from benchmarks.engines.spark_table import SparkTable
from benchmarks.staged import Target


class Hudi(SparkTable):
    """Copy-on-write, by dt, with `id` as the key of records; the first load is a `bulk_insert` sorted by (dt, app), its
    advice for that; the metadata table with statistics of columns and data skipping are on. On Spark 3.5, the newest
    for which it could be fetched when this was written, so compare with care.
    """

    def settings(self) -> Mapping[str, str]:
        """See `SparkTable`."""
        return peers.settings("hudi", self.place)

    def versions(self) -> dict[str, str]:
        """See `Engine`."""
        return {**super().versions(), "hudi": peers.version("hudi")}

    @property
    def table(self) -> str:
        """See `SparkTable`."""
        return self.name

    def create(self, name: str, source: Path, by: Sequence[str] = ("dt", "app")) -> None:
        """See `Engine`."""
        self.name = name
        self._write(source, "bulk_insert")
        self.open(name)

    def _write(self, source: Path, operation: str) -> None:
        options = {
            "hoodie.table.name": self.name,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "dt",
            "hoodie.datasource.write.hive_style_partitioning": "true",
            "hoodie.datasource.write.operation": operation,
            "hoodie.bulkinsert.sort.mode": "NONE",
            "hoodie.metadata.enable": "true",
            "hoodie.metadata.index.column.stats.enable": "true",
            "hoodie.metadata.index.column.stats.column.list": "app,id",
            "hoodie.parquet.compression.codec": "zstd",
        }
        rows = self.rows(source).repartition("dt").sortWithinPartitions("dt", "app")
        rows.write.format("hudi").options(**options).mode("append").save(str(self._location))

    def open(self, name: str) -> None:
        """See `Engine`."""
        self.name = name
        self.run(f"DROP TABLE IF EXISTS {name}")
        self.run(f"CREATE TABLE {name} USING hudi LOCATION '{self._location}'")
        self.run("SET hoodie.enable.data.skipping = true")

    def append(self, source: Path) -> None:
        """See `Engine`."""
        self._write(source, "insert")
        self.spark.catalog.refreshTable(self.name)

    def overwrite(self, source: Path, target: Target) -> None:
        """See `Engine`; a DELETE and an insert, two commits: it overwrites whole partitions of its own only."""
        self.delete(target.where)
        self.append(source)

    def merge(self, source: Path) -> None:
        """See `Engine`; its MERGE takes no literal beside the keys."""
        self.rows(source).createOrReplaceTempView("source")
        self.run(
            f"MERGE INTO {self.table} AS t USING source AS s ON t.dt = s.dt AND t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET value = s.value WHEN NOT MATCHED THEN INSERT *"
        )

    def compact(self) -> None:
        """See `Engine`; clustering."""
        self.run(f"CALL run_clustering(table => '{self.name}', op => 'scheduleAndExecute', order => 'app')")

    def rename(self, old: str, new: str) -> None:
        """See `Engine`."""
        raise NotOffered("renames a column only in a mode of evolution that it calls an experiment")

    def footprint(self) -> Footprint:
        """See `Engine`; files of older commits are on disk and counted, as it keeps them until it is told to clean."""
        return measured(self._location, (".hoodie",))
