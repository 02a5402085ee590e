"""floor, ceil, round and bround."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
import pyarrow as pa

from coalesce.model.conversions import integer_range
from coalesce.model.types import DOUBLE, FLOAT, FLOATING, AtomicType, DecimalType
from coalesce.predicate.coercion import nearest_float
from coalesce.predicate.scalar.decimal_casts import EXACT_POWERS, plain_counts
from coalesce.predicate.scalar.elementwise import (
    Computed,
    Numbers,
    digits_of,
    halves_even,
    halves_up,
    power,
    raw,
    times,
    within,
)
from coalesce.predicate.scalar.nodes import Call
from coalesce.predicate.scalar.number_texts import Floating, distinct_floats, java_text

_OVERFLOW: Final = "a number does not fit its type"


def rounded_type(type_: AtomicType, scale: int) -> AtomicType:
    """The type of round(…, scale): a decimal may get a digit before the point, and loses what is rounded away."""
    if not isinstance(type_, DecimalType):
        return type_
    whole = type_.precision - type_.scale + 1
    if scale < 0:
        return DecimalType(min(max(whole, 1 - scale), 38), 0)
    kept = min(type_.scale, scale)
    return DecimalType(min(whole + kept, 38), kept)


def whole(call: Call, columns: Sequence[pa.Array]) -> Computed:
    """Floor and ceil, of doubles to bigints, or of decimals."""
    type_ = call.arguments[0].type
    up = call.function == "ceil"
    if isinstance(type_, DecimalType):
        digits = digits_of(columns[0])
        if type_.scale >= 19 and digits.dtype != np.dtype(object):
            digits = digits.astype(object)
        unit = power(type_.scale)
        assert isinstance(call.type, DecimalType)
        fitting, beyond = within(-(-digits // unit) if up else digits // unit, call.type)
        return Computed(fitting, beyond, _OVERFLOW)
    values = raw(DOUBLE, columns[0])
    found = np.ceil(values) if up else np.floor(values)
    fits = (found >= -(2.0**63)) & (found < 2.0**63)
    return Computed(np.where(fits, found, 0).astype(np.int64), ~fits, _OVERFLOW)


def rounded(call: Call, columns: Sequence[pa.Array]) -> Computed:
    """Round and bround; the scale is the call's setting."""
    type_ = call.arguments[0].type
    (scale,) = call.settings
    assert type_ is not None
    assert isinstance(scale, int)
    values = raw(type_, columns[0])
    even = call.function == "bround"
    if type_ in FLOATING:
        return _floats(values, type_, scale, even)
    own, kept = (type_.scale, min(type_.scale, scale)) if isinstance(type_, DecimalType) else (0, min(0, scale))
    if kept == own:
        return Computed(values)
    unit = power(own - kept)
    digits = halves_even(values, unit) if even else halves_up(values, unit)
    if kept < 0:
        digits = times(digits, power(-kept))
    if isinstance(call.type, DecimalType):
        fitting, beyond = within(digits, call.type)
        return Computed(fitting, beyond, _OVERFLOW)
    least, greatest = integer_range(call.type)
    beyond = np.asarray((digits < least) | (digits > greatest), np.bool_)
    return Computed(np.where(beyond, 0, digits).astype(values.dtype), beyond, _OVERFLOW)


def _floats(values: Numbers, type_: AtomicType, scale: int, even: bool) -> Computed:
    """What Java writes, rounded. Doubles that are near no half are just counted, others looked at, each once."""
    finite = np.isfinite(values)
    if type_ == DOUBLE and abs(scale) <= EXACT_POWERS:
        counts, plain = plain_counts(values, scale)
    else:
        counts, plain = values, np.zeros(len(values), np.bool_)
    distinct, places = distinct_floats(np.where(finite & ~plain, values, values.dtype.type(0)))
    found = [_rounded(value, type_, scale, even) for value in distinct]
    table = np.array([value for value, _ in found], values.dtype)
    unsure = np.array([not certain for _, certain in found], np.bool_)[places] & finite
    nearest = np.where(finite, table[places], values)
    if bool(plain.any()):
        nearest = np.where(plain, counts / 10.0**scale if scale >= 0 else counts * 10.0**-scale, nearest)
    return Computed(nearest, why="versions of Java write a number in different ways", unsure=unsure)


def _rounded(value: Floating, type_: AtomicType, scale: int, even: bool) -> tuple[float, bool]:
    double = abs(float(value))
    text, certain = java_text(np.float64(double), DOUBLE)
    nearest = _nearest(Fraction(text), scale, even)
    if not certain and double:
        step = Fraction(math.ulp(double)) / 2
        least, greatest = max(Fraction(0), Fraction(double) - step), Fraction(double) + step
        certain = _nearest(least, scale, even) == _nearest(greatest, scale, even)
    size = _as_float(nearest) if type_ == FLOAT else float(nearest) if nearest < 2**1023 else math.inf
    return math.copysign(size, float(value)), certain and math.isfinite(size)


def _as_float(exact: Fraction) -> float:
    found = nearest_float(exact)
    return math.inf if found is None else found


def _nearest(size: Fraction, scale: int, even: bool) -> Fraction:
    unit = Fraction(10) ** -scale
    count = size / unit
    return (round(count) if even else math.floor(count + Fraction(1, 2))) * unit
