"""What is known of a condition on computed values where its columns are known exactly, or lie between two values.

Where every column is known, the value is computed. Where one only lies between bounds, so does whatever rises or falls
with it: `year(dt)` between the years of the two ends, `a + 1` between the sums. A function that does neither, or an end
at which its value is not certain, leaves everything possible.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final

import numpy as np
import pyarrow as pa

from coalesce.model.arrow_schema import type_from_arrow
from coalesce.model.columns import Mask, column_from, flags, is_null
from coalesce.model.types import AtomicType
from coalesce.model.values import column_of
from coalesce.predicate.encoding import encode
from coalesce.predicate.expr import Computed
from coalesce.predicate.outcomes import ANYTHING, FALSE, NULL, TRUE, Outcomes, bits, both, either, opposite
from coalesce.predicate.scalar.evaluate import apply_at_end, evaluate, monotone
from coalesce.predicate.scalar.evaluated import Evaluated, spread
from coalesce.predicate.scalar.nodes import Call, Fixed, Reference, Scalar


@dataclass(frozen=True)
class Extent:
    """A column, or a value, at many places: between `lower` and `upper` in Spark's order, or NULL.

    The ends mean something where `bounded`. `exact` says where they are one value.
    """

    lower: pa.Array
    upper: pa.Array
    may_be_null: Mask
    may_be_value: Mask
    bounded: Mask
    exact: Mask

    @property
    def known(self) -> Mask:
        """Where it is known which value it is, or that it is NULL."""
        value = self.exact & self.bounded & self.may_be_value & ~self.may_be_null
        return value | (self.may_be_null & ~self.may_be_value)

    def take(self, places: pa.Array) -> "Extent":
        """The same at some places."""
        chosen = np.asarray(places)
        lower = self.lower.take(places)
        return Extent(
            lower,
            lower if self.upper is self.lower else self.upper.take(places),
            self.may_be_null[chosen],
            self.may_be_value[chosen],
            self.bounded[chosen],
            self.exact[chosen],
        )


def outcomes_of(asked: Computed, extents: Mapping[int, Extent | None], count: int) -> Outcomes:
    """The possible outcomes of a condition, from what is known of its columns by their ids; None is nothing."""
    known = np.ones(count, np.bool_)
    for column in asked.columns:
        extent = extents.get(column.id)
        known &= False if extent is None else extent.known
    if count and bool(known.all()):
        return _computed(asked, extents, count)
    outcomes = _between(asked.value, extents, count)
    if bool(known.any()):
        places = column_from(np.flatnonzero(known))
        here = {c.id: _narrowed(extents, c.id, places) for c in asked.columns}
        outcomes[known] = _computed(asked, here, len(places))
    return outcomes


def _narrowed(extents: Mapping[int, Extent | None], column_id: int, places: pa.Array) -> Extent | None:
    extent = extents.get(column_id)
    return None if extent is None else extent.take(places)


def _computed(asked: Computed, extents: Mapping[int, Extent | None], count: int) -> Outcomes:
    """Where all columns are known."""
    columns = {}
    for column in asked.columns:
        extent = extents[column.id]
        assert extent is not None
        columns[column.id] = _values(extent)
    return outcome_bits(evaluate(asked.value, columns, count), count)


def _values(extent: Extent) -> pa.Array:
    """The known values, NULL among them."""
    if bool(extent.may_be_value.all()):
        return extent.lower
    codes = column_from(np.arange(len(extent.lower), dtype=np.int64), ~extent.may_be_value)
    return extent.lower.take(codes)


def outcome_bits(found: Evaluated, count: int) -> Outcomes:
    """A condition that was computed, as outcomes; anything where it is unsure."""
    column = spread(found.values, count)
    outcomes: Outcomes = FALSE - flags(column).view(np.uint8)  # which is TRUE where it is
    if column.null_count:
        outcomes[is_null(column)] = NULL
    if found.unsure is not None:
        outcomes[found.unsure] = ANYTHING
    return outcomes


def narrowed(one: Extent, other: Extent) -> Extent:
    """What holds if both do: where `one` is a known value that the other does not contradict, that; else nothing."""
    type_: AtomicType = type_from_arrow(one.lower.type)  # type: ignore[assignment]  # values of atomic types only
    count = len(one.lower)
    _, codes = encode(type_, pa.concat_arrays([one.lower, other.lower, other.upper]))
    value, low, high = (codes[i * count : (i + 1) * count] for i in range(3))
    agreed = ((low <= value) & (value <= high)) | ~other.bounded
    null = one.may_be_null & ~one.may_be_value
    agrees = np.where(null, other.may_be_null, other.may_be_value & agreed) & one.known
    return replace(
        one,
        may_be_null=one.may_be_null | ~agrees,
        may_be_value=one.may_be_value | ~agrees,
        bounded=one.bounded & agrees,
    )


# --- between bounds ------------------------------------------------------------------------------------------------


def _between(scalar: Scalar, extents: Mapping[int, Extent | None], count: int) -> Outcomes:
    """The possible outcomes of a condition where values lie between bounds."""
    match scalar:
        case Call("and", arguments):
            parts = [_between(argument, extents, count) for argument in arguments]
            return _joined(both, parts)
        case Call("or", arguments):
            parts = [_between(argument, extents, count) for argument in arguments]
            return _joined(either, parts)
        case Call("not", (argument,)):
            return opposite(_between(argument, extents, count))
        case Call("isnull", (argument,)):
            extent = _extent(argument, extents, count)
            if extent is None:
                return np.full(count, TRUE | FALSE, np.uint8)
            return bits(extent.may_be_null, extent.may_be_value)
        case Call(operator, (left, right)) if operator in _COMPARISONS:
            one, other = _extent(left, extents, count), _extent(right, extents, count)
            if one is not None and other is not None and left.type is not None:
                return _compared(operator, left.type, one, other)
    return np.full(count, ANYTHING, np.uint8)


def _joined(join: Callable[[Outcomes, Outcomes], Outcomes], parts: list[Outcomes]) -> Outcomes:
    return reduce(join, parts)


def _extent(scalar: Scalar, extents: Mapping[int, Extent | None], count: int) -> Extent | None:
    """Between which values a value lies; None if nothing is known anywhere."""
    match scalar:
        case Reference(id_):
            return extents.get(id_)
        case Fixed(value, type_):
            assert type_ is not None  # NULLs get a type when they are bound
            column = pa.repeat(column_of(type_, [value])[0], count)
            valid = np.full(count, value is not None)
            everywhere = np.ones(count, np.bool_)
            return Extent(column, column, ~valid, valid, everywhere, everywhere)
        case Call():
            return _call_extent(scalar, extents, count)


def _call_extent(call: Call, extents: Mapping[int, Extent | None], count: int) -> Extent | None:
    directions = monotone(call)
    if directions is None:
        return None
    lowest: list[Evaluated] = []
    highest: list[Evaluated] = []
    may_be_null, may_be_value = np.zeros(count, np.bool_), np.ones(count, np.bool_)
    bounded, exact = np.ones(count, np.bool_), np.ones(count, np.bool_)
    for argument, direction in zip(call.arguments, directions, strict=True):
        extent = _extent(argument, extents, count)
        if extent is None or (direction == 0 and not bool(extent.exact.all())):
            return None
        ends = (extent.lower, extent.upper) if direction >= 0 else (extent.upper, extent.lower)
        lowest.append(Evaluated(ends[0]))
        highest.append(Evaluated(ends[1]))
        may_be_null |= extent.may_be_null
        may_be_value &= extent.may_be_value
        bounded &= extent.bounded
        exact &= extent.exact
    lower, upper = apply_at_end(call, lowest, count), apply_at_end(call, highest, count)
    for end in (lower, upper):
        if end.unsure is not None:
            bounded &= ~end.unsure
    low, high = spread(lower.values, count), spread(upper.values, count)
    bounded &= ~is_null(low) & ~is_null(high)
    # What is NULL or unsure at an end may be NULL before it, too: try_cast, and CAST without ANSI mode.
    return Extent(low, high, may_be_null | ~bounded, may_be_value, bounded, exact)


def _compared(operator: str, type_: AtomicType, one: Extent, other: Extent) -> Outcomes:
    """A comparison of two values that lie between bounds; of what is not bounded anything may be."""
    count = len(one.lower)
    _, codes = encode(type_, pa.concat_arrays([one.lower, one.upper, other.lower, other.upper]))
    low, high, other_low, other_high = (codes[i * count : (i + 1) * count] for i in range(4))
    less, may_be_equal = low < other_high, (low <= other_high) & (other_low <= high)
    greater = high > other_low
    is_equal = (low == high) & (other_low == other_high) & (low == other_low)
    can_be, can_not = {
        "=": (may_be_equal, ~is_equal),
        "<=>": (may_be_equal, ~is_equal),
        "<>": (~is_equal, may_be_equal),
        "<": (less, high >= other_low),
        "<=": (low <= other_high, greater),
        ">": (greater, low <= other_high),
        ">=": (high >= other_low, less),
    }[operator]
    values = bits(can_be, can_not)
    unknown = ~(one.bounded & other.bounded) | (low > high) | (other_low > other_high)
    values[unknown] = TRUE | FALSE
    values[~(one.may_be_value & other.may_be_value)] = 0
    if operator != "<=>":
        values[one.may_be_null | other.may_be_null] |= NULL
        return values
    values[one.may_be_null & other.may_be_null] |= TRUE
    values[(one.may_be_null & other.may_be_value) | (one.may_be_value & other.may_be_null)] |= FALSE
    return values


_COMPARISONS: Final = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>"})
