"""Statistics of files that others wrote are believed where they can be trusted, and nowhere else."""

from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import coalesce
from coalesce.arrow.parquet_statistics import orders_bytes

OURS = f"parquet-cpp-arrow version {pa.__version__}".encode()


def written_by(path: Path, rows: pa.Table, writer: str) -> None:
    """A file whose footer says that another writer made it: a name of the same length in the place of pyarrow's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path)
    data = path.read_bytes()
    assert data.count(OURS) == 1
    assert len(writer) <= len(OURS)
    path.write_bytes(data.replace(OURS, writer.encode().ljust(len(OURS))))


@pytest.mark.parametrize(
    ("created_by", "believed"),
    [
        ("parquet-mr version 1.13.1 (build abc)", True),
        ("parquet-mr version 1.10.0", True),
        ("parquet-mr version 1.8.1 (build abc)", False),
        ("parquet-cpp-arrow version 26.0.1", True),
        ("parquet-cpp version 1.2.0", False),
        ("parquet-rs version 53.0.0", True),
        ("DuckDB version v1.4.0 (build x)", True),
        ("Polars", True),
        ("parquet-rs", False),
        ("impala version 2.5.0 (build x)", False),
        ("", False),
        (None, False),
    ],
)
def test_writers_that_order_bytes_are_known(created_by: str | None, believed: bool) -> None:
    """Bounds of strings and of decimals in bytes are in the right order since some release of each."""
    assert orders_bytes(created_by) is believed


def test_an_unknown_writers_texts_prune_nothing(tmp_path: Path) -> None:
    """It may have compared signed bytes, `é` below `a`; numbers have one order, and NULLs are counted."""
    rows = pa.table(
        {"n": [1, 2], "s": ["b", "c"], "d": pa.array([Decimal("1.00"), Decimal("2.00")], pa.decimal128(20, 2))}
    )
    written_by(tmp_path / "x.parquet", rows, "impala version 2.5.0")
    table = coalesce.adopt(tmp_path).table
    assert len(table.files("s = 'zzz'")) == 1
    assert len(table.files("d = 99")) == 1
    assert len(table.files("s IS NULL")) == 0
    assert len(table.files("n = 99")) == 0
    assert table.scan("s = 'b'").to_arrow().num_rows == 1
    (file,) = table.files()
    by_name = {f.name: file.statistics[f.id] for f in table.schema}
    assert (by_name["s"].lower, by_name["s"].null_count, by_name["n"].upper) == (None, 0, 2)
    known = coalesce.adopt(_copied(tmp_path / "known", rows)).table
    assert len(known.files("s = 'zzz'")) == len(known.files("d = 99")) == 0


def _copied(root: Path, rows: pa.Table) -> Path:
    root.mkdir()
    pq.write_table(rows, root / "x.parquet")
    return root


def test_nan_unsigned_old_timestamps_and_none(tmp_path: Path) -> None:
    """NaN is above every bound; 12-byte timestamps have none; a file without statistics is kept."""
    nan = float("nan")
    rows = pa.table(
        {
            "f": [1.0, nan],
            "g": [nan, nan],
            "u": pa.array([2**31 + 1, 2**32 - 1], pa.uint32()),
            "t": [datetime(2026, 5, 1)] * 2,
        }
    )
    pq.write_table(rows, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    pq.write_table(
        rows.slice(0, 1), tmp_path / "b.parquet", write_statistics=False, use_deprecated_int96_timestamps=True
    )
    table = coalesce.adopt(tmp_path).table
    for where in (
        "f > 5",
        "g > 5",
        "g = DOUBLE('NaN')",
        "u = 4294967295",
        "u > 5",
        "t = TIMESTAMP '2030-01-01 00:00:00'",
    ):
        assert {f.path for f in table.files(where)} == {"a.parquet", "b.parquet"}, where
    assert {f.path for f in table.files("f < 0")} == {"b.parquet"}
    assert table.scan("f > 5").to_arrow().num_rows == 1
    assert table.scan("u = 4294967295").to_arrow().num_rows == 1


def test_row_groups_are_summed_up(tmp_path: Path) -> None:
    """Bounds over all of them; one without values has none, and needs none; one without statistics leaves none."""
    rows = pa.table({"n": [None, None, 5, 7, None, 3], "s": ["x" * 100, "b", "c", None, None, "a"]})
    pq.write_table(rows, tmp_path / "a.parquet", row_group_size=2)
    (file,) = coalesce.adopt(tmp_path).table.files()
    n, s = file.statistics[1], file.statistics[2]
    assert (n.lower, n.upper, n.null_count) == (3, 7, 3)
    assert (s.lower, s.null_count) == ("a", 2)
    assert isinstance(s.upper, str)
    assert len(s.upper) <= 32
    assert s.upper > "x" * 31
