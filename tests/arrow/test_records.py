"""Rows as Python's dicts: each value exactly, or a sentence."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from coalesce.arrow.engine import ArrowEngine
from coalesce.arrow.records import records_schema, records_table
from coalesce.errors import SchemaError
from coalesce.model.arrow_schema import schema_from_arrow
from coalesce.table.evolve import add_column
from tests.builders import make_snapshot, make_version

NOON = datetime(2026, 5, 17, 12, tzinfo=UTC)
INSIDE = pa.struct([("x", pa.int8()), ("y", pa.string())])


def taken(type_: pa.DataType, *values: object) -> list[object]:
    """What a column of the type holds of the values."""
    schema = schema_from_arrow(pa.schema([("c", type_)]))
    found: list[object] = records_table([{"c": value} for value in values], schema).column("c").to_pylist()
    return found


@pytest.mark.parametrize(
    ("type_", "given_", "expected"),
    [
        (pa.int8(), 127, 127),
        (pa.int64(), np.int16(5), 5),
        (pa.float64(), 3, 3.0),
        (pa.float32(), 0.5, 0.5),
        (pa.float32(), 0.1, float(np.float32(0.1))),  # the one value that is rounded
        (pa.float32(), float("inf"), float("inf")),
        (pa.decimal128(10, 2), 3, Decimal("3.00")),
        (pa.decimal128(10, 2), Decimal("1.5"), Decimal("1.50")),
        (pa.string(), "", ""),
        (pa.binary(), bytearray(b"x"), b"x"),
        (pa.bool_(), np.bool_(True), True),
        (pa.date32(), "2026-05-17", date(2026, 5, 17)),
        (pa.date32(), date(2026, 5, 17), date(2026, 5, 17)),
        (pa.timestamp("us", "UTC"), NOON, NOON),
        (pa.timestamp("us", "UTC"), "2026-05-17T14:00:00+02:00", NOON),
        (pa.timestamp("us"), NOON.replace(tzinfo=None), NOON.replace(tzinfo=None)),
        (pa.list_(pa.int32()), (1, None), [1, None]),
        (pa.list_(pa.date32()), ["2026-05-17"], [date(2026, 5, 17)]),
        (pa.map_(pa.string(), pa.int8()), {"a": 1}, [("a", 1)]),
        (pa.map_(pa.string(), pa.int8()), [("a", 1)], [("a", 1)]),
        (INSIDE, {"X": 1}, {"x": 1, "y": None}),
        (INSIDE, {}, {"x": None, "y": None}),
    ],
)  # fmt: skip
def test_values_take_the_columns_type(type_: pa.DataType, given_: object, expected: object) -> None:
    """Python's numbers have no width, and text may say a date; NULL is a value of every type."""
    assert taken(type_, given_, None) == [expected, None]


@pytest.mark.parametrize(
    ("type_", "given_", "reason"),
    [
        (pa.int8(), 128, "128 does not fit int8, which holds -128 to 127"),
        (pa.int8(), 1.0, "1.0 (float) is not a value of type int8"),
        (pa.int64(), True, "True (bool) is not a value of type int64"),
        (pa.float32(), 2**24 + 1, "is not exactly a float"),
        (pa.float32(), 1e300, "1e+300"),
        (pa.float64(), 2**53 + 1, "is not exactly a double"),
        (pa.decimal128(10, 2), Decimal("1.125"), "1.125 does not fit decimal(10,2) exactly"),
        (pa.decimal128(10, 2), 0.1, "0.1 (float) is not a value of type decimal(10,2)"),
        (pa.string(), b"a", "is not a value of type string"),
        (pa.binary(), "a", "is not a value of type binary"),
        (pa.date32(), NOON, "is a time, not a date"),
        (pa.date32(), 20_590, "20590 is a number, and date is wanted; give a date or a datetime"),
        (pa.timestamp("us"), 1_800_000_000, "is a number, and timestamp_ntz is wanted"),
        (pa.timestamp("us", "UTC"), NOON.replace(tzinfo=None), "time zone"),
        (pa.timestamp("us"), NOON, "time zone"),
        (pa.timestamp("us"), np.datetime64("NaT"), "NaT is not a value; None stands for NULL"),
        (pa.list_(pa.int8()), "ab", "c is a list, and 'ab' is not"),
        (pa.list_(pa.int8()), np.array(5), "c is a list, and array(5) is not"),
        (pa.map_(pa.string(), pa.int8()), np.array(5), "neither a dict nor a list of pairs"),
        (pa.list_(pa.int8()), [1, 300], "300 does not fit int8"),
        (pa.map_(pa.string(), pa.int8()), "ab", "neither a dict nor a list of pairs"),
        (pa.map_(pa.string(), pa.int8()), [("a",)], "no pair of a key and a value"),
        (pa.map_(pa.string(), pa.int8()), [(None, 1)], "a key that is NULL"),
        (INSIDE, [1], "c is a struct, and [1] is no dict"),
        (INSIDE, {"z": 1}, "there is no 'c.z'"),
        (INSIDE, {"x": 1, "X": 1}, "names differ only in case"),
    ],
)  # fmt: skip
def test_what_would_change_is_refused(type_: pa.DataType, given_: object, reason: str) -> None:
    """The sentence names the column, the row and the value."""
    with pytest.raises(SchemaError) as raised:
        taken(type_, None, given_)
    assert "the rows do not fit the table, and nothing was written:\n  - column 'c', row 1: " in str(raised.value)
    assert reason in str(raised.value)


def test_every_key_of_every_row_counts() -> None:
    """Not only those of the first; a row that lacks a key holds the column's default, or NULL."""
    version = add_column(make_version(pa.schema([("a", pa.int64()), ("b", pa.int64())])), "c", "int64", default=7)
    rows = records_table([{"a": 1}, {"B": 2, "c": None}, {"c": 3}], version.schema)
    assert rows.to_pydict() == {"a": [1, None, None], "B": [None, 2, None], "c": [7, None, 3]}


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([{"n": 1}, {"m": 2}], "there is no column 'm' in the table"),
        ([{"n": 1}, {"N": 2}], "column 'N' is there twice"),
        ([{1: 2}], "a row's keys are the names of columns, and 1 is no text"),
        ([{"n": 1}, 5], "rows come as record batches, tables or dicts, and 5 is none of these"),
    ],
)
def test_rows_that_are_none(tmp_path: Path, rows: list[Any], reason: str) -> None:
    """Each is one sentence."""
    with pytest.raises(SchemaError, match=reason):
        ArrowEngine().write(make_snapshot(tmp_path, make_version(pa.schema([("n", pa.int64())]))), rows)


def test_no_rows(tmp_path: Path) -> None:
    """An empty list is no rows of any columns."""
    snapshot = make_snapshot(tmp_path, make_version(pa.schema([("n", pa.int64())]), ["n"]))
    assert ArrowEngine().write(snapshot, []) == []
    assert ArrowEngine().write(snapshot, iter([])) == []


def test_a_schema_for_all_of_the_rows() -> None:
    """A new table takes its columns from the values of every row."""
    rows: list[dict[str, object]] = [{"a": 1, "b": None}, {"b": "x", "c": [1.5]}, {"a": None, "d": {"e": NOON}}]
    assert schema_from_arrow(records_schema(rows)).names == ("a", "b", "c", "d")
    assert [str(f.type) for f in records_schema(rows)] == [
        "int64",
        "string",
        "list<item: double>",
        "struct<e: timestamp[us, tz=UTC]>",
    ]


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        ([1, "a"], "int, str"),
        (["a", b"a"], "bytes, str"),
        ([1.5, True], "bool, float"),
        ([date(2026, 5, 17), NOON.replace(tzinfo=None)], "date, datetime without a time zone"),
        ([NOON, NOON.replace(tzinfo=None)], "datetime with a time zone, datetime without a time zone"),
        ([NOON, np.datetime64("2026-05-17T12", "us")], "datetime with a time zone, datetime64"),
        ([[date(2026, 5, 17)], [NOON]], "date, datetime with a time zone"),
        ([{"x": "a"}, {"x": b"a"}], "bytes, str"),
    ],
)  # fmt: skip
def test_mixtures_have_no_type(values: list[object], kinds: str) -> None:
    """What Arrow would make alike, or refuse in words of its own."""
    with pytest.raises(SchemaError) as raised:
        records_schema([{"c": value} for value in values])
    assert "no schema fits all of the rows:\n  - column 'c" in str(raised.value)
    assert f"mixes values of {kinds}; give it one type." in str(raised.value)


def test_values_that_no_column_can_hold() -> None:
    """They are named by their class."""
    with pytest.raises(SchemaError, match="column 'c' holds values of complex that Arrow has no type for"):
        records_schema([{"c": 1j}])
    with pytest.raises(SchemaError, match=r"duration.*which a table cannot hold"):
        ArrowEngine().infer_schema([{"c": timedelta(1)}])
