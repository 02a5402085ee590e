"""The one evaluator: which outcomes a predicate could have, for many places at once.

An outcome set is three bits: TRUE, FALSE, NULL *possible*. A row that is fully known has one bit set; a column of
which nothing is known has all three. And, Or and Not on sets are table look-ups, so the same few lines judge whole
columns of tuples, of file statistics, of manifest bounds and of rows; what differs is only how a leaf is answered
(`domains.py`).

Sets may be too large, never too small: "cannot be TRUE" is safe to prune by, "can only be TRUE" is safe to drop a
condition by, and anything in between keeps the file and the condition.
"""

from collections.abc import Callable
from typing import Final, assert_never

import numpy as np
import numpy.typing as npt

from coalesce.predicate.expr import And, Bound, Constant, InRange, InSet, IsNull, Not, Opaque, Or

Outcomes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

TRUE: Final = 1
FALSE: Final = 2
NULL: Final = 4
ANYTHING: Final = TRUE | FALSE | NULL

# Answers a leaf for every place; Opaque conditions are asked too, since an engine may know what we do not.
LeafOutcomes = Callable[[IsNull | InSet | InRange | Opaque], Outcomes]


def possible(expr: Bound, leaf: LeafOutcomes, count: int) -> Outcomes:
    """The possible outcomes of `expr` at each of `count` places."""
    match expr:
        case And(parts):
            return _fold(parts, _AND, leaf, count)
        case Or(parts):
            return _fold(parts, _OR, leaf, count)
        case Not(part):
            return _NOT[possible(part, leaf, count)]
        case Constant(value):
            return np.full(count, _CONSTANTS[value], np.uint8)
        case IsNull() | InSet() | InRange() | Opaque():
            return leaf(expr)
        case _:
            assert_never(expr)


def _fold(parts: tuple[Bound, ...], table: Outcomes, leaf: LeafOutcomes, count: int) -> Outcomes:
    outcomes = possible(parts[0], leaf, count)
    for part in parts[1:]:
        outcomes = table[(outcomes << 3) | possible(part, leaf, count)]
    return outcomes


def may_be_true(outcomes: Outcomes) -> Mask:
    """Where TRUE is possible: what must be read."""
    possible_here: Mask = (outcomes & TRUE) != 0
    return possible_here


def must_be_true(outcomes: Outcomes) -> Mask:
    """Where only TRUE is possible: what need not be checked again."""
    certain: Mask = outcomes == TRUE
    return certain


_CONSTANTS: Final = {True: TRUE, False: FALSE, None: NULL}


def _table(combine: Callable[[int, int], int]) -> Outcomes:
    """`combine` on single outcomes, lifted to all pairs of sets."""
    singles = (TRUE, FALSE, NULL)
    table = np.zeros(64, np.uint8)
    for a in range(8):
        for b in range(8):
            for x in singles:
                for y in singles:
                    if a & x and b & y:
                        table[(a << 3) | b] |= combine(x, y)
    return table


def _and(x: int, y: int) -> int:
    return FALSE if FALSE in (x, y) else NULL if NULL in (x, y) else TRUE


def _or(x: int, y: int) -> int:
    return TRUE if TRUE in (x, y) else NULL if NULL in (x, y) else FALSE


_AND: Final = _table(_and)
_OR: Final = _table(_or)
_NOT: Final = np.array(
    [(s & NULL) | (FALSE if s & TRUE else 0) | (TRUE if s & FALSE else 0) for s in range(8)], np.uint8
)
