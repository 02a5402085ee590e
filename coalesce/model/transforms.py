"""Transforms: from a column's value to a component of a logical tuple, as Iceberg defines them.

Each transform has a scalar form, `apply`, and an array form, `apply_array`; the two always agree. Where Iceberg
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
from typing import Any, Final, TypeAlias, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.errors import SpecError
from coalesce.model.arrow_schema import arrow_type
from coalesce.model.murmur3 import Words, murmur3, murmur3_longs, murmur3_spans
from coalesce.model.types import (
    BINARY,
    DATE,
    FLOATING,
    INT32,
    INTEGRAL_BITS,
    PRIMITIVES,
    STRING,
    AtomicType,
    DecimalType,
    Value,
)
from coalesce.model.values import integer_range, not_text, scaled, unscaled

_INT32_MIN: Final = -(2**31)
_INT32_MAX: Final = 2**31 - 1
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
            return (murmur3(_hashed_bytes(source_type, value)) & _INT32_MAX) % count
        case Truncate(width):
            return _truncated(source_type, value, width)
        case Year() | Month() | Day() | Hour():
            assert isinstance(value, int)
            return int(_since_epoch(transform_, source_type, np.array(value, np.int64)))
        case Void():
            return None
        case _:
            assert_never(transform_)


def apply_array(transform_: Transform, source_type: AtomicType, array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """`transform_` of every value of an array; the result has the Arrow type of the transform's result type.

    An array of another Arrow type is cast first, and of a dictionary only the distinct values are transformed.
    """
    target = arrow_type(result_type(transform_, source_type))
    if isinstance(array, pa.ChunkedArray):
        chunks = [apply_array(transform_, source_type, chunk) for chunk in array.chunks]
        return pa.concat_arrays(chunks) if chunks else pa.array([], target)
    if array.null_count == len(array) or isinstance(transform_, Void):
        return pa.nulls(len(array), target)
    if isinstance(array, pa.DictionaryArray):
        return apply_array(transform_, source_type, array.dictionary).take(array.indices)
    expected = arrow_type(source_type)
    if array.type != expected:
        array = array.cast(expected)
    match transform_:
        case Identity():
            return _canonical_array(source_type, array)
        case Bucket(count):
            buckets = (_hashes(source_type, array) & np.uint32(_INT32_MAX)) % np.uint32(count)
            return _numbered(buckets.astype(np.int32), target, array)
        case Truncate(width):
            return _truncated_array(source_type, array, width)
        case Year() | Month() | Day() | Hour():
            counts = _since_epoch(transform_, source_type, _integers(array))
            return _numbered(counts.astype(np.int32), target, array)
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
    if not 1 <= number <= _INT32_MAX:
        raise SpecError(f"{kind}[{number}] is not a transform: the number is 1 to {_INT32_MAX}.")


# --- identity ---------------------------------------------------------------------------------------------------


def _canonical(value: Value) -> Value:
    if isinstance(value, float):
        return float("nan") if value != value else value + 0.0  # -0.0 + 0.0 is 0.0
    return value


def _canonical_array(source_type: AtomicType, array: pa.Array) -> pa.Array:
    if source_type not in FLOATING:
        return array
    zero, nan = (pa.scalar(number, array.type) for number in (0.0, float("nan")))
    return pc.if_else(pc.is_nan(array), nan, pc.add(array, zero))


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


def _truncated_array(source_type: AtomicType, array: pa.Array, width: int) -> pa.Array:
    if source_type == STRING:
        try:
            return pc.utf8_slice_codeunits(array, 0, width)  # by code point, in spite of its name
        except pa.ArrowInvalid:
            raise not_text() from None
    if source_type == BINARY:
        return pc.binary_slice(array, 0, width)
    if isinstance(source_type, DecimalType):
        return _truncated_decimals(source_type, array, width)
    minimum = integer_range(source_type)[0]
    numbers = _integers(array)
    excess = numbers % width
    # Compared before subtracting: near the minimum of int64 the difference itself would wrap.
    truncated = np.where(numbers < minimum + excess, minimum, numbers - excess)
    return _numbered(truncated.astype(f"i{INTEGRAL_BITS[source_type] // 8}"), array.type, array)


def _truncated_decimals(source_type: DecimalType, array: pa.Array, width: int) -> pa.Array:
    """128-bit arithmetic on (low, high) words; the width is below 2³¹, so every product fits 64 bits."""
    words = _decimal_words(array)
    low, high = words[:, 0], words[:, 1].view(np.int64)
    high_excess = (high % width).astype(np.uint64)
    excess = (high_excess * np.uint64(2**64 % width) + low % np.uint64(width)) % np.uint64(width)
    truncated = np.empty_like(words)
    truncated[:, 0] = low - excess
    truncated[:, 1] = (high - (low < excess)).view(np.uint64)
    result = _decimals(source_type, truncated)
    minimum = pa.scalar(scaled(source_type, integer_range(source_type)[0]), array.type)
    result = pc.if_else(pc.less(result, minimum), minimum, result)
    return pc.if_else(array.is_valid(), result, pa.scalar(None, array.type))


def _multiples(source_type: AtomicType, value: int, width: int) -> tuple[int, int] | None:
    """The integers that truncate to `value`; at the type's minimum those whose multiple lies below it."""
    minimum, maximum = integer_range(source_type)
    multiple = value - value % width
    lowest, highest = max(multiple, minimum), min(multiple + width - 1, maximum)
    return (lowest, highest) if value == lowest and lowest <= highest else None


# --- year, month, day, hour -------------------------------------------------------------------------------------

Integers: TypeAlias = npt.NDArray[np.int64]


def _since_epoch(unit: Year | Month | Day | Hour, source_type: AtomicType, numbers: Integers) -> Integers:
    """Whole units since 1970 of days or microseconds, rounded towards minus infinity."""
    if isinstance(unit, Hour):
        return np.clip(numbers // _HOUR, _INT32_MIN, _INT32_MAX)
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
        highest = maximum if value == _INT32_MAX else (value + 1) * _HOUR - 1
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


def _hashes(source_type: AtomicType, array: pa.Array) -> Words:
    """The hash of every value; what stands where the array is NULL is meaningless."""
    if source_type in (STRING, BINARY):
        _, offsets_buffer, data_buffer = array.buffers()
        offsets = np.frombuffer(offsets_buffer, np.int32)[array.offset : array.offset + len(array) + 1]
        first, last = int(offsets[0]), int(offsets[-1])
        data = np.frombuffer(data_buffer or b"", np.uint8)[first:last]
        starts = offsets[:-1].astype(np.int64) - first
        return murmur3_spans(data, starts, np.diff(offsets).astype(np.int64))
    if isinstance(source_type, DecimalType):
        return _decimal_hashes(array)
    halves = _integers(array).astype("<i8").view("<u4").reshape(-1, 2)
    return murmur3_longs(halves)


def _decimal_hashes(array: pa.Array) -> Words:
    big_endian = _decimal_words(array).astype("<u8").view(np.uint8).reshape(-1, 16)[:, ::-1]
    sign = np.where(big_endian[:, 0] >= 0x80, np.uint8(0xFF), np.uint8(0))
    significant = big_endian != sign[:, None]
    significant[:, 15] = True  # 0 and -1 keep one byte
    start = significant.argmax(axis=1)
    leading = big_endian[np.arange(len(array)), start]
    start -= (leading ^ sign) >= 0x80  # the sign needs one more bit than the digits leave
    rows = np.arange(len(array), dtype=np.int64) * 16
    return murmur3_spans(np.ascontiguousarray(big_endian).reshape(-1), rows + start, 16 - start)


# --- Arrow buffers as NumPy arrays ------------------------------------------------------------------------------


def _integers(array: pa.Array) -> Integers:
    """Integers, days or microseconds as int64; 0 stands where the array is NULL."""
    width = array.type.bit_width
    plain = array.view(pa.int32() if width == 32 else pa.int64()) if width >= 32 else array
    numbers: npt.NDArray[Any] = plain.fill_null(0).to_numpy(zero_copy_only=False)
    return numbers.astype(np.int64, copy=False)


def _numbered(numbers: npt.NDArray[Any], target: pa.DataType, like: pa.Array) -> pa.Array:
    """An Arrow array of `numbers`, NULL where `like` is."""
    nulls = like.is_null().to_numpy(zero_copy_only=False) if like.null_count else None
    return pa.array(numbers, mask=nulls).view(target)


def _decimal_words(array: pa.Array) -> npt.NDArray[np.uint64]:
    """The low and the high word of each decimal's 128 bits."""
    words = np.frombuffer(array.buffers()[1], np.uint64)
    return words[2 * array.offset : 2 * (array.offset + len(array))].reshape(-1, 2)


def _decimals(type_: DecimalType, words: npt.NDArray[np.uint64]) -> pa.Array:
    return pa.Array.from_buffers(arrow_type(type_), len(words), [None, pa.py_buffer(words)])
