"""A predicate's outcome on one row, straight from the definitions: slow, and sharing no code with the evaluator."""

from collections.abc import Mapping

from coalesce.model.transforms import apply
from coalesce.model.types import BOOLEAN, Value
from coalesce.model.values import column_of, order_key, values_of
from coalesce.predicate.expr import And, Bound, Computed, Constant, InBuckets, InRange, InSet, IsNull, Not, Opaque, Or
from coalesce.predicate.scalar.evaluate import evaluate
from coalesce.predicate.scalar.evaluated import spread


def outcome(expr: Bound, row: Mapping[int, Value], opaque: Mapping[str, bool | None]) -> bool | None:
    """TRUE, FALSE or NULL for the row's values by column id; `opaque` tells what each Opaque text comes to."""
    match expr:
        case And(parts):
            outcomes = [outcome(part, row, opaque) for part in parts]
            return False if False in outcomes else None if None in outcomes else True
        case Or(parts):
            outcomes = [outcome(part, row, opaque) for part in parts]
            return True if True in outcomes else None if None in outcomes else False
        case Not(part):
            inside = outcome(part, row, opaque)
            return None if inside is None else not inside
        case Constant(value):
            return value
        case Opaque(text):
            return opaque[text]
        case Computed(value):
            columns = {column.id: column_of(column.type, [row[column.id]]) for column in expr.columns}
            (found,) = values_of(BOOLEAN, spread(evaluate(value, columns, 1).values, 1))
            assert found is None or isinstance(found, bool)
            return found
        case IsNull(column):
            return row[column.id] is None
        case InSet(column, values):
            held = row[column.id]
            if held is None:
                return None
            return any(order_key(column.type, held) == order_key(column.type, v) for v in values)
        case InRange(column, lower, lower_inclusive, upper, upper_inclusive):
            held = row[column.id]
            if held is None:
                return None
            key = order_key(column.type, held)
            if lower is not None:
                low = order_key(column.type, lower)
                if key < low or (key == low and not lower_inclusive):
                    return False
            if upper is not None:
                high = order_key(column.type, upper)
                if key > high or (key == high and not upper_inclusive):
                    return False
            return True
        case InBuckets(column, transform, buckets):
            held = row[column.id]
            return None if held is None else apply(transform, column.type, held) in buckets
