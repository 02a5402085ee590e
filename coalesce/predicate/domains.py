"""What is known of one column at many places, and what that says about a leaf.

    Interval    each value lies between two codes, or is NULL; equal codes mean the value itself is known
    Hashed      only the bucket of each value is known
    Unknown     nothing is known
    Gathered    another domain, looked up by position: leaves are answered once per distinct value
    Remembered  another domain that need not answer the same leaf twice in a row
    KnownWhere  another domain at some places, nothing at the others
    Both        two domains that hold at once

A domain over a spec's tuple column is made by `tuple_domains.py`, over statistics by the planner, over rows by a scan.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coalesce.model.columns import column_from, is_null, numbers
from coalesce.model.conversions import scaled
from coalesce.model.transform_arrays import apply_array
from coalesce.model.transforms import Bucket, apply
from coalesce.model.types import FLOATING, AtomicType, DecimalType, Value
from coalesce.model.values import column_of
from coalesce.predicate.encoding import HIGHEST, LOWEST, Codes, Encoding, Ranks, decode, encode, key_of
from coalesce.predicate.expr import Computed, InBuckets, InRange, InSet, IsNull, Leaf
from coalesce.predicate.extents import Extent, narrowed, outcomes_of
from coalesce.predicate.outcomes import ANYTHING, FALSE, NULL, TRUE, Mask, Outcomes, bits


class Domain(Protocol):
    """Knowledge about one column at a number of places."""

    def outcomes(self, leaf: Leaf | Computed) -> Outcomes:
        """The possible outcomes of a leaf on this column, at each place."""

    def extent(self) -> Extent | None:
        """Between which values the column lies, or None if nothing is known that could be computed with."""

    def at(self, places: npt.NDArray[np.integer]) -> "Domain":
        """The same at some of the places."""


@dataclass(frozen=True)
class Interval:
    """Values between `lower` and `upper`, both inclusive codes of `encoding`.

    `may_be_null` and `may_be_value` say where NULL and where a value is possible; at least one of them holds
    everywhere. `exact` says that the two code arrays are the same one.
    """

    encoding: Encoding
    lower: Codes
    upper: Codes
    may_be_null: Mask
    may_be_value: Mask

    @property
    def exact(self) -> bool:
        """Whether every value is known."""
        return self.lower is self.upper

    def outcomes(self, leaf: Leaf | Computed) -> Outcomes:
        """See `Domain`."""
        match leaf:
            case IsNull():
                return bits(self.may_be_null, self.may_be_value)
            case InSet(_, values):
                can_be, can_not = self._in_set(values)
            case InRange():
                can_be, can_not = self._in_range(leaf)
            case InBuckets(_, transform, buckets):
                can_be, can_not = self._in_buckets(transform, buckets)
            case Computed(columns=(column,)):
                return outcomes_of(leaf, {column.id: self.extent()}, len(self.lower))
        outcomes = bits(can_be, can_not)
        outcomes[self._never_values] = 0
        outcomes[self._maybe_nulls] |= NULL
        return outcomes

    def at(self, places: npt.NDArray[np.integer]) -> "Interval":
        """See `Domain`."""
        lower = self.lower[places]
        upper = lower if self.exact else self.upper[places]
        return Interval(self.encoding, lower, upper, self.may_be_null[places], self.may_be_value[places])

    def extent(self) -> Extent:
        """See `Domain`."""
        return self._extent

    @cached_property
    def _extent(self) -> Extent:
        lower, bounded = decode(self.encoding, self.lower)
        if self.encoding.type in FLOATING:  # of zero the sign is not known: it is an interval of two
            return self._float_extent(lower, bounded)
        if self.exact:
            return Extent(lower, lower, self.may_be_null, self.may_be_value, bounded, bounded)
        upper, bounded_above = decode(self.encoding, self.upper)
        one = self.lower == self.upper
        return Extent(lower, upper, self.may_be_null, self.may_be_value, bounded & bounded_above, one)

    def _float_extent(self, lower: pa.Array, bounded: Mask) -> Extent:
        upper, bounded_above = decode(self.encoding, self.upper)
        zero = key_of(self.encoding.type, 0.0)
        lowest = numbers(lower).copy()
        lowest[self.lower == zero] = -0.0
        one = (self.lower == self.upper) & (self.lower != zero)
        return Extent(column_from(lowest), upper, self.may_be_null, self.may_be_value, bounded & bounded_above, one)

    @cached_property
    def _never_values(self) -> Codes:
        return np.flatnonzero(~self.may_be_value)

    @cached_property
    def _maybe_nulls(self) -> Codes:
        return np.flatnonzero(self.may_be_null)

    def _in_buckets(self, transform: Bucket, buckets: Sequence[int]) -> tuple[Mask, Mask]:
        """Where a value is known, so is its bucket; a range of values has every bucket."""
        known = (self.lower == self.upper) & self.may_be_value
        codes, places = np.unique(self.lower[known], return_inverse=True)
        type_ = self.encoding.type
        hashed = apply_array(transform, type_, column_of(type_, [_value(self.encoding, int(c)) for c in codes]))
        inside = np.isin(np.asarray(hashed), buckets)[places]
        can_be, can_not = np.ones(len(known), np.bool_), np.ones(len(known), np.bool_)
        can_be[known], can_not[known] = inside, ~inside
        return can_be, can_not

    def _in_range(self, leaf: InRange) -> tuple[Mask, Mask]:
        lowest, highest = LOWEST, HIGHEST
        if leaf.lower is not None:
            first, last = self.encoding.interval(leaf.lower)
            lowest = first if leaf.lower_inclusive else last + 1
        if leaf.upper is not None:
            first, last = self.encoding.interval(leaf.upper)
            highest = last if leaf.upper_inclusive else first - 1
        if lowest > HIGHEST or highest < LOWEST:  # beyond the greatest or below the smallest value there can be
            none = np.zeros(len(self.lower), np.bool_)
            return none, ~none
        inside = (self.lower >= lowest) & (self.upper <= highest)
        if self.exact:
            return inside, ~inside
        return (self.upper >= lowest) & (self.lower <= highest), ~inside

    def _in_set(self, values: Sequence[Value]) -> tuple[Mask, Mask]:
        if not values:
            none = np.zeros(len(self.lower), np.bool_)
            return none, ~none
        if len(values) == 1:
            first, last = self.encoding.interval(values[0])
            can_be = (self.lower <= last) & (self.upper >= first)
        else:
            firsts, lasts = self.encoding.intervals(values)
            candidate = np.searchsorted(lasts, self.lower)  # the first that does not lie below `lower`
            can_be = (candidate < len(lasts)) & (np.append(firsts, HIGHEST)[candidate] <= self.upper)
        # Where `lower` is `upper`, "can be" is "is": an empty interval stands between two codes and holds neither.
        is_it = can_be if self.exact else can_be & (self.lower == self.upper)
        return can_be, ~is_it


@dataclass(frozen=True)
class Hashed:
    """The bucket of each value is known; `is_null` places hold NULL."""

    transform: Bucket
    source_type: AtomicType
    buckets: Codes
    is_null: Mask

    def outcomes(self, leaf: Leaf | Computed) -> Outcomes:
        """See `Domain`: a bucket can only rule out equality."""
        match leaf:
            case IsNull():
                return bits(self.is_null, ~self.is_null)
            case InSet(_, values):
                wanted = {apply(self.transform, self.source_type, v) for v in values}
                can_be = np.isin(self.buckets, np.array(sorted(wanted), np.int64))  # type: ignore[type-var]
            case InRange():
                can_be = np.ones(len(self.buckets), np.bool_)
            case InBuckets(_, transform, buckets) if self.transform.count % transform.count == 0:
                # A bucket of 64 tells the bucket of 16 as well.
                inside = np.isin(self.buckets % transform.count, buckets)
                return np.where(self.is_null, NULL, bits(inside, ~inside))
            case InBuckets():
                can_be = np.ones(len(self.buckets), np.bool_)
            case Computed():
                return np.full(len(self.buckets), ANYTHING, np.uint8)
        return np.where(self.is_null, NULL, bits(can_be, np.ones(len(can_be), np.bool_)))

    def at(self, places: npt.NDArray[np.integer]) -> "Hashed":
        """See `Domain`."""
        return Hashed(self.transform, self.source_type, self.buckets[places], self.is_null[places])

    def extent(self) -> None:
        """See `Domain`: values of one bucket lie anywhere."""


@dataclass(frozen=True)
class Unknown:
    """Nothing is known at any of `count` places."""

    count: int

    def outcomes(self, leaf: Leaf | Computed) -> Outcomes:
        """See `Domain`. Even of an unknown column, IS NULL is never NULL."""
        return np.full(self.count, TRUE | FALSE if isinstance(leaf, IsNull) else ANYTHING, np.uint8)

    def at(self, places: npt.NDArray[np.integer]) -> "Unknown":
        """See `Domain`."""
        return Unknown(len(places))

    def extent(self) -> None:
        """See `Domain`."""


@dataclass(frozen=True)
class Gathered:
    """`inner` at the positions `codes`; -1 is the last position, where a dictionary keeps its NULL."""

    inner: Domain
    codes: npt.NDArray[np.integer]

    def outcomes(self, leaf: Leaf | Computed) -> Outcomes:
        """See `Domain`."""
        return self.inner.outcomes(leaf).take(self.codes)

    def at(self, places: npt.NDArray[np.integer]) -> Domain:
        """See `Domain`. Few places have no use for the answers about all values."""
        return self.inner.at(self.codes[places])

    def extent(self) -> Extent | None:
        """See `Domain`."""
        inner = self.inner.extent()
        if inner is None:
            return None
        last = len(inner.lower) - 1
        return inner.take(column_from(np.where(self.codes < 0, last, self.codes)))


class Remembered:
    """`inner`, with its last answer: a plan asks a leaf first to find tuples by it, then to judge those tuples."""

    def __init__(self, inner: Domain) -> None:
        self.inner = inner
        self._last: tuple[Leaf | Computed | None, Outcomes] = (None, np.empty(0, np.uint8))

    def outcomes(self, leaf: Leaf | Computed) -> Outcomes:
        """See `Domain`. The answer is shared and so cannot be written to."""
        last = self._last  # read once and replaced whole, since other threads plan too
        if last[0] is not leaf:
            last = leaf, self.inner.outcomes(leaf)
            last[1].flags.writeable = False
            self._last = last
        return last[1]

    def at(self, places: npt.NDArray[np.integer]) -> Domain:
        """See `Domain`."""
        return self.inner.at(places)

    def extent(self) -> Extent | None:
        """See `Domain`."""
        return self.inner.extent()


@dataclass(frozen=True)
class KnownWhere:
    """`inner` where `known`; nothing elsewhere."""

    inner: Domain
    known: Mask

    def outcomes(self, leaf: Leaf | Computed) -> Outcomes:
        """See `Domain`."""
        return np.where(self.known, self.inner.outcomes(leaf), Unknown(len(self.known)).outcomes(leaf))

    def at(self, places: npt.NDArray[np.integer]) -> "KnownWhere":
        """See `Domain`."""
        return KnownWhere(self.inner.at(places), self.known[places])

    def extent(self) -> Extent | None:
        """See `Domain`."""
        inner = self.inner.extent()
        if inner is None:
            return None
        return replace(
            inner,
            may_be_null=inner.may_be_null | ~self.known,
            may_be_value=inner.may_be_value | ~self.known,
            bounded=inner.bounded & self.known,
        )


@dataclass(frozen=True)
class Both:
    """Two things known of the same column, such as its day and its bucket, or a tuple and statistics."""

    one: Domain
    other: Domain

    def outcomes(self, leaf: Leaf | Computed) -> Outcomes:
        """See `Domain`. Where the two contradict each other, the metadata is wrong and nothing is known."""
        together = self.one.outcomes(leaf) & self.other.outcomes(leaf)
        return np.where(together == 0, ANYTHING, together)

    def at(self, places: npt.NDArray[np.integer]) -> "Both":
        """See `Domain`."""
        return Both(self.one.at(places), self.other.at(places))

    def extent(self) -> Extent | None:
        """See `Domain`. What is known exactly says all there is, unless the other contradicts it."""
        one, other = self.one.extent(), self.other.extent()
        if one is None or other is None:
            return one if other is None else other
        return narrowed(one, other) if bool(one.exact.all()) else narrowed(other, one)


def computed_outcomes(asked: Computed, domains: Mapping[int, Domain], count: int) -> Outcomes:
    """The possible outcomes of a condition on computed values; a column without a domain is unknown."""
    columns = asked.columns
    if len(columns) == 1:
        domain = domains.get(columns[0].id)
        return (Unknown(count) if domain is None else domain).outcomes(asked)
    extents = {column.id: domains[column.id].extent() if column.id in domains else None for column in columns}
    return outcomes_of(asked, extents, count)


def rows_domain(type_: AtomicType, column: pa.Array) -> Interval:
    """Exactly these values, one a row."""
    encoding, codes = encode(type_, column)
    nulls = is_null(column)
    return Interval(encoding, codes, codes, nulls, ~nulls)


def _value(encoding: Encoding, code: int) -> Value:
    """The value of a code, of a type that can be hashed."""
    if isinstance(encoding, Ranks):
        return encoding.values[code]
    return scaled(encoding.type, code) if isinstance(encoding.type, DecimalType) else code
