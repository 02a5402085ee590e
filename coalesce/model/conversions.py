"""Conversions of one value of one type, each with its check: what `values.py` does at its edges is made of them."""

import base64
import binascii
import math
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal, DecimalException, Inexact, InvalidOperation
from typing import Final

import numpy as np

from coalesce.arguments import shown
from coalesce.errors import SchemaError
from coalesce.model.calendar_text import DAY, check_zone, date_from_text, timestamp_from_text
from coalesce.model.types import (
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL_BITS,
    TEMPORAL,
    TIMESTAMP,
    AtomicType,
    DecimalType,
)

EPOCH_DATE: Final = date(1970, 1, 1)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_NTZ: Final = datetime(1970, 1, 1)
_MICROSECOND: Final = timedelta(microseconds=1)

# Wide enough for 38 digits whatever the program's own decimal context is, and never rounding.
_EXACT: Final = Context(prec=80, traps=[Inexact, InvalidOperation])

_NUMBER_TEXT = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,6})?", re.ASCII)
_NON_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_ESCAPES: Final = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\0": "\\0"}


def integer_range(type_: AtomicType) -> tuple[int, int]:
    """The least and greatest integer of an integral or temporal type, or unscaled integer of a decimal one."""
    if isinstance(type_, DecimalType):
        limit = 10**type_.precision - 1
        return -limit, limit
    bits = 32 if type_ == DATE else 64 if type_ in TEMPORAL else INTEGRAL_BITS[type_]
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def unscaled(type_: DecimalType, value: Decimal) -> int:
    """A decimal's digits as an integer: 14.20 as decimal(4,2) is 1420."""
    return int(value.scaleb(type_.scale, _EXACT))


def scaled(type_: DecimalType, digits: int) -> Decimal:
    """The decimal with these digits and exactly the type's scale: the inverse of `unscaled`."""
    return Decimal(digits).scaleb(-type_.scale, _EXACT)


def checked_integer(type_: AtomicType, value: object) -> int:
    """An integer that fits the type."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise misfit(type_, value)
    least, greatest = integer_range(type_)
    if not least <= value <= greatest:
        raise SchemaError(f"{value} does not fit {type_}, which holds {least} to {greatest}.")
    return value


def float_from_python(type_: AtomicType, value: object) -> float:
    """A float of the type; an integer only if it is one exactly."""
    if isinstance(value, float):
        return value if type_ == DOUBLE else _rounded_to_32_bits(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise misfit(type_, value)
    try:
        number = float(value) if type_ == DOUBLE else _rounded_to_32_bits(float(value))
    except OverflowError:
        raise SchemaError(f"{value} does not fit {type_}.") from None
    if number != value:
        raise SchemaError(f"{value} is not exactly a {type_}; give the float nearest to it, if that will do.")
    return number


def _rounded_to_32_bits(value: float) -> float:
    with np.errstate(over="ignore"):
        number = float(np.float32(value))
    if math.isinf(number) and math.isfinite(value):
        raise SchemaError(f"{value} does not fit {FLOAT}.")
    return number


def float_from_json(type_: AtomicType, json: object) -> float:
    """A float as `json_float` writes it."""
    if isinstance(json, str) and json in _NON_FINITE:
        return _NON_FINITE[json]
    if isinstance(json, str) or (isinstance(json, float) and not math.isfinite(json)):
        raise misfit(type_, json)
    value = float_from_python(type_, json)
    if value != json:
        raise SchemaError(f"{json!r} is not exactly a {type_}.")
    return value


def json_float(value: float) -> float | str:
    """A float as JSON has it: what is not finite by its name."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def decimal_from_python(type_: DecimalType, value: object) -> Decimal:
    """A decimal of exactly the type's scale, of a number or its text; nothing is rounded."""
    if isinstance(value, bool) or not isinstance(value, Decimal | int | str):
        raise misfit(type_, value)
    if isinstance(value, str) and _NUMBER_TEXT.fullmatch(value) is None:
        raise misfit(type_, value)
    try:
        number = Decimal(value).quantize(scaled(type_, 1), context=_EXACT)
    except DecimalException:
        raise SchemaError(f"{value!s:.60} does not fit {type_} exactly.") from None
    if not number.is_finite() or abs(unscaled(type_, number)) > integer_range(type_)[1]:
        raise SchemaError(f"{value!s:.60} does not fit {type_} exactly.")
    return abs(number) if number == 0 else number  # decimals have no -0


def decimal_text(type_: AtomicType, value: Decimal) -> str:
    """A decimal with all digits of its scale, and no exponent."""
    assert isinstance(type_, DecimalType)
    return f"{scaled(type_, unscaled(type_, value)):f}"


def bytes_from_json(json: str) -> bytes:
    """Bytes of their only text in base 64."""
    try:
        value = base64.b64decode(json, validate=True)
    except (binascii.Error, ValueError):
        raise misfit(BINARY, json) from None
    if base64.b64encode(value).decode("ascii") != json:
        raise misfit(BINARY, json)
    return value


def checked_text(value: str) -> str:
    """A text that can be written as UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise SchemaError(f"{value!r:.60} has half of a surrogate pair and cannot be written as UTF-8.") from None
    return str(value)


def escaped(character: str) -> str:
    """A character as it stands between the quotes of a literal."""
    if character in _ESCAPES:
        return _ESCAPES[character]
    # The other control characters, and the separators that would break a listing's line.
    if ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 or character in "\u2028\u2029":
        return f"\\u{ord(character):04x}"
    return character


def temporal_from_python(type_: AtomicType, value: object) -> int:
    """Days or microseconds, of a date, a time, a text or that number."""
    match value:
        case str():
            return checked_integer(type_, date_from_text(value) if type_ == DATE else timestamp_from_text(type_, value))
        case datetime() if type_ == DATE:
            if value.tzinfo is not None or value.time() != datetime.min.time():
                raise SchemaError(f"{value.isoformat()} is a time, not a date; give the date you mean.")
            return (value.date() - EPOCH_DATE).days
        case datetime():
            check_zone(type_, value.isoformat(), value.utcoffset() is not None)
            return (value - (EPOCH if type_ == TIMESTAMP else EPOCH_NTZ)) // _MICROSECOND
        case date() if type_ == DATE:
            return (value - EPOCH_DATE).days
        case date():
            check_zone(type_, value.isoformat(), False)
            return (value - EPOCH_DATE).days * DAY
        case _:
            return checked_integer(type_, value)


def misfit(type_: AtomicType, value: object) -> SchemaError:
    """What is wrong with a value of another type."""
    return SchemaError(f"{shown(value)} ({type(value).__name__}) is not a value of type {type_}.")
