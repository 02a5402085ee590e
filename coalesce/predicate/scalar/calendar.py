"""Days and months over columns, in the Gregorian calendar before 1582 too, as java.time counts them."""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.model.arrow_schema import arrow_type
from coalesce.model.columns import Mask, column_from, is_null, numbers
from coalesce.model.conversions import integer_range
from coalesce.model.types import INT32, AtomicType
from coalesce.predicate.scalar.evaluated import Datum, Evaluated, unsure_where

Integers = npt.NDArray[np.int64]

_MANY: Final = 1_000  # rows, from which on it is worth a look whether days are alike
OUT_OF_RANGE: Final = "a result is beyond the dates and times that there are"


def months_of(days: Integers) -> Integers:
    """The months since January 1970 that these days lie in."""
    return days.astype("M8[D]").astype("M8[M]").astype(np.int64)


def first_of(months: Integers) -> Integers:
    """The first days of months."""
    return months.astype("M8[M]").astype("M8[D]").astype(np.int64)


def years_of(days: Integers) -> Integers:
    """The years, with one 0 before the year 1."""
    return months_of(days) // 12 + 1970


def first_of_year(days: Integers) -> Integers:
    """The first days of the years that these days lie in."""
    return first_of(months_of(days) // 12 * 12)


def weekdays_of(days: Integers) -> Integers:
    """The days of the week, Monday is 0."""
    return (days + 3) % 7


def plus_months(days: Integers, months: Integers | int) -> Integers:
    """As many months later: the same day, or the last of a month that has no such day."""
    month = months_of(days)
    day = days - first_of(month)
    target = month + months
    start = first_of(target)
    later: Integers = start + np.minimum(day, first_of(target + 1) - start - 1)
    return later


def last_of_month(days: Integers) -> Integers:
    """The last days of the months that these days lie in."""
    return first_of(months_of(days) + 1) - 1


# --- columns -------------------------------------------------------------------------------------------------------


def integers(column: Datum, count: int) -> Integers:
    """Days, microseconds or integers, with 0 where NULL is."""
    if isinstance(column, pa.Scalar):
        column = pa.repeat(column, 1)
        return np.repeat(numbers(column, null=0).astype(np.int64), count)
    return numbers(column, null=0).astype(np.int64)


class Near(NamedTuple):
    """Days one after the other, and where among them those of a column are; NULL is nowhere."""

    days: Integers
    places: pa.Array


def near_each_other(column: Datum) -> Near | None:
    """The days of a column if they are few beside its rows, as those of events are: each is then computed once."""
    if not isinstance(column, pa.Array) or not pa.types.is_date32(column.type) or len(column) < _MANY:
        return None
    days = column.view(pa.int32())
    ends = pc.min_max(days).as_py()
    if ends["min"] is None or ends["max"] - ends["min"] >= len(column) // 4:
        return None
    between = np.arange(ends["min"], ends["max"] + 1, dtype=np.int64)
    return Near(between, pc.subtract(days, pa.scalar(ends["min"], pa.int32())))


def missing_in(columns: tuple[Datum, ...], count: int) -> Mask:
    """Where one of the columns is NULL."""
    missing = np.zeros(count, np.bool_)
    for column in columns:
        if isinstance(column, pa.Array):
            missing |= is_null(column)
    return missing


def column(type_: AtomicType | None, values: npt.NDArray[Any], missing: Mask) -> pa.Array:
    """Integers as a column of days, microseconds or integers; what does not fit means nothing."""
    assert type_ is not None  # of a call
    target = arrow_type(type_)
    width = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}[target.bit_width]
    return column_from(values.astype(width), missing).view(target)


def fitting(
    type_: AtomicType | None, values: Integers, missing: Mask, unsure: Mask | None = None, why: str = ""
) -> Evaluated:
    """The column, unsure where the values do not fit it, and where that is said."""
    least, greatest = integer_range(type_ or INT32)
    beyond = (values < least) | (values > greatest)
    if unsure is not None and bool((unsure & ~missing).any()):
        return unsure_where(column(type_, values, missing), (unsure | beyond) & ~missing, why)
    return unsure_where(column(type_, values, missing), beyond & ~missing, OUT_OF_RANGE)


def multiplied(type_: AtomicType | None, values: Integers, unit: int, missing: Mask) -> Evaluated:
    """The column of as many units, unsure where that is too much."""
    most = (2**63 - 1) // unit
    far = (values > most) | (values < -most)  # `abs` of the least of all is itself
    return fitting(type_, np.where(far, 0, values) * unit, missing, far, OUT_OF_RANGE)
