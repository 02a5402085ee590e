"""Iceberg's name mapping: which column is meant by which name in a file without ids, such as an adopted one.

PyIceberg reads no file that has a name which the mapping lacks. So it has every name that an exported file has: those
of columns that the table has dropped keep their ids, and those that it never had get ids that are nobody's.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as at

from coalesce.errors import CorruptMetadata
from coalesce.model.schema import MAX_COLUMN_ID, Schema
from coalesce.model.types import Field, ListType, MapType, StructType

NAME_MAPPING: Final = "schema.name-mapping.default"

# As Iceberg's property has it: an object with `field-id`, `names`, and the `fields` inside, if there are some.
Named = Mapping[str, Any]


def name_mapping(schema: Schema) -> list[Named]:
    """The table's columns by their names in files."""
    return [_named(field, field.physical_name) for field in schema]


def _named(field: Field, name: str) -> Named:
    match field.type:
        case StructType(fields):
            return _node(field.id, name, [_named(f, f.physical_name) for f in fields])
        case ListType(element):
            return _node(field.id, name, [_named(element, "element")])
        case MapType(key, value):
            return _node(field.id, name, [_named(key, "key"), _named(value, "value")])
        case _:
            return _node(field.id, name, [])


def _node(field_id: int, name: str, inside: Sequence[Named]) -> Named:
    return {"field-id": field_id, "names": [name], **({"fields": list(inside)} if inside else {})}


def written(mapping: Sequence[Named]) -> str:
    """The text of the property."""
    return json.dumps(mapping, separators=(",", ":"))


def with_earlier(mapping: Sequence[Named], earlier: str | None, path: str) -> list[Named]:
    """The mapping with the names that the last export had besides; `path` is where that says so."""
    try:
        return _merged(mapping, [] if earlier is None else json.loads(earlier))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise CorruptMetadata(
            path, f"its property {NAME_MAPPING} is damaged; drop_export('iceberg'), and export again."
        ) from error


def _merged(mapping: Sequence[Named], earlier: Sequence[Named]) -> list[Named]:
    before = {node["names"][0]: node for node in earlier}
    now = {node["names"][0]: node for node in mapping}
    both = [
        _node(node["field-id"], name, _merged(node.get("fields", ()), before.get(name, {}).get("fields", ())))
        for name, node in now.items()
    ]
    return [*both, *(node for name, node in before.items() if name not in now)]


def with_unknown(mapping: Sequence[Named], schemas: Iterable[pa.Schema]) -> list[Named]:
    """The mapping with every name that files of these columns have."""
    used = set(_ids(mapping))
    ids = (i for i in count(MAX_COLUMN_ID, -1) if i not in used)
    for schema in schemas:
        mapping = _covering(mapping, [(field.name, field.type) for field in schema], ids)
    return list(mapping)


def _covering(
    mapping: Sequence[Named], members: Sequence[tuple[str, pa.DataType]], ids: Iterator[int]
) -> Sequence[Named]:
    known = {node["names"][0]: node for node in mapping}
    for name, type_ in members:
        node = known.get(name)
        inside = _covering([] if node is None else node.get("fields", ()), _members(type_), ids)
        known[name] = _node(next(ids) if node is None else node["field-id"], name, inside)
    return list(known.values())


def _members(type_: pa.DataType) -> list[tuple[str, pa.DataType]]:
    if at.is_struct(type_):
        return [(type_.field(i).name, type_.field(i).type) for i in range(type_.num_fields)]
    if at.is_map(type_):
        return [("key", type_.key_type), ("value", type_.item_type)]
    if at.is_list(type_) or at.is_large_list(type_) or at.is_fixed_size_list(type_):
        return [("element", type_.value_type)]
    return []


def _ids(mapping: Sequence[Named]) -> Iterator[int]:
    for node in mapping:
        yield node["field-id"]
        yield from _ids(node.get("fields", ()))
