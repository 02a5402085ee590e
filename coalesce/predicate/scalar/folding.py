"""Values that are the same for every row are computed once, when the predicate is bound."""

from collections.abc import Callable, Sequence

from coalesce.model.values import column_of, values_of
from coalesce.predicate.scalar.evaluated import Datum, Evaluated, spread
from coalesce.predicate.scalar.nodes import Call, Fixed, Scalar


def made(call: Call, kernel: Callable[[Call, Sequence[Datum], int], Evaluated]) -> Scalar:
    """The call, or its value if that is fixed and certain. NULL in, NULL out."""
    values = _fixed(call)
    if values is None:
        return call
    if any(value.value is None for value in values):
        return Fixed(None, call.type, folded=True)
    return _folded(call, kernel(call, [_datum(value) for value in values], 1))


def chosen(call: Call, kernel: Callable[[Call, Sequence[Evaluated], int], Evaluated]) -> Scalar:
    """The same for what chooses among its arguments, and so may be asked with NULLs."""
    values = _fixed(call)
    if values is None:
        return call
    return _folded(call, kernel(call, [Evaluated(_datum(value)) for value in values], 1))


def _fixed(call: Call) -> list[Fixed] | None:
    values = [argument for argument in call.arguments if isinstance(argument, Fixed) and argument.type is not None]
    return values if len(values) == len(call.arguments) else None


def _datum(value: Fixed) -> Datum:
    assert value.type is not None  # or it is not folded
    return column_of(value.type, [value.value])[0]


def _folded(call: Call, found: Evaluated) -> Scalar:
    if found.unsure is not None and bool(found.unsure.any()):
        return call
    return Fixed(values_of(call.type, spread(found.values, 1))[0], call.type, folded=True)
