"""Comparisons and connectives, bound: two values meet in the type in which Spark compares them."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Final

from coalesce.model.conversions import integer_range
from coalesce.model.types import BOOLEAN, INT64, INTEGRAL_BITS, TIMESTAMP, TIMESTAMP_NTZ
from coalesce.predicate.scalar.conversion import compared, convert, together
from coalesce.predicate.scalar.nodes import Argument, Call, Fixed, Interval, Scalar, are_untyped, is_null
from coalesce.predicate.temporal import fixed_offset

_NEVER_NULL: Final = frozenset({"isnull", "<=>", "isnan"})
_NULL_IF_ALL_ARE: Final = frozenset({"coalesce", "greatest", "least"})


def _compared(operator: str, arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    if len(arguments) != 2:
        return None
    same = compared(_typed(arguments), time_zone)
    if same is None:
        return None
    if any(_is_turned(one, other) for one, other in (same, same[::-1])):
        return None
    for (one, other), written in ((same, arguments[1]), (same[::-1], arguments[0])):
        if isinstance(written, Fixed) and not written.folded and _is_constant_to_spark(one, other):
            return None
    return Call(operator, same, BOOLEAN)


def _typed(arguments: Sequence[Argument]) -> Sequence[Argument]:
    """NULLs that meet nothing but each other are compared as any type, and come to the same in each."""
    return [Fixed(None, BOOLEAN)] * len(arguments) if are_untyped(arguments) else arguments


def _is_constant_to_spark(value: Scalar, fixed: Scalar) -> bool:
    """Whether Spark may answer without looking, so that NULL < 1e20BD is TRUE: an integer, and a decimal beyond all.

    Of a decimal that was computed it does not say so before it looks.
    """
    if not (isinstance(value, Call) and value.function == "cast" and isinstance(fixed, Fixed)):
        return False
    if value.arguments[0].type not in INTEGRAL_BITS or not isinstance(fixed.value, Decimal):
        return False
    least, greatest = integer_range(INT64)
    return not least <= fixed.value <= greatest


def _is_turned(value: Scalar, fixed: Scalar) -> bool:
    """Whether Spark may convert the fixed side instead, and compare clocks: `CAST(clock AS TIMESTAMP) > ts`.

    Where summer time begins or ends that is not the same, and which of the two it does, the text does not say.
    """
    if not (isinstance(value, Call) and value.function == "cast_temporal" and isinstance(fixed, Fixed)):
        return False
    is_clock = value.arguments[0].type == TIMESTAMP_NTZ and value.type == TIMESTAMP
    return is_clock and fixed_offset(str(value.settings[0])) is None


def _listed(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    """`first IN (others)`: all in one type."""
    same = together(_typed(arguments), time_zone) if len(arguments) > 1 else None
    if same is None:
        return None
    if is_null(same[0]) or all(is_null(other) for other in same[1:]):
        return Fixed(None, BOOLEAN, folded=True)
    if any(_is_turned(same[0], other) for other in same[1:]):
        return None
    return Call("in", same, BOOLEAN)


def _between(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    if len(arguments) != 3:
        return None
    value, low, high = arguments
    ends = _compared(">=", (value, low), time_zone), _compared("<=", (value, high), time_zone)
    return None if ends[0] is None or ends[1] is None else Call("and", (ends[0], ends[1]), BOOLEAN)


def _connected(connective: str, arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    parts = [_condition(argument, time_zone) for argument in arguments]
    known = tuple(part for part in parts if part is not None)
    return Call(connective, known, BOOLEAN) if len(known) == len(parts) else None


def _condition(argument: Argument, time_zone: str) -> Scalar | None:
    """A value that stands where a condition has to: a boolean, or NULL."""
    if isinstance(argument, Interval) or argument.type not in (BOOLEAN, None):
        return None
    return convert(argument, BOOLEAN, time_zone)


def _is_null(arguments: Sequence[Argument], _: str) -> Scalar | None:
    match arguments:
        case [argument] if not isinstance(argument, Interval):
            if argument.type is None:
                return Fixed(True, BOOLEAN)
            if _is_never_null(argument):
                return Fixed(False, BOOLEAN)  # Spark does not compute it, either
            return Call("isnull", (argument,), BOOLEAN)
    return None


def _is_never_null(argument: Scalar) -> bool:
    if not isinstance(argument, Call) or argument.function not in _NULL_IF_ALL_ARE:
        return isinstance(argument, Call) and argument.function in _NEVER_NULL
    return any(isinstance(part, Fixed) and part.value is not None for part in argument.arguments)


def _is_not_null(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    test = _is_null(arguments, time_zone)
    return None if test is None else _connected("not", (test,), time_zone)


FUNCTIONS: Final[Mapping[str, Callable[[Sequence[Argument], str], Argument | None]]] = {
    **{operator: partial(_compared, operator) for operator in ("=", "<>", "<", "<=", ">", ">=", "<=>")},
    **{connective: partial(_connected, connective) for connective in ("and", "or", "not")},
    "between": _between,
    "in": _listed,
    "isnull": _is_null,
    "isnotnull": _is_not_null,
}
