"""Rows as Python has them: dicts of values.

Python's numbers have no width and its values no column, so each is converted to the type that the table's column has,
exactly or not at all. Only where there is no table yet are types inferred, by Arrow; and what Arrow would make alike
without a word (a date of a datetime, bytes of a text, an instant of a wall clock) is refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import chain
from numbers import Number
from typing import TypeGuard

import numpy as np
import pyarrow as pa

from coalesce.arrow.reshape import bare_rows
from coalesce.errors import SchemaError
from coalesce.model.arrow_schema import arrow_type
from coalesce.model.schema import Schema, did_you_mean
from coalesce.model.types import TEMPORAL, Field, ListType, MapType, StructType, Type
from coalesce.model.values import from_python
from coalesce.table.match import inside, refusal

Record = Mapping[str, object]

_CURE = "give it one type"

# What Arrow raises at values that it has no type for, or no one type.
UNCONVERTIBLE = (pa.ArrowException, ValueError, TypeError, OverflowError)


def records_table(records: Sequence[Record], schema: Schema) -> pa.Table:
    """The rows, each column that the table has in its type; one that it does not have is there as NULLs.

    A row that lacks a column which others have holds the column's default there, or NULL.
    """
    problems: list[str] = []
    columns = {}
    for name in _names(records):
        field = schema.find(name)
        if field is None:
            columns[name] = pa.nulls(len(records))
            continue
        absent = None if field.default is None else _ABSENT
        columns[name] = _column(field, [record.get(name, absent) for record in records], problems)
    if problems:
        raise refusal(problems)
    return pa.table(columns) if columns else bare_rows(len(records))


def records_schema(records: Sequence[Record]) -> pa.Schema:
    """The columns of rows, by the types that Arrow finds for all of their values."""
    problems, fields = [], []
    for name in _names(records):
        values = [record.get(name) for record in records]
        problem = mixture(name, values, _CURE)
        try:
            fields.append(pa.field(name, pa.array(values).type))
        except UNCONVERTIBLE:
            problem = problem or unconvertible(name, values, _CURE)
        problems += [] if problem is None else [problem]
    if problems:
        raise SchemaError("no schema fits all of the rows:" + "".join(f"\n  - {problem}" for problem in problems))
    return pa.schema(fields)


def unknown(record: Record, known: Sequence[Field]) -> dict[str, object]:
    """What of a row there is no column for, at any depth of structs."""
    own = {field.name.lower(): field for field in known}
    found: dict[str, object] = {}
    for name, value in record.items():
        there = own.get(str(name).lower())
        if there is None:
            found[name] = value
        elif isinstance(there.type, StructType) and isinstance(value, Mapping):
            members = unknown(value, there.type.fields)
            found |= {there.name: members} if members else {}
    return found


def _names(records: Sequence[Record]) -> Iterable[str]:
    """Every name that any of the rows has, in order of first appearance."""
    names = dict.fromkeys(chain.from_iterable(records))
    for name in names:
        if not isinstance(name, str):
            raise SchemaError(f"a row's keys are the names of columns, and {name!r} is no text.")
    return names


# --- values for a column that there is ---------------------------------------------------------------------------


class _Absent:
    """Stands for the value of a row that does not have the column."""


_ABSENT = _Absent()


def _column(field: Field, values: Sequence[object], problems: list[str]) -> pa.Array:
    """The values in the column's type; what the first misfit is goes to `problems`."""
    converted = []
    for number, value in enumerate(values):
        try:
            converted.append(field.default if value is _ABSENT else _value(field.type, value, field.name))
        except SchemaError as error:
            problems.append(f"column {field.name!r}, row {number}: {error}")
            return pa.nulls(len(values))
    return pa.array(converted, arrow_type(field.type))


def _value(type_: Type, value: object, place: str) -> object:
    """A value as `pa.array` takes it for the type: in memory's form, dicts, lists and pairs."""
    if value is None:
        return None
    match type_:
        case StructType(members):
            return _struct(members, value, place)
        case ListType(element):
            if isinstance(value, str | bytes | Mapping) or not _has_items(value):
                raise SchemaError(f"{place} is a list, and {value!r:.60} is not.")
            return [_value(element.type, v, f"{place}.element") for v in value]
        case MapType(key, item):
            pairs = value.items() if isinstance(value, Mapping) else value
            if isinstance(pairs, str | bytes) or not _has_items(pairs):
                raise SchemaError(f"{place} is a map, and {value!r:.60} is neither a dict nor a list of pairs.")
            return [_pair(key, item, pair, place) for pair in pairs]
        case _:
            # Days and microseconds are how the library counts; what a caller's number counts is not known.
            if type_ in TEMPORAL and isinstance(value, Number):
                raise SchemaError(f"{value!r:.60} is a number, and {type_} is wanted; give a date or a datetime.")
            return from_python(type_, value)


def _has_items(value: object) -> TypeGuard[Iterable[object]]:
    try:
        iter(value)  # type: ignore[call-overload]
    except TypeError:  # also NumPy's arrays of no dimensions, which say that they have items
        return False
    return True


def _struct(members: Sequence[Field], value: object, place: str) -> dict[str, object]:
    if not isinstance(value, Mapping):
        raise SchemaError(f"{place} is a struct, and {value!r:.60} is no dict.")
    given = {str(name).lower(): name for name in value}
    unknown = [name for folded, name in given.items() if folded not in {m.name.lower() for m in members}]
    if unknown or len(given) < len(value):
        name = next(iter(unknown), None)
        if name is None:
            raise SchemaError(f"{place} has members whose names differ only in case.")
        raise SchemaError(
            f"there is no {inside(place, str(name))!r}{did_you_mean(str(name), tuple(m.name for m in members))}"
        )
    return {
        m.name: _value(m.type, value[given[m.name.lower()]], inside(place, m.name))
        if m.name.lower() in given
        else m.default
        for m in members
    }


def _pair(key: Field, item: Field, pair: object, place: str) -> tuple[object, object]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise SchemaError(f"{place} is a map, and {pair!r:.60} is no pair of a key and a value.")
    if pair[0] is None:
        raise SchemaError(f"{place} has a key that is NULL, which a map cannot hold.")
    return _value(key.type, pair[0], f"{place}.key"), _value(item.type, pair[1], f"{place}.value")


# --- values whose type is to be found ----------------------------------------------------------------------------


def mixture(label: object, values: Sequence[object], cure: str) -> str | None:
    """The sentence about values of several kinds that Arrow would take as one, at any depth; None if there are none.

    `cure` is the end of the sentence.
    """
    named = {type_.__name__: _kind(type_) for type_ in set(map(type, values))}
    if _DATETIME in named.values():
        zones = {v.tzinfo is None for v in values if isinstance(v, datetime) and v == v}
        named = {name: kind for name, kind in named.items() if kind != _DATETIME}
        named |= {zone: zone for zone in (_WITHOUT_ZONE if naive else _WITH_ZONE for naive in zones)}
    kinds = set(named.values()) - {_NULL}
    if len(kinds) > 1:
        return _mixes(label, [name for name, kind in named.items() if kind != _NULL], cure)
    if kinds == {"dict"}:
        dicts = [v for v in values if isinstance(v, Mapping)]
        names = dict.fromkeys(chain.from_iterable(dicts))
        return next(filter(None, (mixture(f"{label}.{n}", [d.get(n) for d in dicts], cure) for n in names)), None)
    if kinds == {"list"}:
        lists = [v for v in values if isinstance(v, list | tuple)]
        return mixture(f"{label}.element", list(chain.from_iterable(lists)), cure)
    return None


def unconvertible(label: object, values: Iterable[object], cure: str) -> str:
    """The sentence about values that Arrow has no type for, or no one type."""
    kinds = {type(value).__name__ for value in values if value is not None}
    if len(kinds) > 1:
        return _mixes(label, kinds, cure)
    return f"column {str(label)!r} holds values of {', '.join(kinds)} that Arrow has no type for; convert them first."


def _mixes(label: object, kinds: Iterable[str], cure: str) -> str:
    return f"column {str(label)!r} mixes values of {', '.join(sorted(kinds)[:5])}; {cure}."


def _kind(type_: type) -> str:
    """Which values Arrow makes alike and keeps exactly, as it does numbers."""
    if type_ is type(None) or type_.__name__ in ("NaTType", "NAType"):
        return _NULL
    return next((name for kinds, name in _KINDS if issubclass(type_, kinds)), type_.__name__)


_NULL, _DATETIME = "", "datetime"
_WITHOUT_ZONE, _WITH_ZONE = "datetime without a time zone", "datetime with a time zone"
_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    ((bool, np.bool_), "bool"),
    ((int, float, Decimal, np.number), "number"),
    (datetime, _DATETIME),
    (np.datetime64, _WITHOUT_ZONE),
    (date, "date"),
    (str, "str"),
    ((bytes, bytearray, memoryview), "bytes"),
    (Mapping, "dict"),
    ((list, tuple), "list"),
)
