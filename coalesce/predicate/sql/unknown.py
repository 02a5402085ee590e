"""Conditions in SQL that are more than a column and literals: computed if every word is known, else kept as they are.

`grammar.py` tells whether the text is an expression at all and which columns it reads. sqlglot, behind it, recurses, so
text that would take it too deep is not shown to it: such a condition is kept without a list of columns.
"""

from typing import Final

from coalesce.errors import PredicateError
from coalesce.predicate.expr import Calculation, Column, Condition, Opaque
from coalesce.predicate.mistakes import unknown_function
from coalesce.predicate.names import dotted
from coalesce.predicate.scalar.catalogue import columns_in, depth_of, unknown_functions
from coalesce.predicate.sql.lexer import Tokens
from coalesce.predicate.tree import MAX_DEPTH

_MAX_NESTING: Final = 15
_MAX_PREFIXES: Final = 40
_TOO_DEEP: Final = "it is nested too deep to be read here"
_PREFIXES: Final = frozenset({"-", "+", "~", "!", "NOT"})

# Operators that cannot start, or end, a condition.
_NEEDS_LEFT: Final = frozenset({
    "=", "==", "<>", "!=", "!<", "!>", "<", "<=", ">", ">=", "<=>", "*", "/", "%", "||", "|", "&", "^", ".", "::",
    "BETWEEN", "ILIKE", "IN", "IS", "LIKE", "REGEXP", "RLIKE",
})  # fmt: skip
_QUANTIFIERS: Final = frozenset({"ALL", "DISTINCT"})
_CASTS: Final = frozenset({"CAST", "TRY_CAST"})
_NO_FUNCTIONS: Final = frozenset({"ALL", "AND", "ANY", "ELSE", "IN", "LIKE", "NOT", "OR", "SOME", "THEN", "WHEN"})
_NOWHERE, _ROW = "", "("  # outside of all parentheses, and in those that only hold values together
_NEEDS_RIGHT: Final = _NEEDS_LEFT | {"+", "-", "~", "!", "DIV", "ESCAPE", "NOT"}


def computed(tokens: Tokens, start: int, end: int, time_zone: str, names: tuple[Column, ...]) -> Condition | Opaque:
    """The condition in these tokens; nonsense is an error that points at the place.

    `names` are operands of it that are nothing but names.
    """
    from coalesce.predicate.sql import structure  # only now: importing sqlglot takes longer than planning most queries

    _refuse_fragments(tokens, start, end)
    if _beyond_sqlglot(tokens, start, end):
        return Opaque(tokens.slice(start, end), names=names, hint=_TOO_DEEP)
    value = structure.operand_of(tokens, start, end, time_zone)
    if not isinstance(value, Calculation):
        return kept(tokens, start, end, names)
    if depth_of(value) > MAX_DEPTH:
        return kept(tokens, start, end, names, _TOO_DEEP)
    unknown = next(unknown_functions(value), None)
    if unknown is not None:
        return kept(tokens, start, end, names, unknown_function(unknown))
    text = tokens.slice(start, end)
    read = frozenset(dotted(column.parts) for column in columns_in(value))
    return Condition(value, text, Opaque(text, read, names))


def kept(tokens: Tokens, start: int, end: int, names: tuple[Column, ...] = (), hint: str = "") -> Opaque:
    """The condition as it is, if it is one to sqlglot."""
    from coalesce.predicate.sql import grammar  # only now: see there

    text = tokens.slice(start, end)
    if _beyond_sqlglot(tokens, start, end) or any(tokens.calls_between(index, start) for index in range(start, end)):
        return Opaque(text, names=names)
    try:
        return Opaque(text, grammar.columns_of(text), names, hint=hint)
    except grammar.Refused as refused:
        raise PredicateError(refused.reason, tokens.text, tokens.starts[start] + refused.offset) from None


def _beyond_sqlglot(tokens: Tokens, start: int, end: int) -> bool:
    prefixes = 0
    closings: list[int] = []
    for index in range(start, end):
        while closings and closings[-1] <= index:
            closings.pop()
        if index in tokens.partner:
            closings.append(tokens.partner[index])
        prefixes += tokens.words[index] in _PREFIXES and tokens.starts_operand(index, start)
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
    _refuse_dropped(tokens, start, end)


def _refuse_dropped(tokens: Tokens, start: int, end: int) -> None:
    """What sqlglot would pass over without a word: gaps in lists, and names that it takes for other words."""
    words = tokens.words
    calls = [_NOWHERE]  # the functions whose parentheses are open
    for index in range(start, end):
        word = words[index]
        before, after = (words[i] if start <= i < end else "" for i in (index - 1, index + 1))
        if (word in (",", ")") and before == ",") or (word == "," and before == "("):
            raise PredicateError(f"there is nothing before this {word!r}.", tokens.text, tokens.starts[index])
        if _is_dropped(word, before, after, calls[-1]):
            raise PredicateError(
                f"{word} cannot stand here; a column of that name is written `{tokens.raw(index)}`, in back-quotes.",
                tokens.text,
                tokens.starts[index],
            )
        if word == "(":
            is_call = index > start and tokens.kinds[index - 1] == "word" and before not in _NO_FUNCTIONS
            calls.append(before if is_call else _ROW)
        elif word == ")":
            calls.pop()


def _is_dropped(word: str, before: str, after: str, inside: str) -> bool:
    if before == "." or inside in _CASTS:
        return False  # a field of that name; or read as it is
    if word == "AS":
        is_alias = before not in ("(", ",") and after not in (")", ",", "")
        return not (is_alias and inside in (_ROW, "STRUCT"))
    return word in _QUANTIFIERS and before in ("(", ",") and inside != _ROW
