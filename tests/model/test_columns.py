"""Columns through their buffers are what pyarrow makes of them by its own, slower ways."""

import subprocess
import sys

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalesce.model.arrow_schema import arrow_type
from coalesce.model.columns import column_from, flags, is_null, numbers, whole
from coalesce.model.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
    PrimitiveType,
    Value,
)
from coalesce.model.values import column_of
from tests import strategies

NUMBERS: list[PrimitiveType] = [INT8, INT16, INT32, INT64, FLOAT, DOUBLE, DATE, TIMESTAMP, TIMESTAMP_NTZ]


@st.composite
def slices(draw: st.DrawFn, *types: AtomicType) -> tuple[AtomicType, list[Value], pa.Array]:
    """A part of a column, so that its buffers begin before it and end after it."""
    type_ = draw(st.sampled_from(types))
    values = draw(strategies.columns(type_, max_size=40))
    start = draw(st.integers(0, len(values)))
    end = draw(st.integers(start, len(values)))
    return type_, values[start:end], column_of(type_, values).slice(start, end - start)


@given(slices(*NUMBERS))
def test_numbers_are_the_values(given_: tuple[AtomicType, list[Value], pa.Array]) -> None:
    """Wherever the slice begins; the number asked for stands where NULL was."""
    _, values, column = given_
    found = numbers(column, null=7)
    np.testing.assert_array_equal(found, np.array([7 if v is None else v for v in values], found.dtype))
    known = [i for i, v in enumerate(values) if v is not None]
    np.testing.assert_array_equal(numbers(column)[known], found[known])


@given(slices(BOOLEAN))
def test_flags_are_true_only_where_it_says_so(given_: tuple[AtomicType, list[Value], pa.Array]) -> None:
    """NULL is False, at any bit of a byte."""
    _, values, column = given_
    assert flags(column).tolist() == [v is True for v in values]


@given(slices(*NUMBERS, BOOLEAN, STRING))
def test_nulls_are_where_they_are(given_: tuple[AtomicType, list[Value], pa.Array]) -> None:
    """Of a column, of a column in pieces, and of structs and lists around it."""
    _, values, column = given_
    expected = [v is None for v in values]
    assert is_null(column).tolist() == expected
    assert is_null(pa.chunked_array([column, column])).tolist() == expected * 2
    structs = pa.StructArray.from_arrays([column], ["inside"])
    assert not is_null(structs).any()
    lists = pa.array([None if missing else [1] for missing in expected], pa.list_(pa.int8()))
    assert is_null(lists).tolist() == expected


@pytest.mark.parametrize("type_", [*NUMBERS, BOOLEAN, STRING], ids=str)
def test_columns_of_nothing(type_: AtomicType) -> None:
    """A column that is all NULL may have no values at all, and one without chunks has no buffers."""
    nulls = pa.nulls(3, arrow_type(type_))
    assert is_null(nulls).all()
    empty = pa.chunked_array([], arrow_type(type_))
    assert len(is_null(empty)) == 0
    if type_ == BOOLEAN:
        assert not flags(nulls).any()
        assert len(flags(empty)) == 0
    elif type_ != STRING:
        assert numbers(nulls, null=5).tolist() == [5, 5, 5]
        assert len(numbers(empty)) == 0


@given(
    st.sampled_from([np.int8, np.int16, np.int32, np.int64, np.float32, np.float64, np.bool_]),
    st.lists(st.tuples(st.integers(0, 1), st.booleans()), max_size=40),
    st.integers(1, 3),
)
def test_arrays_become_columns(type_: type[np.generic], drawn: list[tuple[int, bool]], step: int) -> None:
    """With and without NULLs, from arrays that are not contiguous too; what comes back is what went in."""
    values: npt.NDArray[np.generic] = np.array([v for v, _ in drawn], type_)[::step]
    nulls = np.array([n for _, n in drawn], np.bool_)[::step]
    expected = [None if n else v for v, n in zip(values.tolist(), nulls.tolist(), strict=True)]
    column = column_from(values, nulls)
    column.validate(full=True)
    assert column.to_pylist() == expected
    assert column_from(values).to_pylist() == values.tolist()


def test_a_column_in_one_piece_is_not_copied() -> None:
    """Its only chunk is the column; several are put together."""
    column = column_from(np.arange(10))
    assert whole(pa.chunked_array([column])).buffers()[1].address == column.buffers()[1].address
    assert whole(column) is column
    assert whole(pa.chunked_array([column.slice(0, 4), column.slice(4)])).equals(column)


def test_no_conversion_imports_pandas() -> None:
    """Which is what they are for: pyarrow's own would, if it is installed."""
    program = """
import sys
import numpy as np
import pyarrow as pa
from coalesce.model.columns import column_from, flags, is_null, numbers
column = column_from(np.arange(3), np.array([True, False, False]))
assert numbers(column, null=9).tolist() == [9, 1, 2]
assert is_null(column).tolist() == [True, False, False]
assert flags(column_from(np.array([True, False]))).tolist() == [True, False]
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
