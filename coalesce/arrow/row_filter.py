"""A predicate on rows in memory: exact, or an error that says why it cannot be answered here."""

from typing import Final

import numpy as np
import pyarrow as pa

from coalesce.errors import NeedsSpark, PredicateError
from coalesce.model.columns import column_from, whole
from coalesce.model.schema import Schema
from coalesce.model.types import Field
from coalesce.plan.index import Positions
from coalesce.plan.planner import Judge
from coalesce.plan.report import shortened
from coalesce.predicate.domains import Domain
from coalesce.predicate.expr import Asked, Bound, Computed, IsNull, Leaf, Opaque
from coalesce.predicate.extents import outcome_bits
from coalesce.predicate.outcomes import (
    ANYTHING,
    FALSE,
    TRUE,
    LeafOutcomes,
    Mask,
    Narrow,
    Outcomes,
    may_be_true,
    must_be_true,
    possible,
)
from coalesce.predicate.row_values import RowValues
from coalesce.predicate.scalar.evaluate import evaluate

_LONGEST: Final = 200  # of a condition in a message


def asked_fields(predicate: Bound, schema: Schema) -> list[Field]:
    """The columns that have to be read to evaluate the predicate."""
    columns = Judge(predicate, schema).columns
    return [f for f in schema if f.id in columns]


def is_true(predicate: Bound, rows: pa.Table, schema: Schema) -> Mask:
    """On which rows the predicate is TRUE. `rows` has at least `asked_fields`, under their logical names.

    A condition that only Spark understands is no obstacle as long as the others decide every row.
    """
    count = rows.num_rows
    domains: dict[int, Domain] = {}
    not_understood: dict[str, str] = {}
    unsure: dict[str, str] = {}

    def answer(asked: Asked, places: Positions | None, here: dict[int, Domain]) -> Outcomes:
        if isinstance(asked, Opaque):
            not_understood[asked.text] = asked.hint if asked.mistake is None else asked.mistake.reason
            return np.full(count if places is None else len(places), ANYTHING, np.uint8)
        if isinstance(asked, Computed):
            return computed(asked, places)
        column_id = asked.column.id
        field, type_ = schema.by_id(column_id), schema.atomic(column_id)
        assert field is not None  # it was bound to this schema
        if type_ is None:
            nested = _nested_outcomes(rows.column(field.name), asked)
            return nested if places is None else nested[places]
        if column_id not in domains:
            domains[column_id] = RowValues(type_, whole(rows.column(field.name)))
        if column_id not in here:
            here[column_id] = domains[column_id] if places is None else domains[column_id].at(places)
        return here[column_id].outcomes(asked)

    def computed(asked: Computed, places: Positions | None) -> Outcomes:
        columns = {}
        for column in asked.columns:
            field = schema.by_id(column.id)
            assert field is not None  # it was bound to this schema
            values = whole(rows.column(field.name))
            columns[column.id] = values if places is None else values.take(column_from(places))
        here = count if places is None else len(places)
        found = evaluate(asked.value, columns, here)
        if found.unsure is not None:
            unsure[asked.text] = found.why
        return outcome_bits(found, here)

    def at(places: Positions | None) -> tuple[LeafOutcomes, Narrow]:
        here: dict[int, Domain] = {}
        return (
            lambda asked: answer(asked, places, here),
            lambda some: at(some if places is None else places[some]),
        )

    leaf, narrow = at(None)
    outcomes = possible(predicate, leaf, count, narrow)
    found = must_be_true(outcomes)
    if bool((may_be_true(outcomes) & ~found).any()):
        if unsure:
            text, why = next(iter(unsure.items()))
            raise PredicateError(
                f"`{shortened(text, _LONGEST)}` cannot be answered for every row: {why}. Spark, in ANSI mode, may fail "
                "on it too; leave such rows out by another condition, or use functions that give NULL instead, such as "
                "try_cast."
            )
        texts = " and ".join(
            f"`{shortened(text, _LONGEST)}`" + (f" ({reason})" if reason else "")
            for text, reason in not_understood.items()
        )
        raise NeedsSpark(
            f"only Spark can evaluate {texts}: open the table with spark=… and use read(), or leave the condition out "
            "and filter the rows yourself."
        )
    return found


def _nested_outcomes(column: pa.ChunkedArray, asked: Leaf) -> Outcomes:
    assert isinstance(asked, IsNull)  # nothing else can be asked of a struct, list or map
    return np.where(np.asarray(column.is_null()), np.uint8(TRUE), np.uint8(FALSE))
