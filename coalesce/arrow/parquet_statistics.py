"""What a Parquet file's statistics tell of a column, as far as they can be believed, whoever wrote the file.

Bounds are wrong in files that are about: strings compared by signed bytes, decimals by the bytes that hold them, NaN
taken for a bound, texts cut inside a character, 12-byte timestamps and unsigned numbers in no order that is ours.
pyarrow sorts out some of these by the writer's version. Here, bounds of what is stored as bytes are believed of writers
that are known to order them as the format says, and of no others; of everything else, what has an order of its own.
"""

import re
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from coalesce.model.arrow_schema import type_from_arrow
from coalesce.model.conversions import scaled
from coalesce.model.datafile import ColumnStatistics
from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    FLOATING,
    INTEGRAL_BITS,
    STRING,
    TEMPORAL,
    AtomicType,
    DecimalType,
    Value,
)
from coalesce.model.values import column_of, values_of

# The first release of each writer whose bounds of strings, binaries and decimals in bytes are in the format's order.
_WRITERS: Final = {
    "parquet-mr": (1, 10),
    "parquet-cpp": (1, 3),
    "parquet-cpp-arrow": (0, 0),
    "parquet-rs": (4, 0),
    "duckdb": (1, 0),
    "polars": (0, 0),
}
_WRITER: Final = re.compile(r"(?P<name>[A-Za-z-]+)(?: version v?(?P<major>\d+)\.(?P<minor>\d+))?")
_IN_BYTES: Final = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")


def told(
    chunk: pq.ColumnChunkMetaData, created_by: str | None, stored: pa.DataType, type_: AtomicType, *, no_nan: bool
) -> ColumnStatistics | None:
    """What the statistics of a column chunk, which is `stored` so, say of it as a `type_`; None if it has none.

    `no_nan` says that there is surely no NaN in it: Parquet's statistics do not tell.
    """
    if not chunk.is_stats_set or chunk.physical_type == "INT96":
        return None
    statistics = chunk.statistics
    null_count = statistics.null_count if statistics.has_null_count else None
    lower = upper = None
    if statistics.has_min_max and (chunk.physical_type not in _IN_BYTES or orders_bytes(created_by)):
        ends = [_value(raw, stored) for raw in (statistics.min_raw, statistics.max_raw)]
        if not any(end != end for end in ends):  # a writer that takes NaN for a bound says nothing by the other one
            lower, upper = (_widened(end, stored, type_) for end in ends)
    nan_count = 0 if no_nan and type_ in FLOATING else None
    return ColumnStatistics(lower=lower, upper=upper, null_count=null_count, nan_count=nan_count)


def orders_bytes(created_by: str | None) -> bool:
    """Whether a writer, by what it says of itself, is known to order strings, binaries and decimals as it should."""
    found = _WRITER.match(created_by or "")
    if found is None:
        return False
    least = _WRITERS.get(found["name"].lower())
    if least is None or (found["major"] is None and least > (0, 0)):
        return False
    return (int(found["major"] or 0), int(found["minor"] or 0)) >= least


def _widened(value: Value, stored: pa.DataType, type_: AtomicType) -> Value:
    """A bound in the type the column has now."""
    if value is None or isinstance(value, str | bytes):
        return value
    try:
        return values_of(type_, column_of(type_from_arrow(stored), [value]))[0]  # type: ignore[arg-type]
    except pa.ArrowException:
        return None


def _value(raw: object, stored: pa.DataType) -> Value:
    """Parquet's raw minimum or maximum as an in-memory value; None where the raw form is not one we know.

    Raw, because the other form is a Python datetime, and those end with the year 9999.
    """
    if pa.types.is_dictionary(stored):
        stored = stored.value_type
    if pa.types.is_unsigned_integer(stored) or (pa.types.is_timestamp(stored) and stored.unit != "us"):
        return None
    type_ = type_from_arrow(stored)
    match raw:
        case bool() if type_ == BOOLEAN:
            return raw
        case float() if type_ in FLOATING:
            return raw
        case int() if type_ in INTEGRAL_BITS or type_ in TEMPORAL:
            return raw
        case int() if isinstance(type_, DecimalType):
            return scaled(type_, raw)
        case bytes() if isinstance(type_, DecimalType):
            return scaled(type_, int.from_bytes(raw, "big", signed=True))
        case bytes() if type_ == BINARY:
            return raw
        case bytes() if type_ == STRING:
            return _text(raw)
        case _:
            return None


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:  # some writers cut long bounds inside a character
        return None
