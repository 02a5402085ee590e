"""The functions and operators that are known, by their names in SQL, and how each is bound to its arguments.

One table, whoever reads or builds the predicate. A chooser looks at its arguments' types, converts them as Spark would,
and answers with a value, or with None where Spark would refuse, or where what it would do is not repeated here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from coalesce.model.values import values_of
from coalesce.predicate.expr import Calculation, Column, Literal, Operand
from coalesce.predicate.scalar import choices, conversion, dates, logic, numbers, patterns, texts
from coalesce.predicate.scalar.evaluate import evaluate
from coalesce.predicate.scalar.evaluated import spread
from coalesce.predicate.scalar.nodes import Argument, Call, Fixed, Interval, Reference, Scalar

# (arguments, the session's time zone) → the value
Chooser = Callable[[Sequence[Argument], str], Argument | None]

FUNCTIONS: Final[Mapping[str, Chooser]] = {
    **choices.FUNCTIONS,
    **conversion.FUNCTIONS,
    **dates.FUNCTIONS,
    **logic.FUNCTIONS,
    **numbers.FUNCTIONS,
    **patterns.FUNCTIONS,
    **texts.FUNCTIONS,
}
_CASTS: Final = frozenset({"cast", "try_cast"})
_WORDS: Final = frozenset({"and", "between", "case", "div", "in", "not", "or"})  # operators that are words


def is_known(name: str) -> bool:
    """Whether there is a function or operator of this name."""
    return name in FUNCTIONS or name in _CASTS


def names() -> list[str]:
    """The names of all functions, without operators."""
    return sorted(name for name in (*FUNCTIONS, *_CASTS) if name[0].isalpha() and name not in _WORDS)


def bind_operand(operand: Operand, resolve: Callable[[Column], Reference | None], time_zone: str) -> Argument | None:
    """A written value with the columns that `resolve` finds; None where it has no meaning here."""
    match operand:
        case Column(casts=casts):
            found: Argument | None = resolve(operand)
            for type_ in casts:
                found = None if found is None else conversion.convert(found, type_, time_zone)
            return found
        case Literal(value, type_):
            return Fixed(value, type_)
        case Interval():
            return operand
        case Calculation(function, arguments, type_):
            bound: list[Argument] = []
            for argument in arguments:
                one = bind_operand(argument, resolve, time_zone)
                if one is None:
                    return None
                bound.append(one)
            if function in _CASTS:
                assert type_ is not None  # or it is no cast
                change = conversion.convert if function == "cast" else conversion.try_convert
                return change(bound[0], type_, time_zone)
            chooser = FUNCTIONS.get(function)
            return None if chooser is None else _folded(chooser(bound, time_zone))


def _folded(found: Argument | None) -> Argument | None:
    """The same, or its value, if that is certain and no column has a part in it: Spark, too, computes it beforehand."""
    if not isinstance(found, Call) or not all(isinstance(argument, Fixed) for argument in found.arguments):
        return found
    value = evaluate(found, {}, 1)
    if value.unsure is not None:
        return found
    return Fixed(values_of(found.type, spread(value.values, 1))[0], found.type, folded=True)


def unknown_functions(operand: Operand) -> Iterator[str]:
    """The names in a written value that no function here has."""
    if isinstance(operand, Calculation):
        if not is_known(operand.function):
            yield operand.function
        for argument in operand.arguments:
            yield from unknown_functions(argument)


def depth_of(operand: Operand) -> int:
    """How many functions stand inside each other in a written value; without recursion, for there may be many."""
    deepest = 0
    todo: list[tuple[Operand, int]] = [(operand, 1)]
    while todo:
        one, depth = todo.pop()
        deepest = max(deepest, depth)
        if isinstance(one, Calculation):
            todo.extend((argument, depth + 1) for argument in one.arguments)
    return deepest


def columns_in(operand: Operand) -> Iterator[Column]:
    """The columns a written value reads."""
    match operand:
        case Column():
            yield operand
        case Calculation(_, arguments):
            for argument in arguments:
                yield from columns_in(argument)


def is_scalar(argument: Argument | None) -> bool:
    """Whether it is a value, with a type."""
    return isinstance(argument, Scalar) and argument.type is not None
