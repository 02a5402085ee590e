"""A table's columns in Delta's words. Where a name was changed, files have another one: then columns are mapped."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from coalesce.model.arrow_schema import type_from_arrow
from coalesce.model.schema import Schema, all_fields, children
from coalesce.model.spec import PartitionField
from coalesce.model.transforms import Identity
from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT8,
    INT16,
    INT32,
    INT64,
    INTEGRAL_BITS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DecimalType,
    Field,
    ListType,
    MapType,
    PrimitiveType,
    StructType,
    Type,
    atomic_type,
    is_atomic,
)
from coalesce.model.version import Version

_TYPES: Final[dict[PrimitiveType, str]] = {
    BOOLEAN: "boolean",
    INT8: "byte",
    INT16: "short",
    INT32: "integer",
    INT64: "long",
    FLOAT: "float",
    DOUBLE: "double",
    STRING: "string",
    BINARY: "binary",
    DATE: "date",
    TIMESTAMP: "timestamp",
    TIMESTAMP_NTZ: "timestamp_ntz",
}
_REFUSED_IN_NAMES: Final = re.compile(r"[ ,;{}()\n\t=]")  # by Delta, unless columns are mapped
_PARTITIONS: Final[frozenset[Type]] = frozenset({BOOLEAN, INT8, INT16, INT32, INT64, STRING, DATE})

# The types that files have of columns that were widened, by column id.
Narrow = Mapping[int, Type]


def needs_mapping(version: Version) -> bool:
    """Whether names in files may be others than the columns have, or are ones that Delta would refuse otherwise."""
    names = [f.name for f in all_fields(version.schema.fields)]
    return version.has_dropped_or_renamed or any(_REFUSED_IN_NAMES.search(name) for name in names)


def has_timestamps_without_zone(schema: Schema) -> bool:
    """Whether a column, at any depth, is a wall clock, which readers of Delta have to know of."""
    return any(f.type == TIMESTAMP_NTZ for f in all_fields(schema.fields))


def has_required(schema: Schema) -> bool:
    """Whether a column or a member of a struct is never NULL; elements, keys and values do not count."""
    fields = list(all_fields(schema.fields))
    inside = {c.id for f in fields if isinstance(f.type, ListType | MapType) for c in children(f.type)}
    return any(f.required and f.id not in inside for f in fields)


def can_partition(field: PartitionField, schema: Schema) -> bool:
    """Whether a field can be one of Delta's partition columns: a column itself, whose text means it in every engine."""
    type_ = schema.atomic(field.source_id)
    return isinstance(field.transform, Identity) and (type_ in _PARTITIONS or isinstance(type_, DecimalType))


def widens(stored: Type, wanted: Type) -> bool:
    """Whether Delta has a change of type from one to the other, or they are the same; dates stay what they are."""
    if stored == wanted:
        return True
    if stored in INTEGRAL_BITS and wanted in INTEGRAL_BITS:
        return INTEGRAL_BITS[stored] <= INTEGRAL_BITS[wanted]
    if isinstance(stored, DecimalType) and isinstance(wanted, DecimalType):
        return stored.scale == wanted.scale and stored.precision <= wanted.precision
    return (stored, wanted) == (FLOAT, DOUBLE)


def is_widened(stored: pa.DataType, wanted: Type) -> bool:
    """Whether a file has a narrower type than the column has now."""
    if not is_atomic(wanted):
        return False
    found = type_from_arrow(stored)
    return found != wanted and widens(found, wanted)


def types_before(text: str) -> dict[tuple[str, ...], Type]:
    """The types that a schema of the log says, by the columns' names in files."""
    return dict(_types_in(json.loads(text), ()))


def narrow_before(text: str | None, schema: Schema) -> dict[int, Type]:
    """The narrower types that files of the last export may have, by what its schema says; found by names in files."""
    if text is None:
        return {}
    before = types_before(text)
    found: dict[int, Type] = {}
    for path, field in _paths(schema.fields, ()):
        type_ = before.get(path)
        if type_ is not None and is_atomic(field.type) and type_ != field.type and widens(type_, field.type):
            found[field.id] = type_
    return found


def has_to_look_again(text: str | None, schema: Schema) -> bool:
    """Whether files of the last export may hold something else than readers would find in them now.

    That is so if there is a new column with a default, which readers do not know, or one of a type that Delta does not
    widen to.
    """
    if text is None:
        return False
    before = types_before(text)
    return any(
        (field.default is not None and path not in before)
        or (path in before and is_atomic(field.type) and not widens(before[path], field.type))
        for path, field in _paths(schema.fields, ())
    )


_Path = tuple[str, ...]


def _types_in(type_: Any, path: _Path) -> Iterator[tuple[_Path, Type]]:
    """The narrowest atomic type that a schema tells of each place in it."""
    if isinstance(type_, str):
        if (found := _from_name(type_)) is not None:
            yield path, found
        return
    match type_["type"]:
        case "struct":
            for field in type_["fields"]:
                here = (*path, field["metadata"].get("delta.columnMapping.physicalName", field["name"]))
                yield from _types_in(field["type"], here)
                for change in reversed(field["metadata"].get("delta.typeChanges", ())):
                    inner = tuple(change["fieldPath"].split(".")) if "fieldPath" in change else ()
                    if (found := _from_name(change["fromType"])) is not None:
                        yield (*here, *inner), found
        case "array":
            yield from _types_in(type_["elementType"], (*path, "element"))
        case "map":
            yield from _types_in(type_["keyType"], (*path, "key"))
            yield from _types_in(type_["valueType"], (*path, "value"))


def _paths(fields: Collection[Field], path: _Path) -> Iterator[tuple[_Path, Field]]:
    for field in fields:
        yield from _below(field, (*path, field.physical_name))


def _below(field: Field, path: _Path) -> Iterator[tuple[_Path, Field]]:
    yield path, field
    match field.type:
        case StructType(fields):
            yield from _paths(fields, path)
        case ListType(element):
            yield from _below(element, (*path, "element"))
        case MapType(key, value):
            yield from _below(key, (*path, "key"))
            yield from _below(value, (*path, "value"))
        case _:
            return


def _from_name(name: str) -> Type | None:
    known = {text: type_ for type_, text in _TYPES.items()}
    return known.get(name) or (atomic_type(name) if name.startswith("decimal(") else None)


def schema_text(schema: Schema, *, mapped: bool, narrow: Narrow, nested_ids: bool) -> str:
    """The schema as Delta writes it down. With `nested_ids`, elements, keys and values have their ids there too."""
    return json.dumps(_struct(schema.fields, mapped, narrow, nested_ids), separators=(",", ":"), ensure_ascii=False)


def _struct(fields: Collection[Field], mapped: bool, narrow: Narrow, nested_ids: bool) -> dict[str, Any]:
    return {"type": "struct", "fields": [_field(f, mapped, narrow, nested_ids) for f in fields]}


def _field(field: Field, mapped: bool, narrow: Narrow, nested_ids: bool) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    if field.comment is not None:
        metadata["comment"] = field.comment
    if mapped:
        metadata["delta.columnMapping.id"] = field.id
        metadata["delta.columnMapping.physicalName"] = field.physical_name
        if nested_ids and (inner := dict(_nested_ids(field.type, field.physical_name))):
            metadata["delta.columnMapping.nested.ids"] = inner
    changes = list(_type_changes(field, narrow))
    if changes:
        metadata["delta.typeChanges"] = changes
    return {
        "name": field.name,
        "type": _type(field.type, mapped, narrow, nested_ids),
        "nullable": not field.required,
        "metadata": metadata,
    }


def _type(type_: Type, mapped: bool, narrow: Narrow, nested_ids: bool) -> str | dict[str, Any]:
    match type_:
        case DecimalType(precision, scale):
            return f"decimal({precision},{scale})"
        case StructType(fields):
            return _struct(fields, mapped, narrow, nested_ids)
        case ListType(element):
            return {
                "type": "array",
                "elementType": _type(element.type, mapped, narrow, nested_ids),
                "containsNull": not element.required,
            }
        case MapType(key, value):
            return {
                "type": "map",
                "keyType": _type(key.type, mapped, narrow, nested_ids),
                "valueType": _type(value.type, mapped, narrow, nested_ids),
                "valueContainsNull": not value.required,
            }
        case PrimitiveType():
            return _TYPES[type_]


def _nested_ids(type_: Type, path: str) -> Iterator[tuple[str, int]]:
    """The ids of elements, keys and values below a column, those of structs inside left to these."""
    match type_:
        case ListType(element):
            yield f"{path}.element", element.id
            yield from _nested_ids(element.type, f"{path}.element")
        case MapType(key, value):
            for name, member in (("key", key), ("value", value)):
                yield f"{path}.{name}", member.id
                yield from _nested_ids(member.type, f"{path}.{name}")
        case _:
            return


def _type_changes(field: Field, narrow: Narrow, path: str = "") -> Iterator[dict[str, str]]:
    """What files have of a column that was widened, and of the elements, keys and values in it."""
    before = narrow.get(field.id)
    if before is not None:
        change = {"fromType": _named(before), "toType": _named(field.type)}
        yield {**change, "fieldPath": path} if path else change
    inner = f"{path}." if path else ""
    match field.type:
        case ListType(element):
            yield from _type_changes(element, narrow, f"{inner}element")
        case MapType(key, value):
            yield from _type_changes(key, narrow, f"{inner}key")
            yield from _type_changes(value, narrow, f"{inner}value")
        case _:
            return


def _named(type_: Type) -> str:
    found = _type(type_, False, {}, False)
    assert isinstance(found, str)
    return found
