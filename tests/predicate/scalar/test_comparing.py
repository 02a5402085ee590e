"""Comparisons of any two values, lists of them, and conditions that are values."""

from typing import TYPE_CHECKING

from tests.predicate.scalar.against_spark import Rows, compare
from tests.predicate.spark_predicates import COLUMNS, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPERATORS = ("=", "<>", "<", "<=", ">", ">=", "<=>")


def test_two_columns_compare_as_in_spark(spark: "SparkSession") -> None:
    """Every pair of columns of comparable types, with every operator, in lists, and as conditions that are values."""
    rows = Rows.of(spark, *table())
    result = compare(spark, rows, [f"{a} {operator} {a}" for a in COLUMNS for operator in OPERATORS])
    assert not result.wrong, "\n".join(result.wrong[:20])
    # Without ANSI mode unlike types meet otherwise, and Catalyst says so.
    pairs = [(a, b) for a in COLUMNS for b in COLUMNS]
    texts = [f"{a} {OPERATORS[i % len(OPERATORS)]} {b}" for i, (a, b) in enumerate(pairs)]
    texts += [f"({a} = {b}) IS NOT TRUE" for a, b in pairs[::7]]
    texts += [f"({a} < {b}) = ({b} >= {a})" for a, b in pairs[::7]]
    # What one part decides is known; Spark may fail of a text in another part before it comes to that.
    numbers = [(a, b) for a, b in pairs if (a == "st") == (b == "st")]
    texts += [f"{a} IN ({b}, {a})" for a, b in numbers[::5]]
    texts += [f"NOT ({a} = {b} AND bo) OR {a} IS NULL" for a, b in numbers[::6]]
    mixed = compare(spark, rows, texts, ansi=(True,))
    assert not mixed.wrong, "\n".join(mixed.wrong[:20])
    assert result.compared + mixed.compared > 10_000
