"""coalesce on Spark, through its native source."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import coalesce
from benchmarks.engines.engine import Footprint, measured
from benchmarks.engines.spark_table import SparkTable
from benchmarks.staged import Staged, Target


class Coalesce(SparkTable):
    """By (dt, app); small apps share files (`coalesce.small("app")`, with the workload's threshold, 64 MB unless it
    says otherwise). Nothing else is set: these are the defaults of the library.
    """

    def __init__(self, staged: Staged, place: Path) -> None:
        super().__init__(staged, place)
        coalesce.attach(self.spark, catalog="lake", warehouse=str(place / "lake"))
        self._tables: dict[str, coalesce.Table] = {}

    def settings(self) -> Mapping[str, str]:
        """See `SparkTable`; none."""
        return {}

    def versions(self) -> dict[str, str]:
        """See `Engine`."""
        return {**super().versions(), "coalesce": coalesce.__version__}

    @property
    def table(self) -> str:
        """See `SparkTable`."""
        return f"lake.{self.name}"

    @property
    def _location(self) -> Path:
        return self.place / "lake" / self.name

    def create(self, name: str, source: Path, by: Sequence[str] = ("dt", "app")) -> None:
        """See `Engine`."""
        self.name = name
        rows = self.rows(source)
        rule = coalesce.small("app", below=self.staged.below) if "app" in by else None
        made = coalesce.create(self._location, rows.schema, partition_by=list(by), rule=rule, spark=self.spark)
        made.append(rows)
        self._tables[name] = made

    def open(self, name: str) -> None:
        """See `Engine`; SQL needs no more than the name."""
        self.name = name

    @property
    def _table(self) -> coalesce.Table:
        """The table as an object, for what is not said in SQL."""
        if self.name not in self._tables:
            self._tables[self.name] = coalesce.open(self._location, spark=self.spark)
        return self._tables[self.name]

    def append(self, source: Path) -> None:
        """See `Engine`."""
        self._table.append(self.rows(source))

    def overwrite(self, source: Path, target: Target) -> None:
        """See `Engine`."""
        self._table.overwrite(self.rows(source), target.where)

    def compact(self) -> None:
        """See `Engine`."""
        self._table.compact()

    def change_spec(self, field: str) -> None:
        """See `Engine`; one commit, old files stay as they are."""
        self._table.evolve(add=field)

    def footprint(self) -> Footprint:
        """See `Engine`."""
        self._table.refresh()
        disk = measured(self._location, ("_coalesce",))
        state = self._table.state
        return Footprint(
            files=state.files,
            directories=disk.directories,
            data_bytes=state.bytes,
            metadata_bytes=disk.metadata_bytes,
        )
