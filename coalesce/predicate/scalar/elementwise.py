"""Kernels over NumPy arrays: columns and single values alike, decimals as their digits, and where Spark fails.

Decimals are computed with as integers without a scale: 64 bits wide where all values of the column fit, Python's own
where one does not. What lies under a NULL is zero, so that it neither fails nor makes the others slow.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coalesce.model.arrow_schema import arrow_type
from coalesce.model.columns import Mask, column_from, flags, is_null, numbers
from coalesce.model.types import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT8,
    INT16,
    INT32,
    INT64,
    AtomicType,
    DecimalType,
)
from coalesce.predicate.scalar.evaluated import Datum, Evaluated
from coalesce.predicate.scalar.nodes import Call

Numbers = npt.NDArray[Any]

TRY: Final = "try"  # among a call's settings: NULL where Spark would fail

_WIDTHS: Final[dict[AtomicType, Any]] = {
    INT8: np.int8,
    INT16: np.int16,
    INT32: np.int32,
    INT64: np.int64,
    FLOAT: np.float32,
    DOUBLE: np.float64,
    BOOLEAN: np.bool_,
}
_WORD: Final = 2**64


@dataclass(frozen=True, slots=True)
class Computed:
    """Values of all places (digits, if decimals). An Arrow array has its NULLs in place, NumPy's gets the arguments."""

    values: Numbers | pa.Array
    fails: Mask | None = None  # where Spark fails in ANSI mode
    why: str = ""
    unsure: Mask | None = None  # where it is not known what Spark says
    null: Mask | None = None  # further NULLs


def elementwise(
    call: Call,
    arguments: Sequence[Datum],
    count: int,
    compute: Callable[[Call, Sequence[pa.Array]], Computed],
) -> Evaluated:
    """What `compute` makes of columns. A single value goes in as a column of one; if all are, so is the answer."""
    single = all(isinstance(argument, pa.Scalar) for argument in arguments)
    columns = [pa.repeat(a, 1) if isinstance(a, pa.Scalar) else a for a in arguments]
    length = 1 if single else count
    with np.errstate(all="ignore"):
        computed = compute(call, columns)
    trying = TRY in call.settings
    unsure = _union(computed.unsure, None if trying else computed.fails)
    column = computed.values
    if not isinstance(column, pa.Array):
        null = _union(*(is_null(c) for c in columns if c.null_count), computed.null, computed.fails if trying else None)
        column = column_with(call.type, column, null, length)
    elif trying and computed.fails is not None and bool(computed.fails.any()):
        column = without(column, computed.fails)
    values: Datum = column[0] if single else column
    if unsure is None or not bool(unsure.any()):
        return Evaluated(values)
    return Evaluated(values, np.broadcast_to(unsure, (count,)).copy(), computed.why)


def without(column: pa.Array, null: Mask) -> pa.Array:
    """The column, NULL also where said."""
    kept = np.flatnonzero(~null)
    places = np.zeros(len(column), np.int64)
    places[kept] = kept
    return column.take(column_from(places, null))


def _union(*masks: Mask | None) -> Mask | None:
    known = [mask for mask in masks if mask is not None]
    return reduce(np.logical_or, known) if known else None


def either(*masks: Mask) -> Mask:
    """Where any of them holds."""
    return reduce(np.logical_or, masks)


# --- between Arrow and NumPy ------------------------------------------------------------------------------------------


def raw(type_: AtomicType, column: pa.Array) -> Numbers:
    """The numbers, booleans or digits of a column; zero where NULL."""
    if isinstance(type_, DecimalType):
        return digits_of(column)
    return flags(column) if type_ == BOOLEAN else numbers(column, null=0)


def width(type_: AtomicType) -> Any:
    """NumPy's type of numbers of the type."""
    return _WIDTHS[type_]


def digits_of(column: pa.Array) -> Numbers:
    """Decimals without their scale."""
    count, buffer = len(column), column.buffers()[1]
    if not count or buffer is None:
        return np.zeros(count, np.int64)
    words = np.frombuffer(buffer, np.int64, 2 * count, column.offset * 16).reshape(count, 2)
    low, high = words[:, 0], words[:, 1]
    if column.null_count:
        null = is_null(column)
        low, high = np.where(null, 0, low), np.where(null, 0, high)
    if bool((high == (low >> 63)).all()):
        return np.ascontiguousarray(low)
    digits: Numbers = high.astype(object) * _WORD + low.astype(np.uint64).astype(object)
    return digits


def column_with(type_: AtomicType, values: Numbers, null: Mask | None, length: int) -> pa.Array:
    """The Arrow column of so many numbers, booleans or digits."""
    if len(values) != length:
        values = np.broadcast_to(values, (length,))
    if null is not None:
        null = np.broadcast_to(null, (length,))
    if not isinstance(type_, DecimalType):
        return column_from(values.astype(width(type_), copy=False), null)
    words = np.empty((length, 2), np.int64)
    if values.dtype == np.dtype(object):
        words[:, 0] = (values % _WORD).astype(np.uint64).view(np.int64)
        words[:, 1] = (values // _WORD).astype(np.int64)
    else:
        words[:, 0] = values
        words[:, 1] = words[:, 0] >> 63
    valid = None if null is None else pa.py_buffer(np.packbits(~null, bitorder="little"))
    return pa.Array.from_buffers(arrow_type(type_), length, [valid, pa.py_buffer(words)])


# --- exact integers ---------------------------------------------------------------------------------------------------


def greatest_of(digits: Numbers) -> int:
    """The greatest absolute value."""
    return max(int(digits.max()), -int(digits.min())) if len(digits) else 0


def narrowed(digits: Numbers) -> Numbers:
    """64 bits wide again if all fit."""
    return digits.astype(np.int64) if digits.dtype == np.dtype(object) and greatest_of(digits) < 2**63 else digits


def times(left: Numbers, right: Numbers) -> Numbers:
    """The product, exactly."""
    if max(1, greatest_of(left)) * max(1, greatest_of(right)) < 2**63:  # and so is each of them
        product: Numbers = left.astype(np.int64) * right.astype(np.int64)
        return product
    exact: Numbers = left.astype(object) * right.astype(object)
    return exact


def plus(left: Numbers, right: Numbers) -> Numbers:
    """The sum, exactly."""
    if greatest_of(left) + greatest_of(right) < 2**63:
        total: Numbers = left.astype(np.int64) + right.astype(np.int64)
        return total
    exact: Numbers = left.astype(object) + right.astype(object)
    return exact


def power(exponent: int) -> Numbers:
    """A power of ten, for all places."""
    return np.array([10**exponent], np.int64 if exponent < 19 else object)


def halves_up(dividend: Numbers, divisor: Numbers) -> Numbers:
    """The quotient to the nearest integer, halves away from zero. No divisor is zero."""
    wide = np.int64 if greatest_of(dividend) + greatest_of(divisor) < 2**62 else object
    size, other = abs(dividend.astype(wide)), abs(divisor.astype(wide))
    quotient = size // other
    quotient = quotient + ((size - quotient * other) * 2 >= other)
    signed: Numbers = np.where((dividend < 0) != (divisor < 0), -quotient, quotient)
    return signed


def halves_even(dividend: Numbers, divisor: Numbers) -> Numbers:
    """The quotient to the nearest integer, halves to the even one. The divisor is above zero."""
    wide = np.int64 if greatest_of(dividend) + greatest_of(divisor) < 2**62 else object
    dividend, divisor = dividend.astype(wide), divisor.astype(wide)
    quotient = dividend // divisor
    twice = (dividend - quotient * divisor) * 2
    nearest: Numbers = quotient + ((twice > divisor) | ((twice == divisor) & (quotient % 2 == 1)))
    return nearest


def truncated(dividend: Numbers, divisor: Numbers) -> Numbers:
    """The quotient without its fraction. No divisor is zero."""
    quotient = absolute(dividend) // absolute(divisor)
    signed: Numbers = np.where((dividend < 0) != (divisor < 0), -quotient, quotient)
    return signed


def absolute(digits: Numbers) -> Numbers:
    """Without the sign; the least of 64 bits has no other."""
    if digits.dtype != np.dtype(object) and len(digits) and int(digits.min()) == -(2**63):
        digits = digits.astype(object)
    return abs(digits)


def rescaled(digits: Numbers, before: int, after: int) -> Numbers:
    """Decimals of one scale at another, halves away from zero."""
    if after >= before:
        return times(digits, power(after - before)) if after > before else digits
    return narrowed(halves_up(digits, power(before - after)))


def within(digits: Numbers, type_: DecimalType) -> tuple[Numbers, Mask]:
    """The digits that fit a type, zero for the others, and which those are."""
    limit = 10**type_.precision
    if greatest_of(digits) < limit:
        return digits, np.zeros(len(digits), np.bool_)
    beyond = np.asarray(absolute(digits) >= limit, np.bool_)
    return np.where(beyond, 0, digits), beyond
