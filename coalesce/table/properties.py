"""A table's properties: which of them the library reads, and what may stand in them.

Names under the library's own prefixes are checked when they are set, not when they are used: a misspelt one would be
ignored for ever, and a bad value would fail every later write. All other names belong to the users.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from coalesce.arguments import check_choice, check_settings, check_text, shown, suggestion
from coalesce.errors import InvalidArgument, SpecError
from coalesce.model.rule import RuleRequest, SmallRequest, parse_bytes
from coalesce.table.engine import (
    AUTO_COMPACT,
    AUTO_COMPACT_BYTES,
    AUTO_COMPACT_FILES,
    BUFFER_BYTES,
    LAYOUTS,
    PURGE_AGE,
    PURGE_SHARE,
    REMOVALS,
    REMOVE_BY,
    TARGET_FILE_BYTES,
    WRITE_LAYOUT,
)
from coalesce.table.exports import EXPORT_AUTO, FORMATS
from coalesce.table.maintain.retention import duration

# What a table was adopted from, and the list of the files that were there. Nobody sets these but an adoption.
ADOPTED_FROM: Final = "adopted.from"
ADOPTED_FILES: Final = "adopted.files"

_PREFIXES: Final = ("write.", "remove.", "purge.", "export.", "coalesce.", "adopted.")


def check_properties(given: object) -> dict[str, str]:
    """Properties for a new table."""
    return {name: _checked(name, value) for name, value in check_settings(given, "properties").items()}


def changed(before: Mapping[str, str], given: object) -> dict[str, str]:
    """The properties after a change; None takes one away, also one that an older release has let in."""
    settings = check_settings(given, "properties")
    new = {name: _checked(name, value) for name, value in settings.items() if value is not None}
    return {**{name: value for name, value in before.items() if name not in settings}, **new}


def same(name: str, one: str, other: str) -> bool:
    """Whether two texts of a property say the same: 64MB are 67108864 bytes."""
    return one == other or (_KNOWN.get(name) is _check_size and parse_bytes(one) == parse_bytes(other))


def asked_by(rule: RuleRequest | None) -> dict[str, str]:
    """What a request for a rule says of the table's file sizes."""
    if isinstance(rule, SmallRequest) and rule.target is not None:
        return {TARGET_FILE_BYTES: str(rule.target)}
    return {}


def _checked(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidArgument(f"the property {name!r} holds a text, not {shown(value)}.")
    known = _KNOWN.get(name)
    if known is not None:
        known(name, value)
    elif name.lower().startswith(_PREFIXES):
        raise InvalidArgument(f"there is no property {name!r}{suggestion(name, tuple(_KNOWN), 'those of the library')}")
    return check_text(value, f"the property {name!r}")


def _check_size(name: str, text: str) -> None:
    try:
        parse_bytes(text, least=1)
    except SpecError as error:
        raise InvalidArgument(f"the property {name!r}: {error}") from None


def _check_layout(name: str, text: str) -> None:
    check_choice(text, f"the property {name!r}", LAYOUTS)


def _check_removal(name: str, text: str) -> None:
    check_choice(text, f"the property {name!r}", REMOVALS)


def _check_flag(name: str, text: str) -> None:
    check_choice(text, f"the property {name!r}", ("true", "false"))


def _check_number(name: str, text: str) -> None:
    if not (text.isascii() and text.isdigit() and 2 <= int(text) <= _MOST_FILES):
        raise InvalidArgument(f"the property {name!r} is a number of files, 2 or more, not {shown(text)}.")


def _check_share(name: str, text: str) -> None:
    if _SHARE.fullmatch(text) is None or not 0 <= float(text) <= 1:
        raise InvalidArgument(f"the property {name!r} is a share of a file's rows from 0 to 1, not {shown(text)}.")


def _check_formats(name: str, text: str) -> None:
    for format_ in text.replace(" ", "").split(","):
        check_choice(format_, f"the property {name!r}", FORMATS)


def _check_duration(name: str, text: str) -> None:
    duration(text, f"the property {name!r}")


_MOST_FILES: Final = 10**6
_SHARE: Final = re.compile(r"\d(\.\d{1,9})?", re.ASCII)

_KNOWN: Final[dict[str, Callable[[str, str], None]]] = {
    TARGET_FILE_BYTES: _check_size,
    BUFFER_BYTES: _check_size,
    WRITE_LAYOUT: _check_layout,
    REMOVE_BY: _check_removal,
    PURGE_SHARE: _check_share,
    PURGE_AGE: _check_duration,
    AUTO_COMPACT: _check_flag,
    AUTO_COMPACT_FILES: _check_number,
    AUTO_COMPACT_BYTES: _check_size,
    EXPORT_AUTO: _check_formats,
}
