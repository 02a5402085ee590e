"""Codes compare as the values do, one by one and many at a time."""

from hypothesis import given
from hypothesis import strategies as st

from coalesce.model.types import AtomicType, Value
from coalesce.model.values import column_of, order_key
from coalesce.predicate.encoding import Ranks, encode
from tests import strategies


def sorted_distinct(type_: AtomicType, values: list[Value]) -> list[Value]:
    """As the values of an IN-list are: in Spark's order, each once."""
    distinct = {order_key(type_, v): v for v in values}
    return [distinct[key] for key in sorted(distinct)]


@st.composite
def encoded_and_asked(draw: st.DrawFn) -> tuple[AtomicType, list[Value], list[Value]]:
    """Values of a column, and values asked for: some of them in the column, some between, below or above."""
    type_ = draw(strategies.atomic_types())
    here = draw(strategies.columns(type_, nulls=False, max_size=6))
    others = draw(strategies.columns(type_, nulls=False, max_size=20))
    asked = others + (draw(st.lists(st.sampled_from(here))) if here else [])
    return type_, here, sorted_distinct(type_, asked)


@given(encoded_and_asked())
def test_a_literal_is_the_codes_that_equal_it(drawn: tuple[AtomicType, list[Value], list[Value]]) -> None:
    """Inside its interval are the values that equal it, below it the smaller and above it the greater ones."""
    type_, here, asked = drawn
    encoding, codes = encode(type_, column_of(type_, here))
    for literal in asked:
        first, last = encoding.interval(literal)
        for value, code in zip(here, codes.tolist(), strict=True):
            key, wanted = order_key(type_, value), order_key(type_, literal)
            assert (first <= code <= last) == (key == wanted)
            assert (code < first) == (key < wanted)
            assert (code > last) == (key > wanted)


@given(encoded_and_asked())
def test_many_literals_have_the_intervals_of_each(drawn: tuple[AtomicType, list[Value], list[Value]]) -> None:
    """However many are asked for: of those that stand between the same two values, one is enough."""
    type_, here, asked = drawn
    if not asked:
        return
    encoding, _ = encode(type_, column_of(type_, here))
    firsts, lasts = encoding.intervals(asked)
    found = list(zip(firsts.tolist(), lasts.tolist(), strict=True))
    assert found == sorted(found)
    assert set(found) == {encoding.interval(v) for v in asked}
    if isinstance(encoding, Ranks):
        assert len(found) <= 2 * len(encoding.values) + 1
