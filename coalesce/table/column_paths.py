"""Columns by their dotted names, at any depth: found, changed where they stand, and given types and stored names."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from uuid import uuid4

import pyarrow as pa

from coalesce.arguments import check_text, shown
from coalesce.errors import SchemaError
from coalesce.model.arrow_schema import type_from_arrow
from coalesce.model.schema import Schema, children, did_you_mean
from coalesce.model.types import (
    AtomicType,
    Field,
    ListType,
    MapType,
    StructType,
    Type,
    atomic_type,
)
from coalesce.predicate.names import parts_of

Siblings = Callable[[tuple[Field, ...]], tuple[Field, ...]]


def column_type(given: object) -> Type:
    """A type from a model type, a pyarrow type, or text such as `int64` or `decimal(10,2)`."""
    if isinstance(given, AtomicType | StructType | ListType | MapType):
        return given
    if isinstance(given, pa.DataType):
        return type_from_arrow(given)
    if isinstance(given, str):
        return atomic_type(_SQL_NAMES.get(given.strip().lower(), given.strip().lower()))
    raise SchemaError(f"{shown(given)} is not a type; give a pyarrow type or text such as 'int64' or 'decimal(10,2)'.")


_SQL_NAMES = {
    "tinyint": "int8",
    "byte": "int8",
    "smallint": "int16",
    "short": "int16",
    "int": "int32",
    "integer": "int32",
    "bigint": "int64",
    "long": "int64",
    "real": "float",
    "bool": "boolean",
}


def path_of(name: object, schema: Schema | None = None) -> tuple[str, ...]:
    """The parts of a column's name: `a.b` is a member of `a`, unless a column is called just that."""
    text = check_text(name, "the name of a column")
    parts = (text,) if schema is not None and schema.find(text) is not None else parts_of(text)
    if parts is None:
        raise SchemaError(f"{shown(text)} is not a column's name; put a name with dots or quotes in `back-quotes`.")
    return parts


def found_at(fields: tuple[Field, ...], path: Sequence[str]) -> Field:
    """The field at a path; SchemaError if there is none."""
    field = fields[position_of(fields, path[0])]
    return field if len(path) == 1 else found_at(_members(field), path[1:])


def _members(field: Field) -> tuple[Field, ...]:
    inner = children(field.type)
    if not inner:
        raise SchemaError(f"column {field.name!r} is {field.type} and has no members.")
    return inner


def position_of(fields: tuple[Field, ...], name: str) -> int:
    """Where the field of a name stands among its siblings; SchemaError if it does not."""
    for i, field in enumerate(fields):
        if field.name.lower() == name.lower():
            return i
    raise SchemaError(f"there is no column {name!r}{did_you_mean(name, tuple(f.name for f in fields))}")


def changed_at(fields: tuple[Field, ...], path: Sequence[str], change: Siblings) -> tuple[Field, ...]:
    """The fields with `change` applied to the members at `path`; list elements are called `element`."""
    if not path:
        return change(fields)
    place = position_of(fields, path[0])
    field = fields[place]
    inner = _members(field)
    changed = changed_at(inner, path[1:], change)
    if not isinstance(field.type, StructType) and [f.name for f in changed] != [f.name for f in inner]:
        raise SchemaError(f"column {field.name!r} is {field.type}; only a struct's members have names that can change.")
    match field.type:
        case StructType():
            type_: Type = StructType(changed)
        case ListType():
            type_ = ListType(*changed)
        case MapType():
            type_ = MapType(*changed)
        case _:
            raise SchemaError(f"column {field.name!r} is {field.type} and has no members.")
    return (*fields[:place], replace(field, type=type_), *fields[place + 1 :])


def every_field(fields: tuple[Field, ...]) -> Iterator[Field]:
    """The fields and those inside of them."""
    for field in fields:
        yield field
        yield from every_field(children(field.type))


def physically_named(field: Field, unique: bool) -> Field:
    """A new field under the name its files will use: its own, or one that no file has ever used."""
    name = f"{field.name}-{uuid4().hex}" if unique else field.name
    match field.type:
        case StructType(fields):
            type_: Type = StructType(tuple(physically_named(f, unique) for f in fields))
        case ListType(element):
            type_ = ListType(replace(element, type=physically_named(element, unique).type))
        case MapType(key, value):
            type_ = MapType(
                replace(key, type=physically_named(key, unique).type),
                replace(value, type=physically_named(value, unique).type),
            )
        case _:
            type_ = field.type
    return replace(field, physical_name=name, type=type_)
