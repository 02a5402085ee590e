"""Normalizing changes a predicate's form and never its outcome; SQL text says the same again."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalesce.model.schema import Schema
from coalesce.model.types import DOUBLE, INT32, STRING, DecimalType, Field, Value
from coalesce.model.values import order_key
from coalesce.predicate.bind import bind
from coalesce.predicate.expr import (
    FALSE,
    NULL,
    TRUE,
    And,
    Bound,
    Constant,
    InRange,
    InSet,
    IsNull,
    Not,
    Opaque,
    Or,
)
from coalesce.predicate.normalize import conjuncts, normalize, to_sql
from coalesce.predicate.scalar.nodes import Reference
from coalesce.predicate.sql.parse import parse
from tests.predicate.reference import outcome

SCHEMA = Schema(
    (
        Field(id=1, name="k", type=INT32),
        Field(id=2, name="app", type=STRING),
        Field(id=3, name="x y", type=DOUBLE),
        Field(id=4, name="m", type=DecimalType(9, 2)),
    )
)
K, APP = Reference(1, "k", INT32), Reference(2, "app", STRING)
COLUMNS = [K, APP, Reference(3, "x y", DOUBLE), Reference(4, "m", DecimalType(9, 2))]
VALUES: dict[int, list[Value]] = {
    1: [0, 1, 2, 5, -1],
    2: ["", "a", "ab", "it's", "\\"],
    3: [0.0, 1.5, float("inf"), float("nan"), -1.0],
    4: [Decimal("0.00"), Decimal("1.50"), Decimal("-1.50")],
}
OPAQUES = ["f(k)", "g(app)"]


@st.composite
def leaves(draw: st.DrawFn) -> Bound:
    """A leaf, a constant, or an Opaque; empty and inverted ranges among them."""
    column = draw(st.sampled_from(COLUMNS))
    one = st.sampled_from(VALUES[column.id])
    match draw(st.integers(0, 5)):
        case 0:
            return IsNull(column)
        case 1:
            return Constant(draw(st.sampled_from([True, False, None])))
        case 2:
            return Opaque(draw(st.sampled_from(OPAQUES)), frozenset({1}))
        case 3:
            low, high = draw(st.none() | one), draw(st.none() | one)
            return InRange(column, low, draw(st.booleans()), high, draw(st.booleans()))
        case _:
            chosen = {order_key(column.type, v): v for v in draw(st.lists(one, max_size=4))}
            return InSet(column, tuple(chosen[key] for key in sorted(chosen)))


def predicates() -> st.SearchStrategy[Bound]:
    """Predicates of any shape."""
    return st.recursive(
        leaves(),
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=4).map(lambda parts: And(tuple(parts))),
            st.lists(inner, min_size=1, max_size=4).map(lambda parts: Or(tuple(parts))),
            inner.map(Not),
        ),
        max_leaves=12,
    )


@st.composite
def rows(draw: st.DrawFn) -> dict[int, Value]:
    """A row, NULLs included."""
    return {c.id: draw(st.none() | st.sampled_from(VALUES[c.id])) for c in COLUMNS}


opaque_outcomes = st.fixed_dictionaries({text: st.sampled_from([True, False, None]) for text in OPAQUES})


@given(predicates(), rows(), opaque_outcomes)
def test_outcome_stays(expr: Bound, row: dict[int, Value], opaque: dict[str, bool | None]) -> None:
    """TRUE, FALSE or NULL: the same before and after, for every row."""
    assert outcome(normalize(expr), row, opaque) is outcome(expr, row, opaque)


def test_ranges_that_exclude_each_other_are_one_empty_set() -> None:
    """Also beside a set of the same column, which has no say then."""
    column = Reference(1, "k", INT32)
    none, below, above = (
        InSet(column, ()),
        InRange(column, None, False, 0, False),
        InRange(column, 0, False, None, False),
    )
    assert normalize(And((none, below, above))) == normalize(And((below, above))) == none


@given(predicates())
def test_form(expr: Bound) -> None:
    """Flat, negations on leaves only, no constant but where NULL matters; and doing it twice changes nothing."""
    plain = normalize(expr)
    assert normalize(plain) == plain
    _check(plain, None)


def _check(expr: Bound, parent: type | None) -> None:
    match expr:
        case And(parts) | Or(parts):
            assert type(expr) is not parent
            assert len(parts) > 1
            assert len(set(parts)) == len(parts)
            assert TRUE not in parts
            assert FALSE not in parts
            for part in parts:
                _check(part, type(expr))
        case Not(part):
            assert not isinstance(part, And | Or | Not | Constant)
        case _:
            pass


@given(predicates(), rows())
def test_sql_says_the_same(expr: Bound, row: dict[int, Value]) -> None:
    """The text that is handed to Spark, read and bound again, has the same outcome."""
    opaque = dict.fromkeys(OPAQUES, True)
    text = to_sql(expr)
    again = bind(parse(text), SCHEMA, text=text)
    assert outcome(again, row, opaque) is outcome(expr, row, opaque)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k = 1 AND (app = 'a' AND k = 1)", "k = 1 AND app = 'a'"),
        ("NOT (k = 1 AND NOT app = 'a')", "k <> 1 OR app = 'a'"),
        ("NOT (k = 1 OR app IS NULL)", "k <> 1 AND app IS NOT NULL"),
        ("k = 1 OR k IN (3, 2) OR app = 'a' OR k = 1", "k IN (1, 2, 3) OR app = 'a'"),
        ("k <> 1 AND k NOT IN (3, 2)", "k NOT IN (1, 2, 3)"),
        ("k IN (1, 2, 3) AND k IN (2, 3, 4)", "k IN (2, 3)"),
        ("k = 1 AND k = 2", "k <> k"),
        ("k > 1 AND app = 'a' AND k <= 9 AND k > 3", "(k > 3 AND k <= 9) AND app = 'a'"),
        ("k >= 2 AND k < 2", "k <> k"),
        ("k = 1 AND true", "k = 1"),
        ("k = 1 AND false", "false"),
        ("k = 1 OR true", "true"),
        ("k = 1 OR false", "k = 1"),
        ("k = 1 AND NULL", "k = 1 AND CAST(NULL AS BOOLEAN)"),  # may still be FALSE
        ("NOT NULL", "CAST(NULL AS BOOLEAN)"),
        ("NOT (k NOT IN (1, NULL))", "k = 1 OR CAST(NULL AS BOOLEAN)"),
        ("lower(app) = 'a' OR k = 1 AND m > 1.5", "(lower(app) = 'a') OR (k = 1 AND m > 1.50BD)"),
        ("NOT lower(app) = 'a'", "NOT (lower(app) = 'a')"),
        ("NOT k > 5", "NOT (k > 5)"),
        ("`x y` = 'NaN'", "`x y` = CAST('NaN' AS DOUBLE)"),
        ("app = 'it''s'", "app = 'it\\'s'"),
    ],
)
def test_examples(text: str, expected: str) -> None:
    """What becomes of some predicates, in SQL."""
    assert to_sql(normalize(bind(parse(text), SCHEMA, text=text))) == expected


def test_long_lists_are_cut_for_the_eye() -> None:
    """A report shows the first values and how many more there are."""
    assert to_sql(InSet(K, tuple(range(1_500))), longest_list=3) == "k IN (0, 1, 2, … 1,497 more)"
    assert to_sql(InSet(K, (1, 2, 3)), longest_list=3) == "k IN (1, 2, 3)"


def test_conjuncts() -> None:
    """The conditions that must all hold: none for TRUE, the whole for anything that is not an And."""
    one, other = IsNull(K), InSet(APP, ("a",))
    assert conjuncts(And((one, other))) == (one, other)
    assert conjuncts(Or((one, other))) == (Or((one, other)),)
    assert conjuncts(TRUE) == ()
    assert conjuncts(FALSE) == (FALSE,)
    assert conjuncts(NULL) == (NULL,)


def test_long_chains() -> None:
    """Chains of any length, built up one by one, are made flat without recursion."""
    expr: Bound = InSet(K, (0,))
    for i in range(1, 20_000):
        expr = Or((expr, InSet(K, (i,))))
    assert normalize(expr) == InSet(K, tuple(range(20_000)))
    for _ in range(20_000):
        expr = Not(expr)
    assert normalize(expr) == InSet(K, tuple(range(20_000)))
