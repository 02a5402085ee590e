"""The types Spark compares in and the values it makes of literals: recorded, by definition, and asked of Spark."""

import math
import struct
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from coalesce.model.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT8,
    INT32,
    INT64,
    PRIMITIVES,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
    DecimalType,
    Value,
)
from coalesce.model.values import order_key, values_of
from coalesce.predicate.coercion import cast_value, common_type, float_from_text, nearest_float
from coalesce.predicate.own_type import ordinal_of, value_at
from coalesce.predicate.render import literal_sql, sql_type
from tests.strategies import values
from tests.support.examples import examples
from tests.support.settings import TIME_ZONE, changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOUR = 3_600_000_000
TYPES: list[AtomicType] = [
    *PRIMITIVES.values(),
    *(DecimalType(p, s) for p, s in ((1, 0), (3, 3), (9, 2), (18, 6), (20, 0), (22, 5), (38, 0), (38, 10), (38, 38))),
]


# --- which type ----------------------------------------------------------------------------------------------------


def test_common_types() -> None:
    """The table of types that two sides are compared in, as Spark had them."""
    assert common_type(INT8, INT64) == INT64
    assert common_type(INT32, FLOAT) == DOUBLE
    assert common_type(INT32, DecimalType(2, 1)) == DecimalType(11, 1)
    assert common_type(DecimalType(9, 2), DecimalType(3, 3)) == DecimalType(10, 3)
    assert common_type(DecimalType(38, 0), DecimalType(2, 1)) is None
    assert common_type(DecimalType(9, 2), FLOAT) == DOUBLE
    assert common_type(STRING, INT8) == INT64
    assert common_type(STRING, DecimalType(9, 2)) == DOUBLE
    assert common_type(STRING, BOOLEAN) == BOOLEAN
    assert common_type(DATE, TIMESTAMP_NTZ) == TIMESTAMP_NTZ
    assert common_type(TIMESTAMP, TIMESTAMP_NTZ) == TIMESTAMP
    assert common_type(BOOLEAN, INT8) is None
    assert common_type(DATE, INT32) is None


def test_common_types_are_sparks(spark: "SparkSession") -> None:
    """For every pair of types: Spark's own, or nothing is said; and nothing where Spark refuses."""
    from pyspark.errors import AnalysisException

    nulls = ", ".join(f"CAST(NULL AS {sql_type(type_)}) AS c{i}" for i, type_ in enumerate(TYPES))
    frame = spark.sql(f"SELECT {nulls}")
    wrong = []
    silent = 0
    for (i, left), (j, right) in combinations_with_replacement(enumerate(TYPES), 2):
        ours = common_type(left, right)
        assert common_type(right, left) == ours
        try:
            compared: Any = frame.selectExpr(f"c{i} = c{j} AS c")._jdf.queryExecution().analyzed().expressions()
        except AnalysisException:
            sparks = None
        else:
            sparks = str(compared.apply(0).child().left().dataType().sql()).lower()
        silent += ours is None and sparks is not None
        if ours is not None and sql_type(ours).lower() != sparks:
            wrong.append(f"{left} and {right}: {ours}, in Spark {sparks}")
    assert wrong == []
    assert silent <= 0.1 * len(TYPES) ** 2 / 2


# --- which value ---------------------------------------------------------------------------------------------------

TEXTS = (
    "5", "-5", "+5", " 5", "5 ", "05", "5.0", "5.", ".5", "-0", "-0.0", "5e0", "1E3", "1e400", "-1e-400", "1e39",
    "0x1F", "127", "128", "-128", "-129", "32768", "2147483648", "9223372036854775807", "9223372036854775808",
    "3.4028236e38", "16777217", "0.1", "99999.995", "123456789012345678901234567890.125", "1.5D", "5L", "NaN",
    "nan", "Infinity", "inf", "-Infinity", "t", "TRUE", "y", "No", "0", "1", "2", "on", "", " ", "é", "٣", "true ",
    "1970-01-01", "1969-12-31", "2026-5-17", "2026-05-17", "2026-02-29", "2024-02-29", "0001-01-01", "0000-01-01",
    "9999-12-31", "10000-01-01", "-0001-01-01", "2026", "2026-05", "2026-05-17 ", "2026-05-17T",
    "2026-05-17 1:02:03", "2026-05-17 12:30", "2026-05-17T12:30:15", "2026-05-17 12:30:15.1234567",
    "2026-05-17 12:30:15.123456", "2026-05-17 24:00:00", "2026-05-17 12:30:60", "2026-05-17T12:30:15Z",
    "2026-05-17 12:30:15+02:00", "2026-05-17 12:30:15-18:00", "2026-05-17 12:30:15+19:00",
    "2026-05-17 12:30:15 UTC", "2026-05-17 12:30+02:00", "2026-05-17T12:30:15+0200", "2026-03-29 02:30:00",
    "2026-10-25 02:30:00", "2037-12-31 23:59:59.999999", "2038-01-01 00:00:00", "1969-12-31 23:00:00", "epoch",
    "now",
)  # fmt: skip

ZONES = ("UTC", "+05:30", "Europe/Berlin")


def _as_spark_has_them(spark: "SparkSession", cases: list[tuple[AtomicType, Value, AtomicType]]) -> list[Value]:
    """Spark's CAST of each literal, NULL where it would fail: folded while planning, no job is run."""
    columns = [
        f"try_cast({literal_sql(source, value)} AS {sql_type(target)}) AS c{i}"
        for i, (source, value, target) in enumerate(cases)
    ]
    row = spark.sql(f"SELECT {', '.join(columns)}").toArrow()
    return [values_of(target, row.column(i))[0] for i, (_, _, target) in enumerate(cases)]


def _check(spark: "SparkSession", zone: str, cases: list[tuple[AtomicType, Value, AtomicType]]) -> int:
    """How many of the casts we make; each has to give what Spark's gives."""
    ours = [(case, found) for case in cases if (found := cast_value(case[1], case[0], case[2], zone)) is not None]
    with changed(spark, {TIME_ZONE: zone}):
        theirs = _as_spark_has_them(spark, [case for case, _ in ours])
    wrong = [
        f"{source} {value!r} as {target}: {found!r}, in Spark {spark_value!r}"
        for ((source, value, target), found), spark_value in zip(ours, theirs, strict=True)
        if spark_value is None or order_key(target, found) != order_key(target, spark_value)
    ]
    assert wrong == []
    return len(ours)


@pytest.mark.parametrize("zone", ZONES)
def test_text_is_read_as_spark_reads_it(spark: "SparkSession", zone: str) -> None:
    """Numbers, truth values, dates and times in every spelling: Spark's value, or nothing is said."""
    made = _check(spark, zone, [(STRING, text, target) for text in TEXTS for target in TYPES])
    assert made >= 300


class _Drawn:
    """Values that Hypothesis does not print: a failure names those that matter."""

    def __init__(self, values: tuple[Value, ...]) -> None:
        self.values = values

    def __repr__(self) -> str:
        return "…"


@pytest.mark.parametrize("zone", ZONES)
def test_values_are_cast_as_spark_casts_them(spark: "SparkSession", zone: str) -> None:
    """Values of every type to every other, ends of ranges among them: Spark's value, or nothing is said."""
    pairs = [(source, target) for source in TYPES for target in TYPES if source != target]
    values_of_pairs = st.tuples(*(values(source, nulls=False) for source, _ in pairs))
    made: list[int] = []

    @given(values_of_pairs.map(_Drawn))
    @settings(max_examples=examples(2), phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck))
    def check(drawn: _Drawn) -> None:
        made.append(_check(spark, zone, [(s, value, t) for value, (s, t) in zip(drawn.values, pairs, strict=True)]))

    check()
    assert min(made) >= 50


@pytest.mark.parametrize("zone", ["UTC", "+05:30", "-18:00"])
@pytest.mark.parametrize("day", [-(2**31), 2**31 - 1])
def test_days_that_are_no_timestamps(zone: str, day: int) -> None:
    """A date may lie where the microseconds of a timestamp do not reach: Spark's cast fails, and nothing is said."""
    assert cast_value(day, DATE, TIMESTAMP, zone) is None
    assert cast_value(day, DATE, TIMESTAMP_NTZ, zone) is None


@pytest.mark.parametrize(("zone", "day"), [("UTC", -1), ("+05:30", 0), ("-05:00", -1)])
def test_days_before_1970(zone: str, day: int) -> None:
    """The day of an instant is the day on a clock in the session's zone, on either side of 1970."""
    half_past_seven = -int(4.5 * HOUR)  # 19:30 on 1969-12-31, UTC
    assert cast_value(half_past_seven, TIMESTAMP, DATE, zone) == day
    assert cast_value(half_past_seven, TIMESTAMP_NTZ, DATE, zone) == -1


@given(st.fractions(min_value=-(2**140), max_value=2**140) | st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_nearest_float_is_nearest(exact: float) -> None:
    """No 32-bit float is nearer."""
    nearest = nearest_float(Fraction(exact))
    if nearest is None:
        assert abs(exact) > 3.4e38
        return
    assert struct.unpack("<f", struct.pack("<f", nearest))[0] == nearest
    ordinal = ordinal_of(FLOAT, nearest)
    for neighbour in (value_at(FLOAT, ordinal - 1), value_at(FLOAT, ordinal + 1)):
        assert isinstance(neighbour, float)
        if math.isfinite(neighbour):
            assert abs(Fraction(nearest) - Fraction(exact)) <= abs(Fraction(neighbour) - Fraction(exact))


@given(st.floats(width=32, allow_nan=False))
def test_floats_round_trip_through_text(value: float) -> None:
    """The digits that Python writes of a 32-bit float mean that float; what is too small to be worth it, nothing."""
    text = repr(value).replace("inf", "Infinity")
    assert float_from_text(text) == value or (value != 0 and abs(value) < 1e-60)
