"""Values, bound: a column, a fixed value, or a function of values. Plain data, so that they compare and can be sent.

A `Call` names its function in the words of the kernels (`evaluate.py`), has arguments of just the types the kernel
takes, and in `settings` what was fixed when it was bound: a unit, a pattern, the session's time zone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from coalesce.model.types import AtomicType, Value


@dataclass(frozen=True, slots=True)
class Reference:
    """A column of the table: identity is the id; name and type are those of the version it was bound to."""

    id: int
    name: str
    type: AtomicType


@dataclass(frozen=True, slots=True)
class Fixed:
    """A value that is the same for every row; `type` None is a NULL of no type yet.

    One that was computed is `folded`: beside a decimal Spark gives 5 the digits that it has, and 2 + 3 those of an int.
    """

    value: Value
    type: AtomicType | None
    folded: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function of values."""

    function: str
    arguments: tuple["Scalar", ...]
    type: AtomicType
    settings: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Interval:
    """A time that is added to dates and timestamps. No value of its own: only `+` and `-` take it."""

    months: int
    days: int
    micros: int

    def negated(self) -> "Interval":
        """The same backwards."""
        return Interval(-self.months, -self.days, -self.micros)


Scalar = Reference | Fixed | Call
Argument = Scalar | Interval

UNTYPED: Final = Fixed(None, None)  # what Spark calls void: a NULL that takes the type of what it meets


def is_null(argument: Argument) -> bool:
    """Whether it is NULL for every row, with a type or without."""
    return isinstance(argument, Fixed) and argument.value is None


def are_untyped(arguments: Sequence[Argument]) -> bool:
    """Whether there is nothing but NULLs of no type."""
    return all(isinstance(argument, Fixed) and argument.type is None for argument in arguments)


def references(scalar: Scalar) -> Iterator[Reference]:
    """The columns a value is computed from, each as often as it stands there."""
    todo: list[Scalar] = [scalar]
    while todo:
        match todo.pop():
            case Reference() as column:
                yield column
            case Call(_, arguments):
                todo.extend(reversed(arguments))
            case Fixed():
                pass
