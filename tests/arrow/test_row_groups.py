import math
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coalesce.arrow.read import open_file
from coalesce.arrow.row_groups import matching_parts
from coalesce.model.datafile import ColumnStatistics, DataFile
from coalesce.model.schema import Schema
from coalesce.model.types import INT64, DecimalType, Field
from coalesce.storage.local import LocalStorage
from tests.builders import bound, make_version


def groups(
    directory: Path,
    column: pa.Array,
    where: str,
    schema: Schema | None = None,
    statistics: dict[int, ColumnStatistics] | None = None,
    **options: Any,
) -> list[int]:
    """Which row groups of two rows each are left of a file that another writer wrote."""
    path = directory / "f.parquet"
    pq.write_table(pa.table({"x": column}), path, row_group_size=2, **options)
    version = make_version(pa.schema([("x", column.type)]) if schema is None else schema)
    entry = DataFile(
        path="f.parquet", spec_id=0, rows=len(column), bytes=path.stat().st_size, statistics=statistics or {}
    )
    with open_file(LocalStorage(directory), entry, version) as file:
        return [p.group for p in matching_parts(file, bound(version, where))]


DATES = pa.array([1, 2, 20_000, 2**31 - 1, None, None], pa.date32())
MICROS = pa.array([1, 2, 10**15, 2**62, None, None], pa.timestamp("us"))


@pytest.mark.parametrize(
    ("column", "where", "expected"),
    [
        (pa.array([1, 2, 3, 4, None, 9]), "x = 3", [1]),
        (pa.array([1, 2, 3, 4, None, 9]), "x IS NULL", [2]),
        (pa.array([1, 2, 3, 4, None, 9]), "x > 2", [1, 2]),
        (pa.array([1, 2, None, None]), "x IS NOT NULL", [0]),
        (pa.array(["a", "b", "c", "d"]), "x LIKE 'c%'", [1]),
        (pa.array(["é", "🙂", "", "a"]), "x > 'z'", [0]),
        (pa.array([b"a", b"b", b"c", b"d"]), "x = X'63'", [1]),
        (pa.array([True, True, False, None]), "NOT x", [1]),
        (pa.array([Decimal("1.10"), Decimal("2.20"), Decimal("3.30")]), "x = 3.3BD", [1]),
        (pa.array([Decimal("-1.10"), Decimal("2.20"), Decimal("3.30")], pa.decimal128(30, 2)), "x < 0", [0]),
        (DATES, "x > DATE '2020-01-01'", [1]),
        (DATES, "x < DATE '1970-01-03'", [0]),
        (MICROS, "x > TIMESTAMP_NTZ '2000-01-01 00:00:00'", [1]),
        (pa.array([1, 2, 10**12, 10**13], pa.timestamp("ns")), "x > TIMESTAMP_NTZ '1970-01-01 00:00:01'", [0, 1]),
    ],
)  # fmt: skip
def test_row_groups_are_left_out_by_statistics(
    tmp_path: Path, column: pa.Array, where: str, expected: list[int]
) -> None:
    """Every type whose raw bounds are sure; nanoseconds are not, and keep everything."""
    assert groups(tmp_path, column, where) == expected


def test_nan_is_above_every_bound(tmp_path: Path) -> None:
    """Parquet's bounds leave NaN out, so they bound nothing from above unless the entry says there is none."""
    column = pa.array([1.0, 2.0, 3.0, math.nan, 0.0, -0.0])
    assert groups(tmp_path, column, "x > 10") == [0, 1, 2]
    assert groups(tmp_path, column, "x < 1") == [2]
    assert groups(tmp_path, column, "x = -0.0D") == [2]
    some = {1: ColumnStatistics(nan_count=1)}
    assert groups(tmp_path, column, "x > 10", statistics=some) == [0, 1, 2]
    no_nan = {1: ColumnStatistics(nan_count=0)}
    assert groups(tmp_path, pa.array([1.0, 2.0, 3.0, 4.0]), "x > 2.5D", statistics=no_nan) == [1]


def test_missing_statistics_keep_everything(tmp_path: Path) -> None:
    """A file without statistics, or without the column, is read as a whole."""
    column = pa.array([1, 2, 3, 4])
    assert groups(tmp_path, column, "x = 3", write_statistics=False) == [0, 1]
    later = Schema((Field(id=1, name="x", type=INT64), Field(id=2, name="y", type=INT64, default=5)))
    assert groups(tmp_path, column, "y = 6", later) == [0, 1]


def test_bounds_are_widened_with_the_column(tmp_path: Path) -> None:
    """What was written as a narrower type prunes as the wider one."""
    narrow = pa.array([1, 2, 3, 4], pa.int8())
    assert groups(tmp_path, narrow, "x = 3", Schema((Field(id=1, name="x", type=INT64),))) == [1]
    as_decimal = Schema((Field(id=1, name="x", type=DecimalType(10, 2)),))
    assert groups(tmp_path, narrow, "x = 3.00BD", as_decimal) == [1]


def test_bounds_of_old_timestamps_are_not_used(tmp_path: Path) -> None:
    """Twelve-byte timestamps have no order that Parquet defines."""
    column = pa.array([datetime(2000, 1, 1), datetime(2001, 1, 1), datetime(2002, 1, 1)], pa.timestamp("us"))
    where = "x > TIMESTAMP_NTZ '2001-06-01 00:00:00'"
    assert groups(tmp_path, column, where) == [1]
    assert groups(tmp_path, column, where, use_deprecated_int96_timestamps=True) == [0, 1]


def test_rows_that_nobody_says_are_in_order_may_lie_anywhere(tmp_path: Path) -> None:
    """Counts that fit the file tell where a tuple lies only if the footer says that its rows are in that order."""
    mixed = pa.table({"app": ["b", "a", "b", "a"]})
    pq.write_table(mixed, tmp_path / "f.parquet", row_group_size=1, write_statistics=False)
    version = make_version(mixed.schema, ["app"])
    tuples, counts = (("a",), ("b",)), (2, 2)
    entry = DataFile(path="f.parquet", spec_id=0, rows=4, bytes=1000, tuples=tuples, tuple_rows=counts, complete=True)
    with open_file(LocalStorage(tmp_path), entry, version) as file:
        left = [p.group for p in matching_parts(file, bound(version, "app = 'a'"))]
    assert {1, 3} <= set(left)


def test_a_column_of_nothing_but_null_is_null_in_every_row_group(tmp_path: Path) -> None:
    """Whether the entry says so or the file; here as one of two alternatives, so that the plan cannot say it all."""
    pq.write_table(pa.table({"n": range(4)}), tmp_path / "f.parquet", row_group_size=2)
    version = make_version(pa.schema([("app", pa.string()), ("n", pa.int64())]), ["app"])
    entry = DataFile(path="f.parquet", spec_id=0, rows=4, bytes=1000, tuples=((None,),), tuple_rows=(4,), complete=True)
    with open_file(LocalStorage(tmp_path), entry, version) as file:
        where = bound(version, "(app IS NULL AND n > 2) OR (app = 'a' AND n < 1)")
        assert [p.group for p in matching_parts(file, where)] == [1]
