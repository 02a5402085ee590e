"""LIKE, ILIKE and RLIKE say what Spark says, and regular expressions that Java reads otherwise are left to Spark."""

import random
from itertools import product
from typing import TYPE_CHECKING

import pytest

from coalesce.model.types import STRING
from coalesce.predicate.scalar.nodes import Fixed, Reference
from coalesce.predicate.scalar.patterns import FUNCTIONS
from coalesce.predicate.scalar.regular_expressions import translated
from tests.predicate.scalar.against_spark import compare
from tests.predicate.scalar.awkward_texts import TEXT_COLUMNS, rows
from tests.support.examples import examples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PIECES = ("%", "_", "a", "b", "S", "N", "\\%", "\\_", "\\\\", "é", "🙂", "X", " ", ".", "*", "\n", "ß", "Σ", "")
EXPRESSIONS = (
    "a", "^a", "a$", "^a$", "^$", "", "a.b", "a.*b", "^.$", "^..$", "[a-c]+$", "^[^a]", "[A-Z]", "\\d", "\\D",
    "\\w+", "\\W", "\\s", "\\S$", "a|b", "(ab|ba)", "(abc)+", "(?:abc){3}", "a{2,3}", "a{7}", "a{2,}$", "x{40}",
    "^x*$", "\\.", "[.@]", "[^\\d\\s]", "é", "[é🙂]", "🙂", "^\\w+@\\w+\\.org$", "a?b", "a+?b", "\\n", "a\\nb",
    "[-a]", "[a-]", "%", "_", "'", "ß", "(a|b|c)*$", "^(a|b|c)+$", "[\\w.]+",
)  # fmt: skip


def every_call() -> list[str]:
    """Patterns of all sorts."""
    chance = random.Random(5)
    patterns = ["".join(chance.choice(_PIECES) for _ in range(length)) for length in range(6) for _ in range(60)]
    quoted = [pattern.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") for pattern in patterns]
    calls = [f"{text} {test} '{pattern}'" for text, test, pattern in product(("st", "sb"), ("LIKE", "ILIKE"), quoted)]
    calls += [f"st NOT LIKE '{pattern}'" for pattern in quoted[::9]]
    escapes = ("/", "%", "_", "a", "x", "A")
    calls += [
        f"st LIKE '{p}' ESCAPE '{e}'"
        for p in ("S/_N", "a/%b", "%%", "S__N", "a_%", "xx%", "a", "aa%", "/", "A%%")
        for e in escapes
    ]
    calls += [f"st ILIKE '{p}' ESCAPE '{e}'" for p in ("s/_n", "S/_N", "A_%", "aaB") for e in escapes]
    written = [expression.replace("\\", "\\\\").replace("'", "\\'") for expression in EXPRESSIONS]
    calls += [f"{text} RLIKE '{expression}'" for text, expression in product(("st", "sb", "dt"), written)]
    calls += [f"regexp_like(st, '{expression}')" for expression in written[::3]]
    calls += [
        "i8 LIKE '1%'",
        "da LIKE '2026-%'",
        "by LIKE 'a'",
        "st LIKE sb",
        "st LIKE NULL",
        "NULL LIKE 'a'",
        "'SoN' LIKE 'S_N'",
    ]
    return calls


def test_patterns_match_what_they_match_in_spark(spark: "SparkSession") -> None:
    """Any pattern on any text."""
    calls = every_call()
    result = compare(spark, rows(spark, TEXT_COLUMNS), random.Random(16).sample(calls, min(examples(150), len(calls))))
    assert not result.wrong, "\n".join(result.wrong[:20])
    assert result.unsure < result.compared / 20, "hardly anything is unsure"


@pytest.mark.parametrize(
    "pattern", ["(?i)a", "a*+", "\\bword\\b", "\\p{L}", "(a)\\1", "a(?=b)", "[a&&b]", "[[a]b]", "a{1000}", "(a*)*",
    "(a|)", "x$y", "(^a)", "\\x41", "\\Qa\\E", "[]a]", "a**", "(a", "a)", "[z-a]", "{", "\\", "[a-\\d]", "^a|b$",
    "[\\D]"],
)  # fmt: skip
def test_what_java_may_read_otherwise_is_left_to_it(pattern: str) -> None:
    """Flags, references, borders of words, and what is no expression at all."""
    assert translated(pattern) is None


def test_a_pattern_that_is_too_long_is_left_to_spark() -> None:
    """RE2 has an end to its memory; nothing fails for it."""
    text = Reference(1, "c", STRING)
    assert FUNCTIONS["like"]((text, Fixed("_" * 1_000_000, STRING)), "UTC") is None
    assert FUNCTIONS["like"]((text, Fixed("_" * 100, STRING)), "UTC") is not None
