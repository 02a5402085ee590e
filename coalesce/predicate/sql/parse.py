"""SQL text to an expression: what users type, and what Catalyst's `.sql()` prints.

Here the skeleton is read: AND, OR, NOT and parentheses, over conditions that `conditions.py` takes one by one. Nothing
recurses, since Catalyst nests parentheses as deep as a chain of ORs is long.
"""

from dataclasses import dataclass, field

from coalesce.errors import PredicateError
from coalesce.predicate.expr import And, Expr, Opaque, Or
from coalesce.predicate.sql.conditions import condition
from coalesce.predicate.sql.lexer import Tokens, tokenize
from coalesce.predicate.sql.unknown import kept
from coalesce.predicate.tree import join, negation, rewrite


def parse(text: str, *, time_zone: str = "UTC") -> Expr:
    """The predicate in `text`, as written; `time_zone` is the session's, for timestamps that name none.

    What the predicate language cannot say is Opaque; only what is no predicate at all is an error.
    """
    tokens = tokenize(text)
    if len(tokens) == 0:
        raise PredicateError("the predicate is empty; write a condition, or true for all rows.", text, 0)
    return rewrite(_nested(tokens, time_zone), lambda leaf: leaf, text=text)


def opaque(text: str) -> Opaque:
    """The condition in `text`, not to be understood: only which columns it reads."""
    tokens = tokenize(text)
    return kept(tokens, 0, len(tokens))


@dataclass(slots=True)
class _Group:
    """What has been read of one pair of parentheses, or of the whole."""

    alternatives: list[Expr] = field(default_factory=list)  # finished, between ORs
    conditions: list[Expr] = field(default_factory=list)  # since the last OR
    negated: bool = False  # an odd number of NOTs stands before what comes next

    def take(self, expr: Expr) -> None:
        self.conditions.append(negation(expr) if self.negated else expr)
        self.negated = False

    def alternative(self) -> None:
        self.alternatives.append(join(And, self.conditions))
        self.conditions = []

    def finished(self) -> Expr:
        self.alternative()
        return join(Or, self.alternatives)


def _nested(tokens: Tokens, time_zone: str) -> Expr:
    words = tokens.words
    groups = [_Group()]
    index = 0
    while True:
        group = groups[-1]
        word = words[index] if index < len(tokens) else ""
        if word in ("NOT", "!"):
            group.negated = not group.negated
            index += 1
            continue
        if word == "(" and _is_group(tokens, index):
            groups.append(_Group())
            index += 1
            continue
        end = _end_of_condition(tokens, index)
        if end == index:
            raise _missing(tokens, index)
        group.take(condition(tokens, index, end, time_zone))
        index = end
        while index < len(tokens) and words[index] == ")":
            inside = groups.pop().finished()
            groups[-1].take(inside)
            index += 1
        if index == len(tokens):
            return groups[-1].finished()
        if words[index] == "OR":
            groups[-1].alternative()
        index += 1


def _is_group(tokens: Tokens, index: int) -> bool:
    """Whether a parenthesis holds conditions; else it belongs to an operand, as in (a + 1) * 2 > b."""
    after = tokens.partner[index] + 1
    return after == len(tokens) or tokens.words[after] in ("AND", "OR", ")")


def _end_of_condition(tokens: Tokens, start: int) -> int:
    """The index of the AND, OR or closing parenthesis after a condition; an AND may be BETWEEN's."""
    ranges = 0
    index = start
    while index < len(tokens):
        word = tokens.words[index]
        if word == "AND" and ranges:
            ranges -= 1
        elif word in ("AND", "OR", ")"):
            break
        elif word == "BETWEEN" and index > start:  # at the start it is Catalyst's function: between(a, 1, 2)
            ranges += 1
        index = tokens.partner.get(index, index) + 1
    return index


def _missing(tokens: Tokens, index: int) -> PredicateError:
    """The error where a condition should stand at `index` and none does."""
    before = tokens.words[index - 1] if index else ""
    found = tokens.words[index] if index < len(tokens) else ""
    if before in ("AND", "OR", "NOT", "!"):
        reason = f"{before} has no condition on its right."
    elif found in ("AND", "OR"):
        reason = f"{found} has no condition on its left."
    else:
        reason = "there is no condition between these parentheses."
    return PredicateError(reason, tokens.text, tokens.start_of(index))
