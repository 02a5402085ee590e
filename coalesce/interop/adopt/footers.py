"""Footers of Parquet files that others wrote: rows, columns, and statistics as far as these can be believed."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from coalesce.arrow.parquet_statistics import told
from coalesce.arrow.threads import each
from coalesce.errors import SchemaError, StorageError
from coalesce.interop.adopt.columns import Shape, shape_of
from coalesce.interop.adopt.survey import LeftOut, some
from coalesce.model.datafile import ColumnStatistics
from coalesce.model.types import AtomicType, Value, is_atomic
from coalesce.model.values import order_key
from coalesce.storage.base import Storage, StoredFile

_AT_ONCE: Final = 16  # most of it is waiting for the store
_MAGIC: Final = b"PAR1"
_END: Final = 8  # bytes behind the footer: its length, and the magic
_TAIL: Final = 64 * 1024
_DIGITS: Final = 32
_NAMES: Final = (".parquet", ".parq", ".pq")


@dataclass(frozen=True, slots=True)
class Footer:
    """What a file says of itself, in `length` bytes of this `digest`; `statistics` of its atomic columns, by names in
    lower case.
    """

    file: StoredFile
    rows: int
    shape: Shape
    statistics: Mapping[str, ColumnStatistics]
    length: int = 0
    codec: str = ""
    digest: str = ""
    chunks: int = 0  # of columns, in all row groups


@dataclass(frozen=True, slots=True)
class Footers:
    """Those that could be read, and the files that are no Parquet by what they begin with, nor by their names."""

    read: Sequence[Footer]
    left_out: Sequence[LeftOut]


def read_footers(storage: Storage, files: Sequence[StoredFile]) -> Footers:
    """The footers of files, several at a time; StorageError and SchemaError name those that cannot be taken."""
    shapes: dict[bytes, Shape | SchemaError] = {}

    def read(file: StoredFile) -> Footer | LeftOut | _Unreadable:
        return _read(storage, file, shapes)

    found = each(read, files, _AT_ONCE)
    _refuse([f for f in found if isinstance(f, _Unreadable)])
    return Footers([f for f in found if isinstance(f, Footer)], [f for f in found if isinstance(f, LeftOut)])


@dataclass(frozen=True, slots=True)
class _Unreadable:
    path: str
    reason: str
    misfit: bool


def _refuse(unreadable: Sequence[_Unreadable]) -> None:
    """All of them at once, by reason: whoever mends one wants to know of the others."""
    if not unreadable:
        return
    by_reason: dict[str, list[str]] = {}
    for file in unreadable:
        by_reason.setdefault(file.reason, []).append(file.path)
    sentences = [f"{some(paths)}: {reason}" for reason, paths in by_reason.items()]
    kind = SchemaError if all(file.misfit for file in unreadable) else StorageError
    raise kind(
        f"{len(unreadable):,} file{' is' if len(unreadable) == 1 else 's are'} not to be adopted. "
        f"{' '.join(sentences[:5])}{' …' if len(sentences) > 5 else ''} Mend them, or move them away."
    )


def _read(
    storage: Storage, file: StoredFile, shapes: dict[bytes, Shape | SchemaError]
) -> Footer | LeftOut | _Unreadable:
    try:
        tail = _tail(storage, file)
        parquet = pq.ParquetFile(pa.BufferReader(tail), coerce_int96_timestamp_unit="us")
        metadata, schema = parquet.metadata, parquet.schema_arrow.remove_metadata()
        key = _key(schema, metadata.schema)
        if key not in shapes:
            shapes[key] = _shape(schema, metadata.schema)
    except (pa.ArrowException, OSError, UnicodeDecodeError, StorageError) as error:
        if not file.path.lower().endswith(_NAMES) and not _begins_as_parquet(storage, file.path):
            return LeftOut(file.path, "it is not a Parquet file")
        return _Unreadable(file.path, f"it cannot be read as Parquet ({str(error).rstrip('.')}).", False)
    shape = shapes[key]
    if isinstance(shape, SchemaError):
        return _Unreadable(file.path, str(shape), True)
    length = _length(tail)
    digest = hashlib.sha256(tail[-length - _END : -_END]).hexdigest()[:_DIGITS]
    chunks = metadata.num_columns * metadata.num_row_groups
    return Footer(
        file, metadata.num_rows, shape, _statistics(metadata, shape), length, _codec(metadata), digest, chunks
    )


def _tail(storage: Storage, file: StoredFile) -> bytes:
    """The end of a file with all of its footer, in one request if that is no longer than most are."""
    tail = storage.read_range(file.path, max(0, file.size - _TAIL), min(file.size, _TAIL))
    whole = _length(tail) + _END
    if tail.endswith(_MAGIC) and len(tail) < whole <= file.size:
        return storage.read_range(file.path, file.size - whole, whole)
    return tail


def _length(tail: bytes) -> int:
    return int.from_bytes(tail[-_END : -len(_MAGIC)], "little")


def _begins_as_parquet(storage: Storage, path: str) -> bool:
    try:
        return storage.read_range(path, 0, len(_MAGIC)) == _MAGIC
    except StorageError:
        return True


def _key(schema: pa.Schema, parquet: pq.ParquetSchema) -> bytes:
    """What files of the same columns have in common; of old timestamps, Arrow's types do not tell."""
    old = any(pa.types.is_timestamp(t) or pa.types.is_nested(t) for t in schema.types)
    physical = [parquet.column(i).physical_type for i in range(len(parquet))] if old else []
    return bytes(schema.serialize().to_pybytes()) + ",".join(physical).encode()


def _shape(schema: pa.Schema, parquet: pq.ParquetSchema) -> Shape | SchemaError:
    try:
        return shape_of(schema, parquet)
    except SchemaError as error:
        return error


def _codec(metadata: pq.FileMetaData) -> str:
    """What its first column is packed with."""
    if not metadata.num_row_groups or not metadata.num_columns:
        return ""
    return str(metadata.row_group(0).column(0).compression)


# --- statistics --------------------------------------------------------------------------------------------------


def _statistics(metadata: pq.FileMetaData, shape: Shape) -> dict[str, ColumnStatistics]:
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    groups = [group for group in groups if group.num_rows]
    created_by = metadata.created_by
    found = {}
    for column in shape.columns:
        if column.field is None or not is_atomic(column.field.type) or not groups:
            continue
        type_: AtomicType = column.field.type  # type: ignore[assignment]
        parts = [told(group.column(column.leaf), created_by, column.stored, type_, no_nan=False) for group in groups]
        known = [part for part in parts if part is not None]
        if len(known) == len(groups):
            found[column.name.lower()] = known[0] if len(known) == 1 else _together(type_, known, groups)
    return found


def _together(
    type_: AtomicType, parts: Sequence[ColumnStatistics], groups: Sequence[pq.RowGroupMetaData]
) -> ColumnStatistics:
    """What all row groups say together; a row group without values has no bounds, and needs none."""
    full = [p for p, group in zip(parts, groups, strict=True) if p.null_count != group.num_rows]
    nulls = [p.null_count for p in parts]

    def bound(values: list[Value], of: object) -> Value:
        if not values or any(v is None for v in values):
            return None
        return of(values, key=lambda v: order_key(type_, v))  # type: ignore[operator, no-any-return]

    return ColumnStatistics(
        lower=bound([p.lower for p in full], min),
        upper=bound([p.upper for p in full], max),
        null_count=None if None in nulls else sum(n for n in nulls if n is not None),
    )
