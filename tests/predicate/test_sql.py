"""Reading predicates from SQL: what is understood, and as what."""

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coalesce.errors import PredicateError
from coalesce.model.types import DATE, DOUBLE, INT64, STRING, TIMESTAMP, AtomicType, DecimalType, Value
from coalesce.model.values import display, order_key
from coalesce.predicate.expr import (
    And,
    Calculation,
    Column,
    Comparison,
    Condition,
    Constant,
    Expr,
    Literal,
    Membership,
    NanTest,
    Not,
    NullTest,
    Opaque,
    Operand,
    Or,
    Prefix,
    Truth,
)
from coalesce.predicate.names import dotted, parts_of
from coalesce.predicate.render import column_sql, literal_sql
from coalesce.predicate.scalar.nodes import Interval
from coalesce.predicate.sql.parse import parse
from tests.strategies import types_with_values

FIXTURE = Path(__file__).parent / "fixtures" / "parse.sql"


def pairs() -> list[tuple[str, str]]:
    """Input and expected from the fixture file: paragraphs of two lines; `--` lines are headings."""
    paragraphs = FIXTURE.read_text(encoding="utf-8").split("\n\n")
    lines = [[line for line in p.strip("\n").split("\n") if not line.startswith("--")] for p in paragraphs]
    return [(pair[0], pair[1]) for pair in lines if pair]


def described(expr: Expr) -> str:
    """An expression in the fixture's notation: every literal with its type, nothing left to precedence."""
    match expr:
        case And(parts):
            return "(" + " and ".join(described(p) for p in parts) + ")"
        case Or(parts):
            return "(" + " or ".join(described(p) for p in parts) + ")"
        case Not(part):
            return f"not {described(part)}"
        case Constant(value):
            return {True: "TRUE", False: "FALSE", None: "NULL"}[value]
        case Opaque(_, columns):
            return "opaque" if columns is None else f"opaque[{', '.join(sorted(map(str, columns)))}]"
        case Comparison(column, operator, literal):
            return f"{column_sql(column)} {operator.value} {_literal(literal)}"
        case Membership(column, literals):
            return f"{column_sql(column)} in {{{', '.join(map(_literal, literals))}}}"
        case NullTest(column):
            return f"null({column_sql(column)})"
        case NanTest(column):
            return f"nan({column_sql(column)})"
        case Prefix(column, prefix, whole=whole):
            return f"{'whole' if whole else 'prefix'}({column_sql(column)}, {display(STRING, prefix)})"
        case Truth(column):
            return f"truth({column_sql(column)})"
        case Condition(value):
            return f"computed {_operand(value)}"
        case _:
            raise AssertionError(f"{expr} is bound")


def _operand(operand: Operand) -> str:
    match operand:
        case Column():
            return column_sql(operand)
        case Literal():
            return _literal(operand)
        case Interval(months, days, micros):
            return f"interval({months}, {days}, {micros})"
        case Calculation(function, arguments, type_):
            made = "" if type_ is None else f" as {type_}"
            return f"{function}({', '.join(map(_operand, arguments))}{made})"


def _literal(literal: Literal) -> str:
    return "null" if literal.type is None else f"{display(literal.type, literal.value)}:{literal.type}"


@pytest.mark.parametrize(("text", "expected"), pairs(), ids=lambda value: value[:60])
def test_fixture(text: str, expected: str) -> None:
    """Each line of the fixture is read as the line below it says."""
    assert described(parse(text)) == expected


def test_positions_point_into_the_text() -> None:
    """Names and literals know where they stood, for the caret of a later error."""
    expr = parse("a = 1 AND ev.app IN ('x', 'y')")
    assert isinstance(expr, And)
    first, second = expr.parts
    assert isinstance(first, Comparison)
    assert isinstance(second, Membership)
    assert (first.column.position, first.literal.position) == (0, 4)
    assert second.column == Column(("ev", "app"), 10)
    assert [literal.position for literal in second.literals] == [21, 26]


def test_condition_keeps_its_text() -> None:
    """A condition carries the very words it was written in, not another spelling."""
    expr = parse("  k /* key */ <=  5  AND lower( app )  = 'x' ")
    assert isinstance(expr, And)
    assert [part.text for part in expr.parts if isinstance(part, Comparison | Condition)] == [
        "k /* key */ <=  5",
        "lower( app )  = 'x'",
    ]


def test_time_zone_decides_what_a_timestamp_means() -> None:
    """A timestamp without a zone is read in the session's, one with a zone is not."""
    hour = 3_600_000_000
    for text, shift in (("TIMESTAMP '2026-05-17 12:00:00'", 2), ("TIMESTAMP '2026-05-17 12:00:00Z'", 0)):
        utc, berlin = parse(f"ts = {text}"), parse(f"ts = {text}", time_zone="Europe/Berlin")
        assert isinstance(utc, Comparison)
        assert isinstance(berlin, Comparison)
        assert isinstance(utc.literal.value, int)
        assert berlin.literal == Literal(utc.literal.value - shift * hour, TIMESTAMP, 5)


def test_repeated_wall_clock_is_not_guessed() -> None:
    """Catalyst prints both 02:30s of the night when summer time ends alike: either may be meant."""
    assert isinstance(parse("ts = TIMESTAMP '2026-10-25 02:30:00'", time_zone="Europe/Berlin"), Opaque)
    assert isinstance(parse("ts = TIMESTAMP '2026-10-25 03:30:00'", time_zone="Europe/Berlin"), Comparison)


@given(types_with_values(nulls=False))
@example((STRING, "a'b\\c\n\0\x1a%_🙂"))
@example((DOUBLE, 1e308))
@example((INT64, -(2**63)))
@example((DecimalType(38, 38), Decimal("1E-38")))
@example((DATE, -719_162))
def test_literals_round_trip(typed: tuple[AtomicType, Value]) -> None:
    """What is written as SQL is read back as the same value of the same type."""
    type_, value = typed
    expr = parse(f"c = {literal_sql(type_, value)}")
    if isinstance(expr, Opaque):
        assert type_ in (DATE, TIMESTAMP) or str(type_) == "timestamp_ntz"  # years that have five digits, or none
        return
    assert isinstance(expr, Comparison)
    assert order_key(type_, expr.literal.value) == order_key(type_, value)
    # A decimal is as wide as its digits; its value is what counts.
    assert expr.literal.type == type_ or isinstance(type_, DecimalType)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4))
@example(["WITH"])
def test_names_round_trip(parts: list[str]) -> None:
    """Any name can be quoted, split again, and read in a predicate."""
    name = dotted(tuple(parts))
    assert parts_of(name) == tuple(parts)
    assert parse(f"{name} IS NULL") == NullTest(Column(tuple(parts), 0))


def _refusal(text: str) -> PredicateError | None:
    try:
        parse(text)
    except PredicateError as error:
        return error
    return None


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text whatever makes the reader fail in any other way than its own."""
    error = _refusal(text)
    if error is not None:
        assert error.text == text
        assert error.position is None or 0 <= error.position <= len(text)


_WORDS = st.sampled_from(
    [
        "a", "b.c", "`d e`", "1", "5L", "1.5BD", "'x'", "NULL", "true", "(", ")", ",", "=", "<>", "<=>", "AND", "OR",
        "NOT", "IN", "BETWEEN", "LIKE", "IS", "CASE", "WHEN", "THEN", "END", "CAST", "AS", "INT", "-", "+", "f", "[",
        "]", "::",
        "->", "DATE", "'2026-01-01'", "!", ";", ".", "SELECT", "FROM", "OVER",
    ]
)  # fmt: skip


@given(st.lists(_WORDS, max_size=15).map(" ".join))
def test_any_words_are_read_or_refused(text: str) -> None:
    """The same for texts that look more like SQL."""
    error = _refusal(text)
    assert error is None or error.text == text
