"""Functions that choose among their arguments: CASE, coalesce, nullif, greatest, least, nanvl.

What is not chosen does not matter: it may be unsure, as Spark would not have computed it. Of a choice between NULLs of
no type nothing matters: that is such a NULL, and Spark looks at no condition.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np
import pyarrow.compute as pc

from coalesce.model.columns import Mask, column_from, flags
from coalesce.model.types import BOOLEAN, DOUBLE, FLOAT, FLOATING, INT32, INTEGRAL_BITS, STRING, DecimalType
from coalesce.predicate.scalar.conversion import convert, together
from coalesce.predicate.scalar.evaluated import Datum, Evaluated, nulls, spread, unsure_where
from coalesce.predicate.scalar.folding import chosen
from coalesce.predicate.scalar.logic import FUNCTIONS as CONDITIONS
from coalesce.predicate.scalar.nodes import UNTYPED, Argument, Call, Fixed, Interval, Scalar, are_untyped

Chooser = Callable[[Sequence[Argument], str], Argument | None]

_ZERO: Final = Fixed(0, INT32)


# --- binding ----------------------------------------------------------------------------------------------------------


def _case(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    """Of condition, value, …, default."""
    if len(arguments) < 3 or len(arguments) % 2 == 0:
        return None
    results = (*arguments[1::2], arguments[-1])
    conditions = [_condition(argument, time_zone) for argument in arguments[:-1:2]]
    if None in conditions:
        return None
    if are_untyped(results):
        return UNTYPED
    values = together(results, time_zone)
    if values is None:
        return None
    parts: list[Scalar] = []
    default = values[-1]
    for condition, value in zip(conditions, values[:-1], strict=True):
        assert condition is not None  # as was seen above
        if not isinstance(condition, Fixed):
            parts += (condition, value)
        elif condition.value is True:
            default = value
            break
    return _called("case", (*parts, default)) if parts else default


def _condition(argument: Argument, time_zone: str) -> Scalar | None:
    if isinstance(argument, Interval) or argument.type not in (BOOLEAN, None):
        return None
    return convert(argument, BOOLEAN, time_zone)


def _called(function: str, arguments: tuple[Scalar, ...]) -> Scalar | None:
    type_ = arguments[-1].type
    assert type_ is not None  # what meets has a type
    return chosen(Call(function, arguments, type_), KERNELS[function])


def _coalesce(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    if arguments and are_untyped(arguments):
        return UNTYPED
    same = together(arguments, time_zone)
    return None if same is None else same[0] if len(same) == 1 else _called("coalesce", same)


def _first_unless_null(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    return _coalesce(arguments, time_zone) if len(arguments) == 2 else None


def _by_null(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    """nvl2(value, if it is not NULL, if it is)."""
    if len(arguments) != 3:
        return None
    known = CONDITIONS["isnotnull"](arguments[:1], time_zone)
    return None if known is None else _case((known, *arguments[1:]), time_zone)


def _null_if_equal(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    if len(arguments) != 2:
        return None
    value = arguments[0]
    equal = CONDITIONS["="](arguments, time_zone)
    if equal is None or isinstance(value, Interval):
        return None
    if value.type is None:
        return UNTYPED
    return _case((equal, Fixed(None, value.type), value), time_zone)


def _null_if_zero(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    return _null_if_equal((*arguments, _ZERO), time_zone)


def _zero_if_null(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    return _first_unless_null((*arguments, _ZERO), time_zone)


def _extreme(function: str, arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    """Unlike elsewhere, text does not meet what is no text."""
    types = {a.type for a in arguments if not isinstance(a, Interval)} - {None}
    if len(arguments) < 2 or (STRING in types and len(types) > 1):
        return None
    if are_untyped(arguments):
        return UNTYPED
    same = together(arguments, time_zone)
    return None if same is None else _called(function, same)


def _nan_or(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    """nanvl(value, what to take for NaN), of floats."""
    types = {a.type for a in arguments if not isinstance(a, Interval)} - {None}
    if len(arguments) != 2 or not types <= FLOATING:
        return None
    value, other = arguments  # a NULL of no type takes that of the value, and is a double as the value
    same = together((Fixed(None, DOUBLE) if value == UNTYPED else value, other), time_zone)
    return None if same is None else _called("nanvl", same)


def _is_nan(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    if len(arguments) != 1:
        return None
    (value,) = arguments
    if isinstance(value, Interval):
        return None
    if (
        value.type not in INTEGRAL_BITS
        and value.type not in (FLOAT, DOUBLE, STRING, None)
        and not isinstance(value.type, DecimalType)
    ):
        return None
    number = value if value.type == FLOAT else convert(value, DOUBLE, time_zone)
    return None if number is None else chosen(Call("isnan", (number,), BOOLEAN), _nan)


# --- computing --------------------------------------------------------------------------------------------------------


class _Chosen:
    """Places that get their values one choice after the other."""

    def __init__(self, count: int) -> None:
        self.open: Mask = np.ones(count, np.bool_)
        self.unsure: Mask = np.zeros(count, np.bool_)
        self.choices: list[tuple[Mask, Datum]] = []
        self.why = ""

    def doubt(self, where: Mask | None, why: str) -> None:
        """Where open places cannot be decided."""
        if where is None:
            return
        self.unsure |= self.open & where
        self.open &= ~where
        self.why = self.why or why

    def take(self, where: Mask, value: Evaluated) -> None:
        """Where open places take this value."""
        places = self.open & where
        if value.unsure is not None:
            self.unsure |= places & value.unsure
            self.why = self.why or value.why
        self.choices.append((places, value.values))
        self.open &= ~where

    def result(self, count: int) -> Evaluated:
        """What was chosen."""
        values = spread(self.choices[-1][1], count)
        for places, value in reversed(self.choices[:-1]):
            values = pc.if_else(column_from(places), value, values)
        return unsure_where(values, self.unsure, self.why)


def _cases(_: Call, arguments: Sequence[Evaluated], count: int) -> Evaluated:
    chosen_ = _Chosen(count)
    for condition, value in zip(arguments[:-1:2], arguments[1::2], strict=True):
        chosen_.doubt(condition.unsure, condition.why)
        chosen_.take(flags(spread(condition.values, count)), value)
    chosen_.take(np.ones(count, np.bool_), arguments[-1])
    return chosen_.result(count)


def _first_known(_: Call, arguments: Sequence[Evaluated], count: int) -> Evaluated:
    chosen_ = _Chosen(count)
    for argument in arguments[:-1]:
        chosen_.doubt(argument.unsure, argument.why)
        chosen_.take(~nulls(argument.values, count), argument)
    chosen_.take(np.ones(count, np.bool_), arguments[-1])
    return chosen_.result(count)


def _unless_nan(_: Call, arguments: Sequence[Evaluated], count: int) -> Evaluated:
    value, other = arguments
    chosen_ = _Chosen(count)
    chosen_.doubt(value.unsure, value.why)
    chosen_.take(~flags(spread(pc.is_nan(value.values), count)), value)
    chosen_.take(np.ones(count, np.bool_), other)
    return chosen_.result(count)


def _nan(_: Call, arguments: Sequence[Evaluated], count: int) -> Evaluated:
    """FALSE of NULL."""
    (value,) = arguments
    found = column_from(flags(spread(pc.is_nan(value.values), count)))
    return Evaluated(found, value.unsure, value.why)


def _most(call: Call, arguments: Sequence[Evaluated], count: int) -> Evaluated:
    """The greatest or least that is not NULL; all of them are computed. NaN is above every number."""
    best = spread(arguments[0].values, count)
    for argument in arguments[1:]:
        other = argument.values
        low, high = (best, other) if call.function == "greatest" else (other, best)
        below = pc.less(low, high)
        if call.type in FLOATING:
            below = pc.or_(below, pc.and_(pc.is_nan(high), pc.invert(pc.is_nan(low))))
        better = (flags(spread(below, count)) | nulls(best, count)) & ~nulls(other, count)
        best = pc.if_else(column_from(better), other, best)
    unsure = np.zeros(count, np.bool_)
    why = ""
    for argument in arguments:
        if argument.unsure is not None:
            unsure |= argument.unsure
            why = argument.why
    return unsure_where(best, unsure, why)


def monotone(_: Call) -> tuple[int, ...] | None:
    """None of them: a NULL among the arguments may be no NULL in the result."""
    return None


KERNELS: Final[Mapping[str, Callable[[Call, Sequence[Evaluated], int], Evaluated]]] = {
    "case": _cases,
    "coalesce": _first_known,
    "greatest": _most,
    "least": _most,
    "nanvl": _unless_nan,
    "isnan": _nan,
}
FUNCTIONS: Final[Mapping[str, Chooser]] = {
    "case": _case,
    "coalesce": _coalesce,
    **dict.fromkeys(("nvl", "ifnull"), _first_unless_null),
    "nvl2": _by_null,
    "nullif": _null_if_equal,
    "nullifzero": _null_if_zero,
    "zeroifnull": _zero_if_null,
    **{name: partial(_extreme, name) for name in ("greatest", "least")},
    "nanvl": _nan_or,
    "isnan": _is_nan,
}
