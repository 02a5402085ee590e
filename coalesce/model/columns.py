"""Arrow columns as NumPy arrays and back, by their buffers.

pyarrow's own conversions, and its functions that take a Python value, import pandas wherever it is installed: a
quarter of a second in a process that only wants a plan. These need neither, copy nothing where nothing has to be
copied, and do not look at what lies under a NULL.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mask = npt.NDArray[np.bool_]

_BY_WIDTH: Final[dict[int, type[np.signedinteger[Any]]]] = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
_FLOATS: Final[dict[pa.DataType, type[np.floating[Any]]]] = {pa.float32(): np.float32, pa.float64(): np.float64}
_TO_ARROW: Final[dict[np.dtype[Any], pa.DataType]] = {
    np.dtype(np.int8): pa.int8(),
    np.dtype(np.int16): pa.int16(),
    np.dtype(np.int32): pa.int32(),
    np.dtype(np.int64): pa.int64(),
    np.dtype(np.uint64): pa.uint64(),
    np.dtype(np.float32): pa.float32(),
    np.dtype(np.float64): pa.float64(),
}


def whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The column in one piece; `combine_chunks` would copy even a column that is."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def numbers(column: pa.Array | pa.ChunkedArray, null: int | float | None = None) -> npt.NDArray[Any]:
    """Integers, floats, days or microseconds, in the width they have; `null`, if given, stands where NULL was.

    Otherwise a NULL place holds anything. The array may share the column's memory: it is not to be changed. Unsigned
    numbers, which only positions are here, come as signed ones.
    """
    array = whole(column)
    type_ = _FLOATS.get(array.type) or _BY_WIDTH[array.type.bit_width]
    values = _buffer(array, 1, type_)
    if null is None or array.null_count == 0:
        return values
    return np.where(is_null(array), values.dtype.type(null), values)


def flags(column: pa.Array | pa.ChunkedArray) -> Mask:
    """Booleans; NULL is False."""
    array = whole(column)
    values = _bits(array, 1)
    return values & ~is_null(array) if array.null_count else values


def is_null(column: pa.Array | pa.ChunkedArray) -> Mask:
    """Where the column is NULL; for a list or a struct, where it is NULL itself."""
    array = whole(column)
    return ~_bits(array, 0) if array.null_count else np.zeros(len(array), np.bool_)


def column_from(values: npt.NDArray[Any], nulls: Mask | None = None) -> pa.Array:
    """An Arrow array of numbers or booleans, NULL where `nulls` says so. It shares the memory of numbers."""
    valid = None if nulls is None else _packed(~nulls)
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(values), [valid, _packed(values)])
    dense = np.ascontiguousarray(values)
    return pa.Array.from_buffers(_TO_ARROW[dense.dtype], len(dense), [valid, pa.py_buffer(dense)])


def _buffer(array: pa.Array, number: int, type_: type[np.generic]) -> npt.NDArray[Any]:
    buffer = array.buffers()[number]
    if buffer is None or not len(array):
        return np.zeros(len(array), type_)  # every value is NULL, or there is none
    return np.frombuffer(buffer, type_, len(array), array.offset * np.dtype(type_).itemsize)


def _bits(array: pa.Array, number: int) -> Mask:
    buffer = array.buffers()[number]
    if buffer is None or not len(array):
        return np.zeros(len(array), np.bool_)
    first, end = array.offset, array.offset + len(array)
    packed = np.frombuffer(buffer, np.uint8, (end + 7) // 8 - first // 8, first // 8)
    return np.unpackbits(packed, bitorder="little")[first % 8 : first % 8 + len(array)].view(np.bool_)


def _packed(mask: Mask) -> pa.Buffer:
    return pa.py_buffer(np.packbits(mask, bitorder="little"))
