"""Functions of dates and timestamps do what Spark's do, on any clock."""

import random
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from coalesce.model.schema import Schema
from coalesce.model.types import DATE, INT32, INT64, STRING, TIMESTAMP, AtomicType, Field
from coalesce.predicate.expr import Calculation, Column
from coalesce.predicate.scalar import dates, temporal_casts
from coalesce.predicate.scalar.catalogue import bind_operand
from coalesce.predicate.scalar.evaluate import evaluate
from coalesce.predicate.scalar.evaluated import spread
from coalesce.predicate.scalar.nodes import Argument, Reference, Scalar
from coalesce.predicate.sql.lexer import tokenize
from coalesce.predicate.sql.structure import operand_of
from tests.predicate.scalar.against_spark import Rows, compare
from tests.predicate.scalar.awkward_texts import DATE_COLUMNS, rows
from tests.support.examples import examples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZONES = ("UTC", "America/New_York", "Asia/Kolkata", "America/Sao_Paulo", "+05:30")
TIMES = ("da", "db", "dx", "ts", "tx", "tn", "tm", "dt", "DATE'2024-02-29'", "TIMESTAMP'2026-11-01 01:30:00'", "NULL")
NUMBERS = ("nu", "i8", "0", "1", "-1", "13", "40000", "NULL")
UNITS = (
    "year", "YYYY", "yy", "quarter", "MONTH", "mon", "mm", "week", "day", "DD", "hour", "minute", "second",
    "millisecond", "microsecond", "decade", "", "weeks",
)  # fmt: skip
INTERVALS = ("DAY", "MONTH", "YEAR", "WEEK", "HOUR", "MINUTE", "SECOND", "MICROSECOND")


def every_call() -> list[str]:
    """Each function with all kinds of arguments."""
    fields = (
        "year", "quarter", "month", "day", "dayofmonth", "dayofweek", "weekday", "dayofyear", "weekofyear", "hour",
        "minute", "second", "last_day", "to_date", "to_timestamp", "to_timestamp_ntz", "unix_date", "unix_seconds",
        "unix_millis", "unix_micros",
    )  # fmt: skip
    calls = [f"{name}({time})" for name, time in product(fields, TIMES)]
    calls += [f"EXTRACT({unit} FROM {time})" for unit, time in product(("YEAR", "MONTH", "DAY", "HOUR"), TIMES)]
    calls += [
        f"{name}({n})"
        for name in ("timestamp_seconds", "timestamp_millis", "timestamp_micros")
        for n in ("nu", "i8", "i64", "5")
    ]
    calls += [f"date_from_unix_date({n})" for n in NUMBERS]
    shifts = ("date_add", "dateadd", "date_sub", "add_months")
    calls += [f"{name}({time}, {number})" for name, time, number in product(shifts, TIMES, NUMBERS)]
    calls += [f"{name}({one}, {other})" for name, one, other in product(("datediff", "date_diff"), TIMES, TIMES)]
    calls += [f"date_trunc('{unit}', {time})" for unit, time in product(UNITS, TIMES)]
    calls += [f"trunc({time}, '{unit}')" for unit, time in product(UNITS, TIMES)]
    calls += [f"next_day({time}, '{day}')" for day, time in product(("MON", "tu", "Sunday", "fri", "x"), TIMES)]
    calls += [
        f"make_date({y}, {m}, {d})" for y, m, d in product(("yr", "2024", "i8"), ("mo", "2", "12"), ("dd", "29", "i8"))
    ]
    for time, unit, number in product(TIMES, INTERVALS, ("1", "'-3'", "25", "100")):
        calls += [
            f"{time} + INTERVAL {number} {unit}",
            f"{time} - INTERVAL {number} {unit}",
            f"INTERVAL {number} {unit} + {time}",
        ]
    calls += [f"{one} {sign} {other}" for one, sign, other in product(TIMES, "+-", NUMBERS)]
    calls += [f"{number} + {time}" for number, time in product(NUMBERS, TIMES)]
    kinds = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "STRING", "BIGINT", "INT", "DOUBLE", "TINYINT")
    for cast, time, kind in product(("CAST", "TRY_CAST"), (*TIMES, "i64", "nu"), kinds):
        calls += [f"{cast}({time} AS {kind})"]
    return calls


class Times(Rows):
    """Rows whose sums and casts are those of dates and times, whatever else `+` and CAST are."""

    def value(self, text: str, time_zone: str) -> Scalar | None:
        """The value that the text says, bound to the columns; None if it has no meaning here."""
        tokens = tokenize(text)
        match operand_of(tokens, 0, len(tokens), time_zone):
            case Calculation("+" | "-" | "cast" | "try_cast" as function, written, type_):
                arguments = [bind_operand(argument, self._column, time_zone) for argument in written]
                known = [argument for argument in arguments if argument is not None]
                return _bound(function, known, type_, time_zone) if len(known) == len(arguments) else None
        return super().value(text, time_zone)


def _bound(function: str, arguments: list[Argument], type_: AtomicType | None, time_zone: str) -> Scalar | None:
    if type_ is None:
        return (dates.add if function == "+" else dates.subtract)(arguments, time_zone)
    change = temporal_casts.convert_temporal if function == "cast" else temporal_casts.try_convert_temporal
    return change(arguments[0], type_, time_zone)


def table(spark: "SparkSession") -> Times:
    """All kinds of dates, times and texts of them."""
    plain = rows(spark, DATE_COLUMNS)
    return Times(plain.schema, plain.table, plain.frame)


def test_times_are_read_the_same_many_at_once_and_one_by_one() -> None:
    """Arrow reads those of the usual form, unless one of them is no time, and our own reader all others."""
    chance = random.Random(1)
    days = [f"{chance.choice((0, 1, 1969, 2026, 9999)):04}-{chance.randint(1, 12):02}-29" for _ in range(1000)]
    clocks = [f"{chance.randint(0, 23):02}:{chance.randint(0, 59):02}:07" for _ in range(1000)]
    texts = [
        f"{day.replace('-02-29', '-02-28')}{chance.choice(' T')}{clock}{chance.choice(('', '.5', '.000001'))}"
        for day, clock in zip(days, clocks, strict=True)
    ]
    cast = temporal_casts.convert_temporal(Reference(1, "c", STRING), TIMESTAMP, "+05:30")
    assert cast is not None
    at_once = evaluate(cast, {1: pa.array(texts, pa.string())}, 1000)
    one_by_one = evaluate(cast, {1: pa.array([*texts, "2026-02-30 00:00:00"], pa.string())}, 1001)
    assert at_once.unsure is None
    assert one_by_one.unsure is not None
    assert np.flatnonzero(one_by_one.unsure).tolist() == [1000]
    assert spread(one_by_one.values, 1001)[:1000].equals(spread(at_once.values, 1000))


FAR = {
    "-5877641-06-23": -(2**31),
    "-12345-01-01": -5_228_446,
    "-0001-12-31": -719_529,
    "0000-01-01": -719_528,
    "0000-02-29": -719_469,
    "0001-01-01": -719_162,
    "2026-05-17": 20_590,
    "9999-12-31": 2_932_896,
    "+10000-01-01": 2_932_897,
    "+12345-01-01": 3_789_391,
    "+5881580-07-11": 2**31 - 1,
}


def test_any_year_is_written_as_spark_writes_it() -> None:
    """With a sign where it has more than four digits, or lies before the year 0; and read again."""
    days = pa.array([*FAR.values(), None], pa.int32()).cast(pa.date32())
    cast = temporal_casts.convert_temporal(Reference(1, "c", DATE), STRING, "UTC")
    assert cast is not None
    written = evaluate(cast, {1: days}, len(days))
    assert written.unsure is None
    assert spread(written.values, len(days)).to_pylist() == [*FAR, None]
    back = temporal_casts.convert_temporal(Reference(1, "c", STRING), DATE, "UTC")
    assert back is not None
    assert spread(evaluate(back, {1: written.values}, len(days)).values, len(days)).equals(days)


def test_times_of_any_year_are_written_as_spark_writes_them(spark: "SparkSession") -> None:
    """Dates, clocks, and instants in zones whose clocks are known for all years."""
    numbers = [*FAR.values(), *(day * 293 for day in range(-20, 20)), None]
    micros = [None if n is None else n * 4_000_000_007 + 5_000 for n in numbers]
    schema = Schema((Field(id=1, name="n", type=INT32), Field(id=2, name="m", type=INT64)))
    far = Rows.of(spark, schema, pa.table([pa.array(numbers, pa.int32()), pa.array(micros, pa.int64())], ["n", "m"]))
    texts = [
        "CAST(date_from_unix_date(n) AS STRING)",
        "CAST(timestamp_micros(m) AS STRING)",
        "CAST(CAST(timestamp_micros(m) AS TIMESTAMP_NTZ) AS STRING)",
        "CAST(timestamp_micros(9223372036854775807L - n) AS STRING)",
        "CAST(date_add(DATE '9999-12-31', n % 400) AS STRING) LIKE '+%'",
    ]
    result = compare(spark, far, texts, ("UTC", "+05:30", "America/New_York"))
    assert not result.wrong, "\n".join(result.wrong[:20])
    assert not result.opaque
    assert result.compared > 1_000


FIELDS = ("year", "quarter", "month", "day", "dayofweek", "weekday", "dayofyear", "weekofyear", "last_day")


@pytest.mark.parametrize("first", [-800_000, -400, 20_000])
@pytest.mark.parametrize("name", FIELDS)
def test_days_are_computed_the_same_many_at_once_and_one_by_one(name: str, first: int) -> None:
    """Where many rows have few days, each day is computed once; by themselves, or with one far off, all rows are."""
    chance = random.Random(name)
    days = [None if chance.random() < 0.1 else first + chance.randint(0, 900) for _ in range(5_000)]
    call = bind_operand(Calculation(name, (Column(("c",)),)), lambda _: Reference(1, "c", DATE), "UTC")
    assert isinstance(call, Scalar)

    def computed(column: list[int | None]) -> pa.Array:
        found = evaluate(call, {1: pa.array(column, pa.date32())}, len(column))
        assert found.unsure is None
        return spread(found.values, len(column))

    at_once = computed(days)
    apart = [computed(days[start : start + 500]) for start in range(0, 5_000, 500)]
    assert at_once.equals(pa.concat_arrays(apart))
    assert computed([*days, 2_000_000])[:5_000].equals(at_once)
    assert computed([None] * 5_000).null_count == 5_000


def test_functions_of_dates_are_spark_s(spark: "SparkSession") -> None:
    """Any function of any arguments has Spark's values and type, with ANSI mode on and off, in several zones."""
    chosen = random.Random(16)
    calls = every_call()
    times = table(spark)
    for zone in ZONES:
        result = compare(spark, times, chosen.sample(calls, min(examples(25), len(calls))), (zone,))
        assert not result.wrong, "\n".join(result.wrong[:20])
        assert result.compared > 2_000
