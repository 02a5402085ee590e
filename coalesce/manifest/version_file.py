"""Version files: a `Version` as JSON with a digest over every byte.

The document ends with its own digest, taken over the file with the digest's 64 hex digits set to zero. A flipped
bit anywhere, a truncated or a concatenated file is therefore an error that names the file, never a wrong table.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, assert_never

from coalesce.errors import CoalesceError, CorruptMetadata, UnsupportedFeature
from coalesce.manifest.consistency import check_consistency
from coalesce.manifest.document import Node
from coalesce.manifest.parts import Parts
from coalesce.manifest.paths import version_path
from coalesce.manifest.version_document import read_version
from coalesce.model.rule import BySize, Groups, KeepAll, Rule, UnknownRule, unknown_kind
from coalesce.model.spec import Spec
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
)
from coalesce.model.values import to_json
from coalesce.model.version import FORMAT_VERSION, READER_FEATURES, FieldBounds, ManifestRef, Version

_DIGEST: Final = b',"digest":"sha256:'
_END: Final = b'"}\n'
_ZEROS: Final = b"0" * 64
_TRAILER: Final = len(_DIGEST) + len(_ZEROS) + len(_END)


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
        **({} if v.retained_from == 0 else {"retained_from": v.retained_from}),
        **({"tags": dict(v.tags)} if v.tags else {}),
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
        **({"dead_rows": ref.dead_rows} if ref.dead_rows else {}),
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


def decode_version(data: bytes, number: int, parts: Parts | None = None) -> Version:
    """The version in `data`, the bytes of the file of version `number`, or a CoalesceError that names the file.

    `parts` has what need not be read again, if a version that is like this one was read before.
    """
    file = version_path(number)
    parts = Parts() if parts is None else parts
    document = Node(_verified(data, file, parts), file)
    _check_readable(document)
    if document["version"].count != number:
        raise document["version"].wrong(f"the file says it is version {document['version'].value}; it was moved.")
    try:
        version = read_version(document, parts)
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


def _verified(data: bytes, file: str, parts: Parts) -> Any:
    digest = data[-_TRAILER : -_TRAILER + len(_DIGEST)], data[-len(_END) :]
    if len(data) < _TRAILER or digest != (_DIGEST, _END):
        raise CorruptMetadata(file, "it does not end with its digest: the file is damaged or cut short.")
    hex_start = len(data) - len(_END) - len(_ZEROS)
    unsigned = data[:hex_start] + _ZEROS + _END
    if hashlib.sha256(unsigned).hexdigest().encode() != data[hex_start : -len(_END)]:
        raise CorruptMetadata(file, "its digest does not fit its content: the file is damaged.")
    try:
        return parts.parse(data.decode())
    except (ValueError, RecursionError) as error:
        raise CorruptMetadata(file, f"it is not a JSON document: {error}.") from error
