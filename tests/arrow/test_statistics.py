import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalesce.arrow.statistics import MAX_BOUND_LENGTH, column_statistics, lower_bound, statistics_of, upper_bound
from coalesce.model.arrow_schema import schema_from_arrow
from coalesce.model.datafile import ColumnStatistics
from coalesce.model.types import BINARY, BOOLEAN, DATE, DOUBLE, INT64, STRING, AtomicType, Value
from coalesce.model.values import column_of

LONG = "x" * MAX_BOUND_LENGTH


@pytest.mark.parametrize(
    ("type_", "values", "expected"),
    [
        (INT64, [3, None, -5], ColumnStatistics(lower=-5, upper=3, null_count=1)),
        (INT64, [None, None], ColumnStatistics(null_count=2)),
        (BOOLEAN, [True, False], ColumnStatistics(lower=False, upper=True, null_count=0)),
        (DATE, [2**31 - 1, -1], ColumnStatistics(lower=-1, upper=2**31 - 1, null_count=0)),
        (DOUBLE, [1.5, math.nan, None], ColumnStatistics(lower=1.5, upper=1.5, null_count=1, nan_count=1)),
        (DOUBLE, [math.nan], ColumnStatistics(null_count=0, nan_count=1)),
        (DOUBLE, [-math.inf, math.inf], ColumnStatistics(lower=-math.inf, upper=math.inf, null_count=0, nan_count=0)),
        (DOUBLE, [-0.0], ColumnStatistics(lower=0.0, upper=0.0, null_count=0, nan_count=0)),
        (STRING, ["", None, "🙂", "\uffff"], ColumnStatistics(lower="", upper="🙂", null_count=1)),
        (STRING, [LONG + "y"], ColumnStatistics(lower=LONG, upper=LONG[:-1] + "y", null_count=0)),
        (STRING, [LONG], ColumnStatistics(lower=LONG, upper=LONG, null_count=0)),
        (STRING, ["\U0010ffff" * 40], ColumnStatistics(lower="\U0010ffff" * 32, upper=None, null_count=0)),
        (BINARY, [b"\xff" * 40], ColumnStatistics(lower=b"\xff" * 32, upper=None, null_count=0)),
        (BINARY, [b"a\xff" + b"\xff" * 40], ColumnStatistics(lower=b"a" + b"\xff" * 31, upper=b"b", null_count=0)),
    ],
)  # fmt: skip
def test_column_statistics(type_: AtomicType, values: list[Value], expected: ColumnStatistics) -> None:
    """Bounds over what is neither NULL nor NaN; long ones are cut, upwards at the upper end."""
    assert column_statistics(type_, pa.chunked_array([column_of(type_, values)])) == expected


@given(st.text(min_size=MAX_BOUND_LENGTH, max_size=40) | st.binary(min_size=MAX_BOUND_LENGTH, max_size=40))
def test_cut_bounds_contain_the_value(value: str | bytes) -> None:
    """A cut bound is never on the wrong side, is short, and text stays text that can be encoded."""
    lower, upper = lower_bound(value), upper_bound(value)
    assert isinstance(lower, str | bytes)
    assert len(lower) <= MAX_BOUND_LENGTH
    assert lower <= value  # type: ignore[operator]
    if upper is not None:
        assert isinstance(upper, str | bytes)
        assert len(upper) <= MAX_BOUND_LENGTH
        assert upper >= value  # type: ignore[operator]
        assert isinstance(upper, bytes) or upper.encode()


def test_every_atomic_column_by_id() -> None:
    """Statistics are kept by column id; nested columns have none."""
    rows = pa.table({"a": [1], "l": [[1]], "b": ["x"]})
    schema = schema_from_arrow(rows.schema)
    found = statistics_of(rows, schema)
    assert {schema.by_id(i).name: s.lower for i, s in found.items()} == {"a": 1, "b": "x"}  # type: ignore[union-attr]
