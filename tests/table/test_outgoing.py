"""What a scan comes out as."""

import sys
from datetime import UTC, date, datetime

import duckdb
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pytest

import coalesce
from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import CoalesceError, NotInstalled, StorageError
from coalesce.table.create import create_table
from coalesce.table.engine import Engines
from coalesce.table.table import Table
from tests.table.stores import MemoryStorage

NOON = datetime(2026, 5, 17, 12, tzinfo=UTC)
ROWS = pa.table(
    {
        "app": ["a", "b", None],
        "n": [2**60 + 1, None, 3],
        "l": [[2**60 + 1, None], None, []],
        "x": [1.5, None, 2.5],
        "d": [date(2026, 5, 17), None, date(1, 1, 1)],
        "t": pa.array([NOON, None, datetime(9999, 12, 31, tzinfo=UTC)], pa.timestamp("us", "UTC")),
        "f": [True, None, False],
    }
)


@pytest.fixture
def table() -> Table:
    """A table by app with the rows."""
    made = create_table(MemoryStorage(), Engines(ArrowEngine()), ROWS.schema, partition_by=["app"])
    made.append(ROWS)
    return made


def test_schema_and_reader(table: Table) -> None:
    """A scan knows its columns without reading, and a reader of it reads as it goes."""
    scan = table.scan("n IS NOT NULL", columns=["n", "app"])
    assert isinstance(scan, coalesce.Scan)
    assert scan.schema.names == ["n", "app"]
    reader = scan.to_reader()
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.schema.equals(scan.schema)
    assert sorted(reader.read_all().column("n").to_pylist()) == [3, 2**60 + 1]
    assert scan.to_reader().read_all().num_rows == 2


def test_a_reader_does_not_read_ahead(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is opened when its rows are asked for, and an error in the middle keeps its type."""
    opened: list[str] = []
    original = MemoryStorage.open_input

    def open_input(self: MemoryStorage, path: str, *, size: int | None = None) -> pa.NativeFile:
        opened.append(path)
        if len(opened) == 2:
            raise StorageError("the store went away.")
        return original(self, path, size=size)

    monkeypatch.setattr(MemoryStorage, "open_input", open_input)
    reader = table.scan().to_reader()
    assert opened == []
    assert reader.read_next_batch().num_rows == 1
    assert len(opened) == 1
    with pytest.raises(StorageError, match="the store went away"):
        reader.read_next_batch()


def test_pandas_keeps_integers(table: Table) -> None:
    """A NULL among integers makes no floats of them, of which the last digits would be lost."""
    frame = table.scan().to_pandas().sort_values("app", na_position="last").reset_index(drop=True)
    assert list(frame.columns) == ROWS.column_names
    assert frame["n"].dtype == pd.Int64Dtype()
    assert frame["n"][0] == 2**60 + 1
    assert frame["n"].isna().tolist() == [False, True, False]
    assert frame["l"][0].tolist() == [2**60 + 1, None]
    assert frame["d"][2] == date(1, 1, 1)
    assert frame["t"][2] == pd.Timestamp("9999-12-31", tz="UTC").as_unit("us")
    full = table.scan("n IS NOT NULL", columns=["n"]).to_pandas()
    assert full["n"].dtype == "int64"


def test_polars(table: Table) -> None:
    """By the method, and by everything that polars takes a stream with."""
    scan = table.scan("app = 'a'")
    frame = scan.to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert frame.get_column("n").to_list() == [2**60 + 1]
    assert frame.get_column("l").to_list() == [[2**60 + 1, None]]
    assert frame.equals(pl.DataFrame(scan))
    assert frame.equals(pl.from_arrow(scan.to_arrow()))  # type: ignore[arg-type]
    rows = pl.from_arrow(scan)  # of what is not pyarrow's, polars 2 makes one column of structs
    assert frame.equals(rows.struct.unnest() if isinstance(rows, pl.Series) else rows)


def test_duckdb(table: Table) -> None:
    """A scan is a table in DuckDB's SQL, as often as it is asked, and so is its reader, once."""
    scan = table.scan("app IS NOT NULL")
    for _ in range(2):
        query = duckdb.sql("SELECT count(*), max(n) FROM scan WHERE app = 'a'")
        assert query is not None
        assert query.fetchall() == [(1, 2**60 + 1)]
    assert duckdb.from_arrow(scan.to_reader()).aggregate("count(*)").fetchall() == [(2,)]
    assert scan.to_arrow().num_rows == 2


def test_a_requested_schema(table: Table) -> None:
    """Who asks for other types gets them where values can be cast, and otherwise an error."""
    scan = table.scan("app = 'a'", columns=["app", "n"])
    wanted = pa.schema([("app", pa.large_string()), ("n", pa.decimal128(20, 0))])
    found = pa.table(scan, schema=wanted)
    assert found.schema.types == wanted.types
    assert found.column("n").to_pylist() == [2**60 + 1]
    with pytest.raises((CoalesceError, pa.ArrowException, TypeError)):
        pa.table(scan, schema=pa.schema([("app", pa.date32()), ("n", pa.int64())]))


def test_no_columns(table: Table) -> None:
    """The rows have a number all the same."""
    scan = table.scan(columns=[])
    assert scan.to_arrow().num_rows == 3
    assert sum(batch.num_rows for batch in scan.to_reader()) == 3


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_not_there(table: Table, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence that says which, and what to do."""
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(NotInstalled, match=rf"{library} is not installed: pip install {library}, or .* to_arrow\(\)"):
        getattr(table.scan(), f"to_{library}")()


def test_a_copy_of_a_table_from_another(table: Table) -> None:
    """What comes out goes in: columns, rows, and NULLs."""
    copy = create_table(MemoryStorage(), Engines(ArrowEngine()), table.scan(), rule=coalesce.keep_all())
    copy.append(table.scan())
    assert copy.scan().to_arrow().sort_by("x").equals(table.scan().to_arrow().sort_by("x"))
