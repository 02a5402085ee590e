"""Many entries at once: the columns of a manifest, in memory.

A manifest has up to tens of thousands of entries and ten times as many tuples; no Python object is made for any
of them until one is looked at.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.model.arrow_schema import type_from_arrow
from coalesce.model.columns import column_from, flags, is_null, numbers, whole
from coalesce.model.datafile import DataFile
from coalesce.model.entry_columns import (
    DEAD,
    ORDERED,
    STATISTIC_PREFIXES,
    is_statistic,
    objects_of,
    physical_keys,
    statistic_names,
    table_of,
)
from coalesce.model.rule import PhysicalKey
from coalesce.model.schema import Schema
from coalesce.model.spec import Spec
from coalesce.model.types import DATE, FLOATING, INTEGRAL_BITS, TEMPORAL, AtomicType, Value
from coalesce.model.values import Components, values_of

# Reads columns of statistics by name; what is not there is left out of the answer.
LoadColumns = Callable[[Sequence[str]], pa.Table]


_ARRAY_BYTES = 1_000  # what Arrow and Python take for a column however short, as measured


def _nothing_more(_: Sequence[str]) -> pa.Table:
    return pa.table({})


@dataclass(frozen=True)
class Entries:
    """Entries of one spec. `core` holds every column but statistics, which `load` brings when they are wanted.

    `unread` is how many bytes are held in memory to load them from.
    """

    spec_id: int
    field_ids: tuple[int, ...]
    core: pa.Table
    load: LoadColumns = field(default=_nothing_more)
    unread: int = 0
    _statistics: dict[str, pa.ChunkedArray | None] = field(default_factory=dict, repr=False)
    _loaded: list[int] = field(default_factory=list, repr=False)  # bytes of these

    def __len__(self) -> int:
        return int(self.core.num_rows)

    def tuple_type(self, field_id: int) -> AtomicType:
        """The type the component `field_id` was stored with; a column widened since is wider now."""
        stored = self.core.schema.field("tuples").type.value_type
        return type_from_arrow(stored.field(f"f{field_id}").type)  # type: ignore[return-value]

    def statistic(self, name: str) -> pa.Array | None:
        """The column of statistics called `name`, such as `lower_3`; None if the manifest has none."""
        if name not in self._statistics:
            # Those of one column are mostly wanted together, and to load them at once costs what one does.
            column_id = name.rpartition("_")[2]
            wanted = [f"{prefix}{column_id}" for prefix in STATISTIC_PREFIXES]
            loaded = self.load(wanted)
            there = loaded.column_names
            self._loaded.append(int(loaded.nbytes) + len(there) * _ARRAY_BYTES)
            self._statistics.update({n: loaded.column(n) if n in there else None for n in wanted})
        column = self._statistics[name]
        return None if column is None else whole(column)

    @property
    def nbytes(self) -> int:
        """About how much memory they take, with the statistics that were loaded so far. A cache asks at each use."""
        return self._core_bytes + sum(self._loaded)

    @cached_property
    def _core_bytes(self) -> int:
        arrays = len(self.core.column_names) + len(self.field_ids) + 2
        return int(self.core.get_total_buffer_size()) + self.unread + arrays * _ARRAY_BYTES

    @cached_property
    def dead_rows(self) -> np.ndarray:
        """How many rows of each file the table has no more."""
        if DEAD not in self.core.column_names:
            return np.zeros(len(self), np.int64)
        lists = whole(self.core.column(DEAD))
        return _sums(numbers(lists.values.field("rows")), numbers(lists.offsets))

    @cached_property
    def ordered(self) -> np.ndarray:
        """The files whose rows surely lie in the order of all their tuples, so that the counts tell where each lies.

        As `DataFile.trusted` has it: an entry that contradicts itself is not believed in this either.
        """
        if ORDERED not in self.core.column_names:
            return np.zeros(len(self), np.bool_)
        return np.asarray(flags(self.core.column(ORDERED)) & trusted(self.core) & has_all_counts(self.core))

    @cached_property
    def dead_since(self) -> np.ndarray:
        """When the first rows of each file were removed that still lie in it, in milliseconds since 1970."""
        found = np.full(len(self), np.iinfo(np.int64).max)
        if DEAD in self.core.column_names:
            lists = whole(self.core.column(DEAD))
            offsets, since = numbers(lists.offsets), numbers(lists.values.field("since"))
            file = np.repeat(np.arange(len(self)), np.diff(offsets))
            np.minimum.at(found, file, since[offsets[0] : offsets[-1]])
        return found

    def file(self, index: int) -> DataFile:
        """Entry number `index` as an object."""
        return self.files(np.array([index]))[0]

    def files(
        self,
        indices: np.ndarray | None = None,
        components: Components | None = None,
        columns: Collection[int] | None = None,
    ) -> list[DataFile]:
        """Entries as objects: all, or those at `indices`; `components` says what their tuples are made of.

        With `columns`, without the statistics of others: a wide table has thousands.
        """
        core, statistics = self.core, self._all_statistics() if columns is None else self._statistics_of(columns)
        if indices is not None:
            wanted = column_from(indices)
            core = core.take(wanted)
            statistics = {name: column.take(wanted) for name, column in statistics.items()}
        return objects_of(self.spec_id, self.field_ids, core, statistics, components)

    def physical_keys(self) -> list[PhysicalKey]:
        """The physical key of each entry; one that is unknown is made of NULLs."""
        return physical_keys(self.field_ids, self.core)

    def table(self) -> pa.Table:
        """Every column, statistics included: what a manifest file holds."""
        # All at once: a wide table has thousands of statistics, and each column added makes the table anew.
        statistics = self._all_statistics()
        fields = [*self.core.schema, *(pa.field(name, column.type) for name, column in statistics.items())]
        return pa.Table.from_arrays([*self.core.columns, *statistics.values()], schema=pa.schema(fields))

    def take(self, indices: np.ndarray) -> "Entries":
        """The entries at `indices`, in that order."""
        return from_table(self.spec_id, self.field_ids, self.table().take(column_from(indices)))

    def _all_statistics(self) -> dict[str, pa.ChunkedArray]:
        everything = self.load(())
        by_name = zip(everything.column_names, everything.columns, strict=True)
        return {name: column for name, column in by_name if is_statistic(name)}

    def _statistics_of(self, columns: Collection[int]) -> dict[str, pa.ChunkedArray]:
        found = {n: self.statistic(n) for column_id in columns for n in statistic_names(column_id)}
        return {name: pa.chunked_array([column]) for name, column in found.items() if column is not None}


def from_files(files: Sequence[DataFile], spec: Spec, schema: Schema) -> Entries:
    """Entries of `files`, which were all written under `spec`."""
    return from_table(spec.spec_id, tuple(f.field_id for f in spec.fields), table_of(files, spec, schema))


def from_table(spec_id: int, field_ids: tuple[int, ...], table: pa.Table) -> Entries:
    """Entries over a table that is in memory as a whole."""
    there = dict(zip(table.column_names, table.columns, strict=True))  # Arrow would make a list of names at each look
    core = table.select([n for n in there if not is_statistic(n)])

    def load(names: Sequence[str]) -> pa.Table:
        return pa.table({n: there[n] for n in (names or there) if n in there})

    return Entries(spec_id, field_ids, core, load)


def concatenate(parts: Sequence[Entries]) -> Entries:
    """One `Entries` of several of the same spec; a type that was widened between them is the wider one."""
    tables = [p.table() for p in parts]
    if any(_has_timestamps(t.schema) for t in tables):  # a date column may have become one: Arrow does not promote it
        late = _timestamp_columns(tables)
        tables = [_dates_as(late, t) for t in tables]
    table = pa.concat_tables(tables, promote_options="permissive")
    return from_table(parts[0].spec_id, parts[0].field_ids, table.combine_chunks())


def dates_as_timestamps(entries: Entries, field_ids: Sequence[int]) -> Entries:
    """The entries with these components, if they are dates, as the timestamps their column has become.

    Other widenings leave a value what it was; a day's number and its midnight are different integers.
    """
    late = [i for i in field_ids if entries.tuple_type(i) == DATE]
    if not late:
        return entries
    return replace(entries, core=_dates_as({n for i in late for n in (f"physical_value_{i}", f"f{i}")}, entries.core))


def _has_timestamps(schema: pa.Schema) -> bool:
    return "timestamp[us]" in str(schema.types)


def _timestamp_columns(tables: Sequence[pa.Table]) -> set[str]:
    """The columns and tuple components that are timestamps in any of the tables."""
    found = set()
    for table in tables:
        components = table.schema.field("tuples").type.value_type
        members = [components.field(i) for i in range(components.num_fields)]
        found |= {f.name for f in [*table.schema, *members] if f.type == pa.timestamp("us")}
    return found


def _dates_as(names: set[str], table: pa.Table) -> pa.Table:
    """The table with these columns and components as timestamps if they are dates."""

    def cast(field: pa.Field) -> pa.Field:
        if field.name in ("tuples", DEAD):
            components = field.type.value_type
            members = [cast(components.field(i)) for i in range(components.num_fields)]
            return field.with_type(pa.list_(pa.struct(members)))
        late = field.name in names and field.type == pa.date32()
        return field.with_type(pa.timestamp("us")) if late else field

    return table.cast(pa.schema([cast(f) for f in table.schema]))


def sort_order(entries: Entries) -> np.ndarray:
    """The order in which a manifest lists its entries: by physical key, then by first tuple, then by path."""
    keys: dict[str, pa.ChunkedArray | pa.Array] = {}
    first = _first_tuples(entries.core)
    for field_id in entries.field_ids:
        keys[f"group_{field_id}"] = entries.core.column(f"physical_group_{field_id}")
        keys[f"value_{field_id}"] = entries.core.column(f"physical_value_{field_id}")
    for field_id in entries.field_ids:
        keys[f"first_{field_id}"] = first.field(f"f{field_id}")
    keys["path"] = entries.core.column("path")
    order = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])
    return numbers(order)


def _first_tuples(core: pa.Table) -> pa.StructArray:
    lists = whole(core.column("tuples"))
    offsets = numbers(lists.offsets)
    has_none = (np.diff(offsets) == 0) | is_null(lists)
    return lists.values.take(column_from(np.where(has_none, 0, offsets[:-1]), nulls=has_none))


# --- what entries tell ---------------------------------------------------------------------------------------------


def trusted(core: pa.Table) -> np.ndarray:
    """Which entries' tuples are surely all tuples in the file: `DataFile.trusted` for a whole manifest."""
    lists = whole(core.column("tuples"))
    claimed = flags(core.column("complete")) & ~is_null(lists)
    rows = numbers(core.column("rows"))
    offsets = numbers(lists.offsets)
    counts = lists.values.field("rows")
    known = numbers(counts, null=0)
    sound = _sums(known, offsets) == rows
    if counts.null_count:  # where a count is unknown there is no sum to compare
        sound |= _sums(is_null(counts), offsets) > 0
    if known.min(initial=0) < 0:
        sound &= _sums(known < 0, offsets) == 0
    return np.asarray(claimed & sound & ((np.diff(offsets) > 0) | (rows == 0)))


def has_all_counts(core: pa.Table) -> np.ndarray:
    """Which entries say of each of their tuples how many rows it has."""
    lists = whole(core.column("tuples"))
    return np.asarray(_sums(is_null(lists.values.field("rows")), numbers(lists.offsets)) == 0) & ~is_null(lists)


def _sums(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The sum of each run of `values` from one offset to the next."""
    until = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=until[1:])
    return np.diff(until[offsets])


def value_range(type_: AtomicType, column: pa.Array | pa.ChunkedArray) -> tuple[Value, Value]:
    """The smallest and the greatest value in Spark's order, NaN above everything; (None, None) if all are NULL."""
    if type_ in FLOATING or type_ in INTEGRAL_BITS or type_ in TEMPORAL:
        return _number_range(numbers(column)[~is_null(column)] if column.null_count else numbers(column))
    both = pc.min_max(column)
    lower, upper = values_of(type_, pa.array([both["min"], both["max"]], column.type))
    return lower, upper


def _number_range(values: np.ndarray) -> tuple[Value, Value]:
    if not len(values):
        return None, None
    lower, upper = values.min().item(), values.max().item()
    if lower != lower:  # NumPy's are NaN if there is one
        known = values[~np.isnan(values)]
        lower = known.min().item() if len(known) else lower
    return lower, upper
