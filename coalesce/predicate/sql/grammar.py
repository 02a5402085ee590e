"""What sqlglot, in the Spark dialect, makes of a condition: whether it is one, and which columns it reads.

Apart from `unknown.py` because importing sqlglot takes longer than planning most queries, and most need none of it.
"""

import re

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from coalesce.predicate.names import dotted


class Refused(Exception):
    """The text is no condition on rows: why, and where in it."""

    def __init__(self, reason: str, offset: int) -> None:
        self.reason = reason
        self.offset = offset
        super().__init__(reason)


def columns_of(text: str) -> frozenset[str] | None:
    """The columns a condition reads, or None where that is not certain."""
    try:
        parsed = sqlglot.parse_one(text, read="spark", into=exp.Condition)
    except SqlglotError as error:
        offset = _offset(text, error)
        word = text[offset:].split(maxsplit=1)
        near = f" near {word[0][:30]!r}" if word else ""
        raise Refused(f"this is not a condition in Spark SQL{near}.", offset) from None
    except Exception:  # noqa: BLE001 - sqlglot stumbled; whether this is SQL is for Spark to say
        return None
    more = parsed.find(exp.Query, exp.Window, exp.AggFunc, exp.Placeholder, exp.Parameter)
    if more is not None:
        raise Refused(
            f"a predicate is about one row at a time and cannot have {_called(more)}; "
            "compute it first and write its value here.",
            0,
        )
    if parsed.find(exp.Lambda, exp.Kwarg) is not None:
        return None  # sqlglot does not always tell a lambda's variables from columns
    return frozenset(dotted(tuple(part.name for part in column.parts)) for column in parsed.find_all(exp.Column))


def _called(more: exp.Expr) -> str:
    match more:
        case exp.Query():
            return "a subquery"
        case exp.Window():
            return "a window function"
        case exp.AggFunc():
            return f"the aggregate function {more.sql_name().lower()}"
        case _:
            return "a parameter"


def _offset(text: str, error: SqlglotError) -> int:
    """Where sqlglot stopped: it counts lines from 1, and columns up to the end of the word it stopped at."""
    details = getattr(error, "errors", None)
    if not details or details[0].get("line") is None:
        return 0
    line_starts = [0, *(m.end() for m in re.finditer("\n", text))]
    line = min(details[0]["line"], len(line_starts)) - 1
    offset = line_starts[line] + details[0]["col"] - len(details[0]["highlight"] or " ")
    return int(min(max(offset, 0), len(text)))
