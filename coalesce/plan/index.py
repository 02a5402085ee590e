"""The index over one manifest: distinct tuples, sorted, with a posting list from each to its files.

Every (file, tuple) pair of the manifest is a *posting*. Postings are sorted by tuple; `starts` cuts them into
runs of one tuple each, so a tuple is found by search and its files are a slice. Components are kept as codes into
the field's sorted distinct values, so that a leaf of a predicate is answered once per distinct value, and a point,
an IN-list, a range or a prefix on any field is a slice of that field's own order. All of it is built on first use
and kept with the manifest; nothing here knows a predicate's meaning beyond asking domains.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.model.columns import column_from, flags, is_null, numbers, whole
from coalesce.model.entries import Entries, trusted
from coalesce.model.schema import Schema
from coalesce.model.spec import PartitionField, Spec
from coalesce.model.types import FLOATING, AtomicType
from coalesce.plan.column_domains import Domains, domain_bytes, shared_domain, statistics_domain, where_known
from coalesce.predicate.domains import Both, Domain, Gathered
from coalesce.predicate.encoding import HIGHEST
from coalesce.predicate.outcomes import Mask

Positions = npt.NDArray[np.int64]

# What the index takes, once all of it is built
_INDEX_BYTES = 10_000  # for an index of any size: its arrays and dictionaries themselves
_POSTING_BYTES = 20  # for a posting: its file, rows and tuple, its place in the order of files
_TUPLE_BYTES = 8  # for a tuple: where its postings start
_COMPONENT_BYTES = 12  # for a component of a tuple: its code, its place in the component's order


class Weighed(Protocol):
    """What knows how much memory it takes."""

    @property
    def nbytes(self) -> int:
        """In bytes."""


Derived = TypeVar("Derived", bound=Weighed)


@dataclass(frozen=True)
class Component:
    """One field of the distinct tuples: sorted distinct values, and for each tuple the position of its value.

    -1 stands for NULL; it is also the last place of every domain over `values`.
    """

    values: pa.Array
    codes: npt.NDArray[np.intp]

    @cached_property
    def order(self) -> npt.NDArray[np.int32]:
        """The tuples sorted by this component, NULL last; those of one value stay in their own order."""
        return np.argsort(self._places, kind="stable").astype(np.int32)

    @cached_property
    def starts(self) -> Positions:
        """Where in `order` the tuples of each value begin, then those with NULL, then the end."""
        counts = np.bincount(self._places, minlength=len(self.values) + 1)
        return np.concatenate(([0], np.cumsum(counts)))

    @property
    def _places(self) -> npt.NDArray[np.intp]:
        """The codes with NULL in its place behind the values."""
        return np.where(self.codes < 0, len(self.values), self.codes)

    def count(self, places: Positions) -> int:
        """How many tuples have one of the values at `places`; the place behind the last value is NULL."""
        return int((self.starts[places + 1] - self.starts[places]).sum())

    def tuples(self, places: Positions) -> npt.NDArray[np.int32]:
        """Those tuples, value by value."""
        return self.order[runs(self.starts, places)]


class ManifestIndex:
    """The entries of one manifest, ready to be asked."""

    def __init__(self, entries: Entries) -> None:
        self.entries = entries
        self._domains: dict[tuple[int, AtomicType], Domain] = {}
        self._physical_domains: dict[tuple[int, AtomicType], Domain] = {}
        self._statistics: dict[tuple[int, AtomicType], Domain | None] = {}
        self._derived: dict[object, Any] = {}
        self._grown = 0  # bytes of all these

    @property
    def nbytes(self) -> int:
        """About how much memory it takes. What every plan needs counts from the start, the rest when it is there."""
        postings = self._posting_total
        tuples = self.tuple_count if "_built" in self.__dict__ else postings  # each once, as far as is known
        per_tuple = _TUPLE_BYTES + _COMPONENT_BYTES * len(self.entries.field_ids)
        return _INDEX_BYTES + self.entries.nbytes + postings * _POSTING_BYTES + tuples * per_tuple + self._grown

    def derived(self, key: object, make: Callable[[], Derived]) -> Derived:
        """What others make of the index for themselves and want to find here again; it counts like all the rest."""
        if key not in self._derived:
            found = make()
            self._grown += found.nbytes
            self._derived[key] = found
        return cast(Derived, self._derived[key])

    @cached_property
    def _posting_total(self) -> int:
        return len(whole(self.entries.core.column("tuples")).values)

    # --- files -------------------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> Positions:
        """Rows of each file, without those of dead tuples."""
        return numbers(self.entries.core.column("rows"))

    @cached_property
    def physical_rows(self) -> Positions:
        """Rows of each file, with those of dead tuples: what its bytes are shared by."""
        found: Positions = self.rows + self.entries.dead_rows
        return found

    @cached_property
    def bytes(self) -> Positions:
        """Bytes of each file."""
        return numbers(self.entries.core.column("bytes"))

    @cached_property
    def trusted(self) -> Mask:
        """The files whose tuples are surely all they hold."""
        return trusted(self.entries.core)

    @cached_property
    def untrusted_files(self) -> Positions:
        """The others, by position: their tuples are unknown."""
        return np.flatnonzero(~self.trusted)

    def paths(self, files: Positions) -> list[str]:
        """The paths of some files."""
        found: list[str] = self.entries.core.column("path").take(column_from(files)).to_pylist()
        return found

    # --- postings, sorted by tuple ---------------------------------------------------------------------------

    @cached_property
    def _built(self) -> "_References":
        return _References.build(self.entries, self.trusted)

    @property
    def tuple_count(self) -> int:
        """How many distinct tuples there are."""
        return len(self._built.starts) - 1

    def component(self, position: int) -> Component:
        """The component at `position` of the spec's fields."""
        return self._built.components[position]

    def postings(self, tuples: Positions) -> Positions:
        """The postings of some tuples, as positions into `posting_file` and `posting_rows`."""
        return runs(self._built.starts, tuples)

    def posting_counts(self, tuples: Positions) -> Positions:
        """How many postings each of some tuples has."""
        starts = self._built.starts
        return starts[tuples + 1] - starts[tuples]

    def postings_in(self, files: Positions) -> Positions:
        """The postings of some files, likewise; those of a file together."""
        order, starts = self._by_file
        return order[runs(starts, files)].astype(np.int64)

    @cached_property
    def _by_file(self) -> tuple[npt.NDArray[np.int32], Positions]:
        """The postings file by file, and where those of each file begin."""
        counts = np.bincount(self.posting_file, minlength=len(self.entries))
        order = np.argsort(self.posting_file, kind="stable").astype(np.int32)
        return order, np.concatenate(([0], np.cumsum(counts)))

    def listed(self, postings: Positions) -> Positions:
        """Where the tuples of some postings stand among all that the manifest lists, one entry after the other."""
        known = _Known.of(self.entries, self.trusted)
        found: Positions = known.listed[known.order[postings]]
        return found

    @property
    def posting_file(self) -> npt.NDArray[np.int32]:
        """The file of each posting."""
        return self._built.file

    @property
    def posting_rows(self) -> Positions:
        """The rows of each posting; -1 where the count is unknown."""
        return self._built.rows

    @cached_property
    def posting_tuple(self) -> npt.NDArray[np.int32]:
        """The distinct tuple of each posting."""
        starts = self._built.starts
        return np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))

    # --- what is known of columns --------------------------------------------------------------------------------

    def values_domain(self, position: int, field: PartitionField, source_type: AtomicType) -> Domain:
        """A field's source column at each distinct value of the field, NULL last."""
        key = (field.field_id, source_type)
        if key not in self._domains:
            values = self.component(position).values
            self._grown += domain_bytes(source_type, values)
            self._domains[key] = shared_domain(field.transform, source_type, values)
        return self._domains[key]

    def tuple_domains(
        self,
        spec: Spec,
        schema: Schema,
        columns: Collection[int],
        tuples: npt.NDArray[np.integer] | None = None,
    ) -> Domains:
        """Column id → what the tuples (all, or some) say of it, for those of `columns` that fields were made from."""
        domains: Domains = {}
        for position, field in enumerate(spec.fields):
            source_type = schema.atomic(field.source_id)
            if field.source_id not in columns or source_type is None:
                continue
            codes = self.component(position).codes
            here = Gathered(
                self.values_domain(position, field, source_type), codes if tuples is None else codes[tuples]
            )
            before = domains.get(field.source_id)
            domains[field.source_id] = here if before is None else Both(before, here)
        return domains

    def physical_domains(self, spec: Spec, schema: Schema, files: Positions) -> Domains:
        """Column id → what the physical keys of `files` say of it; a group says nothing."""
        domains: Domains = {}
        for field in spec.fields:
            source_type = schema.atomic(field.source_id)
            if source_type is None:
                continue
            here = Gathered(self._physical_domain(field, source_type), files)
            before = domains.get(field.source_id)
            domains[field.source_id] = here if before is None else Both(before, here)
        return domains

    def _physical_domain(self, field: PartitionField, source_type: AtomicType) -> Domain:
        key = (field.field_id, source_type)
        if key not in self._physical_domains:
            core = self.entries.core
            values = whole(core.column(f"physical_value_{field.field_id}"))
            known = flags(core.column("physical_known")) & is_null(core.column(f"physical_group_{field.field_id}"))
            self._grown += domain_bytes(source_type, values)
            self._physical_domains[key] = where_known(field, source_type, values, known)
        return self._physical_domains[key]

    def statistics_domain(self, column_id: int, type_: AtomicType) -> Domain | None:
        """What the files' statistics say of a column; None if there are none at all."""
        key = (column_id, type_)
        if key not in self._statistics:
            self._statistics[key] = statistics_domain(self.entries, column_id, type_, self.rows)
            for name in ("lower", "upper"):
                column = self.entries.statistic(f"{name}_{column_id}")
                self._grown += 0 if column is None else domain_bytes(type_, column)
        return self._statistics[key]


@dataclass(frozen=True)
class _References:
    components: list[Component]
    starts: Positions
    file: npt.NDArray[np.int32]
    rows: Positions

    @staticmethod
    def build(entries: Entries, trusted_files: Mask) -> "_References":
        known = _Known.of(entries, trusted_files)
        order, combined = known.order, known.combined[known.order]
        first = np.ones(len(combined), np.bool_)
        first[1:] = combined[1:] != combined[:-1]
        firsts = np.flatnonzero(first)
        return _References(
            components=[Component(values, codes[order[firsts]].astype(np.intp)) for values, codes in known.columns],
            starts=np.append(firsts, len(combined)),
            file=known.file[order],
            rows=known.rows[order],
        )


@dataclass(frozen=True)
class _Known:
    """The postings of the files whose tuples are known, as they are listed; `combined` is a number for each tuple."""

    columns: list[tuple[pa.Array, Positions]]  # of each field the sorted values, and the place of each posting's
    combined: Positions
    file: npt.NDArray[np.int32]
    rows: Positions
    listed: Positions

    @cached_property
    def order(self) -> Positions:
        """The postings sorted by tuple."""
        return np.argsort(self.combined, kind="stable")

    @staticmethod
    def of(entries: Entries, known: Mask) -> "_Known":
        lists = whole(entries.core.column("tuples"))
        offsets = numbers(lists.offsets).astype(np.int64)
        lengths = np.where(known, np.diff(offsets), 0)
        file = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        structs, listed = lists.values, runs(offsets, np.flatnonzero(known))
        if len(file) != len(structs):
            structs = structs.take(column_from(listed))
        fields = [(i, structs.field(f"f{i}")) for i in entries.field_ids]
        columns = [_sorted_codes(entries.tuple_type(i), column) for i, column in fields]
        combined = np.zeros(len(file), np.int64)
        for values, codes in columns:
            combined = _combine(combined, codes, len(values))
        rows = numbers(structs.field("rows"), null=-1)
        return _Known(columns, combined, file, rows, listed - int(offsets[0]) if len(listed) else listed)


def runs(starts: Positions, which: npt.NDArray[np.integer]) -> Positions:
    """The positions in some of the runs that `starts` cuts a sequence into, one run after the other.

    `which` runs is in order.
    """
    if len(which) and which[-1] - which[0] == len(which) - 1:  # one after the other: a point, a range, everything
        return np.arange(starts[which[0]], starts[which[-1] + 1])
    first = starts[which]
    lengths = starts[which + 1] - first
    before = lengths.cumsum() - lengths
    found: Positions = (first - before).repeat(lengths)
    found += np.arange(len(found))
    return found


def _combine(combined: Positions, codes: Positions, distinct: int) -> Positions:
    """One integer for two orders, the first before the second; NULL (-1) comes first."""
    if len(combined) and int(combined.max()) >= HIGHEST // (distinct + 2):
        combined = np.unique(combined, return_inverse=True)[1]
    return combined * (distinct + 1) + codes + 1


def _sorted_codes(type_: AtomicType, column: pa.Array) -> tuple[pa.Array, Positions]:
    """The sorted distinct values of a column, and the position of each row's value among them (-1 for NULL)."""
    encoded = (_canonical(column) if type_ in FLOATING else column).dictionary_encode()
    order = numbers(pc.sort_indices(encoded.dictionary))
    ranks = np.empty(len(order) + 1, np.int64)
    ranks[order] = np.arange(len(order))
    ranks[-1] = -1
    return encoded.dictionary.take(column_from(order)), ranks[numbers(encoded.indices, null=-1)]


def _canonical(column: pa.Array) -> pa.Array:
    """Floats of which those that are equal to Spark are equal bit for bit: one zero, one NaN."""
    values = numbers(column, null=0)
    with np.errstate(invalid="ignore"):  # a signalling NaN is one more NaN
        values = np.where(np.isnan(values), values.dtype.type(np.nan), values + 0.0)
    return column_from(values, is_null(column) if column.null_count else None)
