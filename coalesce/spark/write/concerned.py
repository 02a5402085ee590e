"""Which rows of a table a statement can be about, as far as its conditions and its source's values tell."""

from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from coalesce.arrow.conform import conform
from coalesce.model.schema import Schema
from coalesce.model.types import FLOATING, AtomicType, Field, Value
from coalesce.model.values import order_key, values_of
from coalesce.model.version import Version
from coalesce.predicate.expr import Bound, InRange, InSet
from coalesce.predicate.normalize import has_opaque
from coalesce.predicate.scalar.nodes import Reference
from coalesce.spark.jvm.catalyst import jvm
from coalesce.spark.jvm.collected import collected
from coalesce.spark.translate.condition import bound_from
from coalesce.spark.translate.schema import spark_type

_LISTED: Final = 1_000  # values that a predicate lists; of more it has the least and the greatest


def concerned(frame: DataFrame, source: DataFrame | None, version: Version) -> list[Bound]:
    """Conditions that a row of the table meets if it is among those of `frame`.

    That is a filter of the table's rows, or a join of them with a `source`.
    """
    schema = version.schema
    found: Any = jvm(frame.sparkSession).coalesce.spark.Concerned.of(frame._jdf)
    bounds = [bound_from(zoned, schema) for zoned in found.filters()]
    told = [bound for bound in bounds if bound is not None and not has_opaque(bound)]
    pairs = [(schema.find(pair[0]), Column(pair[1])) for pair in found.equal()]
    equal = [(field, column) for field, column in pairs if field is not None and _is_comparable(field, schema)]
    return told if source is None or not equal else [*told, *_among(source, equal)]


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


def _held(column: pa.ChunkedArray, field: Field) -> list[Value]:
    """The values of a column that are not NULL, each once, in order."""
    type_: AtomicType = field.type  # type: ignore[assignment]  # as `_is_comparable` has seen
    fitting = conform(pa.table({field.name: column.drop_null()}), Schema((field,)))
    return sorted(set(values_of(type_, fitting.column(0))), key=lambda value: order_key(type_, value))


def _reference(field: Field) -> Reference:
    return Reference(field.id, field.name, field.type)  # type: ignore[arg-type]  # as `_is_comparable` has seen
