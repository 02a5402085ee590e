"""Decimals and floats, each as the other, to the last bit as Java has them."""

import math
from fractions import Fraction
from typing import Final

import numpy as np

from coalesce.model.columns import Mask
from coalesce.model.types import DOUBLE, DecimalType
from coalesce.predicate.coercion import nearest_float
from coalesce.predicate.scalar.elementwise import Computed, Numbers, greatest_of
from coalesce.predicate.scalar.number_texts import Floating, distinct_floats, java_text, rounded

_EXACT_DIGITS: Final = 2**53  # below this a double holds every integer,
EXACT_POWERS: Final = 22  # and of the powers of ten those up to this
_NO_DOUBT: Final = 2.0**40  # below this, how a double is written is nowhere near what would change its rounding
_NEAR_HALF: Final = 2.0**-10


def doubles_of(digits: Numbers, type_: DecimalType) -> Numbers:
    """Decimals as the nearest doubles."""
    if greatest_of(digits) < _EXACT_DIGITS and type_.scale <= EXACT_POWERS:
        return digits.astype(np.float64) / 10.0**type_.scale  # one rounding only
    distinct, places = np.unique(digits, return_inverse=True)
    found = [float(Fraction(int(value), 10**type_.scale)) for value in distinct]
    return np.array(found, np.float64)[places.reshape(-1)]


def floats_of(digits: Numbers, type_: DecimalType) -> Numbers:
    """Decimals as the nearest 32-bit floats, not by way of doubles, which would round twice."""
    distinct, places = np.unique(digits, return_inverse=True)
    found = [nearest_float(Fraction(int(value), 10**type_.scale)) for value in distinct]
    return np.array(found, np.float32)[places.reshape(-1)]


def plain_counts(values: Numbers, scale: int) -> tuple[Numbers, Mask]:
    """How many of 10^-scale the values are, rounded, and where that is not in doubt: they are not near a half."""
    sizes = np.abs(values) * 10.0**scale if scale >= 0 else np.abs(values) / 10.0**-scale
    whole = np.floor(sizes + 0.5)
    plain = (sizes < _NO_DOUBT) & (np.abs(sizes - np.floor(sizes) - 0.5) > _NEAR_HALF)
    return np.copysign(whole, values), plain


def digits_of_floats(values: Numbers, target: DecimalType) -> Computed:
    """Floats as decimals: Spark rounds what Java writes. What is no number becomes NULL."""
    doubles = values.astype(np.float64)
    no_number = ~np.isfinite(doubles)
    if target.scale <= EXACT_POWERS:
        counts, plain = plain_counts(doubles, target.scale)
    else:
        counts, plain = doubles, np.zeros(len(doubles), np.bool_)
    plain &= np.abs(counts) < 10.0**target.precision
    distinct, places = distinct_floats(np.where(no_number | plain, 0.0, doubles))
    found = [_digits(value, target) for value in distinct]
    limit = 10**target.precision
    beyond = np.array([size is None or size >= limit for size, _ in found], np.bool_)
    unsure = np.array([not certain for _, certain in found], np.bool_)
    sizes = [0 if size is None or size >= limit else size for size, _ in found]
    signed = [-size if value < 0 else size for value, size in zip(distinct, sizes, strict=True)]
    digits = np.array(signed, np.int64 if target.precision <= 18 else object)[places]
    if bool(plain.any()):
        digits[plain] = counts[plain].astype(np.int64)
    why = "a number does not fit its type" if bool(beyond.any()) else "versions of Java write a number differently"
    return Computed(digits, beyond[places], why, unsure[places], no_number)


def _digits(value: Floating, target: DecimalType) -> tuple[int | None, bool]:
    size = abs(float(value))
    if size >= 1e40:
        return None, True
    return nearest_decimal(size, target.scale)


def nearest_decimal(size: float, scale: int) -> tuple[int, bool]:
    """A double at a scale as Java writes and then rounds it, without the scale; and whether all versions of Java do."""
    text, certain = java_text(np.float64(size), DOUBLE)
    found = rounded(Fraction(text), scale)
    if certain or size == 0:
        return found, True
    step = Fraction(math.ulp(size)) / 2  # whatever is written lies within this
    around = rounded(max(Fraction(0), Fraction(size) - step), scale), rounded(Fraction(size) + step, scale)
    return found, around[0] == around[1]
