"""How many bytes rows take once they are decoded.

Encodings make much of little: a batch of a few bytes may stand for gigabytes, and a slice of a dictionary, or of views,
claims all of what it may refer to. Who counts memory has to count what rows become.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as at

from coalesce.arrow.reshape import encoded, in_memory

Bytes = npt.NDArray[np.int64]

_LISTS = (at.is_list, at.is_large_list, at.is_map)
_OTHER_LISTS = (at.is_fixed_size_list, at.is_list_view, at.is_large_list_view)
_VIEWS = (at.is_string_view, at.is_binary_view)
_TEXTS = (at.is_string, at.is_binary, at.is_large_string, at.is_large_binary)
# What a list or a text takes beside its values.
_OFFSET = 4


def row_bytes(rows: pa.Table) -> Bytes:
    """About how many bytes each of the rows takes in the table's own types."""
    total = np.zeros(rows.num_rows, np.int64)
    for column in rows.columns:
        start = 0
        for chunk in column.chunks:
            total[start : start + len(chunk)] += _sizes(chunk)
            start += len(chunk)
    return total


def _sizes(array: pa.Array) -> Bytes:
    kind = array.type
    if len(array) == 0:  # it need not have any buffers
        return np.zeros(0, np.int64)
    if isinstance(array, pa.ExtensionArray):
        return _sizes(array.storage)
    if at.is_dictionary(kind) or at.is_run_end_encoded(kind):
        values, indices = encoded(array)
        places = np.asarray(pc.fill_null(indices, 0)).astype(np.int64)
        return _sizes(values)[places] if len(values) else np.zeros(len(array), np.int64)
    if at.is_struct(kind):
        return sum((_sizes(child) for child in array.flatten()), np.zeros(len(array), np.int64))
    if any(is_view(kind) for is_view in _VIEWS):
        return _view_lengths(array) + _OFFSET
    if any(is_text(kind) for is_text in _TEXTS):
        return _lengths(pc.binary_length(array)) + _OFFSET
    if any(is_list(kind) for is_list in _LISTS):
        return _list_sizes(array)
    if any(is_list(kind) for is_list in _OTHER_LISTS):
        return _alike(array, int(_sizes(array.flatten()).sum()))
    if kind.num_fields:  # no table can hold it
        return _alike(array, in_memory(array))
    return np.full(len(array), 0 if at.is_null(kind) else -(-kind.bit_width // 8), np.int64)


def _alike(array: pa.Array, total: int) -> Bytes:
    return np.full(len(array), -(-total // max(len(array), 1)), np.int64)


def _lengths(lengths: pa.Array) -> Bytes:
    return np.asarray(pc.fill_null(lengths, 0)).astype(np.int64)


def _view_lengths(array: pa.Array) -> Bytes:
    """Each view begins with the length of what it shows; Arrow has no function for that."""
    views = np.frombuffer(array.buffers()[1], np.int32, 4 * len(array), 16 * array.offset)
    return np.asarray(views[::4]).astype(np.int64)


def _list_sizes(array: pa.Array) -> Bytes:
    """What the elements take; between two offsets lie those of one list, of one that is NULL too."""
    offsets = np.asarray(array.offsets).astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    elements = [array.keys, array.items] if at.is_map(array.type) else [array.values]
    sizes = sum(_sizes(part.slice(first, last - first)) for part in elements)
    ends = np.concatenate(([0], np.cumsum(sizes)))
    return ends[offsets[1:] - first] - ends[offsets[:-1] - first] + _OFFSET
