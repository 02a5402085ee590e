"""Which files are written again to be rid of their dead rows: pure arithmetic on entries, no I/O.

A dead row costs what it takes to read past it, and for as long as it lies there it is not deleted, which some have
promised to do in time. So files go by how much of them is dead, and by how long it has been so.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import numpy as np
import pyarrow as pa

from coalesce.model.columns import column_from, whole
from coalesce.model.entries import Entries
from coalesce.model.entry_columns import DEAD
from coalesce.plan.index import ManifestIndex
from coalesce.plan.planner import Judge, PlannedManifest, plan_manifest
from coalesce.predicate.expr import TRUE, Bound
from coalesce.predicate.outcomes import Mask
from coalesce.table.engine import PURGE_AGE, PURGE_SHARE
from coalesce.table.maintain.held import Held
from coalesce.table.maintain.retention import duration

_SHARE: Final = "0.1"
_MILLISECOND: Final = timedelta(milliseconds=1)


def due(held: Held, properties: Mapping[str, str], now_ms: int) -> Mask:
    """The files of which more is dead, or has been so for longer, than a table's properties allow."""
    share = float(properties.get(PURGE_SHARE, _SHARE))
    found: Mask = (held.dead > 0) & (held.dead > share * (held.rows + held.dead))
    if PURGE_AGE in properties:
        age = duration(properties[PURGE_AGE], f"the property {PURGE_AGE!r}")
        found |= (held.dead > 0) & (held.dead_since < now_ms - age // _MILLISECOND)
    return found


def with_dead(held: Held, predicate: Bound) -> Mask:
    """The files with dead rows on which the predicate may have been TRUE, as far as their tuples tell."""
    found: Mask = held.dead > 0
    if predicate != TRUE:
        judge = Judge(predicate, held.version.schema)
        for number in np.unique(held.manifest[found]).tolist():
            here = held.manifest == number
            found[here] &= np.isin(held.position[here], _matching(judge, held.manifests[number]))
    return found


def _matching(judge: Judge, planned: PlannedManifest) -> np.ndarray:
    index = ManifestIndex(_of_the_dead(planned.index.entries))
    return plan_manifest(judge, planned.ref, planned.spec, index).files


def _of_the_dead(entries: Entries) -> Entries:
    """Entries that say of dead rows what entries say of others; there are no statistics of them."""
    core = entries.core
    lists = whole(core.column(DEAD))
    names = [*(f"f{i}" for i in entries.field_ids), "rows"]
    tuples = pa.StructArray.from_arrays([lists.values.field(name) for name in names], names)
    columns = dict(zip(core.column_names, core.columns, strict=True))
    columns |= {
        "tuples": pa.ListArray.from_arrays(lists.offsets, tuples),
        "rows": column_from(entries.dead_rows),
        "complete": pa.repeat(True, len(entries)),
    }
    return Entries(entries.spec_id, entries.field_ids, pa.table(columns).drop_columns([DEAD]))
