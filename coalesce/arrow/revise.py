"""Rows of files that change, in memory: where they lie, what becomes of them, and the files that are made of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coalesce.arrow.compact import all_lineage
from coalesce.arrow.encode import LINEAGE, ROW_ID
from coalesce.arrow.read import OpenFile, open_file
from coalesce.arrow.rewrite import make_again
from coalesce.arrow.row_filter import is_true
from coalesce.arrow.row_groups import matching_parts
from coalesce.arrow.store import discard, store
from coalesce.arrow.threads import each
from coalesce.arrow.tuples import can_compute, tuples_of
from coalesce.arrow.write import write
from coalesce.manifest.paths import new_write_directory
from coalesce.model.arrow_schema import arrow_schema
from coalesce.model.datafile import DataFile
from coalesce.model.spec import LogicalTuple
from coalesce.model.types import Field
from coalesce.model.version import Version
from coalesce.predicate.outcomes import Mask
from coalesce.table.engine import Part, Snapshot
from coalesce.table.tuples import among

Positions = npt.NDArray[np.int64]

_FILES_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Changed:
    """The rows of one file that change: their places in it, ascending, and which of them stay, with other values.

    `places` count every row of the file, dead ones too. `tuples` are those that these rows have, if it is known.
    """

    file: DataFile
    places: Positions
    stays: Mask
    tuples: frozenset[LogicalTuple] | None


@dataclass
class FoundRows:
    """Rows that change. `rows` are those that stay, with their new values, in the order of `changed` and their places;
    `new` are rows that come in.
    """

    snapshot: Snapshot
    changed: Sequence[Changed]
    rows: pa.Table
    new: pa.Table

    @property
    def touched(self) -> list[Part]:
        """The parts of files that the rows lie in."""
        return [Part(changed.file, changed.tuples) for changed in self.changed]

    @property
    def updated(self) -> int:
        """How many rows get other values."""
        return int(self.rows.num_rows)

    @property
    def deleted(self) -> int:
        """How many rows go."""
        return sum(len(changed.places) for changed in self.changed) - self.updated

    @property
    def inserted(self) -> int:
        """How many rows are new."""
        return int(self.new.num_rows)

    def write(self, parts: Sequence[Part]) -> list[DataFile]:
        """New files: a whole file becomes one of its own again, all else is laid out like rows that come in."""
        copied = each(self._copied, list(zip(parts, self.changed, strict=True)), _FILES_AT_ONCE)
        directory = new_write_directory()
        again = [
            partial(make_again, self.snapshot, directory, number, part.file, *copy.kept)
            for number, (part, copy) in enumerate(zip(parts, copied, strict=True))
            if part.tuples is None and copy.kept[0].num_rows
        ]
        whole = store(self.snapshot.storage, again)
        try:
            return [*whole, *self._laid_out(parts, copied)]
        except BaseException:
            discard(self.snapshot.storage, [file.path for file in whole])
            raise

    def _laid_out(self, parts: Sequence[Part], copied: "Sequence[_Copy]") -> list[DataFile]:
        """The rows that do not go back to a file like their own: those of single tuples, changed ones, new ones."""
        schema = arrow_schema(self.snapshot.version.schema)
        moved = [copy.kept for part, copy in zip(parts, copied, strict=True) if part.tuples is not None]
        rows = [*(kept for kept, _ in moved), self.rows, self.new]
        lineage = [(kept.num_rows, known) for kept, known in moved]
        lineage += [(len(copy.changed), _changed_lineage(copy.changed)) for copy in copied]
        lineage.append((self.new.num_rows, None))
        return write(
            self.snapshot, pa.concat_tables(table.select(schema.names) for table in rows), all_lineage(lineage)
        )

    def _copied(self, of: tuple[Part, Changed]) -> "_Copy":
        part, changed = of
        version = self.snapshot.version
        with open_file(self.snapshot.storage, part.file, version) as file:
            positions, rows = rows_of(file, part)
            lineage = file.lineage()
            going = file.live_positions(changed.places)
        stay = ~np.isin(positions, going)
        kept = None if lineage is None else lineage.take(pa.array(positions[stay]))
        ids = None if lineage is None else lineage.column(ROW_ID).take(pa.array(going[changed.stays]))
        count = int(changed.stays.sum())
        return _Copy((rows.filter(pa.array(stay)), kept), pa.nulls(count, pa.int64()) if ids is None else ids)


@dataclass(frozen=True, slots=True)
class _Copy:
    """What is left of a part as it was, with the rows' ids and versions; and the ids of those that were changed."""

    kept: tuple[pa.Table, pa.Table | None]
    changed: pa.Array | pa.ChunkedArray


def _changed_lineage(ids: pa.Array | pa.ChunkedArray) -> pa.Table:
    """A row that was changed is the same row, of the version that this commit will make."""
    return pa.Table.from_arrays([ids, pa.nulls(len(ids), pa.int64())], schema=LINEAGE)


def rows_of(file: OpenFile, part: Part) -> tuple[Positions, pa.Table]:
    """The rows of a part, in the table's types of now, and their positions among the rows that are not dead."""
    schema = file.version.schema
    if part.tuples is None:
        return np.arange(part.file.rows), file.read(schema.fields, range(len(file.group_rows)))
    found = list(_rows_with(file, part.tuples))
    empty = arrow_schema(schema).empty_table()
    return np.concatenate([np.empty(0, np.int64), *(p for p, _ in found)]), pa.concat_tables(
        [empty, *(rows for _, rows in found)]
    )


def _rows_with(file: OpenFile, tuples: frozenset[LogicalTuple]) -> Iterator[tuple[Positions, pa.Table]]:
    schema = file.version.schema
    predicate = among(tuples, file.spec, schema)
    begins = np.cumsum([0, *file.live_rows])
    for part in matching_parts(file, predicate):
        rows = file.read(schema.fields, [part.group], range(part.start, part.stop))
        matching = is_true(predicate, rows, schema) if part.matching is None else part.matching
        first = begins[part.group] + file.live_part(part.group, 0, part.start)
        yield first + np.flatnonzero(matching), rows.filter(pa.array(matching))


def tuples_in(rows: pa.Table, file: DataFile, version: Version) -> frozenset[LogicalTuple] | None:
    """The tuples, under the spec of their file, of rows that have at least its columns; None if they are not known."""
    spec = version.spec_by_id(file.spec_id)
    if not file.trusted or not can_compute(spec, version.schema):
        return None
    return frozenset(tuples_of(rows, spec, version.schema).distinct)


def sources_of(version: Version) -> list[Field]:
    """The columns that tuples of any spec are made of."""
    sources = {field.source_id for spec in version.specs for field in spec.fields}
    return [field for field in version.schema if field.id in sources]
