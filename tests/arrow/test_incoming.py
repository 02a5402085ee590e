"""What is taken for rows or for a schema, what of it is consumed, and the sentences about all else."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import coalesce
from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import InvalidArgument, SchemaError
from coalesce.table.create import create_table
from coalesce.table.engine import Engines
from coalesce.table.table import Table
from tests.table.stores import MemoryStorage

ROWS = pa.table({"app": ["a", "b", None], "n": [1, 2, 3]})
NOON = datetime(2026, 5, 17, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Columns:
    """Something that has columns and no rows."""

    schema_: pa.Schema

    def __arrow_c_schema__(self) -> object:
        """The columns."""
        return self.schema_.__arrow_c_schema__()


def table_of(schema: Any, **arguments: Any) -> Table:
    """An empty table, in memory, with the columns of something."""
    return create_table(MemoryStorage(), Engines(ArrowEngine()), schema, **arguments)


def held(table: Table) -> list[tuple[object, ...]]:
    """The rows of a table, sorted."""
    return sorted((tuple(row.values()) for row in table.scan().to_arrow().to_pylist()), key=repr)


SCHEMAS: dict[str, Any] = {
    "schema": ROWS.schema,
    "capsule": Columns(ROWS.schema),
    "table": ROWS,
    "batches": ROWS.to_batches(),
    "dataset": ds.dataset(ROWS),
    "scanner": ds.dataset(ROWS).scanner(),
    "dicts": ROWS.to_pylist(),
    "pandas": ROWS.to_pandas(),
    "polars": pl.from_arrow(ROWS),
    "polars, lazy": pl.from_arrow(ROWS).lazy(),  # type: ignore[union-attr]
    "DuckDB": duckdb.from_arrow(ROWS),
}


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_table_is_created_from_what_it_will_hold(kind: str) -> None:
    """Whatever has columns gives them to a new table, and its rows are not consumed by that."""
    table = table_of(SCHEMAS[kind])
    assert [(f.name, str(f.type)) for f in table.schema] == [("app", "string"), ("n", "int64")]
    assert table.count() == 0


def test_a_reader_keeps_its_rows() -> None:
    """The columns of a reader are known without its rows."""
    reader = ROWS.to_reader()
    table = table_of(reader)
    table.append(reader)
    assert table.count() == 3


def test_an_iterator_does_not_tell_its_columns() -> None:
    """A table cannot be made from it without losing rows, so it is not."""
    with pytest.raises(SchemaError, match="what columns a generator has shows only when its rows are read"):
        table_of(batch for batch in ROWS.to_batches())
    with pytest.raises(SchemaError, match="what columns a DuckDBPyConnection has shows only when its rows are read"):
        table_of(duckdb.connect().execute("SELECT 1 AS n"))


def test_files_are_streamed_from_a_dataset(tmp_path: Path) -> None:
    """A directory of Parquet, filtered and projected."""
    for number in range(3):
        pq.write_table(ROWS.append_column("day", pa.array([number] * 3)), tmp_path / f"{number}.parquet")
    dataset = ds.dataset(tmp_path)
    table = table_of(ROWS)
    table.append(dataset.scanner(columns=["n", "app"], filter=pc.field("day") > 0))
    assert held(table) == [("a", 1), ("a", 1), ("b", 2), ("b", 2), (None, 3), (None, 3)]


def test_a_dataset_is_its_files_and_more(tmp_path: Path) -> None:
    """Columns that only directories say, files that lack a column, and a filter are all in its rows."""
    pq.write_to_dataset(ROWS, tmp_path, partition_cols=["app"])
    (tmp_path / "app=c").mkdir()
    pq.write_table(pa.table({"other": [1]}), tmp_path / "app=c" / "0.parquet")
    schema = pa.schema([("app", pa.string()), ("n", pa.int64())])
    dataset = ds.dataset(tmp_path, schema=schema, partitioning="hive")
    table = table_of(dataset)
    table.append(dataset)
    assert held(table) == [("a", 1), ("b", 2), ("c", None), (None, 3)]
    table.overwrite(dataset.filter(pc.field("n") > 1))
    assert held(table) == [("b", 2), (None, 3)]


def test_a_scan_goes_into_another_table() -> None:
    """Its columns, and its rows as they are read; an error of the scan keeps its type."""
    table = table_of(ROWS, partition_by=["app"])
    table.append(ROWS)
    copy = table_of(table.scan())
    copy.append(table.scan("n > 1"))
    assert held(copy) == [("b", 2), (None, 3)]
    with pytest.raises(coalesce.CoalesceError, match="only Spark can evaluate"):
        copy.append(table.scan("soundex(app) = 'a'"))
    assert copy.count() == 2


def test_items_may_be_of_any_kind() -> None:
    """An iterator of tables, frames and dicts, each with the columns it has."""
    table = table_of(ROWS)
    items: Iterator[object] = iter([ROWS, pl.from_arrow(ROWS), {"n": 7}, {"n": 8, "app": "x"}, ROWS.to_pandas()])
    table.append(items)
    assert table.count() == 11
    assert held(table)[-1] == (None, 7)


STREAMS: dict[str, Callable[[], Iterator[object] | pa.RecordBatchReader]] = {
    "generator": lambda: (batch for batch in ROWS.to_batches()),
    "reader": ROWS.to_reader,
    "map": lambda: map(dict, ROWS.to_pylist()),
    "list iterator": lambda: iter(ROWS.to_pylist()),
}


@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_is_not_read_twice(kind: str) -> None:
    """It has no more rows: that is no reason to overwrite the table with none, nor to take them for applied."""
    table, stream = table_of(ROWS), STREAMS[kind]()
    table.append(stream)
    for write in (table.append, table.overwrite, lambda rows: table.append(rows, applies=("job", 1))):
        with pytest.raises(InvalidArgument, match="has been read before, and a stream gives its rows only once"):
            write(stream)
    assert (table.refresh().count(), table.version) == (3, 1)
    table.append(STREAMS[kind](), applies=("job", 1))
    assert table.count() == 6


def test_what_is_left_of_a_stream_that_failed_is_not_all_of_it() -> None:
    """A write that refused a row has read those before it, and they would be missing."""
    values: list[object] = [1, "two", *[3] * 10_000]
    table, stream = table_of(ROWS), map(lambda n: {"n": n}, values)  # noqa: C417 - a map is what is tried
    with pytest.raises(SchemaError, match="row 1"):
        table.append(stream)
    with pytest.raises(InvalidArgument, match="this map has been read before"):
        table.append(stream)
    assert table.count() == 0


def test_a_reader_whose_columns_do_not_fit_is_not_read() -> None:
    """So the table may be changed, and the reader be given once more."""
    table, reader = table_of(ROWS.schema.remove(0)), ROWS.to_reader()
    with pytest.raises(SchemaError, match="there is no column 'app'"):
        table.append(reader)
    table.add_column("app", "string")
    assert table.append(reader).rows_added == 3


def test_a_generator_that_is_finished_is_refused() -> None:
    """Whoever has read it."""
    stream = (batch for batch in ROWS.to_batches())
    assert len(list(stream)) == 1
    with pytest.raises(InvalidArgument, match="this generator has been read before"):
        table_of(ROWS).append(stream)


NO_COLUMNS = pa.RecordBatch.from_struct_array(pa.array([{}] * 3, pa.struct([])))

BARE: dict[str, Callable[[], object]] = {
    "dicts": lambda: [{}] * 3,
    "iterator of dicts": lambda: iter([{}] * 3),
    "batch": lambda: NO_COLUMNS,
    "table": lambda: pa.Table.from_batches([NO_COLUMNS]),
    "reader": lambda: pa.RecordBatchReader.from_batches(pa.schema([]), iter([NO_COLUMNS])),
    "iterator of batches": lambda: (part for part in (NO_COLUMNS.slice(0, 1), NO_COLUMNS.slice(1))),
    "pandas": lambda: pd.DataFrame(index=range(3)),
}


@pytest.mark.parametrize("kind", BARE)
def test_rows_without_columns_are_rows(kind: str) -> None:
    """Each holds the columns' defaults, or NULL."""
    table = table_of(pa.schema([("n", pa.int64())]))
    assert table.append(BARE[kind]()).rows_added == 3
    assert held(table) == [(None,)] * 3


def test_rows_without_keys_among_others() -> None:
    """However many of them come one after the other."""
    table = table_of(pa.schema([("n", pa.int64())]))
    table.append(iter([{}] * 10_000 + [{"n": 1}] + [{}]))
    assert (table.count(), table.count("n = 1")) == (10_002, 1)


# --- types that producers love -----------------------------------------------------------------------------------

TAKEN: dict[str, tuple[pa.DataType, pl.Series]] = {
    "text": (pa.string(), pl.Series(["a", None, "long enough not to be inline"])),
    "categorical": (pa.string(), pl.Series(["a", None, "a"], dtype=pl.Categorical)),
    "enum": (pa.string(), pl.Series(["a", None, "b"], dtype=pl.Enum(["a", "b"]))),
    "binary": (pa.binary(), pl.Series([b"a", None])),
    "unsigned": (pa.int64(), pl.Series([2**32 - 1, None], dtype=pl.UInt32)),
    "nothing": (pa.int64(), pl.Series([None, None], dtype=pl.Null)),
    "nanoseconds": (pa.timestamp("us"), pl.Series([NOON.replace(tzinfo=None)], dtype=pl.Datetime("ns"))),
    "milliseconds": (pa.timestamp("us"), pl.Series([NOON.replace(tzinfo=None)], dtype=pl.Datetime("ms"))),
    "zone": (pa.timestamp("us", "UTC"), pl.Series([NOON]).dt.convert_time_zone("Asia/Tokyo")),
    "decimal": (pa.decimal128(20, 2), pl.Series([Decimal("1.25"), None], dtype=pl.Decimal(10, 2))),
    "list": (pa.list_(pa.int64()), pl.Series([[1, None], None, []], dtype=pl.List(pl.Int32))),
    "array": (pa.list_(pa.int64()), pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int32, 2))),
    "list of categorical": (pa.list_(pa.string()), pl.Series([["a"], None], dtype=pl.List(pl.Categorical))),
    "struct": (pa.struct([("x", pa.string())]), pl.Series([{"x": "a"}, None])),
}


@pytest.mark.parametrize("kind", TAKEN)
def test_types_of_polars(kind: str) -> None:
    """However polars encodes them, the values are the same."""
    type_, series = TAKEN[kind]
    table = table_of(pa.schema([("x", type_)]))
    table.append(pl.DataFrame({"x": series}))
    assert table.scan().to_arrow().column("x").to_pylist() == series.to_list()


REFUSED: dict[str, tuple[pl.Series, str]] = {
    "duration": (pl.Series([1], dtype=pl.Duration), "duration.*, which a table cannot hold: cast it to int64"),
    "time": (pl.Series([1], dtype=pl.Time), "time64.*, which a table cannot hold: cast it to int64"),
    "unsigned": (pl.Series([1], dtype=pl.UInt64), "uint64, which a table cannot hold: cast it to int64"),
    "128 bits": (pl.Series([1], dtype=pl.Int128), "column 'x' is Int128, which Arrow does not have: cast it"),
    "object": (pl.Series([object()]), "column 'x' holds Python objects, which a table cannot"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_types_of_polars_that_no_table_holds(kind: str) -> None:
    """One sentence, for a new table and for one that is there."""
    series, reason = REFUSED[kind]
    with pytest.raises(SchemaError, match=reason):
        table_of(pl.DataFrame({"x": series}))
    with pytest.raises(SchemaError, match=reason):
        table_of(pa.schema([("x", pa.int64())])).append(pl.DataFrame({"x": series}))


@pytest.mark.parametrize(
    ("type_", "sql", "expected"),
    [
        (pa.string(), "'a'::ENUM ('a', 'b')", "a"),
        (pa.int16(), "200::UTINYINT", 200),
        (pa.decimal128(18, 3), "1.5::DECIMAL(18, 3)", Decimal("1.500")),
        (pa.date32(), "DATE '2026-05-17'", date(2026, 5, 17)),
        (pa.timestamp("us", "UTC"), "TIMESTAMPTZ '2026-05-17 12:00:00+00'", NOON),
        (pa.timestamp("us"), "TIMESTAMP_NS '2026-05-17 12:00:00'", NOON.replace(tzinfo=None)),
        (pa.timestamp("us"), "TIMESTAMP_S '2026-05-17 12:00:00'", NOON.replace(tzinfo=None)),
        (pa.binary(), "'\\xff'::BLOB", b"\xff"),
        (pa.list_(pa.int32()), "[1, NULL]", [1, None]),
        (pa.map_(pa.string(), pa.int32()), "MAP {'a': 1}", [("a", 1)]),
        (pa.struct([("x", pa.int32())]), "{'x': 1}", {"x": 1}),
        (pa.float32(), "0.5::FLOAT", 0.5),
        (pa.int64(), "NULL", None),
    ],
)
def test_types_of_duckdb(type_: pa.DataType, sql: str, expected: object) -> None:
    """The values of a query, as a relation and as a result."""
    table = table_of(pa.schema([("x", type_)]))
    table.append(duckdb.sql(f"SELECT {sql} AS x"))
    table.append(duckdb.connect().execute(f"SELECT {sql} AS x"))
    assert table.scan().to_arrow().column("x").to_pylist() == [expected, expected]


@pytest.mark.parametrize("sql", ["INTERVAL 1 DAY", "TIME '12:00:00'", "1::UBIGINT"])
def test_types_of_duckdb_that_no_table_holds(sql: str) -> None:
    """One sentence each."""
    with pytest.raises(SchemaError, match=r"column 'x' is Arrow .*, which a table cannot hold"):
        table_of(duckdb.sql(f"SELECT {sql} AS x"))


def test_columns_of_one_name_make_no_table() -> None:
    """DuckDB would call the second another way, by which its rows do not come."""
    with pytest.raises(SchemaError, match="'a'"):
        table_of(duckdb.sql("SELECT 1 AS a, 2 AS a"))


def test_a_connection_gives_its_result_once() -> None:
    """Then it has none: not no rows. What DuckDB thinks of connections is no warning of ours."""
    connection = duckdb.connect()
    connection.execute("SELECT 'a' AS app, 1::BIGINT AS n")
    table = table_of(ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert table.append(connection).rows_added == 1
    with pytest.raises(SchemaError, match="the DuckDB connection has no result, or it has been read before"):
        table.append(connection)
    with pytest.raises(SchemaError, match="No open result set"):
        table.append(duckdb.connect())


@pytest.mark.parametrize(
    "rows",
    [
        pl.Series("s", [{"n": 1}, None]),
        pa.chunked_array([pa.array([{"n": 1}, None])]),
        pa.array([{"n": 1}, None]),
    ],
    ids=["series", "chunks", "array"],
)
def test_a_struct_that_is_null_is_no_row(rows: object) -> None:
    """It has no columns, not even of NULLs."""
    with pytest.raises(SchemaError, match="cannot be taken as a table"):
        table_of(ROWS).append(rows)


def test_nanoseconds_that_would_be_lost() -> None:
    """Refused, whoever has them."""
    table = table_of(pa.schema([("t", pa.timestamp("us"))]))
    for data in (
        pl.DataFrame({"t": pl.Series([1], dtype=pl.Datetime("ns"))}),
        duckdb.sql("SELECT make_timestamp_ns(1) AS t"),
    ):
        with pytest.raises(SchemaError, match="would lose data"):
            table.append(data)
    assert table.version == 0


# --- what is no table --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [pa.array([1]), pa.chunked_array([[1]]), pl.Series([1]), pa.array([{"app": "a", "n": 1}, None])],
    ids=["array", "chunks", "series", "missing row"],
)
def test_a_column_is_no_table(data: object) -> None:
    """What speaks Arrow but has no columns, or rows that are NULL as a whole."""
    with pytest.raises(SchemaError, match="cannot be taken as a table: "):
        table_of(ROWS).append(data)


@pytest.mark.parametrize("data", [pa.int64(), pa.field("n", pa.int64())])
def test_a_type_is_no_schema(data: object) -> None:
    """Nor is one field."""
    with pytest.raises(SchemaError, match="cannot be taken as a table: "):
        table_of(data)


@pytest.mark.parametrize("data", [None, 1, "rows", b"rows", {"a": [1]}, {"a"}, [1], [[1]], pd.NaT, pa.Table, object()])
def test_what_is_left_to_others(data: object) -> None:
    """It is neither rows nor a schema, and the sentence says what would be."""
    assert not ArrowEngine().accepts(data)
    with pytest.raises(
        SchemaError, match="is neither rows nor a schema that this table can take; give what speaks Arrow"
    ):
        table_of(ROWS).append(data)


# --- pandas ------------------------------------------------------------------------------------------------------


class Frame(pd.DataFrame):  # type: ignore[misc]
    """A class made from pandas' own."""


def test_frames_of_pandas_on_spark() -> None:
    """They are Spark's and no DataFrame of Spark's: the sentence says what makes them one."""
    frame = type("DataFrame", (), {"__module__": "pyspark.pandas.frame"})()
    with pytest.raises(SchemaError, match=r"give its rows as a Spark DataFrame, frame\.to_spark\(\), to a table"):
        table_of(ROWS).append(frame)


def test_classes_made_from_pandas() -> None:
    """They are data frames all the same, of which the index is no column."""
    table = table_of(Frame(ROWS.to_pandas()))
    table.append(Frame(ROWS.to_pandas()).set_index(pd.Index([7, 8, 9], name="k")))
    assert held(table) == [("a", 1), ("b", 2), (None, 3)]


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (ROWS.to_pandas().set_index("app", drop=False), "'app' is a column and a level of the index; leave one out"),
        (pd.DataFrame({"app": [NOON, NOON.replace(tzinfo=None)]}, dtype=object), "datetime with a time zone, datetime"),
        (pd.DataFrame({"app": [date(2026, 5, 17), pd.Timestamp(1)]}, dtype=object), "date, datetime without a time"),
        (pd.DataFrame({"app": [b"a", "a", None]}), "mixes values of bytes, str; give it one type, as with astype"),
        (pd.DataFrame({"app": [1.5, True, pd.NaT]}, dtype=object), "mixes values of bool, float"),
        (pd.DataFrame({"app": [pd.Interval(0, 1)]}), "column 'app'"),
        (pd.DataFrame({"app": [pd.Period("2026-05")]}), "column 'app'"),
    ],
)  # fmt: skip
def test_frames_that_cannot_be_taken(frame: pd.DataFrame, reason: str) -> None:
    """A sentence of ours that names the column."""
    table = table_of(ROWS)
    with pytest.raises(SchemaError, match=reason):
        table.append(frame)
    assert table.version == 0


def test_no_time_of_pandas_is_null() -> None:
    """In a column of times, of objects, and beside text."""
    table = table_of(pa.schema([("t", pa.timestamp("us")), ("s", pa.string())]))
    table.append(pd.DataFrame({"t": [pd.Timestamp("2026-05-17"), pd.NaT], "s": ["a", pd.NaT]}))
    table.append(pd.DataFrame({"t": [pd.NaT], "s": [pd.NaT]}, dtype=object))
    assert table.count("t IS NULL AND s IS NULL") == 2


def test_integers_of_pythons_own_in_a_frame_take_the_width_of_the_column(tmp_path: Path) -> None:
    """A column with NULLs may be of objects in pandas; those have no width, and one that is too large is refused."""
    table = coalesce.create(tmp_path / "t", pa.schema([("n", pa.int8())]))
    table.append(pd.DataFrame({"n": pd.Series([None, -128], dtype=object)}))
    assert table.scan().to_arrow().to_pydict() == {"n": [None, -128]}
    with pytest.raises(SchemaError, match="does not widen"):
        table.append(pd.DataFrame({"n": pd.Series([None, 128], dtype=object)}))
