"""Dotted names as Spark writes them: `app`, `ev.app`, `` `a.b`.`c``d` ``."""

import re
from typing import Final

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PART = re.compile(r"`(?P<quoted>(?:[^`]|``)*)`|(?P<plain>[^`.]+)")

# Words that would be read as something else where a name is meant.
_KEYWORDS: Final = frozenset({
    "ALL", "AND", "ANY", "BETWEEN", "CASE", "CAST", "DATE", "DISTINCT", "ELSE", "END", "ESCAPE", "EXISTS", "FALSE",
    "FROM", "ILIKE", "IN", "INTERVAL", "IS", "LIKE", "NOT", "NULL", "OR", "RLIKE", "SELECT", "SOME", "THEN",
    "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TRUE", "WHEN", "WHERE", "WITH", "X",
})  # fmt: skip


def quoted(name: str) -> str:
    """One part of a name as SQL, back-quoted if it has to be."""
    if _PLAIN.fullmatch(name) and name.upper() not in _KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def dotted(parts: tuple[str, ...]) -> str:
    """A whole name as SQL: the inverse of `parts_of`."""
    return ".".join(quoted(part) for part in parts)


def parts_of(name: str) -> tuple[str, ...] | None:
    """The parts of a dotted name, or None if the text is not one."""
    parts: list[str] = []
    position = 0
    while True:
        match = _PART.match(name, position)
        if match is None or match.end() == position:
            return None
        quoted_part = match["quoted"]
        parts.append(match["plain"] if quoted_part is None else quoted_part.replace("``", "`"))
        position = match.end()
        if position == len(name):
            return tuple(parts)
        if name[position] != ".":
            return None
        position += 1
