"""Comparisons of a column with values, as sets and ranges of the column's own values."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from coalesce.model.types import Value
from coalesce.model.values import order_key
from coalesce.predicate.encoding import successor
from coalesce.predicate.expr import And, Bound, Expr, InRange, InSet, IsNull, Not, Operator
from coalesce.predicate.own_type import Cut, ordinal_range, value_at
from coalesce.predicate.scalar.nodes import Reference


@dataclass(frozen=True, slots=True)
class Ranges:
    """Comparisons of a column with values of a common type; `cut` is None for text and binary, compared as they are."""

    column: Reference
    cut: Callable[[Value], Cut] | None

    def compared(self, operator: Operator, value: Value) -> Bound:
        """`column operator value`."""
        equal = self._equal(value)
        match operator:
            case Operator.EQ:
                return equal
            case Operator.NE:
                return Not(equal)
            case Operator.NULL_SAFE_EQ:
                return And((Not(IsNull(self.column)), equal))
        if isinstance(equal, InSet) and equal.values:
            return self._beyond(operator, equal.values[0])
        cut = self._cut(value)
        if operator in (Operator.LT, Operator.LE):
            return self._below(cut.first_not_below if operator is Operator.LT else cut.first_above)
        return self._from(cut.first_not_below if operator is Operator.GE else cut.first_above)

    def equal_to_any(self, values: Iterable[Value]) -> list[Expr]:
        """`column = value` for any of them: one set, and a range for each value that several column values round to."""
        single: dict[object, Value] = {}
        ranges: dict[InRange, None] = {}
        type_ = self.column.type
        for value in values:
            equal = self._equal(value)
            if isinstance(equal, InSet):
                for own in equal.values:
                    single.setdefault(order_key(type_, own), own)
            else:
                ranges[equal] = None
        in_order = [single[key] for key in sorted(single)]  # type: ignore[type-var]
        return [InSet(self.column, tuple(in_order)), *ranges] if in_order or not ranges else list(ranges)

    def _cut(self, value: Value) -> Cut:
        assert self.cut is not None
        return self.cut(value)

    def _equal(self, value: Value) -> InSet | InRange:
        if self.cut is None:
            return InSet(self.column, (value,))
        cut = self.cut(value)
        first, count = cut.first_not_below, cut.first_above - cut.first_not_below
        if count <= 1:
            return InSet(self.column, tuple(self._value(first + i) for i in range(count)))
        return InRange(self.column, self._value(first), True, self._value(cut.first_above - 1), True)

    def _beyond(self, operator: Operator, own: Value) -> Bound:
        """A comparison with one of the column's own values."""
        inclusive = operator in (Operator.LE, Operator.GE)
        if operator in (Operator.LT, Operator.LE):
            return InRange(self.column, None, False, own, inclusive)
        return InRange(self.column, own, inclusive, None, False)

    def _below(self, ordinal: int) -> Bound:
        least, greatest = self._bounds()
        if ordinal <= least:
            return InSet(self.column, ())
        if ordinal > greatest:
            return Not(InSet(self.column, ()))
        return InRange(self.column, None, False, self._value(ordinal), False)

    def _from(self, ordinal: int) -> Bound:
        least, greatest = self._bounds()
        if ordinal > greatest:
            return InSet(self.column, ())
        if ordinal <= least:
            return Not(InSet(self.column, ()))
        return InRange(self.column, self._value(ordinal), True, None, False)

    def _bounds(self) -> tuple[int, int]:
        bounds = ordinal_range(self.column.type)
        assert bounds is not None
        return bounds

    def _value(self, ordinal: int) -> Value:
        return value_at(self.column.type, ordinal)


def with_prefix(column: Reference, prefix: str) -> Bound:
    """The column starts with `prefix`: a range up to the next text that does not."""
    if not prefix:
        return Not(InSet(column, ()))
    return InRange(column, prefix, True, successor(prefix), False)
