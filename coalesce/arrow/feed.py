"""The changes of a table's rows as Arrow: those of one version at a time are in memory."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coalesce.arrow.compact import all_lineage
from coalesce.arrow.encode import ROW_ID, ROW_VERSION
from coalesce.arrow.read import open_file
from coalesce.arrow.revise import rows_of
from coalesce.arrow.threads import each
from coalesce.model.arrow_schema import arrow_schema
from coalesce.model.columns import numbers
from coalesce.model.version import Version
from coalesce.storage.base import Storage
from coalesce.table.engine import Part, Step
from coalesce.table.feed import (
    CHANGE_TYPE,
    COMMIT_TIMESTAMP,
    COMMIT_VERSION,
    DELETE,
    INSERT,
    POSTIMAGE,
    PREIMAGE,
)
from coalesce.table.outgoing import pandas_frame, polars_frame

Positions = npt.NDArray[np.int64]

_FILES_AT_ONCE: Final = 4
_UNKNOWN: Final = -1  # no row has this id


@dataclass(eq=False, repr=False)
class ArrowChanges:
    """Rows that came, went and changed, version by version; each method reads them anew."""

    storage: Storage
    version: Version
    steps: Callable[[], Iterable[Step]]

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the table, what happened to the row, and with which version, and when that was."""
        added = [
            pa.field(CHANGE_TYPE, pa.string()),
            pa.field(COMMIT_VERSION, pa.int64()),
            pa.field(COMMIT_TIMESTAMP, pa.timestamp("us", "UTC")),
        ]
        return pa.schema([*arrow_schema(self.version.schema), *added])

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The changes, a batch at a time; those of a version are read together."""
        for step in self.steps():
            for kind, rows in changes_of(self.storage, self.version, step):
                yield from self._labelled(kind, rows, step).to_batches()

    def to_arrow(self) -> pa.Table:
        """All changes at once."""
        return pa.Table.from_batches(self.to_batches(), self.schema)

    def to_reader(self) -> pa.RecordBatchReader:
        """The changes as a reader that reads them when it is asked for them."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The changes as a stream for any library that speaks Arrow."""
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """The changes as a pandas data frame."""
        return pandas_frame(self.to_arrow())

    def to_polars(self) -> Any:
        """The changes as a polars data frame."""
        return polars_frame(self.to_arrow())

    def __repr__(self) -> str:
        return f"<changes up to version {self.version.number}>"

    def _labelled(self, kind: str, rows: pa.Table, step: Step) -> pa.Table:
        count = rows.num_rows
        when = pa.scalar(step.timestamp_ms * 1000, pa.timestamp("us", "UTC"))
        added = [pa.repeat(pa.scalar(value), count) for value in (kind, step.number)]
        return pa.Table.from_arrays([*rows.columns, *added, pa.repeat(when, count)], schema=self.schema)


def changes_of(storage: Storage, version: Version, step: Step) -> Iterator[tuple[str, pa.Table]]:
    """What a version did to rows, with the columns of another: each kind of change, and the rows."""
    gone, came = (_rows(storage, version, parts) for parts in (step.removed, step.added))
    both, old, new = np.intersect1d(gone.ids, came.ids, return_indices=True)
    known = both != _UNKNOWN
    old, new = old[known], new[known]
    changed = came.versions[new] != gone.versions[old]  # which a row that was only moved has kept
    yield DELETE, gone.without(old)
    yield PREIMAGE, gone.rows.take(pa.array(old[changed]))
    yield POSTIMAGE, came.rows.take(pa.array(new[changed]))
    yield INSERT, came.without(new)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows with their ids and versions, each where it is known."""

    rows: pa.Table
    ids: Positions
    versions: Positions

    def without(self, positions: Positions) -> pa.Table:
        keep = np.ones(self.rows.num_rows, np.bool_)
        keep[positions] = False
        return self.rows.filter(pa.array(keep))


def _rows(storage: Storage, version: Version, parts: Sequence[Part]) -> _Rows:
    read = each(lambda part: _part(storage, version, part), parts, _FILES_AT_ONCE)
    rows = pa.concat_tables([arrow_schema(version.schema).empty_table(), *(table for table, _ in read)])
    lineage = all_lineage([(table.num_rows, known) for table, known in read])
    ids, versions = (numbers(lineage.column(name), null=_UNKNOWN) for name in (ROW_ID, ROW_VERSION))
    return _Rows(rows, ids.astype(np.int64), versions.astype(np.int64))


def _part(storage: Storage, version: Version, part: Part) -> tuple[pa.Table, pa.Table | None]:
    with open_file(storage, part.file, version) as file:
        positions, rows = rows_of(file, part)
        lineage = file.lineage()
    return rows, None if lineage is None else lineage.take(pa.array(positions))
