"""A Delta table as entries of a table of ours, from its log alone, as the library `deltalake` reads it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from coalesce.distribution import install
from coalesce.errors import NotInstalled, SchemaError, UnsupportedFeature
from coalesce.interop.adopt.columns import numbered
from coalesce.interop.adopt.footers import read_footers
from coalesce.interop.adopt.foreign import again, all_specs, check_files, check_unasked, decoded_path, refused
from coalesce.interop.adopt.new_version import first_version
from coalesce.interop.adopt.survey import DELTA, Asked, Seen, Survey, some
from coalesce.model.arrow_schema import arrow_type
from coalesce.model.datafile import ColumnStatistics, DataFile
from coalesce.model.schema import Schema
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
from coalesce.model.values import values_of
from coalesce.model.version import Version
from coalesce.storage.base import Storage, StoredFile
from coalesce.table.layout import one_nan

_KIND: Final = "Delta"
_TYPES: Final[dict[str, AtomicType]] = {
    "boolean": BOOLEAN, "byte": INT8, "short": INT16, "integer": INT32, "long": INT64, "float": FLOAT,
    "double": DOUBLE, "string": STRING, "binary": BINARY, "date": DATE, "timestamp": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP_NTZ,
}  # fmt: skip
# What a reader has to know of, and nothing here is read otherwise for it: rows that vectors delete are looked for.
_FEATURES: Final = frozenset(
    {"columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "appendOnly"}
)
_MAPPING: Final = "delta.columnMapping.mode"
_ID: Final = "delta.columnMapping.id"
_PHYSICAL: Final = "delta.columnMapping.physicalName"
_CHANGES: Final = "delta.typeChanges"
# Types whose bounds the log keeps in full. Floats and decimals are numbers of JSON there.
_EXACT: Final[frozenset[Type]] = frozenset({*INTEGRAL_BITS, DATE})
_LONG: Final = 32  # characters: a longer bound of a text was cut
_MILLISECOND: Final = 1_000  # to which the log rounds timestamps down


def survey_delta(
    storage: Storage,
    asked: Asked,
    base: Version | None,
    known: Mapping[str, Seen],
    options: Mapping[str, str] | None,
) -> Survey:
    """What the newest version of a Delta table has; refused where its rows are not those of its files."""
    check_unasked(_KIND, asked)
    table = _opened(storage, options)
    mode = table.metadata().configuration.get(_MAPPING, "none")
    columns, reasons = _columns(table, mode)
    if reasons:
        raise refused(_KIND, storage.root, reasons)
    by = table.metadata().partition_columns
    ignored: list[str] = []
    if base is None:
        specs, (spec_id,) = all_specs([_fields(by, columns)], None)
        version = first_version(asked, columns, specs, renamed=mode != "none")
    else:
        version, ignored, columns = again(_KIND, storage.root, base, columns, by_id=mode != "none")
        specs, (spec_id,) = all_specs([_fields(by, columns)], base)
        version = replace(version, specs=tuple(specs))
    actions = pa.table(table.get_add_actions())
    listed = _listed(storage, actions)
    rows = _counts(storage, actions, listed)
    under = replace(version, current_spec_id=spec_id)
    files = [f for f in _entries(actions, list(listed), rows, under, columns, by) if f.path not in known and f.rows]
    packing = check_files(_KIND, storage, files, columns, every=mode == "id")
    return Survey(
        kind=DELTA,
        version=version,
        listed=listed,
        files=files,
        ignored_columns=tuple(ignored),
        materialized=not by,
        state=f"version {table.version()}",
        packing=packing,
    )


def _opened(storage: Storage, options: Mapping[str, str] | None) -> Any:
    try:
        import deltalake
    except ImportError as error:
        raise NotInstalled(f"{storage.root} is a Delta table, and to read its log takes {install('delta')}.") from error
    try:
        return deltalake.DeltaTable(storage.uri(""), storage_options=None if options is None else dict(options))
    except Exception as error:
        raise UnsupportedFeature(
            f"the Delta table at {storage.root} cannot be read: {str(error).rstrip('.')}."
        ) from error


# --- columns -----------------------------------------------------------------------------------------------------


def _columns(table: Any, mode: str) -> tuple[Schema, list[str]]:
    """The columns, and what stands in the way of an adoption."""
    protocol = table.protocol()
    unknown = sorted(set(protocol.reader_features or ()) - _FEATURES)
    reasons = [f"it uses {', '.join(unknown)}, which this release does not know"] if unknown else []
    if mode not in ("none", "name", "id"):
        reasons.append(f"its columns are mapped by {mode!r}")
    if "deletionVectors" in (protocol.reader_features or ()):
        reasons += _vectors(table)
    fields = json.loads(table.schema().to_json())["fields"]
    if _CHANGES in json.dumps(fields):
        reasons.append("types of its columns were changed")
    try:
        return numbered([_field(f, mode != "none") for f in fields]), reasons
    except SchemaError as error:
        return Schema(()), [*reasons, str(error).rstrip(".")]


def _vectors(table: Any) -> list[str]:
    try:
        vectors = sum(batch.num_rows for batch in pa.RecordBatchReader.from_stream(table.deletion_vectors()))
    except Exception as error:  # noqa: BLE001 - a vector that cannot be read deletes rows all the same
        return [f"its deletion vectors cannot be read ({str(error).rstrip('.')})"]
    told = f"rows of {vectors:,} of its files were deleted by vectors; purge them first (REORG TABLE … APPLY (PURGE))"
    return [told] if vectors else []


def _field(said: Mapping[str, Any], mapped: bool) -> Field:
    metadata = said.get("metadata") or {}
    return Field(
        id=int(metadata.get(_ID, 0)) if mapped else 0,
        name=said["name"],
        type=_type(said["type"], said["name"], mapped),
        required=not said["nullable"],
        physical_name=metadata.get(_PHYSICAL, said["name"]) if mapped else said["name"],
        comment=metadata.get("comment"),
    )


def _type(said: Any, place: str, mapped: bool) -> Type:
    match said:
        case {"type": "struct", "fields": fields}:
            return StructType(tuple(_field(f, mapped) for f in fields))
        case {"type": "array", "elementType": element, "containsNull": nullable}:
            return ListType(_inner("element", element, nullable, place, mapped))
        case {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": nullable}:
            return MapType(_inner("key", key, False, place, mapped), _inner("value", value, nullable, place, mapped))
        case str() if said in _TYPES:
            return _TYPES[said]
        case str() if said.startswith("decimal"):
            return atomic_type(said)
        case _:
            raise SchemaError(f"column {place!r} is {said}, which a table cannot hold.")


def _inner(name: str, said: Any, nullable: bool, place: str, mapped: bool) -> Field:
    return Field(id=0, name=name, type=_type(said, place, mapped), required=not nullable)


def _fields(by: Sequence[str], columns: Schema) -> list[tuple[int, Identity, str]]:
    return [(columns.field(name).id, Identity(), columns.field(name).name) for name in by]


# --- files -------------------------------------------------------------------------------------------------------


def _listed(storage: Storage, actions: pa.Table) -> dict[str, Seen]:
    """The files of the log, by their paths, in its order."""
    paths = actions.column("path").to_pylist()
    elsewhere = [p for p in paths if ":" in p.partition("/")[0] or p.startswith("/")]
    if elsewhere:
        raise refused(_KIND, storage.root, [f"some of its files lie elsewhere: {some(elsewhere)}"])
    sizes = actions.column("size_bytes").to_pylist()
    return {decoded_path(path): Seen(size, 0) for path, size in zip(paths, sizes, strict=True)}


def _counts(storage: Storage, actions: pa.Table, listed: Mapping[str, Seen]) -> list[int]:
    """How many rows each file has; what the log does not tell, the footer does."""
    told = dict(zip(listed, actions.column("num_records").to_pylist(), strict=True))
    untold = [StoredFile(path, listed[path].bytes, 0) for path, rows in told.items() if rows is None]
    read = {footer.file.path: footer.rows for footer in read_footers(storage, untold).read}
    return [read[path] if rows is None else rows for path, rows in told.items()]


def _entries(
    actions: pa.Table, paths: Sequence[str], rows: Sequence[int], version: Version, columns: Schema, by: Sequence[str]
) -> list[DataFile]:
    spec, sizes = version.spec, actions.column("size_bytes").to_pylist()
    tuples = _tuples(actions, columns, by, len(paths))
    statistics = _statistics(actions, columns, {f.source_id for f in spec.fields})
    return [
        DataFile(
            path=path,
            spec_id=spec.spec_id,
            rows=rows[i],
            bytes=sizes[i],
            rule_id=version.current_rule_id,
            physical_key=tuples[i],
            tuples=(tuples[i],),
            tuple_rows=(rows[i],),
            complete=True,
            statistics={column: all_[i] for column, all_ in statistics.items()},
        )
        for i, path in enumerate(paths)
    ]


def _tuples(actions: pa.Table, columns: Schema, by: Sequence[str], count: int) -> list[tuple[Value, ...]]:
    """The partition values, which the log has for every file."""
    components: list[list[Value]] = []
    for name in by:
        field = columns.field(name)
        held = _member(actions, "partition", field)
        try:
            if held is None:
                raise pa.ArrowInvalid("it is not there")
            components.append(values_of(field.type, held.cast(arrow_type(field.type))))  # type: ignore[arg-type]
        except pa.ArrowException as error:
            reason = f"the values of its partition column {name!r}, {field.type}, cannot be taken from its log"
            raise UnsupportedFeature(f"the Delta table cannot be adopted: {reason}.") from error
    return [one_nan(t) for t in zip(*components, strict=True)] if components else [()] * count


def _statistics(actions: pa.Table, columns: Schema, but: set[int]) -> dict[int, list[ColumnStatistics]]:
    """Bounds and NULL counts as far as the log is exact about them, by column, for each file."""
    found = {}
    for field in columns:
        if field.id in but or not is_atomic(field.type):
            continue
        nulls = _member(actions, "null_count", field)
        if nulls is None:
            continue
        lower, upper = (_bounds(_member(actions, which, field), field.type, which) for which in ("min", "max"))
        counts = nulls.to_pylist()
        found[field.id] = [
            ColumnStatistics(
                lower=None if lower is None else lower[i],
                upper=None if upper is None else upper[i],
                null_count=counts[i],
            )
            for i in range(len(counts))
        ]
    return found


def _member(actions: pa.Table, name: str, field: Field) -> pa.Array | None:
    """What the log says of a column, under whichever of its names."""
    if name not in actions.column_names:
        return None
    held = actions.column(name).combine_chunks()
    held = held.chunk(0) if isinstance(held, pa.ChunkedArray) and held.num_chunks else held
    if not pa.types.is_struct(held.type):
        return None
    for called in (field.physical_name, field.name):
        place = held.type.get_field_index(called)
        if place >= 0:
            return held.flatten()[place]
    return None


def _bounds(held: pa.Array | None, type_: Type, which: str) -> list[Value] | None:
    if held is None:
        return None
    try:
        if type_ in _EXACT:
            return values_of(type_, held.cast(arrow_type(type_)))  # type: ignore[arg-type]
        if type_ == STRING:
            return [None if v is None or (which == "max" and len(v) >= _LONG) else v[:_LONG] for v in held.to_pylist()]
        if type_ in (TIMESTAMP, TIMESTAMP_NTZ):
            late = _MILLISECOND if which == "max" else 0
            values = values_of(type_, held.cast(arrow_type(type_)))
            return [v + late if isinstance(v, int) else None for v in values]
    except pa.ArrowException:  # a writer's own idea of what a bound is
        return None
    return None
