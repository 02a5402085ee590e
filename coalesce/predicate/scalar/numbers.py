"""Functions of numbers, bound: the types that Spark, in ANSI mode, computes in, and the types of the results."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Final

from coalesce.model.types import (
    DOUBLE,
    FLOATING,
    INT32,
    INT64,
    INTEGRAL_BITS,
    STRING,
    TEMPORAL,
    AtomicType,
    DecimalType,
)
from coalesce.predicate.coercion import DECIMAL_OF
from coalesce.predicate.scalar import arithmetic, dates, decimals, rounding
from coalesce.predicate.scalar.conversion import convert, literal_digits
from coalesce.predicate.scalar.elementwise import TRY, elementwise
from coalesce.predicate.scalar.evaluated import Datum, Evaluated
from coalesce.predicate.scalar.folding import made
from coalesce.predicate.scalar.nodes import Argument, Call, Fixed, Interval, Scalar, are_untyped

Chooser = Callable[[Sequence[Argument], str], Argument | None]


# --- of two -----------------------------------------------------------------------------------------------------------


def _arithmetic(
    operator: str, arguments: Sequence[Argument], time_zone: str, *, trying: bool = False
) -> Argument | None:
    if len(arguments) != 2:
        return None
    if any(isinstance(a, Interval) or a.type in TEMPORAL for a in arguments):
        if trying or operator not in _OF_TIMES:
            return None
        return _OF_TIMES[operator](arguments, time_zone)
    if trying and not all(_is_number(a) or _type(a) is None for a in arguments):
        return None  # with texts, Spark catches more than what fails here
    if are_untyped(arguments):
        return Fixed(None, INT64 if operator == "div" else DOUBLE, folded=True)
    promoted = _promoted(arguments, time_zone)
    if promoted is None:
        return None
    if operator == "/" and _type(arguments[0]) is None:
        return _call(operator, _each(promoted, DOUBLE, time_zone), DOUBLE, trying)
    left, right = promoted
    if isinstance(left.type, DecimalType) and isinstance(right.type, DecimalType):
        type_ = decimals.result_type(operator, left.type, right.type)
    elif operator == "/":
        return _call(operator, _each(promoted, DOUBLE, time_zone), DOUBLE, trying)
    elif operator == "div":
        if left.type in FLOATING:
            return None
        return _call(operator, _each(promoted, INT64, time_zone), INT64, trying)
    else:
        assert left.type is not None
        type_ = left.type
    return _call(operator, (left, right), type_, trying)


def _call(operator: str, operands: tuple[Scalar, ...] | None, type_: AtomicType, trying: bool) -> Scalar | None:
    if operands is None:
        return None
    return made(Call(operator, operands, type_, (TRY,) if trying else ()), _two)


def _promoted(arguments: Sequence[Argument], time_zone: str) -> tuple[Scalar, ...] | None:
    """Two numbers in the type that they are computed in, or in two types if decimals."""
    types = {a.type for a in arguments if not isinstance(a, Interval)} - {None}
    if STRING in types:
        (other,) = types - {STRING} if len(types) == 2 else (None,)
        common = INT64 if other in INTEGRAL_BITS else DOUBLE if other is not None and _computes(other) else None
        return None if common is None or None in {_type(a) for a in arguments} else _each(arguments, common, time_zone)
    if not types or not all(type_ is not None and _computes(type_) for type_ in types):
        return None
    if len(types) == 1:
        return _each(arguments, types.pop(), time_zone)  # type: ignore[arg-type]  # no None among them
    if types & FLOATING:
        return _each(arguments, DOUBLE, time_zone)
    if all(type_ in INTEGRAL_BITS for type_ in types):
        return _each(arguments, max(types, key=INTEGRAL_BITS.__getitem__), time_zone)  # type: ignore[arg-type]
    found = [a if isinstance(_type(a), DecimalType) else convert(a, _decimal_of(a), time_zone) for a in arguments]
    return None if None in found else tuple(f for f in found if f is not None and not isinstance(f, Interval))


def _decimal_of(argument: Argument) -> DecimalType:
    """The decimals that hold an integer: of a literal just its digits."""
    type_ = _type(argument)
    assert type_ is not None
    return literal_digits(argument) or DECIMAL_OF[type_]


def _each(arguments: Sequence[Argument], type_: AtomicType, time_zone: str) -> tuple[Scalar, ...] | None:
    found = [convert(argument, type_, time_zone) for argument in arguments]
    return None if None in found else tuple(f for f in found if f is not None)


def _type(argument: Argument) -> AtomicType | None:
    return None if isinstance(argument, Interval) else argument.type


def _computes(type_: AtomicType) -> bool:
    return isinstance(type_, DecimalType) or type_ in INTEGRAL_BITS or type_ in FLOATING


def _is_number(argument: Argument) -> bool:
    type_ = _type(argument)
    return type_ is not None and _computes(type_)


# --- of one -----------------------------------------------------------------------------------------------------------


def _numeric(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    """The one argument, if it is a number or, as a double, a text that may stand for one, or a NULL of no type."""
    if len(arguments) != 1:
        return None
    (argument,) = arguments
    if isinstance(argument, Interval):
        return None
    if argument.type is None or argument.type == STRING:
        return convert(argument, DOUBLE, time_zone)
    return argument if _is_number(argument) else None


def _same_type(function: str, arguments: Sequence[Argument], time_zone: str) -> Argument | None:
    match arguments:
        case [Interval() as interval] if function == "negative":
            return interval.negated()
        case [Interval() as interval] if function == "positive":
            return interval
    value = _numeric(arguments, time_zone)
    if value is None or value.type is None:
        return value
    if function == "positive":
        return replace(value, folded=True) if isinstance(value, Fixed) else value
    return made(Call(function, (value,), value.type), _one)


def _double(function: str, arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    value = _numeric(arguments, time_zone)
    double = None if value is None else convert(value, DOUBLE, time_zone)
    return None if double is None else made(Call(function, (double,), DOUBLE), _one)


def _whole(function: str, arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    value = _numeric(arguments, time_zone)
    if value is None or value.type == INT64:
        return value
    if isinstance(value.type, DecimalType):
        if value.type.scale == 0:
            return value
        type_ = DecimalType(min(value.type.precision - value.type.scale + 1, decimals.MOST), 0)
        return made(Call(function, (value,), type_), _of_whole)
    double = convert(value, DOUBLE, time_zone)
    return None if double is None else made(Call(function, (double,), INT64), _of_whole)


def _rounded(function: str, arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    scale = 0
    if len(arguments) == 2:
        wanted = arguments[1]
        if not isinstance(wanted, Fixed) or wanted.type not in (INT32, None):
            return None
        if wanted.value is None:
            rounded = _rounded(function, arguments[:1], time_zone)  # which has the type of this
            return None if rounded is None else Fixed(None, rounded.type, folded=True)
        assert isinstance(wanted.value, int)
        scale = wanted.value
    if abs(scale) > decimals.MOST:
        return None
    value = _numeric(arguments[:1], time_zone)
    if value is None or value.type is None:
        return None
    return made(Call(function, (value,), rounding.rounded_type(value.type, scale), (scale,)), _of_rounded)


# --- kernels and names ------------------------------------------------------------------------------------------------


def _two(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
    return elementwise(call, arguments, count, arithmetic.two)


def _one(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
    return elementwise(call, arguments, count, arithmetic.one)


def _of_whole(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
    return elementwise(call, arguments, count, rounding.whole)


def _of_rounded(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
    return elementwise(call, arguments, count, rounding.rounded)


KERNELS: Final[Mapping[str, Callable[[Call, Sequence[Datum], int], Evaluated]]] = {
    **dict.fromkeys(("+", "-", "*", "/", "%", "div", "pmod"), _two),
    **dict.fromkeys(("negative", "abs", "sign", "sqrt"), _one),
    **dict.fromkeys(("floor", "ceil"), _of_whole),
    **dict.fromkeys(("round", "bround"), _of_rounded),
}
_OF_TIMES: Final[Mapping[str, Chooser]] = {"+": dates.add, "-": dates.subtract}
FUNCTIONS: Final[Mapping[str, Chooser]] = {
    **{operator: partial(_arithmetic, operator) for operator in ("+", "-", "*", "/", "%", "div", "pmod")},
    "mod": partial(_arithmetic, "%"),
    **{
        f"try_{name}": partial(_arithmetic, operator, trying=True)
        for name, operator in (("add", "+"), ("subtract", "-"), ("multiply", "*"), ("divide", "/"), ("mod", "%"))
    },
    **{name: partial(_same_type, name) for name in ("negative", "positive", "abs")},
    **{name: partial(_double, "sign") for name in ("sign", "signum")},
    "sqrt": partial(_double, "sqrt"),
    "floor": partial(_whole, "floor"),
    **{name: partial(_whole, "ceil") for name in ("ceil", "ceiling")},
    **{name: partial(_rounded, name) for name in ("round", "bround")},
}


# --- bounds -----------------------------------------------------------------------------------------------------------


def monotone(call: Call) -> tuple[int, ...] | None:
    """For each argument whether the result rises (1) or falls (-1) with it, or holds only while it is fixed (0).

    NaN is the greatest of floats and stays so: with floats only what rises is said.
    """
    floating = call.type in FLOATING
    match call.function:
        case "floor" | "ceil" | "round" | "bround" | "sign":
            return (1,)
        case "negative" if not floating:
            return (-1,)
        case "+" | "-" if not floating:
            return (1, 1 if call.function == "+" else -1)
        case "+" | "-" | "*" | "/" | "div":
            return _with_fixed(call, floating)
    return None


def _with_fixed(call: Call, floating: bool) -> tuple[int, int] | None:
    left, right = call.arguments
    if isinstance(right, Fixed):
        fixed, places = right.value, (1, 0)
    elif isinstance(left, Fixed) and call.function in ("+", "*"):
        fixed, places = left.value, (0, 1)
    else:
        return None
    if not isinstance(fixed, int | float | Decimal) or not math.isfinite(fixed):
        return None
    if call.function in ("+", "-"):
        return places
    if fixed == 0 or (floating and fixed < 0):
        return None
    return places if fixed > 0 else (-places[0], -places[1])
