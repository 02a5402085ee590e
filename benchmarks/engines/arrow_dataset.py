"""Plain Parquet through pyarrow, without a table format."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.dataset as ds

from benchmarks.engines.conditions import aggregated, expression, no_join
from benchmarks.engines.engine import Engine, Footprint, NotOffered, Rows, measured
from benchmarks.workload import Query


class ArrowDataset(Engine):
    """`pyarrow.dataset` by dt, rows sorted by app, zstd at level 1; row groups of 128 Ki rows have narrow bounds."""

    def versions(self) -> dict[str, str]:
        """See `Engine`."""
        return {"pyarrow": pa.__version__}

    def create(self, name: str, source: Path, by: Sequence[str] = ("dt", "app")) -> None:
        """See `Engine`."""
        self._place = self.place / name
        self.append(source)

    def open(self, name: str) -> None:
        """See `Engine`."""
        self._place = self.place / name
        self._dataset = ds.dataset(self._place, partitioning=_partitioning())

    def append(self, source: Path) -> None:
        """See `Engine`."""
        write_by_day(ds.dataset(source).to_table(), self._place)
        self.open(self._place.name)

    def prepare(self, where: str | None) -> None:
        """See `Engine`."""
        with suppress(NotOffered):  # said where it is measured
            expression(where)

    def query(self, query: Query) -> Rows:
        """See `Engine`."""
        no_join(query)
        if query.columns == ():
            return [[self._dataset.count_rows(filter=expression(query.where))]]
        return aggregated(query, self._dataset.to_table(columns=list(query.columns), filter=expression(query.where)))

    def plan(self, where: str) -> int:
        """See `Engine`."""
        return len(list(self._dataset.get_fragments(filter=expression(where))))

    def footprint(self) -> Footprint:
        """See `Engine`."""
        return measured(self._place, ())


def _partitioning() -> Any:
    return ds.partitioning(pa.schema([("dt", pa.date32())]), flavor="hive")


def write_by_day(rows: pa.Table, place: Path) -> None:
    """A directory for each day, rows sorted by app inside."""
    ds.write_dataset(
        rows.sort_by([("dt", "ascending"), ("app", "ascending")]),
        place,
        format="parquet",
        partitioning=_partitioning(),
        basename_template=f"{uuid4().hex}-{{i}}.parquet",
        existing_data_behavior="overwrite_or_ignore",
        max_rows_per_group=128 * 1024,
        file_options=ds.ParquetFileFormat().make_write_options(compression="zstd", compression_level=1),
    )
