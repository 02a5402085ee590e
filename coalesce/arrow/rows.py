"""A predicate on rows in memory: exact, or an error that says why only Spark can tell."""

from collections.abc import Iterator, Sequence
from typing import assert_never

import numpy as np
import pyarrow as pa

from coalesce.errors import NeedsSpark
from coalesce.model.schema import Schema
from coalesce.model.types import Field
from coalesce.predicate.domains import Domain, rows_domain
from coalesce.predicate.expr import And, Bound, Constant, InRange, InSet, IsNull, Leaf, Not, Opaque, Or
from coalesce.predicate.outcomes import ANYTHING, FALSE, TRUE, Mask, Outcomes, may_be_true, must_be_true, possible


def is_true(predicate: Bound, rows: pa.Table, schema: Schema) -> Mask:
    """On which rows the predicate is TRUE. `rows` has at least `asked_fields`, under their logical names."""
    count = rows.num_rows
    domains: dict[int, Domain] = {}

    def leaf(asked: Leaf | Opaque) -> Outcomes:
        if isinstance(asked, Opaque):
            return np.full(count, ANYTHING, np.uint8)
        column_id = asked.column.id
        field, type_ = schema.by_id(column_id), schema.atomic(column_id)
        assert field is not None  # it was bound to this schema
        if type_ is None:
            return _nested_outcomes(rows.column(field.name), asked)
        if column_id not in domains:
            domains[column_id] = rows_domain(type_, rows.column(field.name).combine_chunks())
        return domains[column_id].outcomes(asked)

    outcomes = possible(predicate, leaf, count)
    found = must_be_true(outcomes)
    if bool((may_be_true(outcomes) & ~found).any()):
        texts = " and ".join(f"`{o.text}`" for o in dict.fromkeys(opaque_conditions(predicate)))
        raise NeedsSpark(
            f"only Spark can evaluate {texts}: open the table with spark=…, or leave the condition out and filter "
            "the rows yourself."
        )
    return found


def _nested_outcomes(column: pa.ChunkedArray, asked: Leaf) -> Outcomes:
    assert isinstance(asked, IsNull)  # nothing else can be asked of a struct, list or map
    return np.where(np.asarray(column.is_null()), np.uint8(TRUE), np.uint8(FALSE))


def asked_fields(predicate: Bound, schema: Schema) -> list[Field]:
    """The columns that have to be read to evaluate the predicate."""
    ids = dict.fromkeys(leaf.column.id for leaf in _leaves(predicate) if not isinstance(leaf, Opaque))
    return [field for i in ids if (field := schema.by_id(i)) is not None]


def opaque_conditions(predicate: Bound) -> list[Opaque]:
    """The conditions of which the library knows nothing but the text."""
    return [leaf for leaf in _leaves(predicate) if isinstance(leaf, Opaque)]


def conjunction(parts: Sequence[Bound]) -> Bound:
    """All parts together; TRUE if there is none."""
    return Constant(True) if not parts else parts[0] if len(parts) == 1 else And(tuple(parts))


def _leaves(expr: Bound) -> Iterator[Leaf | Opaque]:
    match expr:
        case And(parts) | Or(parts):
            for part in parts:
                yield from _leaves(part)
        case Not(part):
            yield from _leaves(part)
        case Constant():
            return
        case IsNull() | InSet() | InRange() | Opaque():
            yield expr
        case _:
            assert_never(expr)
