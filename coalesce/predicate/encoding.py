"""Values as integers that compare as Spark compares the values.

Numbers, dates, timestamps and booleans *are* integers once NaN and -0.0 are put in their place; strings, binaries
and wide decimals become ranks in a sorted list of the values at hand. Either way a literal turns into an inclusive
interval of codes, so every comparison below is one between integers.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.model.arrow_schema import arrow_type
from coalesce.model.columns import column_from, flags, numbers
from coalesce.model.conversions import integer_range
from coalesce.model.types import BINARY, BOOLEAN, DOUBLE, FLOAT, FLOATING, STRING, AtomicType, DecimalType, Value
from coalesce.model.values import column_of, order_key, values_of

Codes = npt.NDArray[np.int64]

LOWEST = -(2**63)
HIGHEST = 2**63 - 1
NAN_KEY = HIGHEST - 1
_WIDEST_KEY_DECIMAL = 18  # digits that surely fit 64 bits
_FLOATS: Final[dict[AtomicType, type[np.floating[Any]]]] = {FLOAT: np.float32, DOUBLE: np.float64}
_WIDTHS: Final[dict[int, type[np.signedinteger[Any]]]] = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


class Encoding(Protocol):
    """How the values of one column became codes."""

    @property
    def type(self) -> AtomicType:
        """The values' type."""

    def interval(self, value: Value) -> tuple[int, int]:
        """The inclusive interval of codes that equal `value`.

        For a value that is not among the encoded ones the interval is empty, `(i, i - 1)`, and lies where the
        value would stand.
        """

    def intervals(self, values: Sequence[Value]) -> tuple[Codes, Codes]:
        """The distinct intervals of several sorted values: their first codes and their last ones, sorted too."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Codes that are the values themselves, as 64-bit integers."""

    type: AtomicType

    def interval(self, value: Value) -> tuple[int, int]:
        """See `Encoding`."""
        key = key_of(self.type, value)
        return key, key

    def intervals(self, values: Sequence[Value]) -> tuple[Codes, Codes]:
        """See `Encoding`."""
        keys = _keys_of_values(self.type, values)
        return keys, keys


@dataclass(frozen=True, slots=True)
class Ranks:
    """Codes that are positions in `values`: sorted in Spark's order, distinct."""

    type: AtomicType
    values: Sequence[Value]

    def interval(self, value: Value) -> tuple[int, int]:
        """See `Encoding`."""
        first = bisect_left(self.values, value)  # type: ignore[type-var]
        found = first < len(self.values) and self.values[first] == value
        return first, first if found else first - 1

    def intervals(self, values: Sequence[Value]) -> tuple[Codes, Codes]:
        """See `Encoding`."""
        if len(values) > len(self.values):
            values = self._thinned(values)
        firsts, lasts = zip(*map(self.interval, values), strict=True)
        return np.array(firsts, np.int64), np.array(lasts, np.int64)

    def _thinned(self, asked: Sequence[Value]) -> list[Value]:
        """Fewer values with the same intervals: between two neighbours of `values`, one does as well as many."""
        near = {len(asked) - 1}
        for value in self.values:
            place = bisect_left(asked, value)  # type: ignore[type-var]
            near.update((place - 1, place))
        return [asked[i] for i in sorted(near) if 0 <= i < len(asked)]


def has_keys(type_: AtomicType) -> bool:
    """Whether values of the type fit into integers as they are."""
    if isinstance(type_, DecimalType):
        return type_.precision <= _WIDEST_KEY_DECIMAL
    return type_ not in (STRING, BINARY)


def key_of(type_: AtomicType, value: Value) -> int:
    """The integer of one value of a type that has keys."""
    if isinstance(value, Decimal):
        assert isinstance(type_, DecimalType)
        return int(value.scaleb(type_.scale))
    if isinstance(value, float):
        return int(_float_keys(np.array([value]))[0])
    assert isinstance(value, int)
    return int(value)


def _keys_of_values(type_: AtomicType, values: Sequence[Value]) -> Codes:
    """The integers of many values, none of them NULL."""
    if isinstance(type_, DecimalType):
        return np.array([key_of(type_, v) for v in values], np.int64)
    return _float_keys(np.array(values, np.float64)) if type_ in FLOATING else np.array(values, np.int64)


def keys_of(type_: AtomicType, column: pa.Array) -> Codes:
    """The integers of a column whose type has keys; NULL places hold any integer."""
    if isinstance(type_, DecimalType):
        return _decimal_keys(column)
    if type_ in FLOATING:
        return _float_keys(numbers(column, null=0.0))
    return (flags(column) if type_ == BOOLEAN else numbers(column)).astype(np.int64, copy=False)


def _float_keys(values: npt.NDArray[np.floating[Any]]) -> Codes:
    """IEEE bits turned so that they sort; adding 0.0 makes -0.0 the same as 0.0; NaN goes above infinity."""
    with np.errstate(invalid="ignore"):  # a signalling NaN is one more NaN
        keys: Codes = np.add(values, 0.0, dtype=np.float64).view(np.int64)
    turned = keys >> 63  # all bits of what is negative
    turned &= HIGHEST
    keys ^= turned
    keys[np.isnan(values)] = NAN_KEY
    return keys


def _decimal_keys(column: pa.Array) -> Codes:
    """The low 64 bits of each unscaled value: all of it for decimals of up to 18 digits."""
    column = column.cast(pa.decimal128(38, column.type.scale))
    words = np.frombuffer(column.buffers()[1], np.int64)[2 * column.offset : 2 * (column.offset + len(column))]
    return words[::2].copy()


def encode(type_: AtomicType, column: pa.Array) -> tuple[Encoding, Codes]:
    """Codes for a column in no particular order; NULL places hold any code."""
    if has_keys(type_):
        return Keys(type_), keys_of(type_, column)
    encoded = column.dictionary_encode()
    sorted_values, ranks = sort_distinct(type_, encoded.dictionary)
    # 64 bits even where there is no value at all: LOWEST and HIGHEST are put beside codes, and NumPy would cut them.
    indices = numbers(encoded.indices, null=0).astype(np.int64)
    return Ranks(type_, sorted_values), ranks[indices] if len(ranks) else indices


def decode(encoding: Encoding, codes: Codes) -> tuple[pa.Array, npt.NDArray[np.bool_]]:
    """The values of codes, and where they are values: `LOWEST` and `HIGHEST` may stand for an open end."""
    type_ = encoding.type
    if isinstance(encoding, Ranks):
        inside = (codes >= 0) & (codes < len(encoding.values))
        places = column_from(np.where(inside, codes, 0), None if len(encoding.values) else ~inside)
        return column_of(type_, encoding.values).take(places), inside
    if type_ in FLOATING:
        inside = (codes != LOWEST) & (codes != HIGHEST)
        floats = np.where(codes < 0, codes ^ HIGHEST, codes).view(np.float64)
        floats[codes == NAN_KEY] = np.nan
        return column_from(floats.astype(_FLOATS[type_])), inside
    least, greatest = integer_range(type_) if type_ != BOOLEAN else (0, 1)
    inside = (codes >= least) & (codes <= greatest)
    whole_numbers = np.where(inside, codes, 0)
    if type_ == BOOLEAN:
        return column_from(whole_numbers.astype(np.bool_)), inside
    if isinstance(type_, DecimalType):
        words = np.stack([whole_numbers, whole_numbers >> 63], axis=1)
        buffers = [None, pa.py_buffer(np.ascontiguousarray(words))]
        return pa.Array.from_buffers(arrow_type(type_), len(codes), buffers), inside
    narrow = column_from(whole_numbers.astype(_WIDTHS[arrow_type(type_).bit_width]))
    return narrow.view(arrow_type(type_)), inside


def encode_values(type_: AtomicType, *columns: Sequence[Value]) -> tuple[Encoding, list[Codes]]:
    """Codes for lists of values in one common encoding; None holds any code."""
    if has_keys(type_):
        keys = [np.array([0 if v is None else key_of(type_, v) for v in c], np.int64) for c in columns]
        return Keys(type_), keys
    distinct = sorted({v for column in columns for v in column if v is not None}, key=lambda v: order_key(type_, v))
    rank: dict[Value, int] = {v: i for i, v in enumerate(distinct)}
    return Ranks(type_, distinct), [np.array([rank.get(v, 0) for v in c], np.int64) for c in columns]


def sort_distinct(type_: AtomicType, distinct: pa.Array) -> tuple[list[Value], Codes]:
    """Distinct values in Spark's order, and for each old position its new one."""
    order = numbers(pc.sort_indices(distinct))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return values_of(type_, distinct.take(column_from(order))), ranks


def successor(prefix: str | bytes) -> str | bytes | None:
    """The smallest value greater than everything that starts with `prefix`; None if there is none."""
    if isinstance(prefix, bytes):
        stripped = prefix.rstrip(b"\xff")
        return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None
    text = prefix.rstrip("\U0010ffff")
    if not text:
        return None
    last = ord(text[-1]) + 1
    return text[:-1] + chr(0xE000 if 0xD800 <= last <= 0xDFFF else last)  # surrogates are no characters
