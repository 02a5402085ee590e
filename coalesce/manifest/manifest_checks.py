"""What a manifest has to be before anything in it is believed: the bytes that were committed, the columns that its spec
demands, entries that can be so, and paths that lead nowhere else.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.errors import CorruptMetadata, SchemaError
from coalesce.manifest.paths import check_data_path
from coalesce.model.arrow_schema import arrow_type, type_from_arrow
from coalesce.model.columns import numbers, whole
from coalesce.model.entries import has_all_counts, trusted
from coalesce.model.entry_columns import DEAD, ORDERED, columns_of, dead_type
from coalesce.model.spec import Spec
from coalesce.model.types import AtomicType, is_atomic
from coalesce.model.version import FORMAT_VERSION, ManifestRef

FORMAT_VERSION_KEY: Final = "coalesce.format_version"  # what a manifest says of itself in its footer
SPEC_ID_KEY: Final = "coalesce.spec_id"
# Anything in a path that could point elsewhere; the few that match are then looked at one by one.
_SUSPICIOUS = r"(?i)^/|^~|\\|\x00|(^|/)(\.{0,2})(/|$)|^[a-z][a-z0-9+.-]*:|(^|/)_coalesce(/|$)"


def check_digest(data: bytes, ref: ManifestRef) -> None:
    """Refuse bytes that are not those that were committed."""
    if len(data) != ref.length:
        raise CorruptMetadata(ref.path, f"it has {len(data)} bytes, not the {ref.length} that were committed.")
    if "sha256:" + hashlib.sha256(data).hexdigest() != ref.digest:
        raise CorruptMetadata(ref.path, "its digest is not the one that was committed: the file is damaged.")


def check_columns(schema: pa.Schema, metadata: dict[bytes, bytes], ref: ManifestRef, spec: Spec) -> None:
    """The columns that `spec` demands are there, each of its type. What else there is does not matter."""
    if metadata.get(FORMAT_VERSION_KEY.encode()) != str(FORMAT_VERSION).encode():
        raise CorruptMetadata(ref.path, f"it does not say that it is of format version {FORMAT_VERSION}.")
    if metadata.get(SPEC_ID_KEY.encode()) != str(ref.spec_id).encode():
        raise CorruptMetadata(ref.path, f"it is not a manifest of spec {ref.spec_id}.")
    tuples = schema.field("tuples").type if "tuples" in schema.names else None
    if tuples is None or not pa.types.is_list(tuples) or not pa.types.is_struct(tuples.value_type):
        raise CorruptMetadata(ref.path, "the column 'tuples' is missing or not a list of structs.", "tuples")
    check_unique([f.name for f in tuples.value_type], ref, "tuples")
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


def check_unique(names: Sequence[str], ref: ManifestRef, where: str = "") -> None:
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


def check_entries(core: pa.Table, ref: ManifestRef) -> None:
    """Refuse entries that cannot be so, or are not those that the version speaks of."""
    for name in ("path", "rows", "bytes"):
        if core.column(name).null_count:
            raise CorruptMetadata(ref.path, f"an entry has no {name}.", name)
    for name in ("rows", "bytes"):
        if core.num_rows and pc.min(core.column(name)).as_py() < 0:
            raise CorruptMetadata(ref.path, f"an entry has negative {name}.", name)
    if whole(core.column("tuples")).values.null_count:
        raise CorruptMetadata(ref.path, "a tuple is NULL, which is not the same as a tuple of NULLs.", "tuples")
    found = (core.num_rows, total(core.column("rows")), total(core.column("bytes")))
    if found != (ref.files, ref.rows, ref.bytes):
        raise CorruptMetadata(
            ref.path,
            "it has {} entries, {} rows and {} bytes".format(*found)
            + f", and the version says {ref.files}, {ref.rows} and {ref.bytes}.",
        )
    check_paths(core.column("path"), ref.path)
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


def check_paths(paths: pa.ChunkedArray, file: str) -> None:
    """Refuse paths that lead out of the table, or into its metadata, and two entries of one file."""
    for path in paths.filter(pc.match_substring_regex(paths, _SUSPICIOUS)).to_pylist():
        check_data_path(path, file)
    if pc.count_distinct(paths).as_py() != len(paths):
        raise CorruptMetadata(file, "two entries name the same file.", "path")


def total(column: pa.ChunkedArray) -> int:
    """The sum of a column; of none, 0."""
    return int(pc.sum(column).as_py() or 0)
