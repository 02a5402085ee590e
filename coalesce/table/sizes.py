"""How much the table already holds of logical tuples, and which of them have a physical partition of their own.

The rule by size asks for it at every write, so only manifests and tuples that the write touches are looked at.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from coalesce.model.rule import BySize
from coalesce.model.spec import LogicalTuple
from coalesce.model.values import values_of
from coalesce.model.version import Version
from coalesce.plan.index import ManifestIndex
from coalesce.plan.plan import make_plan
from coalesce.plan.planner import LoadManifests, PlannedManifest
from coalesce.predicate.expr import TRUE
from coalesce.table.layout import Known, one_nan
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
    index, pairs = planned.index, planned.postings
    found, inverse = np.unique(index.posting_tuple[pairs], return_inverse=True)
    file = index.posting_file[pairs]
    # A tuple's bytes are its share of its files, by rows; an unknown count has none.
    share = index.bytes[file] * np.maximum(index.posting_rows[pairs], 0) / np.maximum(index.rows[file], 1)
    held = np.bincount(inverse, weights=share, minlength=len(found))
    is_alone = np.bincount(inverse, weights=_ungrouped(index)[file], minlength=len(found)) > 0
    columns = []
    for position, field in enumerate(planned.spec.fields):
        component = index.component(position)
        values = [*values_of(index.entries.tuple_type(field.field_id), component.values), None]
        columns.append([values[code] for code in component.codes[found]])
    members: list[LogicalTuple] = list(zip(*columns, strict=True)) if columns else [()] * len(found)
    for tuple_, size, by_itself in zip(map(one_nan, members), held.tolist(), is_alone.tolist(), strict=True):
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
