"""CAST from and to dates and timestamps."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from coalesce.model.arrow_schema import arrow_type
from coalesce.model.types import AtomicType
from coalesce.predicate.coercion import cast_value
from coalesce.predicate.own_type import widens
from coalesce.predicate.scalar.evaluated import Datum, Evaluated, sure
from coalesce.predicate.scalar.nodes import Call, Fixed, Scalar


def convert_temporal(argument: Scalar, target: AtomicType, time_zone: str) -> Scalar | None:
    """CAST(argument AS target) where one of the two types is a date or timestamp."""
    if isinstance(argument, Fixed):
        if argument.value is None or argument.type is None:
            return Fixed(None, target)
        value = cast_value(argument.value, argument.type, target, time_zone)
        return None if value is None else Fixed(value, target, folded=True)
    if widens(argument.type, target, time_zone):
        return Call("cast_temporal", (argument,), target, (time_zone,))
    return None


def _cast(call: Call, arguments: Sequence[Datum], _: int) -> Evaluated:
    return sure(arguments[0].cast(arrow_type(call.type)))


KERNELS: Final[Mapping[str, Callable[[Call, Sequence[Datum], int], Evaluated]]] = {"cast_temporal": _cast}
