"""Comparisons, lists and tests of two values of one type, and AND, OR and NOT of conditions that are values.

As in Spark, NaN equals itself and is above every number, -0.0 is 0.0, and text is compared by its UTF-8 bytes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.model.columns import Mask, column_from, flags
from coalesce.model.types import FLOATING
from coalesce.predicate.scalar.evaluated import Datum, Evaluated, nulls, spread, sure, united, unsure_where
from coalesce.predicate.scalar.nodes import Call

_FEW: Final = 8  # values that are as well compared one by one

# The two outcomes that a value can have at a place, each with NULL and what is unsure left out.
_True = Mask
_False = Mask


def _equal(call: Call, arguments: Sequence[Datum], _: int) -> Evaluated:
    left, right = arguments
    return sure(_is_equal(call, left, right))


def _not_equal(call: Call, arguments: Sequence[Datum], _: int) -> Evaluated:
    left, right = arguments
    return sure(pc.invert(_is_equal(call, left, right)))


def _is_equal(call: Call, left: Datum, right: Datum) -> Datum:
    equal = pc.equal(left, right)
    if not _floating(call):
        return equal
    return pc.or_(equal, pc.and_(pc.is_nan(left), pc.is_nan(right)))


def _less(call: Call, arguments: Sequence[Datum], _: int) -> Evaluated:
    left, right = arguments
    return sure(_is_less(call, left, right))


def _greater(call: Call, arguments: Sequence[Datum], _: int) -> Evaluated:
    left, right = arguments
    return sure(_is_less(call, right, left))


def _at_most(call: Call, arguments: Sequence[Datum], _: int) -> Evaluated:
    left, right = arguments
    return sure(pc.invert(_is_less(call, right, left)))


def _at_least(call: Call, arguments: Sequence[Datum], _: int) -> Evaluated:
    left, right = arguments
    return sure(pc.invert(_is_less(call, left, right)))


def _is_less(call: Call, left: Datum, right: Datum) -> Datum:
    less = pc.less(left, right)
    if not _floating(call):
        return less
    return pc.or_(less, pc.and_(pc.is_nan(right), pc.invert(pc.is_nan(left))))


def _floating(call: Call) -> bool:
    return call.arguments[0].type in FLOATING


# --- what looks at NULL, and so is never NULL for it --------------------------------------------------------------


def _null_safe_equal(call: Call, arguments: Sequence[Evaluated], count: int) -> Evaluated:
    left, right = arguments
    left_null, right_null = nulls(left.values, count), nulls(right.values, count)
    equal = flags(spread(pc.fill_null(_is_equal(call, left.values, right.values), False), count))
    return united(column_from((equal & ~left_null & ~right_null) | (left_null & right_null)), arguments)


def _is_null(_: Call, arguments: Sequence[Evaluated], count: int) -> Evaluated:
    return united(column_from(nulls(arguments[0].values, count)), arguments)


# --- lists ---------------------------------------------------------------------------------------------------------


def _in(call: Call, arguments: Sequence[Evaluated], count: int) -> Evaluated:
    """`first IN (others)`: as many comparisons with OR between them."""
    value, others = arguments[0], arguments[1:]
    fixed = [other.values for other in others if _is_fixed(other)]
    if len(fixed) <= _FEW or _floating(call):  # a hash would tell -0.0 from 0.0
        found = _or(call, [_equals(call, value, other) for other in others], count)
        listed_null = _floating(call) and not all(one.is_valid for one in fixed)
        return _unsure_of_nan(value, found, count) if listed_null else found
    compared = [_equals(call, value, other) for other in others if not _is_fixed(other)]
    return _or(call, [*compared, _among(value, fixed, count)], count)


def _unsure_of_nan(value: Evaluated, found: Evaluated, count: int) -> Evaluated:
    """Of NaN that is not found, Spark says NULL to a short list with NULL in it, and FALSE to a long one."""
    doubtful = flags(spread(pc.is_nan(value.values), count)) & nulls(found.values, count)
    unsure = doubtful if found.unsure is None else doubtful | found.unsure
    return unsure_where(found.values, unsure, found.why or "NaN is looked for in a list with NULL in it")


def _is_fixed(value: Evaluated) -> bool:
    return isinstance(value.values, pa.Scalar) and value.unsure is None


def _equals(call: Call, value: Evaluated, other: Evaluated) -> Evaluated:
    return united(_is_equal(call, value.values, other.values), (value, other))


def _among(value: Evaluated, listed: list[pa.Scalar], count: int) -> Evaluated:
    """The same of many values that are fixed, looked up at once; NULL among them leaves open what is not found."""
    column = spread(value.values, count)
    known = [one for one in listed if one.is_valid]
    found = flags(pc.is_in(column, value_set=pa.array(known, column.type)))
    open_ = nulls(column, count)
    if len(known) < len(listed):
        open_ = open_ | ~found
    return united(column_from(found, open_), (value,))


# --- AND, OR, NOT ----------------------------------------------------------------------------------------------------


def _and(_: Call, arguments: Sequence[Evaluated], count: int) -> Evaluated:
    is_true = np.ones(count, np.bool_)
    is_false = np.zeros(count, np.bool_)
    for argument in arguments:
        true, false = _sides(argument, count)
        is_true &= true
        is_false |= false
    return _decided(is_true, is_false, arguments)


def _or(_: Call, arguments: Sequence[Evaluated], count: int) -> Evaluated:
    is_true = np.zeros(count, np.bool_)
    is_false = np.ones(count, np.bool_)
    for argument in arguments:
        true, false = _sides(argument, count)
        is_true |= true
        is_false &= false
    return _decided(is_true, is_false, arguments)


def _not(_: Call, arguments: Sequence[Datum], __: int) -> Evaluated:
    return sure(pc.invert(arguments[0]))


def _sides(argument: Evaluated, count: int) -> tuple[_True, _False]:
    """Where a condition is surely TRUE, and where surely FALSE."""
    column = spread(argument.values, count)
    true, null = flags(column), nulls(column, count)
    false = ~true & ~null
    if argument.unsure is not None:
        return true & ~argument.unsure, false & ~argument.unsure
    return true, false


def _decided(is_true: Mask, is_false: Mask, arguments: Sequence[Evaluated]) -> Evaluated:
    """TRUE, FALSE or NULL; unsure where a part is and the others leave it open."""
    open_ = ~(is_true | is_false)
    found = united(column_from(is_true, open_), arguments)
    if found.unsure is None:
        return found
    unsure = found.unsure & open_
    return Evaluated(found.values, unsure, found.why) if bool(unsure.any()) else Evaluated(found.values)


KERNELS: Final[Mapping[str, Callable[[Call, Sequence[Datum], int], Evaluated]]] = {
    "=": _equal,
    "<>": _not_equal,
    "<": _less,
    "<=": _at_most,
    ">": _greater,
    ">=": _at_least,
    "not": _not,
}
CHOOSING: Final[Mapping[str, Callable[[Call, Sequence[Evaluated], int], Evaluated]]] = {
    "<=>": _null_safe_equal,
    "isnull": _is_null,
    "in": _in,
    "and": _and,
    "or": _or,
}
