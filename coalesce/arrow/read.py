"""Read data files back as the table's columns are now, whatever they were when the file was written.

A column is found in a file by its id; in a file without ids, one that was adopted, by its physical name. One that is
not there was added later and holds its default; or it is a partition column of a Hive-style directory, and the entry
says what it holds. Types that were widened since are cast. Rows of dead tuples are in the file and never leave this
module: whoever reads gets the rows that the table has.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from types import TracebackType
from typing import Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coalesce.arrow.column_places import Find, Finder, field_id, finder, leaves_of
from coalesce.arrow.encode import LINEAGE, TUPLE_ORDER
from coalesce.arrow.located import Located, located
from coalesce.arrow.places import Places, live_rows
from coalesce.arrow.ranges import Ranges, Rows, chosen_rows, joined
from coalesce.arrow.reshape import bare_rows, default_of, fitted, repeated
from coalesce.arrow.tuples import can_compute, tuples_of
from coalesce.errors import CorruptMetadata, FileMissing, StorageError
from coalesce.model.arrow_schema import arrow_field, arrow_type
from coalesce.model.datafile import DataFile
from coalesce.model.rule import Group
from coalesce.model.spec import Spec
from coalesce.model.transforms import Identity
from coalesce.model.types import FLOATING, Field, Type, Value, is_atomic
from coalesce.model.version import Version
from coalesce.predicate.outcomes import Mask
from coalesce.storage.base import Storage
from coalesce.table.commit.log import why_missing
from coalesce.table.layout import one_nan

# So many rows of a tuple, on average, are told by it in less time than it takes to decode them.
_LONG_RUN: Final = 16


@dataclass(frozen=True)
class OpenFile:
    """A data file with its footer read. Close it, or use it in a `with`."""

    entry: DataFile
    version: Version
    parquet: pq.ParquetFile

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.parquet.close(force=True)

    @cached_property
    def group_rows(self) -> list[int]:
        """How many rows each row group has."""
        metadata = self.parquet.metadata
        return [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]

    @cached_property
    def live_rows(self) -> list[int]:
        """How many rows of each row group the table has: without those of dead tuples."""
        if self._live is None:
            return self.group_rows
        return [self._live_in([group], None).count for group in range(len(self.group_rows))]

    def live_part(self, group: int, start: int, stop: int) -> int:
        """How many rows the table has of those from `start` to `stop` of a row group."""
        return stop - start if self._live is None else self._live_in([group], range(start, stop)).count

    def live_positions(self, places: Rows) -> Rows:
        """The numbers of rows among those that the table has, of rows given by their places in the file."""
        return places if self._live is None else self._live.numbers(places)

    def places_of_live(self, positions: Rows) -> Rows:
        """The places in the file of rows that are given by their numbers among those that the table has."""
        return positions if self._live is None else self._live.rows(positions)

    @property
    def spec(self) -> Spec:
        """The spec the file was written under."""
        return self.version.spec_by_id(self.entry.spec_id)

    @cached_property
    def _in_order(self) -> bool:
        """Whether the rows surely lie in the order of the entry's tuples, and their counts say where.

        The entry or the file itself has to say so, and the entry has to know every tuple and every count.
        """
        claimed = self.entry.ordered or (self.parquet.metadata.metadata or {}).get(TUPLE_ORDER) == b"true"
        return claimed and self.located.counted

    @cached_property
    def located(self) -> Located:
        """What follows from the entry alone."""
        return located(self.entry)

    @cached_property
    def places(self) -> Places | None:
        """Where the rows of each tuple, dead ones too, lie in the file, if that is known."""
        return self.located.places if self._in_order else None

    @cached_property
    def _live(self) -> Ranges | None:
        """Which rows of the file the table has; None if it has all of them."""
        if not self.entry.dead:
            return None
        return live_rows(self.entry) if self._in_order else self._live_by_tuples()

    def _live_by_tuples(self) -> Ranges:
        """The same by the rows themselves, of a file that does not say that they lie in order."""
        schema = self.version.schema
        if not can_compute(self.spec, schema):
            raise CorruptMetadata(
                self.entry.path, "its entry has dead tuples, and the table no longer has a column they are made of."
            )
        sources = {f.source_id for f in self.spec.fields}
        fields = [f for f in schema if f.id in sources]
        everything = self._rows(fields, range(len(self.group_rows)), None, None, None)
        found = tuples_of(everything, self.spec, schema)
        dead = {one_nan(tuple_.values): tuple_.rows for tuple_ in self.entry.dead if tuple_.rows}
        counted = {t: n for t, n in zip(found.distinct, found.counts, strict=True) if t in dead}
        if counted != dead:  # rows that were removed would come back
            raise CorruptMetadata(
                self.entry.path,
                "it does not have the rows that its entry says were removed; check(deep=True) says more.",
            )
        return Ranges.of(np.array([t not in dead for t in found.distinct], np.bool_)[found.codes])

    def _live_in(self, groups: Sequence[int], part: range | None) -> Ranges:
        """Which rows of some row groups, or of a `part` of one, the table has, all counted from the first of them."""
        assert self._live is not None
        begins = [0, *accumulate(self.group_rows)]
        if part is not None:
            return self._live.between(begins[groups[0]] + part.start, begins[groups[0]] + part.stop)
        return joined([self._live.between(begins[group], begins[group + 1]) for group in groups])

    @cached_property
    def _members(self) -> list[pa.Field]:
        # Arrow makes the schema anew each time it is asked for it.
        return list(self.parquet.schema_arrow)

    @cached_property
    def _find(self) -> Finder:
        return finder(self._members)

    @cached_property
    def _place_of(self) -> Find:
        return self._find(self._members)

    @cached_property
    def leaves(self) -> list[range]:
        """For each top-level column the places of its Parquet columns: one for an atomic column."""
        return leaves_of(self._members)

    @cached_property
    def constants(self) -> Mapping[int, Value]:
        """See `constants_of`."""
        return constants_of(self.entry, self.spec)

    def position(self, field: Field) -> int | None:
        """The place of a column among the file's top-level ones, or None if it is not there."""
        return self._place_of(field)

    def stored_type(self, position: int) -> pa.DataType:
        """The Arrow type of the file's top-level column at this place."""
        return self._members[position].type

    def read(
        self, fields: Sequence[Field], groups: Sequence[int], part: range | None = None, wanted: Mask | None = None
    ) -> pa.Table:
        """Columns of some row groups, or of a `part` of one, under their logical names and in their types of now.

        Rows of dead tuples are left out, and of the others those that are not `wanted`.
        """
        live = None if self._live is None or not len(groups) else self._live_in(groups, part)
        still = None if wanted is None or wanted.all() else Ranges.of(wanted)
        chosen = still
        if live is not None:
            chosen = live if wanted is None or still is None else live.among(wanted)
        return self._rows(fields, groups, part, still, None if chosen is None or chosen.is_all else chosen)

    def _rows(
        self,
        fields: Sequence[Field],
        groups: Sequence[int],
        part: range | None,
        still: Ranges | None,
        chosen: Ranges | None,
    ) -> pa.Table:
        """The rows that are `chosen` of all that lie there; of what tuples tell of live ones, `still` those."""
        parts = [range(self.group_rows[g]) for g in groups] if part is None else [part]
        positions = {f.id: self.position(f) for f in fields if not self._is_told(f)}
        wanted = sorted({p for p in positions.values() if p is not None})
        read = self._stored(wanted, groups, part)
        stored = dict(zip(wanted, read if chosen is None else chosen_rows(read, chosen), strict=True))
        columns = []
        for field in fields:
            position = positions.get(field.id)
            if position is not None:
                columns.append(self._fitted(stored[position], field.type))
            elif field.id not in self.constants and self._is_told_by_tuples(field):
                told = self._by_tuples(field, groups, parts)
                columns += [told] if still is None else chosen_rows([told], still)
            else:
                # By row group: strings that are the same in all rows may be too long for one array.
                same = [self._absent(field, count) for count in _counts(parts, chosen)]
                columns.append(pa.chunked_array(same, arrow_type(field.type)))
        names = pa.schema([arrow_field(field) for field in fields])
        return pa.Table.from_arrays(columns, schema=names) if fields else bare_rows(sum(_counts(parts, chosen)))

    def lineage(self) -> pa.Table | None:
        """The id and the version of every row that is not dead, as `LINEAGE` has them; None if neither is known."""
        count = self.entry.physical_rows
        first, added = self.entry.first_row_id, self.entry.added_version
        row_ids = pa.nulls(count, pa.int64()) if first is None else pa.array(np.arange(first, first + count))
        versions = pa.nulls(count, pa.int64()) if added is None else pa.repeat(pa.scalar(added, pa.int64()), count)
        own = [self._materialized(field, count) for field in LINEAGE]
        # What the file holds was true before the file: it has survived a rewrite.
        columns = [pc.coalesce(own[0], row_ids), pc.coalesce(own[1], versions)]
        table = pa.Table.from_arrays(columns, schema=LINEAGE)
        if all(c.null_count == count for c in table.columns):
            return None
        if self._live is None:
            return table
        return pa.Table.from_arrays(chosen_rows(table.columns, self._live), schema=LINEAGE)

    def _materialized(self, field: pa.Field, count: int) -> pa.ChunkedArray:
        wanted = field_id(field)
        places = [i for i, f in enumerate(self._members) if field_id(f) == wanted]
        if not places:
            return pa.chunked_array([pa.nulls(count, pa.int64())])
        return self._stored(places, range(len(self.group_rows)))[0].cast(pa.int64())

    def _stored(
        self, positions: Sequence[int], groups: Sequence[int], part: range | None = None
    ) -> list[pa.ChunkedArray]:
        """Top-level columns as they are in the file, by place: names need not be unique, nor free of dots."""
        if not positions:
            return []
        leaves = [leaf for p in positions for leaf in self.leaves[p]]
        try:
            if part is None:
                table = self.parquet.reader.read_row_groups(list(groups), column_indices=leaves, use_threads=True)
            else:
                table = self._part(part, groups[0], leaves)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(self.entry, error) from error
        return table.columns  # type: ignore[no-any-return]

    def _part(self, part: range, group: int, leaves: Sequence[int]) -> pa.Table:
        """Some rows of a row group, out of each batch by itself: together, strings may be too long for one."""
        found, begin = [], 0
        for batch in self._until(part.stop, group, leaves):
            inside = np.arange(max(part.start - begin, 0), min(part.stop - begin, batch.num_rows))
            found.append(batch.take(pa.array(inside)))
            begin += batch.num_rows
        return pa.Table.from_batches(found)

    def _until(self, stop: int, group: int, leaves: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """The rows of a row group before `stop`, and perhaps others: what comes after them is not decoded."""
        rows = 0
        for batch in self.parquet.reader.iter_batches(stop, [group], column_indices=leaves, use_threads=True):
            yield batch
            rows += batch.num_rows
            if rows >= stop:
                return

    def _is_told(self, field: Field) -> bool:
        # Where both the entry and the file have a value, the entry is the truth, and need not be read. But a float's
        # tuple does not tell 0.0 from -0.0 or one NaN from another; the file does.
        told = field.id in self.constants or self._is_told_by_tuples(field)
        return told and (field.type not in FLOATING or self.position(field) is None)

    def _is_told_by_tuples(self, field: Field) -> bool:
        if field.id not in self._components or self.places is None:
            return False
        in_file = self.position(field) is not None
        # Where each tuple has few rows, it is quicker to decode them.
        long_runs = self.entry.physical_rows >= _LONG_RUN * len(self.places.tuples)
        return len(self.places.tuples) > 1 and (not in_file or long_runs)

    @cached_property
    def _components(self) -> dict[int, int]:
        """The columns that are components of the tuples as they are, and which."""
        return {f.source_id: i for i, f in enumerate(self.spec.fields) if isinstance(f.transform, Identity)}

    def _by_tuples(self, field: Field, groups: Sequence[int], parts: Sequence[range]) -> pa.ChunkedArray:
        assert self.places is not None
        type_ = self.version.schema.atomic(field.id)
        assert type_ is not None  # a tuple is made of it
        starts = [sum(self.group_rows[:g]) for g in groups]
        chunks = [
            self.places.component(self._components[field.id], type_, range(start + part.start, start + part.stop))
            for start, part in zip(starts, parts, strict=True)
            if len(part)
        ]
        return pa.chunked_array(chunks, arrow_type(type_))

    def _absent(self, field: Field, rows: int) -> pa.Array:
        """A column that is not read from the file."""
        if field.id in self.constants:
            return repeated(field.type, self.constants[field.id], rows)
        if any(f.source_id == field.id for f in self.spec.fields):
            raise CorruptMetadata(
                self.entry.path,
                f"the file lacks the partition column {field.name!r}, and its entry does not say what it holds.",
            )
        return default_of(field, rows)

    def _fitted(self, column: pa.ChunkedArray, type_: Type) -> pa.ChunkedArray:
        if is_atomic(type_) and column.type == arrow_type(type_):
            return column
        try:
            chunks = [fitted(chunk, type_, self._find, default_of) for chunk in column.chunks]
        except pa.ArrowException as error:
            raise _unreadable(self.entry, error) from error
        return pa.chunked_array(chunks, arrow_type(type_))


def open_file(storage: Storage, entry: DataFile, version: Version) -> OpenFile:
    """Open a data file of `version` and read its footer; if it is gone because the version has expired, say so."""
    try:
        return _opened(storage, entry, version)
    except FileMissing as missing:
        raise why_missing(storage, version) or missing from missing


def _opened(storage: Storage, entry: DataFile, version: Version) -> OpenFile:
    source = storage.open_input(entry.path, size=entry.bytes)
    try:
        # Spark's old 12-byte timestamps would overflow as nanoseconds.
        parquet = pq.ParquetFile(
            source, pre_buffer=True, coerce_int96_timestamp_unit="us", page_checksum_verification=True
        )
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last if a column's name is damaged
        source.close()
        raise _unreadable(entry, error) from error
    if parquet.metadata.num_rows != entry.physical_rows:
        parquet.close(force=True)
        raise CorruptMetadata(
            entry.path, f"the file has {parquet.metadata.num_rows} rows, and its entry says {entry.physical_rows}."
        )
    return OpenFile(entry, version, parquet)


def constants_of(entry: DataFile, spec: Spec) -> dict[int, Value]:
    """The columns of which the entry says that every row holds the same value, and that value."""
    return {
        f.source_id: component
        for f, component in zip(spec.fields, _known_components(entry) or (), strict=False)
        if isinstance(f.transform, Identity) and not isinstance(component, Group)
    }


def _known_components(entry: DataFile) -> Sequence[Value | Group] | None:
    """What the entry says of each partition field in every row; a group says nothing."""
    if entry.tuples is not None and len(entry.tuples) == 1 and entry.trusted and not entry.dead:
        return entry.tuples[0]
    return entry.physical_key


def _unreadable(entry: DataFile, error: Exception) -> StorageError:
    return StorageError(f"the data file {entry.path!r} cannot be read as Parquet: {error}.")


def _counts(parts: Sequence[range], chosen: Ranges | None) -> list[int]:
    """How many rows of each part are chosen, one part after the other."""
    if chosen is None:
        return [len(part) for part in parts]
    ends = accumulate(map(len, parts))
    return [chosen.between(end - len(part), end).count for part, end in zip(parts, ends, strict=True)]
