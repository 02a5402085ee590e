"""Bad predicates: a clear error that points at the place, in bounded time, and never any other kind of failure."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from coalesce.errors import PredicateError
from coalesce.model.schema import Schema
from coalesce.model.types import INT32, INT64, STRING, Field, StructType
from coalesce.predicate.bind import bind
from coalesce.predicate.expr import And, Comparison, InSet, Membership, Or
from coalesce.predicate.normalize import normalize, to_sql
from coalesce.predicate.scalar.nodes import Reference
from coalesce.predicate.sql.parse import parse

SCHEMA = Schema(
    (
        Field(id=1, name="dt", type=STRING),
        Field(id=2, name="app", type=STRING),
        Field(id=3, name="k", type=INT32),
        Field(id=4, name="payload", type=StructType((Field(id=5, name="size", type=INT64),))),
    )
)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Bounded time: many times what it takes on a slow machine, far less than what a blow-up takes."""
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds


@pytest.mark.parametrize(
    ("text", "at", "reason"),
    [
        ("dt ==", 5, "== has nothing on its right; is the value missing?"),
        ("app = ", 5, "= has nothing on its right; is the value missing?"),
        ("= 'A'", 0, "= has nothing on its left."),
        ("app = 'A", 6, "this text is never closed; a ' inside it is written \\' or ''."),
        ("`app = 'A'", 0, "this back-quoted name is never closed; a ` inside one is written ``."),
        ("app = 'A' /* why", 10, "this comment is never closed; end it with */."),
        ("(app = 'A'", 0, "this '(' is never closed."),
        ("app = 'A')", 9, "this ')' closes nothing."),
        ("f(app[0) = 1", 7, "there should be a ']' before this ')'."),
        ("app = 'A' AND", 13, "AND has no condition on its right."),
        ("app = 'A' AND OR dt = 'x'", 14, "AND has no condition on its right."),
        ("OR app = 'A'", 0, "OR has no condition on its left."),
        ("NOT", 3, "NOT has no condition on its right."),
        ("app = 'A' AND ()", 15, "there is no condition between these parentheses."),
        ("", 0, "the predicate is empty; write a condition, or true for all rows."),
        ("  -- nothing", 0, "the predicate is empty; write a condition, or true for all rows."),
        ("WHERE app = 'A'", 0, "leave out WHERE: only the condition is wanted."),
        ("app = 'A'; dt = 'x'", 9, "';' cannot stand here; one condition only, please."),
        ("app = 'A', dt = 'x'", 9, "',' cannot stand here; join conditions with AND or OR."),
        ("app = 'A' dt = 'x'", 10, "this is not a condition in Spark SQL near 'dt'."),
        ("app IN", 6, "IN needs a list of values in parentheses."),
        ("app IN ()", 8, "IN needs at least one value; an empty list is never matched."),
        ("app IN 'A'", 6, "IN needs a list of values in parentheses."),
        ("app LIKE", 8, "LIKE has nothing on its right; is the value missing?"),
        ("k BETWEEN 1", 10, "this is not a condition in Spark SQL near '1'."),
        ("dt = DATE '2026-02-30'", 5, "there is no date 2026-02-30."),
    ],
)
def test_syntax(text: str, at: int, reason: str) -> None:
    """The error says what is wrong and where."""
    with pytest.raises(PredicateError) as caught:
        parse(text)
    assert (caught.value.reason, caught.value.position) == (reason, at)
    assert caught.value.text == text


@pytest.mark.parametrize("text", ["k IN (SELECT 1)", "EXISTS (SELECT 1)", "k > (SELECT max(k) FROM t)"])
def test_subquery(text: str) -> None:
    """A subquery is refused, with what to do instead."""
    with pytest.raises(PredicateError, match="cannot have a subquery; compute it first"):
        parse(text)


@pytest.mark.parametrize("text", ["max(k) = 1", "k = 1 AND count(*) > 1", "sum(k) OVER (PARTITION BY app) > 1"])
def test_more_than_one_row(text: str) -> None:
    """So are aggregates and windows."""
    with pytest.raises(PredicateError, match="one row at a time"):
        parse(text)


def test_caret() -> None:
    """The message shows the line and a caret under the place, also far into a long predicate."""
    with pytest.raises(PredicateError) as caught:
        parse("k = 1 AND\n  app = 'A")
    assert str(caught.value).splitlines()[1:] == ["    app = 'A", "          ^"]


@pytest.mark.parametrize(
    ("text", "at", "suggestion"),
    [
        ("ap = 'A'", 0, "there is no column 'ap'; did you mean 'app'?"),
        ("k = 1 AND ev.apps = 'A'", 10, "there is no column 'apps'; did you mean 'app'?"),
        ("x IN (1)", 0, "there is no column 'x'; the columns are dt, app, k, payload."),
        ("lower(ap) = 'a'", 6, "there is no column 'ap'; did you mean 'app'?"),
    ],
)
def test_unknown_column(text: str, at: int, suggestion: str) -> None:
    """An unknown column is an error with a suggestion and a caret."""
    with pytest.raises(PredicateError) as caught:
        bind(parse(text), SCHEMA, text=text)
    assert caught.value.reason == suggestion
    assert caught.value.position == at


def test_case_matters_only_if_asked() -> None:
    """Names are found without regard to case, unless the session says otherwise."""
    assert bind(parse("APP = 'A'"), SCHEMA) == InSet(Reference(2, "app", STRING), ("A",))
    with pytest.raises(PredicateError, match="did you mean 'app'"):
        bind(parse("APP = 'A'"), SCHEMA, case_sensitive=True)


def test_a_megabyte_of_parentheses() -> None:
    """Nesting beyond all reason is an error, not a crash."""
    for text in ("(" * 500_000 + "k = 1" + ")" * 500_000, "(" * 1_000_000, "f(" * 300_000 + "k" + ")" * 300_000):
        with within(20), pytest.raises(PredicateError, match="nests more than"):
            parse(text)
    with within(20), pytest.raises(PredicateError, match="closes nothing"):
        parse(")" * 1_000_000)


def test_deep_alternation() -> None:
    """AND in OR in AND, hundreds deep, is an error, since it could not be made flat."""
    with within(20), pytest.raises(PredicateError, match="more than 100 levels deep"):
        parse("(k = 1 AND (k = 2 OR " * 500 + "k = 3" + "))" * 500)


def test_deep_but_simple() -> None:
    """Parentheses and NOTs that come to nothing are no obstacle, as deep as they may be."""
    with within(20):
        assert parse("(" * 50_000 + "k = 1" + ")" * 50_000) == parse(" " * 50_000 + "k = 1")
        assert isinstance(parse("NOT " * 100_000 + "k = 1"), Comparison)
        assert isinstance(parse("NOT (" * 50_000 + "k = 1" + ")" * 50_000), Comparison)


def test_ten_thousand_alternatives() -> None:
    """A chain of ORs as long as a program can make it, as users write it and as Catalyst nests it."""
    chain = " OR ".join(f"k = {i}" for i in range(10_000))
    nested = "(" * 9_999 + "(k = 0)" + "".join(f" OR (k = {i}))" for i in range(1, 10_000))
    expected = InSet(Reference(3, "k", INT32), tuple(range(10_000)))
    for text in (chain, nested):
        with within(20):
            expr = parse(text)
            assert isinstance(expr, Or)
            assert len(expr.parts) == 10_000
            assert normalize(bind(expr, SCHEMA, text=text)) == expected


def test_a_hundred_thousand_values() -> None:
    """A list of a hundred thousand values is read, bound, simplified and written."""
    text = "k IN (" + ", ".join(str(i) for i in range(100_000)) + ") AND k NOT IN (5, 7)"
    with within(30):
        expr = parse(text)
        assert isinstance(expr, And)
        assert isinstance(expr.parts[0], Membership)
        bound = normalize(bind(expr, SCHEMA, text=text))
        assert len(to_sql(bound)) > 500_000
        assert len(to_sql(bound, longest_list=5)) < 200


@pytest.mark.parametrize(
    "text",
    [
        "k = " + "-" * 100_000 + "1",
        "k = " + "- " * 100_000 + "1",
        "k = 1" + " + 1" * 50_000,
        "k" + ".k" * 50_000 + " = 1",
        "k = '" + "x''" * 300_000 + "'",
        "1" * 1_000_000 + " = k",
        "1" * 1_000_000 + "x = 1",
        "k = 1e" + "9" * 100_000,
        "k = 0." + "1" * 100_000 + "BD",
        "lower(" * 5_000 + "app" + ")" * 5_000 + " = 'a'",
        "CASE WHEN k = 1 THEN " * 5_000 + "true" + " END" * 5_000,
        "k " + "= k " * 5_000,
        "a" * 1_000_000,
        "/*" * 100_000,
    ],
    ids=lambda text: text[:20],
)
def test_long_and_strange(text: str) -> None:
    """Long texts of every shape are read or refused, in bounded time."""
    with within(30):
        try:
            bind(parse(text), SCHEMA, text=text)
        except PredicateError as error:
            assert len(str(error)) < 2_000_000  # noqa: PT017 - a name may be as long as the text
