import json
import math
import struct
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal, localcontext

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coalesce.errors import SchemaError
from coalesce.model.arrow_schema import arrow_type
from coalesce.model.conversions import integer_range, scaled, unscaled
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
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
    DecimalType,
    Value,
)
from coalesce.model.values import (
    column_of,
    display,
    from_json,
    from_python,
    order_key,
    to_json,
    to_python,
    values_of,
)
from tests.strategies import AWKWARD_STRINGS, decimal_types, types_with_columns, types_with_values, values
from tests.support.examples import examples

NINES = Decimal("9" * 38)


def same(left: Value, right: Value) -> bool:
    """Equal, of one type and, for floats, of one sign; any NaN is the same NaN."""
    if isinstance(left, float) and isinstance(right, float):
        return (math.isnan(left) and math.isnan(right)) or struct.pack("<d", left) == struct.pack("<d", right)
    return left == right and type(left) is type(right)


@given(types_with_values())
@settings(max_examples=examples(150))
def test_json_round_trips(typed: tuple[AtomicType, Value]) -> None:
    """Every value of every type comes back from real, strict JSON text as it was, -0.0 and 38 digits included."""
    type_, value = typed
    text = json.dumps(to_json(type_, value), allow_nan=False)
    assert same(from_json(type_, json.loads(text)), value)


@given(types_with_columns())
@settings(max_examples=examples(150))
def test_arrow_columns_round_trip(typed: tuple[AtomicType, list[Value]]) -> None:
    """A column of values comes back as it was, whole, sliced or in chunks, and has the model's Arrow type."""
    type_, column = typed
    array = column_of(type_, column)
    assert array.type == arrow_type(type_)
    array.validate(full=True)
    for form, expected in (
        (array, column),
        (array.slice(1), column[1:]),
        (pa.chunked_array([array, array]), column + column),
    ):
        actual = values_of(type_, form)
        assert len(actual) == len(expected)
        assert all(same(a, e) for a, e in zip(actual, expected, strict=True))


@given(types_with_values())
@settings(max_examples=examples(150))
def test_python_values_round_trip(typed: tuple[AtomicType, Value]) -> None:
    """What `to_python` gives, `from_python` takes back exactly: also the integers it had to leave as they were."""
    type_, value = typed
    assert same(from_python(type_, to_python(type_, value)), value)


@given(st.data())
@settings(max_examples=examples(100))
def test_displayed_dates_and_timestamps_read_back(data: st.DataObject) -> None:
    """The text of any date or timestamp, before year 1 and after 9999 too, is text `from_python` reads."""
    type_ = data.draw(st.sampled_from([DATE, TIMESTAMP, TIMESTAMP_NTZ]))
    value = data.draw(values(type_, nulls=False))
    assert from_python(type_, display(type_, value)) == value


@given(st.integers(-719_162, 2_932_896), st.integers(0, 86_399_999_999))
def test_displayed_dates_and_timestamps_are_those_of_python(day: int, micros: int) -> None:
    """Within Python's years, the text is Python's own ISO form."""
    assert display(DATE, day) == (date(1970, 1, 1) + timedelta(days=day)).isoformat()
    moment = datetime(1970, 1, 1) + timedelta(days=day, microseconds=micros)
    shown = display(TIMESTAMP_NTZ, day * 86_400_000_000 + micros)
    assert datetime.fromisoformat(shown) == moment
    assert display(TIMESTAMP, day * 86_400_000_000 + micros) == shown + "Z"


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        (DATE, 0, date(1970, 1, 1)),
        (DATE, -719_163, -719_163),
        (TIMESTAMP, -1, datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
        (TIMESTAMP_NTZ, 1, datetime(1970, 1, 1, 0, 0, 0, 1)),
        (TIMESTAMP, 2**63 - 1, 2**63 - 1),
        (INT32, 5, 5),
        (DATE, None, None),
    ],
)
def test_to_python_gives_dates_where_python_has_them(type_: AtomicType, value: Value, expected: object) -> None:
    """Timestamps are aware, those without zone naive; outside the years 1 to 9999 the integer stays."""
    actual = to_python(type_, value)
    assert actual == expected
    assert type(actual) is type(expected)


@pytest.mark.parametrize(
    ("type_", "given_value", "expected"),
    [
        (DATE, date(2026, 5, 17), 20_590),
        (DATE, "2026-05-17", 20_590),
        (DATE, datetime(2026, 5, 17), 20_590),
        (DATE, 20_590, 20_590),
        (DATE, "2024-02-29", 19_782),
        (TIMESTAMP, datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), 0),
        (TIMESTAMP, "1970-01-01T02:00:00+02:00", 0),
        (TIMESTAMP, "1969-12-31 23:59:59.5Z", -500_000),
        (TIMESTAMP, "1970-01-01Z", 0),
        (TIMESTAMP_NTZ, "1970-01-01 00:01", 60_000_000),
        (TIMESTAMP_NTZ, date(1970, 1, 2), 86_400_000_000),
        (TIMESTAMP_NTZ, datetime(1970, 1, 1, 0, 0, 1), 1_000_000),
        (DOUBLE, 3, 3.0),
        (FLOAT, 0.1, 0.10000000149011612),
        (DecimalType(10, 2), 3, Decimal("3.00")),
        (DecimalType(10, 2), "3.5", Decimal("3.50")),
        (DecimalType(10, 2), Decimal("1E+2"), Decimal("100.00")),
        (DecimalType(38, 0), NINES, NINES),
        (STRING, "🙂", "🙂"),
        (BINARY, bytearray(b"\0"), b"\0"),
        (BOOLEAN, np.bool_(True), True),
        (INT64, np.int64(7), 7),
    ],
)
def test_from_python_takes_what_people_write(type_: AtomicType, given_value: object, expected: Value) -> None:
    """The forms a program or a person would use, each exactly."""
    assert same(from_python(type_, given_value), expected)


@pytest.mark.parametrize(
    ("type_", "given_value"),
    [
        (INT32, True),
        (INT32, 1.0),
        (INT32, "1"),
        (INT32, 2**31),
        (INT8, -129),
        (BOOLEAN, 1),
        (DOUBLE, 2**53 + 1),
        (DOUBLE, 10**400),
        (DOUBLE, True),
        (DOUBLE, "1.0"),
        (FLOAT, 2**24 + 1),
        (FLOAT, 1e39),
        (DecimalType(4, 2), Decimal("0.001")),
        (DecimalType(4, 2), 100),
        (DecimalType(4, 2), Decimal("NaN")),
        (DecimalType(4, 2), Decimal("Infinity")),
        (DecimalType(4, 2), "1_0"),
        (DecimalType(4, 2), "1e999999"),
        (DecimalType(4, 2), 1.5),
        (DecimalType(4, 2), True),
        (STRING, b"a"),
        (STRING, "\ud800"),
        (BINARY, "a"),
        (DATE, "2026-02-30"),
        (DATE, "2026-13-01"),
        (DATE, "2026-00-01"),
        (DATE, "17.05.2026"),
        (DATE, datetime(2026, 5, 17, 1)),
        (DATE, datetime(2026, 5, 17, tzinfo=UTC)),
        (DATE, 2**31),
        (DATE, True),
        (TIMESTAMP, datetime(2026, 5, 17)),
        (TIMESTAMP, date(2026, 5, 17)),
        (TIMESTAMP, "2026-05-17T00:00:00"),
        (TIMESTAMP, "2026-05-17T24:00:00Z"),
        (TIMESTAMP, "2026-05-17T00:00:00.1234567Z"),
        (TIMESTAMP, "+300000-01-01Z"),
        (TIMESTAMP_NTZ, "2026-05-17T00:00:00Z"),
        (TIMESTAMP_NTZ, datetime(2026, 5, 17, tzinfo=UTC)),
    ],
)
def test_from_python_refuses_what_does_not_fit(type_: AtomicType, given_value: object) -> None:
    """Nothing is guessed, rounded or wrapped: a boolean is no number, a wall clock no instant."""
    with pytest.raises(SchemaError):
        from_python(type_, given_value)


def test_a_refusal_names_the_value_and_the_type() -> None:
    """The message has both, so that the reader need not look for either."""
    with pytest.raises(SchemaError, match=r"^300 does not fit int8, which holds -128 to 127\.$"):
        from_python(INT8, 300)
    with pytest.raises(SchemaError, match=r"^'x' \(str\) is not a value of type int64\.$"):
        from_python(INT64, "x")


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        (DOUBLE, math.nan, "NaN"),
        (DOUBLE, math.inf, "Infinity"),
        (DOUBLE, -math.inf, "-Infinity"),
        (DecimalType(10, 2), Decimal("-3.5"), "-3.50"),
        (DecimalType(38, 38), scaled(DecimalType(38, 38), 1), "0." + "0" * 37 + "1"),
        (DecimalType(5, 0), Decimal("1E+2"), "100"),
        (BINARY, b"\0\xff", "AP8="),
        (TIMESTAMP, -1, -1),
        (BOOLEAN, True, True),
        (STRING, "NaN", "NaN"),
        (INT32, None, None),
    ],
)
def test_json_form_is_as_the_format_says(type_: AtomicType, value: Value, expected: object) -> None:
    """The exact JSON of each kind of value: other readers of the format rely on it."""
    actual = to_json(type_, value)
    assert actual == expected
    assert type(actual) is type(expected)


@pytest.mark.parametrize(
    ("type_", "document"),
    [
        (BOOLEAN, 0),
        (BOOLEAN, "true"),
        (INT32, True),
        (INT32, 1.0),
        (INT32, "1"),
        (INT16, 2**15),
        (DATE, "2026-05-17"),
        (DATE, 2**31),
        (TIMESTAMP, 2**63),
        (DOUBLE, "1.0"),
        (DOUBLE, "nan"),
        (DOUBLE, math.inf),
        (DOUBLE, math.nan),
        (DOUBLE, True),
        (FLOAT, 0.1),
        (FLOAT, 1e300),
        (DecimalType(4, 2), "1.5"),
        (DecimalType(4, 2), "01.50"),
        (DecimalType(4, 2), "+1.50"),
        (DecimalType(4, 2), "-0.00"),
        (DecimalType(4, 2), "100.00"),
        (DecimalType(4, 2), 1.5),
        (DecimalType(4, 2), 1),
        (STRING, 1),
        (STRING, "\udc00"),
        (BINARY, "AP8"),
        (BINARY, "A P8="),
        (BINARY, "AP9="),  # bits that no byte uses
        (BINARY, "é"),
        (INT32, [1]),
        (STRING, {}),
    ],
)
def test_json_of_another_form_is_refused(type_: AtomicType, document: object) -> None:
    """Only the one form that is written is read: a damaged version file is found, not interpreted."""
    with pytest.raises(SchemaError):
        from_json(type_, document)


def test_whole_numbers_are_read_as_floats() -> None:
    """Other writers of JSON drop `.0`; the value is the same."""
    assert same(from_json(DOUBLE, 1), 1.0)


@pytest.mark.parametrize("type_", [FLOAT, DOUBLE])
def test_order_of_floats_is_that_of_spark(type_: AtomicType) -> None:
    """NaN is above infinity and equal to NaN; -0.0 equals 0.0."""
    ordered = [-math.inf, -1.0, 0.0, 1.0, math.inf, math.nan]
    keys = [order_key(type_, value) for value in ordered]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)
    assert order_key(type_, math.nan) == order_key(type_, -math.nan)
    assert order_key(type_, -0.0) == order_key(type_, 0.0)


@given(st.text(), st.text())
def test_order_of_text_is_that_of_its_utf8_bytes(left: str, right: str) -> None:
    """Emoji sort above U+FFFF, as in Spark and unlike in UTF-16."""
    assert (order_key(STRING, left) < order_key(STRING, right)) == (left.encode() < right.encode())


@given(st.data())
def test_order_is_total_for_every_type(data: st.DataObject) -> None:
    """Any two values of a type compare, and sorting by the key is the same as Arrow's sort, NaN aside."""
    type_, column = data.draw(types_with_columns(nulls=False))
    keys = sorted(order_key(type_, value) for value in column)
    if type_ not in FLOATING and type_ != BOOLEAN:
        array = column_of(type_, column)
        in_arrow = values_of(type_, array.take(pc.array_sort_indices(array)))
        assert [order_key(type_, value) for value in in_arrow] == keys


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        (INT32, None, "NULL"),
        (STRING, "NULL", "'NULL'"),
        (STRING, "", "''"),
        (STRING, "it's a \\ \n\0\x01", "'it\\'s a \\\\ \\n\\0\\u0001'"),
        (STRING, "🙂 é", "'🙂 é'"),
        (BINARY, b"\0\xff", "X'00FF'"),
        (BOOLEAN, True, "true"),
        (INT64, -5, "-5"),
        (DOUBLE, math.nan, "NaN"),
        (DOUBLE, -0.0, "-0.0"),
        (DecimalType(10, 2), Decimal("3.5"), "3.50"),
        (DATE, 20_590, "2026-05-17"),
        (DATE, -719_529, "-0001-12-31"),
        (DATE, 2_932_897, "+10000-01-01"),
        (TIMESTAMP, 1_500_000, "1970-01-01T00:00:01.5Z"),
        (TIMESTAMP_NTZ, 0, "1970-01-01T00:00:00"),
    ],
)
def test_display_is_readable_and_unambiguous(type_: AtomicType, value: Value, expected: str) -> None:
    """NULL and 'NULL' look different, control characters do not reach the terminal."""
    assert display(type_, value) == expected


def test_awkward_strings_display_differently() -> None:
    """No two of them can be mistaken for each other or for NULL."""
    shown = {display(STRING, text) for text in (*AWKWARD_STRINGS, None)}
    assert len(shown) == len(AWKWARD_STRINGS) + 1


@given(st.data())
def test_unscaled_and_scaled_are_inverse(data: st.DataObject) -> None:
    """38 digits survive, whatever precision the program's own decimal context has."""
    type_ = data.draw(decimal_types())
    least, greatest = integer_range(type_)
    digits = data.draw(st.integers(least, greatest))
    with localcontext(prec=5):
        value = scaled(type_, digits)
        assert unscaled(type_, value) == digits
        assert same(from_python(type_, value), value)
        assert same(from_json(type_, to_json(type_, value)), value)


def test_decimals_have_no_negative_zero() -> None:
    """-0.00 is 0.00 from the start, so that no listing or JSON ever shows two zeros."""
    assert str(from_python(DecimalType(4, 2), Decimal("-0.00"))) == "0.00"
    assert display(DecimalType(4, 2), Decimal("-0.00")) == to_json(DecimalType(4, 2), Decimal("-0.00")) == "0.00"


@pytest.mark.parametrize(("type_", "value"), [(INT8, 300), (STRING, "\ud800"), (DecimalType(3, 0), Decimal(1000))])
def test_a_column_of_values_that_do_not_fit_is_refused(type_: AtomicType, value: Value) -> None:
    """Arrow's own errors come out as the library's."""
    with pytest.raises(SchemaError, match=str(type_).replace("(", r"\(").replace(")", r"\)")):
        column_of(type_, [value])


def test_values_are_read_from_other_arrow_types() -> None:
    """Dictionaries, large strings and coarser timestamps hold the same values."""
    assert values_of(STRING, pa.array(["a", None, "a"]).dictionary_encode()) == ["a", None, "a"]
    assert values_of(STRING, pa.array(["a"], pa.large_string())) == ["a"]
    assert values_of(TIMESTAMP, pa.array([1], pa.timestamp("s", "Europe/Paris"))) == [1_000_000]
    assert values_of(INT64, pa.array([1], pa.int8())) == [1]
