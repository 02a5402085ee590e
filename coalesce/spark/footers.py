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
from coalesce.model.datafile import ColumnStatistics
from coalesce.model.schema import Schema
from coalesce.model.types import BINARY, BOOLEAN, FLOAT, FLOATING, STRING, AtomicType, DecimalType, Field, Value
from coalesce.model.values import decoded, scaled
from coalesce.spark.catalyst import compiled, evaluate, hadoop_configuration, jvm

# Bytes of a bound in a footer: enough that what an entry keeps of it, 32 characters, is what the value begins with.
BOUND_BYTES: Final = 256

_READ: Final = r"""
org.apache.hadoop.fs.FileSystem fs = root.getFileSystem(configuration);
java.util.ArrayList files = new java.util.ArrayList();
java.util.ArrayDeque directories = new java.util.ArrayDeque();
if (fs.exists(root)) directories.push(root);
while (!directories.isEmpty()) {
  org.apache.hadoop.fs.FileStatus[] entries = fs.listStatus((org.apache.hadoop.fs.Path) directories.pop());
  for (int i = 0; i < entries.length; i++) {
    String name = entries[i].getPath().getName();
    if (entries[i].isDirectory()) {
      if (!name.equals("_temporary")) directories.push(entries[i].getPath());
    } else if (name.endsWith(".parquet")) {
      files.add(entries[i]);
    }
  }
}
org.apache.parquet.column.statistics.DoubleStatistics probe =
  (org.apache.parquet.column.statistics.DoubleStatistics) org.apache.parquet.column.statistics.Statistics.createStats(
    (org.apache.parquet.schema.Type) org.apache.parquet.schema.Types.required(
      org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.DOUBLE).named("probe"));
probe.updateStats(Double.NaN);
probe.updateStats(1.0);
boolean nanIsGreatest = Double.isNaN(probe.getMax());
char end = (char) 0;
StringBuilder out = new StringBuilder();
java.util.Iterator footers =
  org.apache.parquet.hadoop.ParquetFileReader.readAllFootersInParallel(configuration, files, false).iterator();
for (int i = 0; footers.hasNext(); i++) {
  org.apache.parquet.hadoop.Footer footer = (org.apache.parquet.hadoop.Footer) footers.next();
  org.apache.hadoop.fs.FileStatus status = (org.apache.hadoop.fs.FileStatus) files.get(i);
  if (!status.getPath().equals(footer.getFile())) throw new IllegalStateException("footers out of order");
  java.util.List blocks = footer.getParquetMetadata().getBlocks();
  java.util.LinkedHashMap merged = new java.util.LinkedHashMap();
  java.util.HashMap sizes = new java.util.HashMap();
  java.util.HashSet unbounded = new java.util.HashSet();
  long rows = 0;
  for (int b = 0; b < blocks.size(); b++) {
    org.apache.parquet.hadoop.metadata.BlockMetaData block =
      (org.apache.parquet.hadoop.metadata.BlockMetaData) blocks.get(b);
    rows += block.getRowCount();
    java.util.List chunks = block.getColumns();
    for (int c = 0; c < chunks.size(); c++) {
      org.apache.parquet.hadoop.metadata.ColumnChunkMetaData chunk =
        (org.apache.parquet.hadoop.metadata.ColumnChunkMetaData) chunks.get(c);
      String[] path = chunk.getPath().toArray();
      if (path.length != 1) continue;
      Long before = (Long) sizes.get(path[0]);
      sizes.put(path[0], Long.valueOf((before == null ? 0L : before.longValue()) + chunk.getTotalSize()));
      org.apache.parquet.column.statistics.Statistics found = chunk.getStatistics();
      if (found == null || !found.isNumNullsSet()
          || (!found.hasNonNullValue() && found.getNumNulls() != chunk.getValueCount())) unbounded.add(path[0]);
      if (found == null) continue;
      if (merged.containsKey(path[0])) {
        ((org.apache.parquet.column.statistics.Statistics) merged.get(path[0])).mergeStatistics(found);
      } else {
        merged.put(path[0], found.copy());
      }
    }
  }
  out.append(status.getPath().toString()).append(end).append(status.getLen()).append(end).append(rows).append(end)
     .append(merged.size()).append(end);
  java.util.Iterator columns = merged.entrySet().iterator();
  while (columns.hasNext()) {
    java.util.Map.Entry column = (java.util.Map.Entry) columns.next();
    org.apache.parquet.column.statistics.Statistics s =
      (org.apache.parquet.column.statistics.Statistics) column.getValue();
    boolean known = !unbounded.contains(column.getKey());
    boolean floating = s instanceof org.apache.parquet.column.statistics.DoubleStatistics
      || s instanceof org.apache.parquet.column.statistics.FloatStatistics;
    boolean bounded = known && s.hasNonNullValue() && (nanIsGreatest || !floating);
    out.append(column.getKey()).append(end).append(sizes.get(column.getKey())).append(end)
       .append(s.isNumNullsSet() ? s.getNumNulls() : -1).append(end)
       .append(bounded ? java.util.HexFormat.of().formatHex(s.getMinBytes()) : "-").append(end)
       .append(bounded ? java.util.HexFormat.of().formatHex(s.getMaxBytes()) : "-").append(end);
  }
}
return out.toString();
"""


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
    parameters = {"root": "org.apache.hadoop.fs.Path", "configuration": "org.apache.hadoop.conf.Configuration"}
    script = compiled(session, _READ, "java.lang.String", parameters)
    path = jvm(session).org.apache.hadoop.fs.Path(directory)
    tokens = iter(evaluate(session, script, path, hadoop_configuration(session)).split("\0"))
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
