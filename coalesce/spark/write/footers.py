"""The footers of a write's files, read in the driver's JVM all at once: names, sizes, rows, bounds and NULL counts.

One string crosses to Python however many files there are. Parquet's Java library counts NaN as the greatest value when
it writes bounds, and drops bounds with a NaN when it reads them. So if a floating-point column has bounds, they hold
and there is no NaN; if it has none, there may be. A library that is found to count otherwise has no bounds to say.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import SparkSession

from coalesce.arrow.statistics import lower_bound, upper_bound
from coalesce.errors import SchemaError
from coalesce.model.conversions import scaled
from coalesce.model.datafile import ColumnStatistics
from coalesce.model.schema import Schema
from coalesce.model.types import BINARY, BOOLEAN, FLOAT, FLOATING, STRING, AtomicType, DecimalType, Field, Value
from coalesce.model.values import decoded
from coalesce.spark.jvm.catalyst import hadoop_configuration, jvm
from coalesce.spark.jvm.java_helpers import helper

# Bytes of a bound in a footer: enough that what an entry keeps of it, 32 characters, is what the value begins with.
BOUND_BYTES: Final = 256


@dataclass(frozen=True, slots=True)
class Chunk:
    """What footers say of one column: its length, NULLs, and bounds as Parquet's own bytes; None is unknown."""

    length: int
    null_count: int | None
    lower: bytes | None
    upper: bytes | None


@dataclass(frozen=True, slots=True)
class Footer:
    """One file: `uri` as Spark takes it, its length, its rows and its top-level columns by physical name."""

    uri: str
    bytes: int
    rows: int
    columns: Mapping[str, Chunk]


def read_footers(session: SparkSession, directory: str) -> list[Footer]:
    """The footers of all Parquet files below a directory; none if it is not there."""
    path = jvm(session).org.apache.hadoop.fs.Path(directory)
    reader = helper(session.sparkContext._gateway, "Footers")
    tokens = iter(reader.read(path, hadoop_configuration(session)).split("\0"))
    footers = []
    while uri := next(tokens):
        size, rows, count = int(next(tokens)), int(next(tokens)), int(next(tokens))
        columns = {}
        for _ in range(count):
            name, length, nulls, lower, upper = (next(tokens) for _ in range(5))
            columns[name] = Chunk(int(length), None if nulls == "-1" else int(nulls), _bytes(lower), _bytes(upper))
        footers.append(Footer(uri, size, rows, columns))
    return footers


def _bytes(text: str) -> bytes | None:
    return None if text == "-" else bytes.fromhex(text)


# --- statistics --------------------------------------------------------------------------------------------------


def footer_statistics(footer: Footer, schema: Schema) -> dict[int, ColumnStatistics]:
    """Statistics by column id, of every atomic column but those of `may_have_nan`."""
    found = {}
    for field in schema:
        type_, chunk = schema.atomic(field.id), footer.columns.get(field.physical_name)
        if type_ is not None and chunk is not None and not may_have_nan(footer, field):
            found[field.id] = ColumnStatistics(
                lower=lower_bound(_bound(type_, chunk.lower)),
                upper=upper_bound(_bound(type_, chunk.upper)),
                null_count=chunk.null_count,
                nan_count=0 if type_ in FLOATING else None,
            )
    return found


def _bound(type_: AtomicType, raw: bytes | None) -> Value:
    """A bound; None, which is unknown, where it is a string that is not UTF-8, as Spark lets strings be."""
    try:
        return _value(type_, raw)
    except SchemaError:
        return None


def may_have_nan(footer: Footer, field: Field) -> bool:
    """Whether a column may hold NaN: it is floating-point, holds some value, and has no bounds."""
    chunk = footer.columns.get(field.physical_name)
    return field.type in FLOATING and chunk is not None and chunk.lower is None and chunk.null_count != footer.rows


def constants(footer: Footer, schema: Schema, column_ids: Sequence[int]) -> list[Value] | None:
    """The value each column has in every row, if footers show that each has one; None otherwise."""
    values: list[Value] = []
    for column_id in column_ids:
        field, type_ = schema.by_id(column_id), schema.atomic(column_id)
        chunk = None if field is None else footer.columns.get(field.physical_name)
        if chunk is None or type_ is None or type_ in FLOATING or chunk.null_count is None:
            return None
        if chunk.null_count == footer.rows:
            values.append(None)
        elif chunk.null_count == 0 and chunk.lower is not None and chunk.lower == chunk.upper:
            if len(chunk.lower) >= BOUND_BYTES:  # it may have been cut
                return None
            values.append(_value(type_, chunk.lower))
        else:
            return None
    return values


def _value(type_: AtomicType, raw: bytes | None) -> Value:
    """An in-memory value from the bytes of a bound that Spark's Parquet writer made."""
    if raw is None:
        return None
    if type_ == BOOLEAN:
        return raw != b"\0"
    if type_ == STRING:
        return decoded(raw)
    if type_ == BINARY:
        return raw
    if isinstance(type_, DecimalType):
        # Up to 18 digits it is an integer of the machine, above that the digits in network order.
        return scaled(type_, int.from_bytes(raw, "little" if type_.precision <= 18 else "big", signed=True))
    if type_ in FLOATING:
        number: float = struct.unpack("<f" if type_ == FLOAT else "<d", raw)[0]
        return number
    return int.from_bytes(raw, "little", signed=True)
