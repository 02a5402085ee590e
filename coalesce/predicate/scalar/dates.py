"""Functions of dates and timestamps."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from coalesce.predicate.scalar.evaluated import Datum, Evaluated
from coalesce.predicate.scalar.nodes import Argument, Call


def add(_: Sequence[Argument], __: str) -> Argument | None:
    """`+` where one side is a date, a timestamp or an interval."""
    return None


def subtract(_: Sequence[Argument], __: str) -> Argument | None:
    """`-` where one side is a date, a timestamp or an interval."""
    return None


KERNELS: Final[Mapping[str, Callable[[Call, Sequence[Datum], int], Evaluated]]] = {}
FUNCTIONS: Final[Mapping[str, Callable[[Sequence[Argument], str], Argument | None]]] = {}


def monotone(call: Call) -> tuple[int, ...] | None:
    """See `evaluate.monotone`."""
    del call
    return None
