"""What callers hand over, checked at the door: each `check_` returns the argument as the library wants it.

Python calls a function with anything, and the mistake would show far inside, as another error, perhaps after files were
written. So every public function passes its arguments through these first. They are as generous as the meaning is
clear (NumPy's integers are integers, any series of texts is a list) and refuse the rest in one sentence: what was
expected, and what was given. `True` is no number here, and a text is no list of its letters.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import datetime
from difflib import get_close_matches
from numbers import Integral
from typing import Final, TypeGuard, TypeVar

import numpy as np

from coalesce.errors import InvalidArgument

_Kind = TypeVar("_Kind")

_LONGEST: Final = 60
_NO_SERIES: Final = (str, bytes, bytearray, memoryview, Mapping, Set)  # texts, and what has no order


def check_text(value: object, what: str) -> str:
    """`value` if it is a text; a subclass of `str`, such as NumPy's, becomes the plain text it is."""
    if not isinstance(value, str):
        raise InvalidArgument(f"{what} is a text, not {shown(value)}.")
    return str.__str__(value)


def check_integer(value: object, what: str, *, least: int | None = None) -> int:
    """`value` if it is a whole number, of Python's or of NumPy's, and not below `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InvalidArgument(f"{what} is a whole number, not {shown(value)}.")
    number = int(value)
    if least is not None and number < least:
        raise InvalidArgument(f"{what} is {least} or more, not {number}.")
    return number


def check_flag(value: object, what: str) -> bool:
    """`value` if it is True or False, of Python's or of NumPy's."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidArgument(f"{what} is True or False, not {shown(value)}.")
    return bool(value)


def check_progress(value: Callable[[int, int], None] | None) -> Callable[[int, int], None] | None:
    """`value` if it can be called, or None."""
    if value is not None and not callable(value):
        raise InvalidArgument(f"progress= is a function of how many are done, and of how many, not {shown(value)}.")
    return value


def check_texts(value: object, what: str, example: str) -> tuple[str, ...]:
    """`value` as a tuple if it is a series of texts; `example` is how one of them is written, in brackets."""
    if isinstance(value, str):
        bracketed = f'["{value}"]'
        raise InvalidArgument(f"{what} are a list: write {example.format(bracketed)}.")
    if not is_series(value):
        raise InvalidArgument(f"{what} are a list of texts, not {shown(value)}.")
    return tuple(check_text(text, f"each of {what}") for text in value)


def is_series(value: object) -> TypeGuard[Iterable[object]]:
    """Whether `value` has members in an order, and is more than one text or number of them."""
    if not isinstance(value, Iterable) or isinstance(value, _NO_SERIES):
        return False
    try:
        iter(value)
    except TypeError:  # an array of no dimensions says that it has members, and has none
        return False
    return True


def check_settings(value: object, what: str) -> dict[str, object]:
    """`value` as a dict if it is a mapping whose keys are texts."""
    if not isinstance(value, Mapping):
        raise InvalidArgument(f'{what} are a dict such as {{"name": "value"}}, not {shown(value)}.')
    return {check_text(key, f"a name among {what}"): held for key, held in value.items()}


def check_choice(value: object, what: str, choices: Sequence[str]) -> str:
    """`value` if it is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        listed = " or ".join(repr(choice) for choice in choices)
        raise InvalidArgument(f"{what} is {listed}, not {shown(value)}.")
    return str.__str__(value)


def check_moment(value: object, what: str) -> datetime:
    """`value` if it is a datetime; pandas' NaT says that it is one, and equals nothing, itself included."""
    if not isinstance(value, datetime) or value != value:
        raise InvalidArgument(f"{what} is a datetime, not {shown(value)}.")
    return value


def check_kind(value: object, kind: type[_Kind], sentence: str) -> _Kind:
    """`value` if it is of a class that only the library makes; `sentence` says where such a thing comes from."""
    if not isinstance(value, kind):
        raise InvalidArgument(f"{shown(value)} is not {sentence}.")
    return value


def check_session(value: object, what: str) -> None:
    """Whether `value` can be a Spark session, of whichever kind; PySpark need not be there to tell."""
    if not (hasattr(value, "conf") and hasattr(value, "sql")) or isinstance(value, type):
        raise InvalidArgument(f"{what} is a Spark session, such as coalesce.session(), not {shown(value)}.")


def suggestion(name: str, known: Sequence[str], what: str) -> str:
    """The end of a sentence about an unknown name: the one that may have been meant, or the list of what there is."""
    close = get_close_matches(name.lower(), [k.lower() for k in known], n=1, cutoff=0.6)
    if close:
        return f"; did you mean {next(k for k in known if k.lower() == close[0])!r}?"
    listed = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
    return f"; {what} are {listed}."


def shown(value: object) -> str:
    """A value as a sentence can hold it: as Python writes it if that is short, else by its class."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - whatever the object's own code does, the sentence about it is said
        text = ""
    if text and len(text) <= _LONGEST and text.isprintable():
        return text
    return f"{text[:_LONGEST]}…" if isinstance(value, str) else f"a {type(value).__qualname__}"
