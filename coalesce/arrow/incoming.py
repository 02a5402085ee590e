"""Rows and schemas as callers hand them over: whatever speaks Arrow, pandas' data frames, dicts of Python's values.

What cannot be held in memory together comes as a stream: a reader, a dataset, a query of DuckDB's or polars', anything
with `__arrow_c_stream__`, an iterator of batches. None of these libraries is imported here: whoever has a frame of
polars' has polars imported already.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.types as at

from coalesce.arguments import shown
from coalesce.arrow.frames import frame_schema, frame_table
from coalesce.arrow.records import records_schema, records_table
from coalesce.errors import SchemaError
from coalesce.model.schema import Schema

# Rows of a batch where we say how many: enough to be quick, few enough to count memory by.
BATCH_ROWS: Final = 65_536
# Python's dicts take more room than the rows they stand for.
_RECORDS: Final = 8_192

_NO_ITEMS: Final = (str, bytes, bytearray, memoryview, Mapping, Set, np.ndarray, type)


@dataclass(frozen=True, slots=True)
class Incoming:
    """Rows that came in, to be consumed once; `streamed` if they need not all be in memory, else it is one table."""

    tables: Iterator[pa.Table]
    streamed: bool


def is_incoming(data: object) -> bool:
    """Whether `data` is rows or a schema that can be taken without Spark."""
    if isinstance(data, type) or any(module == "pyspark" for module, _ in _origins(data)):
        return False
    return _has_rows(data) or hasattr(data, "__arrow_c_schema__") or _is_series(data)


def incoming_schema(data: Any) -> pa.Schema:
    """The columns of what came in; no row of a stream is consumed."""
    if isinstance(data, pa.Schema):
        return data
    if _is_frame(data):
        return frame_schema(data)
    if isinstance(data, list | tuple) and all(isinstance(item, Mapping) for item in data):
        return records_schema(data)
    if isinstance(data, list | tuple):
        return incoming_schema(data[0])
    found = _described(data)
    if found is None:
        raise SchemaError(
            f"what columns a {type(data).__name__} has shows only when its rows are read; create the table with a "
            "schema, and append the rows to it."
        )
    return found


def said_schema(data: Any, known: Schema) -> pa.Schema:
    """The columns of what came in for a table that has some already: without those that do not say their type.

    NULLs have every type, and Python's values take the type of the column that there is for them.
    """
    if isinstance(data, list | tuple) and all(isinstance(item, Mapping) for item in data):
        return records_schema([{n: v for n, v in item.items() if known.find(str(n)) is None} for item in data])
    return pa.schema([f for f in incoming_schema(data) if not at.is_null(f.type) or known.find(f.name) is None])


def incoming_rows(data: Any, schema: Schema) -> Incoming:
    """The rows of what came in for a table of this schema."""
    if isinstance(data, pa.Table):
        return Incoming(iter([data]), streamed=False)
    if isinstance(data, pa.RecordBatch):
        return Incoming(iter([pa.Table.from_batches([data])]), streamed=False)
    if _is_frame(data):
        return Incoming(iter([frame_table(data, schema.names)]), streamed=False)
    door = _door(data)
    if door is not None:
        return Incoming(_batches(door.reader(data)), streamed=True)
    if hasattr(data, "__arrow_c_stream__"):
        return Incoming(_batches(_imported(pa.RecordBatchReader.from_stream, data)), streamed=True)
    if hasattr(data, "__arrow_c_array__"):
        return Incoming(iter([pa.Table.from_batches([_imported(pa.record_batch, data)])]), streamed=False)
    if isinstance(data, list | tuple) and all(isinstance(item, Mapping) for item in data):
        return Incoming(iter([records_table(data, schema)] if data else []), streamed=False)
    if _is_series(data):
        return Incoming(_items(iter(data), schema), streamed=True)
    raise SchemaError(f"a {type(data).__name__} has no rows to write; give a table, a data frame or record batches.")


# --- what speaks Arrow -------------------------------------------------------------------------------------------


def _has_rows(data: object) -> bool:
    """Whether `data` is a table of some kind, or a stream of rows that knows its columns."""
    if _door(data) is not None or _is_frame(data):
        return True
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")


def _batches(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """The rows of a reader. The first table has none: columns that do not fit are found before a row is computed."""
    yield pa.Table.from_batches([], reader.schema)
    for batch in reader:
        yield pa.Table.from_batches([batch])


def _imported(convert: Callable[[Any], Any], data: Any) -> Any:
    try:
        return convert(data)
    except Exception as error:  # in whatever words the library has that `data` is of
        raise SchemaError(
            f"a {type(data).__name__} cannot be taken as a table: {str(error).rstrip('.')}. Give one, or a batch or a "
            "schema."
        ) from error


def _described(data: Any) -> pa.Schema | None:
    """The columns of something that speaks Arrow, or None if only its rows tell."""
    door = _door(data)
    if door is not None:
        return door.columns(data)
    if hasattr(data, "__arrow_c_schema__"):
        return _imported(pa.schema, data)
    if hasattr(data, "__arrow_c_stream__"):
        return _imported(pa.RecordBatchReader.from_stream, data).schema
    if hasattr(data, "__arrow_c_array__"):
        return _imported(pa.record_batch, data).schema
    return None


@dataclass(frozen=True, slots=True)
class _Door:
    """How something is asked for its rows, a batch at a time, and for its columns, without consuming any rows.

    Columns are None if they cannot be had so.
    """

    reader: Callable[[Any], pa.RecordBatchReader]
    columns: Callable[[Any], pa.Schema | None]


def _door(data: object) -> _Door | None:
    """The way of its own that something has to stream its rows; None if it has none."""
    return next((_DOORS[origin] for origin in _origins(data) if origin in _DOORS), None)


def _own_schema(data: Any) -> pa.Schema:
    return data.schema


def _dataset_reader(dataset: Any) -> pa.RecordBatchReader:
    """The rows of a dataset, a row group at a time: left to itself, Arrow reads a gigabyte ahead, in whatever steps."""
    if getattr(dataset, "_scan_options", True):  # it is filtered, and only as a whole
        return dataset.scanner(batch_size=BATCH_ROWS).to_reader()

    def batches() -> Iterator[pa.RecordBatch]:
        for fragment in dataset.get_fragments():
            parts = fragment.split_by_row_group() if hasattr(fragment, "split_by_row_group") else [fragment]
            for part in parts:
                yield from part.to_batches(schema=dataset.schema, batch_size=BATCH_ROWS)

    return pa.RecordBatchReader.from_batches(dataset.schema, batches())


def _duckdb_reader(query: Any) -> pa.RecordBatchReader:
    """The rows of a query of DuckDB's; the method had another name before release 2."""
    open_reader = getattr(query, "to_arrow_reader", None) or query.fetch_record_batch
    return open_reader(BATCH_ROWS)


def _polars_reader(frame: Any) -> pa.RecordBatchReader:
    """The rows of a polars data frame. It would give Python's objects as well: their addresses, as binary."""
    objects = [name for name, type_ in frame.schema.items() if str(type_) == "Object"]
    if objects:
        raise SchemaError(f"column {objects[0]!r} holds Python objects, which a table cannot: convert them first.")
    return _imported(pa.RecordBatchReader.from_stream, frame)


def _lazy_columns(frame: Any) -> pa.Schema:
    return _polars_reader(frame.collect_schema().to_frame()).schema


def _lazy_reader(frame: Any) -> pa.RecordBatchReader:
    """The rows of a query of polars', computed a batch at a time."""
    if not hasattr(frame, "collect_batches"):
        raise SchemaError("this polars cannot stream a LazyFrame; give its rows, lazy_frame.collect().")
    columns = _lazy_columns(frame)
    frames = frame.collect_batches(chunk_size=BATCH_ROWS, lazy=True)
    tables = (pa.table(part).cast(columns) for part in frames)
    return pa.RecordBatchReader.from_batches(columns, (batch for table in tables for batch in table.to_batches()))


# By the library and the class.
_DOORS: Final[dict[tuple[str, str], _Door]] = {
    # In C its errors would lose their type.
    ("coalesce", "ArrowScan"): _Door(lambda scan: scan.to_reader(), _own_schema),
    ("pyarrow", "RecordBatchReader"): _Door(lambda reader: reader, _own_schema),
    ("pyarrow", "Scanner"): _Door(lambda scanner: scanner.to_reader(), lambda scanner: scanner.projected_schema),
    ("pyarrow", "Dataset"): _Door(_dataset_reader, _own_schema),
    ("duckdb", "DuckDBPyRelation"): _Door(_duckdb_reader, lambda relation: relation.limit(0).to_arrow_table().schema),
    ("duckdb", "DuckDBPyConnection"): _Door(lambda connection: _imported(_duckdb_reader, connection), lambda _: None),
    ("polars", "DataFrame"): _Door(_polars_reader, lambda frame: _polars_reader(frame).schema),
    ("polars", "LazyFrame"): _Door(_lazy_reader, _lazy_columns),
}


def _is_frame(data: object) -> bool:
    """Whether `data` is a data frame of pandas', or of a class made from that."""
    return ("pandas", "DataFrame") in _origins(data)


def _origins(data: object) -> list[tuple[str, str]]:
    """The library and name of the class of `data`, and of the classes it is made from."""
    return [(kind.__module__.partition(".")[0].removeprefix("_"), kind.__name__) for kind in type(data).__mro__]


# --- series of batches or of dicts -------------------------------------------------------------------------------


def _is_series(data: object) -> bool:
    """Whether `data` may be a series of batches or dicts; of one that can be looked at twice, whether it begins so."""
    no_items = isinstance(data, _NO_ITEMS) or hasattr(data, "__array__") or hasattr(data, "__arrow_c_schema__")
    if no_items or not isinstance(data, Iterable):
        return False
    return not isinstance(data, Sequence) or all(isinstance(i, Mapping) or _has_rows(i) for i in islice(data, 1))


def _items(items: Iterator[Any], schema: Schema) -> Iterator[pa.Table]:
    """The rows of each item; dicts are taken many at a time."""
    for are_records, run in groupby(items, lambda item: isinstance(item, Mapping)):
        if are_records:
            while records := list(islice(run, _RECORDS)):
                yield records_table(records, schema)
            continue
        for item in run:
            if not _has_rows(item):
                raise SchemaError(f"rows come as record batches, tables or dicts, and {shown(item)} is none of these.")
            yield from incoming_rows(item, schema).tables
