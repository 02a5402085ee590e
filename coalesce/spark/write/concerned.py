"""Which rows of a table a statement can be about, as far as its conditions and its source's values tell."""

import json
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from coalesce.arrow.conform import conform
from coalesce.model.schema import Schema
from coalesce.model.types import FLOATING, AtomicType, Field, Value
from coalesce.model.values import order_key, values_of
from coalesce.model.version import Version
from coalesce.plan.plan import Plan, make_plan
from coalesce.predicate.expr import And, Bound, InRange, InSet
from coalesce.predicate.normalize import conjuncts, has_opaque, normalize
from coalesce.predicate.scalar.nodes import Reference
from coalesce.spark.jvm.catalyst import java_class
from coalesce.spark.jvm.collected import collected
from coalesce.spark.translate.condition import bound_from
from coalesce.spark.translate.schema import spark_type

_LISTED: Final = 1_000  # values that a predicate lists; of more it has the least and the greatest
_TOLD: Final = 50  # values that are listed to a scan


@dataclass(frozen=True, slots=True)
class Source:
    """The rows of a statement's source: a frame and, if they are few, also in memory, in columns of the same order."""

    frame: DataFrame
    rows: pa.Table | None


def concerned(frame: DataFrame, source: Source | None, version: Version) -> list[Bound]:
    """Conditions that a row of the table meets if it is among those of `frame`.

    That is a filter of the table's rows, or a join of them with a `source`.
    """
    schema = version.schema
    found: Any = java_class(frame.sparkSession, "coalesce.spark.Concerned").of(frame._jdf)
    described = json.loads(found.described())
    bounds = [bound_from(zoned, schema) for zoned in described["filters"]]
    told = [bound for bound in bounds if bound is not None and not has_opaque(bound)]
    if source is None:
        return told
    pairs = [(schema.find(name), number, place) for number, (name, place) in enumerate(described["equal"])]
    equal = [(f, number, place) for f, number, place in pairs if f is not None and _is_comparable(f, schema)]
    if source.rows is None:
        columns = [(field, Column(found.value(number))) for field, number, _ in equal]
        return [*told, *_among(source.frame, columns)] if columns else told
    here = [(field, source.rows.column(place)) for field, _, place in equal if place >= 0]
    computed = [(field, Column(found.value(number))) for field, number, place in equal if place < 0]
    told += [_among_rows(field, values) for field, values in here]
    return [*told, *_among(source.frame, computed)] if computed else told


def scanned(plan: Plan) -> Bound:
    """What a scan is told of the rows, where a join looks at each of them after it: the plan's files, in fewer words.

    A long list of values is parsed by Spark, and once more for each question of the scan. Its ends do, unless they
    would keep files that the list does not.
    """
    parts = [_ends(part) if isinstance(part, InSet) else part for part in conjuncts(plan.predicate)]
    shorter = normalize(And(tuple(parts))) if parts else plan.predicate
    if shorter == plan.predicate or make_plan(plan.version, shorter, plan.load).file_count > plan.file_count:
        return plan.predicate
    return shorter


def _ends(listed: InSet) -> Bound:
    if len(listed.values) <= _TOLD or listed.column.type in FLOATING:
        return listed
    return InRange(listed.column, listed.values[0], True, listed.values[-1], True)


def _is_comparable(field: Field, schema: Schema) -> bool:
    return schema.atomic(field.id) is not None and field.type not in FLOATING


def _among(source: DataFrame, equal: list[tuple[Field, Column]]) -> list[Bound]:
    """That columns hold values which the source has: one of them, or, of many, one between the least and greatest."""
    values = [column.cast(spark_type(field.type)).alias(f"v{i}") for i, (field, column) in enumerate(equal)]
    distinct = collected(source.select(*values).distinct().limit(_LISTED + 1))
    if distinct.num_rows <= _LISTED:
        held = [_held(distinct.column(i), field) for i, (field, _) in enumerate(equal)]
        return [InSet(_reference(field), tuple(some)) for (field, _), some in zip(equal, held, strict=True)]
    ends = [end(f"v{i}") for i in range(len(values)) for end in (F.min, F.max)]
    ends_of = collected(source.select(*values).agg(*ends))
    bounds: list[Bound] = []
    for i, (field, _) in enumerate(equal):
        two = _held(pa.chunked_array([*ends_of.column(2 * i).chunks, *ends_of.column(2 * i + 1).chunks]), field)
        bounds.append(InRange(_reference(field), two[0], True, two[-1], True) if two else InSet(_reference(field), ()))
    return bounds


def _among_rows(field: Field, values: pa.ChunkedArray) -> Bound:
    """The same of one column, whose values are in memory: no job is needed to tell."""
    distinct = values.unique().drop_null()
    if len(distinct) <= _LISTED:
        return InSet(_reference(field), tuple(_held(distinct, field)))
    order = pc.array_sort_indices(distinct)
    two = _held(distinct.take(pc.take(order, pa.array([0, len(order) - 1]))), field)
    return InRange(_reference(field), two[0], True, two[-1], True)


def _held(column: pa.Array | pa.ChunkedArray, field: Field) -> list[Value]:
    """The values of a column that are not NULL, each once, in order."""
    type_: AtomicType = field.type  # type: ignore[assignment]  # as `_is_comparable` has seen
    fitting = conform(pa.table({field.name: column.drop_null()}), Schema((field,)))
    return sorted(set(values_of(type_, fitting.column(0))), key=lambda value: order_key(type_, value))


def _reference(field: Field) -> Reference:
    return Reference(field.id, field.name, field.type)  # type: ignore[arg-type]  # as `_is_comparable` has seen
