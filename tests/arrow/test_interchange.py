"""Any rows, in by every door and out by every exit: the same rows."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.types as at
from hypothesis import given, settings

from coalesce.arrow.conform import conform
from coalesce.arrow.engine import ArrowEngine
from coalesce.arrow.scan import ArrowScan
from coalesce.model.schema import Schema, children
from coalesce.model.types import FLOATING, TEMPORAL, MapType, Type, is_atomic
from coalesce.model.version import Version
from coalesce.table.engine import Scan
from tests.arrow.generated import Generated, plain_rows, tables
from tests.builders import make_plan_over, make_snapshot, make_version
from tests.support.examples import examples

# Which types a library has, exactly.
Holds = Callable[[Type], bool]


@dataclass(frozen=True)
class Stream:
    """Something that is known by its method only."""

    rows: pa.Table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows."""
        return self.rows.__arrow_c_stream__(requested_schema)


@dataclass(frozen=True)
class Batch:
    """Likewise, and all in one piece."""

    rows: pa.Table

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        """The rows."""
        (batch,) = self.rows.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], self.rows.schema)]
        return batch.__arrow_c_array__(requested_schema)


def everything(_: Type) -> bool:
    """Every type."""
    return True


def no_maps(type_: Type) -> bool:
    """Every type in which there is no map."""
    return not isinstance(type_, MapType) and all(no_maps(field.type) for field in children(type_))


def no_times(type_: Type) -> bool:
    """Every type without dates and times, of which Python has only those of the years 1 to 9999."""
    return type_ not in TEMPORAL and all(no_times(field.type) for field in children(type_))


def plain(type_: Type) -> bool:
    """Atomic types without dates, times and floats, whose NULLs and NaNs pandas does not tell apart."""
    return is_atomic(type_) and type_ not in TEMPORAL and type_ not in FLOATING


def atomic_no_times(type_: Type) -> bool:
    """Atomic types without dates and times: those of DuckDB end with infinity."""
    return is_atomic(type_) and type_ not in TEMPORAL


def batches(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """The rows in batches of three."""
    yield from rows.to_batches(3)


def encoded(rows: pa.Table) -> pa.Table:
    """The rows as producers love to encode them: dictionaries, views, 64-bit offsets."""
    columns = []
    for number, column in enumerate(rows.columns):
        if at.is_string(column.type):
            wanted = (pa.string_view(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()))[number % 3]
            columns.append(column.cast(wanted))
        elif at.is_binary(column.type):
            columns.append(column.cast((pa.binary_view(), pa.large_binary())[number % 2]))
        elif at.is_list(column.type):
            columns.append(column.cast(pa.large_list(column.type.value_field)))
        elif at.is_primitive(column.type):
            columns.append(column.dictionary_encode() if number % 2 else column)
        else:
            columns.append(column)
    return pa.Table.from_arrays(columns, rows.column_names)


def executed(rows: pa.Table) -> Any:
    """The rows as the result of a query of DuckDB's."""
    connection = duckdb.connect()
    connection.register("given", rows)
    return connection.execute("SELECT * FROM given")


def queried(scan: Scan) -> pa.Table:
    """The rows by a query of DuckDB's."""
    return duckdb.from_arrow(scan).to_arrow_table()


DOORS: dict[str, tuple[Callable[[pa.Table], object], Holds]] = {
    "table": (lambda rows: rows, everything),
    "reader": (pa.Table.to_reader, everything),
    "list of batches": (lambda rows: list(batches(rows)), everything),
    "generator": (batches, everything),
    "dataset": (ds.dataset, everything),
    "scanner": (lambda rows: ds.dataset(rows).scanner(), everything),
    "stream": (Stream, everything),
    "array": (Batch, everything),
    "encoded": (encoded, everything),
    "dicts": (pa.Table.to_pylist, no_times),
    "generator of dicts": (lambda rows: iter(rows.to_pylist()), no_times),
    "pandas with Arrow's types": (lambda rows: rows.to_pandas(types_mapper=pd.ArrowDtype), everything),
    "pandas": (lambda rows: rows.to_pandas(integer_object_nulls=True), plain),
    "polars": (pl.from_arrow, no_maps),
    "polars, lazy": (lambda rows: pl.from_arrow(rows).lazy(), no_maps),  # type: ignore[union-attr]
    "DuckDB": (duckdb.from_arrow, atomic_no_times),
    "DuckDB, executed": (executed, atomic_no_times),
}

EXITS: dict[str, tuple[Callable[[Scan], pa.Table], Holds]] = {
    "to_arrow": (lambda scan: scan.to_arrow(), everything),
    "to_batches": (lambda scan: pa.Table.from_batches(scan.to_batches(), scan.schema), everything),
    "to_reader": (lambda scan: scan.to_reader().read_all(), everything),
    "stream": (pa.table, everything),
    "pandas": (lambda scan: pa.Table.from_pandas(scan.to_pandas(), preserve_index=False), plain),
    "to_polars": (lambda scan: scan.to_polars().to_arrow(), no_maps),
    "polars": (lambda scan: pl.DataFrame(scan).to_arrow(), no_maps),
    "DuckDB": (queried, atomic_no_times),
}


@settings(max_examples=examples(15))
@given(tables())
def test_in(generated: Generated) -> None:
    """Whatever the door, the table holds the rows bit for bit."""
    for door, (convert, holds) in DOORS.items():
        for version, rows in held(generated, holds):
            with tempfile.TemporaryDirectory() as directory:
                found = scanned(directory, version, convert(rows)).to_arrow()
            assert sorted(plain_rows(found)) == sorted(plain_rows(rows)), door


@settings(max_examples=examples(15))
@given(tables())
def test_out(generated: Generated) -> None:
    """Whatever the exit, the rows are those of the table; and a scan can be read again."""
    for exit_, (convert, holds) in EXITS.items():
        for version, rows in held(generated, holds):
            with tempfile.TemporaryDirectory() as directory:
                scan = scanned(directory, version, rows)
                for _ in range(2):
                    found = conform(convert(scan), version.schema)
                    assert sorted(plain_rows(found)) == sorted(plain_rows(rows)), exit_


def held(generated: Generated, holds: Holds) -> Iterator[tuple[Version, pa.Table]]:
    """The rows without the columns that a library does not hold, and a version that takes them, if any are left."""
    fields = tuple(f for f in generated.version.schema if holds(f.type))
    if fields:
        yield make_version(Schema(fields)), generated.rows.select([f.name for f in fields])


def scanned(directory: str, version: Version, rows: object) -> ArrowScan:
    """A scan of the rows, after they have been written."""
    snapshot = make_snapshot(Path(directory), version)
    files = ArrowEngine(buffer_bytes=300).write(snapshot, rows)
    return ArrowScan(snapshot, make_plan_over(version, files))
