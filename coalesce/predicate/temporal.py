"""Dates and times written as text, and wall clocks in a time zone, with java.time's answers.

Only the canonical forms are read: of `2026-5-1`, `12:00` or `epoch` Spark has opinions too. Where its answer is
not certain, the answer here is None, and None keeps the file. The same goes for zones whose history or future this
machine and Spark's may know differently: a region counts for the years 1970 to 2037 only.
"""

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

MICROS: Final = 1_000_000
MICROS_PER_DAY: Final = 86_400 * MICROS

_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_EPOCH: Final = datetime(1970, 1, 1)
_MICROSECOND: Final = timedelta(microseconds=1)
_CERTAIN_YEARS: Final = range(1970, 2038)

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIMESTAMP = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)"
    r"(?:[ T](?P<hour>\d\d):(?P<minute>\d\d)"
    r"(?::(?P<second>\d\d)(?:\.(?P<fraction>\d{1,6}))?(?P<zone>Z|[+-]\d\d:\d\d)?)?)?",
    re.ASCII,
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d\d):(\d\d)", re.ASCII)
_UTC_NAMES: Final = frozenset({"UTC", "Z", "GMT", "Etc/UTC", "Etc/GMT", "Zulu", "Etc/Zulu", "UCT", "Etc/UCT"})


def date_from_text(text: str) -> int | None:
    """Days since 1970-01-01 of a `yyyy-MM-dd` in the years 1 to 9999."""
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    try:
        return date(int(match[1]), int(match[2]), int(match[3])).toordinal() - _EPOCH_DAY
    except ValueError:
        return None


def is_no_date(text: str) -> bool:
    """Whether the text has the canonical form and surely is no day; Spark has a year 0, which Python has not."""
    match = _DATE.fullmatch(text)
    return match is not None and match[1] != "0000" and date_from_text(text) is None


def timestamp_from_text(text: str, time_zone: str, *, once: bool = False) -> int | None:
    """Microseconds since 1970 UTC of `yyyy-MM-dd[ T]HH:mm[:ss[.ffffff]]` in `time_zone`.

    Text that ends in Z or an offset says its zone itself.
    With `once`, a wall clock that the zone shows twice (when summer time ends) is None: Catalyst prints both of
    those instants alike.
    """
    parsed = _wall_clock(text)
    if parsed is None:
        return None
    micros, zone = parsed
    if zone is not None:
        offset = fixed_offset(zone)
        return None if offset is None else micros - offset
    if once and _repeated(micros, time_zone):
        return None
    return instant(micros, time_zone)


def wall_clock_from_text(text: str) -> int | None:
    """Microseconds since 1970 on a clock without a zone; text that names a zone is None."""
    parsed = _wall_clock(text)
    return parsed[0] if parsed is not None and parsed[1] is None else None


def _wall_clock(text: str) -> tuple[int, str | None] | None:
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    days = date_from_text(match["date"])
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    if days is None or hour > 23 or minute > 59 or second > 59:
        return None
    micros = ((hour * 60 + minute) * 60 + second) * MICROS + int((match["fraction"] or "").ljust(6, "0"))
    return days * MICROS_PER_DAY + micros, match["zone"]


# --- zones ------------------------------------------------------------------------------------------------------


@lru_cache
def fixed_offset(time_zone: str) -> int | None:
    """The zone's distance from UTC in microseconds if it never changes and never did, else None."""
    if time_zone in _UTC_NAMES:
        return 0
    match = _OFFSET.fullmatch(time_zone)
    if match is None:
        return None
    minutes = int(match[2]) * 60 + int(match[3])
    if int(match[3]) > 59 or minutes > 18 * 60:
        return None
    return (minutes if match[1] == "+" else -minutes) * 60 * MICROS


def instant(wall_clock: int, time_zone: str) -> int | None:
    """The instant a clock in the zone shows this.

    As in java.time, the earlier of two, and a time that a clock skips lies as far after the gap as it would have
    lain after the gap's beginning. Python's fold=0 means just that.
    """
    offset = fixed_offset(time_zone)
    if offset is None:
        offsets = _region_offsets(wall_clock, time_zone)
        if offsets is None:
            return None
        offset = offsets[0]
    return wall_clock - offset


def start_of_day(days: int, time_zone: str) -> int | None:
    """The instant at which a day begins in the zone, or None where its midnight is skipped."""
    wall_clock = days * MICROS_PER_DAY
    if fixed_offset(time_zone) is None:
        offsets = _region_offsets(wall_clock, time_zone)
        if offsets is None or offsets[0] < offsets[1]:
            return None
    return instant(wall_clock, time_zone)


def _repeated(wall_clock: int, time_zone: str) -> bool:
    if fixed_offset(time_zone) is not None:
        return False
    offsets = _region_offsets(wall_clock, time_zone)
    return offsets is not None and offsets[0] > offsets[1]


def _region_offsets(wall_clock: int, time_zone: str) -> tuple[int, int] | None:
    """The zone's offsets at a wall clock, by the rule before and after a change that happens there."""
    zone = region(time_zone)
    if zone is None:
        return None
    try:
        shown = _EPOCH + timedelta(microseconds=wall_clock)
    except OverflowError:
        return None
    if shown.year not in _CERTAIN_YEARS:
        return None
    before, after = (shown.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1))
    if before is None or after is None:
        return None
    return before // _MICROSECOND, after // _MICROSECOND


@lru_cache
def region(time_zone: str) -> tzinfo | None:
    """The zone of this name, such as Europe/Berlin; short names mean different things to Java and are None."""
    if "/" not in time_zone or time_zone.startswith("Etc/"):
        return UTC if time_zone in _UTC_NAMES else None
    try:
        return ZoneInfo(time_zone)
    except (KeyError, OSError, ValueError):  # no such zone, or not a name a zone can have
        return None
