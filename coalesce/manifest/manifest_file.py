"""Manifests: `Entries` as Parquet.

A reader checks what it reads: the length and digest the version recorded, the columns the spec demands, and every
path. A writer checks the same before it writes, so that it leaves no manifest that readers refuse. Statistics stay
undecoded until a plan asks for a column's.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coalesce.errors import CorruptMetadata
from coalesce.manifest.encodings import better_than_dictionaries
from coalesce.manifest.manifest_checks import (
    FORMAT_VERSION_KEY,
    SPEC_ID_KEY,
    check_columns,
    check_digest,
    check_entries,
    check_paths,
    check_unique,
    total,
)
from coalesce.model.columns import column_from, flags, is_null, numbers, whole
from coalesce.model.entries import Entries, sort_order, trusted, value_range
from coalesce.model.entry_columns import DEAD, ORDERED, is_statistic
from coalesce.model.spec import Spec
from coalesce.model.transforms import Identity, Void
from coalesce.model.types import Value
from coalesce.model.version import FORMAT_VERSION, FieldBounds, ManifestRef
from coalesce.recent import Recent

_MAX_BOUND_LENGTH = 256  # a longer string or binary bound would bloat every later version file


@dataclass(frozen=True, slots=True)
class EncodedManifest:
    """A manifest's bytes and what the version says about it."""

    data: bytes
    spec_id: int
    files: int
    rows: int
    bytes: int
    rows_without_id: int
    dead_rows: int
    digest: str
    bounds: tuple[FieldBounds, ...] | None
    field_ids: tuple[int, ...]
    columns: int
    core: pa.Table | None  # of these, all but statistics, as long as it is held

    def ref(self, path: str, added_version: int, first_row_id: int) -> ManifestRef:
        """The pointer a version keeps to it, once it is stored under `path`."""
        return ManifestRef(
            path=path,
            spec_id=self.spec_id,
            files=self.files,
            rows=self.rows,
            bytes=self.bytes,
            length=len(self.data),
            digest=self.digest,
            bounds=self.bounds,
            added_version=added_version,
            first_row_id=first_row_id,
            dead_rows=self.dead_rows,
        )

    @property
    def core_bytes(self) -> int:
        """How much memory what is in it takes."""
        return 0 if self.core is None else int(self.core.get_total_buffer_size())

    def without_core(self) -> "EncodedManifest":
        """The same, without what is in it."""
        return replace(self, core=None)

    def entries(self, ref: ManifestRef) -> Entries | None:
        """What a reader would find in it under `ref`, for the process that wrote it and need not read it, if held."""
        if self.core is None:
            return None
        has_statistics = self.core.num_columns < self.columns
        return _entries(_inherit(self.core, ref), self.field_ids, self.data if has_statistics else None, ref)


def encode_manifest(entries: Entries) -> EncodedManifest:
    """The manifest file of `entries`, sorted by physical key."""
    check_paths(entries.core.column("path"), "the manifest to be written")
    table, order = entries.table(), sort_order(entries)
    if (order[1:] < order[:-1]).any():  # most that are written again were in order
        table = table.take(column_from(order))
    if DEAD in table.column_names and not entries.dead_rows.any():
        table = table.drop_columns([DEAD])  # what readers before it do not know is only there if it has to be
    if ORDERED in table.column_names and not flags(table.column(ORDERED)).any():
        table = table.drop_columns([ORDERED])
    table = table.combine_chunks()
    data = _parquet(table, {FORMAT_VERSION_KEY: str(FORMAT_VERSION), SPEC_ID_KEY: str(entries.spec_id)})
    return EncodedManifest(
        data=data,
        spec_id=entries.spec_id,
        files=len(entries),
        rows=total(table.column("rows")),
        bytes=total(table.column("bytes")),
        rows_without_id=total(table.column("rows").filter(table.column("first_row_id").is_null())),
        dead_rows=int(entries.dead_rows.sum()),
        digest="sha256:" + hashlib.sha256(data).hexdigest(),
        bounds=manifest_bounds(entries),
        field_ids=entries.field_ids,
        columns=table.num_columns,
        core=table.select([n for n in table.column_names if not is_statistic(n)]),
    )


def _parquet(table: pa.Table, metadata: dict[str, str]) -> bytes:
    sink = pa.BufferOutputStream()
    names = table.column_names
    lists = [name for name in ("tuples", DEAD) if name in names]
    components = {path: column for name in lists for path, column in _components(table, name).items()}
    encodings = better_than_dictionaries(components)
    with pq.ParquetWriter(
        sink,
        table.schema,
        compression="zstd",
        write_statistics=False,
        # A wide table has thousands of statistics, and a dictionary would be a second page of each.
        use_dictionary=[n for n in names if n not in lists and not is_statistic(n)]
        + [path for path in components if path not in encodings],
        column_encoding=encodings,
        # Without Arrow's copy of the schema: what Parquet itself says of the columns is all that the format promises.
        store_schema=False,
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(metadata)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _components(table: pa.Table, name: str) -> dict[str, pa.Array]:
    """What the structs in a column of lists are made of, by the paths of the Parquet columns."""
    structs = whole(table.column(name)).flatten()
    members = zip(structs.type, structs.flatten(), strict=True)
    return {f"{name}.list.element.{member.name}": column for member, column in members}


def manifest_paths(data: bytes, ref: ManifestRef) -> list[str]:
    """The paths alone of the entries in `data`; CorruptMetadata if that is not the manifest that `ref` points to."""
    check_digest(data, ref)
    try:
        paths = pq.ParquetFile(pa.BufferReader(data)).read(columns=["path"], use_threads=False).column("path")
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise CorruptMetadata(ref.path, f"it is not a readable Parquet file: {error}.") from error
    if len(paths) != ref.files or paths.null_count or not pa.types.is_string(paths.type):
        raise CorruptMetadata(ref.path, f"it does not have the paths of {ref.files} files.", "path")
    found: list[str] = paths.to_pylist()
    return found


def decode_manifest(data: bytes, ref: ManifestRef, spec: Spec) -> Entries:
    """The entries in `data`, the bytes of the manifest `ref` points to, or CorruptMetadata that names it."""
    check_digest(data, ref)
    try:
        opened = _Opened(data)
        file = opened.file
        check_unique(opened.names, ref)
        # One column is most of a manifest, so threads would save little, and to start them costs a first plan more.
        core = file.read(columns=[n for n in opened.names if not is_statistic(n)], use_threads=False).combine_chunks()
        core.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CorruptMetadata(ref.path, f"it is not a readable Parquet file: {error}.") from error
    field_ids = tuple(f.field_id for f in spec.fields)
    check_columns(core.schema, file.metadata.metadata or {}, ref, spec)
    check_entries(core, ref)
    if ref.dead_rows and not all(isinstance(f.transform, Identity | Void) for f in spec.fields):
        raise CorruptMetadata(ref.path, "dead rows are told by columns, and a partition field is none.", DEAD)

    has_statistics = any(is_statistic(n) for n in opened.names)
    if has_statistics:
        _OPENED.put(ref.digest, opened)
    return _entries(_inherit(core, ref), field_ids, data if has_statistics else None, ref)


def _entries(core: pa.Table, field_ids: tuple[int, ...], data: bytes | None, ref: ManifestRef) -> Entries:
    """Entries whose statistics, if there are any, are read from `data` when they are wanted."""
    if data is None:
        return Entries(ref.spec_id, field_ids, core)

    def load(wanted: Sequence[str]) -> pa.Table:
        found = _OPENED.get(ref.digest)
        if found is None:
            found = _Opened(data)
            _OPENED.put(ref.digest, found)
        there = found.names if not wanted else {*found.names}.intersection(wanted)
        columns = [n for n in there if is_statistic(n)]
        return found.file.read(columns=columns, use_threads=len(columns) > _MANY_COLUMNS)

    return Entries(ref.spec_id, field_ids, core, load, unread=len(data))


class _Opened:
    """A manifest that is open to be read: its footer, decoded, takes many times the bytes that it has in the file."""

    def __init__(self, data: bytes) -> None:
        self.file = pq.ParquetFile(pa.BufferReader(data))
        self.names: list[str] = self.file.schema_arrow.names
        self.nbytes: int = len(data) + _OPENED_BYTES + _OPENED_COLUMN_BYTES * self.file.metadata.num_columns


_MANY_COLUMNS = 64  # from so many on, threads are worth starting
_OPENED_BYTES, _OPENED_COLUMN_BYTES = 14_000, 2_000  # as measured
# Statistics are mostly asked for right after a manifest was read, or never.
_OPENED: Recent[str, _Opened] = Recent(16 * 1024 * 1024, lambda opened: opened.nbytes)  # by the manifest's digest


def _inherit(core: pa.Table, ref: ManifestRef) -> pa.Table:
    """Entries without a version or row ids of their own take those the version gave the whole manifest.

    A flag that is missing is false: what is not claimed is unknown.
    """
    for flag in ("physical_known", "complete"):
        if core.column(flag).null_count:
            core = _replace(core, flag, column_from(flags(core.column(flag))))
    own = core.column("first_row_id")
    if own.null_count:
        without = is_null(own)
        counted = np.where(without, numbers(core.column("rows")), 0)
        inherited = ref.first_row_id + np.cumsum(counted) - counted
        core = _replace(core, "first_row_id", column_from(np.where(without, inherited, numbers(own))))
    if core.column("added_version").null_count:
        versions = numbers(core.column("added_version"), null=ref.added_version)
        core = _replace(core, "added_version", column_from(versions))
    return core


def _replace(table: pa.Table, name: str, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)


# --- bounds ------------------------------------------------------------------------------------------------------


def manifest_bounds(entries: Entries) -> tuple[FieldBounds, ...] | None:
    """The range of each partition field over all tuples; None unless the tuples of every entry are known."""
    if not bool(trusted(entries.core).all()):
        return None
    lists = whole(entries.core.column("tuples"))
    flat = lists.flatten()
    firsts = column_from(
        np.repeat(numbers(lists.offsets)[:-1], np.diff(numbers(lists.offsets))) - lists.offsets[0].as_py()
    )
    first_of = numbers(lists.offsets)[:-1] - lists.offsets[0].as_py()
    bounds = []
    for field_id in entries.field_ids:
        type_ = entries.tuple_type(field_id)
        column = flat.field(f"f{field_id}")
        lower, upper = value_range(type_, column)
        if max(_length(lower), _length(upper)) > _MAX_BOUND_LENGTH:
            continue
        bounds.append(
            FieldBounds(
                field_id=field_id,
                type=type_,
                lower=lower,
                upper=upper,
                has_null=column.null_count > 0,
                constant=_all_alike(column, column.take(firsts)) and _dead_alike(entries, field_id, column, first_of),
            )
        )
    return tuple(bounds)


def _dead_alike(entries: Entries, field_id: int, live: pa.Array, first_of: np.ndarray) -> bool:
    """Whether each file's dead tuples have the value of its first live one: a constant is one of all rows in a file."""
    if DEAD not in entries.core.column_names:
        return True
    lists = whole(entries.core.column(DEAD))
    firsts = column_from(np.repeat(first_of, np.diff(numbers(lists.offsets))))
    return _all_alike(lists.flatten().field(f"f{field_id}"), live.take(firsts))


def _all_alike(column: pa.Array, other: pa.Array) -> bool:
    """Whether two columns are the same at every place; a NaN is like nothing."""
    same = pc.fill_null(pc.equal(column, other), False)
    return bool(pc.all(pc.or_(same, pc.and_(column.is_null(), other.is_null())), min_count=0).as_py())


def _length(value: Value) -> int:
    return len(value) if isinstance(value, str | bytes) else 0
