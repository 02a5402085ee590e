"""Many alternatives are asked only where they may hold, and the answer is the one there would be otherwise."""

from unittest.mock import patch

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from coalesce.model.columns import is_null
from coalesce.model.schema import Schema
from coalesce.model.transforms import Bucket, apply
from coalesce.model.types import INT32, INT64, Field
from coalesce.plan.planner import Judge
from coalesce.predicate import alternatives, outcomes
from coalesce.predicate.alternatives import FEW, by_values
from coalesce.predicate.domains import Both, Domain, Gathered, Hashed, Interval, KnownWhere, Remembered, rows_domain
from coalesce.predicate.expr import And, Bound, InRange, InSet, IsNull, Not, Or
from coalesce.predicate.scalar.nodes import Reference
from tests.support.examples import examples

A, B = Reference(1, "a", INT32), Reference(2, "b", INT64)
SCHEMA = Schema((Field(id=1, name="a", type=INT32), Field(id=2, name="b", type=INT64)))
VALUES = st.integers(0, 12)


def leaves(column: Reference) -> st.SearchStrategy[Bound]:
    """Conditions on one column; most of them are sets."""
    sets = st.sets(VALUES, max_size=4).map(lambda held: InSet(column, tuple(sorted(held))))
    ranges = st.tuples(VALUES, VALUES).map(lambda ends: InRange(column, min(ends), True, max(ends), False))
    return st.one_of(sets, sets, sets, ranges, st.just(IsNull(column)))


CASES = st.one_of(leaves(A), st.tuples(leaves(A), leaves(B)).map(And), st.tuples(leaves(A), leaves(B)).map(Or))
PREDICATES = st.one_of(
    st.lists(CASES, min_size=4, max_size=12).map(lambda parts: Or(tuple(parts))),
    st.lists(CASES, min_size=4, max_size=12).map(lambda parts: Not(Or(tuple(parts)))),
)


@st.composite
def domains(draw: st.DrawFn, column: Reference, count: int) -> Domain:
    """What may be known of a column at so many places: values, ranges, buckets, some of them, two things at once."""
    values = pa.array(draw(st.lists(st.none() | VALUES, min_size=count, max_size=count)), pa.int64())
    exact = rows_domain(column.type, values.cast(pa.int32()) if column.type == INT32 else values)
    wide = Interval(exact.encoding, exact.lower - 1, exact.upper + 2, exact.may_be_null, exact.may_be_value)
    buckets = [-1 if v is None else apply(Bucket(3), column.type, v) for v in values.to_pylist()]
    hashed = Hashed(Bucket(3), column.type, np.array(buckets, np.int64), is_null(values))
    known = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), np.bool_)
    codes = np.array(draw(st.lists(st.integers(-1, count - 1), min_size=count, max_size=count)), np.int64)
    simple: list[Domain] = [exact, wide, hashed]
    one, other = draw(st.sampled_from(simple)), draw(st.sampled_from(simple))
    kinds: list[Domain] = [one, Both(one, other), KnownWhere(one, known), Gathered(Remembered(one), codes)]
    return draw(st.sampled_from(kinds))


@given(PREDICATES, st.integers(1, 8), st.data())
@settings(max_examples=examples(150))
def test_the_answer_is_the_same(predicate: Bound, count: int, data: st.DataObject) -> None:
    """Whatever is known of the columns, to the last possible outcome."""
    known = {A.id: data.draw(domains(A, count)), B.id: data.draw(domains(B, count))}
    plain = Judge(predicate, SCHEMA).outcomes(known, count)  # of so few alternatives each is asked about every place
    with patch.object(alternatives, "FEW", 2), patch.object(outcomes, "FEW", 2):
        assert Judge(predicate, SCHEMA).outcomes(known, count).tolist() == plain.tolist()


def test_each_place_is_asked_about_few_alternatives() -> None:
    """Of a thousand pairs at a thousand places, every place meets those that are near its own, not all of them."""
    pairs = [And((InSet(A, (n,)), InSet(B, (n,)))) for n in range(1000)]
    sorted_out = by_values(pairs)
    assert sorted_out is not None
    assert sorted_out[0].hull == InSet(A, tuple(range(1000)))
    assert by_values(pairs[:FEW]) is None
    asked = 0

    class Counted(Interval):
        def outcomes(self, leaf: object) -> outcomes.Outcomes:
            nonlocal asked
            asked += len(self.lower)
            return super().outcomes(leaf)  # type: ignore[arg-type]

        def at(self, places: object) -> "Counted":
            return Counted(**vars(super().at(places)))  # type: ignore[arg-type]

    rows = rows_domain(INT64, pa.array(range(1000), pa.int64()))
    known: dict[int, Domain] = {A.id: Counted(**vars(rows)), B.id: Counted(**vars(rows))}
    assert set(Judge(Or(tuple(pairs)), SCHEMA).outcomes(known, 1000)) == {outcomes.TRUE}
    assert asked < 1000 * 100
