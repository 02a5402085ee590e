"""Manifests: `Entries` as Parquet.

A reader checks what it reads: the length and digest the version recorded, the columns the spec demands, and every
path. Statistics stay undecoded until a plan asks for a column's.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coalesce.errors import CorruptMetadata
from coalesce.manifest.paths import check_data_path
from coalesce.model.entries import Entries, is_statistic, sort_order, trusted, value_range
from coalesce.model.spec import Spec
from coalesce.model.types import Value
from coalesce.model.version import FORMAT_VERSION, FieldBounds, ManifestRef

_MAX_BOUND_LENGTH = 256  # a longer string or binary bound would bloat every later version file
# Anything in a path that could point elsewhere; the few that match are then looked at one by one.
_SUSPICIOUS = r"^$|^/|^~|\\|\x00|(^|/)(\.{0,2})(/|$)|^[A-Za-z][A-Za-z0-9+.-]*:|^_coalesce(/|$)"


@dataclass(frozen=True, slots=True)
class EncodedManifest:
    """A manifest's bytes and what the version says about it."""

    data: bytes
    spec_id: int
    files: int
    rows: int
    bytes: int
    rows_without_id: int
    digest: str
    bounds: tuple[FieldBounds, ...] | None

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
        )


def encode_manifest(entries: Entries) -> EncodedManifest:
    """The manifest file of `entries`, sorted by physical key."""
    table = entries.table().take(pa.array(sort_order(entries)))
    table = table.replace_schema_metadata(
        {"coalesce.format_version": str(FORMAT_VERSION), "coalesce.spec_id": str(entries.spec_id)}
    )
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_page_index=False)
    data = sink.getvalue().to_pybytes()
    return EncodedManifest(
        data=data,
        spec_id=entries.spec_id,
        files=len(entries),
        rows=_sum(table.column("rows")),
        bytes=_sum(table.column("bytes")),
        rows_without_id=_sum(table.column("rows").filter(table.column("first_row_id").is_null())),
        digest="sha256:" + hashlib.sha256(data).hexdigest(),
        bounds=manifest_bounds(entries),
    )


def decode_manifest(data: bytes, ref: ManifestRef, spec: Spec) -> Entries:
    """The entries in `data`, the bytes of the manifest `ref` points to, or CorruptMetadata that names it."""
    if len(data) != ref.length:
        raise CorruptMetadata(ref.path, f"it has {len(data)} bytes, not the {ref.length} that were committed.")
    if "sha256:" + hashlib.sha256(data).hexdigest() != ref.digest:
        raise CorruptMetadata(ref.path, "its digest is not the one that was committed: the file is damaged.")
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        names = [n for n in file.schema_arrow.names if not is_statistic(n)]
        core = file.read(columns=names).combine_chunks()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CorruptMetadata(ref.path, f"it is not a readable Parquet file: {error}.") from error
    field_ids = tuple(f.field_id for f in spec.fields)
    _check(core, file.schema_arrow, ref, field_ids)

    def load(wanted: Sequence[str]) -> pa.Table:
        there = file.schema_arrow.names
        return file.read(columns=[n for n in (wanted or there) if n in there and (wanted or is_statistic(n))])

    return Entries(ref.spec_id, field_ids, _inherit(core, ref), load)


def _inherit(core: pa.Table, ref: ManifestRef) -> pa.Table:
    """Entries without a version or row ids of their own take those the version gave the whole manifest."""
    rows = np.asarray(core.column("rows"))
    own = core.column("first_row_id").combine_chunks()
    without = np.asarray(own.is_null())
    counted = np.where(without, rows, 0)
    inherited = pa.array(ref.first_row_id + np.cumsum(counted) - counted)
    core = _replace(core, "first_row_id", pc.coalesce(own, inherited))
    return _replace(core, "added_version", pc.fill_null(core.column("added_version"), ref.added_version))


def _replace(table: pa.Table, name: str, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)


_NEEDED = {
    "path": pa.string(),
    "rows": pa.int64(),
    "bytes": pa.int64(),
    "rule_id": pa.int32(),
    "physical_known": pa.bool_(),
    "complete": pa.bool_(),
    "first_row_id": pa.int64(),
    "added_version": pa.int64(),
}


def _check(core: pa.Table, schema: pa.Schema, ref: ManifestRef, field_ids: tuple[int, ...]) -> None:
    metadata = schema.metadata or {}
    if metadata.get(b"coalesce.spec_id") != str(ref.spec_id).encode():
        raise CorruptMetadata(ref.path, f"it is not a manifest of spec {ref.spec_id}.")
    for name, type_ in _NEEDED.items():
        if name not in core.column_names or core.schema.field(name).type != type_:
            raise CorruptMetadata(ref.path, f"the column {name!r} of type {type_} is missing.", name)
    tuples = core.schema.field("tuples").type if "tuples" in core.column_names else None
    if tuples is None or not pa.types.is_list(tuples) or not pa.types.is_struct(tuples.value_type):
        raise CorruptMetadata(ref.path, "the column 'tuples' is missing or not a list of structs.", "tuples")
    members = {tuples.value_type.field(i).name for i in range(tuples.value_type.num_fields)}
    if members != {"rows", *(f"f{i}" for i in field_ids)}:
        raise CorruptMetadata(ref.path, f"its tuples have the members {sorted(members)}.", "tuples")
    for field_id in field_ids:
        for name in (f"physical_group_{field_id}", f"physical_value_{field_id}"):
            if name not in core.column_names:
                raise CorruptMetadata(ref.path, f"the column {name!r} is missing.", name)
    if core.num_rows != ref.files:
        raise CorruptMetadata(ref.path, f"it has {core.num_rows} entries, not {ref.files}.")
    for name in ("path", "rows", "bytes"):
        if core.column(name).null_count:
            raise CorruptMetadata(ref.path, f"an entry has no {name}.", name)
    for name in ("rows", "bytes"):
        if core.num_rows and pc.min(core.column(name)).as_py() < 0:
            raise CorruptMetadata(ref.path, f"an entry has negative {name}.", name)
    paths = core.column("path")
    for path in paths.filter(pc.match_substring_regex(paths, _SUSPICIOUS)).to_pylist():
        check_data_path(path, ref.path)
    if pc.count_distinct(paths).as_py() != core.num_rows:
        raise CorruptMetadata(ref.path, "two entries name the same file.", "path")


# --- bounds ------------------------------------------------------------------------------------------------------


def manifest_bounds(entries: Entries) -> tuple[FieldBounds, ...] | None:
    """The range of each partition field over all tuples; None unless the tuples of every entry are known."""
    if not bool(trusted(entries.core).all()):
        return None
    lists = entries.core.column("tuples").combine_chunks()
    flat = lists.flatten()
    bounds = []
    for field_id in entries.field_ids:
        type_ = entries.tuple_type(field_id)
        column = flat.field(f"f{field_id}")
        lower, upper = value_range(type_, column)
        if max(_length(lower), _length(upper)) > _MAX_BOUND_LENGTH:
            continue
        has_null = column.null_count > 0
        bounds.append(FieldBounds(field_id=field_id, type=type_, lower=lower, upper=upper, has_null=has_null))
    return tuple(bounds)


def _length(value: Value) -> int:
    return len(value) if isinstance(value, str | bytes) else 0


def _sum(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)
