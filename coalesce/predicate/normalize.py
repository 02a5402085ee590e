"""The same predicate in the plainest form: flat, negations at the leaves, constants folded, sets merged.

Every step is exact in three-valued logic, and none makes a predicate longer: there is no conjunctive or disjunctive
normal form here, so nothing can blow up.
"""

from collections.abc import Iterable
from typing import Final, cast

from coalesce.model.values import order_key
from coalesce.predicate.expr import FALSE, TRUE, And, Bound, Computed, Constant, Expr, InRange, InSet, Not, Opaque, Or
from coalesce.predicate.render import to_sql
from coalesce.predicate.tree import Kind, join, rewrite

__all__ = ["conjuncts", "has_opaque", "is_plain", "normalize", "to_sql"]


def normalize(expr: Bound) -> Bound:
    """`expr`, simplified; its outcome is the same for every row."""
    return cast(Bound, rewrite(expr, lambda leaf: leaf, join=_simplified, push_not=True))


def conjuncts(expr: Bound) -> tuple[Bound, ...]:
    """The conditions that must all be TRUE; none for the constant TRUE."""
    match expr:
        case And(parts):
            return parts
        case Constant(True):
            return ()
        case _:
            return (expr,)


def is_plain(expr: Bound) -> bool:
    """Whether every part of the predicate is a question about the values of one column: surely answered anywhere."""
    match expr:
        case And(parts) | Or(parts):
            return all(is_plain(part) for part in parts)
        case Not(part):
            return is_plain(part)
        case _:
            return not isinstance(expr, Opaque | Computed)


def has_opaque(expr: Bound) -> bool:
    """Whether some part of the predicate is one that only Spark understands."""
    match expr:
        case And(parts) | Or(parts):
            return any(has_opaque(part) for part in parts)
        case Not(part):
            return has_opaque(part)
        case _:
            return isinstance(expr, Opaque)


_ABSORBING: Final[dict[Kind, Constant]] = {And: FALSE, Or: TRUE}
_NEUTRAL: Final[dict[Kind, Constant]] = {And: TRUE, Or: FALSE}


def _simplified(kind: Kind, parts: list[Expr]) -> Expr:
    """One And or Or over parts that are simple already."""
    absorbing, neutral = _ABSORBING[kind], _NEUTRAL[kind]
    distinct = dict.fromkeys(part for part in parts if part != neutral)
    if absorbing in distinct:
        return absorbing
    # Ranges first: those that exclude each other are an empty set, beside which others have no say.
    return join(kind, _sets_merged(kind, _ranges_merged(distinct) if kind is And else distinct))


def _sets_merged(kind: Kind, parts: Iterable[Expr]) -> list[Expr]:
    """`c IN (…) OR c IN (…)` as one set, and `c NOT IN (…) AND c NOT IN (…)` as one; each at the first one's place.

    Under AND, sets of one column are intersected. Either way the outcome is NULL just where the column is.
    """
    merged: list[Expr] = []
    places: dict[tuple[int, bool], int] = {}
    members: dict[tuple[int, bool], list[InSet]] = {}
    for part in parts:
        negated = isinstance(part, Not)
        leaf = part.part if isinstance(part, Not) else part
        if not isinstance(leaf, InSet) or (negated and kind is Or):
            merged.append(part)
            continue
        key = leaf.column.id, negated
        if key not in places:
            places[key] = len(merged)
            merged.append(part)
        members.setdefault(key, []).append(leaf)
    for (column, negated), leaves in members.items():
        if len(leaves) > 1:
            united = _united(leaves) if negated or kind is Or else _intersected(leaves)
            merged[places[column, negated]] = Not(united) if negated else united
    return merged


def _ranges_merged(parts: Iterable[Expr]) -> list[Expr]:
    """`c >= 1 AND c < 9` as one range, at the first one's place."""
    merged: list[Expr] = []
    places: dict[int, int] = {}
    for part in parts:
        place = places.get(part.column.id) if isinstance(part, InRange) else None
        if isinstance(part, InRange) and place is None:
            places[part.column.id] = len(merged)
        if place is None:
            merged.append(part)
        else:
            merged[place] = _both(merged[place], part)  # type: ignore[arg-type]
    return merged


def _both(one: InRange | InSet, other: InRange) -> InRange | InSet:
    """Where two ranges overlap; InSet stands for one that is empty already."""
    if isinstance(one, InSet):
        return one
    type_ = one.column.type
    lower, lower_inclusive, upper, upper_inclusive = one.lower, one.lower_inclusive, one.upper, one.upper_inclusive
    if other.lower is not None:
        wanted, has = order_key(type_, other.lower), lower is not None and order_key(type_, lower)
        if lower is None or (wanted, not other.lower_inclusive) > (has, not lower_inclusive):
            lower, lower_inclusive = other.lower, other.lower_inclusive
    if other.upper is not None:
        wanted, has = order_key(type_, other.upper), upper is not None and order_key(type_, upper)
        if upper is None or (wanted, other.upper_inclusive) < (has, upper_inclusive):
            upper, upper_inclusive = other.upper, other.upper_inclusive
    if lower is not None and upper is not None:
        low, high = order_key(type_, lower), order_key(type_, upper)
        if low > high or (low == high and not (lower_inclusive and upper_inclusive)):
            return InSet(one.column, ())
    return InRange(one.column, lower, lower_inclusive, upper, upper_inclusive)


def _united(leaves: list[InSet]) -> InSet:
    column = leaves[0].column
    values = {order_key(column.type, v): v for leaf in reversed(leaves) for v in leaf.values}
    return InSet(column, tuple(values[key] for key in sorted(values)))


def _intersected(leaves: list[InSet]) -> InSet:
    column = leaves[0].column
    common = set.intersection(*({order_key(column.type, v) for v in leaf.values} for leaf in leaves))
    return InSet(column, tuple(v for v in leaves[0].values if order_key(column.type, v) in common))
