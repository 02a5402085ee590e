"""Intervals added to dates and timestamps, as Spark's `+` and `-` do it.

Months and days are counted on the calendar and the clocks of the session's zone, and then what is less than a day as
time that passes. 25 hours are a day and an hour.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from coalesce.model.calendar_text import DAY
from coalesce.model.types import DATE, INT8, INT16, INT32, TEMPORAL, TIMESTAMP, TIMESTAMP_NTZ
from coalesce.predicate import temporal
from coalesce.predicate.scalar import calendar, zones
from coalesce.predicate.scalar.calendar import fitting, integers, missing_in
from coalesce.predicate.scalar.columnar import Kernel, columnar
from coalesce.predicate.scalar.evaluated import Datum, Evaluated
from coalesce.predicate.scalar.nodes import Argument, Call, Fixed, Interval, Scalar
from coalesce.predicate.scalar.temporal_arguments import as_days, as_instant
from coalesce.predicate.scalar.zones import UTC_ZONE, zone_of

_DAY_COUNTS: Final = frozenset({INT8, INT16, INT32})


def add(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    """`left + right` where one is a date or timestamp; None for all else."""
    match arguments:
        case [Interval() as interval, time] | [time, Interval() as interval]:
            return None if isinstance(time, Interval) else _moved(time, interval, time_zone)
        case [Fixed(None, None), time] | [time, Fixed(None, None)]:
            return _moved_by_null(time)
        case [one, other]:
            return _days_added("date_add", one, other, time_zone) or _days_added("date_add", other, one, time_zone)
    return None


def subtract(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    """`left - right` where `left` is a date or timestamp and `right` an interval or a number of days."""
    match arguments:
        case [time, Interval() as interval]:
            return None if isinstance(time, Interval) else _moved(time, interval.negated(), time_zone)
        case [one, other]:
            return _days_added("date_sub", one, other, time_zone)
    return None


def _days_added(function: str, date: Argument, days: Argument, time_zone: str) -> Scalar | None:
    if isinstance(date, Interval) or isinstance(days, Interval) or date.type != DATE or days.type not in _DAY_COUNTS:
        return None
    number = as_days(days, time_zone)
    return None if number is None else Call(function, (date, number), DATE)


def _moved(time: Scalar, interval: Interval, time_zone: str) -> Scalar | None:
    passing = interval.days * DAY + interval.micros
    if (interval.months and passing) or abs(interval.months) >= 2**31 or abs(passing) >= 2**63 or interval == _NOTHING:
        return None  # of nothing one cannot tell whether it was hours, which make a timestamp of a date
    if time.type == DATE and not interval.micros:
        function, number = ("add_months", interval.months) if interval.months else ("date_add", interval.days)
        return Call(function, (time, Fixed(number, INT32)), DATE) if abs(number) < 2**31 else None
    start = as_instant(time, time_zone) if time.type == DATE else time
    if start is None or start.type not in (TIMESTAMP, TIMESTAMP_NTZ) or zone_of(time_zone) is None:
        return None
    return Call("moved", (start,), start.type, (interval.months, passing, time_zone))


def _moved_by_null(time: Argument) -> Scalar | None:
    """To a NULL of no type beside it, Spark gives that of an interval that may have hours."""
    if isinstance(time, Interval) or time.type not in TEMPORAL:
        return None
    return Fixed(None, TIMESTAMP_NTZ if time.type == TIMESTAMP_NTZ else TIMESTAMP)


_NOTHING: Final = Interval(0, 0, 0)


def _move(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
    months, passing, time_zone = call.settings
    zone = zone_of(str(time_zone)) if call.type == TIMESTAMP else UTC_ZONE
    assert zone is not None  # or it would not have been bound
    (values,) = arguments
    missing = missing_in((values,), count)
    start = integers(values, count)
    days = abs(int(passing)) // DAY * (1 if int(passing) > 0 else -1)
    rest = int(passing) - days * DAY
    far = np.abs(start.astype(np.float64)) + abs(float(int(passing))) + abs(float(int(months))) * 31 * DAY > 9.2e18
    start = np.where(far, 0, start)
    if days or months:
        wall, unsure = zone.wall(start)
        date = wall // DAY
        later = calendar.plus_months(date, int(months)) if months else date + days
        later = np.where(far, date, later)
        found, outside = zone.moved(start, wall + (later - date) * DAY)
        unsure = unsure | outside | far
    else:
        found, unsure = start, far
    return fitting(call.type, found + rest, missing, unsure, zones.WHY)


KERNELS: Final[Mapping[str, Kernel]] = {"moved": columnar(_move)}


def monotone(call: Call) -> tuple[int, ...] | None:
    """With the argument, where clocks are never set back, or only time passes.

    A month after the 30th at 23:00 may come after a month after the 31st at 01:00: the day is cut, the time is not.
    """
    months, passing, time_zone = call.settings
    if months:
        return None
    plain = call.type == TIMESTAMP_NTZ or abs(int(passing)) < DAY
    return (1,) if plain or temporal.fixed_offset(str(time_zone)) is not None else None
