"""CASE, coalesce and what else chooses among its arguments."""

import random
from typing import TYPE_CHECKING

from coalesce.model.types import INT32, INT64
from coalesce.predicate.scalar.choices import FUNCTIONS
from coalesce.predicate.scalar.nodes import Call, Fixed, Reference
from tests.predicate.scalar.against_spark import Rows, compare
from tests.predicate.scalar.awkward_numbers import COLUMNS, NUMBERS, table
from tests.support.examples import examples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMS = (
    "CASE WHEN {c} THEN {a} ELSE {b} END", "CASE WHEN {c} THEN {a} WHEN {d} THEN {b} END", "if({c}, {a}, {b})",
    "CASE {a} WHEN {b} THEN {a} ELSE NULL END", "coalesce({a}, {b})", "coalesce({a}, {b}, {a})", "nvl({a}, {b})",
    "ifnull({a}, NULL)", "nvl2({b}, {a}, {b})", "nullif({a}, {b})", "greatest({a}, {b})", "least({a}, {b}, {a})",
    "nanvl({a}, {b})", "nullifzero({a})", "zeroifnull({a})", "coalesce(NULL, {a})", "greatest({a}, NULL)",
    "if(NULL, {a}, {b})", "coalesce({a}, 5)", "least({a}, 1.5)",
)  # fmt: skip
CONDITIONS = (
    "bo",
    "i32 > 0",
    "i8 + i8 > 3",
    "CAST(st AS INT) = 5",
    "NOT bo",
    "db / i8 > 1",
    "isnan(db)",
    "true",
    "NULL",
)


def choices(rng: random.Random, names: list[str]) -> str:
    """One of the forms, with columns and conditions."""
    a, b = rng.choice(names), rng.choice(names)
    return rng.choice(FORMS).format(a=a, b=b, c=rng.choice(CONDITIONS), d=rng.choice(CONDITIONS))


def test_what_is_chosen_is_what_spark_chooses(spark: "SparkSession") -> None:
    """Every form on columns of every pair of types: types meet as in Spark, and what is not chosen cannot fail."""
    rng = random.Random(16)
    rows = Rows.of(spark, *table())
    alike = [form for form in FORMS if not any(literal in form for literal in ("5", "zeroifnull"))]
    one = [form.format(a=a, b=a, c="bo", d="i8 + i8 > 3") for form in alike for a in rng.sample(list(COLUMNS), 2)]
    result = compare(spark, rows, one)
    assert not result.wrong, "\n".join(result.wrong[:20])
    many = [choices(rng, list(COLUMNS)) for _ in range(examples(60))]
    mixed = compare(spark, rows, many, ansi=(True,))  # without ANSI mode types meet otherwise, and Catalyst says so
    assert not mixed.wrong, "\n".join(mixed.wrong[:20])
    assert result.compared + mixed.compared > 10_000


def test_what_is_not_chosen_is_not_computed(spark: "SparkSession") -> None:
    """A division by zero behind a condition that keeps it away is no reason to be unsure."""
    rows = Rows.of(spark, *table())
    texts = ["CASE WHEN i32 <> 0 THEN i64 div i32 END", "coalesce(i32, CAST('x' AS INT)) > 0", "if(i8 = 0, 0, 1 / i8)"]
    result = compare(spark, rows, texts)
    assert not result.wrong
    divided = rows.value(texts[2], "UTC")
    assert divided is not None
    assert not rows.ours(divided)[1].any()


def test_a_choice_among_fixed_values_is_fixed() -> None:
    """Nothing is left to compute for each row."""
    assert FUNCTIONS["coalesce"]((Fixed(None, None), Fixed(5, INT32)), "UTC") == Fixed(5, INT32)
    assert FUNCTIONS["greatest"]((Fixed(7, INT64), Fixed(None, INT64), Fixed(9, INT32)), "UTC") == Fixed(9, INT64)
    column = Reference(1, "a", INT32)
    assert isinstance(FUNCTIONS["coalesce"]((column, Fixed(5, INT32)), "UTC"), Call)


def test_text_and_numbers_have_no_greatest() -> None:
    """Spark refuses it, though it compares the two."""
    names = [name for name in NUMBERS if name != "bo"]
    for name in names:
        mixed = (Reference(1, "a", NUMBERS[name][0]), Reference(2, "st", COLUMNS["st"][0]))
        assert FUNCTIONS["greatest"](mixed, "UTC") is None
