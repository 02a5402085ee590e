"""Days and months added to dates, the days between two, and dates made of numbers."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np

from coalesce.model.types import DATE, INT32
from coalesce.predicate.scalar import calendar
from coalesce.predicate.scalar.calendar import Integers, fitting, integers, missing_in
from coalesce.predicate.scalar.columnar import Kernel, columnar
from coalesce.predicate.scalar.evaluated import Datum, Evaluated
from coalesce.predicate.scalar.nodes import Argument, Call, Fixed, Scalar
from coalesce.predicate.scalar.temporal_arguments import as_date, as_days


def _shifted(name: str, arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    """date_add, date_sub and add_months: a date and a number."""
    if len(arguments) != 2:
        return None
    date, number = as_date(arguments[0], time_zone), as_days(arguments[1], time_zone)
    return None if date is None or number is None else Call(name, (date, number), DATE)


def _difference(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    if len(arguments) != 2:
        return None
    end, start = as_date(arguments[0], time_zone), as_date(arguments[1], time_zone)
    return None if end is None or start is None else Call("datediff", (end, start), INT32)


def _made(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    parts = [as_days(argument, time_zone) for argument in arguments]
    known = tuple(part for part in parts if part is not None)
    return Call("make_date", known, DATE) if len(known) == len(parts) == 3 else None


_WEEKDAYS: Final = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")


def _next(arguments: Sequence[Argument], time_zone: str) -> Scalar | None:
    """next_day with a day of the week that there is: to another, ANSI mode says something else."""
    match arguments:
        case [argument, Fixed(None, _)]:
            date = as_date(argument, time_zone)  # on which Spark may fail before it sees the NULL
            return None if date is None else Call("date_add", (date, Fixed(None, INT32)), DATE)
        case [argument, Fixed(str(name), _)]:
            date = as_date(argument, time_zone)
            wanted = name.strip(" ").upper()
            found = [i for i, full in enumerate(_WEEKDAYS) if wanted in (full, full[:3], full[:2])]
            if date is not None and found and name.isascii():
                return Call("next_day", (date,), DATE, (found[0],))
    return None


def _of_two(function: Callable[[Integers, Integers], Integers]) -> Kernel:
    def kernel(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
        left, right = (integers(argument, count) for argument in arguments)
        return fitting(call.type, function(left, right), missing_in((arguments[0], arguments[1]), count))

    return kernel


def _make_date(_: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
    year, month, day = (integers(argument, count) for argument in arguments)
    missing = missing_in(tuple(arguments), count)
    exists = (np.abs(year) < 6_000_000) & (month >= 1) & (month <= 12) & (day >= 1)
    index = np.where(exists, (year - 1970) * 12 + month - 1, 0)
    first = calendar.first_of(index)
    exists &= day <= calendar.first_of(index + 1) - first
    return fitting(DATE, first + np.where(exists, day, 1) - 1, missing, ~exists, "there is no such date")


def _next_day(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
    days = integers(arguments[0], count)
    ahead = (int(call.settings[0]) - calendar.weekdays_of(days) - 1) % 7 + 1
    return fitting(DATE, days + ahead, missing_in((arguments[0],), count))


FUNCTIONS: Final[Mapping[str, Callable[[Sequence[Argument], str], Argument | None]]] = {
    **dict.fromkeys(("date_add", "dateadd"), partial(_shifted, "date_add")),
    "date_sub": partial(_shifted, "date_sub"),
    "add_months": partial(_shifted, "add_months"),
    **dict.fromkeys(("datediff", "date_diff"), _difference),
    "make_date": _made,
    "next_day": _next,
}
_KERNELS: Final[Mapping[str, Kernel]] = {
    "date_add": _of_two(lambda days, more: days + more),
    "date_sub": _of_two(lambda days, less: days - less),
    "add_months": _of_two(calendar.plus_months),
    "datediff": _of_two(lambda end, start: end - start),
    "make_date": _make_date,
    "next_day": _next_day,
}
KERNELS: Final[Mapping[str, Kernel]] = {name: columnar(kernel) for name, kernel in _KERNELS.items()}
_DIRECTIONS: Final[Mapping[str, tuple[int, ...]]] = {
    "date_add": (1, 1),
    "date_sub": (1, -1),
    "add_months": (1, 1),
    "datediff": (1, -1),
    "next_day": (1,),
}


def monotone(call: Call) -> tuple[int, ...] | None:
    """Which way the result goes with each argument: 1 with it, -1 against it; None if neither."""
    return _DIRECTIONS.get(call.function)
