"""Values over columns: the kernel of every function, called from the leaves up.

A kernel gets the call (for its type and settings), the arguments in Arrow's form and the number of places, and answers
for all of them at once. Most functions are NULL where an argument is, and unsure where an argument is: for those the
kernel sees bare columns. Those that choose among their arguments (`CASE`, `coalesce`, AND) see where each is unsure,
because what is not chosen does not matter, as it does not to Spark.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, assert_never

import numpy as np
import pyarrow as pa

from coalesce.model.arrow_schema import arrow_type
from coalesce.model.columns import Mask, flags
from coalesce.model.values import column_of
from coalesce.predicate.scalar import choices, comparing, conversion, dates, numbers, patterns, temporal_casts, texts
from coalesce.predicate.scalar.evaluated import Datum, Evaluated, nulls, spread, united, unsure_where
from coalesce.predicate.scalar.nodes import Call, Fixed, Reference, Scalar

Kernel = Callable[[Call, Sequence[Datum], int], Evaluated]
ChoosingKernel = Callable[[Call, Sequence[Evaluated], int], Evaluated]

KERNELS: Final[Mapping[str, Kernel]] = {
    **comparing.KERNELS,
    **conversion.KERNELS,
    **dates.KERNELS,
    **numbers.KERNELS,
    **patterns.KERNELS,
    **texts.KERNELS,
}
# Beside a NULL that is the same for every row, Spark's optimizer leaves out what else these would compute and fail on.
_PROPAGATING: Final = frozenset({"+", "-", "*", "/", "%", "div", "pmod", "=", "<>", "<", "<=", ">", ">="})
_DIVISIONS: Final = frozenset({"/", "%", "div", "pmod"})  # which look at the divisor first
_BEYOND: Final = "results beyond this one are in another order"
CHOOSING: Final[Mapping[str, ChoosingKernel]] = {**choices.KERNELS, **comparing.CHOOSING, **texts.CHOOSING}


def evaluate(scalar: Scalar, columns: Mapping[int, pa.Array], count: int) -> Evaluated:
    """The value at each of `count` places, from the columns by their ids."""
    match scalar:
        case Reference(id_):
            return Evaluated(columns[id_])
        case Fixed(value, type_):
            assert type_ is not None  # NULLs get a type when they are bound
            return Evaluated(column_of(type_, [value])[0])
        case Call(_, arguments):
            return apply(scalar, [evaluate(argument, columns, count) for argument in arguments], count)
        case _:
            assert_never(scalar)


def apply(call: Call, arguments: Sequence[Evaluated], count: int) -> Evaluated:
    """The function of these arguments."""
    if call.function in CHOOSING:
        return CHOOSING[call.function](call, arguments, count)
    return _strict(KERNELS[call.function], call, arguments, count)


def apply_at_end(call: Call, arguments: Sequence[Evaluated], count: int) -> Evaluated:
    """The function at an end of a range: unsure also where it goes with its arguments up to there, and not beyond."""
    found = apply(call, arguments, count)
    ordered = temporal_casts.is_in_order(call, found.values)
    if ordered is None:
        return found
    beyond = ~flags(spread(ordered, count)) & ~nulls(found.values, count)
    return unsure_where(found.values, beyond if found.unsure is None else beyond | found.unsure, found.why or _BEYOND)


def monotone(call: Call) -> tuple[int, ...] | None:
    """The direction in which the value goes with each argument: 1 rising, -1 falling, 0 where it must be fixed.

    Then the values at both ends of the arguments' ranges (`apply_at_end`) bound all values between, if they are sure.
    None if that is not so.
    """
    for told in (conversion.monotone, dates.monotone, numbers.monotone, texts.monotone):
        directions = told(call)
        if directions is not None:
            return directions
    return None


def _decided_before(call: Call, argument: Evaluated, arguments: Sequence[Evaluated], count: int) -> Mask:
    """Where the operand that Spark computes first is surely NULL, so that it does not come to this one."""
    first = arguments[-1 if call.function in _DIVISIONS else 0]
    if argument is first or call.function not in _PROPAGATING:
        return np.zeros(count, np.bool_)
    null = nulls(first.values, count)
    return null if first.unsure is None else null & ~first.unsure


def _strict(kernel: Kernel, call: Call, arguments: Sequence[Evaluated], count: int) -> Evaluated:
    """A kernel that is NULL where an argument is, and says nothing where an argument is unsure."""
    nothing = [a for a in arguments if isinstance(a.values, pa.Scalar) and not a.values.is_valid]
    if any(a.unsure is None for a in nothing) and call.function in _PROPAGATING:
        return Evaluated(pa.scalar(None, arrow_type(call.type)))
    if nothing:
        return united(pa.scalar(None, arrow_type(call.type)), arguments)
    computed = kernel(call, [argument.values for argument in arguments], count)
    unsure: Mask | None = computed.unsure
    why = computed.why
    if unsure is not None:
        for argument in arguments:  # of NULL nothing is computed
            unsure = unsure & ~nulls(argument.values, count)
    for argument in arguments:  # what fails may do so before another is seen to be NULL
        if argument.unsure is not None:
            doubt = argument.unsure & ~_decided_before(call, argument, arguments, count)
            unsure = doubt if unsure is None else unsure | doubt
            why = argument.why
    if unsure is None:
        return computed
    return Evaluated(computed.values, unsure, why) if bool(unsure.any()) else Evaluated(computed.values)
