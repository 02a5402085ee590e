"""The predicate "this row's tuple is one of these", in terms of columns, so that it holds whatever spec a file has.

Each component says something about the column it is made of: that it is this value, lies between two, hashes to a
bucket, or is NULL. Tuples that agree in some components are taken together, so the predicate stays short: ten days
of the same two thousand apps are two sets, not twenty thousand conditions.
"""

from collections.abc import Collection, Sequence

from coalesce.model.schema import Schema
from coalesce.model.spec import LogicalTuple, PartitionField, Spec
from coalesce.model.transforms import Bucket, Identity, Truncate, Void, source_bounds
from coalesce.model.types import BINARY, STRING, Value
from coalesce.model.values import order_key
from coalesce.predicate.encoding import successor
from coalesce.predicate.expr import FALSE, TRUE, And, Bound, InBuckets, InRange, InSet, IsNull, Or
from coalesce.predicate.scalar.nodes import Reference
from coalesce.table.layout import one_nan


def among(tuples: Collection[LogicalTuple], spec: Spec, schema: Schema) -> Bound:
    """TRUE on exactly the rows whose tuple under `spec` is one of `tuples`."""
    # Void is NULL whatever the column holds, and so says nothing.
    positions = [i for i, f in enumerate(spec.fields) if not isinstance(f.transform, Void)]
    wanted = {tuple(t[i] for i in positions) for t in map(one_nan, tuples)}
    if not wanted:
        return FALSE
    # The component with the fewest values first: it makes the fewest cases.
    order = sorted(range(len(positions)), key=lambda n: len({t[n] for t in wanted}))
    fields = [spec.fields[positions[n]] for n in order]
    return _cases({tuple(t[n] for n in order) for t in wanted}, fields, schema)


def _cases(tuples: Collection[LogicalTuple], fields: Sequence[PartitionField], schema: Schema) -> Bound:
    if not fields:
        return TRUE
    rests: dict[Value, set[LogicalTuple]] = {}
    for tuple_ in tuples:
        rests.setdefault(tuple_[0], set()).add(tuple_[1:])
    values: dict[frozenset[LogicalTuple], list[Value]] = {}
    for value, rest in rests.items():
        values.setdefault(frozenset(rest), []).append(value)
    cases = []
    for rest_of_them, same in values.items():
        here, below = component_in(fields[0], same, schema), _cases(rest_of_them, fields[1:], schema)
        cases.append(here if below == TRUE else And((here, below)))
    return _any(cases)


def component_in(field: PartitionField, values: Sequence[Value], schema: Schema) -> Bound:
    """TRUE where the field's component is one of `values`."""
    source, type_ = schema.by_id(field.source_id), schema.atomic(field.source_id)
    assert source is not None
    assert type_ is not None
    column = Reference(source.id, source.name, type_)
    some = [v for v in values if v is not None]
    cases: list[Bound] = [] if len(some) == len(values) else [IsNull(column)]
    match field.transform:
        case Bucket():
            if some:
                cases.append(InBuckets(column, field.transform, tuple(sorted(v for v in some if isinstance(v, int)))))
        case Truncate(width) if type_ in (STRING, BINARY):
            # What is shorter than the width was not cut.
            whole = [v for v in some if len(v) < width]  # type: ignore[arg-type]
            cases += _in_set(column, whole)
            cases += [
                InRange(column, v, True, successor(v), False)  # type: ignore[arg-type]
                for v in some
                if len(v) == width  # type: ignore[arg-type]
            ]
        case Identity():
            cases += _in_set(column, some)
        case _:
            bounds = (source_bounds(field.transform, type_, v) for v in some)
            cases += [InRange(column, b[0], True, b[1], True) for b in bounds if b is not None]
    return _any(cases)


def _in_set(column: Reference, values: Sequence[Value]) -> list[Bound]:
    ordered = sorted(values, key=lambda v: order_key(column.type, v))
    return [InSet(column, tuple(ordered))] if ordered else []


def _any(cases: Sequence[Bound]) -> Bound:
    return FALSE if not cases else cases[0] if len(cases) == 1 else Or(tuple(cases))
