"""Conditions in SQL that this language has no words for: checked for sense, and kept as they are.

sqlglot, in the Spark dialect, tells whether the text is an expression at all and which columns it reads. It recurses,
so text that would take it too deep is not shown to it: such a condition is kept without a list of columns.
"""

import re
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from coalesce.errors import PredicateError
from coalesce.predicate.expr import Opaque
from coalesce.predicate.lexer import Tokens
from coalesce.predicate.names import dotted

_MAX_NESTING: Final = 15
_MAX_PREFIXES: Final = 40
_PREFIXES: Final = frozenset({"-", "+", "~", "!", "NOT"})
_BEFORE_A_CALL: Final = frozenset({"(", ",", "WHEN", "THEN", "ELSE"})

# Operators that cannot start, or end, a condition.
_NEEDS_LEFT: Final = frozenset({
    "=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>", "*", "/", "%", "||", "|", "&", "^", ".", "::",
    "BETWEEN", "ILIKE", "IN", "IS", "LIKE", "REGEXP", "RLIKE",
})  # fmt: skip
_NEEDS_RIGHT: Final = _NEEDS_LEFT | {"+", "-", "~", "!", "DIV", "ESCAPE", "NOT"}


def opaque(tokens: Tokens, start: int, end: int) -> Opaque:
    """The condition in these tokens, as it is; nonsense is an error that points at the place."""
    _refuse_fragments(tokens, start, end)
    text = tokens.slice(start, end)
    if _beyond_sqlglot(tokens, start, end):
        return Opaque(text)
    try:
        parsed = sqlglot.parse_one(text, read="spark", into=exp.Condition)
    except SqlglotError as error:
        raise _syntax_error(tokens, start, end, error) from None
    except RecursionError:
        return Opaque(text)
    _refuse_more_than_rows(tokens, start, parsed)
    if parsed.find(exp.Lambda, exp.Kwarg) is not None:
        return Opaque(text)  # sqlglot does not always tell a lambda's variables from columns
    names = {dotted(tuple(part.name for part in column.parts)) for column in parsed.find_all(exp.Column)}
    return Opaque(text, frozenset(names))


def _beyond_sqlglot(tokens: Tokens, start: int, end: int) -> bool:
    prefixes = 0
    closings: list[int] = []
    for index in range(start, end):
        while closings and closings[-1] <= index:
            closings.pop()
        if index in tokens.partner:
            closings.append(tokens.partner[index])
        if tokens.words[index] == "BETWEEN" and (index == start or tokens.words[index - 1] in _BEFORE_A_CALL):
            return True  # Catalyst's function, which sqlglot does not know
        prefixes += tokens.words[index] in _PREFIXES
        if len(closings) > _MAX_NESTING or prefixes > _MAX_PREFIXES:
            return True
    return False


def _refuse_fragments(tokens: Tokens, start: int, end: int) -> None:
    """What sqlglot would take or would explain badly."""
    first, last = tokens.words[start], tokens.words[end - 1]
    if first == "WHERE":
        raise PredicateError("leave out WHERE: only the condition is wanted.", tokens.text, tokens.starts[start])
    if first in _NEEDS_LEFT and start + 1 not in tokens.partner:
        raise PredicateError(f"{tokens.raw(start)} has nothing on its left.", tokens.text, tokens.starts[start])
    if last in _NEEDS_RIGHT:
        raise PredicateError(
            f"{tokens.raw(end - 1)} has nothing on its right; is the value missing?", tokens.text, tokens.ends[end - 1]
        )
    index = start
    while index < end:
        if tokens.words[index] in (",", ";"):
            what = "one condition only, please" if tokens.words[index] == ";" else "join conditions with AND or OR"
            raise PredicateError(
                f"{tokens.words[index]!r} cannot stand here; {what}.", tokens.text, tokens.starts[index]
            )
        index = tokens.partner.get(index, index) + 1


def _refuse_more_than_rows(tokens: Tokens, start: int, parsed: exp.Expr) -> None:
    found = parsed.find(exp.Query, exp.Window, exp.AggFunc, exp.Placeholder, exp.Parameter)
    if found is None:
        return
    match found:
        case exp.Query():
            what = "a subquery"
        case exp.Window():
            what = "a window function"
        case exp.AggFunc():
            what = f"the aggregate function {found.sql_name().lower()}"
        case _:
            what = "a parameter"
    raise PredicateError(
        f"a predicate is about one row at a time and cannot have {what}; compute it first and write its value here.",
        tokens.text,
        tokens.starts[start],
    )


def _syntax_error(tokens: Tokens, start: int, end: int, error: SqlglotError) -> PredicateError:
    """Our words, sqlglot's place."""
    offset = tokens.starts[start]
    details = getattr(error, "errors", None)
    if details and details[0].get("line") is not None:
        detail = details[0]
        text = tokens.slice(start, end)
        line_starts = [0, *(m.end() for m in re.finditer("\n", text))]
        line = min(detail["line"], len(line_starts)) - 1
        offset += line_starts[line] + max(detail["col"] - len(detail["highlight"] or " "), 0)
    position = min(offset, tokens.ends[end - 1])
    word = tokens.text[position:].split(maxsplit=1)
    near = f" near {word[0][:30]!r}" if word else ""
    return PredicateError(f"this is not a condition in Spark SQL{near}.", tokens.text, position)
