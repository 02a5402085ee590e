"""coalesce without a JVM."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

import coalesce
from benchmarks.engines.conditions import aggregated, no_join
from benchmarks.engines.engine import Engine, Footprint, Rows, measured
from benchmarks.staged import Target
from benchmarks.workload import Query


class CoalesceArrow(Engine):
    """By (dt, app); small apps share files, with the workload's threshold. Nothing else is set."""

    def versions(self) -> dict[str, str]:
        """See `Engine`."""
        return {"coalesce": coalesce.__version__, "pyarrow": pa.__version__}

    def create(self, name: str, source: Path, by: Sequence[str] = ("dt", "app")) -> None:
        """See `Engine`."""
        rule = coalesce.small("app", below=self.staged.below) if "app" in by else None
        rows = ds.dataset(source)
        self._table = coalesce.create(self.place / name, rows.schema, partition_by=list(by), rule=rule)
        self._table.append(rows.to_table())

    def open(self, name: str) -> None:
        """See `Engine`."""
        self._table = coalesce.open(self.place / name)

    def append(self, source: Path) -> None:
        """See `Engine`."""
        self._table.append(ds.dataset(source).to_table())

    def query(self, query: Query) -> Rows:
        """See `Engine`; a count goes by metadata where that knows."""
        no_join(query)
        if query.columns == ():
            return [[self._table.count(query.where)]]
        scan = self._table.scan(query.where, columns=list(query.columns))
        return aggregated(query, scan.to_arrow())

    def plan(self, where: str) -> int:
        """See `Engine`."""
        return self._table.plan(where).file_count

    def overwrite(self, source: Path, target: Target) -> None:
        """See `Engine`."""
        self._table.overwrite(ds.dataset(source).to_table(), target.where)

    def delete(self, where: str) -> None:
        """See `Engine`."""
        self._table.delete(where)

    def merge(self, source: Path) -> None:
        """See `Engine`; by keys, where Spark's MERGE takes a condition."""
        self._table.upsert(ds.dataset(source).to_table(), keys=["dt", "app", "id"])

    def compact(self) -> None:
        """See `Engine`."""
        self._table.compact()

    def rename(self, old: str, new: str) -> None:
        """See `Engine`."""
        self._table.rename_column(old, new)

    def change_spec(self, field: str) -> None:
        """See `Engine`."""
        self._table.evolve(add=field)

    def footprint(self) -> Footprint:
        """See `Engine`."""
        disk, state = measured(Path(self._table.location), ("_coalesce",)), self._table.state
        return Footprint(
            files=state.files,
            directories=disk.directories,
            data_bytes=state.bytes,
            metadata_bytes=disk.metadata_bytes,
        )
