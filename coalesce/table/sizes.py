"""How much the table already holds of logical tuples, and which of them have a physical partition of their own.

The rule by size asks for it at every write, so only manifests and tuples that the write touches are looked at.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from coalesce.model.rule import BySize
from coalesce.model.spec import LogicalTuple
from coalesce.model.version import Version
from coalesce.plan.index import ManifestIndex
from coalesce.plan.plan import make_plan
from coalesce.plan.planner import LoadManifests, PlannedManifest
from coalesce.plan.tuple_sums import tuple_sums
from coalesce.predicate.expr import TRUE
from coalesce.table.layout import Known, may_be_nan, one_nan
from coalesce.table.tuples import among


def measured(version: Version, load: LoadManifests, tuples: Sequence[LogicalTuple] | None) -> Known:
    """Bytes of each of `tuples` of the current spec, and those that are alone; None asks for all tuples.

    Unless all are asked for, a rule that does not go by size gets no answer: it does not need one.
    """
    if not version.manifests or (tuples is not None and not isinstance(version.rule, BySize)):
        return Known()
    asked = TRUE if tuples is None else among(tuples, version.spec, version.schema)
    sizes: dict[LogicalTuple, int] = {}
    alone: set[LogicalTuple] = set()
    for planned in make_plan(version, asked, load).manifests:
        if planned.spec.spec_id == version.current_spec_id:
            _add(planned, sizes, alone)
    return Known(sizes=sizes, alone=alone)


def _add(planned: PlannedManifest, sizes: dict[LogicalTuple, int], alone: set[LogicalTuple]) -> None:
    sums = tuple_sums(planned)
    alone_here = sums.some(_ungrouped(planned.index))
    types = [planned.index.entries.tuple_type(field.field_id) for field in planned.spec.fields]
    tuples = map(one_nan, sums.tuples) if may_be_nan(types) else sums.tuples
    for tuple_, size, by_itself in zip(tuples, sums.bytes.tolist(), alone_here.tolist(), strict=True):
        sizes[tuple_] = sizes.get(tuple_, 0) + int(size)
        if by_itself:
            alone.add(tuple_)


def _ungrouped(index: ManifestIndex) -> np.ndarray:
    """Which files lie in a physical partition that no group shares."""
    core = index.entries.core
    found = np.asarray(core.column("physical_known").combine_chunks().to_numpy(zero_copy_only=False), np.bool_)
    for field_id in index.entries.field_ids:
        groups: pa.ChunkedArray = core.column(f"physical_group_{field_id}")
        found = found & groups.is_null().to_numpy()
    return found
