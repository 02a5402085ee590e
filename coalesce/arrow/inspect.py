"""What is in a data file, from its first page to its last: tuples, counts, statistics, columns that are none of ours.

Nothing is taken from the file's entry but which tuples are dead, whose rows do not count in statistics. No row group is
in memory as a whole: rows are decoded a batch at a time.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coalesce.arrow.encode import TUPLE_ORDER
from coalesce.arrow.reshape import default_of, fitted
from coalesce.arrow.statistics import lower_bound, upper_bound
from coalesce.arrow.tuples import RowTuples, can_compute, tuples_of
from coalesce.errors import SchemaError, StorageError
from coalesce.model.arrow_schema import FIELD_ID, type_from_arrow
from coalesce.model.columns import column_from, numbers
from coalesce.model.datafile import ColumnStatistics
from coalesce.model.entries import value_range
from coalesce.model.schema import ROW_ID_FIELD, ROW_VERSION_FIELD, Schema
from coalesce.model.spec import LogicalTuple, Spec
from coalesce.model.types import FLOATING, TIMESTAMP, TIMESTAMP_NTZ, AtomicType, Field, Value, is_atomic
from coalesce.model.values import order_key
from coalesce.storage.base import Storage
from coalesce.table.evolve import widens
from coalesce.table.maintain.columns import ColumnHistory
from coalesce.table.maintain.contents import Contents

_BATCH_ROWS: Final = 64 * 1024
_MOST_TUPLES: Final = 1_000_000  # more are not counted: no entry lists so many
_LINEAGE: Final = (ROW_ID_FIELD, ROW_VERSION_FIELD)


def inspect_file(
    storage: Storage,
    path: str,
    size: int,
    spec: Spec,
    columns: ColumnHistory,
    dead: Collection[LogicalTuple] | None = (),
) -> Contents:
    """What the file at `path`, which has `size` bytes, holds; with None for the dead, as far as its footer tells.

    Raises `StorageError` if it cannot be read to its end.
    """
    whole = dead is not None
    try:
        with storage.open_input(path, size=size) as source:
            parquet = pq.ParquetFile(
                source, pre_buffer=whole, coerce_int96_timestamp_unit="us", page_checksum_verification=True
            )
            inspector = _Inspector(parquet, spec, columns, frozenset(dead or ()))
            if whole:
                inspector.read()
            return inspector.contents(size)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last if a column's name is damaged
        raise StorageError(f"the file cannot be read as Parquet: {str(error).rstrip('.')}.") from error


class _Inspector:
    """Goes through the rows of one file, and adds up what it sees."""

    def __init__(
        self, parquet: pq.ParquetFile, spec: Spec, columns: ColumnHistory, dead: frozenset[LogicalTuple]
    ) -> None:
        self.parquet = parquet
        self.spec = spec
        self.columns = columns
        self.dead = dead
        self.members = list(parquet.schema_arrow)
        self.ids = [_field_id(member) for member in self.members]
        self.foreign = list(_foreign(self.members, columns)) if any(i is not None for i in self.ids) else []
        find = self._finder()
        places = {field.id: (field, find(field)) for field in columns.schema}
        # A column of a type that does not fit is told of, and not looked into.
        self.places = {
            i: (field, place)
            for i, (field, place) in places.items()
            if place is not None and is_atomic(field.type) and _fits(self.members[place].type, field, columns)
        }
        self.required = [(f, p) for f, p in places.values() if p is not None and f.required]
        self.nulls = dict.fromkeys((f.id for f, _ in self.required), 0)
        self.measures = {i: _Measure(field.type) for i, (field, _) in self.places.items()}  # type: ignore[arg-type]
        self.tuples = self._counter()
        self.row_ids = next((place for place, i in enumerate(self.ids) if i == ROW_ID_FIELD), None)
        self.highest_row_id: int | None = None
        self.rows_with_id = 0

    def _finder(self) -> Callable[[Field], int | None]:
        """Where a column is in the file: by its id, or in a file without any by its physical name."""
        if any(i is not None for i in self.ids):
            by_id = {i: place for place, i in reversed([*enumerate(self.ids)])}
            return lambda field: by_id.get(field.id)
        by_name = {m.name.lower(): place for place, m in reversed([*enumerate(self.members)])}
        return lambda field: by_name.get(field.physical_name.lower())

    def _counter(self) -> "_TupleCounter | None":
        """What counts tuples, if the file has all columns that they are made of."""
        sources = {f.source_id for f in self.spec.fields}
        if not sources <= self.places.keys():
            return None
        fields = []
        for column_id in sources:
            field, place = self.places[column_id]
            fields.append(_as_stored(field, self.members[place].type, self.columns))
        schema = Schema(tuple(fields))
        return _TupleCounter(self.spec, schema) if can_compute(self.spec, schema) else None

    def read(self) -> None:
        """Every row. Row groups one by one: what is fetched of one before it is decoded is let go with it."""
        for group in range(self.parquet.metadata.num_row_groups):
            for batch in self.parquet.iter_batches(_BATCH_ROWS, [group]):
                self._read(batch)

    def _read(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            read = {
                column_id: fitted(batch.column(place), field.type, lambda _: _nowhere, default_of)
                for column_id, (field, place) in self.places.items()
            }
            found = None if self.tuples is None else self.tuples.add(batch.num_rows, read)
            self._measure(read, found)
            for field, place in self.required:
                self.nulls[field.id] += batch.column(place).null_count
            if self.row_ids is not None:
                self._note_ids(batch.column(self.row_ids))

    def _measure(self, columns: dict[int, pa.Array], tuples: RowTuples | None) -> None:
        """Statistics are those of the rows that the table has; if these cannot be told, nothing is known of them."""
        live: pa.Array | None = None
        if self.dead and tuples is not None:
            live = column_from(np.array([t not in self.dead for t in tuples.distinct], np.bool_)[tuples.codes])
        elif self.dead:
            self.measures = {}
        for column_id, measure in self.measures.items():
            column = columns[column_id]
            measure.add(column if live is None else column.filter(live))

    def _note_ids(self, ids: pa.Array) -> None:
        highest = pc.max(ids.cast(pa.int64())).as_py()
        self.rows_with_id += len(ids) - ids.null_count
        if highest is not None:
            self.highest_row_id = highest if self.highest_row_id is None else max(highest, self.highest_row_id)

    def contents(self, size: int) -> Contents:
        """All that was seen."""
        rows = self.parquet.metadata.num_rows
        counted = None if self.tuples is None or self.tuples.gave_up else self.tuples
        exact = {i: measure.exact() for i, measure in self.measures.items()}
        return Contents(
            bytes=size,
            rows=rows,
            tuples=None if counted is None else tuple(counted.counts),
            tuple_rows=None if counted is None else tuple(counted.counts.values()),
            in_runs=counted is not None and counted.in_runs,
            claims_order=(self.parquet.metadata.metadata or {}).get(TUPLE_ORDER) == b"true",
            exact=exact,
            statistics={i: _as_entries_hold(statistics) for i, statistics in exact.items()},
            foreign=tuple(self.foreign),
            nulls=tuple(
                f"the required column {self.columns.name(i)!r} is NULL in {count:,} rows"
                for i, count in self.nulls.items()
                if count
            ),
            highest_row_id=self.highest_row_id,
            own_ids=self.row_ids is not None and self._all_have_ids(),
        )

    def _all_have_ids(self) -> bool:
        """Whether no row goes by its place in the file."""
        metadata = self.parquet.metadata
        if self.rows_with_id == metadata.num_rows:
            return True
        paths = {self.parquet.schema.column(i).path: i for i in range(len(self.parquet.schema))}
        place = paths.get(self.members[self.row_ids or 0].name)
        if place is None:
            return False
        groups = [metadata.row_group(g).column(place).statistics for g in range(metadata.num_row_groups)]
        return all(s is not None and s.has_null_count and s.null_count == 0 for s in groups)


def _nowhere(_: Field) -> int | None:
    return None


# --- columns -----------------------------------------------------------------------------------------------------


def _field_id(member: pa.Field) -> int | None:
    text = (member.metadata or {}).get(FIELD_ID)
    return None if text is None else int(text)


def _foreign(members: Sequence[pa.Field], columns: ColumnHistory) -> Iterator[str]:
    """A sentence for each column of a file with ids that is none of the table's, or of a type it cannot have."""
    seen: set[int] = set()
    for member in members:
        column_id = _field_id(member)
        if column_id in _LINEAGE:
            continue
        field = None if column_id is None else columns.schema.by_id(column_id)
        if column_id is None:
            yield f"the column {member.name!r} has no id, as others have"
        elif columns.is_foreign(column_id):
            yield f"the column {member.name!r} has the id {column_id}, which is none of the table's"
        elif column_id in seen:
            yield f"the id {column_id} stands for two columns, {member.name!r} is one of them"
        elif field is not None and not _fits(member.type, field, columns):
            yield f"the column {member.name!r} has the id of {columns.name(column_id)!r} and is {member.type}"
        else:
            yield from (
                f"inside {member.name!r} there is the id {i}, which is none of the table's"
                for i in _ids_inside(member.type)
                if columns.is_foreign(i)
            )
        seen.add(-1 if column_id is None else column_id)


def _ids_inside(type_: pa.DataType) -> Iterator[int]:
    for i in range(type_.num_fields):
        child = type_.field(i)
        column_id = _field_id(child)
        if column_id is not None:
            yield column_id
        yield from _ids_inside(child.type)


def _fits(stored: pa.DataType, field: Field, columns: ColumnHistory) -> bool:
    """Whether a file may hold the column in this type: one that it had, one that widens to it, or one that reads so."""
    try:
        type_ = type_from_arrow(stored)
    except SchemaError:
        return False
    if not is_atomic(field.type) or not is_atomic(type_):
        return type(field.type) is type(type_)
    if type_ in columns.types[field.id] or widens(type_, field.type):
        return True
    return {type_, field.type} == {TIMESTAMP, TIMESTAMP_NTZ}  # Spark's old 12-byte timestamps say neither


def _as_stored(field: Field, stored: pa.DataType, columns: ColumnHistory) -> Field:
    """The column in the type its tuples were made in: near the least integer, truncate depends on the width."""
    type_ = type_from_arrow(stored)
    was_its_own = type_ in columns.types[field.id] or (not columns.whole and widens(type_, field.type))
    as_stored = was_its_own and field.type != TIMESTAMP_NTZ
    return Field(id=field.id, name=field.name, type=type_ if as_stored else field.type)


# --- tuples ------------------------------------------------------------------------------------------------------


class _TupleCounter:
    """How many rows each tuple has, in order of first appearance, and whether the rows of each lie together."""

    def __init__(self, spec: Spec, schema: Schema) -> None:
        self.spec = spec
        self.schema = schema
        self.counts: dict[LogicalTuple, int] = {}
        self.in_runs = True
        self.gave_up = False
        self._last: LogicalTuple | None = None

    def add(self, rows: int, columns: dict[int, pa.Array]) -> RowTuples | None:
        """Count some rows more, and say what they are; None if nobody can."""
        if self.gave_up:
            return None
        # Tables without columns forget how many rows they have.
        table = pa.table({"": pa.nulls(rows)} | {f.name: columns[f.id] for f in self.schema})
        try:
            found = tuples_of(table, self.spec, self.schema)
        except SchemaError:  # a string that is not UTF-8 is no partition value
            self.gave_up = True
            return None
        self.in_runs = self.in_runs and found.in_runs and self._goes_on(found)
        for tuple_, count in zip(found.distinct, found.counts, strict=True):
            self.counts[tuple_] = self.counts.get(tuple_, 0) + count
        self._last = found.distinct[int(found.codes[-1])]
        self.gave_up = len(self.counts) > _MOST_TUPLES
        return found

    def _goes_on(self, found: RowTuples) -> bool:
        """Whether of the tuples that were seen before only the last one goes on, and does so at once."""
        again = [i for i, tuple_ in enumerate(found.distinct) if tuple_ in self.counts]
        return not again or (again == [0] and found.distinct[0] == self._last)


# --- statistics --------------------------------------------------------------------------------------------------


class _Measure:
    """The range of a column's values, NULL and NaN aside, and how many of those there are."""

    def __init__(self, type_: AtomicType) -> None:
        self.type = type_
        self.lower: Value = None
        self.upper: Value = None
        self.nulls = 0
        self.nans = 0
        self.unknown = False

    def add(self, column: pa.Array) -> None:
        """Measure some rows more."""
        self.nulls += column.null_count
        if self.type in FLOATING:
            is_nan = np.isnan(numbers(column, null=0.0))
            nans = int(np.count_nonzero(is_nan))
            self.nans += nans
            column = column.filter(column_from(~is_nan)) if nans else column
        try:
            lower, upper = value_range(self.type, column)
        except SchemaError:  # a string that is not UTF-8: no text says where it stands in the order
            self.unknown = True
            return
        self.lower = _further(self.type, self.lower, lower, min)
        self.upper = _further(self.type, self.upper, upper, max)

    def exact(self) -> ColumnStatistics:
        """What was measured."""
        return ColumnStatistics(
            lower=None if self.unknown else self.lower,
            upper=None if self.unknown else self.upper,
            null_count=self.nulls,
            nan_count=self.nans if self.type in FLOATING else None,
        )


def _further(type_: AtomicType, one: Value, other: Value, of: Callable[..., Value]) -> Value:
    if one is None or other is None:
        return other if one is None else one
    return of(one, other, key=lambda value: order_key(type_, value))


def _as_entries_hold(exact: ColumnStatistics) -> ColumnStatistics:
    return ColumnStatistics(
        lower=lower_bound(exact.lower),
        upper=upper_bound(exact.upper),
        null_count=exact.null_count,
        nan_count=exact.nan_count,
    )
