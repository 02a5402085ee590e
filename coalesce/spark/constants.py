"""Columns that have one value in each file: `dt`, where every file holds a single day.

Spark takes them for partition values: it need not read them, and a join with a filtered dimension skips the files of
all other days (dynamic partition pruning). A column counts only if it is constant in *every* file of the version, since
Spark wants to know before it knows which files it will read.
"""

from collections import OrderedDict
from threading import Lock
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.model.spec import Spec
from coalesce.model.transforms import Identity
from coalesce.model.types import Field
from coalesce.model.version import Version
from coalesce.plan.index import ManifestIndex
from coalesce.plan.planner import LoadManifest
from coalesce.spark.wire import crosses

_REMEMBERED = 64  # versions

_lock = Lock()
_by_manifest: WeakKeyDictionary[ManifestIndex, dict[int, pa.Array | None]] = WeakKeyDictionary()
_by_commit: OrderedDict[str, tuple[Field, ...]] = OrderedDict()


def constant_columns(version: Version, load: LoadManifest) -> tuple[Field, ...]:
    """The columns that have one value in each file of the version, in the order of the schema."""
    with _lock:
        found = _by_commit.get(version.commit_id)
    if found is None:
        found = _constant_columns(version, load)
        with _lock:
            _by_commit[version.commit_id] = found
            while len(_by_commit) > _REMEMBERED:
                _by_commit.popitem(last=False)
    return found


def _constant_columns(version: Version, load: LoadManifest) -> tuple[Field, ...]:
    specs = [version.spec_by_id(i) for i in {m.spec_id for m in version.manifests}]
    candidates = [f for f in version.schema if specs and all(_position(spec, f.id) is not None for spec in specs)]
    candidates = [f for f in candidates if crosses(f.type)]  # type: ignore[arg-type]  # a partition column is atomic
    for ref in version.manifests:
        if not candidates:
            break
        index, spec = load(ref), version.spec_by_id(ref.spec_id)
        candidates = [f for f in candidates if values_by_file(index, spec, f.id) is not None]
    return tuple(candidates)


def values_by_file(index: ManifestIndex, spec: Spec, column_id: int) -> pa.Array | None:
    """The one value the column has in each file of a manifest, or None if some file has several, or may have."""
    position = _position(spec, column_id)
    if position is None:
        return None
    with _lock:
        known = _by_manifest.setdefault(index, {})
        if column_id in known:
            return known[column_id]
    values = _values_by_file(index, spec, position)
    with _lock:
        known[column_id] = values
    return values


def _position(spec: Spec, column_id: int) -> int | None:
    """The place of the partition field that is the column itself."""
    for position, field in enumerate(spec.fields):
        if field.source_id == column_id and isinstance(field.transform, Identity):
            return position
    return None


def _values_by_file(index: ManifestIndex, spec: Spec, position: int) -> pa.Array | None:
    component = index.component(position)
    codes = component.codes[index.reference_tuple]
    highest = np.full(len(index.entries), -1, np.int32)  # -1 is NULL; a file without rows may have any value
    lowest = np.full(len(index.entries), np.iinfo(np.int32).max, np.int32)
    np.maximum.at(highest, index.reference_file, codes)
    np.minimum.at(lowest, index.reference_file, codes)
    if bool((lowest < highest).any()):
        return None
    values = component.values.take(pa.array(np.maximum(highest, 0), mask=highest < 0))
    if len(index.untrusted_files) == 0:
        return values
    # What files with unknown tuples hold, their physical keys say, as long as they do not name a group.
    core, field_id = index.entries.core, spec.fields[position].field_id
    is_group = np.asarray(core.column(f"physical_group_{field_id}").is_valid())
    known = np.asarray(core.column("physical_known")) & ~is_group
    if not bool(known[index.untrusted_files].all()):
        return None
    physical = core.column(f"physical_value_{field_id}").combine_chunks().cast(values.type)
    return pc.if_else(pa.array(index.trusted), values, physical)
