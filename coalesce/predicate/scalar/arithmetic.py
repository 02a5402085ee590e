"""Arithmetic of integers and floats: to the width of their type, or failing; and of floats as Java has them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from coalesce.model.columns import Mask
from coalesce.model.conversions import integer_range
from coalesce.model.types import FLOATING, INTEGRAL_BITS, DecimalType
from coalesce.predicate.scalar import decimals
from coalesce.predicate.scalar.elementwise import Computed, Numbers, absolute, greatest_of, raw
from coalesce.predicate.scalar.nodes import Call

_OVERFLOW: Final = "an integer overflows"


def two(call: Call, columns: Sequence[pa.Array]) -> Computed:
    """Any of the operators, of two columns of one type, or two of decimals."""
    type_ = call.arguments[0].type
    assert type_ is not None
    if isinstance(type_, DecimalType):
        return decimals.compute(call, columns)
    a, b = (raw(type_, column) for column in columns)
    return (_FLOATING if type_ in FLOATING else _INTEGRAL)[call.function](a, b)


# --- integers ---------------------------------------------------------------------------------------------------------


def _sum(a: Numbers, b: Numbers) -> Computed:
    if a.itemsize < 8:
        return _narrow(a.astype(np.int64) + b, a.dtype)
    total = a + b
    return Computed(total, ((a ^ total) & (b ^ total)) < 0, _OVERFLOW)


def _difference(a: Numbers, b: Numbers) -> Computed:
    if a.itemsize < 8:
        return _narrow(a.astype(np.int64) - b, a.dtype)
    rest = a - b
    return Computed(rest, ((a ^ b) & (a ^ rest)) < 0, _OVERFLOW)


def _product(a: Numbers, b: Numbers) -> Computed:
    if a.itemsize < 8:
        return _narrow(a.astype(np.int64) * b, a.dtype)
    product = a * b
    if greatest_of(a) * greatest_of(b) < 2**63:
        return Computed(product)
    # Away from the limit a double tells, and what is near it can be divided again.
    near = np.abs(a.astype(np.float64) * b) > 2.0**62
    divisor = np.where((b == 0) | (b == -1), 1, b)
    differs = truncated_by(product, divisor) != np.where(b == -1, product, a)
    least = integer_range_of(np.int64)[0]
    return Computed(product, near & (differs | ((b == -1) & (a == least))) & (b != 0), _OVERFLOW)


def truncated_by(a: Numbers, b: Numbers) -> Numbers:
    """The quotient without its fraction; no divisor is 0 or -1."""
    quotient = a // b
    whole: Numbers = quotient + ((quotient * b != a) & ((a < 0) != (b < 0)))
    return whole


def _whole_quotient(a: Numbers, b: Numbers) -> Computed:
    by_zero = b == 0
    overflows = (b == -1) & (a == integer_range_of(a.dtype)[0])
    quotient = np.where(b == -1, -a, truncated_by(a, np.where(by_zero | (b == -1), 1, b)))
    return Computed(quotient, by_zero | overflows, decimals.BY_ZERO if bool(by_zero.any()) else _OVERFLOW)


def _remainder(a: Numbers, b: Numbers) -> Computed:
    by_zero = b == 0
    return Computed(np.fmod(a, np.where(by_zero | (b == -1), 1, b).astype(a.dtype)), by_zero, decimals.BY_ZERO)


def _positive_remainder(a: Numbers, b: Numbers) -> Computed:
    """As Java does it: a sum of two ints or two longs may wrap around, that of shorter ones is an int."""
    wide = a.dtype if a.itemsize > 4 else np.dtype(np.int32)
    by_zero = b == 0
    divisor = np.where(by_zero | (b == -1), 1, b).astype(wide)
    rest = np.fmod(a.astype(wide), divisor)
    return Computed(np.where(rest < 0, np.fmod(rest + divisor, divisor), rest), by_zero, decimals.BY_ZERO)


def _narrow(values: Numbers, type_: Any) -> Computed:
    least, greatest = integer_range_of(type_)
    return Computed(values.astype(type_), (values < least) | (values > greatest), _OVERFLOW)


def integer_range_of(type_: Any) -> tuple[int, int]:
    """The least and greatest integer of a width."""
    info = np.iinfo(type_)
    return int(info.min), int(info.max)


# --- floats -----------------------------------------------------------------------------------------------------------


def _checked(function: Callable[[Numbers, Numbers], Numbers]) -> Callable[[Numbers, Numbers], Computed]:
    def divided(a: Numbers, b: Numbers) -> Computed:
        return Computed(function(a, b), b == 0, decimals.BY_ZERO)

    return divided


def _float_pmod(a: Numbers, b: Numbers) -> Numbers:
    rest = np.fmod(a, b)
    found: Numbers = np.where(rest < 0, np.fmod(rest + b, b), rest)
    return found


_INTEGRAL: Final[Mapping[str, Callable[[Numbers, Numbers], Computed]]] = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "%": _remainder,
    "pmod": _positive_remainder,
    "div": _whole_quotient,
}
_FLOATING: Final[Mapping[str, Callable[[Numbers, Numbers], Computed]]] = {
    "+": lambda a, b: Computed(a + b),
    "-": lambda a, b: Computed(a - b),
    "*": lambda a, b: Computed(a * b),
    "/": _checked(lambda a, b: a / b),
    "%": _checked(np.fmod),
    "pmod": _checked(_float_pmod),
}


# --- of one -----------------------------------------------------------------------------------------------------------


def one(call: Call, columns: Sequence[pa.Array]) -> Computed:
    """The negative, the absolute value, the sign and the square root."""
    type_ = call.arguments[0].type
    assert type_ is not None
    values = raw(type_, columns[0])
    match call.function:
        case "sign":
            return Computed(np.sign(values))
        case "sqrt":
            return Computed(np.sqrt(values))
    negative = call.function == "negative"
    fails: Mask | None = None
    if type_ in INTEGRAL_BITS:
        fails = values == integer_range(type_)[0]
    elif isinstance(type_, DecimalType):
        # Of longer decimals Spark rounds the negative to 34 digits, and fails if that is too much.
        long = np.asarray(absolute(values) >= 10**34, np.bool_) & (negative | np.asarray(values < 0, np.bool_))
        return Computed(-values if negative else absolute(values), None, "a decimal is too long", long)
    return Computed(-values if negative else np.abs(values), fails, _OVERFLOW)
