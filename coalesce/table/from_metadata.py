"""Questions that metadata can answer: how many rows, which logical partitions, between which values.

An answer is taken from metadata only where it is exact; where it is not, the rows of just the files in doubt are read.
"""

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa

from coalesce.model.spec import LogicalTuple, field_type
from coalesce.model.types import FLOATING, Field, Value
from coalesce.model.values import Components, PythonValue, named_values, values_of
from coalesce.plan.plan import Plan
from coalesce.plan.planner import PlannedManifest
from coalesce.plan.tuple_sums import tuple_sums
from coalesce.predicate.outcomes import Mask
from coalesce.table.engine import Scan


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LogicalPartition:
    """One logical partition: its values by field name, in how many files it is, with how many rows.

    Under `year`, `month` and `hour` a value is the number of them since 1970 began, as manifests hold it; under `day`
    it is a date. A date or time beyond the years 1 to 9999, for which Python has no value, is its number of days or
    microseconds.
    `bytes` is its share of its files, by rows. `rows` and `bytes` are None where they are unknown. One that has rows
    under several specs is listed once for each.
    """

    spec_id: int
    values: Mapping[str, PythonValue]
    files: int
    rows: int | None
    bytes: int | None

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={_shown(value)}" for name, value in self.values.items()) or "not partitioned"
        rows, size = ("unknown" if n is None else f"{n:,}" for n in (self.rows, self.bytes))
        return f"<{values}: files: {self.files:,}, rows: {rows}, bytes: {size}>"


def _shown(value: PythonValue) -> str:
    """A value on a line: NULL, dates and times as they are written, a text in quotes."""
    return "NULL" if value is None else str(value) if isinstance(value, date) else repr(value)


ScanPlan = Callable[[Plan], Scan]


def count_rows(plan: Plan, scan: ScanPlan) -> int:
    """The rows on which the plan's predicate is TRUE."""
    total, unsure = _counted(plan)
    if unsure:
        total += sum(b.num_rows for b in scan(replace(plan, manifests=tuple(unsure))).to_batches())
    return total


def known_count(plan: Plan) -> int | None:
    """The same if no file has to be read for it; else None."""
    total, unsure = _counted(plan)
    return None if unsure else total


def _counted(plan: Plan) -> tuple[int, list[PlannedManifest]]:
    """The matching rows of the files of which all that may match surely do, and the other files."""
    total = 0
    unsure: list[PlannedManifest] = []
    for planned in plan.manifests:
        index = planned.index
        file, rows = index.posting_file[planned.postings], index.posting_rows[planned.postings]
        doubt, whole = planned.in_doubt(), np.zeros(len(index.entries), np.bool_)
        uncounted = file[rows < 0]
        if len(uncounted):  # of a file whose tuples all match, it does not matter how many rows each has
            all_match = np.bincount(file, minlength=len(whole)) == np.bincount(index.posting_file, minlength=len(whole))
            whole[uncounted] = all_match[uncounted]
            doubt[uncounted] |= ~all_match[uncounted]
        total += int(rows[~(doubt | whole)[file]].sum()) + int(index.rows[whole & ~doubt].sum())
        total += int(index.rows[planned.unknown_files[~doubt[planned.unknown_files]]].sum())
        if doubt.any():
            unsure.append(planned.only(doubt))
    return total, unsure


def dead_bytes(plan: Plan) -> int:
    """About how many bytes of the plan's files are taken by rows that the table has no more."""
    total = 0
    for planned in plan.manifests:
        index, files = planned.index, planned.files
        dead, rows = index.entries.dead_rows[files], index.physical_rows[files]
        total += int((index.bytes[files] * dead // np.maximum(rows, 1)).sum())
    return total


def distinct_values(plan: Plan, column: Field, scan: ScanPlan) -> list[Value]:
    """The distinct values of a column in the matching rows, NULL among them, in order."""
    found: dict[Hashable, Value] = {}
    unsure: list[PlannedManifest] = []
    for planned in plan.manifests:
        position = planned.spec.identity_position(column.id)
        doubt = _unsure(planned, position)
        if position is not None:
            for value in _components(planned, position, ~doubt):
                found[_hashable(value)] = value
        if doubt[planned.files].any():
            unsure.append(planned.only(doubt))
    if unsure:
        for batch in scan(replace(plan, manifests=tuple(unsure))).to_batches():
            for value in values_of(column.type, batch.column(column.name).unique()):  # type: ignore[arg-type]
                found[_hashable(value)] = value
    return sorted(found.values(), key=_order)


def extreme_value(plan: Plan, column: Field, scan: ScanPlan, *, greatest: bool) -> Value:
    """The smallest or the greatest value of a column in the matching rows, NULL aside; None if there is none.

    Tuples are exact; statistics only say where to look. Files are read in the order in which they could hold the
    answer, and no more of them once none can hold a better one.
    """
    best: Value = None
    candidates: list[tuple[Any, PlannedManifest, int]] = []
    for planned in plan.manifests:
        position = planned.spec.identity_position(column.id)
        doubt = _unsure(planned, position)
        if position is not None:
            for value in _components(planned, position, ~doubt):
                best = _better(best, value, greatest)
        # Where tuples say what a file holds, statistics could only contradict them.
        by_tuples = {} if position is None else _component_bounds(planned, position, doubt, greatest)
        for file in planned.files[doubt[planned.files]]:
            bound = by_tuples[file] if file in by_tuples else _bound(planned, column, int(file), greatest)
            candidates.append((bound, planned, int(file)))
    # Unknown bounds first: nothing rules those files out.
    candidates.sort(key=lambda c: (c[0] is not None, _order(c[0])), reverse=False)
    known = [c for c in candidates if c[0] is not None]
    for bound, planned, file in [c for c in candidates if c[0] is None] + (known[::-1] if greatest else known):
        if bound is not None and best is not None and _better(best, bound, greatest) is best:
            break
        wanted = np.zeros(len(planned.index.entries), np.bool_)
        wanted[file] = True
        for batch in scan(replace(plan, manifests=(planned.only(wanted),))).to_batches():
            for value in values_of(column.type, batch.column(column.name).unique()):  # type: ignore[arg-type]
                best = _better(best, value, greatest)
    return best


def _component_bounds(planned: PlannedManifest, position: int, doubt: Mask, greatest: bool) -> dict[int, Value]:
    """For each of some files the value of a component that is nearest the end looked for; None if all are NULL."""
    index, component = planned.index, planned.index.component(position)
    pairs = planned.postings[doubt[index.posting_file[planned.postings]]]
    type_ = index.entries.tuple_type(planned.spec.fields[position].field_id)
    values = [*values_of(type_, component.values), None]
    found: dict[int, Value] = {}
    files, codes = index.posting_file[pairs].tolist(), component.codes[index.posting_tuple[pairs]].tolist()
    for file, code in zip(files, codes, strict=True):
        found[file] = _better(found.get(file), values[code], greatest)
    return found


def _bound(planned: PlannedManifest, column: Field, file: int, greatest: bool) -> Value:
    """What statistics say of the end looked for in a file; None if nothing that could be believed."""
    entries, type_ = planned.index.entries, column.type
    bounds = [entries.statistic(f"{end}_{column.id}") for end in ("lower", "upper")]
    lower, upper = (None if b is None else values_of(type_, b.slice(file, 1))[0] for b in bounds)  # type: ignore[arg-type]
    nans = entries.statistic(f"nan_count_{column.id}")
    if greatest and type_ in FLOATING and (nans is None or nans[file].as_py() != 0):
        return math.nan
    if lower is not None and upper is not None and _order(lower) > _order(upper):
        return None
    return upper if greatest else lower


def _better(best: Value, value: Value, greatest: bool) -> Value:
    """The one of two values that is nearer the end looked for; NULL never is."""
    if value is None or best is None:
        return best if value is None else value
    return value if (_order(value) > _order(best)) == greatest and _order(value) != _order(best) else best


def _unsure(planned: PlannedManifest, position: int | None) -> Mask:
    """For every file of the manifest, whether its tuples leave open which values its matching rows have."""
    doubt = planned.in_doubt() if position is not None else np.ones(len(planned.index.entries), np.bool_)
    doubt[planned.unknown_files] = True
    return doubt


def _components(planned: PlannedManifest, position: int, inside: Mask) -> list[Value]:
    """The distinct values of a component in the planned pairs of some files."""
    index = planned.index
    pairs = planned.postings[inside[index.posting_file[planned.postings]]]
    component = index.component(position)
    codes = np.unique(component.codes[index.posting_tuple[pairs]])
    type_ = index.entries.tuple_type(planned.spec.fields[position].field_id)
    values: list[Value] = values_of(type_, component.values.take(pa.array(codes[codes >= 0])))
    return [*([None] if len(codes) and codes[0] < 0 else []), *values]


def list_partitions(plan: Plan) -> list[LogicalPartition]:
    """The logical tuples of the plan's files on which its predicate may be TRUE, spec by spec, in order."""
    found: dict[Hashable, tuple[LogicalTuple, LogicalPartition]] = {}
    for planned in plan.manifests:
        for values, partition in _partitions(planned, planned.components(plan.version.schema)):
            key = (partition.spec_id, tuple(_hashable(v) for v in values))
            before = found.get(key)
            found[key] = values, partition if before is None else _sum(before[1], partition)
    in_order = sorted(found.values(), key=lambda held: (held[1].spec_id, [_order(v) for v in held[0]]))
    return [partition for _, partition in in_order]


def components_of(plan: Plan) -> dict[int, Components]:
    """What tuples are made of under each spec that the table has files of, and the current one, which comes first.

    Which files the plan has makes no difference: what is listed has the same columns, however little it is.
    """
    version, schema = plan.version, plan.version.schema
    planned = {m.spec.spec_id: m.components(schema) for m in plan.manifests}
    # Of a column that is gone, only what was stored says the type.
    stored = {bounds.field_id: bounds.type for ref in version.manifests for bounds in ref.bounds or ()}
    found: dict[int, Components] = {}
    for spec_id in (version.current_spec_id, *(ref.spec_id for ref in version.manifests)):
        fields = version.spec_by_id(spec_id).fields
        types = [field_type(f, schema) if schema.atomic(f.source_id) else stored.get(f.field_id) for f in fields]
        known = tuple((f.name, type_) for f, type_ in zip(fields, types, strict=True) if type_ is not None)
        found[spec_id] = planned.get(spec_id, known)
    return found


def _order(value: Value) -> tuple[int, Any]:
    """NULL before every value, NaN after every number."""
    if value is None:
        return 0, 0
    return (2, 0) if _is_nan(value) else (1, value)


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _partitions(planned: PlannedManifest, names: Components) -> list[tuple[LogicalTuple, LogicalPartition]]:
    sums = tuple_sums(planned)
    return [
        (
            tuple_,
            LogicalPartition(
                spec_id=planned.spec.spec_id,
                values=named_values(planned.spec.spec_id, names, tuple_),
                files=int(sums.files[i]),
                rows=int(sums.rows[i]) if sums.known[i] else None,
                bytes=int(sums.bytes[i]) if sums.known[i] else None,
            ),
        )
        for i, tuple_ in enumerate(sums.tuples)
    ]


def _sum(one: LogicalPartition, other: LogicalPartition) -> LogicalPartition:
    return replace(
        one,
        files=one.files + other.files,
        rows=None if one.rows is None or other.rows is None else one.rows + other.rows,
        bytes=None if one.bytes is None or other.bytes is None else one.bytes + other.bytes,
    )


def _hashable(value: Value) -> Hashable:
    """NaN is not equal to itself in Python, but one value all the same."""
    return "NaN" if _is_nan(value) else value
