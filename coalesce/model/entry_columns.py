"""The columns that entries have in a manifest, and data files as objects: from one to the other, and back.

The columns are those of `manifests/FORMAT.md`:

    path, rows, bytes, rule_id, physical_known, physical_group_<field>, physical_value_<field>, …,
    tuples: list<struct<f<field>: …, rows: int64>>, complete, first_row_id, added_version,
    dead: list<struct<f<field>: …, rows: int64, place: int32, since: int64>>, if there are any,
    ordered, if it is said of any,
    lower_<column>, upper_<column>, null_count_<column>, nan_count_<column>, …
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from coalesce.model.arrow_schema import arrow_type, type_from_arrow
from coalesce.model.columns import whole
from coalesce.model.datafile import ColumnStatistics, DataFile, DeadTuple
from coalesce.model.rule import Group, PhysicalKey
from coalesce.model.schema import Schema
from coalesce.model.spec import Spec
from coalesce.model.types import FLOATING, AtomicType, Value
from coalesce.model.values import Components, column_of, values_of

DEAD = "dead"  # the column of dead tuples, which is only there if an entry has some
ORDERED = "ordered"  # the column that says whose rows lie in the order of tuples, only there if some are known to
STATISTIC_PREFIXES = ("lower_", "upper_", "null_count_", "nan_count_")


def statistic_names(column_id: int) -> list[str]:
    """The columns of a manifest that hold the statistics of a table's column, if they are there."""
    return [f"{prefix}{column_id}" for prefix in STATISTIC_PREFIXES]


def is_statistic(name: str) -> bool:
    """Whether a column of a manifest holds statistics."""
    return name.startswith(STATISTIC_PREFIXES)


# --- objects → columns -------------------------------------------------------------------------------------------


def table_of(files: Sequence[DataFile], spec: Spec, schema: Schema) -> pa.Table:
    """The columns of `files`, which were all written under `spec`."""
    types = spec.types(schema)
    columns: dict[str, pa.Array] = {
        "path": pa.array([f.path for f in files], pa.string()),
        "rows": pa.array([f.rows for f in files], pa.int64()),
        "bytes": pa.array([f.bytes for f in files], pa.int64()),
        "rule_id": pa.array([f.rule_id for f in files], pa.int32()),
        "physical_known": pa.array([f.physical_key is not None for f in files], pa.bool_()),
    }
    for i, (partition_field, type_) in enumerate(zip(spec.fields, types, strict=True)):
        parts = [None if f.physical_key is None else f.physical_key[i] for f in files]
        groups = [p.name if isinstance(p, Group) else None for p in parts]
        values = [None if isinstance(p, Group) else p for p in parts]
        columns[f"physical_group_{partition_field.field_id}"] = pa.array(groups, pa.string())
        columns[f"physical_value_{partition_field.field_id}"] = column_of(type_, values)
    columns["tuples"] = _tuple_lists(files, spec, types)
    columns["complete"] = pa.array([f.complete for f in files], pa.bool_())
    if any(f.dead for f in files):
        columns[DEAD] = _dead_lists(files, spec, types)
    if any(f.ordered for f in files):
        columns[ORDERED] = pa.array([f.ordered for f in files], pa.bool_())
    columns["first_row_id"] = pa.array([f.first_row_id for f in files], pa.int64())
    columns["added_version"] = pa.array([f.added_version for f in files], pa.int64())
    columns |= _statistics_columns(files, schema)
    return pa.table(columns)


def _tuple_lists(files: Sequence[DataFile], spec: Spec, types: Sequence[AtomicType]) -> pa.Array:
    offsets: list[int | None] = []
    total = 0
    for f in files:
        offsets.append(None if f.tuples is None else total)
        total += 0 if f.tuples is None else len(f.tuples)
    flat = [t for f in files if f.tuples is not None for t in f.tuples]
    counts = [
        n
        for f in files
        if f.tuples is not None
        for n in (f.tuple_rows if f.tuple_rows is not None else (None,) * len(f.tuples))
    ]
    columns = [column_of(type_, [t[i] for t in flat]) for i, type_ in enumerate(types)]
    names = [f"f{f.field_id}" for f in spec.fields]
    values = pa.StructArray.from_arrays([*columns, pa.array(counts, pa.int64())], [*names, "rows"])
    # A null offset marks a null list; Arrow takes the next valid one as its end.
    return pa.ListArray.from_arrays(pa.array([*offsets, total], pa.int32()), values)


def _dead_lists(files: Sequence[DataFile], spec: Spec, types: Sequence[AtomicType]) -> pa.Array:
    flat = [dead for f in files for dead in f.dead]
    columns = [column_of(type_, [dead.values[i] for dead in flat]) for i, type_ in enumerate(types)]
    for name, type_ in _DEAD_MEMBERS.items():
        columns.append(pa.array([getattr(dead, name) for dead in flat], type_))
    values = pa.StructArray.from_arrays(columns, [*(f"f{f.field_id}" for f in spec.fields), *_DEAD_MEMBERS])
    offsets = np.cumsum([0, *(len(f.dead) for f in files)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


# What is said of a dead tuple besides its values
_DEAD_MEMBERS: dict[str, pa.DataType] = {"rows": pa.int64(), "place": pa.int32(), "since": pa.int64()}


def dead_type(components: Mapping[int, AtomicType]) -> pa.DataType:
    """The type of the column of dead tuples, for partition fields of these types."""
    members = {f"f{field_id}": arrow_type(type_) for field_id, type_ in components.items()}
    return pa.list_(pa.struct([pa.field(name, type_) for name, type_ in (members | _DEAD_MEMBERS).items()]))


def _statistics_columns(files: Sequence[DataFile], schema: Schema) -> dict[str, pa.Array]:
    columns: dict[str, pa.Array] = {}
    for column_id in sorted({i for f in files for i in f.statistics}):
        type_ = schema.atomic(column_id)
        if type_ is None:
            continue
        known = [f.statistics.get(column_id, ColumnStatistics()) for f in files]
        columns[f"lower_{column_id}"] = column_of(type_, [s.lower for s in known])
        columns[f"upper_{column_id}"] = column_of(type_, [s.upper for s in known])
        columns[f"null_count_{column_id}"] = pa.array([s.null_count for s in known], pa.int64())
        if type_ in FLOATING:
            columns[f"nan_count_{column_id}"] = pa.array([s.nan_count for s in known], pa.int64())
    return columns


def columns_of(spec: Spec, types: Sequence[AtomicType]) -> dict[str, pa.DataType]:
    """The name and type of every column but statistics, for a spec: what a manifest must have."""
    columns: dict[str, pa.DataType] = {
        "path": pa.string(),
        "rows": pa.int64(),
        "bytes": pa.int64(),
        "rule_id": pa.int32(),
        "physical_known": pa.bool_(),
    }
    for partition_field, type_ in zip(spec.fields, types, strict=True):
        columns[f"physical_group_{partition_field.field_id}"] = pa.string()
        columns[f"physical_value_{partition_field.field_id}"] = arrow_type(type_)
    members = [pa.field(f"f{f.field_id}", arrow_type(t)) for f, t in zip(spec.fields, types, strict=True)]
    columns["tuples"] = pa.list_(pa.struct([*members, pa.field("rows", pa.int64())]))
    columns |= {"complete": pa.bool_(), "first_row_id": pa.int64(), "added_version": pa.int64()}
    return columns


# --- columns → objects -------------------------------------------------------------------------------------------


def objects_of(
    spec_id: int,
    field_ids: tuple[int, ...],
    core: pa.Table,
    statistics: Mapping[str, pa.ChunkedArray],
    components: Components | None,
) -> list[DataFile]:
    """Data files out of columns; `statistics` are those columns that say something of values."""
    plain = {
        name: core.column(name).to_pylist()
        for name in ("path", "rows", "bytes", "rule_id", "physical_known", "complete", "first_row_id", "added_version")
    }
    keys = physical_keys(field_ids, core)
    tuples, counts = _tuples(field_ids, core)
    dead = _dead(field_ids, core)
    ordered = core.column(ORDERED).to_pylist() if ORDERED in core.column_names else [False] * core.num_rows
    by_column = _statistics(statistics)
    return [
        DataFile(
            path=plain["path"][i],
            spec_id=spec_id,
            rows=plain["rows"][i],
            bytes=plain["bytes"][i],
            rule_id=plain["rule_id"][i],
            physical_key=keys[i] if plain["physical_known"][i] else None,
            tuples=tuples[i],
            tuple_rows=counts[i],
            complete=bool(plain["complete"][i]),
            dead=dead[i],
            ordered=bool(ordered[i]),
            statistics={c: values[i] for c, values in by_column.items() if values[i] != ColumnStatistics()},
            first_row_id=plain["first_row_id"][i],
            added_version=plain["added_version"][i],
            components=components,
        )
        for i in range(core.num_rows)
    ]


def physical_keys(field_ids: tuple[int, ...], core: pa.Table) -> list[PhysicalKey]:
    """The physical key of each entry; one that is unknown is made of NULLs."""
    parts: list[list[Value | Group]] = []
    for field_id in field_ids:
        groups = core.column(f"physical_group_{field_id}").to_pylist()
        values = _model_values(core.column(f"physical_value_{field_id}"))
        parts.append([v if g is None else Group(g) for g, v in zip(groups, values, strict=True)])
    return list(zip(*parts, strict=True)) if parts else [()] * core.num_rows


def _tuples(
    field_ids: tuple[int, ...], core: pa.Table
) -> tuple[list[tuple[tuple[Value, ...], ...] | None], list[tuple[int | None, ...] | None]]:
    lists = whole(core.column("tuples"))
    missing = lists.is_null().to_pylist()
    offsets = lists.offsets.to_pylist()
    structs = lists.values
    columns = [_model_values(structs.field(f"f{i}")) for i in field_ids]
    flat: list[tuple[Value, ...]] = list(zip(*columns, strict=True)) if columns else [()] * len(structs)
    rows = structs.field("rows").to_pylist()
    tuples: list[tuple[tuple[Value, ...], ...] | None] = []
    counts: list[tuple[int | None, ...] | None] = []
    for i, absent in enumerate(missing):
        inside = slice(offsets[i], offsets[i + 1])
        tuples.append(None if absent else tuple(flat[inside]))
        known = tuple(rows[inside])
        counts.append(None if absent or (known and all(n is None for n in known)) else known)
    return tuples, counts


def _dead(field_ids: tuple[int, ...], core: pa.Table) -> list[tuple[DeadTuple, ...]]:
    if DEAD not in core.column_names:
        return [()] * core.num_rows
    lists = whole(core.column(DEAD))
    offsets, structs = lists.offsets.to_pylist(), lists.values
    columns = [_model_values(structs.field(f"f{i}")) for i in field_ids]
    values: list[tuple[Value, ...]] = list(zip(*columns, strict=True)) if columns else [()] * len(structs)
    others = [structs.field(name).to_pylist() for name in _DEAD_MEMBERS]
    flat = [
        DeadTuple(values=tuple_, rows=rows, place=place, since=since)
        for tuple_, rows, place, since in zip(values, *others, strict=True)
    ]
    return [tuple(flat[start:stop]) for start, stop in pairwise(offsets)]


def _statistics(columns: Mapping[str, pa.ChunkedArray]) -> dict[int, list[ColumnStatistics]]:
    plain = {name: _model_values(column) for name, column in columns.items()}
    ids = sorted({int(name.rpartition("_")[2]) for name in columns})
    rows = len(next(iter(columns.values()))) if columns else 0
    unknown: list[Value] = [None] * rows
    return {
        i: [
            ColumnStatistics(lower=lower, upper=upper, null_count=nulls, nan_count=nans)
            for lower, upper, nulls, nans in zip(
                *(plain.get(f"{prefix}{i}", unknown) for prefix in STATISTIC_PREFIXES), strict=True
            )
        ]
        for i in ids
    }


def _model_values(column: pa.Array | pa.ChunkedArray) -> list[Value]:
    return values_of(type_from_arrow(column.type), column)  # type: ignore[arg-type]
