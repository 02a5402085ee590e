"""Compaction without anyone asking: after a write, small files that have become too many are merged.

Only the physical partitions that the write has put files into are looked at, and only so many bytes are written again,
so that a stream of small appends needs nothing else to stay in shape. The rows of the write are committed by then: if
this fails, it is a warning.
"""

import warnings
from collections.abc import Collection
from typing import Final

import numpy as np

from coalesce.errors import CoalesceError, CommitConflict
from coalesce.model.rule import PhysicalKey, parse_bytes
from coalesce.plan.index import ManifestIndex
from coalesce.plan.plan import Plan
from coalesce.plan.planner import Judge, plan_manifest
from coalesce.predicate.expr import TRUE
from coalesce.predicate.outcomes import Mask
from coalesce.table.core import Core
from coalesce.table.engine import AUTO_COMPACT, AUTO_COMPACT_BYTES, AUTO_COMPACT_FILES
from coalesce.table.layout import one_nan
from coalesce.table.maintain.compact import Compaction, run
from coalesce.table.maintain.held import held, physical_keys_of
from coalesce.table.maintain.worth import SMALL_SHARE, Limits, crowded, packed

_FILES: Final = "16"
_BYTES: Final = "256MB"


def tend(core: Core, touched: Collection[PhysicalKey]) -> None:
    """Merge what is too much in the physical partitions that a write has `touched`, if the table is to be kept so."""
    properties = core.version.properties
    if properties.get(AUTO_COMPACT) != "true" or not touched:
        return
    most = int(properties.get(AUTO_COMPACT_FILES, _FILES))
    budget = parse_bytes(properties.get(AUTO_COMPACT_BYTES, _BYTES))
    target = core.snapshot().target_file_bytes
    try:
        plan = _small_files(core, {one_nan(key) for key in touched}, target)  # type: ignore[arg-type]
        if plan.file_count <= most:
            return
        seen = held(plan)
        for jobs in packed(crowded(seen, most, target, budget), Limits()):
            Compaction(core, lambda: TRUE).step(seen, jobs, 0)
    except CommitConflict:
        pass  # another writer is at it, or was faster; after the next write there is another chance
    except CoalesceError as error:
        warnings.warn(
            f"the rows are committed, but small files of {core.storage.root} could not be merged: {error}",
            RuntimeWarning,
            stacklevel=2,
        )


def purge_all(core: Core) -> None:
    """Write every file again that has dead rows, for an export to a format whose readers would show them."""
    run(Compaction(core, lambda: TRUE, purging=True))


def _small_files(core: Core, keys: set[PhysicalKey], target: int) -> Plan:
    """The small files in some physical partitions, found without looking at what others hold."""
    version = core.version
    refs = [ref for ref in version.manifests if ref.spec_id == version.current_spec_id]
    judge = Judge(TRUE, version.schema)

    def wanted(index: ManifestIndex) -> Mask:
        own = physical_keys_of(index)
        codes = [number for number, key in enumerate(own.keys) if key in keys]
        found: Mask = np.isin(own.code, codes) & (index.bytes < SMALL_SHARE * target)
        return found

    indexes = zip(refs, core.manifests.load_all(refs, version), strict=True)
    parts = [(ref, index, mask) for ref, index in indexes if (mask := wanted(index)).any()]
    planned = tuple(plan_manifest(judge, ref, version.spec, index).only(mask) for ref, index, mask in parts)
    return Plan(version, TRUE, planned, lambda asked: core.manifests.load_all(asked, version))
