"""Arithmetic of decimals: the type of a result as Spark has it, and the result, rounded; what has no room fails."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.model.columns import Mask
from coalesce.model.conversions import integer_range
from coalesce.model.types import INT64, AtomicType, DecimalType
from coalesce.predicate.scalar.elementwise import (
    Computed,
    Numbers,
    absolute,
    digits_of,
    either,
    greatest_of,
    halves_up,
    plus,
    power,
    rescaled,
    times,
    truncated,
    within,
)
from coalesce.predicate.scalar.nodes import Call

MOST: Final = 38
_LEAST_SCALE: Final = 6  # a result keeps so many digits after the point, if it has them, at the cost of those before it
_QUOTIENT_DIGITS: Final = 39  # what Spark 4.1 computes before it rounds

_EXACT: Final = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}

OVERFLOW: Final = "a decimal overflows"
BY_ZERO: Final = "division by zero"


# --- types ------------------------------------------------------------------------------------------------------------


def result_type(operator: str, left: DecimalType, right: DecimalType) -> AtomicType:
    """The type of what comes of two decimals."""
    whole = max(left.precision - left.scale, right.precision - right.scale)
    scale = max(left.scale, right.scale)
    match operator:
        case "+" | "-":
            return _adjusted(whole + scale + 1, scale)
        case "*":
            return _adjusted(left.precision + right.precision + 1, left.scale + right.scale)
        case "/":
            fraction = max(_LEAST_SCALE, left.scale + right.precision + 1)
            return _adjusted(left.precision - left.scale + right.scale + fraction, fraction)
        case "%" | "pmod":
            return _adjusted(min(left.precision - left.scale, right.precision - right.scale) + scale, scale)
        case _:
            return INT64


def _adjusted(precision: int, scale: int) -> DecimalType:
    if precision <= MOST:
        return DecimalType(precision, scale)
    return DecimalType(MOST, max(MOST - (precision - scale), min(scale, _LEAST_SCALE)))


# --- results ----------------------------------------------------------------------------------------------------------


def compute(call: Call, columns: Sequence[pa.Array]) -> Computed:
    """Any of the operators, of two columns of decimals."""
    left, right = (argument.type for argument in call.arguments)
    assert isinstance(left, DecimalType)
    assert isinstance(right, DecimalType)
    if call.function in _EXACT and _digits(call, left, right) <= MOST:
        return _by_arrow(call, columns)
    operands = digits_of(columns[0]), digits_of(columns[1])
    return _OPERATORS[call.function](call, left, right, *operands)


def _digits(call: Call, left: DecimalType, right: DecimalType) -> int:
    """How many an exact sum or product may have."""
    if call.function == "*":
        return left.precision + right.precision + 1
    return max(left.precision - left.scale, right.precision - right.scale) + max(left.scale, right.scale) + 1


def _by_arrow(call: Call, columns: Sequence[pa.Array]) -> Computed:
    """Sums and products that have room for all their digits: Arrow gives them the types that Spark does."""
    one = len(columns[0]) == len(columns[1])
    return Computed(_EXACT[call.function](*(c[0] if len(c) == 1 and not one else c for c in columns)))


def _sum(call: Call, left: DecimalType, right: DecimalType, a: Numbers, b: Numbers) -> Computed:
    scale = max(left.scale, right.scale)
    a, b = rescaled(a, left.scale, scale), rescaled(b, right.scale, scale)
    return _fitted(call, plus(a, b if call.function == "+" else times(b, np.array([-1]))), scale)


def _product(call: Call, left: DecimalType, right: DecimalType, a: Numbers, b: Numbers) -> Computed:
    return _fitted(call, times(a, b), left.scale + right.scale)


def _fitted(call: Call, digits: Numbers, scale: int, fails: Mask | None = None, why: str = "") -> Computed:
    assert isinstance(call.type, DecimalType)
    fitting, beyond = within(rescaled(digits, scale, call.type.scale), call.type)
    if fails is None:
        return Computed(fitting, beyond, OVERFLOW)
    return Computed(fitting, either(beyond, fails), why if bool(fails.any()) else OVERFLOW)


def _quotient(call: Call, left: DecimalType, right: DecimalType, a: Numbers, b: Numbers) -> Computed:
    assert isinstance(call.type, DecimalType)
    scale, by_zero = call.type.scale, b == 0
    divisor = np.where(by_zero, 1, b)
    dividend = times(a, power(scale - left.scale + right.scale))
    computed = _fitted(call, halves_up(dividend, divisor), scale, by_zero, BY_ZERO)
    extra = _QUOTIENT_DIGITS - scale
    if greatest_of(divisor) < 10**extra:
        return computed
    # Spark 4.1 rounds to 39 digits first: 0.49 may become 0.5 and then 1.
    twice = rescaled(halves_up(times(dividend, power(extra)), divisor), extra, 0)
    differs = np.asarray(twice != halves_up(dividend, divisor), np.bool_)
    return Computed(computed.values, computed.fails, computed.why or "versions of Spark round differently", differs)


def _remainder(call: Call, left: DecimalType, right: DecimalType, a: Numbers, b: Numbers) -> Computed:
    scale, by_zero = max(left.scale, right.scale), b == 0
    a = rescaled(a, left.scale, scale)
    b = rescaled(np.where(by_zero, 10**right.scale if right.scale < 18 else 1, b), right.scale, scale)
    rest, too_long = _rest(a, b)
    if call.function == "pmod":
        again, _ = _rest(plus(rest, b), b)
        rest = np.where(rest < 0, again, rest)
    computed = _fitted(call, rest, scale, by_zero, BY_ZERO)
    why = "a quotient has too many digits" if bool(too_long.any()) else computed.why
    return Computed(computed.values, computed.fails, why, too_long)


def _rest(a: Numbers, b: Numbers) -> tuple[Numbers, Mask]:
    """What truncated division leaves; and where Java gives up, because the quotient is too long."""
    size, other = absolute(a), absolute(b)
    rest = size % other
    too_long = np.zeros(len(rest), np.bool_)
    if greatest_of(a) >= 10**_QUOTIENT_DIGITS:
        too_long = np.asarray(size // other >= 10**_QUOTIENT_DIGITS, np.bool_)
    return np.where(a < 0, -rest, rest), too_long


def _whole_quotient(_: Call, left: DecimalType, right: DecimalType, a: Numbers, b: Numbers) -> Computed:
    """`div`, a bigint."""
    scale, by_zero = max(left.scale, right.scale), b == 0
    divisor = rescaled(np.where(by_zero, 1, b), right.scale, scale)
    quotient = truncated(rescaled(a, left.scale, scale), divisor)
    beyond = np.asarray(absolute(quotient) > integer_range(INT64)[1], np.bool_)
    values = np.where(beyond, 0, quotient).astype(np.int64)
    return Computed(values, by_zero, BY_ZERO if bool(by_zero.any()) else "an integer overflows", beyond)


_OPERATORS: Final[
    Mapping[str, Callable[[Call, DecimalType, DecimalType, Numbers, Numbers], Computed]]
] = {
    "+": _sum,
    "-": _sum,
    "*": _product,
    "/": _quotient,
    "%": _remainder,
    "pmod": _remainder,
    "div": _whole_quotient,
}  # fmt: skip
