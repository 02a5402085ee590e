"""Transforms as Spark columns: the same results as `model/transforms.py`, computed by Spark's own expressions.

Years, months, days and hours are counted in UTC from microseconds, never by Spark's functions of timestamps, which
go by the session's time zone. Nothing here can fail under ANSI mode: where a result would leave its type's range it
stops at the end, as in the model.

A bucket needs Iceberg's murmur3. Spark's `hash()` has another seed, hashes an int and a long of the same value apart,
and takes the last bytes of a string its own way; but what it takes is in the jars every executor has, and Catalyst
can call a static Java method from generated code.
"""

from collections.abc import Callable
from typing import Any, Final, assert_never

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from coalesce.model.conversions import integer_range, scaled
from coalesce.model.schema import Schema
from coalesce.model.spec import Spec
from coalesce.model.transforms import Bucket, Day, Hour, Identity, Month, Transform, Truncate, Void, Year, result_type
from coalesce.model.types import BINARY, DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, AtomicType, DecimalType, Field
from coalesce.spark.jvm.catalyst import column as column_of
from coalesce.spark.jvm.catalyst import method_call, static_call, timestamp_as_long
from coalesce.spark.translate.schema import spark_type

_HOUR: Final = 3_600_000_000
_DAY: Final = 24 * _HOUR
_INT32: Final = (-(2**31), 2**31 - 1)
_WIDEST_DECIMAL: Final = 38
_WIDTH_DIGITS: Final = 10  # of the largest width there is

_LONG_HASH: Final = "org.apache.spark.unsafe.hash.Murmur3_x86_32"
_BYTES_HASH: Final = "org.apache.commons.codec.digest.MurmurHash3"


def components(session: SparkSession, spec: Spec, schema: Schema, source: Callable[[Field], Column]) -> list[Column]:
    """The components of the rows' tuples, called `t0`, `t1`, …; `source` gives the column of a field."""
    found = []
    for number, partition_field in enumerate(spec.fields):
        field, type_ = schema.by_id(partition_field.source_id), schema.atomic(partition_field.source_id)
        assert field is not None
        assert type_ is not None
        found.append(component(session, partition_field.transform, type_, source(field)).alias(f"t{number}"))
    return found


def component(session: SparkSession, transform: Transform, source_type: AtomicType, column: Column) -> Column:
    """`transform` of a column of type `source_type`, in the Spark type of the transform's result; NULL gives NULL."""
    target = spark_type(result_type(transform, source_type))
    match transform:
        case Identity():
            return column
        case Void():
            return F.lit(None).cast(target)
        case Bucket(count):
            return _hash(session, source_type, column).bitwiseAND(F.lit(_INT32[1])) % F.lit(count)
        case Truncate(width):
            return _truncated(session, source_type, column, width)
        case Hour():
            hours = _floor_div(_micros(session, source_type, column), _HOUR)
            clipped = F.greatest(F.lit(_INT32[0]), F.least(F.lit(_INT32[1]), hours)).cast(target)
            return F.when(column.isNotNull(), clipped)  # greatest and least skip NULLs
        case Day():
            return _date(session, source_type, column)
        case Month():
            date = _date(session, source_type, column)
            return (F.year(date) - F.lit(1970)) * F.lit(12) + F.month(date) - F.lit(1)
        case Year():
            return F.year(_date(session, source_type, column)) - F.lit(1970)
        case _:
            assert_never(transform)


# --- year, month, day, hour --------------------------------------------------------------------------------------


def _date(session: SparkSession, source_type: AtomicType, column: Column) -> Column:
    if source_type == DATE:
        return column
    return F.date_from_unix_date(_floor_div(_micros(session, source_type, column), _DAY).cast("int"))


def _micros(session: SparkSession, source_type: AtomicType, column: Column) -> Column:
    if source_type == TIMESTAMP:
        return F.unix_micros(column)
    return timestamp_as_long(session, column, "timestamp_ntz")  # by way of a timestamp it would depend on the zone


def _floor_div(numbers: Column, by: int) -> Column:
    """Rounded towards minus infinity; Spark's `div` rounds towards zero, and `/` goes through floating point."""
    divisor = F.lit(by).cast("bigint")
    below = F.when(numbers % divisor < F.lit(0), F.lit(1)).otherwise(F.lit(0))
    return F.call_function("div", numbers, divisor) - below


# --- truncate ----------------------------------------------------------------------------------------------------


def _truncated(session: SparkSession, source_type: AtomicType, column: Column, width: int) -> Column:
    if source_type in (STRING, BINARY):
        return F.substring(column, 1, width)
    if isinstance(source_type, DecimalType):
        return _truncated_decimal(session, source_type, column, width)
    minimum = F.lit(integer_range(source_type)[0]).cast("bigint")
    numbers = column.cast("bigint")
    excess = F.pmod(numbers, F.lit(width).cast("bigint"))
    # Compared before subtracting: near the minimum of a long the difference itself would overflow.
    truncated = F.when(numbers < minimum + excess, minimum).otherwise(numbers - excess)
    return truncated.cast(spark_type(source_type))


def _truncated_decimal(session: SparkSession, type_: DecimalType, column: Column, width: int) -> Column:
    # Wide enough for what is left over, which can be as large as the width, and for the step below the minimum.
    wide = DecimalType(min(_WIDEST_DECIMAL, max(type_.precision, _WIDTH_DIGITS) + 1), type_.scale)
    numbers = column.cast(spark_type(wide))
    excess = F.pmod(numbers, F.lit(scaled(type_, width)).cast(spark_type(wide)))
    # An operator would give 38 digits another scale; the method does not ask for the type.
    difference = column_of(session, method_call(session, numbers, "$minus", str(wide), excess))
    minimum = F.lit(scaled(type_, integer_range(type_)[0]))
    return F.when(difference < minimum, minimum).otherwise(difference).cast(spark_type(type_))


# --- bucket ------------------------------------------------------------------------------------------------------


def _hash(session: SparkSession, source_type: AtomicType, column: Column) -> Column:
    """Iceberg's hash: integers, dates and timestamps as longs, text and binary as bytes, decimals as BigInteger's."""
    if source_type in (STRING, BINARY):
        return _bytes_hash(session, column.cast("binary"))
    if isinstance(source_type, DecimalType):
        number = method_call(session, column, "toJavaBigDecimal", "java.math.BigDecimal")
        whole = method_call(session, number, "unscaledValue", "java.math.BigInteger")
        return _bytes_hash(session, method_call(session, whole, "toByteArray", "binary"))
    if source_type == DATE:
        longs = F.unix_date(column).cast("bigint")
    elif source_type in (TIMESTAMP, TIMESTAMP_NTZ):
        longs = _micros(session, source_type, column)
    else:
        longs = column.cast("bigint")
    return static_call(session, _LONG_HASH, "hashLong", "int", longs, F.lit(0))


def _bytes_hash(session: SparkSession, data: Any) -> Column:
    return static_call(session, _BYTES_HASH, "hash32x86", "int", data)
