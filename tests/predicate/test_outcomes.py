"""The evaluator's connectives are SQL's, lifted to sets of outcomes."""

import itertools

import numpy as np
import pytest

from coalesce.model.types import INT32
from coalesce.predicate.expr import And, Asked, Bound, Computed, Constant, IsNull, Not, Opaque, Or
from coalesce.predicate.outcomes import ANYTHING, FALSE, NULL, TRUE, Outcomes, possible
from coalesce.predicate.scalar.nodes import Reference

SINGLE = {True: TRUE, False: FALSE, None: NULL}
A, B = (IsNull(Reference(i, "ab"[i], INT32)) for i in (0, 1))


def sql_and(x: bool | None, y: bool | None) -> bool | None:
    """SQL's AND, written out."""
    if x is False or y is False:
        return False
    return None if x is None or y is None else True


def sql_or(x: bool | None, y: bool | None) -> bool | None:
    """SQL's OR, written out."""
    if x is True or y is True:
        return True
    return None if x is None or y is None else False


def members(outcomes: int) -> list[bool | None]:
    """The outcomes in a set."""
    return [value for value, bit in SINGLE.items() if outcomes & bit]


@pytest.mark.parametrize(("connective", "meaning"), [(And, sql_and), (Or, sql_or)])
def test_connectives_on_sets_are_all_combinations_of_their_members(connective, meaning) -> None:  # type: ignore[no-untyped-def]
    """For all 49 pairs of possible sets, the result is exactly the set of SQL results of one member of each."""
    for left, right in itertools.product(range(1, 8), repeat=2):
        expected = np.uint8(0)
        for x, y in itertools.product(members(left), members(right)):
            expected |= SINGLE[meaning(x, y)]
        answers = {A.column.id: left, B.column.id: right}

        def leaf(asked: Asked, answers: dict[int, int] = answers) -> Outcomes:
            assert not isinstance(asked, Opaque | Computed)
            return np.array([answers[asked.column.id]], np.uint8)

        assert possible(connective((A, B)), leaf, 1)[0] == expected


def test_not_swaps_true_and_false_and_keeps_null() -> None:
    """NOT of unknown stays unknown, so nothing unknown is ever pruned through a NOT."""
    for outcomes in range(1, 8):
        expected = np.uint8(0)
        for value in members(outcomes):
            expected |= SINGLE[None if value is None else not value]
        assert possible(Not(A), lambda _, o=outcomes: np.array([o], np.uint8), 1)[0] == expected  # type: ignore[misc]


def test_constants_and_opaque() -> None:
    """A constant has one outcome; an opaque condition has whatever the leaf answers, here everything."""
    opaque: Bound = Or((Opaque("f(x)"), Constant(True)))
    assert possible(opaque, lambda _: np.full(2, ANYTHING, np.uint8), 2).tolist() == [TRUE, TRUE]
    assert possible(Constant(None), lambda _: np.empty(0, np.uint8), 2).tolist() == [NULL, NULL]
