"""Functions of dates and timestamps: their fields, and the numbers they are counted by.

Spark's functions of dates take timestamps and texts as well, as what CAST to DATE makes of them in the session's time
zone.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np

from coalesce.model.calendar_text import SECOND
from coalesce.model.columns import Mask
from coalesce.model.types import (
    DATE,
    INT32,
    INT64,
    INTEGRAL_BITS,
    STRING,
    TEMPORAL,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
)
from coalesce.predicate.scalar import calendar, date_arithmetic, intervals, temporal_casts, truncation, zones
from coalesce.predicate.scalar.calendar import Integers, fitting, integers, missing_in
from coalesce.predicate.scalar.columnar import Kernel, columnar
from coalesce.predicate.scalar.conversion import convert
from coalesce.predicate.scalar.evaluated import Datum, Evaluated
from coalesce.predicate.scalar.nodes import Argument, Call, Interval, Scalar
from coalesce.predicate.scalar.temporal_arguments import as_date, as_days, as_timestamp
from coalesce.predicate.scalar.zones import UTC_ZONE, zone_of

Chooser = Callable[[Sequence[Argument], str], Argument | None]

add = intervals.add
subtract = intervals.subtract


# --- fields --------------------------------------------------------------------------------------------------------


def _month(days: Integers) -> Integers:
    return calendar.months_of(days) % 12 + 1


def _quarter(days: Integers) -> Integers:
    return calendar.months_of(days) % 12 // 3 + 1


def _day(days: Integers) -> Integers:
    return days - calendar.first_of(calendar.months_of(days)) + 1


def _day_of_week(days: Integers) -> Integers:
    """Sunday is 1."""
    return (days + 4) % 7 + 1


def _day_of_year(days: Integers) -> Integers:
    return days - calendar.first_of_year(days) + 1


def _week_of_year(days: Integers) -> Integers:
    """The week belongs to the year that its Thursday lies in."""
    thursday = days - calendar.weekdays_of(days) + 3
    return (_day_of_year(thursday) - 1) // 7 + 1


_OF_DATES: Final[Mapping[str, tuple[Callable[[Integers], Integers], AtomicType]]] = {
    "year": (calendar.years_of, INT32),
    "quarter": (_quarter, INT32),
    "month": (_month, INT32),
    "day": (_day, INT32),
    "dayofweek": (_day_of_week, INT32),
    "weekday": (calendar.weekdays_of, INT32),
    "dayofyear": (_day_of_year, INT32),
    "weekofyear": (_week_of_year, INT32),
    "last_day": (calendar.last_of_month, DATE),
    "unix_date": (lambda days: days, INT32),
    "date_from_unix_date": (lambda days: days, DATE),
}
_OF_CLOCKS: Final[Mapping[str, Callable[[Integers], Integers]]] = {
    "hour": lambda wall: wall // (3600 * SECOND) % 24,
    "minute": lambda wall: wall // (60 * SECOND) % 60,
    "second": lambda wall: wall // SECOND % 60,
}
_COUNTS: Final[Mapping[str, int]] = {"seconds": SECOND, "millis": 1000, "micros": 1}  # microseconds in each


def _of_date(name: str, arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    date = as_date(arguments[0], time_zone) if len(arguments) == 1 else None
    return None if date is None else Call(name, (date,), _OF_DATES[name][1])


def _of_clock(name: str, arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    """A field of the time of day, as a clock shows it in the session's zone."""
    shown = as_timestamp(arguments[0], time_zone) if len(arguments) == 1 else None
    return None if shown is None else Call(name, (shown,), INT32, (time_zone,))


def _unix(name: str, arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    """unix_date and its like, which take no other type than theirs."""
    wanted, result = (DATE, INT32) if name == "date" else (TIMESTAMP, INT64)
    match arguments:
        case [argument] if not isinstance(argument, Interval) and argument.type in (wanted, None):
            own = convert(argument, wanted, time_zone)
            return None if own is None else Call(f"unix_{name}", (own,), result)
    return None


def _from_unix(name: str, arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    match arguments:
        case [argument] if not isinstance(argument, Interval) and argument.type in (*INTEGRAL_BITS, None):
            number = convert(argument, INT64, time_zone) if argument.type is None else argument
            return None if number is None else Call(f"timestamp_{name}", (number,), TIMESTAMP)
    return None


def _date_from_unix(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    days = as_days(arguments[0], time_zone) if len(arguments) == 1 else None
    return None if days is None else Call("date_from_unix_date", (days,), DATE)


def _field(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
    near = calendar.near_each_other(arguments[0])
    if near is not None:
        each = _of_days(call, near.days, np.zeros(len(near.days), np.bool_))
        if each.unsure is None:
            return Evaluated(each.values.take(near.places))
    return _of_days(call, integers(arguments[0], count), missing_in((arguments[0],), count))


def _of_days(call: Call, days: Integers, missing: Mask) -> Evaluated:
    return fitting(call.type, _OF_DATES[call.function][0](days), missing)


def _clock_field(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
    has_zone = call.arguments[0].type == TIMESTAMP
    zone = zone_of(str(call.settings[0])) if has_zone else UTC_ZONE
    assert zone is not None  # or it would not have been bound
    wall, unsure = zone.wall(integers(arguments[0], count))
    if not has_zone:
        unsure = np.zeros(count, np.bool_)
    return fitting(INT32, _OF_CLOCKS[call.function](wall), missing_in((arguments[0],), count), unsure, zones.WHY)


def _counted(unit: int, call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
    return fitting(call.type, integers(arguments[0], count) // unit, missing_in((arguments[0],), count))


def _from_count(unit: int, call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
    numbers, missing = integers(arguments[0], count), missing_in((arguments[0],), count)
    return calendar.multiplied(call.type, numbers, unit, missing) if unit > 1 else fitting(call.type, numbers, missing)


# --- conversions without a format ------------------------------------------------------------------------------------


def _cast_to(target: AtomicType, arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    match arguments:
        case [argument] if not isinstance(argument, Interval) and (
            argument.type is None or argument.type == STRING or argument.type in TEMPORAL
        ):
            return temporal_casts.convert_temporal(argument, target, time_zone)
    return None


FUNCTIONS: Final[Mapping[str, Chooser]] = {
    **date_arithmetic.FUNCTIONS,
    **truncation.FUNCTIONS,
    **{name: partial(_of_date, name) for name in _OF_DATES if "unix" not in name},
    "dayofmonth": partial(_of_date, "day"),
    **{name: partial(_of_clock, name) for name in _OF_CLOCKS},
    **{f"unix_{name}": partial(_unix, name) for name in ("date", *_COUNTS)},
    **{f"timestamp_{name}": partial(_from_unix, name) for name in _COUNTS},
    "date_from_unix_date": _date_from_unix,
    "to_date": partial(_cast_to, DATE),
    "to_timestamp": partial(_cast_to, TIMESTAMP),
    "to_timestamp_ntz": partial(_cast_to, TIMESTAMP_NTZ),
}
_KERNELS: Final[Mapping[str, Kernel]] = {
    **dict.fromkeys(_OF_DATES, _field),
    **dict.fromkeys(_OF_CLOCKS, _clock_field),
    **{f"unix_{name}": partial(_counted, unit) for name, unit in _COUNTS.items()},
    **{f"timestamp_{name}": partial(_from_count, unit) for name, unit in _COUNTS.items()},
}
KERNELS: Final[Mapping[str, Kernel]] = {
    **{name: columnar(kernel) for name, kernel in _KERNELS.items()},
    **date_arithmetic.KERNELS,
    **truncation.KERNELS,
    **intervals.KERNELS,
    **temporal_casts.KERNELS,
}
_DIRECTIONS: Final[Mapping[str, tuple[int, ...]]] = {
    "year": (1,),
    "last_day": (1,),
    "unix_date": (1,),
    "date_from_unix_date": (1,),
    **{f"unix_{name}": (1,) for name in _COUNTS},
    **{f"timestamp_{name}": (1,) for name in _COUNTS},
}


def monotone(call: Call) -> tuple[int, ...] | None:
    """Which way the result goes with each argument: 1 with it, -1 against it; None if neither.

    Between two values of which the results are certain every result lies between those two.
    """
    if call.function in date_arithmetic.KERNELS:
        return date_arithmetic.monotone(call)
    if call.function in truncation.KERNELS:
        return truncation.monotone(call)
    if call.function in intervals.KERNELS:
        return intervals.monotone(call)
    if call.function in temporal_casts.KERNELS:
        return temporal_casts.monotone(call)
    return _DIRECTIONS.get(call.function)
