"""An Iceberg table as entries of a table of ours, from its metadata alone, as the library PyIceberg reads it."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Final

from coalesce.arrow.statistics import lower_bound, upper_bound
from coalesce.arrow.threads import each
from coalesce.distribution import install
from coalesce.errors import NotInstalled, SchemaError, SpecError, TableNotFound, UnsupportedFeature
from coalesce.interop.adopt.foreign import (
    Wanted,
    again,
    all_specs,
    as_files_call_them,
    check_files,
    check_unasked,
    refused,
    relative,
)
from coalesce.interop.adopt.new_version import first_version
from coalesce.interop.adopt.survey import ICEBERG, Asked, Seen, Survey, some
from coalesce.model.conversions import scaled
from coalesce.model.datafile import ColumnStatistics, DataFile
from coalesce.model.schema import Schema
from coalesce.model.spec import Spec
from coalesce.model.transforms import transform
from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    FLOATING,
    INT32,
    INT64,
    INTEGRAL_BITS,
    STRING,
    TEMPORAL,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
    DecimalType,
    Field,
    ListType,
    MapType,
    StructType,
    Type,
    Value,
    is_atomic,
)
from coalesce.model.values import decoded
from coalesce.model.version import Version
from coalesce.storage.base import Storage
from coalesce.table.layout import one_nan

_KIND: Final = "Iceberg"
_METADATA: Final = ".metadata.json"
_AT_ONCE: Final = 8  # manifests
_TYPES: Final[dict[str, AtomicType]] = {
    "boolean": BOOLEAN, "int": INT32, "long": INT64, "float": FLOAT, "double": DOUBLE, "date": DATE, "string": STRING,
    "binary": BINARY, "timestamptz": TIMESTAMP, "timestamp": TIMESTAMP_NTZ,
}  # fmt: skip
_EPOCH: Final = date(1970, 1, 1).toordinal()


def survey_iceberg(
    storage: Storage,
    asked: Asked,
    base: Version | None,
    known: Mapping[str, Seen],
    options: Mapping[str, str] | None,
    chosen: str | None,
) -> Survey:
    """What the current snapshot of an Iceberg table has; refused where its rows are not those of its files."""
    check_unasked(_KIND, asked)
    metadata_file = _newest(storage) if chosen is None else chosen
    table = _opened(storage, metadata_file, options)
    metadata = table.metadata
    entries, reasons = _data_files(table, metadata)
    columns, wrong = _columns(table.schema())
    wanted, unknown = _specs(metadata, table.schema())
    if reasons or wrong or unknown:
        raise refused(_KIND, storage.root, [*reasons, *wrong, *unknown])
    named = _placed(storage, metadata, entries)
    doubtful = _was_renamed(metadata, table.schema())
    new = [(path, entry) for path, entry in named.items() if path not in known]
    if doubtful and base is None:
        stubs = [DataFile(path=p, spec_id=0, rows=e.record_count, bytes=e.file_size_in_bytes) for p, e in new]
        columns = as_files_call_them(storage, stubs, columns)
    version, columns, ignored, ids = _version(storage, asked, base, metadata, columns, wanted, doubtful)
    files = [_entry(path, entry, version.spec_by_id(ids[entry.spec_id]), version, columns) for path, entry in new]
    packing = check_files(_KIND, storage, files, columns, every=doubtful)
    return Survey(
        kind=ICEBERG,
        version=version,
        listed={path: Seen(entry.file_size_in_bytes, 0) for path, entry in named.items()},
        files=files,
        ignored_columns=tuple(ignored),
        materialized=False,  # one that was migrated from Hive has partition columns in its metadata only
        state=f"snapshot {metadata.current_snapshot_id} of {metadata_file}",
        packing=packing,
    )


def _version(
    storage: Storage,
    asked: Asked,
    base: Version | None,
    metadata: Any,
    columns: Schema,
    wanted: Mapping[int, Sequence[Wanted]],
    renamed: bool,
) -> tuple[Version, Schema, list[str], dict[int, int]]:
    """The table as it is to be, its columns that the other one has, those it does not take, and the ids of specs."""
    if base is None:
        specs, chosen = all_specs(list(wanted.values()), None)
        ids = dict(zip(wanted, chosen, strict=True))
        current = next(s for s in specs if s.spec_id == ids[metadata.default_spec_id])
        version = first_version(asked, columns, [*(s for s in specs if s is not current), current], renamed=renamed)
        version, ignored = replace(version, specs=tuple(specs)), list[str]()
    else:
        version, ignored, columns = again(_KIND, storage.root, base, columns, by_id=True)
        specs, chosen = all_specs(list(wanted.values()), base)
        ids = dict(zip(wanted, chosen, strict=True))
        version = replace(version, specs=tuple(specs))
    highest = max(version.max_column_id, metadata.last_column_id)
    return replace(version, max_column_id=highest), columns, ignored, ids


def _placed(storage: Storage, metadata: Any, entries: Sequence[Any]) -> dict[str, Any]:
    """The files with rows, by where they lie in the table's directory."""
    roots = [metadata.location, storage.uri(""), storage.root]
    paths = [relative(entry.file_path, roots) for entry in entries]
    elsewhere = [e.file_path for e, path in zip(entries, paths, strict=True) if path is None]
    if elsewhere:
        raise refused(_KIND, storage.root, [f"some of its files lie outside of {metadata.location}: {some(elsewhere)}"])
    return {path: e for path, e in zip(paths, entries, strict=True) if path is not None and e.record_count}


# --- opening -----------------------------------------------------------------------------------------------------


def _newest(storage: Storage) -> str:
    """The metadata file that the hint names, or the one with the highest number."""
    there = [f.path for f in storage.list("metadata")]
    files = [path for path in there if path.endswith(_METADATA)]
    if "metadata/version-hint.text" in there:
        hint = storage.read("metadata/version-hint.text").decode(errors="replace").strip()
        named = hint if hint.endswith(_METADATA) else f"{'v' if hint.isdigit() else ''}{hint}{_METADATA}"
        if f"metadata/{named}" in files:
            return f"metadata/{named}"
    highest = max((_number(path) for path in files), default=None)
    newest = [path for path in files if _number(path) == highest]
    if not newest:
        raise TableNotFound(f"there is no Iceberg table at {storage.root}: it has no {_METADATA} file.")
    if len(newest) > 1:
        raise UnsupportedFeature(
            f"which version of the Iceberg table at {storage.root} is the newest, only its catalog knows: it has "
            f"{some(newest)}. Give the path of the one that is meant instead."
        )
    return newest[0]


def _number(path: str) -> int:
    name = path.rpartition("/")[2].removesuffix(_METADATA).removeprefix("v").partition("-")[0]
    return int(name) if name.isdigit() else -1


def _opened(storage: Storage, metadata_file: str, options: Mapping[str, str] | None) -> Any:
    try:
        from pyiceberg.table import StaticTable
    except ImportError as error:
        raise NotInstalled(
            f"{storage.root} is an Iceberg table, and to read its metadata takes {install('iceberg')}."
        ) from error
    try:
        return StaticTable.from_metadata(storage.uri(metadata_file), dict(options or {}))
    except Exception as error:
        reason = str(error).rstrip(".")
        raise UnsupportedFeature(f"the Iceberg table at {storage.root} cannot be read: {reason}.") from error


def _data_files(table: Any, metadata: Any) -> tuple[list[Any], list[str]]:
    """The live data files, and what stands in the way of an adoption."""
    from pyiceberg.manifest import DataFileContent, FileFormat

    reasons = []
    if metadata.format_version > 2:
        reasons.append(f"it is of format version {metadata.format_version}, whose files may hold row ids of its own")
    snapshot = table.current_snapshot()
    manifests = [] if snapshot is None else snapshot.manifests(table.io)
    read = each(lambda manifest: manifest.fetch_manifest_entry(table.io, discard_deleted=True), manifests, _AT_ONCE)
    files = [entry.data_file for entries in read for entry in entries]
    deletes = [f for f in files if f.content != DataFileContent.DATA]
    if deletes:
        reasons.append(f"rows of it were deleted by {len(deletes):,} delete files; rewrite its data files first")
    others = [f.file_path for f in files if f.content == DataFileContent.DATA and f.file_format != FileFormat.PARQUET]
    if others:
        reasons.append(f"some of its files are not Parquet: {some(others)}")
    if any(f.key_metadata for f in files):
        reasons.append("some of its files are encrypted")
    return files, reasons


# --- columns and specs ---------------------------------------------------------------------------------------------


def _columns(schema: Any) -> tuple[Schema, list[str]]:
    """The columns with the ids that they have, and what stands in the way of an adoption."""
    try:
        return Schema(tuple(_field(f) for f in schema.fields)), []
    except SchemaError as error:
        return Schema(()), [str(error).rstrip(".")]


def _field(said: Any, name: str | None = None) -> Field:
    called = said.name if name is None else name
    type_ = _type(said.field_type, called)
    return Field(id=said.field_id, name=called, type=type_, required=said.required, comment=said.doc)


def _type(said: Any, place: str) -> Type:
    from pyiceberg import types as iceberg

    match said:
        case iceberg.StructType():
            return StructType(tuple(_field(f) for f in said.fields))
        case iceberg.ListType():
            return ListType(_field(said.element_field, "element"))
        case iceberg.MapType():
            return MapType(_field(said.key_field, "key"), _field(said.value_field, "value"))
        case iceberg.DecimalType():
            return DecimalType(said.precision, said.scale)
    if str(said) not in _TYPES:
        raise SchemaError(f"column {place!r} is {said}, which a table cannot hold")
    return _TYPES[str(said)]


def _specs(metadata: Any, schema: Any) -> tuple[dict[int, list[Wanted]], list[str]]:
    """The partition fields of each spec, by its id."""
    found: dict[int, list[Wanted]] = {}
    reasons = []
    top = {f.field_id for f in schema.fields}
    for spec in metadata.partition_specs:
        wanted: list[Wanted] = []
        for field in spec.fields:
            try:
                wanted.append((field.source_id, transform(str(field.transform)), field.name))
            except SpecError as error:
                reasons.append(str(error).rstrip("."))
            if field.source_id not in top:
                reasons.append(f"its partition field {field.name!r} is of a column that is gone, or inside of another")
        found[spec.spec_id] = wanted
    return found, reasons


def _was_renamed(metadata: Any, schema: Any) -> bool:
    """Whether some name stood for another column once, or some column had another name."""
    now = {path: field_id for field_id, path in _names(schema)}
    own = {field_id: path for path, field_id in now.items()}
    return any(
        now.get(path, field_id) != field_id or own.get(field_id, path) != path
        for older in metadata.schemas
        for field_id, path in _names(older)
    )


def _names(schema: Any) -> Iterator[tuple[int, str]]:
    for field_id in schema.field_ids:
        yield field_id, schema.find_column_name(field_id).lower()


# --- files -------------------------------------------------------------------------------------------------------


def _entry(path: str, said: Any, spec: Spec, version: Version, columns: Schema) -> DataFile:
    values = one_nan(tuple(_component(said.partition[i]) for i in range(len(spec.fields))))
    return DataFile(
        path=path,
        spec_id=spec.spec_id,
        rows=said.record_count,
        bytes=said.file_size_in_bytes,
        rule_id=version.current_rule_id,
        physical_key=values,
        tuples=(values,),
        tuple_rows=(said.record_count,),
        complete=True,
        statistics={
            f.id: _statistics(said, f.id, f.type)  # type: ignore[arg-type]
            for f in columns
            if is_atomic(f.type) and f.id in (said.null_value_counts or {})
        },
    )


def _component(value: object) -> Value:
    if isinstance(value, date):
        return value.toordinal() - _EPOCH
    if isinstance(value, float) and value == 0:
        return 0.0  # tuples know one zero
    return value  # type: ignore[return-value]


def _statistics(said: Any, column_id: int, type_: AtomicType) -> ColumnStatistics:
    lower = _bound((said.lower_bounds or {}).get(column_id), type_)
    upper = _bound((said.upper_bounds or {}).get(column_id), type_)
    if any(end != end for end in (lower, upper)):  # NaN is no bound
        lower = upper = None
    return ColumnStatistics(
        lower=lower_bound(lower),
        upper=upper_bound(upper),
        null_count=said.null_value_counts.get(column_id),
        nan_count=(said.nan_value_counts or {}).get(column_id) if type_ in FLOATING else None,
    )


def _bound(raw: bytes | None, type_: AtomicType) -> Value:
    """A bound from the bytes of Iceberg's single values; an integer or a float may be of the type it had before."""
    if raw is None:
        return None
    if type_ in INTEGRAL_BITS or type_ in TEMPORAL:
        return int.from_bytes(raw, "little", signed=True)
    if type_ in FLOATING:
        number: float = struct.unpack("<f" if len(raw) == 4 else "<d", raw)[0]
        return number
    if isinstance(type_, DecimalType):
        return scaled(type_, int.from_bytes(raw, "big", signed=True))
    if type_ == BOOLEAN:
        return raw != b"\0"
    if type_ == STRING:
        try:
            return decoded(raw)
        except SchemaError:  # cut inside a character
            return None
    return raw
