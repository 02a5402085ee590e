"""What footers say of files that Spark has written, against the files themselves, read by pyarrow."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coalesce.model.arrow_schema import schema_from_arrow
from coalesce.model.datafile import ColumnStatistics
from coalesce.model.schema import Schema
from coalesce.model.types import FLOATING, Value
from coalesce.model.values import order_key, values_of
from coalesce.spark.jvm.catalyst import in_session, own_session
from coalesce.spark.write.footers import (
    BOUND_BYTES,
    Chunk,
    Footer,
    constants,
    footer_statistics,
    may_have_nan,
    read_footers,
)
from coalesce.spark.write.writer import SETTINGS, write_parquet
from tests.spark.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAN = float("nan")
COLUMNS: dict[str, tuple[pa.DataType, list[object]]] = {
    "flag": (pa.bool_(), [True, False]),
    "tiny": (pa.int8(), [-128, 127, 0]),
    "small": (pa.int16(), [-32768, 5]),
    "number": (pa.int32(), [-1, 2**31 - 1]),
    "big": (pa.int64(), [-(2**63), 2**63 - 1, 0]),
    "float": (pa.float32(), [-0.0, 1.5, NAN, float("inf")]),
    "double": (pa.float64(), [NAN, -2.5, 0.0]),
    "price": (pa.decimal128(9, 2), [Decimal("-0.01"), Decimal("1.10")]),
    "amount": (pa.decimal128(18, 2), [Decimal("-1.25"), Decimal("300.50")]),
    "total": (pa.decimal128(38, 4), [Decimal("-1.25"), Decimal(10**30)]),
    "day": (pa.date32(), [date(1, 1, 1), date(1969, 12, 31), date(2026, 5, 17)]),
    "at": (pa.timestamp("us", "UTC"), [datetime(1, 1, 1, tzinfo=UTC), datetime(2026, 5, 17, 12, 0, 0, 1, tzinfo=UTC)]),
    "clock": (pa.timestamp("us"), [datetime(1500, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)]),
    "text": (pa.string(), ["", "a", "é", "\U0001f600", "x" * 300 + "a", "x" * 300 + "b"]),
    "raw": (pa.binary(), [b"", b"\x00", b"\xff" * 40]),
}

# What becomes of a column's values in each of the files.
SHAPES: dict[str, Callable[[list[object]], list[object]]] = {
    "all": lambda values: [*values, None],
    "first": lambda values: values[:1] * 3,
    "last": lambda values: values[-1:] * 2,
    "first and NULL": lambda values: [values[0], None, values[0]],
    "NULL": lambda _: [None, None],
    "two": lambda values: [values[0], values[-1]],
}


@pytest.fixture(scope="module")
def files(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Footer, pa.Table]]:
    """Each file's footer as the JVM reads it, and its rows as pyarrow does."""
    directory = tmp_path_factory.mktemp("footers") / "written"
    parts = []
    for shape in SHAPES.values():
        columns = {name: shape(values) for name, (_, values) in COLUMNS.items()}
        longest = max(map(len, columns.values()))
        padded = {name: values + values[-1:] * (longest - len(values)) for name, values in columns.items()}
        parts.append(pa.table({name: pa.array(padded[name], type_) for name, (type_, _) in COLUMNS.items()}))
    session = own_session(spark, SETTINGS)
    for part in parts:
        write_parquet(in_session(frame_of(spark, part).coalesce(1), session), str(directory), [])
    footers = read_footers(session, str(directory))
    assert len(footers) == len(SHAPES)
    return [(footer, pq.read_table(_local(footer.uri))) for footer in footers]


def _local(uri: str) -> Path:
    return Path(uri.removeprefix("file:"))


def _schema() -> Schema:
    return schema_from_arrow(pa.schema([(name, type_) for name, (type_, _) in COLUMNS.items()]))


def test_rows_and_bytes(files: list[tuple[Footer, pa.Table]]) -> None:
    """A footer says how long the file is and how many rows it has; a column's length is part of the file's."""
    for footer, rows in files:
        assert footer.rows == rows.num_rows
        assert footer.bytes == _local(footer.uri).stat().st_size
        assert list(footer.columns) == rows.column_names
        assert 0 < sum(chunk.length for chunk in footer.columns.values()) < footer.bytes


def test_statistics_hold(files: list[tuple[Footer, pa.Table]]) -> None:
    """No value lies outside of the bounds, NULLs are counted, and of a column that may hold NaN nothing is said."""
    schema = _schema()
    for footer, rows in files:
        found = footer_statistics(footer, schema)
        for field in schema:
            type_ = schema.atomic(field.id)
            assert type_ is not None
            values = values_of(type_, rows.column(field.name))
            held = [value for value in values if value is not None]
            has_nan = type_ in FLOATING and any(value != value for value in held)
            assert may_have_nan(footer, field) == has_nan, field.name
            assert (field.id in found) is not has_nan, field.name
            if has_nan:
                continue
            statistics = found[field.id]
            assert statistics.null_count == len(values) - len(held)
            assert statistics.nan_count == (0 if type_ in FLOATING else None)
            keys = [order_key(type_, value) for value in held]
            if keys:
                assert statistics.lower is not None
                assert order_key(type_, statistics.lower) <= min(keys), field.name
                assert statistics.upper is None or order_key(type_, statistics.upper) >= max(keys), field.name
            else:
                assert (statistics.lower, statistics.upper) == (None, None)


def test_bounds_are_exact_where_they_can_be(files: list[tuple[Footer, pa.Table]]) -> None:
    """A value that fits into an entry is its own bound: in a file with one value both bounds are it."""
    schema = _schema()
    for footer, rows in files:
        for field in schema:
            type_ = schema.atomic(field.id)
            assert type_ is not None
            held = {v for v in values_of(type_, rows.column(field.name)) if v is not None and v == v}
            found = footer_statistics(footer, schema).get(field.id, ColumnStatistics())
            if len(held) == 1 and found.lower is not None and len(str(*held)) <= 32:
                assert {found.lower, found.upper} == held, field.name


def test_constants(files: list[tuple[Footer, pa.Table]]) -> None:
    """The value that a column has in every row, if the footer shows it; a float, or a text that may be cut, never."""
    schema = _schema()
    told = 0
    for footer, rows in files:
        for field in schema:
            type_ = schema.atomic(field.id)
            assert type_ is not None
            values = values_of(type_, rows.column(field.name))
            found = constants(footer, schema, [field.id])
            if found is not None:
                told += 1
                assert values == found * len(values), field.name
                assert type_ not in FLOATING
            elif len(set(values)) == 1 and type_ not in FLOATING:
                assert isinstance(values[0], str)
                assert len(values[0]) >= BOUND_BYTES
        together = constants(footer, schema, [schema.field("day").id, schema.field("big").id])
        assert together is None or list(zip(*(_values(rows, n) for n in ("day", "big")), strict=True)) == [
            tuple(together)
        ] * len(rows)
    assert told > 2 * len(COLUMNS)


def _values(rows: pa.Table, name: str) -> list[Value]:
    type_ = _schema().atomic(_schema().field(name).id)
    assert type_ is not None
    return values_of(type_, rows.column(name))


def test_no_directory_has_no_footers(spark: "SparkSession", tmp_path: Path) -> None:
    """A write without rows makes no directory; files that are not Parquet, or not finished, do not count."""
    assert read_footers(spark, str(tmp_path / "nowhere")) == []
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / "half.parquet").write_bytes(b"PAR1")
    (tmp_path / "notes.txt").write_text("no")
    assert read_footers(spark, str(tmp_path)) == []


def _footer(rows: int, columns: Mapping[str, Chunk]) -> Footer:
    return Footer("file:/f.parquet", 1, rows, columns)


def test_what_a_footer_leaves_open() -> None:
    """Unknown counts, missing columns, bounds that may be cut and text that is not UTF-8: unknown, never wrong."""
    schema = schema_from_arrow(pa.schema([("s", pa.string()), ("d", pa.float64())]))
    ids = [field.id for field in schema]
    no_count = _footer(2, {"s": Chunk(1, None, b"a", b"a"), "d": Chunk(1, 0, None, None)})
    assert constants(no_count, schema, ids[:1]) is None
    assert footer_statistics(no_count, schema) == {ids[0]: ColumnStatistics(lower="a", upper="a")}
    cut = b"x" * BOUND_BYTES
    assert constants(_footer(2, {"s": Chunk(1, 0, cut, cut)}), schema, ids[:1]) is None
    assert constants(_footer(2, {}), schema, ids[:1]) is None
    assert constants(_footer(2, {"s": Chunk(1, 1, b"a", b"a")}), schema, ids[:1]) is None
    assert constants(_footer(2, {"s": Chunk(1, 2, None, None)}), schema, ids[:1]) == [None]
    torn = footer_statistics(_footer(2, {"s": Chunk(1, 0, b"\xff", b"\xff")}), schema)
    assert torn == {ids[0]: ColumnStatistics(null_count=0)}
    only_null = _footer(2, {"d": Chunk(1, 2, None, None)})
    assert not may_have_nan(only_null, schema.field("d"))
    assert may_have_nan(_footer(2, {"d": Chunk(1, None, None, None)}), schema.field("d"))
