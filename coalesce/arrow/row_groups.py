"""Which row groups of a data file may hold a matching row: by Parquet's statistics, and by where its tuples lie.

Row groups are to a file what files are to a manifest, so they are judged by the planner's own means. pyarrow cannot
skip pages from Python although the files have page indexes; row groups that are cut between tuples do the job.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from coalesce.arrow.parquet_statistics import told
from coalesce.arrow.places import Part
from coalesce.arrow.read import OpenFile
from coalesce.model.datafile import ColumnStatistics, DataFile
from coalesce.model.entries import from_files
from coalesce.model.spec import Spec
from coalesce.model.types import FLOATING, AtomicType, Value
from coalesce.plan.index import ManifestIndex
from coalesce.plan.planner import Judge
from coalesce.predicate.domains import Both, Domain
from coalesce.predicate.expr import Bound
from coalesce.predicate.outcomes import may_be_true, must_be_true


def matching_parts(file: OpenFile, predicate: Bound) -> list[Part]:
    """The rows of each row group among which there may be some on which the predicate is TRUE."""
    judge = Judge(predicate, file.version.schema)
    places = file.places
    parts = [Part(group, 0, rows, None) for group, rows in enumerate(file.group_rows)]
    partitions = not judge.columns.isdisjoint(f.source_id for f in file.spec.fields)
    if partitions and places is not None and len(places.tuples) > 1:
        parts = places.parts(judge.outcomes(_tuple_domains(file, judge), len(places.tuples)), file.group_rows)
    if all(part.matching is not None for part in parts) or _is_judged(file, judge):
        return parts
    outcomes = judge.outcomes(_statistics_domains(file, judge), len(file.group_rows))
    may, sure = may_be_true(outcomes), must_be_true(outcomes)
    return [
        replace(part, matching=np.ones(file.live_part(part.group, part.start, part.stop), np.bool_))
        if sure[part.group]
        else part
        for part in parts
        if may[part.group]
    ]


def _tuple_domains(file: OpenFile, judge: Judge) -> dict[int, Domain]:
    """What each of the tuples says of the columns that are asked about."""
    domains: dict[int, Domain] = {}
    for position, field in enumerate(file.spec.fields):
        here = file.located.domain(position, field, file.version.schema) if field.source_id in judge.columns else None
        if here is not None:
            before = domains.get(field.source_id)
            domains[field.source_id] = here if before is None else Both(before, here)
    return domains


def _is_judged(file: OpenFile, judge: Judge) -> bool:
    """Whether the footer can say nothing that the plan has not looked at: its one row group is the whole file."""
    known = file.entry.statistics
    return len(file.group_rows) == 1 and all(i in known or i in file.constants for i in judge.columns)


def _statistics_domains(file: OpenFile, judge: Judge) -> dict[int, Domain]:
    groups = [
        DataFile(path=str(i), spec_id=0, rows=rows, bytes=0, statistics=_statistics(file, judge, i))
        for i, rows in enumerate(file.group_rows)
    ]
    return judge.statistics(ManifestIndex(from_files(groups, Spec(0, ()), file.version.schema)))


def _statistics(file: OpenFile, judge: Judge, group: int) -> Mapping[int, ColumnStatistics]:
    """What the footer says of the columns the predicate asks about, in one row group."""
    found = {}
    metadata = file.parquet.metadata.row_group(group)
    for column_id in judge.columns:
        field, type_ = file.version.schema.by_id(column_id), file.version.schema.atomic(column_id)
        if field is None or type_ is None:
            continue
        if column_id in file.constants:
            value = file.constants[column_id]
            found[column_id] = _constant(type_, value, file.group_rows[group])
            continue
        position = file.position(field)
        if position is None:
            continue
        chunk = metadata.column(file.leaves[position].start)
        stored = file.stored_type(position)
        no_nan = file.entry.statistics.get(column_id, ColumnStatistics()).nan_count == 0
        statistics = told(chunk, file.parquet.metadata.created_by, stored, type_, no_nan=no_nan)
        if statistics is not None:
            found[column_id] = statistics
    return found


def _constant(type_: AtomicType, value: Value, rows: int) -> ColumnStatistics:
    if value is None:
        return ColumnStatistics(null_count=rows)
    if value != value:  # NaN is no bound
        return ColumnStatistics(null_count=0)
    nan_count = 0 if type_ in FLOATING else None
    return ColumnStatistics(lower=value, upper=value, null_count=0, nan_count=nan_count)
