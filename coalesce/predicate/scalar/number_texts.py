"""Numbers and booleans in text, both ways, as Spark reads them in ANSI mode and as Java writes them.

Each distinct text or number is looked at once, in Python: nothing else reads numbers to the last bit as Java does.
"""

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Final

import numpy as np
import pyarrow as pa

from coalesce.model.columns import column_from, is_null, numbers
from coalesce.model.conversions import integer_range
from coalesce.model.types import BOOLEAN, DOUBLE, FLOAT, INTEGRAL_BITS, AtomicType, DecimalType
from coalesce.predicate.coercion import nearest_float
from coalesce.predicate.scalar.elementwise import Computed, Numbers, absolute, digits_of, width

Floating = np.float32 | np.float64


class Unread(Enum):
    """Why a text gives no number."""

    FAILS = "Spark fails"
    UNKNOWN = "not repeated here"


_BLANKS: Final = "".join(map(chr, range(0x21)))  # what Java's `trim` takes away
_CONTROLS: Final = _BLANKS + "\x7f"  # what Spark takes away from integers and booleans
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"([+-]?)([0-9]*)\.?([0-9]*)(?:[eE]([+-]?[0-9]+))?")
_FLOATING = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_HEXADECIMAL = re.compile(r"[+-]?0[xX]")
_SPECIAL: Final = {
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), math.inf),
    **dict.fromkeys(("-inf", "-infinity"), -math.inf),
    **dict.fromkeys(("nan", "+NaN", "-NaN"), math.nan),
}
_TRUE: Final = frozenset({"t", "true", "y", "yes", "1"})
_FALSE: Final = frozenset({"f", "false", "n", "no", "0"})
_LONGEST: Final = 400  # longer ones mean something to Java too, but are not written by people
_MOST_DIGITS: Final = 38
_FLOAT_ENDS: Final = 2**128 - 2**103  # the least number that rounds up to infinity

# Java writes a number in the fewest digits that tell it from others; before version 19 only if those are so many, and
# the number is below as many digits.
_CERTAIN_DIGITS: Final[dict[AtomicType, int]] = {DOUBLE: 15, FLOAT: 6}


# --- reading ---------------------------------------------------------------------------------------------------------


def read(column: pa.Array, type_: AtomicType) -> Computed:
    """Numbers or booleans (digits, if decimals) that a column of text stands for."""
    encoded = column.cast(pa.binary()).dictionary_encode()
    reader = _reader(type_)
    found = [_decoded(raw, reader) for raw in encoded.dictionary.to_pylist()]
    if not found:  # all are NULL
        return Computed(np.zeros(len(column), np.int64 if isinstance(type_, DecimalType) else width(type_)))
    values: list[object] = [0 if isinstance(value, Unread) else value for value in found]
    if isinstance(type_, DecimalType):
        small = all(abs(value) < 2**63 for value in values)  # type: ignore[arg-type]  # digits are integers
        table = np.array(values, np.int64 if small else object)
    else:
        table = np.array(values, width(type_))
    fails = np.array([value is Unread.FAILS for value in found], np.bool_)
    unknown = np.array([value is Unread.UNKNOWN for value in found], np.bool_)
    places, null = numbers(encoded.indices, null=0), is_null(column)
    return Computed(table[places], fails[places] & ~null, f"a text is no {type_}", unknown[places] & ~null)


def _decoded(raw: bytes, reader: Callable[[str], object]) -> object:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return Unread.UNKNOWN
    return Unread.UNKNOWN if len(text) > _LONGEST else reader(text)


def _reader(type_: AtomicType) -> Callable[[str], object]:
    if isinstance(type_, DecimalType):
        return lambda text: _digits(text, type_)
    if type_ in INTEGRAL_BITS:
        least, greatest = integer_range(type_)
        return lambda text: _integer(text, least, greatest)
    return _boolean if type_ == BOOLEAN else _double if type_ == DOUBLE else _float


def _integer(text: str, least: int, greatest: int) -> int | Unread:
    trimmed = text.strip(_CONTROLS)
    if not _INTEGER.fullmatch(trimmed):
        return Unread.FAILS
    value = int(trimmed)
    return value if least <= value <= greatest else Unread.FAILS


def _boolean(text: str) -> bool | Unread:
    folded = text.strip(_CONTROLS).lower()
    return True if folded in _TRUE else False if folded in _FALSE else Unread.FAILS


def _digits(text: str, type_: DecimalType) -> int | Unread:
    trimmed = text.strip(_BLANKS)
    match = _DECIMAL.fullmatch(trimmed)
    if match is None or not (match[2] or match[3]):
        return Unread.FAILS if trimmed.isascii() else Unread.UNKNOWN  # Java knows digits of many scripts here
    exponent = int(match[4] or "0")
    digits, scale = int(match[2] + match[3]), len(match[3]) - exponent
    if abs(exponent) > _LONGEST or (digits == 0 and exponent > 0):
        return Unread.UNKNOWN
    if len(str(digits)) - scale > _MOST_DIGITS:
        return Unread.FAILS
    found = rounded(Fraction(digits) / Fraction(10) ** scale, type_.scale)
    if found >= 10**type_.precision:
        return Unread.FAILS
    return -found if match[1] == "-" else found


def rounded(size: Fraction, scale: int) -> int:
    """A number that is not below zero at a scale, without it; halves go up."""
    return math.floor(size * Fraction(10) ** scale + Fraction(1, 2))


def _double(text: str) -> float | Unread:
    number = _number(text)
    return float(number) if isinstance(number, str) else number


def _float(text: str) -> float | Unread:
    number = _number(text)
    if not isinstance(number, str):
        return number
    double = float(number)
    if 0 < abs(double) < 1e-60 or not math.isfinite(double):
        return math.copysign(0.0 if math.isfinite(double) else math.inf, double)
    exact = Fraction(Decimal(number))
    if abs(exact) >= _FLOAT_ENDS:
        return math.copysign(math.inf, double)
    found = nearest_float(exact)
    assert found is not None  # or it is beyond the end
    return math.copysign(found, double)


def _number(text: str) -> str | float | Unread:
    """The number's own text, or what is no number and yet a float."""
    trimmed = text.strip(_BLANKS)
    match = _FLOATING.fullmatch(trimmed)
    if match is not None:
        return match[1]
    special = _SPECIAL.get(trimmed.lower() if trimmed.lower() in _SPECIAL else trimmed)
    if special is not None:
        return special
    return Unread.UNKNOWN if _HEXADECIMAL.match(trimmed) else Unread.FAILS  # which Java reads, too


# --- writing ---------------------------------------------------------------------------------------------------------


def write_decimals(column: pa.Array, type_: DecimalType) -> Computed:
    """Decimals as text. Without ANSI mode Spark writes those near zero with an exponent."""
    digits = digits_of(column)
    text = column.cast(pa.string())
    if type_.scale <= 6:
        return Computed(text)
    small = np.asarray(absolute(digits) < 10 ** (type_.scale - 6), np.bool_)
    return Computed(text, why="a small decimal is written in more than one way", unsure=small & ~is_null(column))


def write_floats(column: pa.Array, type_: AtomicType) -> Computed:
    """Floats or doubles as text, where every version of Java writes the same."""
    distinct, places = distinct_floats(numbers(column, null=0))
    written = [java_text(value, type_) for value in distinct]
    texts = pa.array([text for text, _ in written], pa.string())
    unsure = ~np.array([certain for _, certain in written], np.bool_) if written else np.zeros(0, np.bool_)
    null = is_null(column)
    taken = texts.take(column_from(places.astype(np.int64), null))
    return Computed(taken, why="versions of Java write a number in different ways", unsure=unsure[places] & ~null)


def distinct_floats(values: Numbers) -> tuple[Sequence[Floating], Numbers]:
    """Each value once, -0.0 apart from 0.0, and where it stands."""
    bits = np.int32 if values.dtype == np.float32 else np.int64
    distinct, places = np.unique(np.ascontiguousarray(values).view(bits), return_inverse=True)
    return list(distinct.view(values.dtype)), places.reshape(-1)


def java_text(value: Floating, type_: AtomicType) -> tuple[str, bool]:
    """A number as `Double.toString` or `Float.toString` writes it, and whether all versions of Java do."""
    if np.isnan(value):
        return "NaN", True
    if np.isinf(value):
        return "Infinity" if value > 0 else "-Infinity", True
    sign = "-" if np.signbit(value) else ""
    if value == 0:
        return f"{sign}0.0", True
    scientific = np.format_float_scientific(np.abs(value), unique=True, trim="-")
    mantissa, _, power = scientific.partition("e")
    figures, exponent = mantissa.replace(".", ""), int(power)
    most = _CERTAIN_DIGITS[type_]
    certain = len(figures) <= most and -20 <= exponent < most and _plain(value, scientific)
    if -3 <= exponent < 7:
        if exponent < 0:
            whole, fraction = "0", "0" * (-exponent - 1) + figures
        else:
            padded = figures.ljust(exponent + 1, "0")
            whole, fraction = padded[: exponent + 1], padded[exponent + 1 :]
        return f"{sign}{whole}.{fraction or '0'}", certain
    return f"{sign}{figures[0]}.{figures[1:] or '0'}E{exponent}", certain


def _plain(value: Floating, text: str) -> bool:
    """Below a power of two floats lie closer than above it, which older versions of Java do not mind."""
    return math.frexp(abs(float(value)))[0] != 0.5 or Fraction(text) == Fraction(abs(float(value)))
