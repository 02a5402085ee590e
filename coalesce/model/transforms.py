"""Transforms: from a column's value to a component of a logical tuple, as Iceberg defines them.

Each transform has a scalar form, `apply`, and an array form, `transform_arrays.apply_array`; they agree. Where Iceberg
leaves a result that does not fit its type to wrap around, this library stops at the end of the range instead:

* `truncate` of a number whose multiple of the width lies below the type's minimum gives the minimum;
* `hour` of a timestamp more than 2³¹ hours from 1970 (about the year ±246,000) gives the outermost int32.

So a truncated value is never greater than its source, and the order-preserving transforms preserve order
everywhere, which pruning by range relies on.
"""

import re
import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, TypeAlias, assert_never

import numpy as np
import numpy.typing as npt

from coalesce.errors import SpecError
from coalesce.model.conversions import integer_range, scaled, unscaled
from coalesce.model.murmur3 import murmur3
from coalesce.model.types import (
    DATE,
    INT32,
    PRIMITIVES,
    AtomicType,
    DecimalType,
    Value,
)

_INT32_MIN: Final = -(2**31)
INT32_MAX: Final = 2**31 - 1
_HOUR: Final = 3_600_000_000
_DAY: Final = 24 * _HOUR


class _Named:
    """A transform that has no parameter, and so is known by its name alone."""

    __slots__ = ()

    def __str__(self) -> str:
        return type(self).__name__.lower()


@dataclass(frozen=True, slots=True)
class Identity(_Named):
    """The value itself; of a floating-point number, the one value that stands for all Spark calls equal."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """One of `count` buckets, by hash."""

    count: int

    def __post_init__(self) -> None:
        _check_parameter("bucket", self.count)

    def __str__(self) -> str:
        return f"bucket[{self.count}]"


@dataclass(frozen=True, slots=True)
class Truncate:
    """The first `width` characters or bytes, or the multiple of `width` at or below a number."""

    width: int

    def __post_init__(self) -> None:
        _check_parameter("truncate", self.width)

    def __str__(self) -> str:
        return f"truncate[{self.width}]"


@dataclass(frozen=True, slots=True)
class Year(_Named):
    """Years since 1970, in UTC."""


@dataclass(frozen=True, slots=True)
class Month(_Named):
    """Months since 1970-01, in UTC."""


@dataclass(frozen=True, slots=True)
class Day(_Named):
    """The date, in UTC."""


@dataclass(frozen=True, slots=True)
class Hour(_Named):
    """Hours since 1970-01-01T00, in UTC."""


@dataclass(frozen=True, slots=True)
class Void(_Named):
    """Always NULL: what is left of a partition field that was dropped."""


Transform = Identity | Bucket | Truncate | Year | Month | Day | Hour | Void

_PLAIN: Final[dict[str, Transform]] = {str(t): t for t in (Identity(), Year(), Month(), Day(), Hour(), Void())}
_WITH_NUMBER = re.compile(r"(bucket|truncate)\[([1-9][0-9]{0,9})\]")

_NUMBERS = ("int8", "int16", "int32", "int64", "decimal")
_INSTANTS = ("timestamp", "timestamp_ntz")
_SOURCES: Final[dict[str, tuple[str, ...]]] = {
    "identity": (*PRIMITIVES, "decimal"),
    "bucket": (*_NUMBERS, "date", *_INSTANTS, "string", "binary"),
    "truncate": (*_NUMBERS, "string", "binary"),
    "year": ("date", *_INSTANTS),
    "month": ("date", *_INSTANTS),
    "day": ("date", *_INSTANTS),
    "hour": _INSTANTS,
    "void": (*PRIMITIVES, "decimal"),
}


def transform(text: str) -> Transform:
    """The transform written as `text`, such as `identity`, `bucket[64]` or `day`."""
    if text in _PLAIN:
        return _PLAIN[text]
    if match := _WITH_NUMBER.fullmatch(text):
        return Bucket(int(match[2])) if match[1] == "bucket" else Truncate(int(match[2]))
    raise SpecError(f"there is no transform {text!r}; there are {', '.join(_PLAIN)}, bucket[N] and truncate[W].")


def result_type(transform_: Transform, source: AtomicType) -> AtomicType:
    """The type of `transform_` of a column of type `source`, or an error that says what is possible."""
    kind = str(transform_).partition("[")[0]
    source_kind = "decimal" if isinstance(source, DecimalType) else source.name
    if source_kind not in _SOURCES[kind]:
        possible = ", ".join(k for k, sources in _SOURCES.items() if source_kind in sources)
        raise SpecError(
            f"{transform_} of a {source} column is not possible: {kind} takes {', '.join(_SOURCES[kind])}; "
            f"for {source} there are {possible}."
        )
    match transform_:
        case Identity() | Truncate() | Void():
            return source
        case Bucket() | Year() | Month() | Hour():
            return INT32
        case Day():
            return DATE
        case _:
            assert_never(transform_)


def apply(transform_: Transform, source_type: AtomicType, value: Value) -> Value:
    """`transform_` of one value of type `source_type`; NULL gives NULL."""
    result_type(transform_, source_type)
    if value is None:
        return None
    match transform_:
        case Identity():
            return _canonical(value)
        case Bucket(count):
            return (murmur3(_hashed_bytes(source_type, value)) & INT32_MAX) % count
        case Truncate(width):
            return _truncated(source_type, value, width)
        case Year() | Month() | Day() | Hour():
            assert isinstance(value, int)
            return int(since_epoch(transform_, source_type, np.array(value, np.int64)))
        case Void():
            return None
        case _:
            assert_never(transform_)


def source_bounds(transform_: Transform, source_type: AtomicType, value: Value) -> tuple[Value, Value] | None:
    """The smallest and the largest source value for which `transform_` gives `value`, both inclusive.

    A source value gives `value` if and only if it lies between them. None where there is no such pair: for
    bucket, void and truncate of strings or binary, for NULL, and for a value the transform never gives.
    """
    result_type(transform_, source_type)
    if value is None:
        return None
    match transform_:
        case Identity():
            return value, value
        case Truncate(width) if isinstance(value, Decimal) and isinstance(source_type, DecimalType):
            integers = _multiples(source_type, unscaled(source_type, value), width)
            return None if integers is None else (scaled(source_type, integers[0]), scaled(source_type, integers[1]))
        case Truncate(width) if isinstance(value, int):
            return _multiples(source_type, value, width)
        case Year() | Month() | Day() | Hour():
            assert isinstance(value, int)
            return _calendar_bounds(transform_, source_type, value)
        case Bucket() | Truncate() | Void():
            return None
        case _:
            assert_never(transform_)


def _check_parameter(kind: str, number: int) -> None:
    if not 1 <= number <= INT32_MAX:
        raise SpecError(f"{kind}[{number}] is not a transform: the number is 1 to {INT32_MAX}.")


# --- identity ---------------------------------------------------------------------------------------------------


def _canonical(value: Value) -> Value:
    if isinstance(value, float):
        return float("nan") if value != value else value + 0.0  # -0.0 + 0.0 is 0.0
    return value


# --- truncate ---------------------------------------------------------------------------------------------------


def _truncated(source_type: AtomicType, value: Value, width: int) -> Value:
    match value:
        case str() | bytes():
            return value[:width]
        case Decimal():
            assert isinstance(source_type, DecimalType)
            whole = unscaled(source_type, value)
            return scaled(source_type, max(whole - whole % width, integer_range(source_type)[0]))
        case int():
            return max(value - value % width, integer_range(source_type)[0])
        case _:
            raise AssertionError(f"{source_type} is not truncated")  # result_type refused it


def _multiples(source_type: AtomicType, value: int, width: int) -> tuple[int, int] | None:
    """The integers that truncate to `value`; at the type's minimum those whose multiple lies below it."""
    minimum, maximum = integer_range(source_type)
    multiple = value - value % width
    lowest, highest = max(multiple, minimum), min(multiple + width - 1, maximum)
    return (lowest, highest) if value == lowest and lowest <= highest else None


# --- year, month, day, hour -------------------------------------------------------------------------------------

Integers: TypeAlias = npt.NDArray[np.int64]


def since_epoch(unit: Year | Month | Day | Hour, source_type: AtomicType, numbers: Integers) -> Integers:
    """Whole units since 1970 of days or microseconds, rounded towards minus infinity."""
    if isinstance(unit, Hour):
        return np.clip(numbers // _HOUR, _INT32_MIN, INT32_MAX)
    days = numbers if source_type == DATE else numbers // _DAY
    if isinstance(unit, Day):
        return days
    # Days first: as a datetime64 of microseconds the smallest int64 would mean "not a time".
    months = days.astype("M8[D]").astype("M8[M]").astype(np.int64)
    return months if isinstance(unit, Month) else months // 12


def _calendar_bounds(unit: Year | Month | Day | Hour, source_type: AtomicType, value: int) -> tuple[int, int] | None:
    minimum, maximum = integer_range(source_type)
    if isinstance(unit, Hour):
        lowest = minimum if value == _INT32_MIN else value * _HOUR
        highest = maximum if value == INT32_MAX else (value + 1) * _HOUR - 1
    else:
        day_length = 1 if source_type == DATE else _DAY
        lowest = _first_day(unit, value) * day_length
        highest = _first_day(unit, value + 1) * day_length - 1
    lowest, highest = max(lowest, minimum), min(highest, maximum)
    return (lowest, highest) if lowest <= highest else None


def _first_day(unit: Year | Month | Day, value: int) -> int:
    if isinstance(unit, Day):
        return value
    month = value if isinstance(unit, Month) else value * 12
    return int(np.datetime64(month, "M").astype("M8[D]").astype(np.int64))


# --- bucket -------------------------------------------------------------------------------------------------------


def _hashed_bytes(source_type: AtomicType, value: Value) -> bytes:
    """What Iceberg hashes: every integer, date and timestamp as a long; decimals as Java's BigInteger bytes."""
    match value:
        case str():
            return value.encode()
        case bytes():
            return value
        case Decimal():
            assert isinstance(source_type, DecimalType)
            whole = unscaled(source_type, value)
            bits = (whole if whole >= 0 else ~whole).bit_length()
            return whole.to_bytes(bits // 8 + 1, "big", signed=True)
        case int():
            return struct.pack("<q", value)
        case _:
            raise AssertionError(f"{source_type} is not hashed")  # result_type refused it
