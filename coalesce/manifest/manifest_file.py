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

from coalesce.errors import CorruptMetadata, SchemaError
from coalesce.manifest.paths import check_data_path
from coalesce.model.arrow_schema import arrow_type, type_from_arrow
from coalesce.model.columns import column_from, flags, is_null, numbers, whole
from coalesce.model.entries import Entries, has_all_counts, sort_order, trusted, value_range
from coalesce.model.entry_columns import DEAD, ORDERED, columns_of, dead_type, is_statistic
from coalesce.model.spec import Spec
from coalesce.model.transforms import Identity, Void
from coalesce.model.types import AtomicType, Value, is_atomic
from coalesce.model.version import FORMAT_VERSION, FieldBounds, ManifestRef
from coalesce.recent import Recent

_FORMAT_VERSION, _SPEC_ID = "coalesce.format_version", "coalesce.spec_id"
_MAX_BOUND_LENGTH = 256  # a longer string or binary bound would bloat every later version file
# Anything in a path that could point elsewhere; the few that match are then looked at one by one.
_SUSPICIOUS = r"(?i)^/|^~|\\|\x00|(^|/)(\.{0,2})(/|$)|^[a-z][a-z0-9+.-]*:|(^|/)_coalesce(/|$)"


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
    _check_paths(entries.core.column("path"), "the manifest to be written")
    table, order = entries.table(), sort_order(entries)
    if (order[1:] < order[:-1]).any():  # most that are written again were in order
        table = table.take(column_from(order))
    if DEAD in table.column_names and not entries.dead_rows.any():
        table = table.drop_columns([DEAD])  # what readers before it do not know is only there if it has to be
    if ORDERED in table.column_names and not flags(table.column(ORDERED)).any():
        table = table.drop_columns([ORDERED])
    table = table.combine_chunks()
    data = _parquet(table, {_FORMAT_VERSION: str(FORMAT_VERSION), _SPEC_ID: str(entries.spec_id)})
    return EncodedManifest(
        data=data,
        spec_id=entries.spec_id,
        files=len(entries),
        rows=_sum(table.column("rows")),
        bytes=_sum(table.column("bytes")),
        rows_without_id=_sum(table.column("rows").filter(table.column("first_row_id").is_null())),
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
    components = [f"{name}.list.element.{member.name}" for name in lists for member in _members(table.schema, name)]
    with pq.ParquetWriter(
        sink,
        table.schema,
        compression="zstd",
        write_statistics=False,
        # A wide table has thousands of statistics, and a dictionary would be a second page of each.
        use_dictionary=[n for n in names if n not in lists and not is_statistic(n)] + components,
        # Without Arrow's copy of the schema: what Parquet itself says of the columns is all that the format promises.
        store_schema=False,
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(metadata)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _members(schema: pa.Schema, name: str) -> list[pa.Field]:
    """What the structs in a column of lists are made of."""
    return list(schema.field(name).type.value_type)


def manifest_paths(data: bytes, ref: ManifestRef) -> list[str]:
    """The paths alone of the entries in `data`; CorruptMetadata if that is not the manifest that `ref` points to."""
    _check_digest(data, ref)
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
    _check_digest(data, ref)
    try:
        opened = _Opened(data)
        file = opened.file
        _check_unique(opened.names, ref)
        # One column is most of a manifest, so threads would save little, and to start them costs a first plan more.
        core = file.read(columns=[n for n in opened.names if not is_statistic(n)], use_threads=False).combine_chunks()
        core.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CorruptMetadata(ref.path, f"it is not a readable Parquet file: {error}.") from error
    field_ids = tuple(f.field_id for f in spec.fields)
    _check_columns(core.schema, file.metadata.metadata or {}, ref, spec)
    _check_entries(core, ref)
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


def _check_digest(data: bytes, ref: ManifestRef) -> None:
    """Refuse bytes that are not those that were committed."""
    if len(data) != ref.length:
        raise CorruptMetadata(ref.path, f"it has {len(data)} bytes, not the {ref.length} that were committed.")
    if "sha256:" + hashlib.sha256(data).hexdigest() != ref.digest:
        raise CorruptMetadata(ref.path, "its digest is not the one that was committed: the file is damaged.")


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


# --- checks ------------------------------------------------------------------------------------------------------


def _check_columns(schema: pa.Schema, metadata: dict[bytes, bytes], ref: ManifestRef, spec: Spec) -> None:
    """The columns that `spec` demands are there, each of its type. What else there is does not matter."""
    if metadata.get(_FORMAT_VERSION.encode()) != str(FORMAT_VERSION).encode():
        raise CorruptMetadata(ref.path, f"it does not say that it is of format version {FORMAT_VERSION}.")
    if metadata.get(_SPEC_ID.encode()) != str(ref.spec_id).encode():
        raise CorruptMetadata(ref.path, f"it is not a manifest of spec {ref.spec_id}.")
    tuples = schema.field("tuples").type if "tuples" in schema.names else None
    if tuples is None or not pa.types.is_list(tuples) or not pa.types.is_struct(tuples.value_type):
        raise CorruptMetadata(ref.path, "the column 'tuples' is missing or not a list of structs.", "tuples")
    _check_unique([f.name for f in tuples.value_type], ref, "tuples")
    members = {f.name: f.type for f in tuples.value_type}
    if set(members) != {"rows", *(f"f{f.field_id}" for f in spec.fields)} or members["rows"] != pa.int64():
        raise CorruptMetadata(ref.path, f"its tuples have the members {sorted(members)}.", "tuples")
    types = [_atomic(members[f"f{f.field_id}"], f"tuples.f{f.field_id}", ref) for f in spec.fields]
    for name, type_ in columns_of(spec, types).items():
        if name == "tuples":
            continue
        if name not in schema.names or schema.field(name).type != type_:
            raise CorruptMetadata(ref.path, f"the column {name!r} of type {type_} is missing.", name)
    if DEAD in schema.names:
        wanted = dead_type({f.field_id: t for f, t in zip(spec.fields, types, strict=True)})
        if not _same_members(schema.field(DEAD).type, wanted):
            raise CorruptMetadata(ref.path, f"the column {DEAD!r} is not of type {wanted}.", DEAD)
    if ORDERED in schema.names and schema.field(ORDERED).type != pa.bool_():
        raise CorruptMetadata(ref.path, f"the column {ORDERED!r} is not of type {pa.bool_()}.", ORDERED)


def _same_members(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether two columns of lists hold the same structs, whatever Parquet calls an element."""
    if not pa.types.is_list(found) or not pa.types.is_struct(found.value_type):
        return False
    return bool(
        {m.name: m.type for m in found.value_type} == {m.name: m.type for m in wanted.value_type}
        and found.value_type.num_fields == wanted.value_type.num_fields
    )


def _check_unique(names: Sequence[str], ref: ManifestRef, where: str = "") -> None:
    """Refuse two columns of one name: there is no telling which is meant."""
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise CorruptMetadata(ref.path, f"two of its columns are called {twice!r}.", where or twice)


def _atomic(stored: pa.DataType, where: str, ref: ManifestRef) -> AtomicType:
    """The type of a tuple's component, which is any that a partition field can have: it may have been widened since."""
    try:
        type_ = type_from_arrow(stored)
    except SchemaError:
        type_ = None
    if type_ is None or not is_atomic(type_) or arrow_type(type_) != stored:
        raise CorruptMetadata(ref.path, f"a partition field cannot be of Arrow type {stored}.", where)
    return type_  # type: ignore[return-value]


def _check_entries(core: pa.Table, ref: ManifestRef) -> None:
    for name in ("path", "rows", "bytes"):
        if core.column(name).null_count:
            raise CorruptMetadata(ref.path, f"an entry has no {name}.", name)
    for name in ("rows", "bytes"):
        if core.num_rows and pc.min(core.column(name)).as_py() < 0:
            raise CorruptMetadata(ref.path, f"an entry has negative {name}.", name)
    if whole(core.column("tuples")).values.null_count:
        raise CorruptMetadata(ref.path, "a tuple is NULL, which is not the same as a tuple of NULLs.", "tuples")
    found = (core.num_rows, _sum(core.column("rows")), _sum(core.column("bytes")))
    if found != (ref.files, ref.rows, ref.bytes):
        raise CorruptMetadata(
            ref.path,
            "it has {} entries, {} rows and {} bytes".format(*found)
            + f", and the version says {ref.files}, {ref.rows} and {ref.bytes}.",
        )
    _check_paths(core.column("path"), ref.path)
    _check_dead(core, ref)


def _check_dead(core: pa.Table, ref: ManifestRef) -> None:
    """Refuse dead tuples that cannot be told from live ones: a reader that guessed would show removed rows."""
    total = 0
    if DEAD in core.column_names:
        lists = whole(core.column(DEAD))
        offsets, structs = numbers(lists.offsets), lists.values
        rows, places, since = (structs.field(name) for name in ("rows", "place", "since"))
        if structs.null_count or rows.null_count or places.null_count or since.null_count:
            raise CorruptMetadata(ref.path, "of a dead tuple it is not said what it is.", DEAD)
        counts = np.diff(offsets)
        file = np.repeat(np.arange(len(counts)), counts)
        live = numbers(pc.fill_null(pc.list_value_length(core.column("tuples")), 0))
        place, inside = numbers(places).astype(np.int64), slice(int(offsets[0]), int(offsets[-1]))
        place, dead_rows = place[inside], numbers(rows)[inside]
        beyond = (place < 0) | (place >= (live + counts)[file])
        if beyond.any() or len(np.unique(file * 2**32 + place)) < len(place) or (dead_rows < 0).any():
            raise CorruptMetadata(ref.path, "dead tuples have a count or a place that they cannot have.", DEAD)
        if not (trusted(core) & has_all_counts(core) & (live > 0))[counts > 0].all():
            raise CorruptMetadata(ref.path, "a file with dead tuples does not say which others it has.", DEAD)
        total = int(dead_rows.sum())
    if total != ref.dead_rows:
        raise CorruptMetadata(ref.path, f"it has {total} dead rows, and the version says {ref.dead_rows}.", DEAD)


def _check_paths(paths: pa.ChunkedArray, file: str) -> None:
    for path in paths.filter(pc.match_substring_regex(paths, _SUSPICIOUS)).to_pylist():
        check_data_path(path, file)
    if pc.count_distinct(paths).as_py() != len(paths):
        raise CorruptMetadata(file, "two entries name the same file.", "path")


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


def _sum(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)
