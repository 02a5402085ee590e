"""Version files: a `Version` as JSON with a digest over every byte.

The document ends with its own digest, taken over the file with the digest's 64 hex digits set to zero. A flipped
bit anywhere, a truncated or a concatenated file is therefore an error that names the file, never a wrong table.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final, assert_never

from coalesce.errors import CoalesceError, CorruptMetadata, UnsupportedFeature
from coalesce.manifest.consistency import check_consistency
from coalesce.manifest.document import Node, parse
from coalesce.manifest.paths import is_manifest_path, version_path
from coalesce.model.rule import BySize, Groups, KeepAll, Rule, UnknownRule, unknown_kind
from coalesce.model.schema import MAX_COLUMN_ID, Schema
from coalesce.model.spec import PartitionField, Spec
from coalesce.model.transforms import Transform, transform
from coalesce.model.types import (
    AtomicType,
    DecimalType,
    Field,
    ListType,
    MapType,
    PrimitiveType,
    StructType,
    Type,
    Value,
    atomic_type,
    is_atomic,
)
from coalesce.model.values import from_json, order_key, to_json
from coalesce.model.version import FORMAT_VERSION, READER_FEATURES, FieldBounds, ManifestRef, Version

_DIGEST: Final = b',"digest":"sha256:'
_END: Final = b'"}\n'
_ZEROS: Final = b"0" * 64
_TRAILER: Final = len(_DIGEST) + len(_ZEROS) + len(_END)
_MANIFEST_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")

# Milliseconds since 1970 of the first and the last moment that a calendar of four digits can show.
_FIRST_MOMENT: Final = -62_135_596_800_000
_LAST_MOMENT: Final = 253_402_300_799_999

Json = dict[str, Any]


# --- writing -----------------------------------------------------------------------------------------------------


def encode_version(version: Version) -> bytes:
    """The bytes of the version's file."""
    body = json.dumps(_version(version), ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    unsigned = body[:-1] + _DIGEST + _ZEROS + _END
    digest = hashlib.sha256(unsigned).hexdigest().encode()
    return body[:-1] + _DIGEST + digest + _END


def _version(v: Version) -> Json:
    return {
        "format_version": FORMAT_VERSION,
        "version": v.number,
        "table_id": v.table_id,
        "commit_id": v.commit_id,
        "parent_commit_id": v.parent_commit_id,
        "timestamp_ms": v.timestamp_ms,
        "operation": v.operation,
        "summary": dict(v.summary),
        "reader_features": sorted(v.reader_features),
        "writer_features": sorted(v.writer_features),
        "properties": dict(v.properties),
        "schema": {"fields": [_field(f) for f in v.schema]},
        "max_column_id": v.max_column_id,
        "has_dropped_or_renamed": v.has_dropped_or_renamed,
        "specs": [_spec(s) for s in v.specs],
        "current_spec_id": v.current_spec_id,
        "rules": [_rule(r) for r in v.rules],
        "current_rule_id": v.current_rule_id,
        "next_row_id": v.next_row_id,
        "applied": dict(v.applied),
        "manifests": [_manifest(m) for m in v.manifests],
    }


def _field(field: Field) -> Json:
    json_: Json = {
        "id": field.id,
        "name": field.name,
        "physical_name": field.physical_name,
        "type": _type(field.type),
        "required": field.required,
    }
    if field.default is not None and isinstance(field.type, PrimitiveType | DecimalType):
        json_["default"] = to_json(field.type, field.default)
    if field.comment is not None:
        json_["comment"] = field.comment
    return json_


def _type(type_: Type) -> str | Json:
    match type_:
        case PrimitiveType() | DecimalType():
            return str(type_)
        case StructType(fields):
            return {"kind": "struct", "fields": [_field(f) for f in fields]}
        case ListType(element):
            return {"kind": "list", "element": _field(element)}
        case MapType(key, value):
            return {"kind": "map", "key": _field(key), "value": _field(value)}
        case _:
            assert_never(type_)


def _spec(spec: Spec) -> Json:
    return {
        "spec_id": spec.spec_id,
        "fields": [
            {"field_id": f.field_id, "source_id": f.source_id, "transform": str(f.transform), "name": f.name}
            for f in spec.fields
        ],
    }


def _rule(rule: Rule) -> Json:
    match rule:
        case KeepAll(rule_id):
            return {"rule_id": rule_id, "kind": "keep_all"}
        case BySize(rule_id, field_ids, group, below):
            return {"rule_id": rule_id, "kind": "by_size", "field_ids": list(field_ids), "group": group, "below": below}
        case Groups(rule_id, members, types):
            return {
                "rule_id": rule_id,
                "kind": "groups",
                "fields": [_members(i, types[i], values) for i, values in members.items()],
            }
        case UnknownRule():
            raise unknown_kind(rule)
        case _:
            assert_never(rule)


def _members(field_id: int, type_: AtomicType, values: Mapping[Value, str]) -> Json:
    groups: dict[str, list[Any]] = {}
    for value, name in values.items():
        groups.setdefault(name, []).append(to_json(type_, value))
    return {
        "field_id": field_id,
        "type": str(type_),
        "groups": [{"name": name, "values": listed} for name, listed in groups.items()],
    }


def _manifest(ref: ManifestRef) -> Json:
    return {
        "path": ref.path,
        "spec_id": ref.spec_id,
        "files": ref.files,
        "rows": ref.rows,
        "bytes": ref.bytes,
        "length": ref.length,
        "digest": ref.digest,
        "added_version": ref.added_version,
        "first_row_id": ref.first_row_id,
        "bounds": None if ref.bounds is None else [_bounds(b) for b in ref.bounds],
    }


def _bounds(bounds: FieldBounds) -> Json:
    return {
        "field_id": bounds.field_id,
        "type": str(bounds.type),
        "lower": to_json(bounds.type, bounds.lower),
        "upper": to_json(bounds.type, bounds.upper),
        "has_null": bounds.has_null,
        **({} if bounds.constant is None else {"constant": bounds.constant}),
    }


# --- reading -----------------------------------------------------------------------------------------------------


def decode_version(data: bytes, number: int) -> Version:
    """The version in `data`, the bytes of the file of version `number`, or a CoalesceError that names the file."""
    file = version_path(number)
    document = Node(_verified(data, file), file)
    _check_readable(document)
    if document["version"].count != number:
        raise document["version"].wrong(f"the file says it is version {document['version'].value}; it was moved.")
    try:
        version = _read_version(document)
    except CorruptMetadata:
        raise
    except CoalesceError as error:  # a model's own check, which knows no file
        raise CorruptMetadata(file, str(error)) from error
    except RecursionError:
        raise document["schema"].wrong("its types are nested too deeply.") from None
    check_consistency(version, document)
    return version


def _check_readable(document: Node) -> None:
    """Refuse what a newer release wrote before looking at anything that it may have changed."""
    format_version = document["format_version"]
    if format_version.number > FORMAT_VERSION:
        raise UnsupportedFeature(
            f"{document.file} is in format version {format_version.value}, and this release reads up to "
            f"{FORMAT_VERSION}; upgrade coalesce."
        )
    if format_version.number != FORMAT_VERSION:
        raise format_version.wrong(f"there is no format version {format_version.value}.")
    unknown = {f.text for f in document["reader_features"]} - READER_FEATURES
    if unknown:
        raise UnsupportedFeature(
            f"{document.file} needs {', '.join(sorted(unknown))}, which this release cannot read; upgrade coalesce."
        )


def digest_of(data: bytes) -> bytes:
    """The digest a version file ends with, unverified: two files with the same one are the same."""
    return data[-len(_END) - len(_ZEROS) : -len(_END)]


def _verified(data: bytes, file: str) -> Any:
    digest = data[-_TRAILER : -_TRAILER + len(_DIGEST)], data[-len(_END) :]
    if len(data) < _TRAILER or digest != (_DIGEST, _END):
        raise CorruptMetadata(file, "it does not end with its digest: the file is damaged or cut short.")
    hex_start = len(data) - len(_END) - len(_ZEROS)
    unsigned = data[:hex_start] + _ZEROS + _END
    if hashlib.sha256(unsigned).hexdigest().encode() != data[hex_start : -len(_END)]:
        raise CorruptMetadata(file, "its digest does not fit its content: the file is damaged.")
    try:
        return parse(data)
    except (ValueError, RecursionError) as error:
        raise CorruptMetadata(file, f"it is not a JSON document: {error}.") from error


def _read_version(d: Node) -> Version:
    parent = d.get("parent_commit_id")
    return Version(
        number=d["version"].count,
        table_id=d["table_id"].text,
        commit_id=d["commit_id"].text,
        parent_commit_id=None if parent is None else parent.text,
        timestamp_ms=_read_moment(d["timestamp_ms"]),
        operation=d["operation"].text,
        summary={k: v.text if isinstance(v.value, str) else v.number for k, v in d["summary"].items()},
        schema=Schema(tuple(_read_field(f) for f in d["schema"]["fields"])),
        specs=tuple(_read_spec(s) for s in d["specs"]),
        current_spec_id=d["current_spec_id"].count,
        rules=tuple(_read_rule(r) for r in d["rules"]),
        current_rule_id=d["current_rule_id"].count,
        properties={k: v.text for k, v in d["properties"].items()},
        reader_features=frozenset(f.text for f in d["reader_features"]),
        writer_features=frozenset(f.text for f in d["writer_features"]),
        manifests=tuple(_read_manifest(m) for m in d["manifests"]),
        next_row_id=d["next_row_id"].count,
        max_column_id=d["max_column_id"].count,
        has_dropped_or_renamed=d["has_dropped_or_renamed"].flag,
        applied={k: v.count for k, v in d["applied"].items()},
    )


def _read_moment(node: Node) -> int:
    if not _FIRST_MOMENT <= node.number <= _LAST_MOMENT:
        raise node.wrong(f"it should be a moment in the years 1 to 9999, but is {node.value}.")
    return node.number


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
    bounds = node.get("bounds")
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
