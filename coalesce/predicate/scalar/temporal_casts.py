"""CAST to and from DATE, TIMESTAMP and TIMESTAMP_NTZ, as Spark does it in the session's time zone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.model.calendar_text import DAY, SECOND
from coalesce.model.columns import Mask, column_from, flags, numbers
from coalesce.model.types import (
    DATE,
    DOUBLE,
    INTEGRAL_BITS,
    STRING,
    TEMPORAL,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
)
from coalesce.predicate import temporal
from coalesce.predicate.scalar import zones
from coalesce.predicate.scalar.calendar import Integers, column, fitting, integers, missing_in, multiplied, years_of
from coalesce.predicate.scalar.columnar import Kernel, columnar
from coalesce.predicate.scalar.evaluated import Datum, Evaluated, sure, unsure_where
from coalesce.predicate.scalar.folding import made
from coalesce.predicate.scalar.nodes import Argument, Call, Fixed, Interval, Scalar
from coalesce.predicate.scalar.temporal_texts import WHY, Clock, read_date, read_timestamp
from coalesce.predicate.scalar.zones import UTC_ZONE, Zone, zone_of

_FIRST_PLAIN: Final = -719_162  # 0001-01-01, the first day that Arrow writes as Spark does
_AFTER_PLAIN: Final = 2_932_897  # 10000-01-01
_CYCLE: Final = 146_097  # days in 400 years, after which the calendar repeats itself
_SIGNS: Final = ("", "-", "+")  # before a year that has four digits, one before the year 0, and a longer one
_CANONICAL: Final = (
    r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?\z"  # what Arrow reads, too
)


def convert_temporal(argument: Argument, target: AtomicType, time_zone: str) -> Scalar | None:
    """CAST(argument AS target), where one of the two types is a date or timestamp; None where that is refused."""
    return _converted("cast_temporal", argument, target, time_zone)


def try_convert_temporal(argument: Argument, target: AtomicType, time_zone: str) -> Scalar | None:
    """TRY_CAST(argument AS target): NULL where CAST fails."""
    return _converted("try_cast_temporal", argument, target, time_zone)


def _converted(function: str, argument: Argument, target: AtomicType, time_zone: str) -> Scalar | None:
    if isinstance(argument, Interval) or zone_of(time_zone) is None:
        return None
    source = argument.type
    if source is None:
        return Fixed(None, target, folded=True)
    if source == target:
        return argument
    if source not in TEMPORAL and target not in TEMPORAL:
        return None
    allowed = (
        (source in TEMPORAL and target in TEMPORAL)
        or STRING in (source, target)
        or (source == TIMESTAMP and (target in INTEGRAL_BITS or target == DOUBLE))
        or (source in INTEGRAL_BITS and target == TIMESTAMP)
    )
    return made(Call(function, (argument,), target, (time_zone,)), KERNELS[function]) if allowed else None


def _cast(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
    zone = _zone(call)
    (values,) = arguments
    source, target = call.arguments[0].type, call.type
    missing = missing_in((values,), count)
    if source == STRING:
        return _from_text(call, values, count, zone)
    if target == STRING:
        return _printed(source, integers(values, count), missing, zone)
    if source in TEMPORAL and target in TEMPORAL:
        found, unsure = _changed(source, target, integers(values, count), zone)
        return fitting(target, found, missing, unsure, zones.WHY)
    if target == DOUBLE:
        return sure(column_from(integers(values, count) / SECOND, missing))
    if target == TIMESTAMP:
        return multiplied(target, integers(values, count), SECOND, missing)
    return fitting(target, integers(values, count) // SECOND, missing)


def _zone(call: Call) -> Zone:
    zone = zone_of(str(call.settings[0]))
    assert zone is not None  # or it would not have been bound
    return zone


def _changed(source: AtomicType | None, target: AtomicType, values: Integers, zone: Zone) -> tuple[Integers, Mask]:
    """One of the three types as another; TIMESTAMP has the zone, and the others are what a clock shows."""
    never = np.zeros(len(values), np.bool_)
    if source == DATE:
        return (zone if target == TIMESTAMP else UTC_ZONE).start_of_day(values)
    if source == TIMESTAMP:
        wall, unsure = zone.wall(values)
        return (wall // DAY if target == DATE else wall), unsure
    return (values // DAY, never) if target == DATE else zone.instant(values)


# --- texts ---------------------------------------------------------------------------------------------------------


def _printed(source: AtomicType | None, values: Integers, missing: Mask, zone: Zone) -> Evaluated:
    """As `2026-05-17` or `2026-05-17 08:30:00.125`, with no more digits than needed."""
    wall, unsure = zone.wall(values) if source == TIMESTAMP else (values, np.zeros(len(values), np.bool_))
    days = values if source == DATE else wall // DAY
    texts = _with_years(days, missing, partial(_in_plain_years, None if source == DATE else wall % DAY, missing))
    return unsure_where(texts, unsure & ~missing, zones.WHY)


def _in_plain_years(micros: Integers | None, missing: Mask, days: Integers) -> pa.Array:
    """Days, and times of day if there are any, as Arrow writes them: as Spark does, if the years have four digits."""
    if micros is None:
        return column(DATE, days, missing).cast(pa.string())
    texts = column(TIMESTAMP_NTZ, days * DAY + micros, missing).cast(pa.string())  # with six digits
    return pc.ascii_rtrim(pc.ascii_rtrim(texts, "0"), ".")


def _with_years(days: Integers, missing: Mask, write: Callable[[Integers], pa.Array]) -> pa.Array:
    """What is written of days in any year: that of the same day 400 years on or back, again and again, and its year.

    Spark writes `-0001-12-31`, `0000-01-01` and `+10000-01-01`.
    """
    far = ((days < _FIRST_PLAIN) | (days >= _AFTER_PLAIN)) & ~missing
    if not bool(far.any()):
        return write(days)
    years = years_of(days)
    texts = write(np.where(far, days - (years // 400 - 5) * _CYCLE, days))
    signs = pa.array(_SIGNS).take(column_from((years < 0) + 2 * (years > 9999)))
    digits = pc.utf8_lpad(column_from(np.abs(years)).cast(pa.string()), 4, "0")
    rest = pc.utf8_slice_codeunits(texts, 4)
    joined = pc.binary_join_element_wise(signs, digits, rest, pa.scalar("", pa.string()))
    return pc.if_else(column_from(far), joined, texts)


def is_in_order(call: Call, found: Datum) -> "Datum | None":
    """Where what comes of a call is in the order of what it is made of; None if that is so wherever `monotone` says it.

    As text, dates are in their order while their years have four digits: beyond, `+10000` comes before `0001`.
    """
    if call.function not in KERNELS or call.type != STRING:
        return None
    return pc.match_substring_regex(found, r"\A[0-9]")


def _from_text(call: Call, values: Datum, count: int, zone: Zone) -> Evaluated:
    encoded = values.dictionary_encode()
    missing, places = missing_in((encoded.indices,), count), integers(encoded.indices, count)
    texts = (
        encoded.dictionary if len(encoded.dictionary) else pa.array([""], pa.string())
    )  # a place for NULL to point to
    read = _read_dates(texts) if call.type == DATE else _read_timestamps(texts)
    failed, unsure = read.failed[places], read.unsure[places]
    if call.function == "try_cast_temporal":
        missing = missing | failed
    else:
        unsure = unsure | failed
    wall = read.wall[places]
    if call.type == TIMESTAMP:
        instants, outside = zone.instant(wall)
        says_so = read.says_offset[places]
        wall = np.where(says_so, wall - read.offset[places], instants)
        unsure = unsure | (outside & ~says_so)
    return fitting(call.type, wall, missing, unsure, WHY)


@dataclass(frozen=True, slots=True)
class _Read:
    """Distinct texts, read: days or microseconds on a clock, and the offset from UTC where they say one."""

    wall: Integers
    failed: Mask
    unsure: Mask
    offset: Integers
    says_offset: Mask


def _read_dates(texts: pa.Array) -> _Read:
    days = [read_date(text) for text in texts.to_pylist()]
    never, nothing = np.zeros(len(days), np.bool_), np.zeros(len(days), np.int64)
    failed = np.array([day is None for day in days])
    return _Read(np.array([day or 0 for day in days], np.int64), failed, never, nothing, never)


def _read_timestamps(texts: pa.Array) -> _Read:
    count = len(texts)
    read = _Read(
        np.zeros(count, np.int64),
        np.zeros(count, np.bool_),
        np.zeros(count, np.bool_),
        np.zeros(count, np.int64),
        np.zeros(count, np.bool_),
    )
    canonical = flags(pc.match_substring_regex(texts, _CANONICAL))
    try:
        clocks = texts.filter(column_from(canonical)).cast(pa.timestamp("us"))
        read.wall[canonical] = numbers(clocks)
    except pa.ArrowInvalid:  # one that looks like a time is none
        canonical[:] = False
    others = np.flatnonzero(~canonical)
    for place, text in zip(others.tolist(), texts.take(column_from(others.astype(np.int64))).to_pylist(), strict=True):
        match read_timestamp(text):
            case None:
                read.failed[place] = True
            case Clock(wall, offset):
                read.wall[place] = wall
                read.offset[place], read.says_offset[place] = offset or 0, offset is not None
            case _:
                read.unsure[place] = True
    return read


KERNELS: Final[Mapping[str, Kernel]] = {"cast_temporal": columnar(_cast), "try_cast_temporal": columnar(_cast)}


def monotone(call: Call) -> tuple[int, ...] | None:
    """Which way the result goes with the argument: with it, if clocks are never set back, and None if text is read.

    What becomes text does so where `is_in_order` holds at both ends.
    """
    if call.function not in KERNELS or call.arguments[0].type == STRING:
        return None
    plain = TIMESTAMP not in (call.arguments[0].type, call.type) or call.type in (*INTEGRAL_BITS, DOUBLE)
    return (1,) if plain or temporal.fixed_offset(str(call.settings[0])) is not None else None
