"""Arithmetic and rounding."""

import random
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING

import pytest

from coalesce.model.types import DOUBLE, FLOAT, INT8, INT16, INT32, INT64, AtomicType, DecimalType, Value
from coalesce.predicate.scalar.nodes import Argument, Call, Fixed, Interval, Reference
from coalesce.predicate.scalar.numbers import FUNCTIONS, monotone
from tests.predicate.scalar.against_spark import Rows, compare
from tests.predicate.scalar.awkward_numbers import COLUMNS, NUMBERS, table
from tests.predicate.scalar.bounds import check_bounds
from tests.support.examples import examples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPERATORS = (
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "{a} % {b}", "{a} div {b}", "pmod({a}, {b})", "mod({a}, {b})",
)  # fmt: skip
TRYING = tuple(f"try_{name}({{a}}, {{b}})" for name in ("add", "subtract", "multiply", "divide", "mod"))
ONE = (
    "-{a}", "abs({a})", "positive({a})", "floor({a})", "ceil({a})", "sign({a})", "signum({a})", "sqrt({a})",
    "round({a})",
)  # fmt: skip
LITERALS = (
    "5", "-5", "0", "1", "100", "1.5", "0.0", "-0.001", "7Y", "3S", "9223372036854775807L", "-2147483648", "1e0",
    "2.5D", "0.1F", "NULL", "99999999999999999999", "0.00000000000000000000000000001", "(1 + 1)", "CAST(5 AS INT)",
    "1.50BD", "-(5)",
)  # fmt: skip
# Each was answered wrongly once.
TRAPS = (
    "m1_0 - i64", "m9_2 * 7Y", "m9_2 * CAST(5 AS INT)", "NULL / m19_4", "-m38_0", "abs(m38_38)", "m38_37 = 0",
    "i32 < 0.00000000000000000000000000001", "i32 = 0.00000000000000000000000000001", "m18_0 + m38_38", "m38_37 + 0",
    "round(m38_0, -38)", "st + i8", "m19_4 * 0", "CAST(db AS BIGINT)", "TRY_CAST(st AS DECIMAL(9,2))",
)  # fmt: skip
EXACT = [name for name in NUMBERS if name not in ("bo", "fl", "db")]  # these meet in the same types without ANSI mode


def test_two_numbers_are_computed_with_as_spark_computes(spark: "SparkSession") -> None:
    """Every operator on integers and decimals of all sizes, where ANSI mode is on and where it is off."""
    rng = random.Random(16)
    every = [form.format(a=a, b=b) for form in (*OPERATORS, *TRYING) for a, b in product(EXACT, EXACT)]
    every += [form.format(a=a, b=a) for form in (*OPERATORS, *TRYING) for a in ("fl", "db")] * 9
    result = compare(spark, Rows.of(spark, *table()), rng.sample(every, min(len(every), examples(130))))
    assert not result.wrong, "\n".join(result.wrong[:20])
    assert result.compared > 20_000


def test_unlike_numbers_and_literals_meet_as_in_spark(spark: "SparkSession") -> None:
    """Texts, floats and decimals, in every order. Without ANSI mode they meet otherwise, and Catalyst says so."""
    rng = random.Random(17)
    names = (*COLUMNS, *LITERALS, "fl", "db", "st")
    every = [form.format(a=rng.choice(names), b=rng.choice(names)) for form in OPERATORS for _ in range(examples(18))]
    result = compare(spark, Rows.of(spark, *table()), [*TRAPS, *every], ansi=(True,))
    assert not result.wrong, "\n".join(result.wrong[:20])


def test_one_number_is_rounded_as_spark_rounds(spark: "SparkSession") -> None:
    """Signs, roots and rounding to any scale, halves away from zero or to the even."""
    rng = random.Random(18)
    every = [form.format(a=a) for form in ONE for a in NUMBERS]
    every += [
        f"{f}({a}, {n})" for f in ("round", "bround") for a in NUMBERS for n in (-38, -19, -10, -2, -1, 0, 1, 2, 17)
    ]
    result = compare(spark, Rows.of(spark, *table()), rng.sample(every, min(len(every), examples(90))))
    assert not result.wrong, "\n".join(result.wrong[:20])
    assert result.compared > 10_000


@pytest.mark.parametrize(
    ("operator", "left", "right", "expected"),
    [
        ("+", DecimalType(9, 2), DecimalType(5, 4), DecimalType(12, 4)),
        ("+", DecimalType(38, 10), DecimalType(38, 10), DecimalType(38, 9)),
        ("*", DecimalType(9, 2), DecimalType(5, 4), DecimalType(15, 6)),
        ("*", DecimalType(38, 10), DecimalType(38, 10), DecimalType(38, 6)),
        ("/", DecimalType(9, 2), DecimalType(5, 4), DecimalType(19, 8)),
        ("/", INT32, INT32, DOUBLE),
        ("/", FLOAT, FLOAT, DOUBLE),
        ("%", DecimalType(9, 2), DecimalType(5, 4), DecimalType(5, 4)),
        ("div", DecimalType(9, 2), INT8, INT64),
        ("+", INT8, INT16, INT16),
        ("+", INT64, FLOAT, DOUBLE),
        ("+", FLOAT, FLOAT, FLOAT),
    ],
)
def test_results_have_the_types_that_spark_gives_them(
    operator: str, left: AtomicType, right: AtomicType, expected: AtomicType
) -> None:
    """Decimals have room for every result, or as many digits after the point as are left, but six at least."""
    found = FUNCTIONS[operator]((Reference(1, "a", left), Reference(2, "b", right)), "UTC")
    assert isinstance(found, Call)
    assert found.type == expected


def test_a_literal_beside_a_decimal_has_just_its_digits() -> None:
    """To Spark 5 is a decimal(1,0) there, and 2 + 3 a decimal(10,0)."""
    money = Reference(1, "a", DecimalType(9, 2))
    five = FUNCTIONS["+"]((Fixed(2, INT32), Fixed(3, INT32)), "UTC")
    assert five == Fixed(5, INT32)
    assert isinstance(five, Fixed)
    types = [getattr(FUNCTIONS["*"]((money, value), "UTC"), "type", None) for value in (Fixed(5, INT32), five)]
    assert types == [DecimalType(11, 2), DecimalType(20, 2)]


def test_what_would_fail_is_not_folded() -> None:
    """Spark fails, or says something else without ANSI mode, where the value is needed; with try_ it is NULL."""
    by_zero = (Fixed(1, INT32), Fixed(0, INT32))
    assert isinstance(FUNCTIONS["div"](by_zero, "UTC"), Call)
    assert FUNCTIONS["try_divide"](by_zero, "UTC") == Fixed(None, DOUBLE)
    assert isinstance(FUNCTIONS["negative"]((Fixed(-(2**63), INT64),), "UTC"), Call)


def test_an_interval_has_a_negative_but_no_product() -> None:
    """It is no number."""
    day = Interval(0, 1, 0)
    assert FUNCTIONS["negative"]((day,), "UTC") == Interval(0, -1, 0)
    assert FUNCTIONS["*"]((day, Fixed(2, INT32)), "UTC") is None


def test_what_lies_between_two_results_came_from_between() -> None:
    """Where a function is said to be monotone, also with a fixed number on a side."""
    fixed: list[tuple[Value, AtomicType]] = [(5, INT32), (-3, INT32), (0, INT32), (2.5, DOUBLE), (-0.5, DOUBLE)]
    fixed += [(float("inf"), DOUBLE), (Decimal("0.01"), DecimalType(3, 2)), (Decimal("-7.5"), DecimalType(2, 1))]
    rng = random.Random(4)
    calls: list[Argument | None] = []
    for type_ in dict.fromkeys(type_ for type_, _ in NUMBERS.values()):
        column, other = Reference(1, "a", type_), Reference(2, "b", type_)
        constants = [Fixed(value, own) for value, own in fixed]
        for operator in ("+", "-", "*", "/", "div", "%", "pmod"):
            calls.append(FUNCTIONS[operator]((column, other), "UTC"))
            calls += [FUNCTIONS[operator]((column, constant), "UTC") for constant in constants]
            calls += [FUNCTIONS[operator]((constant, column), "UTC") for constant in constants]
        calls += [
            FUNCTIONS[name]((column,), "UTC") for name in ("negative", "abs", "floor", "ceil", "round", "sign", "sqrt")
        ]
        calls += [FUNCTIONS[name]((column, Fixed(n, INT32)), "UTC") for name in ("round", "bround") for n in (-2, 1)]
    plain = [call for call in calls if isinstance(call, Call) and all(not isinstance(a, Call) for a in call.arguments)]
    assert check_bounds(plain, monotone, rng) > 150
