"""Values converted from one type to another: CAST as Spark does it in ANSI mode, and the types in which two values meet."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from coalesce.model.arrow_schema import arrow_type
from coalesce.model.types import AtomicType
from coalesce.predicate.coercion import cast_value, common_type
from coalesce.predicate.own_type import widens
from coalesce.predicate.scalar.evaluated import Datum, Evaluated, sure
from coalesce.predicate.scalar.nodes import Argument, Call, Fixed, Interval, Scalar


def convert(argument: Argument, target: AtomicType, time_zone: str) -> Scalar | None:
    """CAST(argument AS target), or None where Spark refuses it or what it does is not repeated here."""
    if isinstance(argument, Interval):
        return None
    if argument.type == target:
        return argument
    if isinstance(argument, Fixed):
        if argument.value is None or argument.type is None:
            return Fixed(None, target)
        value = cast_value(argument.value, argument.type, target, time_zone)
        return None if value is None else Fixed(value, target)
    if widens(argument.type, target, time_zone):
        return Call("cast", (argument,), target, (time_zone,))
    return None


def try_convert(argument: Argument, target: AtomicType, time_zone: str) -> Scalar | None:
    """TRY_CAST(argument AS target): NULL where CAST fails."""
    return None


def together(arguments: Sequence[Argument], time_zone: str) -> tuple[Scalar, ...] | None:
    """The arguments in the one type that Spark compares them in."""
    common: AtomicType | None = None
    for argument in arguments:
        if isinstance(argument, Interval):
            return None
        if argument.type is not None:
            common = argument.type if common is None else common_type(common, argument.type)
            if common is None:
                return None
    if common is None:
        return None
    converted = [convert(argument, common, time_zone) for argument in arguments]
    return None if None in converted else tuple(c for c in converted if c is not None)


def _cast(call: Call, arguments: Sequence[Datum], _: int) -> Evaluated:
    return sure(arguments[0].cast(arrow_type(call.type)))


KERNELS: Final[Mapping[str, Callable[[Call, Sequence[Datum], int], Evaluated]]] = {"cast": _cast}
FUNCTIONS: Final[Mapping[str, Callable[[Sequence[Argument], str], Argument | None]]] = {}


def monotone(call: Call) -> tuple[int, ...] | None:
    """See `evaluate.monotone`."""
    if call.function == "cast":
        (argument,) = call.arguments
        if argument.type is not None and widens(argument.type, call.type, str(call.settings[0])):
            return (1,)
    return None
