"""Dates and timestamps in texts, read as Spark reads them: `2026-5-1`, `2026`, ` 2026-05-01 12:30 `, with an offset.

A text that is no date is None: CAST fails on it and TRY_CAST is NULL. UNSURE is a text whose meaning depends on
today, or on the names of zones.
"""

import re
from dataclasses import dataclass
from typing import Final

from coalesce.model.calendar_text import DAY, SECOND
from coalesce.model.conversions import integer_range
from coalesce.model.types import DATE, TIMESTAMP
from coalesce.predicate import temporal
from coalesce.predicate.scalar.columnar import UNSURE, Unsure

WHY: Final = "a text is no date or time, or one whose meaning depends on the day or on the names of time zones"

# What Java calls whitespace or control characters, among bytes.
_BLANKS: Final = "".join(map(chr, range(0x21))) + "\x7f"
_DATE = re.compile(r"([+-]?)(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_TIMESTAMP = re.compile(
    r"([+-]?)(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})"
    r"(?:[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?(?P<zone>[^\d.].*)?)?)?)?)?)?",
    re.ASCII | re.DOTALL,
)
_ONLY_TIME = re.compile(r"T|\d{1,2}:", re.ASCII)
_OFFSET = re.compile(r"([+-])(\d{1,2})(?::(\d\d))?", re.ASCII)
_MONTH_LENGTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True, slots=True)
class Clock:
    """Microseconds since 1970 on a clock, and how far that is from UTC where the text says so."""

    wall: int
    offset: int | None


def read_date(text: str) -> int | None:
    """Days since 1970-01-01."""
    match = _DATE.fullmatch(text.strip(_BLANKS))
    if match is None:
        return None
    sign, year, month, day = match.groups()
    days = _days(int(sign + year), int(month or 1), int(day or 1))
    least, greatest = integer_range(DATE)
    return days if days is not None and least <= days <= greatest else None


def read_timestamp(text: str) -> Clock | Unsure | None:
    """A date, and a time of day if there is one."""
    stripped = text.strip(_BLANKS)
    match = _TIMESTAMP.fullmatch(stripped)
    if match is None:
        return UNSURE if _ONLY_TIME.match(stripped) else None
    sign, year, month, day, hour, minute, second, fraction, zone = match.groups()
    days = _days(int(sign + year), int(month or 1), int(day or 1))
    clock = [int(part or 0) for part in (hour, minute, second)]
    if days is None or clock[0] > 23 or clock[1] > 59 or clock[2] > 59:
        return None
    micros = ((clock[0] * 60 + clock[1]) * 60 + clock[2]) * SECOND + int((fraction or "")[:6].ljust(6, "0"))
    wall = days * DAY + micros
    offset = None if zone is None else _offset(zone.strip(_BLANKS))
    if isinstance(offset, Unsure):
        return offset
    least, greatest = integer_range(TIMESTAMP)
    return Clock(wall, offset) if least <= wall - (offset or 0) <= greatest and least <= wall <= greatest else None


def _offset(zone: str) -> int | Unsure:
    match = _OFFSET.fullmatch(zone)
    if match is not None:
        minutes = int(match[2]) * 60 + int(match[3] or 0)
        if int(match[3] or 0) > 59 or minutes > 18 * 60 or (match[3] is None and len(match[2]) == 1):
            return UNSURE
        return (-minutes if match[1] == "-" else minutes) * 60 * SECOND
    named = temporal.fixed_offset(zone)
    return UNSURE if named is None else named


def _days(year: int, month: int, day: int) -> int | None:
    """Days since 1970-01-01, in any year; None if there is no such day."""
    if not 1 <= month <= 12:
        return None
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= day <= _MONTH_LENGTHS[month - 1] + (leap and month == 2):
        return None
    before = year - 1
    passed = sum(_MONTH_LENGTHS[: month - 1]) + (leap and month > 2)
    return before * 365 + before // 4 - before // 100 + before // 400 + passed + day - 1 - 719_162
