"""What speaks Arrow: how it is asked for its rows, a batch at a time, and for its columns.

Some libraries have a better way of their own than the one that all have.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from coalesce.arrow.once import read_once
from coalesce.errors import SchemaError

# Rows of a batch where we say how many: enough to be quick, few enough to count memory by.
BATCH_ROWS: Final = 65_536


def has_rows(data: object) -> bool:
    """Whether `data` is a table of some kind, or a stream of rows that knows its columns."""
    if _door(data) is not None or is_frame(data):
        return True
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")


def streamed(data: Any) -> Iterator[pa.Table] | None:
    """The rows of something that gives them a batch at a time, or None if it does not.

    The first table has none: columns that do not fit are found before a row is computed.
    """
    door = _door(data)
    if door is not None:
        return _batches(door.reader(data))
    if hasattr(data, "__arrow_c_stream__"):
        return _rows_of(data, _batches(imported(pa.RecordBatchReader.from_stream, data)))
    return None


def _batches(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    yield pa.Table.from_batches([], reader.schema)
    read_once(reader)
    for batch in reader:
        yield pa.Table.from_batches([batch])


def _rows_of(data: Any, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The tables; structs that are NULL are no rows, which Arrow says when it comes to them."""
    try:
        yield from tables
    except pa.ArrowInvalid as error:
        raise _not_taken(data, error) from error


def imported(convert: Callable[[Any], Any], data: Any) -> Any:
    """What pyarrow makes of something that is of another library, or a SchemaError."""
    try:
        return convert(data)
    except Exception as error:  # in whatever words the library has that `data` is of
        raise _not_taken(data, error) from error


def _not_taken(data: Any, error: Exception) -> SchemaError:
    return SchemaError(
        f"a {type(data).__name__} cannot be taken as a table: {str(error).rstrip('.')}. Give one, or a batch or a "
        "schema."
    )


def described(data: Any) -> pa.Schema | None:
    """The columns of something that speaks Arrow, or None if only its rows tell."""
    door = _door(data)
    if door is not None:
        return door.columns(data)
    if hasattr(data, "__arrow_c_schema__"):
        return imported(pa.schema, data)
    if hasattr(data, "__arrow_c_stream__"):
        return imported(pa.RecordBatchReader.from_stream, data).schema
    if hasattr(data, "__arrow_c_array__"):
        return imported(pa.record_batch, data).schema
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
    return next((_DOORS[origin] for origin in origins(data) if origin in _DOORS), None)


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


def _duckdb_columns(relation: Any) -> pa.Schema:
    """The columns of a query of DuckDB's, under their own names; in a table it changes those that are alike."""
    table = relation.limit(0).to_arrow_table()
    return pa.schema([f.with_name(name) for f, name in zip(table.schema, relation.columns, strict=True)])


def _duckdb_result(connection: Any) -> pa.RecordBatchReader:
    """The rows of the last query, which a connection gives once."""
    with warnings.catch_warnings():
        # DuckDB advises its relations, which are quicker; who has a connection knows why.
        warnings.filterwarnings("ignore", message="Arrow output on a DB-API result")
        reader = imported(_duckdb_reader, connection)
    if reader is None:
        raise SchemaError(
            "the DuckDB connection has no result, or it has been read before; execute a query, and give it then."
        )
    return reader


def _polars_reader(frame: Any) -> pa.RecordBatchReader:
    """The rows of a polars data frame. It would give Python's objects as well: their addresses, as binary."""
    objects = [name for name, type_ in frame.schema.items() if str(type_) == "Object"]
    if objects:
        raise SchemaError(f"column {objects[0]!r} holds Python objects, which a table cannot: convert them first.")
    try:
        return pa.RecordBatchReader.from_stream(frame)
    except pa.ArrowException as error:
        raise _foreign_types(frame, error) from error


def _foreign_types(frame: Any, error: Exception) -> SchemaError:
    """The sentence about columns of types that only polars has, such as integers of 128 bits."""
    foreign = []
    for name, type_ in frame.schema.items():
        try:
            pa.RecordBatchReader.from_stream(frame.head(0).select(name))
        except pa.ArrowException:
            foreign.append(f"column {name!r} is {type_}")
    if not foreign:
        return _not_taken(frame, error)
    return SchemaError(f"{', '.join(foreign)}, which Arrow does not have: cast it to a type that a table can hold.")


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
    ("duckdb", "DuckDBPyRelation"): _Door(_duckdb_reader, _duckdb_columns),
    ("duckdb", "DuckDBPyConnection"): _Door(_duckdb_result, lambda _: None),
    ("polars", "DataFrame"): _Door(_polars_reader, lambda frame: _polars_reader(frame).schema),
    ("polars", "LazyFrame"): _Door(_lazy_reader, _lazy_columns),
}


def is_frame(data: object) -> bool:
    """Whether `data` is a data frame of pandas', or of a class made from that."""
    return ("pandas", "DataFrame") in origins(data)


def origins(data: object) -> list[tuple[str, str]]:
    """The library and name of the class of `data`, and of the classes it is made from."""
    return [(kind.__module__.partition(".")[0].removeprefix("_"), kind.__name__) for kind in type(data).__mro__]
