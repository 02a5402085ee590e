"""Questions that metadata can answer: how many rows, which logical partitions, between which values.

An answer is taken from metadata only where it is exact; where it is not, the rows of just the files in doubt are read.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coalesce.model.spec import LogicalTuple
from coalesce.model.types import Value
from coalesce.model.values import values_of
from coalesce.plan.plan import Plan
from coalesce.plan.planner import PlannedManifest
from coalesce.predicate.outcomes import must_be_true
from coalesce.table.engine import Scan


@dataclass(frozen=True, slots=True, kw_only=True)
class LogicalPartition:
    """One logical tuple under one spec: in how many files, with how many rows; None where that is unknown.

    `bytes` is the tuple's share of its files, by rows.
    """

    spec_id: int
    values: LogicalTuple
    files: int
    rows: int | None
    bytes: int | None


def count_rows(plan: Plan, scan: Callable[[Plan], Scan]) -> int:
    """The rows on which the plan's predicate is TRUE."""
    total = 0
    in_doubt: list[PlannedManifest] = []
    for planned in plan.manifests:
        counted, doubtful = _count(planned)
        total += counted
        if doubtful is not None:
            in_doubt.append(doubtful)
    if in_doubt:
        total += sum(b.num_rows for b in scan(replace(plan, manifests=tuple(in_doubt))).to_batches())
    return total


def _count(planned: PlannedManifest) -> tuple[int, PlannedManifest | None]:
    """The rows that surely match in files where that is all there is to say, and a plan of the other files."""
    index = planned.index
    rows = index.reference_rows[planned.references]
    doubt = np.zeros(len(index.entries), np.bool_)
    doubt[index.reference_file[planned.references[~must_be_true(planned.outcomes) | (rows < 0)]]] = True
    unsure = planned.unknown_files[~must_be_true(planned.unknown_outcomes)]
    doubt[unsure] = True
    sure_pairs = ~doubt[index.reference_file[planned.references]]
    sure_unknown = planned.unknown_files[~doubt[planned.unknown_files]]
    counted = int(rows[sure_pairs].sum()) + int(index.rows[sure_unknown].sum())
    if not doubt.any():
        return counted, None
    unknown_stays = doubt[planned.unknown_files]
    return counted, replace(
        planned,
        files=planned.files[doubt[planned.files]],
        references=planned.references[~sure_pairs],
        outcomes=planned.outcomes[~sure_pairs],
        unknown_files=planned.unknown_files[unknown_stays],
        unknown_outcomes=planned.unknown_outcomes[unknown_stays],
    )


def list_partitions(plan: Plan) -> list[LogicalPartition]:
    """The logical tuples of the plan's files on which its predicate may be TRUE, spec by spec, in order."""
    found: dict[tuple[int, LogicalTuple], LogicalPartition] = {}
    for planned in plan.manifests:
        for partition in _partitions(planned):
            key = (partition.spec_id, _hashable(partition.values))
            before = found.get(key)
            found[key] = partition if before is None else _sum(before, partition)
    return sorted(found.values(), key=lambda p: (p.spec_id, [_order(v) for v in p.values]))


def _order(value: Value) -> tuple[int, Any]:
    """NULL before every value, NaN after every number."""
    if value is None:
        return 0, 0
    return (2, 0) if _is_nan(value) else (1, value)


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _partitions(planned: PlannedManifest) -> list[LogicalPartition]:
    index, pairs = planned.index, planned.references
    tuples, inverse = np.unique(index.reference_tuple[pairs], return_inverse=True)
    file = index.reference_file[pairs]
    rows = index.reference_rows[pairs]
    share = index.bytes[file] * rows / np.maximum(index.rows[file], 1)
    files = np.bincount(inverse, minlength=len(tuples))
    known = np.bincount(inverse, weights=rows < 0, minlength=len(tuples)) == 0
    row_sums = np.bincount(inverse, weights=rows, minlength=len(tuples))
    byte_sums = np.bincount(inverse, weights=share, minlength=len(tuples))
    columns = []
    for position, field in enumerate(planned.spec.fields):
        component = index.component(position)
        values = [*values_of(index.entries.tuple_type(field.field_id), component.values), None]
        columns.append([values[code] for code in component.codes[tuples]])
    members = list(zip(*columns, strict=True)) if columns else [()] * len(tuples)
    return [
        LogicalPartition(
            spec_id=planned.spec.spec_id,
            values=members[i],
            files=int(files[i]),
            rows=int(row_sums[i]) if known[i] else None,
            bytes=int(byte_sums[i]) if known[i] else None,
        )
        for i in range(len(tuples))
    ]


def _sum(one: LogicalPartition, other: LogicalPartition) -> LogicalPartition:
    return replace(
        one,
        files=one.files + other.files,
        rows=None if one.rows is None or other.rows is None else one.rows + other.rows,
        bytes=None if one.bytes is None or other.bytes is None else one.bytes + other.bytes,
    )


def _hashable(values: LogicalTuple) -> LogicalTuple:
    """NaN is not equal to itself in Python, but one logical partition all the same."""
    return tuple("NaN" if _is_nan(v) else v for v in values)
