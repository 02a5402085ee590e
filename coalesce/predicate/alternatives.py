"""Alternatives that differ in the values they want of a column: many logical partitions at once.

`(k = 'a' AND n = 1) OR (k = 'b' AND n = 2) OR …` says of each row that its k is one of many, and only then that its
n is the one that goes with it. So an evaluator need not ask every alternative about every place.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from coalesce.model.types import Value
from coalesce.model.values import order_key
from coalesce.predicate.expr import And, Bound, InSet
from coalesce.predicate.scalar.nodes import Reference

FEW: Final = 32  # alternatives that are as well asked one by one


@dataclass(frozen=True, slots=True)
class Case:
    """An alternative that is FALSE where the column is none of `values`."""

    values: tuple[Value, ...]
    expr: Bound


@dataclass(frozen=True, slots=True)
class Cases:
    """Alternatives by the values of one column, in order of the first of them."""

    column: Reference
    cases: tuple[Case, ...]

    @property
    def hull(self) -> InSet:
        """What the column is wherever one of the cases is not FALSE."""
        keyed = {order_key(self.column.type, value): value for case in self.cases for value in case.values}
        return InSet(self.column, tuple(keyed[key] for key in sorted(keyed)))

    @property
    def halves(self) -> tuple["Cases", "Cases"]:
        """The lower half of the cases, and the upper."""
        middle = len(self.cases) // 2
        return Cases(self.column, self.cases[:middle]), Cases(self.column, self.cases[middle:])


def by_values(parts: Sequence[Bound]) -> tuple[Cases, tuple[Bound, ...]] | None:
    """Many alternatives by the values of the column that most of them ask for, and the others; None if they are few."""
    if len(parts) <= FEW:
        return None
    asked = Counter(leaf.column for part in parts for leaf in _sets(part))
    if not asked:
        return None
    ((column, count),) = asked.most_common(1)
    if count <= FEW:
        return None
    cases: list[Case] = []
    others: list[Bound] = []
    for part in parts:
        values = next((leaf.values for leaf in _sets(part) if leaf.column == column), None)
        if values is None:
            others.append(part)
        else:
            cases.append(Case(values, part))
    cases.sort(key=lambda case: order_key(column.type, case.values[0]))
    return Cases(column, tuple(cases)), tuple(others)


def _sets(part: Bound) -> list[InSet]:
    """The sets that must hold a column's value for the alternative not to be FALSE."""
    conditions = part.parts if isinstance(part, And) else (part,)
    return [c for c in conditions if isinstance(c, InSet) and c.values]
