"""One way to ask a question for each engine: the whole of it where the engine speaks SQL, else what it can filter by.

Rows that an engine has filtered are asked the whole question by DuckDB, so that all answers are to the same one.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from pyiceberg.table import StaticTable

import coalesce
from tests.interop.queries import Query

Names = dict[str, str]
Reader = Callable[[Query, Names], pa.Table]


def coalesce_arrow(place: str) -> Reader:
    """Ours, without a JVM."""
    table = coalesce.open(place)
    return lambda query, names: asked(table.scan(query.condition(names) or None).to_arrow(), query, names)


def pyiceberg(place: str) -> Reader:
    """PyIceberg out of the export to Iceberg."""
    table = StaticTable.from_metadata(place)

    def read(query: Query, names: Names) -> pa.Table:
        condition = query.pyiceberg(names)
        return asked((table.scan(condition) if condition else table.scan()).to_arrow(), query, names)

    return read


def polars_iceberg(place: str) -> Reader:
    """Polars out of the export to Iceberg."""
    return _polars(lambda: pl.scan_iceberg(StaticTable.from_metadata(place)))


def polars_delta(place: str) -> Reader:
    """Polars out of the export to Delta, which must not be partitioned: it looks for values in directories' names."""
    return _polars(lambda: pl.scan_delta(place))


def _polars(scan: Callable[[], pl.LazyFrame]) -> Reader:
    def read(query: Query, names: Names) -> pa.Table:
        frame, condition = scan(), query.condition(names)
        pushed = condition and "TIMESTAMP" not in condition  # which Polars' SQL has no literal for
        found = frame.filter(pl.sql_expr(condition)) if pushed else frame
        return asked(found.collect().to_arrow(), query, names)

    return read


def delta_rs(place: str) -> Reader:
    """delta-rs and DataFusion out of the export to Delta."""
    table = DeltaTable(place)

    def read(query: Query, names: Names) -> pa.Table:
        return pa.table(QueryBuilder().register("t", table).execute(query.sql(names)).read_all())

    return read


def duckdb_iceberg(place: str) -> Reader:
    """DuckDB, which gets the rows from PyIceberg: its own extensions are not on any package index."""

    def read(query: Query, names: Names) -> pa.Table:
        return asked(StaticTable.from_metadata(place).scan().to_arrow_batch_reader(), query, names)

    return read


def duckdb_delta(place: str) -> Reader:
    """DuckDB, which gets the rows from delta-rs."""

    def read(query: Query, names: Names) -> pa.Table:
        rows = QueryBuilder().register("t", DeltaTable(place)).execute("SELECT * FROM t")
        return asked(pa.table(rows.read_all()), query, names)

    return read


def on_spark(spark: Any, format_: str, place: str) -> Reader:
    """Spark, with our source or a peer's; until another one is made, `t` is this one."""
    spark.read.format(format_).load(place).createOrReplaceTempView("t")

    def read(query: Query, names: Names) -> pa.Table:
        found: pa.Table = spark.sql(query.sql(names)).toArrow()
        return found

    return read


def asked(rows: Any, query: Query, names: Names) -> pa.Table:
    """The answer to the whole question, over some rows."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("t", rows)
    return connection.sql(query.sql(names)).to_arrow_table()


def answer(table: pa.Table) -> Counter[tuple[object, ...]]:
    """The rows, as often as there are, in values that compare."""
    return Counter(tuple(_plain(value) for value in row.values()) for row in _rows(table))


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    names = [f"c{i}" for i in range(table.num_columns)]
    found: list[dict[str, Any]] = table.rename_columns(names).to_pylist()
    return found


def _plain(value: Any) -> object:
    match value:
        case float():
            return "NaN" if math.isnan(value) else value + 0.0
        case Decimal():
            return value.normalize() + 0
        case datetime():
            return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        case Mapping():
            return tuple(_plain(v) for v in value.values())
        case list():
            return tuple(_plain(v) for v in value)
        case tuple():
            return tuple(_plain(v) for v in value)
        case _:
            return value
