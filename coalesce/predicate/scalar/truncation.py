"""`date_trunc` and `trunc`: where the hour, day, week, month … that a time lies in begins, on the session's clocks."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from coalesce.model.calendar_text import DAY, SECOND
from coalesce.model.types import DATE, TIMESTAMP
from coalesce.predicate import temporal
from coalesce.predicate.scalar import calendar, zones
from coalesce.predicate.scalar.calendar import Integers, fitting, integers, missing_in
from coalesce.predicate.scalar.columnar import Kernel, columnar
from coalesce.predicate.scalar.evaluated import Datum, Evaluated
from coalesce.predicate.scalar.nodes import Argument, Call, Fixed, Scalar
from coalesce.predicate.scalar.temporal_arguments import as_date, as_instant
from coalesce.predicate.scalar.zones import zone_of

# Their microseconds; those that need no clock to tell, and those that do.
_INSTANTS: Final[Mapping[str, int]] = {"microsecond": 1, "millisecond": 1000, "second": SECOND}
_CLOCKS: Final[Mapping[str, int]] = {"minute": 60 * SECOND, "hour": 3600 * SECOND, "day": DAY}
_DATES: Final[Mapping[str, Callable[[Integers], Integers]]] = {
    "week": lambda days: days - calendar.weekdays_of(days),
    "month": lambda days: calendar.first_of(calendar.months_of(days)),
    "quarter": lambda days: calendar.first_of(calendar.months_of(days) // 3 * 3),
    "year": calendar.first_of_year,
}
_SYNONYMS: Final[Mapping[str, str]] = {
    "dd": "day",
    "mon": "month",
    "mm": "month",
    "yyyy": "year",
    "yy": "year",
}


def _unit(written: str) -> str | None:
    """The unit of this name; None if the letters of the name depend on the version of Unicode."""
    name = written.lower()
    return _SYNONYMS.get(name, name) if written.isascii() else None


def _date_trunc(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    match arguments:
        case [Fixed(None, _), argument]:
            return None if as_instant(argument, time_zone) is None else Fixed(None, TIMESTAMP)
        case [Fixed(str(written), _), argument]:
            unit, instant = _unit(written), as_instant(argument, time_zone)
            if unit is None or instant is None:
                return None
            if unit not in {**_INSTANTS, **_CLOCKS, **_DATES}:
                return Fixed(None, TIMESTAMP)
            return Call("date_trunc", (instant,), TIMESTAMP, (unit, time_zone))
    return None


def _trunc(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    match arguments:
        case [argument, Fixed(None, _)]:
            return None if as_date(argument, time_zone) is None else Fixed(None, DATE)
        case [argument, Fixed(str(written), _)]:
            unit, date = _unit(written), as_date(argument, time_zone)
            if unit is None or date is None:
                return None
            return Call("trunc", (date,), DATE, (unit,)) if unit in _DATES else Fixed(None, DATE)
    return None


def _truncated_date(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
    found = _DATES[str(call.settings[0])](integers(arguments[0], count))
    return fitting(DATE, found, missing_in((arguments[0],), count))


def _truncated(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
    unit = str(call.settings[0])
    zone = zone_of(str(call.settings[1]))
    assert zone is not None  # or it would not have been bound
    (values,) = arguments
    instants, missing = integers(values, count), missing_in((values,), count)
    if unit in _INSTANTS:
        low = instants < -(2**63) + 2 * DAY
        found = np.where(low, 0, instants)
        return fitting(TIMESTAMP, found - found % _INSTANTS[unit], missing, low, calendar.OUT_OF_RANGE)
    wall, unsure = zone.wall(instants)
    wall = np.where(unsure, 0, wall)
    if unit in _CLOCKS:
        found, outside = zone.moved(instants, wall - wall % _CLOCKS[unit])
    else:
        days = _DATES[unit](wall // DAY)
        found, outside = zone.start_of_day(days)
        outside |= zone.is_shown_twice(days * DAY)  # releases of Spark differ in which of the two they take
    return fitting(TIMESTAMP, found, missing, unsure | outside, zones.WHY)


FUNCTIONS: Final[Mapping[str, Callable[[Sequence[Argument], str], Argument | None]]] = {
    "date_trunc": _date_trunc,
    "trunc": _trunc,
}
KERNELS: Final[Mapping[str, Kernel]] = {"date_trunc": columnar(_truncated), "trunc": columnar(_truncated_date)}


def monotone(call: Call) -> tuple[int, ...] | None:
    """With the argument, where clocks are never set back."""
    if call.function == "trunc" or call.settings[0] in _INSTANTS:
        return (1,)
    return (1,) if temporal.fixed_offset(str(call.settings[1])) is not None else None
