"""Hypothesis strategies for types, values and schemas; the awkward values come up often, not by luck."""

import math
from functools import cache
from itertools import count

from hypothesis import strategies as st

from coalesce.model.conversions import integer_range, scaled
from coalesce.model.schema import Schema, with_fresh_ids
from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    FLOATING,
    INTEGRAL_BITS,
    PRIMITIVES,
    STRING,
    AtomicType,
    DecimalType,
    Field,
    ListType,
    MapType,
    StructType,
    Type,
    Value,
)

AWKWARD_STRINGS = (
    "",
    " ",
    "[#small]",
    "__HIVE_DEFAULT_PARTITION__",
    "NULL",
    "a'b\\c\"d`e",
    "a/b=c%2F",
    "\0",
    "line\nbreak",
    "ÿ",
    "e\u0301",  # é in two code points: never normalised to the one below
    "\u00e9",
    "\uffff",  # above every surrogate in UTF-16, below every emoji in UTF-8
    "🙂",
    "👩‍👩‍👧",
)
AWKWARD_FLOATS = (math.nan, -math.nan, -0.0, 0.0, math.inf, -math.inf, 0.1, -1.5)
AWKWARD_DAYS = (-719_162, 2_932_896, -1, 0, 59, -141_428)  # the first and last day Python has, and near 1970
_DAY = 86_400_000_000


def atomic_types() -> st.SearchStrategy[AtomicType]:
    """Every atomic type, decimals of every precision and scale among them."""
    return st.one_of(st.sampled_from(list(PRIMITIVES.values())), decimal_types())


@st.composite
def decimal_types(draw: st.DrawFn) -> DecimalType:
    """Decimals of every precision and scale; those at which the storage gets wider come up more often."""
    precision = draw(st.sampled_from([1, 9, 18, 19, 38]) | st.integers(1, 38))
    return DecimalType(precision, draw(st.integers(0, precision)))


def values(type_: AtomicType, *, nulls: bool = True) -> st.SearchStrategy[Value]:
    """In-memory values of the type over its whole range; NULL too unless `nulls` is false."""
    some = _non_null(type_)
    return st.none() | some if nulls else some


def columns(type_: AtomicType, *, nulls: bool = True, max_size: int = 20) -> st.SearchStrategy[list[Value]]:
    """Lists of values of one type."""
    return st.lists(values(type_, nulls=nulls), max_size=max_size)


@st.composite
def types_with_values(draw: st.DrawFn, *, nulls: bool = True) -> tuple[AtomicType, Value]:
    """A type and a value of it."""
    type_ = draw(atomic_types())
    return type_, draw(values(type_, nulls=nulls))


@st.composite
def types_with_columns(draw: st.DrawFn, *, nulls: bool = True, max_size: int = 20) -> tuple[AtomicType, list[Value]]:
    """A type and a list of values of it."""
    type_ = draw(atomic_types())
    return type_, draw(columns(type_, nulls=nulls, max_size=max_size))


def types() -> st.SearchStrategy[Type]:
    """Types, nested ones too. Fields inside have the id 0; `schemas` numbers them."""
    return st.recursive(atomic_types(), _nested, max_leaves=6)


@st.composite
def schemas(draw: st.DrawFn, *, min_size: int = 1, max_size: int = 5) -> Schema:
    """Schemas with fresh ids from 1."""
    ids = count(1)
    members = draw(_members(types(), min_size=min_size, max_size=max_size))
    return Schema(with_fresh_ids(members, lambda: next(ids)))


@cache
def _non_null(type_: AtomicType) -> st.SearchStrategy[Value]:
    if isinstance(type_, DecimalType):
        decimal_type = type_
        return _integers(type_).map(lambda digits: scaled(decimal_type, digits))
    if type_ in FLOATING:
        awkward = AWKWARD_FLOATS if type_ == DOUBLE else (*(f for f in AWKWARD_FLOATS if f != 0.1), 0.10000000149011612)
        return st.sampled_from(awkward) | st.floats(width=32 if type_ == FLOAT else 64)
    if type_ == BOOLEAN:
        return st.booleans()
    if type_ == STRING:
        return st.sampled_from(AWKWARD_STRINGS) | st.text(max_size=20)
    if type_ == BINARY:
        return st.sampled_from([b"", b"\0", b"\xff\xfe", b"[#small]"]) | st.binary(max_size=20)
    if type_ == DATE:
        return st.sampled_from(AWKWARD_DAYS) | _integers(type_)
    if type_ in INTEGRAL_BITS:
        return _integers(type_)
    return st.builds(_moment, st.sampled_from(AWKWARD_DAYS), st.integers(-1, 1)) | _integers(type_)


def _moment(day: int, micros: int) -> int:
    return day * _DAY + micros


@cache
def _integers(type_: AtomicType) -> st.SearchStrategy[int]:
    """Integers over the type's range, with its ends, zero and the neighbours of powers of two and ten."""
    least, greatest = integer_range(type_)
    edges = {least, least + 1, greatest - 1, greatest, -1, 0, 1}
    edges |= {s * b**e + d for s in (-1, 1) for b, top in ((2, 127), (10, 39)) for e in range(top) for d in (-1, 0, 1)}
    return st.sampled_from(sorted(e for e in edges if least <= e <= greatest)) | st.integers(least, greatest)


def _nested(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    flags = st.booleans()
    return st.one_of(
        _members(inner, min_size=1, max_size=3).map(StructType),
        st.builds(lambda type_, required: ListType(_field("element", type_, required)), inner, flags),
        st.builds(
            lambda key, value, required: MapType(_field("key", key, True), _field("value", value, required)),
            atomic_types(),
            inner,
            flags,
        ),
    )


@st.composite
def _members(draw: st.DrawFn, inner: st.SearchStrategy[Type], *, min_size: int, max_size: int) -> tuple[Field, ...]:
    names = draw(st.lists(_names(), min_size=min_size, max_size=max_size, unique_by=str.lower))
    return tuple(_field(name, draw(inner), draw(st.booleans())) for name in names)


def _names() -> st.SearchStrategy[str]:
    return st.sampled_from(["dt", "App", "a b", "größe", "element", "_x", "a.b", "🙂"]) | st.text("abcXYZ_", min_size=1)


def _field(name: str, type_: Type, required: bool) -> Field:
    return Field(id=0, name=name, type=type_, required=required)
