"""Domains never claim too much: what they rule out is ruled out for every value they admit."""

import math
from collections.abc import Callable

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from coalesce.model.transforms import (
    Bucket,
    Day,
    Hour,
    Identity,
    Month,
    Transform,
    Truncate,
    Void,
    Year,
    apply,
    result_type,
)
from coalesce.model.types import (
    BINARY,
    DATE,
    DOUBLE,
    INT32,
    INT64,
    STRING,
    TIMESTAMP,
    AtomicType,
    DecimalType,
    Value,
)
from coalesce.model.values import column_of, order_key
from coalesce.predicate.domains import rows_domain
from coalesce.predicate.encoding import successor
from coalesce.predicate.expr import InBuckets, InRange, InSet, IsNull, Leaf
from coalesce.predicate.outcomes import FALSE, NULL, TRUE
from coalesce.predicate.row_values import RowValues
from coalesce.predicate.scalar.nodes import Reference
from coalesce.predicate.tuple_domains import bounds_domain, component_domain
from tests import strategies
from tests.predicate.reference import outcome
from tests.support.examples import examples

TYPES: list[AtomicType] = [INT32, INT64, DOUBLE, STRING, BINARY, DATE, TIMESTAMP, DecimalType(9, 2), DecimalType(30, 4)]


SINGLE = {True: TRUE, False: FALSE, None: NULL}


def truth(leaf: Leaf, value: Value) -> np.uint8:
    """The outcome of a leaf on one value, straight from its definition."""
    return SINGLE[outcome(leaf, {leaf.column.id: value}, {})]


@st.composite
def leaves(draw: Callable, type_: AtomicType) -> Leaf:  # type: ignore[type-arg]
    """Any leaf on a column of the type."""
    column = Reference(1, "c", type_)
    kind = draw(st.sampled_from(["null", "set", "range"] + ([] if type_ == DOUBLE else ["buckets"])))
    if kind == "null":
        return IsNull(column)
    if kind == "buckets":
        count = draw(st.sampled_from([2, 3, 4, 8]))
        return InBuckets(column, Bucket(count), tuple(sorted(draw(st.sets(st.integers(0, count - 1))))))
    values = strategies.values(type_, nulls=False)
    if kind == "set":
        distinct = {order_key(type_, v): v for v in draw(st.lists(values, max_size=7))}
        return InSet(column, tuple(distinct[k] for k in sorted(distinct)))
    ends = st.none() | values
    return InRange(column, draw(ends), draw(st.booleans()), draw(ends), draw(st.booleans()))


@settings(max_examples=examples(150))
@given(st.data())
def test_rows_have_exactly_one_outcome_and_it_is_the_right_one(data: st.DataObject) -> None:
    """Over known values the evaluator is exact: NaN, -0.0, NULL, extreme integers and all."""
    type_ = data.draw(st.sampled_from(TYPES))
    values = data.draw(st.lists(strategies.values(type_, nulls=True), max_size=8))
    leaf = data.draw(leaves(type_))
    column = column_of(type_, values)
    for domain in (rows_domain(type_, column), RowValues(type_, column)):
        assert domain.outcomes(leaf).tolist() == [truth(leaf, v) for v in values]


TRANSFORMED: list[tuple[Transform, AtomicType]] = [
    (Identity(), DOUBLE),
    (Identity(), STRING),
    (Identity(), DecimalType(30, 4)),
    (Bucket(4), STRING),
    (Bucket(4), INT64),
    (Bucket(3), INT64),
    (Bucket(8), INT64),
    (Truncate(2), STRING),
    (Truncate(2), BINARY),
    (Truncate(10), INT32),
    (Truncate(50), DecimalType(9, 2)),
    (Year(), DATE),
    (Month(), TIMESTAMP),
    (Day(), TIMESTAMP),
    (Hour(), TIMESTAMP),
    (Void(), INT32),
]


@settings(max_examples=examples(200))
@given(st.data())
def test_a_component_admits_the_value_it_was_made_from(data: st.DataObject) -> None:
    """For every transform: the outcome on the true value is among those its component leaves possible."""
    transform, type_ = data.draw(st.sampled_from(TRANSFORMED))
    values = data.draw(st.lists(strategies.values(type_, nulls=True), min_size=1, max_size=6))
    leaf = data.draw(leaves(type_))
    result = result_type(transform, type_)
    components = [apply(transform, type_, v) for v in values]
    distinct = list({order_key(result, c): c for c in components if c is not None}.values())
    domain = component_domain(transform, type_, column_of(result, distinct))
    outcomes = domain.outcomes(leaf)
    assert len(outcomes) == len(distinct) + 1
    keys = [order_key(result, c) for c in distinct]
    for value, component in zip(values, components, strict=True):
        place = -1 if component is None else keys.index(order_key(result, component))
        assert outcomes[place] & truth(leaf, value), (value, component)


@settings(max_examples=examples(200))
@given(st.data())
def test_bounds_admit_everything_between_them(data: st.DataObject) -> None:
    """For every transform: the outcome on each value is among those the bounds of all components leave possible."""
    transform, type_ = data.draw(st.sampled_from(TRANSFORMED))
    values = data.draw(st.lists(strategies.values(type_, nulls=True), min_size=1, max_size=6))
    leaf = data.draw(leaves(type_))
    result = result_type(transform, type_)
    components = sorted(
        (c for c in (apply(transform, type_, v) for v in values) if c is not None), key=lambda c: order_key(result, c)
    )
    lower, upper = (components[0], components[-1]) if components else (None, None)
    has_null = np.array([any(apply(transform, type_, v) is None for v in values)])
    outcome = bounds_domain(transform, type_, [lower], [upper], has_null).outcomes(leaf)[0]
    for value in values:
        assert outcome & truth(leaf, value), value


def test_identity_is_exact_also_about_values_that_are_not_there() -> None:
    """A literal between two known strings equals neither and orders between them."""
    column = Reference(1, "c", STRING)
    domain = rows_domain(STRING, pa.array(["a", "m", "z"]))
    assert domain.outcomes(InSet(column, ("b", "n"))).tolist() == [FALSE, FALSE, FALSE]
    assert domain.outcomes(InRange(column, "b", False, "n", False)).tolist() == [FALSE, TRUE, FALSE]


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("a", "b"),
        ("a\U0010ffff", "b"),
        ("\U0010ffff", None),
        ("\ud7ff", "\ue000"),
        (b"a\xff", b"b"),
        (b"\xff\xff", None),
    ],
)
def test_successor_of_a_prefix(prefix: str | bytes, expected: str | bytes | None) -> None:
    """The successor skips the surrogates, which are no characters, and does not exist after the last one."""
    assert successor(prefix) == expected


def test_nan_is_above_infinity_and_equal_to_itself() -> None:
    """`> x` keeps NaN, `= NaN` finds NaN, and -0.0 equals 0.0, as in Spark."""
    column = Reference(1, "c", DOUBLE)
    domain = rows_domain(DOUBLE, pa.array([math.nan, math.inf, -0.0]))
    assert domain.outcomes(InRange(column, math.inf, False, None, False)).tolist() == [TRUE, FALSE, FALSE]
    assert domain.outcomes(InSet(column, (0.0, math.nan))).tolist() == [TRUE, FALSE, TRUE]


@pytest.mark.parametrize(
    ("known", "asked", "tells"),
    [(4, 4, True), (8, 4, True), (12, 4, True), (4, 8, False), (3, 4, False), (4, 3, False)],
)
def test_a_bucket_tells_another_only_if_its_count_is_a_multiple(known: int, asked: int, tells: bool) -> None:
    """Of 8 buckets each lies in one of 4; of 3 or 4, none lies in one of 4 or 8 more than in another."""
    column = Reference(1, "c", INT64)
    domain = component_domain(Bucket(known), INT64, pa.array(range(known), pa.int32()))
    outcomes = domain.outcomes(InBuckets(column, Bucket(asked), (1,)))
    if tells:
        assert outcomes.tolist() == [*(TRUE if b % asked == 1 else FALSE for b in range(known)), NULL]
    else:
        assert outcomes.tolist() == [*[TRUE | FALSE] * known, NULL]
