"""The types Spark compares in, and literals converted to them, as Spark 4 does in ANSI mode.

Two questions: in which type are a column and a literal compared (`common_type`), and which value is the literal
in it (`cast_value`). The answer None means *not certain*: Spark would refuse, fail at run time, round, or read the
text by rules that are not repeated here.
"""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Final

import numpy as np

from coalesce.model.conversions import integer_range, scaled
from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    FLOATING,
    INT8,
    INT16,
    INT32,
    INT64,
    INTEGRAL_BITS,
    STRING,
    TEMPORAL,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
    DecimalType,
    Value,
)
from coalesce.predicate import temporal

# The decimals that hold every value of an integral type, as Spark has them.
DECIMAL_OF: Final[dict[AtomicType, DecimalType]] = {
    INT8: DecimalType(3, 0),
    INT16: DecimalType(5, 0),
    INT32: DecimalType(10, 0),
    INT64: DecimalType(20, 0),
}

_INTEGER_TEXT = re.compile(r"-?\d{1,19}", re.ASCII)
_DECIMAL_TEXT = re.compile(r"-?\d{1,38}(\.\d{1,38})?", re.ASCII)
_DOUBLE_TEXT = re.compile(r"-?\d{1,400}(\.\d{1,400})?([eE][+-]?\d{1,4})?|NaN|-?Infinity", re.ASCII)
_TRUE_TEXTS: Final = frozenset({"t", "true", "y", "yes", "1"})
_FALSE_TEXTS: Final = frozenset({"f", "false", "n", "no", "0"})
_BEYOND_FLOAT: Final = Fraction(2**128 - 2**103)  # the least number that rounds up to where floats end


# --- which type -------------------------------------------------------------------------------------------------


def common_type(left: AtomicType, right: AtomicType) -> AtomicType | None:
    """The type in which Spark compares the two."""
    if left == right:
        return left
    for one, other in ((left, right), (right, left)):
        if one == STRING:
            return _promoted_from_text(other)
    if left in TEMPORAL and right in TEMPORAL:
        return TIMESTAMP if TIMESTAMP in (left, right) else TIMESTAMP_NTZ
    if not (_is_number(left) and _is_number(right)):
        return None
    if left in FLOATING or right in FLOATING:
        return DOUBLE  # also for a float and an integer
    if left in INTEGRAL_BITS and right in INTEGRAL_BITS:
        return max(left, right, key=INTEGRAL_BITS.__getitem__)
    return _wider_decimal(_as_decimal(left), _as_decimal(right))


def _promoted_from_text(other: AtomicType) -> AtomicType:
    if other in INTEGRAL_BITS:
        return INT64
    return DOUBLE if _is_number(other) else other


def _is_number(type_: AtomicType) -> bool:
    return isinstance(type_, DecimalType) or type_ in INTEGRAL_BITS or type_ in FLOATING


def _as_decimal(type_: AtomicType) -> DecimalType:
    return type_ if isinstance(type_, DecimalType) else DECIMAL_OF[type_]


def _wider_decimal(left: DecimalType, right: DecimalType) -> DecimalType | None:
    """A decimal that holds both exactly. Where that takes more than 38 digits Spark rounds one of them: None."""
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    return DecimalType(precision, scale) if precision <= 38 else None


# --- which value ------------------------------------------------------------------------------------------------


def cast_value(value: Value, source: AtomicType, target: AtomicType, time_zone: str) -> Value:
    """`value` (not NULL) as CAST makes it a `target`, or None if that is not certain."""
    if source == target:
        return value
    match value:
        case str():
            return _from_text(value, target, time_zone)
        case bool() | bytes() | None:
            return None
        case float():
            return value if (source, target) == (FLOAT, DOUBLE) else None
        case int() if source in TEMPORAL:
            found = cast_temporal(value, source, target, time_zone)
            return None if found is None else _in_range(found, target)  # timestamps do not reach as far as dates
        case int() | Decimal():
            return _from_exact(value, target)


def _from_exact(value: int | Decimal, target: AtomicType) -> Value:
    if target == DOUBLE:
        return float(value)
    if target == FLOAT:
        return nearest_float(Fraction(value)) if isinstance(value, int) else None
    if isinstance(target, DecimalType):
        return _rounded(Decimal(value), target)
    return _in_range(value, target) if target in INTEGRAL_BITS and isinstance(value, int) else None


def _in_range(value: int, target: AtomicType) -> int | None:
    least, greatest = integer_range(target)
    return value if least <= value <= greatest else None


def _rounded(value: Decimal, target: DecimalType) -> Decimal | None:
    """Half up, away from zero, as Spark rounds; None if it does not fit."""
    exact = Fraction(value) * 10**target.scale
    digits = math.floor(abs(exact) + Fraction(1, 2))
    if digits > integer_range(target)[1]:
        return None
    return scaled(target, -digits if exact < 0 else digits)


def nearest_float(exact: Fraction) -> float | None:
    """The 32-bit float nearest to a number, ties to even, rounded once only; None beyond the greatest."""
    if abs(exact) >= _BEYOND_FLOAT:
        return None
    with np.errstate(over="ignore", under="ignore"):
        guess = np.float32(float(exact))
        around = [guess, np.nextafter(guess, np.float32(-np.inf)), np.nextafter(guess, np.float32(np.inf))]
    candidates = [f for f in around if np.isfinite(f)]
    nearest = min(candidates, key=lambda f: (abs(Fraction(float(f)) - exact), int(f.view(np.int32)) & 1))
    return float(nearest)


def cast_temporal(value: int, source: AtomicType, target: AtomicType, time_zone: str) -> int | None:
    """A date, timestamp or timestamp_ntz as another of the three."""
    offset = temporal.fixed_offset(time_zone)
    if source == DATE and target == TIMESTAMP_NTZ:
        return value * temporal.MICROS_PER_DAY
    if source == DATE and target == TIMESTAMP:
        return temporal.start_of_day(value, time_zone)
    if source == TIMESTAMP_NTZ and target == DATE:
        return value // temporal.MICROS_PER_DAY
    if source == TIMESTAMP_NTZ and target == TIMESTAMP:
        return temporal.instant(value, time_zone)
    if source == TIMESTAMP and target == DATE and offset is not None:
        return (value + offset) // temporal.MICROS_PER_DAY
    if source == TIMESTAMP and target == TIMESTAMP_NTZ and offset is not None:
        return value + offset
    return None


def _from_text(text: str, target: AtomicType, time_zone: str) -> Value:
    if isinstance(target, DecimalType):
        return _rounded(Decimal(text), target) if _DECIMAL_TEXT.fullmatch(text) else None
    if target in INTEGRAL_BITS:
        return _from_exact(int(text), target) if _INTEGER_TEXT.fullmatch(text) else None
    if target == TIMESTAMP:
        return temporal.timestamp_from_text(text, time_zone)
    reader = _READERS.get(target)
    return None if reader is None else reader(text)


def _double_from_text(text: str) -> float | None:
    return float(text) if _DOUBLE_TEXT.fullmatch(text) else None


def float_from_text(text: str) -> float | None:
    """The 32-bit float that a number's text means."""
    double = _double_from_text(text)
    if double is None or not math.isfinite(double):
        return double if text in ("NaN", "Infinity", "-Infinity") else None
    if 0 < abs(double) < 1e-60 or (double == 0 and text.strip("-0.")):
        return None  # not worth the arithmetic
    return nearest_float(Fraction(text))


def _boolean_from_text(text: str) -> bool | None:
    folded = text.lower()
    return True if folded in _TRUE_TEXTS else False if folded in _FALSE_TEXTS else None


_READERS: Final[dict[AtomicType, Callable[[str], Value]]] = {
    DOUBLE: _double_from_text,
    FLOAT: float_from_text,
    BOOLEAN: _boolean_from_text,
    DATE: temporal.date_from_text,
    TIMESTAMP_NTZ: temporal.wall_clock_from_text,
    BINARY: str.encode,
}
