r"""Literals as Spark's SQL spells them, each with the type Spark gives it.

    5  5Y  5S  5L        int32, int8, int16, int64; a bare integer too large for one type takes the next
    5.5  5.5BD           decimal(2,1): as many digits as are written
    1e3  1.5D  1.5F      double, double, float
    'it''s'  "a\tb"  r'\d'   string: quotes doubled or escaped; in a raw one nothing is
    X'0AFF'  DATE '…'  TIMESTAMP '…'  TIMESTAMP_NTZ '…'

A literal that Spark would refuse, or read in a way not repeated here, is None.
"""

import re
import sys
from decimal import Decimal
from typing import Final

from coalesce.errors import PredicateError
from coalesce.model.conversions import integer_range
from coalesce.model.types import (
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    INT8,
    INT16,
    INT32,
    INT64,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
    DecimalType,
    PrimitiveType,
    Value,
)
from coalesce.predicate import temporal
from coalesce.predicate.coercion import float_from_text
from coalesce.predicate.expr import Literal
from coalesce.predicate.scalar.nodes import Interval

# Numbers longer than this mean something to Java too, but are not written by people.
_NUMBER = re.compile(r"(?P<digits>[0-9.]{1,400}(?:E[+-]?[0-9]{1,4})?)(?P<suffix>[A-Z]*)")
_SUFFIXED_INTEGERS: Final = {"Y": INT8, "S": INT16, "L": INT64}
_MAX_FLOAT: Final = Decimal(2**128 - 2**104)
_MAX_DOUBLE: Final = Decimal(sys.float_info.max)
_MAX_DIGITS: Final = 38
_MAX_EXPONENT: Final = 400

# What stands for another text inside quotes: an escape, or (by quote) a doubled quote.
_SPECIAL: Final = {
    quote: re.compile(
        r"\\(?:(?P<octal>[01][0-7][0-7])|u(?P<short>[0-9A-Fa-f]{4})|U(?P<long>[0-9A-Fa-f]{8})|(?P<other>.))"
        rf"|(?P<doubled>{quote}{quote})",
        re.DOTALL,
    )
    for quote in "'\""
}
_ESCAPED: Final = {
    "0": "\0",
    "b": "\b",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "Z": "\x1a",
    "%": "\\%",  # these two keep their backslash, for LIKE to see
    "_": "\\_",
}

_NO_CHARACTER: Final = "\ud800"  # half of a pair, so that the text as a whole is refused

TYPED: Final = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "X"})


# --- numbers ----------------------------------------------------------------------------------------------------


def number(text: str, *, negative: bool, position: int | None = None) -> Literal | None:
    """The literal of a number token, with the sign that stood before it."""
    match = _NUMBER.fullmatch(text.upper())
    if match is None:
        return None
    digits, suffix = match["digits"], match["suffix"]
    if negative:
        digits = "-" + digits
    if suffix in _SUFFIXED_INTEGERS:
        typed: tuple[Value, AtomicType] | None = _integer(digits, (_SUFFIXED_INTEGERS[suffix],))
    elif suffix == "F":
        typed = _pair(float_from_text(_with_zeros(digits)), FLOAT) if _within(digits, _MAX_FLOAT) else None
    elif suffix == "D" or (not suffix and "E" in digits):
        typed = (float(digits), DOUBLE) if _within(digits, _MAX_DOUBLE) else None
    elif suffix == "BD" or "." in digits:
        typed = _decimal(digits)
    else:
        typed = _integer(digits, (INT32, INT64)) or _decimal(digits)
    return None if typed is None else Literal(typed[0], typed[1], position)


def _pair(value: Value, type_: AtomicType) -> tuple[Value, AtomicType] | None:
    return None if value is None else (value, type_)


def _integer(digits: str, types: tuple[PrimitiveType, ...]) -> tuple[Value, AtomicType] | None:
    if len(digits) > _MAX_DIGITS + 1 or not digits.removeprefix("-").isdecimal():
        return None
    value = int(digits)
    for type_ in types:
        least, greatest = integer_range(type_)
        if least <= value <= greatest:
            return value, type_
    return None


def _within(digits: str, greatest: Decimal) -> bool:
    """Spark refuses a literal beyond the greatest float, even if it is less than half a step beyond."""
    return Decimal(digits).copy_abs() <= greatest


def _with_zeros(digits: str) -> str:
    """`.5` and `5.` as CAST would have them written."""
    sign = "-" if digits.startswith("-") else ""
    mantissa, e, exponent = digits.removeprefix("-").partition("E")
    whole, _, fraction = mantissa.partition(".")
    return f"{sign}{whole or '0'}.{fraction or '0'}{e}{exponent}"


def _decimal(digits: str) -> tuple[Value, AtomicType] | None:
    value = Decimal(digits)
    type_ = type_of_decimal(value)
    if type_ is None:
        return None
    return (value.copy_abs() if value == 0 else value), type_


def type_of_decimal(value: Decimal) -> DecimalType | None:
    """The type of a decimal written out: as many digits as it has, none of them after the point if 1E3."""
    _, figures, exponent = value.as_tuple()
    if not isinstance(exponent, int) or abs(exponent) > _MAX_EXPONENT:
        return None
    scale = max(-exponent, 0)
    precision = max(len(figures) + max(exponent, 0), scale)
    return DecimalType(precision, scale) if precision <= _MAX_DIGITS else None


# --- text -------------------------------------------------------------------------------------------------------


def unquoted(token: str) -> str | None:
    """The text a string token stands for, or None if it has half of a surrogate pair, which is no text."""
    if token[0] in "rR":
        inside = token[2:-1]
    else:
        inside = token[1:-1]
        if "\\" in inside or token[0] in inside:
            inside = _SPECIAL[token[0]].sub(_meaning, inside)
    try:
        inside.encode()
    except UnicodeEncodeError:
        return _with_pairs_joined(inside)
    return inside


def _meaning(match: re.Match[str]) -> str:
    if match["doubled"] is not None:
        return match["doubled"][0]
    if match["octal"] is not None:
        return chr(int(match["octal"], 8))
    if match["other"] is not None:
        return _ESCAPED.get(match["other"], match["other"])
    code = int(match["short"] or match["long"], 16)
    return chr(code) if code <= sys.maxunicode else _NO_CHARACTER


def _with_pairs_joined(text: str) -> str | None:
    r"""`\ud83d\ude00` is one character to Java."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        return None


# --- typed ------------------------------------------------------------------------------------------------------


def typed(word: str, text: str, *, time_zone: str, source: str, position: int) -> Literal | None:
    """`DATE 'text'` and its like; a day that is in no calendar is an error, as it is in Spark."""
    value: Value
    match word:
        case "X":
            return _binary(text, position)
        case "DATE":
            value = temporal.date_from_text(text)
            if temporal.is_no_date(text):
                raise PredicateError(f"there is no date {text}.", source, position)
            return None if value is None else Literal(value, DATE, position)
        case "TIMESTAMP_NTZ":
            value = temporal.wall_clock_from_text(text)
            return None if value is None else Literal(value, TIMESTAMP_NTZ, position)
        case _:
            value = temporal.timestamp_from_text(text, time_zone, once=True)
            return None if value is None else Literal(value, TIMESTAMP, position)


def _binary(text: str, position: int) -> Literal | None:
    if not re.fullmatch(r"[0-9A-Fa-f]*", text):
        return None
    return Literal(bytes.fromhex(text if len(text) % 2 == 0 else "0" + text), BINARY, position)


# --- intervals ---------------------------------------------------------------------------------------------------

_UNITS: Final = {
    "YEAR": Interval(12, 0, 0),
    "QUARTER": Interval(3, 0, 0),
    "MONTH": Interval(1, 0, 0),
    "WEEK": Interval(0, 7, 0),
    "DAY": Interval(0, 1, 0),
    "HOUR": Interval(0, 0, 3_600_000_000),
    "MINUTE": Interval(0, 0, 60_000_000),
    "SECOND": Interval(0, 0, 1_000_000),
    "MILLISECOND": Interval(0, 0, 1_000),
    "MICROSECOND": Interval(0, 0, 1),
}
_COUNT = re.compile(r"\s*([+-]?)\s*(\d{1,9})\s*", re.ASCII)


def interval(text: str, unit: str) -> Interval | None:
    """`INTERVAL 'text' unit`, whole numbers of one unit only."""
    match, one = _COUNT.fullmatch(text), _UNITS.get(unit.upper().removesuffix("S"))
    if match is None or one is None:
        return None
    count = int(match[1] + match[2])
    return Interval(one.months * count, one.days * count, one.micros * count)
