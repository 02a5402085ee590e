"""Dates and timestamps as ISO text and back, far beyond the years that Python's own types hold."""

import re
from typing import Final

import numpy as np

from coalesce.errors import SchemaError
from coalesce.model.types import DATE, TIMESTAMP, TIMESTAMP_NTZ, AtomicType

SECOND: Final = 1_000_000
DAY: Final = 86_400 * SECOND

_DATE_TEXT = re.compile(r"([+-]?\d{4,7})-(\d\d)-(\d\d)", re.ASCII)
_TIMESTAMP_TEXT = re.compile(
    r"(?P<date>[+-]?\d{4,7}-\d\d-\d\d)"
    r"(?:[T ](?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d{1,6}))?)?)?"
    r"(?P<zone>Z|(?P<sign>[+-])(?P<zone_hour>\d\d):(?P<zone_minute>\d\d))?",
    re.ASCII,
)


def date_from_text(text: str) -> int:
    """Days since 1970-01-01 of a `yyyy-MM-dd`, in any year a date column can hold and beyond."""
    match = _DATE_TEXT.fullmatch(text)
    if match is None:
        raise SchemaError(f"{text!r:.60} is not a date; write it as 2026-05-17.")
    year, month, day = (int(part) for part in match.groups())
    first = np.datetime64((year - 1970) * 12 + month - 1, "M")
    days = int(first.astype("M8[D]").astype(np.int64)) + day - 1
    length = int((first + 1).astype("M8[D]").astype(np.int64) - first.astype("M8[D]").astype(np.int64))
    if not (1 <= month <= 12 and 1 <= day <= length):
        raise SchemaError(f"there is no date {text}.")
    return days


def timestamp_from_text(type_: AtomicType, text: str) -> int:
    """Microseconds since 1970 of a date and a time of day, with a zone or without as `type_` demands."""
    match = _TIMESTAMP_TEXT.fullmatch(text)
    if match is None:
        raise SchemaError(
            f"{text!r:.60} is not a {type_}; write it as 2026-05-17T08:30:00.125Z (Z for timestamp only)."
        )
    check_zone(type_, text, match["zone"] is not None)
    hour, minute, second, zone_hour, zone_minute = (
        int(match[name] or 0) for name in ("hour", "minute", "second", "zone_hour", "zone_minute")
    )
    if hour > 23 or minute > 59 or second > 59 or zone_hour > 18 or zone_minute > 59:
        raise SchemaError(f"there is no time {text}.")
    seconds = (hour * 60 + minute) * 60 + second
    offset = (zone_hour * 60 + zone_minute) * 60
    seconds += offset if match["sign"] == "-" else -offset
    fraction = int((match["fraction"] or "").ljust(6, "0"))
    return date_from_text(match["date"]) * DAY + seconds * SECOND + fraction


def check_zone(type_: AtomicType, text: str, has_zone: bool) -> None:
    """Refuse a timestamp without a zone, and a timestamp_ntz with one."""
    if type_ == TIMESTAMP and not has_zone:
        raise SchemaError(f"{text} has no time zone and so is no instant; add an offset, such as Z for UTC.")
    if type_ == TIMESTAMP_NTZ and has_zone:
        raise SchemaError(f"{text} has a time zone, which a timestamp_ntz has not; leave it out.")


def temporal_text(type_: AtomicType, value: int) -> str:
    """A date or timestamp as ISO text: the inverse of the above."""
    days, micros = (value, 0) if type_ == DATE else divmod(value, DAY)
    month_index = int(np.datetime64(days, "D").astype("M8[M]").astype(np.int64))
    day = days - int(np.datetime64(month_index, "M").astype("M8[D]").astype(np.int64)) + 1
    year, month = month_index // 12 + 1970, month_index % 12 + 1
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    text = f"{sign}{abs(year):04}-{month:02}-{day:02}"
    if type_ == DATE:
        return text
    seconds, fraction = divmod(micros, SECOND)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    digits = f".{fraction:06}".rstrip("0") if fraction else ""
    return f"{text}T{clock}{digits}{'Z' if type_ == TIMESTAMP else ''}"
