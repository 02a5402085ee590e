"""Functions of single texts, as Spark's `UTF8String` has them: positions count code points, from 1."""

from typing import Final

from coalesce.predicate.scalar.columnar import UNSURE, Unsure

WHY: Final = "a text would get very long, or Spark refuses what it is asked for"

_GREATEST: Final = 2**31 - 1
_LONG: Final = 1_000_000


def substring(text: str, position: int, length: int) -> str:
    """From a position on; from the end if that is below 0, and what lies before the beginning counts as well."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = min(start + length, _GREATEST)
    return text[max(start, 0) : max(end, 0)] if end > start else ""


def right(text: str, length: int) -> str | Unsure:
    """The last characters."""
    if length == -_GREATEST - 1:
        return ""
    return substring(text, -length, _GREATEST) if length > 0 else ""


def replace(text: str, searched: str, put: str) -> str | Unsure:
    """With every `searched` replaced; nothing is not replaced by anything."""
    if not searched:
        return text
    return UNSURE if len(text) + text.count(searched) * len(put) > _LONG else text.replace(searched, put)


def instr(text: str, searched: str) -> int:
    """Where it first stands, 0 if nowhere."""
    return text.find(searched) + 1


def locate(searched: str, text: str, start: int) -> int:
    """Where it first stands from `start` on, 0 if nowhere; nothing stands at the beginning, wherever one starts."""
    if start < 1:
        return 0
    return 1 if searched == "" else text.find(searched, start - 1) + 1


def repeat(text: str, times: int) -> str | Unsure:
    """Over and over."""
    return UNSURE if len(text) * times > _LONG else text * times


def lpad(text: str, length: int, pad: str) -> str | Unsure:
    """Filled up on the left, or cut on the right."""
    return _padded(text, length, pad, True)


def rpad(text: str, length: int, pad: str) -> str | Unsure:
    """Filled up, or cut, on the right."""
    return _padded(text, length, pad, False)


def _padded(text: str, length: int, pad: str, before: bool) -> str | Unsure:
    spaces = length - len(text)
    if length > _LONG or length < -_LONG:
        return UNSURE
    if spaces <= 0 or not pad:
        return text[: max(length, 0)]
    filled = (pad * (spaces // len(pad) + 1))[:spaces]
    return filled + text if before else text + filled


def ascii_code(text: str) -> int:
    """The number of the first character."""
    return ord(text[0]) if text else 0


def split_part(text: str, separator: str, number: int) -> str | Unsure:
    """The part of this number, counted from the end if below 0; nothing beyond the last. There is no part 0."""
    if number in (0, -_GREATEST - 1):
        return UNSURE  # Spark fails
    parts = text.split(separator) if separator else [text]
    if abs(number) > len(parts):
        return ""
    return parts[number - 1] if number > 0 else parts[number]


def translate(text: str, searched: str, put: str) -> str | Unsure:
    """Each character of `searched` replaced by the one of `put` at its place, or by nothing if there is none."""
    if "\0" in put:
        return UNSURE  # Spark's own sign for nothing, in some releases
    table: dict[int, str] = {}
    for index, character in enumerate(searched):
        table.setdefault(ord(character), put[index : index + 1])
    return text.translate(table)
