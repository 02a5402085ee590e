"""Transforms of whole Arrow arrays: what `transforms.apply` gives for each value, by Arrow and NumPy."""

from typing import Any, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.model.arrow_schema import arrow_type
from coalesce.model.conversions import integer_range, scaled
from coalesce.model.murmur3 import Words, murmur3_longs, murmur3_spans
from coalesce.model.transforms import (
    INT32_MAX,
    Bucket,
    Day,
    Hour,
    Identity,
    Integers,
    Month,
    Transform,
    Truncate,
    Void,
    Year,
    result_type,
    since_epoch,
)
from coalesce.model.types import BINARY, FLOATING, INTEGRAL_BITS, STRING, AtomicType, DecimalType
from coalesce.model.values import not_text


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
            buckets = (_hashes(source_type, array) & np.uint32(INT32_MAX)) % np.uint32(count)
            return _numbered(buckets.astype(np.int32), target, array)
        case Truncate(width):
            return _truncated_array(source_type, array, width)
        case Year() | Month() | Day() | Hour():
            counts = since_epoch(transform_, source_type, _integers(array))
            return _numbered(counts.astype(np.int32), target, array)
        case _:
            assert_never(transform_)


def _canonical_array(source_type: AtomicType, array: pa.Array) -> pa.Array:
    if source_type not in FLOATING:
        return array
    zero, nan = (pa.scalar(number, array.type) for number in (0.0, float("nan")))
    return pc.if_else(pc.is_nan(array), nan, pc.add(array, zero))


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
