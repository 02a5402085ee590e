"""Walking And, Or and Not without recursion, so that no predicate is too long to take in.

`rewrite` is the one walk that reading, binding and normalizing share. It leaves no And inside And, no Or inside Or
and no Not of a Not. What is still nested after that is refused beyond `MAX_DEPTH` levels, so whatever walks the
result may recurse.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from coalesce.errors import PredicateError
from coalesce.predicate.expr import FALSE, TRUE, And, Constant, Expr, Not, Or

MAX_DEPTH: Final = 100

Kind = type[And[Any]] | type[Or[Any]]
Join = Callable[[Kind, list[Expr]], Expr]


def join(kind: Kind, parts: list[Expr]) -> Expr:
    """`parts` under one And or Or, without ceremony for one part or none."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return TRUE if kind is And else FALSE
    return kind(tuple(parts))


def negation(expr: Expr) -> Expr:
    """NOT `expr`: undoes a NOT and folds a constant, both exact in three-valued logic."""
    match expr:
        case Not(part):
            return part
        case Constant(None):
            return expr
        case Constant(value):
            return FALSE if value else TRUE
        case _:
            return Not(expr)


@dataclass(slots=True)
class _Frame:
    """One And or Or under construction: what is still `todo`, last first, each with whether it is negated."""

    kind: Kind | None
    negated: bool
    todo: list[tuple[Expr, bool]]
    done: list[Expr]


def rewrite(
    expr: Expr,
    leaf: Callable[[Expr], Expr],
    *,
    join: Join = join,
    push_not: bool = False,
    text: str | None = None,
) -> Expr:
    """`expr` with `leaf(x)` in place of every leaf x, and flat.

    With `push_not`, negations move down to the leaves: De Morgan's laws hold in three-valued logic. `join` puts
    finished parts together. `text` is the predicate's, for the error about nesting.
    """
    root = _Frame(None, False, [(expr, False)], [])
    stack = [root]
    while True:
        frame = stack[-1]
        if not frame.todo:
            stack.pop()
            if frame.kind is None:
                return frame.done[0]
            joined = join(frame.kind, frame.done)
            _add(stack[-1], negation(joined) if frame.negated else joined)
            continue
        part, negated = frame.todo.pop()
        while isinstance(part, Not):
            part, negated = part.part, not negated
        if isinstance(part, And | Or):
            inward = negated and push_not
            kind: Kind = (Or if isinstance(part, And) else And) if inward else type(part)
            inside = [(p, inward) for p in reversed(part.parts)]
            if kind is frame.kind and negated == inward:
                frame.todo.extend(inside)
            elif len(stack) > MAX_DEPTH:
                raise PredicateError(f"the predicate nests AND and OR more than {MAX_DEPTH} levels deep.", text)
            else:
                stack.append(_Frame(kind, negated and not push_not, inside, []))
        else:
            replaced = leaf(part)
            _add(frame, negation(replaced) if negated else replaced)


def _add(frame: _Frame, part: Expr) -> None:
    if isinstance(part, And | Or) and type(part) is frame.kind:
        frame.done.extend(part.parts)
    else:
        frame.done.append(part)
