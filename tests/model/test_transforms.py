import struct
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from pyiceberg import transforms as iceberg
from pyiceberg import types as iceberg_types

from coalesce.errors import SpecError
from coalesce.model.conversions import integer_range, scaled, unscaled
from coalesce.model.transform_arrays import apply_array
from coalesce.model.transforms import (
    Bucket,
    Day,
    Hour,
    Identity,
    Month,
    Transform,
    Truncate,
    Void,
    Year,
    apply,
    result_type,
    source_bounds,
    transform,
)
from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT8,
    INT16,
    INT32,
    INT64,
    PRIMITIVES,
    STRING,
    TEMPORAL,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
    DecimalType,
    Value,
)
from coalesce.model.values import column_of, order_key, values_of
from tests.strategies import atomic_types, columns, decimal_types, values
from tests.support.examples import examples

INT32_MAX = 2**31 - 1
NOVEMBER_16 = 17_486  # 2017-11-16 in days
MICROS_PER_DAY = 86_400_000_000

INTEGERS = (INT8, INT16, INT32, INT64)
INSTANTS = (TIMESTAMP, TIMESTAMP_NTZ)

ICEBERG_TYPES: dict[AtomicType, iceberg_types.IcebergType] = {
    BOOLEAN: iceberg_types.BooleanType(),
    INT8: iceberg_types.IntegerType(),
    INT16: iceberg_types.IntegerType(),
    INT32: iceberg_types.IntegerType(),
    INT64: iceberg_types.LongType(),
    FLOAT: iceberg_types.FloatType(),
    DOUBLE: iceberg_types.DoubleType(),
    STRING: iceberg_types.StringType(),
    BINARY: iceberg_types.BinaryType(),
    DATE: iceberg_types.DateType(),
    TIMESTAMP: iceberg_types.TimestamptzType(),
    TIMESTAMP_NTZ: iceberg_types.TimestampType(),
}


def parameters() -> st.SearchStrategy[int]:
    """Bucket counts and truncation widths, the largest among them."""
    return st.sampled_from([1, 2, 3, 10, 16, 64, 1000, INT32_MAX - 1, INT32_MAX]) | st.integers(1, INT32_MAX)


def transforms() -> st.SearchStrategy[Transform]:
    """Every transform."""
    plain: list[Transform] = [Identity(), Year(), Month(), Day(), Hour(), Void()]
    return st.one_of(st.sampled_from(plain), parameters().map(Bucket), parameters().map(Truncate))


def sources(transform_: Transform) -> st.SearchStrategy[AtomicType]:
    """The source types the transform can take."""
    match transform_:
        case Identity() | Void():
            return atomic_types()
        case Bucket():
            return st.sampled_from([*INTEGERS, DATE, *INSTANTS, STRING, BINARY]) | decimal_types()
        case Truncate():
            return st.sampled_from([*INTEGERS, STRING, BINARY]) | decimal_types()
        case Year() | Month() | Day():
            return st.sampled_from([DATE, *INSTANTS])
        case Hour():
            return st.sampled_from(INSTANTS)


def transforms_with_types() -> st.SearchStrategy[tuple[Transform, AtomicType]]:
    """A transform and a source type it can take."""
    return transforms().flatmap(lambda transform_: st.tuples(st.just(transform_), sources(transform_)))


def order_preserving() -> st.SearchStrategy[tuple[Transform, AtomicType]]:
    """The pairs for which `source_bounds` has an answer."""
    plain: list[Transform] = [Identity(), Year(), Month(), Day(), Hour()]
    return st.one_of(
        st.sampled_from(plain).flatmap(lambda transform_: st.tuples(st.just(transform_), sources(transform_))),
        st.tuples(parameters().map(Truncate), st.sampled_from(INTEGERS) | decimal_types()),
    )


def same(left: Value, right: Value) -> bool:
    """Equal and of one sign, NaN equal to NaN: stricter than what Spark calls equal."""
    if isinstance(left, float) and isinstance(right, float):
        return struct.pack("<d", left) == struct.pack("<d", right)
    return left == right and type(left) is type(right)


@pytest.mark.parametrize(
    ("source", "value", "expected"),
    [
        (INT32, 34, 2017239379),
        (INT64, 34, 2017239379),
        (DecimalType(4, 2), Decimal("14.20"), -500754589),
        (DATE, NOVEMBER_16, -653330422),
        (TIMESTAMP_NTZ, NOVEMBER_16 * MICROS_PER_DAY + 81_068_000_000, -2047944441),
        (TIMESTAMP, NOVEMBER_16 * MICROS_PER_DAY + 81_068_000_000, -2047944441),
        (STRING, "iceberg", 1210000089),
        (BINARY, bytes.fromhex("f79c3e09677c4bbda4793f349cb785e7"), 1488055340),
        (BINARY, bytes([0, 1, 2, 3]), -188683207),
    ],
)
def test_bucket_hashes_as_the_iceberg_specification_lists(source: AtomicType, value: Value, expected: int) -> None:
    """The published hashes come out, in scalar and in array form."""
    for buckets in (1, 2, 7, 64, 1000, INT32_MAX):
        bucket = (expected & INT32_MAX) % buckets
        assert apply(Bucket(buckets), source, value) == bucket
        assert apply_array(Bucket(buckets), source, column_of(source, [value])).to_pylist() == [bucket]


@pytest.mark.parametrize(
    ("transform_", "source", "value", "expected"),
    [
        (Truncate(10), INT32, 1, 0),
        (Truncate(10), INT32, -1, -10),
        (Truncate(50), DecimalType(9, 2), Decimal("10.65"), Decimal("10.50")),
        (Truncate(10), DecimalType(9, 2), Decimal("-0.05"), Decimal("-0.10")),
        (Truncate(3), STRING, "iceberg", "ice"),
        (Truncate(2), STRING, "🙂é🙂", "🙂é"),
        (Truncate(2), BINARY, b"\xf0\x9f\x99", b"\xf0\x9f"),
        (Year(), DATE, NOVEMBER_16, 47),
        (Month(), DATE, NOVEMBER_16, 574),
        (Day(), DATE, NOVEMBER_16, NOVEMBER_16),
        (Year(), DATE, -1, -1),
        (Month(), DATE, -1, -1),
        (Year(), TIMESTAMP, -1, -1),
        (Month(), TIMESTAMP, -1, -1),
        (Day(), TIMESTAMP, -1, -1),
        (Hour(), TIMESTAMP, -1, -1),
        (Hour(), TIMESTAMP_NTZ, 3_600_000_000, 1),
        (Identity(), STRING, "", ""),
        (Void(), INT32, 5, None),
    ],
)
def test_transforms_give_what_iceberg_documents(
    transform_: Transform, source: AtomicType, value: Value, expected: Value
) -> None:
    """Known pairs: truncation and everything before 1970 round towards minus infinity, text is cut by code point."""
    assert same(apply(transform_, source, value), expected)
    array = apply_array(transform_, source, column_of(source, [value]))
    assert values_of(result_type(transform_, source), array) == [expected]


@given(transforms())
def test_text_form_round_trips(transform_: Transform) -> None:
    """`transform` reads what `str` writes, for every transform."""
    assert transform(str(transform_)) == transform_


@pytest.mark.parametrize(
    "text",
    [
        *("", "Identity", "days", " day", "year[1]"),
        *("bucket", "bucket[]", "bucket[0]", "bucket[-1]", "bucket[064]", "bucket[６]", "bucket(64)"),
        *("truncate[0]", "bucket[2147483648]"),
    ],
)
def test_text_that_is_no_transform_is_refused(text: str) -> None:
    """Anything but the exact form is a SpecError: a spec is never half understood."""
    with pytest.raises(SpecError):
        transform(text)


@pytest.mark.parametrize("number", [0, -1, 2**31])
def test_a_parameter_out_of_range_is_refused(number: int) -> None:
    """Neither zero nor negative nor more than an int32, whether parsed or built."""
    with pytest.raises(SpecError, match="1 to 2147483647"):
        Bucket(number)
    with pytest.raises(SpecError, match="1 to 2147483647"):
        Truncate(number)


def test_result_types_are_those_of_iceberg_for_every_pair() -> None:
    """The whole table of transform × type: which pairs are possible, and what they give."""
    decimal = DecimalType(10, 2)
    every: set[AtomicType] = {*PRIMITIVES.values(), decimal}
    possible_sources: dict[Transform, set[AtomicType]] = {
        Identity(): every,
        Void(): every,
        Bucket(4): {*INTEGERS, decimal, DATE, *INSTANTS, STRING, BINARY},
        Truncate(4): {*INTEGERS, decimal, STRING, BINARY},
        Year(): {DATE, *INSTANTS},
        Month(): {DATE, *INSTANTS},
        Day(): {DATE, *INSTANTS},
        Hour(): {*INSTANTS},
    }
    fixed_results: dict[Transform, AtomicType] = {
        Bucket(4): INT32, Year(): INT32, Month(): INT32, Hour(): INT32, Day(): DATE,
    }  # fmt: skip
    for transform_, sources in possible_sources.items():
        for source in every:
            if source in sources:
                assert result_type(transform_, source) == fixed_results.get(transform_, source)
            else:
                with pytest.raises(SpecError):
                    apply(transform_, source, None)


def test_an_impossible_pair_names_what_is_possible() -> None:
    """The message says what the transform takes and what the column's type allows instead."""
    with pytest.raises(SpecError) as caught:
        result_type(Hour(), DATE)
    assert str(caught.value) == (
        "hour of a date column is not possible: hour takes timestamp, timestamp_ntz; "
        "for date there are identity, bucket, year, month, day, void."
    )


@given(st.data())
@settings(max_examples=examples(150))
def test_array_form_equals_scalar_form(data: st.DataObject) -> None:
    """Whatever the transform, type and values, both forms agree to the bit: also in slices, chunks, dictionaries."""
    transform_, source = data.draw(transforms_with_types())
    column = data.draw(columns(source))
    expected = [apply(transform_, source, value) for value in column]
    target = result_type(transform_, source)
    array = column_of(source, column)
    padding = column_of(source, data.draw(columns(source, max_size=3)))
    sliced = pa.concat_arrays([padding, array, padding]).slice(len(padding), len(array))
    forms = [array, sliced, pa.chunked_array([array, array.slice(len(array))]), array.dictionary_encode()]
    for form in forms:
        actual = values_of(target, apply_array(transform_, source, form))
        assert len(actual) == len(expected)
        assert all(same(a, e) for a, e in zip(actual, expected, strict=True))


@given(st.data())
@settings(max_examples=examples(150))
def test_transforms_equal_those_of_pyiceberg(data: st.DataObject) -> None:
    """PyIceberg's own transforms give the same value, wherever PyIceberg can compute one and it fits the type."""
    transform_, source = data.draw(transforms_with_types())
    value = data.draw(values(source))
    if isinstance(transform_, Year | Month) and value is not None:
        assert isinstance(value, int)  # PyIceberg goes through Python's datetime here
        days = value if source == DATE else value // MICROS_PER_DAY
        assume(-719_162 <= days <= 2_932_896)
    actual = apply(transform_, source, value)
    theirs = iceberg.parse_transform(str(transform_)).transform(iceberg_type(source))(value)
    assume(theirs is None or fits(result_type(transform_, source), theirs))
    if isinstance(transform_, Identity) and isinstance(value, float):
        assert order_key(source, actual) == order_key(source, theirs)
    else:
        assert actual == theirs


def iceberg_type(source: AtomicType) -> iceberg_types.IcebergType:
    """The type as PyIceberg has it."""
    if isinstance(source, DecimalType):
        return iceberg_types.DecimalType(source.precision, source.scale)
    return ICEBERG_TYPES[source]


def fits(type_: AtomicType, value: Any) -> bool:
    """Whether PyIceberg's result, which knows no bounds, is in the type's range."""
    if isinstance(type_, DecimalType):
        value = unscaled(type_, value)
    elif not isinstance(value, int) or type_ == BOOLEAN:
        return True
    least, greatest = integer_range(type_)
    return bool(least <= value <= greatest)


@given(st.data())
@settings(max_examples=examples(100))
def test_truncated_is_never_greater_than_its_source(data: st.DataObject) -> None:
    """Also at the type's minimum, where Java would wrap around: the result stops there and stays in the type."""
    source = data.draw(st.sampled_from([INT8, INT16, INT32, INT64, STRING, BINARY]) | decimal_types())
    value = data.draw(values(source, nulls=False))
    truncated = apply(Truncate(data.draw(parameters())), source, value)
    assert order_key(source, truncated) <= order_key(source, value)
    assert fits(source, truncated)


def test_truncate_stops_at_the_minimum_of_the_type() -> None:
    """-128 has no multiple of 10 below it in an int8, and -9.99 none of 0.50 in a decimal(3,2)."""
    assert [apply(Truncate(10), INT8, v) for v in (-128, -121, -120)] == [-128, -128, -120]
    assert apply(Truncate(10), INT64, -(2**63)) == -(2**63)
    assert apply(Truncate(50), DecimalType(3, 2), Decimal("-9.99")) == Decimal("-9.99")
    assert source_bounds(Truncate(10), INT8, -128) == (-128, -121)


def test_hour_stops_at_the_ends_of_its_type() -> None:
    """Timestamps beyond 2³¹ hours exist in 64 bits; their hour is the outermost one, and its bounds reach them."""
    assert apply(Hour(), TIMESTAMP, 2**63 - 1) == INT32_MAX
    assert apply(Hour(), TIMESTAMP, -(2**63)) == -(2**31)
    assert source_bounds(Hour(), TIMESTAMP, INT32_MAX) == (INT32_MAX * 3_600_000_000, 2**63 - 1)


@given(st.data())
@settings(max_examples=examples(200))
def test_source_bounds_hold_exactly_the_values_that_give_the_result(data: st.DataObject) -> None:
    """For v and t = transform(w): transform(v) = t if and only if v lies within the bounds of t."""
    transform_, source = data.draw(order_preserving())
    other = data.draw(values(source, nulls=False))
    result = apply(transform_, source, other)
    bounds = source_bounds(transform_, source, result)
    assert bounds is not None
    lower, upper = (order_key(source, bound) for bound in bounds)
    assert lower <= order_key(source, other) <= upper
    for value in (data.draw(values(source, nulls=False)), *neighbours(source, bounds)):
        target = result_type(transform_, source)
        gives = order_key(target, apply(transform_, source, value)) == order_key(target, result)
        assert gives == (lower <= order_key(source, value) <= upper)


@given(st.data())
@settings(max_examples=examples(100))
def test_order_preserving_transforms_preserve_order(data: st.DataObject) -> None:
    """If v ≤ w, transform(v) ≤ transform(w): what pruning by range rests on, truncated text included."""
    transform_, source = data.draw(order_preserving() | st.tuples(parameters().map(Truncate), texts()))
    pair = data.draw(st.tuples(values(source, nulls=False), values(source, nulls=False)))
    lower, higher = sorted(pair, key=lambda value: order_key(source, value))
    target = result_type(transform_, source)
    lower_result, higher_result = (apply(transform_, source, value) for value in (lower, higher))
    assert order_key(target, lower_result) <= order_key(target, higher_result)


def texts() -> st.SearchStrategy[AtomicType]:
    """The types that are truncated to a prefix."""
    return st.sampled_from([STRING, BINARY])


def neighbours(source: AtomicType, bounds: tuple[Value, Value]) -> list[Value]:
    """The bounds, and the values next to them outside, for the types that have a next value."""
    lower, upper = bounds
    if isinstance(source, DecimalType):
        assert isinstance(lower, Decimal)
        assert isinstance(upper, Decimal)
        around = [
            unscaled(source, lower) - 1,
            unscaled(source, lower),
            unscaled(source, upper),
            unscaled(source, upper) + 1,
        ]
        return [scaled(source, digits) for digits in around if fits(source, scaled(source, digits))]
    if source in TEMPORAL or source in (INT8, INT16, INT32, INT64):
        assert isinstance(lower, int)
        assert isinstance(upper, int)
        return [number for number in (lower - 1, lower, upper, upper + 1) if fits(source, number)]
    return [lower, upper]


@pytest.mark.parametrize(
    ("transform_", "source", "value"),
    [
        (Bucket(4), INT32, 1),
        (Void(), INT32, None),
        (Truncate(2), STRING, "ab"),
        (Truncate(2), BINARY, b"ab"),
        (Year(), DATE, None),
        (Truncate(10), INT32, 13),  # no multiple of 10
        (Year(), TIMESTAMP, 10_000_000),  # beyond the type
        (Month(), DATE, -INT32_MAX),
    ],
)
def test_source_bounds_are_none_where_there_is_no_pair(transform_: Transform, source: AtomicType, value: Value) -> None:
    """Not order-preserving, NULL, or a value the transform never gives: unknown, so nothing is pruned by it."""
    assert source_bounds(transform_, source, value) is None


@pytest.mark.parametrize(
    ("source", "numbers"),
    [
        (FLOAT, np.array([0x80000000, 0, 0x7FC00001, 0xFFC00000], np.uint32).view(np.float32)),
        (DOUBLE, np.array([1 << 63, 0, 0x7FF8 << 48 | 1, 0xFFF8 << 48], np.uint64).view(np.float64)),
    ],
)
def test_identity_makes_one_value_of_those_spark_calls_equal(source: AtomicType, numbers: npt.NDArray[Any]) -> None:
    """-0.0 is 0.0, and every NaN, whatever its bits, is the same NaN."""
    array = apply_array(Identity(), source, pa.array(numbers))
    minus_zero, zero, nan, other_nan = (number.tobytes() for number in array.to_numpy())
    assert minus_zero == zero == bytes(numbers.itemsize)
    assert nan == other_nan
    scalars = [apply(Identity(), source, number) for number in numbers.tolist()]
    assert same(scalars[0], 0.0)
    assert same(scalars[2], scalars[3])


@given(st.lists(st.binary(max_size=70), min_size=1, max_size=60))
@example([b"x" * 1000] + [b"y" * n for n in range(40)])
@example([b"x" * (n % 9) for n in range(100)])
def test_bucket_hashes_spans_of_every_length(blobs: list[bytes]) -> None:
    """Stepping through many spans at once ends each where it ends, long ones among short ones too."""
    expected = [apply(Bucket(INT32_MAX), BINARY, blob) for blob in blobs]
    assert apply_array(Bucket(INT32_MAX), BINARY, pa.array(blobs)).to_pylist() == expected


def test_array_form_takes_other_arrow_types_of_the_same_values() -> None:
    """Large strings, millisecond timestamps and smaller integers are cast first, never misread."""
    assert apply_array(Truncate(1), STRING, pa.array(["ab"], pa.large_string())).to_pylist() == ["a"]
    assert apply_array(Hour(), TIMESTAMP_NTZ, pa.array([7_200_000], pa.timestamp("ms"))).to_pylist() == [2]
    assert apply_array(Bucket(64), INT64, pa.array([34], pa.int8())).to_pylist() == [2017239379 % 64]
    assert apply_array(Bucket(64), STRING, pa.chunked_array([], pa.string())).to_pylist() == []
