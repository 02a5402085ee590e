"""Memory is counted by what rows become when they are decoded."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from coalesce.arrow.sizes import row_bytes
from tests.arrow.generated import Generated, tables

TEXTS = pa.array(["", "abc", None, "long enough not to be inline"])
ENDS = pa.array([2, 3, 5], pa.int32())

# Arrays, and how many bytes each of their elements takes; a text or a list takes four more than what is in it.
COUNTED: dict[str, tuple[pa.Array, list[int]]] = {
    "numbers": (pa.array([1, None], pa.int16()), [2, 2]),
    "flags": (pa.array([True, None]), [1, 1]),
    "nothing": (pa.nulls(2), [0, 0]),
    "texts": (TEXTS, [4, 7, 4, 32]),
    "a slice of texts": (TEXTS.slice(1, 2), [7, 4]),
    "large texts": (TEXTS.cast(pa.large_string()), [4, 7, 4, 32]),
    "views": (TEXTS.cast(pa.string_view()), [4, 7, 4, 32]),
    "a slice of views": (TEXTS.cast(pa.string_view()).slice(3), [32]),
    "no views": (TEXTS.cast(pa.string_view()).slice(4), []),
    "dictionary": (pa.DictionaryArray.from_arrays([1, 1, 3], TEXTS), [7, 7, 32]),
    "a slice of a dictionary": (pa.DictionaryArray.from_arrays([1, 1, 3], TEXTS).slice(2), [32]),
    "dictionary of views": (pa.DictionaryArray.from_arrays([1, 3], TEXTS.cast(pa.string_view())), [7, 32]),
    "dictionary of nothing": (pa.array([None, None], pa.dictionary(pa.int8(), pa.string())), [0, 0]),
    "runs": (pa.RunEndEncodedArray.from_arrays(ENDS, pa.array(["a", "", "bc"])), [5, 5, 4, 6, 6]),
    "a slice of runs": (pa.RunEndEncodedArray.from_arrays(ENDS, pa.array(["a", "", "bc"])).slice(1, 2), [5, 4]),
    "lists": (pa.array([[1, 2], None, [], [3]], pa.list_(pa.int32())), [12, 4, 4, 8]),
    "a slice of lists": (pa.array([[1, 2], None, [], [3]], pa.list_(pa.int32())).slice(2), [4, 8]),
    "no lists": (pa.array([[]], pa.list_(pa.list_(pa.int32()))).slice(1), []),
    "lists of no lists": (pa.array([[]], pa.list_(pa.list_(pa.string_view()))), [4]),
    "arrays": (pa.array([[1, 2], [3, 4]], pa.list_(pa.int32(), 2)), [8, 8]),
    "maps": (pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int32())), [13, 4]),
    "structs": (pa.array([{"x": 1, "y": "a"}, None], pa.struct([("x", pa.int8()), ("y", pa.string())])), [6, 5]),
}


@pytest.mark.parametrize("kind", COUNTED)
def test_each_row_is_counted(kind: str) -> None:
    """Of every kind of column, also of a part of it."""
    array, expected = COUNTED[kind]
    assert row_bytes(pa.table({"x": array})).tolist() == expected


def test_columns_and_chunks_are_added() -> None:
    """A row is all of its columns, whatever chunks they have."""
    rows = pa.table({"a": pa.chunked_array([["x"], ["yy"]]), "b": [1, 2]})
    assert row_bytes(rows).tolist() == [13, 14]


@given(tables())
def test_any_rows_are_counted(generated: Generated) -> None:
    """For every type a table holds: about what Arrow counts, which has bits for NULLs as well."""
    counted = int(row_bytes(generated.rows).sum())
    # A flag takes a byte here, and a list of bytes that are none has its offset.
    assert counted >= generated.rows.nbytes // 8 - 64 * generated.rows.num_columns
    assert counted <= 8 * generated.rows.nbytes + 64 * generated.rows.num_columns
    assert np.array_equal(row_bytes(generated.rows.slice(1)), row_bytes(generated.rows)[1:])
