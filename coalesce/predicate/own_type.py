"""Comparisons in a common type, said in the column's own.

Spark compares `f(column)` with a literal L, where f widens (int to double, date to timestamp, …) and never swaps
the order of two values. So all values with f(v) >= L lie above one cut, and all with f(v) > L above another, and every
comparison is a range between cuts, also where f rounds: several bigints are one double, and no float is 0.1D.

Cuts are *ordinals*: a type's values counted through in Spark's order. For integers, dates and timestamps those are the
values themselves, for decimals the unscaled digits, for floats their bits put in order.
"""

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from coalesce.model.conversions import integer_range, scaled, unscaled
from coalesce.model.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    FLOATING,
    INTEGRAL_BITS,
    TEMPORAL,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
    DecimalType,
    Value,
)
from coalesce.model.values import order_key
from coalesce.predicate import temporal
from coalesce.predicate.coercion import DECIMAL_OF, cast_temporal

_INFINITY_BITS: Final[dict[AtomicType, int]] = {FLOAT: 0x7F800000, DOUBLE: 0x7FF0000000000000}
_FORMATS: Final[dict[AtomicType, tuple[str, str]]] = {FLOAT: ("<f", "<i"), DOUBLE: ("<d", "<q")}
_EXACT_IN_DOUBLE: Final = 2**53


@dataclass(frozen=True, slots=True)
class Cut:
    """The ordinals of the first value with f(v) >= L and the first with f(v) > L; one past the last if none."""

    first_not_below: int
    first_above: int


# --- ordinals ---------------------------------------------------------------------------------------------------


def ordinal_range(type_: AtomicType) -> tuple[int, int] | None:
    """The ordinals of the least and greatest value; None for text and binary, which have no greatest."""
    if type_ in FLOATING:
        return -_INFINITY_BITS[type_], _INFINITY_BITS[type_] + 1
    if type_ == BOOLEAN:
        return 0, 1
    if isinstance(type_, DecimalType) or type_ in INTEGRAL_BITS or type_ in TEMPORAL:
        return integer_range(type_)
    return None


def ordinal_of(type_: AtomicType, value: Value) -> int:
    """Where a value stands in the order; -0.0 is 0.0 and NaN the last of all."""
    if type_ in FLOATING:
        assert isinstance(value, float)
        if math.isnan(value):
            return _INFINITY_BITS[type_] + 1
        as_float, as_int = _FORMATS[type_]
        (bits,) = struct.unpack(as_int, struct.pack(as_float, abs(value)))
        return -bits if value < 0 else int(bits)
    if isinstance(type_, DecimalType):
        return unscaled(type_, value)  # type: ignore[arg-type]
    return int(value)  # type: ignore[arg-type]


def value_at(type_: AtomicType, ordinal: int) -> Value:
    """The value that stands there: the inverse of `ordinal_of`."""
    if type_ in FLOATING:
        if ordinal > _INFINITY_BITS[type_]:
            return math.nan
        as_float, as_int = _FORMATS[type_]
        (magnitude,) = struct.unpack(as_float, struct.pack(as_int, abs(ordinal)))
        return -float(magnitude) if ordinal < 0 else float(magnitude)
    if isinstance(type_, DecimalType):
        return scaled(type_, ordinal)
    return bool(ordinal) if type_ == BOOLEAN else ordinal


# --- widening ---------------------------------------------------------------------------------------------------


def widens(source: AtomicType, target: AtomicType, time_zone: str) -> bool:
    """Whether CAST from one to the other never fails and keeps the order of any two values, if not their distance."""
    if source == target:
        return True
    if source in INTEGRAL_BITS and target in INTEGRAL_BITS:
        return INTEGRAL_BITS[source] < INTEGRAL_BITS[target]
    if target == DOUBLE:
        return source == FLOAT or source in INTEGRAL_BITS or isinstance(source, DecimalType)
    if isinstance(target, DecimalType):
        if source in INTEGRAL_BITS:
            # 2^63 has 19 digits, though Spark gives a bigint 20.
            digits = len(str(integer_range(source)[1]))
            return target.precision - target.scale >= min(digits, DECIMAL_OF[source].precision)
        return (
            isinstance(source, DecimalType)
            and target.scale >= source.scale
            and target.precision - target.scale >= source.precision - source.scale
        )
    if source in TEMPORAL and target in TEMPORAL:
        # In a zone whose offset changes, clocks are set back: the later instant may show the earlier time.
        return TIMESTAMP not in (source, target) or temporal.fixed_offset(time_zone) is not None
    return False


def _widened(value: Value, source: AtomicType, target: AtomicType, time_zone: str) -> Value:
    """CAST where `widens` holds."""
    if source in TEMPORAL:
        assert isinstance(value, int)
        return cast_temporal(value, source, target, time_zone)
    if target == DOUBLE:
        return float(value)  # type: ignore[arg-type]
    if isinstance(target, DecimalType):
        return scaled(target, _exactly(value, target))
    return value


def _exactly(value: Value, target: DecimalType) -> int:
    if isinstance(value, int):
        return int(value * 10**target.scale)
    return unscaled(target, value)  # type: ignore[arg-type]


def _factor(source: AtomicType, target: AtomicType, time_zone: str) -> tuple[int, int] | None:
    """`(a, b)` if the ordinal of f(v) is a·v + b: then a cut is a division, not a search."""
    if source == target or (source in INTEGRAL_BITS and target in INTEGRAL_BITS):
        return 1, 0
    if isinstance(target, DecimalType):
        return 10 ** (target.scale - (source.scale if isinstance(source, DecimalType) else 0)), 0
    offset = temporal.fixed_offset(time_zone) if target == TIMESTAMP else 0
    if source == DATE and target in TEMPORAL and offset is not None:
        return temporal.MICROS_PER_DAY, -offset
    if source == TIMESTAMP_NTZ and target == TIMESTAMP and offset is not None:
        return 1, -offset
    return None


# --- cuts -------------------------------------------------------------------------------------------------------


def cutter(column: AtomicType, casts: tuple[AtomicType, ...], time_zone: str) -> Callable[[Value], Cut] | None:
    """What finds the cuts of literals of the last type of `casts`, or None if a cast among them does not widen."""
    chain = (column, *casts)
    steps = [(a, b) for a, b in pairwise(chain) if a != b]
    bounds = ordinal_range(column)
    if bounds is None or not all(widens(a, b, time_zone) for a, b in steps):
        return None
    least, greatest = bounds
    target = chain[-1]

    def clipped(first_not_below: int, first_above: int) -> Cut:
        return Cut(
            min(max(first_not_below, least), greatest + 1),
            min(max(first_above, least), greatest + 1),
        )

    factor, shift = 1, 0
    affine = True
    for source, result in steps:
        step = _factor(source, result, time_zone)
        if step is None:
            affine = False
            break
        factor, shift = factor * step[0], shift * step[0] + step[1]

    if affine:

        def divided(literal: Value) -> Cut:
            wanted = ordinal_of(target, literal) - shift
            return clipped(-(-wanted // factor), wanted // factor + 1)

        return divided

    def widened(ordinal: int) -> Value:
        value = value_at(column, ordinal)
        for source, result in steps:
            value = _widened(value, source, result, time_zone)
        return value

    def searched(literal: Value) -> Cut:
        if (
            column in INTEGRAL_BITS
            and isinstance(literal, float)
            and abs(literal) < _EXACT_IN_DOUBLE
            and all(b == DOUBLE for _, b in steps)
        ):
            return clipped(math.ceil(literal), math.floor(literal) + 1)  # every integer near it is its own double
        wanted = order_key(target, literal)
        return Cut(
            _first(least, greatest, lambda ordinal: order_key(target, widened(ordinal)) >= wanted),
            _first(least, greatest, lambda ordinal: order_key(target, widened(ordinal)) > wanted),
        )

    return searched


def _first(least: int, greatest: int, holds: Callable[[int], bool]) -> int:
    """The first ordinal for which a condition holds that, once true, stays so."""
    low, high = least, greatest + 1
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
