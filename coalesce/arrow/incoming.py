"""Rows and schemas as callers hand them over: whatever speaks Arrow, pandas' data frames, dicts of Python's values.

What cannot be held in memory together comes as a stream: a reader, a dataset, a query of DuckDB's or polars', anything
with `__arrow_c_stream__`, an iterator of batches. None of these libraries is imported here: whoever has a frame of
polars' has polars imported already.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import groupby, islice
from operator import length_hint
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.types as at

from coalesce.arguments import shown
from coalesce.arrow.doors import described, has_rows, imported, is_frame, origins, streamed
from coalesce.arrow.frames import frame_schema, frame_table
from coalesce.arrow.once import read_once
from coalesce.arrow.records import records_schema, records_table, unknown
from coalesce.errors import SchemaError
from coalesce.model.schema import Schema
from coalesce.model.types import Field, StructType

# Python's dicts take more room than the rows they stand for, so that not too many are held at a time.
_RECORDS: Final = 8_192
_RECORDS_BYTES: Final = 1 << 20

_NO_ITEMS: Final = (str, bytes, bytearray, memoryview, Mapping, Set, np.ndarray, type)


@dataclass(frozen=True, slots=True)
class Incoming:
    """Rows that came in, to be consumed once; `streamed` if they need not all be in memory, else it is one table."""

    tables: Iterator[pa.Table]
    streamed: bool


def is_incoming(data: object) -> bool:
    """Whether `data` is rows or a schema that can be taken without Spark."""
    if isinstance(data, type) or any(module == "pyspark" for module, _ in origins(data)):
        return False
    return has_rows(data) or hasattr(data, "__arrow_c_schema__") or _is_series(data)


def incoming_schema(data: Any) -> pa.Schema:
    """The columns of what came in; no row of a stream is consumed."""
    if isinstance(data, list | tuple) and all(isinstance(item, Mapping) for item in data):
        return records_schema(data)
    if isinstance(data, list | tuple):
        return incoming_schema(data[0])
    found = _told(data)
    if found is None:
        raise SchemaError(
            f"what columns a {type(data).__name__} has shows only when its rows are read; create the table with a "
            "schema, and append the rows to it."
        )
    return found


def said_schema(data: Any, known: Schema) -> pa.Schema:
    """The columns of what came in for a table that has some already: without those that do not say their type.

    NULLs and empty lists have every type, and Python's values take the type of the column that there is for them.
    """
    if isinstance(data, list | tuple) and not has_rows(data):
        records = records_schema([unknown(item, known.fields) for item in data if isinstance(item, Mapping)])
        parts = [records, *(said_schema(item, known) for item in data if has_rows(item))]
        try:
            return pa.unify_schemas(parts, promote_options="permissive")
        except pa.ArrowException as error:
            raise SchemaError(f"no schema fits all of the rows: {str(error).rstrip('.')}.") from error
    told = _told(data)
    if told is None:
        raise SchemaError(
            f"what columns a {type(data).__name__} brings shows only when its rows are read, and they are written as "
            'they are read; give a list, a table or a reader to schema_mode="merge", or call add_column() first.'
        )
    return pa.schema(_said(told, known.fields))


def _told(data: Any) -> pa.Schema | None:
    """The columns of one thing that came in, or None if only its rows tell."""
    if isinstance(data, pa.Schema):
        return data
    return frame_schema(data) if is_frame(data) else described(data)


def _said(given: Iterable[pa.Field], known: Sequence[Field]) -> list[pa.Field]:
    """The fields, at any depth of structs, that are new or say their type."""
    own = {field.name.lower(): field.type for field in known}
    said = []
    for field in given:
        there = own.get(field.name.lower())
        if isinstance(there, StructType) and at.is_struct(field.type):
            members = _said([field.type.field(i) for i in range(field.type.num_fields)], there.fields)
            said += [field.with_type(pa.struct(members))] if members else []
        elif there is None or not _has_null_type(field.type):
            said.append(field)
    return said


def _has_null_type(type_: pa.DataType) -> bool:
    if at.is_dictionary(type_) or at.is_run_end_encoded(type_):
        return _has_null_type(type_.value_type)
    return at.is_null(type_) or any(_has_null_type(type_.field(i).type) for i in range(type_.num_fields))


def incoming_rows(data: Any, schema: Schema) -> Incoming:
    """The rows of what came in for a table of this schema."""
    if isinstance(data, pa.Table):
        return Incoming(iter([data]), streamed=False)
    if isinstance(data, pa.RecordBatch):
        return Incoming(iter([pa.Table.from_batches([data])]), streamed=False)
    if is_frame(data):
        return Incoming(iter([frame_table(data, schema)]), streamed=False)
    tables = streamed(data)
    if tables is not None:
        return Incoming(tables, streamed=True)
    if hasattr(data, "__arrow_c_array__"):
        return Incoming(iter([pa.Table.from_batches([imported(pa.record_batch, data)])]), streamed=False)
    if isinstance(data, list | tuple) and all(isinstance(item, Mapping) for item in data):
        return Incoming(iter([records_table(data, schema)] if data else []), streamed=False)
    if _is_series(data):
        return Incoming(_items(data, schema), streamed=True)
    raise SchemaError(f"a {type(data).__name__} has no rows to write; give a table, a data frame or record batches.")


# --- series of batches or of dicts -------------------------------------------------------------------------------


def _is_series(data: object) -> bool:
    """Whether `data` may be a series of batches or dicts; of one that can be looked at twice, whether it begins so."""
    no_items = isinstance(data, _NO_ITEMS) or hasattr(data, "__array__") or hasattr(data, "__arrow_c_schema__")
    if no_items or not isinstance(data, Iterable):
        return False
    return not isinstance(data, Sequence) or all(isinstance(i, Mapping) or has_rows(i) for i in islice(data, 1))


def _items(items: Iterable[Any], schema: Schema) -> Iterator[pa.Table]:
    """The rows of each item; dicts are taken many at a time."""
    read_once(items)
    for are_records, run in groupby(items, lambda item: isinstance(item, Mapping)):
        if are_records:
            yield from (records_table(records, schema) for records in _handfuls(run))
            continue
        for item in run:
            if not has_rows(item):
                raise SchemaError(f"rows come as record batches, tables or dicts, and {shown(item)} is none of these.")
            yield from incoming_rows(item, schema).tables


def _handfuls(records: Iterable[Any]) -> Iterator[list[Any]]:
    held, size = [], 0
    for record in records:
        held.append(record)
        size += _weight(record)
        if len(held) == _RECORDS or size >= _RECORDS_BYTES:
            yield held
            held, size = [], 0
    if held:
        yield held


def _weight(value: object) -> int:
    """About how many bytes a value of Python's is, which matters of those that may be long."""
    if isinstance(value, str | bytes | bytearray):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_weight, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(_weight, value))
    return length_hint(value, 8)
