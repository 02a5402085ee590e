"""Cuts: where the values of a column begin that are, widened, not below a literal or above it."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT8,
    INT16,
    INT32,
    INT64,
    INTEGRAL_BITS,
    PRIMITIVES,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
    DecimalType,
    Value,
)
from coalesce.model.values import order_key
from coalesce.predicate.coercion import cast_temporal
from coalesce.predicate.own_type import Cut, cutter, ordinal_of, ordinal_range, value_at, widens
from tests.strategies import atomic_types, values

TYPES: list[AtomicType] = [
    *PRIMITIVES.values(),
    *(DecimalType(p, s) for p, s in ((3, 0), (9, 2), (12, 3), (20, 0), (38, 5))),
]
WIDENINGS = [(a, b) for a in TYPES for b in TYPES if ordinal_range(a) is not None and widens(a, b, "UTC")]


def widened(value: Value, source: AtomicType, target: AtomicType) -> Value:
    """CAST from its definition, for pairs that widen."""
    if source == target or (source in INTEGRAL_BITS and target in INTEGRAL_BITS):
        return value
    if target == DOUBLE:
        return float(value)  # type: ignore[arg-type]
    if isinstance(target, DecimalType):
        return Decimal(value)  # type: ignore[arg-type]
    assert isinstance(value, int)
    converted = cast_temporal(value, source, target, "UTC")  # also of days that no timestamp reaches
    assert converted is not None
    return converted


@given(st.data())
def test_ordinals_count_through_the_values(data: st.DataObject) -> None:
    """Ordinals order values as Spark does, and lead back to them."""
    type_ = data.draw(atomic_types().filter(lambda t: ordinal_range(t) is not None))
    one, other = (data.draw(values(type_, nulls=False)) for _ in range(2))
    first, second = ordinal_of(type_, one), ordinal_of(type_, other)
    assert (first < second) == (order_key(type_, one) < order_key(type_, other))
    assert order_key(type_, value_at(type_, first)) == order_key(type_, one)
    bounds = ordinal_range(type_)
    assert bounds is not None
    assert bounds[0] <= first <= bounds[1]


@pytest.mark.parametrize(("type_", "smallest"), [(FLOAT, 2.0**-149), (DOUBLE, 2.0**-1074)])
def test_floats_are_counted_without_a_gap(type_: AtomicType, smallest: float) -> None:
    """From -Infinity over one zero to Infinity, and NaN after it: each is the next one's neighbour."""
    bounds = ordinal_range(type_)
    assert bounds is not None
    assert value_at(type_, bounds[0]) == -math.inf
    assert value_at(type_, bounds[1] - 1) == math.inf
    assert math.isnan(value_at(type_, bounds[1]))  # type: ignore[arg-type]
    assert ordinal_of(type_, -0.0) == ordinal_of(type_, 0.0) == 0
    assert [value_at(type_, n) for n in (-1, 0, 1)] == [-smallest, 0.0, smallest]


def test_types_that_cannot_be_counted() -> None:
    """Text and binary have no next value, so there are no cuts in them; booleans have two."""
    assert ordinal_range(STRING) is None
    assert ordinal_range(BINARY) is None
    assert cutter(STRING, (), "UTC") is None
    assert ordinal_range(BOOLEAN) == (0, 1)


@given(st.data())
def test_cuts_are_where_they_should_be(data: st.DataObject) -> None:
    """Of any value, it can be told from the cut whether its widened self is below, equal to or above the literal."""
    column, target = data.draw(st.sampled_from(WIDENINGS))
    near = data.draw(values(column, nulls=False).map(lambda v: widened(v, column, target)))
    literal = data.draw(st.just(near) | values(target, nulls=False))
    cut_of = cutter(column, (target,), "UTC")
    assert cut_of is not None
    cut = cut_of(literal)
    wanted = order_key(target, literal)
    bounds = ordinal_range(column)
    assert bounds is not None
    around = [cut.first_not_below - 1, cut.first_not_below, cut.first_above - 1, cut.first_above, cut.first_above + 1]
    some = ordinal_of(column, data.draw(values(column, nulls=False)))
    for ordinal in [o for o in (*around, *bounds, some) if bounds[0] <= o <= bounds[1]]:
        key = order_key(target, widened(value_at(column, ordinal), column, target))
        assert (ordinal >= cut.first_not_below) == (key >= wanted)
        assert (ordinal >= cut.first_above) == (key > wanted)


CHAINS: list[tuple[AtomicType, ...]] = [
    (INT16,),
    (INT16, INT32, INT64),
    (DOUBLE,),
    (INT64, DOUBLE),
    (DecimalType(5, 2),),
    (DecimalType(4, 1), DecimalType(9, 3), DOUBLE),
]


@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: "-".join(map(str, chain)))
@given(data=st.data())
def test_all_values_of_a_small_type(chain: tuple[AtomicType, ...], data: st.DataObject) -> None:
    """Through one cast or several: the cuts of every tinyint there is are those that counting gives."""
    target = chain[-1]
    fractions = st.integers(-1300, 1300).map(lambda n: n / 10)
    literal: Value
    if target == DOUBLE:
        literal = data.draw(fractions | st.floats())
    elif isinstance(target, DecimalType):
        literal = Decimal(data.draw(st.integers(-99999, 99999))).scaleb(-target.scale)
    else:
        literal = data.draw(st.integers(-140, 140))
    everything = [order_key(target, widened(n, INT8, target)) for n in range(-128, 128)]
    wanted = order_key(target, literal)
    expected = Cut(-128 + sum(key < wanted for key in everything), -128 + sum(key <= wanted for key in everything))
    cut_of = cutter(INT8, chain, "UTC")
    assert cut_of is not None
    assert cut_of(literal) == expected


@pytest.mark.parametrize(
    ("column", "casts", "zone"),
    [
        (INT64, (INT32,), "UTC"),  # may fail
        (DOUBLE, (FLOAT,), "UTC"),
        (INT32, (FLOAT,), "UTC"),
        (INT64, (DecimalType(18, 0),), "UTC"),
        (DecimalType(9, 2), (DecimalType(9, 3),), "UTC"),
        (DecimalType(9, 2), (DecimalType(12, 1),), "UTC"),  # rounds, and fails for none, but is not a widening
        (TIMESTAMP, (DATE,), "Europe/Berlin"),
        (TIMESTAMP_NTZ, (TIMESTAMP,), "Europe/Berlin"),  # clocks that are put back
        (INT8, (INT64, INT16), "UTC"),
        (DATE, (INT32,), "UTC"),
    ],
)
def test_what_does_not_widen_has_no_cuts(column: AtomicType, casts: tuple[AtomicType, ...], zone: str) -> None:
    """A cast that may fail, round or swap two values is none to compare through."""
    assert cutter(column, casts, zone) is None


def test_cuts_beyond_the_ends() -> None:
    """Of a literal that no value reaches, every value is below or above."""
    cut_of = cutter(INT8, (INT64,), "UTC")
    assert cut_of is not None
    assert cut_of(1000) == Cut(128, 128)
    assert cut_of(-1000) == Cut(-128, -128)
    assert cut_of(127) == Cut(127, 128)
