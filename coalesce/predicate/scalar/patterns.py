"""LIKE, ILIKE and RLIKE with a fixed pattern.

`%` and `_` stand for any characters, those that end a line too, and `_` for one code point. What RLIKE takes is
Java's regular expressions: those that mean the same to RE2 are translated by `regular_expressions.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.model.columns import Mask, flags
from coalesce.model.types import BOOLEAN
from coalesce.predicate.scalar import casing
from coalesce.predicate.scalar.columnar import Kernel, columnar
from coalesce.predicate.scalar.evaluated import Datum, Evaluated, spread, sure, unsure_where
from coalesce.predicate.scalar.nodes import Argument, Call, Fixed, Interval, Scalar, is_null
from coalesce.predicate.scalar.regular_expressions import compiles, quoted, translated
from coalesce.predicate.scalar.texts import as_text, cased

_NULL: Final = Fixed(None, BOOLEAN)
_ANY: Final = 0  # what % stands for, among the parts of a pattern
_ONE: Final = 1  # and _
_LONGEST: Final = 1000  # Java's search recurses into groups, and fails on a text that is too long for that


# --- LIKE ----------------------------------------------------------------------------------------------------------


def _like(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    return _bound_like(arguments, time_zone, ignore_case=False)


def _ilike(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    """As LIKE, with the text and the pattern in small letters."""
    return _bound_like(arguments, time_zone, ignore_case=True)


def _bound_like(arguments: Sequence[Argument], time_zone: str, *, ignore_case: bool) -> Scalar | None:
    pattern = _fixed_text(arguments, 1)
    escape = _fixed_text(arguments, 2) if len(arguments) == 3 else "\\"
    if len(arguments) not in (2, 3) or escape is None or len(escape) != 1:
        return None
    if _is_null(arguments[:2], time_zone):
        return _NULL
    if pattern is None:
        return None
    text = as_text(arguments[0], time_zone)
    if text is None:
        return None
    if ignore_case:
        text = cased("lower", text)
        lowered = casing.lower(pattern)
        if not isinstance(lowered, str) or escape != escape.lower():
            return None
        pattern = lowered
    parts = _parts(pattern, escape)
    settings = None if parts is None else _settings(parts)
    if settings is None or (settings[0] == "matches" and not compiles(settings[1])):
        return None
    return Call("like", (text,), BOOLEAN, settings)


def _is_null(arguments: Sequence[Argument], time_zone: str) -> bool:
    """Whether the text or the pattern is NULL, and the other one could be what it has to be."""
    return any(map(is_null, arguments)) and all(as_text(argument, time_zone) is not None for argument in arguments)


def _fixed_text(arguments: Sequence[Argument], index: int) -> str | None:
    match arguments[index : index + 1]:
        case [Fixed(str(text), _)]:
            return text
    return None


def _parts(pattern: str, escape: str) -> list[str | int] | None:
    """Texts, and what stands for any; None where an escape stands before what needs none, which Spark refuses."""
    parts: list[str | int] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters, None)
            if following is None or following not in ("_", "%", escape):
                return None
            part: str | int = following
        else:
            part = _ANY if character == "%" else _ONE if character == "_" else character
        if isinstance(part, str) and parts and isinstance(parts[-1], str):
            parts[-1] += part
        elif part != _ANY or parts[-1:] != [_ANY]:
            parts.append(part)
    return parts


def _settings(parts: list[str | int]) -> tuple[str, str]:
    match parts:
        case []:
            return "is", ""
        case [str(text)]:
            return "is", text
        case [0]:
            return "startswith", ""
        case [str(text), 0]:
            return "startswith", text
        case [0, str(text)]:
            return "endswith", text
        case [0, str(text), 0]:
            return "contains", text
    written = "".join(quoted(part) if isinstance(part, str) else (".*" if part == _ANY else ".") for part in parts)
    return "matches", rf"(?s)\A{written}\z"


_TESTS: Final[Mapping[str, Callable[[Datum, str], Datum]]] = {
    "is": lambda text, wanted: pc.equal(text, pa.scalar(wanted, pa.string())),
    "startswith": pc.starts_with,
    "endswith": pc.ends_with,
    "contains": pc.match_substring,
    "matches": pc.match_substring_regex,
}


def _matches_like(call: Call, arguments: Sequence[Datum], _: int) -> Evaluated:
    kind, text = call.settings
    return sure(_TESTS[str(kind)](arguments[0], str(text)))


# --- RLIKE ---------------------------------------------------------------------------------------------------------


def _rlike(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    if len(arguments) == 2 and _is_null(arguments, time_zone):
        return _NULL
    pattern = _fixed_text(arguments, 1)
    if len(arguments) != 2 or pattern is None or isinstance(arguments[0], Interval):
        return None
    text, expression = as_text(arguments[0], time_zone), translated(pattern)
    if text is None or expression is None:
        return None
    settings = (expression.written, int(expression.knows_lines), int(expression.repeats_groups))
    return Call("rlike", (text,), BOOLEAN, settings)


def _matches_expression(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
    (text,) = arguments
    written, knows_lines, repeats_groups = call.settings
    found = pc.match_substring_regex(text, str(written))
    unsure: Mask = np.zeros(count, np.bool_)
    if knows_lines:
        unsure |= flags(spread(pc.match_substring_regex(text, "[\r\x85\u2028\u2029]"), count))
    if repeats_groups:
        unsure |= flags(spread(pc.greater(pc.utf8_length(text), pa.scalar(_LONGEST, pa.int32())), count))
    return unsure_where(found, unsure, "Java has its own idea of where a line ends, and of how long a text may be")


FUNCTIONS: Final[Mapping[str, Callable[[Sequence[Argument], str], Argument | None]]] = {
    "like": _like,
    "ilike": _ilike,
    **dict.fromkeys(("rlike", "regexp", "regexp_like"), _rlike),
}
KERNELS: Final[Mapping[str, Kernel]] = {
    "like": columnar(_matches_like),
    "rlike": columnar(_matches_expression),
}


def monotone(call: Call) -> tuple[int, ...] | None:
    """No test of a pattern goes one way with its text."""
    del call
    return None
