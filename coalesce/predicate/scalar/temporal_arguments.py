"""Arguments of functions of dates and times, in the types that Spark converts them to."""

from coalesce.model.types import DATE, INT32, INTEGRAL_BITS, STRING, TEMPORAL, TIMESTAMP, TIMESTAMP_NTZ
from coalesce.predicate.scalar.conversion import convert
from coalesce.predicate.scalar.nodes import Argument, Interval, Scalar
from coalesce.predicate.scalar.temporal_casts import convert_temporal
from coalesce.predicate.scalar.zones import zone_of


def as_date(argument: Argument, time_zone: str) -> Scalar | None:
    """The argument of a function that wants a DATE."""
    return convert_temporal(argument, DATE, time_zone) if _is_time(argument) else None


def as_instant(argument: Argument, time_zone: str) -> Scalar | None:
    """The argument of a function that wants a TIMESTAMP."""
    return convert_temporal(argument, TIMESTAMP, time_zone) if _is_time(argument) else None


def as_timestamp(argument: Argument, time_zone: str) -> Scalar | None:
    """The argument of a function that takes timestamps of both kinds."""
    if not isinstance(argument, Interval) and argument.type == TIMESTAMP_NTZ and zone_of(time_zone) is not None:
        return argument
    return as_instant(argument, time_zone)


def as_days(argument: Argument, time_zone: str) -> Scalar | None:
    """The argument of a function that wants a number of days or months: an INT."""
    if isinstance(argument, Interval) or not (argument.type is None or argument.type in INTEGRAL_BITS):
        return None
    return convert(argument, INT32, time_zone)


def _is_time(argument: Argument) -> bool:
    return not isinstance(argument, Interval) and (
        argument.type is None or argument.type == STRING or argument.type in TEMPORAL
    )
