"""The one evaluator: which outcomes a predicate could have, for many places at once.

An outcome set is three bits: TRUE, FALSE, NULL *possible*. A row that is fully known has one bit set; a column of
which nothing is known has all three. And, Or and Not on sets are a few bit operations, so the same lines judge whole
columns of tuples, of file statistics, of manifest bounds and of rows; what differs is only how a leaf is answered
(`domains.py`).

Sets may be too large, never too small: "cannot be TRUE" is safe to prune by, "can only be TRUE" is safe to drop a
condition by, and anything in between keeps the file and the condition.
"""

from collections.abc import Callable
from functools import reduce
from typing import Final, assert_never

import numpy as np
import numpy.typing as npt

from coalesce.predicate.alternatives import FEW, Cases, by_values
from coalesce.predicate.expr import (
    And,
    Asked,
    Bound,
    Computed,
    Constant,
    InBuckets,
    InRange,
    InSet,
    IsNull,
    Not,
    Opaque,
    Or,
)

Outcomes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

TRUE: Final = np.uint8(1)
FALSE: Final = np.uint8(2)
NULL: Final = np.uint8(4)
ANYTHING: Final = TRUE | FALSE | NULL

# Answers a leaf for every place; Opaque conditions are asked too, since an engine may know what we do not.
LeafOutcomes = Callable[[Asked], Outcomes]

# Answers leaves for some of the places, by their positions, and can be narrowed to some of those.
Narrow = Callable[[npt.NDArray[np.int64]], "tuple[LeafOutcomes, Narrow]"]


def possible(expr: Bound, leaf: LeafOutcomes, count: int, narrow: Narrow | None = None) -> Outcomes:
    """The possible outcomes of `expr` at each of `count` places.

    With `narrow`, many alternatives are asked only about places where they may be TRUE or NULL, to the same result.
    """
    match expr:
        case And(parts):
            return reduce(both, (possible(part, leaf, count, narrow) for part in parts))
        case Or(parts):
            sorted_out = None if narrow is None else by_values(parts)
            if narrow is None or sorted_out is None:
                return reduce(either, (possible(part, leaf, count, narrow) for part in parts))
            cases, others = sorted_out
            each = (possible(part, leaf, count, narrow) for part in others)
            return reduce(either, each, _any_case(cases, leaf, count, narrow))
        case Not(part):
            return opposite(possible(part, leaf, count, narrow))
        case Constant(value):
            return np.full(count, _CONSTANTS[value], np.uint8)
        case IsNull() | InSet() | InRange() | InBuckets() | Computed() | Opaque():
            return leaf(expr)
        case _:
            assert_never(expr)


def _any_case(cases: Cases, leaf: LeafOutcomes, count: int, narrow: Narrow) -> Outcomes:
    """The possible outcomes of alternatives, by halves: each only where the column may have one of their values."""
    outcomes = np.full(count, FALSE, np.uint8)
    places = np.flatnonzero(leaf(cases.hull) != FALSE)
    if len(places):
        here, narrower = narrow(places)
        if len(cases.cases) <= FEW:
            each = (possible(case.expr, here, len(places), narrower) for case in cases.cases)
        else:
            each = (_any_case(half, here, len(places), narrower) for half in cases.halves)
        outcomes[places] = reduce(either, each)
    return outcomes


def bits(can_be: Mask, can_not: Mask) -> Outcomes:
    """Where TRUE is possible and where FALSE is."""
    return (can_not.view(np.uint8) << np.uint8(1)) | can_be.view(np.uint8)  # FALSE is bit 1, TRUE is bit 0


def may_be_true(outcomes: Outcomes) -> Mask:
    """Where TRUE is possible: what must be read."""
    return (outcomes & TRUE).view(np.bool_)  # TRUE is bit 0, so the bytes are booleans already


def must_be_true(outcomes: Outcomes) -> Mask:
    """Where only TRUE is possible: what need not be checked again."""
    certain: Mask = outcomes == TRUE
    return certain


_CONSTANTS: Final = {True: TRUE, False: FALSE, None: NULL}
_ONE: Final = np.uint8(1)  # shifts by a bit's distance; a plain int would widen the arrays
_TWO: Final = np.uint8(2)


def both(a: Outcomes, b: Outcomes) -> Outcomes:
    """TRUE needs both, FALSE needs one, NULL needs one NULL and the other NULL or TRUE."""
    either = a | b
    not_false = (a | (a << _TWO)) & (b | (b << _TWO))
    found: Outcomes = (a & b & TRUE) | (either & FALSE) | (not_false & either & NULL)
    return found


def either(a: Outcomes, b: Outcomes) -> Outcomes:
    """FALSE needs both, TRUE needs one, NULL needs one NULL and the other NULL or FALSE."""
    either = a | b
    not_true = (a | (a << _ONE)) & (b | (b << _ONE))
    found: Outcomes = (either & TRUE) | (a & b & FALSE) | (not_true & either & NULL)
    return found


def opposite(a: Outcomes) -> Outcomes:
    """TRUE and FALSE swapped."""
    found: Outcomes = ((a & TRUE) << _ONE) | ((a & FALSE) >> _ONE) | (a & NULL)
    return found
