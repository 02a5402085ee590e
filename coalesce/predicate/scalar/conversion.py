"""Values converted from one type to another: CAST as Spark does it in ANSI mode, and the types in which values meet."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from coalesce.model.columns import Mask, flags, is_null, numbers
from coalesce.model.conversions import integer_range
from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOATING,
    INT16,
    INT32,
    INT64,
    INTEGRAL_BITS,
    STRING,
    TEMPORAL,
    AtomicType,
    DecimalType,
)
from coalesce.predicate.coercion import DECIMAL_OF, common_type
from coalesce.predicate.scalar import temporal_casts
from coalesce.predicate.scalar.decimal_casts import digits_of_floats, doubles_of, floats_of
from coalesce.predicate.scalar.elementwise import (
    TRY,
    Computed,
    digits_of,
    either,
    elementwise,
    power,
    rescaled,
    times,
    truncated,
    width,
    within,
)
from coalesce.predicate.scalar.evaluated import Datum, Evaluated
from coalesce.predicate.scalar.folding import made
from coalesce.predicate.scalar.nodes import Argument, Call, Fixed, Interval, Scalar
from coalesce.predicate.scalar.number_texts import read, write_decimals, write_floats

_OVERFLOW: Final = "a number does not fit its type"


# --- binding ----------------------------------------------------------------------------------------------------------


def convert(argument: Argument, target: AtomicType, time_zone: str) -> Scalar | None:
    """CAST(argument AS target), or None where Spark refuses it or what it does is not repeated here."""
    return _converted("cast", argument, target, time_zone)


def try_convert(argument: Argument, target: AtomicType, time_zone: str) -> Scalar | None:
    """TRY_CAST(argument AS target): NULL where CAST fails."""
    return _converted("try_cast", argument, target, time_zone)


def _converted(function: str, argument: Argument, target: AtomicType, time_zone: str) -> Scalar | None:
    if isinstance(argument, Interval):
        return None
    if argument.type == target:
        return replace(argument, folded=True) if isinstance(argument, Fixed) else argument
    if argument.type is None:
        return Fixed(None, target, folded=True)
    if argument.type in TEMPORAL or target in TEMPORAL:
        change = temporal_casts.try_convert_temporal if function == "try_cast" else temporal_casts.convert_temporal
        return change(argument, target, time_zone)
    if BINARY in (argument.type, target) and STRING not in (argument.type, target):
        return None
    settings = (TRY,) if function == "try_cast" else ()
    return made(Call(function, (argument,), target, settings), _cast)


def together(arguments: Sequence[Argument], time_zone: str) -> tuple[Scalar, ...] | None:
    """The arguments in the one type that Spark compares them in, and chooses among them in."""
    common: AtomicType | None = None
    for argument in arguments:
        if isinstance(argument, Interval):
            return None
        if argument.type is not None:
            common = argument.type if common is None else _common(common, argument.type)
            if common is None:
                return None
    if common is None:
        return None
    converted = [convert(argument, common, time_zone) for argument in arguments]
    return None if None in converted else tuple(c for c in converted if c is not None)


def compared(arguments: Sequence[Argument], time_zone: str) -> tuple[Scalar, ...] | None:
    """Two arguments in the type that Spark compares them in. Beside a decimal a written integer has just its digits."""
    fitted = list(arguments)
    if any(not isinstance(a, Interval) and isinstance(a.type, DecimalType) for a in arguments):
        digits = [literal_digits(argument) for argument in arguments]
        converted = [a if d is None else convert(a, d, time_zone) for a, d in zip(arguments, digits, strict=True)]
        fitted = [a for a in converted if a is not None]
    one, other = fitted
    if _is_exact_to_spark(one, other) or _is_exact_to_spark(other, one):
        return None
    return together(fitted, time_zone)


def _is_exact_to_spark(value: Argument, fixed: Argument) -> bool:
    """Whether Spark, unless it is asked for equality, compares what has no type in common but one that rounds."""
    if isinstance(value, Interval) or not isinstance(fixed, Fixed) or not isinstance(fixed.type, DecimalType):
        return False
    type_ = value.type
    return type_ is not None and type_ in INTEGRAL_BITS and common_type(type_, fixed.type) is None


def literal_digits(argument: Argument) -> DecimalType | None:
    """The decimals that hold an integer that was written, of more than one byte."""
    if not isinstance(argument, Fixed) or argument.folded or argument.type not in (INT16, INT32, INT64):
        return None
    return DecimalType(len(str(abs(argument.value))), 0) if isinstance(argument.value, int) else None


def _common(one: AtomicType, other: AtomicType) -> AtomicType | None:
    found = common_type(one, other)
    if found is not None:
        return found
    left, right = DECIMAL_OF.get(one, one), DECIMAL_OF.get(other, other)
    if not (isinstance(left, DecimalType) and isinstance(right, DecimalType)):
        return None
    # Not all digits have room: those before the point come first, and what is behind it is rounded.
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return DecimalType(38, max(0, 38 - whole))


# --- computing --------------------------------------------------------------------------------------------------------


def _cast(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
    source = call.arguments[0].type
    assert source is not None  # a NULL of no type is converted when it is bound
    return elementwise(call, arguments, count, partial(_compute, source))


def _compute(source: AtomicType, call: Call, columns: Sequence[pa.Array]) -> Computed:
    (column,), target = columns, call.type
    if isinstance(source, DecimalType):
        return _from_decimal(column, source, target)
    if source == STRING:
        return Computed(column.cast(pa.binary())) if target == BINARY else read(column, target)
    if source == BINARY:
        return _decoded(column)
    if source == BOOLEAN:
        return Computed(column.cast(pa.string())) if target == STRING else _from_integers(column, flags(column), target)
    if source in FLOATING:
        return _from_floats(column, source, target)
    return Computed(column.cast(pa.string())) if target == STRING else _from_integers(column, None, target)


def _from_integers(column: pa.Array, found: Mask | None, target: AtomicType) -> Computed:
    values = numbers(column, null=0) if found is None else found.astype(np.int8)
    if isinstance(target, DecimalType):
        digits, beyond = within(times(values, power(target.scale)), target)
        return Computed(digits, beyond, _OVERFLOW)
    if target == BOOLEAN:
        return Computed(values != 0)
    if target in FLOATING:
        return Computed(values.astype(width(target)))
    least, greatest = integer_range(target)
    if np.iinfo(values.dtype).max <= greatest:
        return Computed(values)
    return Computed(values.astype(width(target)), (values < least) | (values > greatest), _OVERFLOW)


def _from_floats(column: pa.Array, source: AtomicType, target: AtomicType) -> Computed:
    if target == STRING:
        return write_floats(column, source)
    values = numbers(column, null=0)
    if target == BOOLEAN:
        return Computed(values != 0)
    if target in FLOATING:
        return Computed(values.astype(width(target)))
    if isinstance(target, DecimalType):
        return digits_of_floats(values, target)
    least, greatest = integer_range(target)
    whole = np.trunc(values.astype(np.float64))
    fits = (whole >= float(least)) & (whole < float(greatest + 1))
    edge = whole == float(greatest + 1)  # of bigints: Spark takes 2^63 for the greatest
    return Computed(np.where(fits, whole, 0).astype(width(target)), ~fits & ~edge, _OVERFLOW, edge)


def _from_decimal(column: pa.Array, source: DecimalType, target: AtomicType) -> Computed:
    if target == STRING:
        return write_decimals(column, source)
    digits = digits_of(column)
    if isinstance(target, DecimalType):
        fitting, beyond = within(rescaled(digits, source.scale, target.scale), target)
        return Computed(fitting, beyond, _OVERFLOW)
    if target == BOOLEAN:
        return Computed(digits != 0)
    if target in FLOATING:
        return Computed(doubles_of(digits, source) if target == DOUBLE else floats_of(digits, source))
    whole = truncated(digits, power(source.scale))
    least, greatest = integer_range(target)
    beyond = np.asarray((whole < least) | (whole > greatest), np.bool_)
    values = np.where(beyond, 0, whole).astype(width(target))
    if source.precision <= 18 or INTEGRAL_BITS[target] > INTEGRAL_BITS[INT32]:
        return Computed(values, beyond, _OVERFLOW)
    # Spark goes from long decimals to short integers by way of doubles, where 4.999… may be 5.
    rounds = np.trunc(doubles_of(digits, source)) != values
    return Computed(values, None, _OVERFLOW, either(beyond, rounds))


def _decoded(column: pa.Array) -> Computed:
    """Spark takes any bytes for text; what is no UTF-8 is left to it."""
    try:
        return Computed(column.cast(pa.string()))
    except pa.ArrowInvalid:
        encoded = column.dictionary_encode()
        texts = [_text(value) for value in encoded.dictionary.to_pylist()]
        bad = np.array([text is None for text in texts], np.bool_)
        found = pa.array(texts, pa.string()).take(encoded.indices)
        unsure = bad[numbers(encoded.indices, null=0)] & ~is_null(column)
        return Computed(found, why="bytes are no UTF-8", unsure=unsure)


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


# --- bounds -----------------------------------------------------------------------------------------------------------


def monotone(call: Call) -> tuple[int, ...] | None:
    """Whether what the ends of a range become is the range of what lies between: 1 for each argument that rises."""
    if call.function not in ("cast", "try_cast"):
        return None
    source, target = call.arguments[0].type, call.type
    if STRING in (source, target) or BINARY in (source, target) or target == BOOLEAN:
        return None
    if source in FLOATING and isinstance(target, DecimalType):
        return None  # NaN, the greatest of floats, becomes NULL
    return (1,)


KERNELS: Final[Mapping[str, Callable[[Call, Sequence[Datum], int], Evaluated]]] = {
    "cast": _cast,
    "try_cast": _cast,
    **temporal_casts.KERNELS,
}
FUNCTIONS: Final[Mapping[str, Callable[[Sequence[Argument], str], Argument | None]]] = {}
