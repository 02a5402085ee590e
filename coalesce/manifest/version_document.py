"""The document of a version file as a `Version`: every member is checked, and an error says where it stands."""

import re
from typing import Final

from coalesce.errors import CoalesceError
from coalesce.manifest.document import Node
from coalesce.manifest.parts import Parts
from coalesce.manifest.paths import is_manifest_path
from coalesce.model.rule import BySize, Groups, KeepAll, Rule, UnknownRule
from coalesce.model.schema import MAX_COLUMN_ID, Schema
from coalesce.model.spec import PartitionField, Spec
from coalesce.model.transforms import Transform, transform
from coalesce.model.types import (
    AtomicType,
    Field,
    ListType,
    MapType,
    StructType,
    Type,
    Value,
    atomic_type,
    is_atomic,
)
from coalesce.model.values import from_json, order_key
from coalesce.model.version import FieldBounds, ManifestRef, Version

_MANIFEST_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")

# Milliseconds since 1970 of the first and the last moment that a calendar of four digits can show.
_FIRST_MOMENT: Final = -62_135_596_800_000
_LAST_MOMENT: Final = 253_402_300_799_999


def read_version(d: Node, parts: Parts) -> Version:
    """The version that a document describes, or a CorruptMetadata that names the member which is wrong."""
    parent, retained_from, tags = d.get("parent_commit_id"), d.get("retained_from"), d.get("tags")
    return Version(
        number=d["version"].count,
        table_id=d["table_id"].text,
        commit_id=d["commit_id"].text,
        parent_commit_id=None if parent is None else parent.text,
        timestamp_ms=_read_moment(d["timestamp_ms"]),
        operation=d["operation"].text,
        summary={k: v.text if isinstance(v.value, str) else v.number for k, v in d["summary"].items()},
        schema=parts.read(d["schema"]["fields"], _read_schema),
        specs=tuple(_read_spec(s) for s in d["specs"]),
        current_spec_id=d["current_spec_id"].count,
        rules=tuple(_read_rule(r) for r in d["rules"]),
        current_rule_id=d["current_rule_id"].count,
        properties={k: v.text for k, v in d["properties"].items()},
        reader_features=frozenset(f.text for f in d["reader_features"]),
        writer_features=frozenset(f.text for f in d["writer_features"]),
        manifests=parts.read_each(d["manifests"], _read_manifest),
        next_row_id=d["next_row_id"].count,
        max_column_id=d["max_column_id"].count,
        has_dropped_or_renamed=d["has_dropped_or_renamed"].flag,
        applied=d["applied"].counts,
        retained_from=0 if retained_from is None else retained_from.count,
        tags={} if tags is None else tags.counts,
    )


def _read_moment(node: Node) -> int:
    if not _FIRST_MOMENT <= node.number <= _LAST_MOMENT:
        raise node.wrong(f"it should be a moment in the years 1 to 9999, but is {node.value}.")
    return node.number


def _read_schema(fields: Node) -> Schema:
    return Schema(tuple(_read_field(f) for f in fields))


def _read_field(node: Node) -> Field:
    type_ = _read_type(node["type"])
    default, comment = node.get("default"), node.get("comment")
    if default is not None and not is_atomic(type_):
        raise default.wrong("only a column of an atomic type has a default.")
    if not node["physical_name"].text:
        raise node["physical_name"].wrong("it is empty.")
    if not 1 <= node["id"].number <= MAX_COLUMN_ID:
        raise node["id"].wrong(f"it should be 1 to {MAX_COLUMN_ID}, but is {node['id'].value}.")
    return Field(
        id=node["id"].number,
        name=node["name"].text,
        physical_name=node["physical_name"].text,
        type=type_,
        required=node["required"].flag,
        default=None if default is None else _read_value(default, type_),  # type: ignore[arg-type]
        comment=None if comment is None else comment.text,
    )


def _read_type(node: Node) -> Type:
    if isinstance(node.value, str):
        return _read_atomic_type(node)
    match node["kind"].text:
        case "struct":
            return StructType(tuple(_read_field(f) for f in node["fields"]))
        case "list":
            return ListType(_read_field(node["element"]))
        case "map":
            return MapType(_read_field(node["key"]), _read_field(node["value"]))
        case other:
            raise node["kind"].wrong(f"there is no kind of type {other!r}.")


def _read_atomic_type(node: Node) -> AtomicType:
    text = node.text
    try:
        return atomic_type(text)
    except CoalesceError as error:
        raise node.wrong(str(error)) from error


def _read_value(node: Node, type_: AtomicType) -> Value:
    try:
        return from_json(type_, node.value)
    except CoalesceError as error:
        raise node.wrong(str(error)) from error


def _read_spec(node: Node) -> Spec:
    return Spec(node["spec_id"].count, tuple(_read_partition_field(f) for f in node["fields"]))


def _read_partition_field(node: Node) -> PartitionField:
    return PartitionField(
        field_id=node["field_id"].count,
        source_id=node["source_id"].count,
        transform=_read_transform(node["transform"]),
        name=node["name"].text,
    )


def _read_transform(node: Node) -> Transform:
    text = node.text
    try:
        return transform(text)
    except CoalesceError as error:
        raise node.wrong(str(error)) from error


def _read_rule(node: Node) -> Rule:
    rule_id = node["rule_id"].count
    match node["kind"].text:
        case "keep_all":
            return KeepAll(rule_id)
        case "by_size":
            field_ids = tuple(f.count for f in node["field_ids"])
            return BySize(rule_id, field_ids, node["group"].text, node["below"].count)
        case "groups":
            types = {f["field_id"].count: _read_atomic_type(f["type"]) for f in node["fields"]}
            members = {f["field_id"].count: _read_members(f, types[f["field_id"].count]) for f in node["fields"]}
            return Groups(rule_id, members, types)
        case other:
            return UnknownRule(rule_id, other)


def _read_members(node: Node, type_: AtomicType) -> dict[Value, str]:
    members: dict[Value, str] = {}
    for group in node["groups"]:
        for place in group["values"]:
            value = _read_value(place, type_)
            if value in members:
                raise place.wrong(f"{place.value!r} is in two groups, or twice in one.")
            members[value] = group["name"].text
    return members


def _read_manifest(node: Node) -> ManifestRef:
    path = node["path"].text
    if not is_manifest_path(path):
        raise node["path"].wrong(f"{path!r} is not a manifest of this table.")
    if _MANIFEST_DIGEST.fullmatch(node["digest"].text) is None:
        raise node["digest"].wrong("it is not sha256: and 64 hexadecimal digits.")
    bounds, dead_rows = node.get("bounds"), node.get("dead_rows")
    return ManifestRef(
        path=path,
        spec_id=node["spec_id"].count,
        files=node["files"].count,
        rows=node["rows"].count,
        bytes=node["bytes"].count,
        length=node["length"].count,
        digest=node["digest"].text,
        bounds=None if bounds is None else tuple(_read_bounds(b, node["rows"].count) for b in bounds),
        added_version=node["added_version"].count,
        first_row_id=node["first_row_id"].count,
        dead_rows=0 if dead_rows is None else dead_rows.count,
    )


def _read_bounds(node: Node, rows: int) -> FieldBounds:
    """The bounds of a field over so many rows; what no rows can have would prune all of them."""
    type_ = _read_atomic_type(node["type"])
    lower, upper, constant = node.get("lower"), node.get("upper"), node.get("constant")
    if (lower is None) != (upper is None):
        raise node.wrong("lower and upper are null together or not at all.")
    bounds = FieldBounds(
        field_id=node["field_id"].count,
        type=type_,
        lower=None if lower is None else _read_value(lower, type_),
        upper=None if upper is None else _read_value(upper, type_),
        has_null=node["has_null"].flag,
        constant=None if constant is None else constant.flag,
    )
    if bounds.lower is None or bounds.upper is None:
        if rows and not bounds.has_null:
            raise node.wrong(f"{rows} rows have neither values nor NULL.")
    elif order_key(type_, bounds.lower) > order_key(type_, bounds.upper):
        raise node.wrong("lower is above upper.")
    return bounds
