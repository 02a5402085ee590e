"""Filters that reach Spark's Parquet reader, over row groups as homogeneous as a table makes them.

The reader skips row groups by dictionaries, bounds and page indexes, which do not see every value as Spark does. What
is right, rows in memory say: plain Parquet files lose the same rows.
"""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import coalesce
from coalesce.table.table import Table
from tests.spark.test_native_pruning import explained
from tests.support.settings import INTERPRETED, changed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("rows_are_read")

NAN, INFINITY = float("nan"), float("inf")

# The values of one logical partition each, and so of one file and row group.
GROUPS: list[list[float | None]] = [
    [0.0, 0.0], [-0.0, -0.0], [0.0, -0.0], [None, -0.0], [-0.0, NAN], [NAN, NAN], [None, NAN], [None], [1.0, NAN],
    [-1.0, 1.0], [INFINITY], [-INFINITY, NAN], [5.0, 0.5, -0.5],
]  # fmt: skip


def _both_ways(spark: "SparkSession", path: Path, rows: pa.Table, partition_by: str) -> "tuple[DataFrame, DataFrame]":
    """The rows twice, in memory and as a table: once as pyarrow writes them, once as Spark does."""
    table = coalesce.create(path, rows.schema, partition_by=[partition_by], rule=coalesce.keep_all(), spark=spark)
    table.append(rows)
    again = rows.set_column(rows.schema.get_field_index("k"), "k", pa.array(range(len(rows), 2 * len(rows))))
    table.append(spark.createDataFrame(again, table.read().schema))
    return spark.createDataFrame(pa.concat_tables([rows, again]), table.read().schema), table.read()


def _answers(frame: "DataFrame", conditions: Sequence[str]) -> "Iterator[tuple[str, list[int]]]":
    """The keys that each condition keeps; many conditions make one job."""
    frame.createOrReplaceTempView("asked")
    for start in range(0, len(conditions), 40):
        some = conditions[start : start + 40]
        queries = [f"SELECT {n} AS n, k FROM asked WHERE {condition}" for n, condition in enumerate(some)]
        found: dict[int, list[int]] = {n: [] for n in range(len(some))}
        for row in frame.sparkSession.sql(" UNION ALL ".join(queries)).collect():
            found[row.n].append(row.k)
        yield from ((condition, sorted(found[n])) for n, condition in enumerate(some))


def _check(memory: "DataFrame", table: "DataFrame", conditions: Sequence[str]) -> None:
    with changed(memory.sparkSession, INTERPRETED):
        expected, found = dict(_answers(memory, conditions)), dict(_answers(table, conditions))
    wrong = {c: sorted(set(expected[c]) ^ set(found[c])) for c in conditions if expected[c] != found[c]}
    assert wrong == {}


def _float_conditions() -> Iterator[str]:
    for literal in ("0.0D", "-0.0D", "1.0D", "CAST('NaN' AS DOUBLE)"):
        for operator in ("=", "<=", ">", ">=", "<>"):
            yield f"d {operator} {literal}"
        yield f"NOT (d < {literal} OR d > 4.0D)"
    for literal in ("0.0", "-0.0"):
        yield f"f = {literal}F"
        yield f"f <=> {literal}F"
        yield f"st.d >= {literal}D"
        yield f"d IN ({literal}D, 7.0D)"
        yield f"d NOT IN ({literal}D, 7.0D)"
        yield f"f IN ({literal}F, {', '.join(f'{n}.0F' for n in range(2, 14))})"
    yield "st.d BETWEEN -1.0D AND -0.0D"
    yield "st.d > 2.0D"
    yield "isnan(f) AND k >= 0"
    yield "f IN (CAST('NaN' AS FLOAT), 0.0F, NULL)"
    yield "NOT (f <> 0)"
    yield "d = 1 - 1"


@pytest.fixture(scope="module")
def floats(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> "tuple[DataFrame, DataFrame]":
    """Both zeros, NaN and NULL, alone and in every company."""
    numbered = [(group, value) for group, values in enumerate(GROUPS) for value in values]
    values = [value for _, value in numbered]
    struct = pa.struct([("d", pa.float64())])
    rows = pa.table(
        {
            "g": pa.array([group for group, _ in numbered], pa.int32()),
            "k": pa.array(range(len(values)), pa.int64()),
            "d": pa.array(values, pa.float64()),
            "f": pa.array(values, pa.float32()),
            "st": pa.array([{"d": value} for value in values], struct),
        }
    )
    return _both_ways(spark, tmp_path_factory.mktemp("floats") / "t", rows, "g")


def test_zeros_and_nan(floats: "tuple[DataFrame, DataFrame]") -> None:
    """A float or double compares as Spark compares, whichever values share its row group and whoever wrote it."""
    _check(*floats, list(_float_conditions()))


def test_zeros_after_a_rename(spark: "SparkSession", tmp_path: Path) -> None:
    """Also where the files have another name for the column."""
    table = coalesce.create(tmp_path / "t", pa.schema([("v", pa.float64())]), spark=spark)
    table.append(pa.table({"v": [-0.0, -0.0]}))
    table.rename_column("v", "w")
    assert table.read().where("w = 0.0D").count() == table.read().where("w >= 0.0D").count() == 2


def test_zeros_that_a_subquery_finds(spark: "SparkSession", floats: "tuple[DataFrame, DataFrame]") -> None:
    """A value that is known only when the query runs, and a join, find both zeros too."""
    found = []
    for frame in floats:
        frame.createOrReplaceTempView("zeros")
        queries = [
            "SELECT k FROM zeros WHERE d = (SELECT min(d) + 1 FROM zeros WHERE d = -1.0D)",
            "SELECT /*+ BROADCAST(z) */ k FROM zeros JOIN (SELECT DISTINCT d AS z FROM zeros WHERE d = 0) z ON d = z",
            "SELECT k FROM zeros WHERE f IN (SELECT CAST(-d AS FLOAT) FROM zeros WHERE d = 0)",
        ]
        found.append([sorted(row.k for row in spark.sql(query).collect()) for query in queries])
    assert found[0] == found[1]
    assert len(found[0][0]) > 0


def test_row_groups_are_still_skipped(spark: "SparkSession", tmp_path: Path) -> None:
    """Where no file holds NaN, a filter on a double skips row groups as it did; vectorised, and pushed."""
    table = coalesce.create(tmp_path / "t", pa.schema([("v", pa.float64())]), spark=spark)
    table.append(pa.table({"v": [float(n) for n in range(2000)]}))
    frame = table.read().where("v >= 1500.0D")
    assert "Batched: true" in explained(frame)
    assert frame.count() == 500
    assert _without_nan(table) == ["v"]
    table.append(pa.table({"v": [NAN]}))
    assert _without_nan(table) == []
    assert table.read().where("v >= 1500.0D").count() == 501


def _without_nan(table: Table) -> list[str]:
    """The columns by whose bounds a scan of the whole table skips row groups, whatever the filter."""
    relation = table.read()._jdf.queryExecution().analyzed().collectLeaves().apply(0).relation()
    return sorted(relation.location().columnsWithoutNan())


# --- everything else ---------------------------------------------------------------------------------------------

# Of each column the values that its files hold, one or two in each, and what conditions compare it with.
VALUES: dict[str, tuple[pa.DataType, list[object], list[str]]] = {
    "tiny": (pa.int8(), [-128, 0, 127, None], ["-128Y", "0Y", "127Y", "128", "1.5BD"]),
    "small": (pa.int16(), [-32768, -1, 32767, None], ["-32768S", "-1S", "40000", "0.0D"]),
    "price": (
        pa.decimal128(9, 2),
        [Decimal("-0.01"), Decimal("0.00"), Decimal("1.10"), None],
        ["0", "1.1BD", "-0.011BD"],
    ),
    "total": (
        pa.decimal128(38, 4),
        [Decimal(-(10**20)), Decimal("0.0001"), Decimal(10**30), None],
        ["0", "1e20D", "0.0001BD"],
    ),
    "day": (
        pa.date32(),
        [date(1, 1, 1), date(1500, 2, 28), date(1582, 10, 4), date(1582, 10, 15), date(1969, 12, 31), None],
        ["DATE '1582-10-15'", "DATE '1500-03-01'", "DATE '0001-01-01'", "DATE '1970-01-01'"],
    ),
    "at": (
        pa.timestamp("us", "UTC"),
        [
            datetime(1, 1, 1, tzinfo=UTC), datetime(1582, 10, 4, 23, tzinfo=UTC), datetime(1899, 12, 31, tzinfo=UTC),
            datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), None,
        ],
        ["TIMESTAMP '1582-10-15 00:00:00'", "TIMESTAMP '1900-01-01 00:00:00'", "TIMESTAMP '1970-01-01 00:00:00'"],
    ),
    "clock": (
        pa.timestamp("us"),
        [datetime(1500, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 1), datetime(9999, 12, 31), None],
        ["TIMESTAMP_NTZ '1500-01-01 00:00:00'", "TIMESTAMP_NTZ '1970-01-01 00:00:00'", "DATE '9999-12-31'"],
    ),
    "text": (
        pa.string(),
        ["", "a", "a ", "A", "\u00e9", "e\u0301", "\U0001f600", "\uffff", "x" * 80 + "a", "x" * 80 + "b", None],
        ["''", "'a'", "'a '", "'\u00e9'", "'\U0001f600'", "'\uffff'", f"'{'x' * 80}a'", f"'{'x' * 64}'"],
    ),
    "raw": (pa.binary(), [b"", b"\x00", b"\x7f", b"\x80", b"\xff\xff", None], ["X''", "X'00'", "X'80'", "X'FF'"]),
    "flag": (pa.bool_(), [True, False, None], ["true", "false"]),
}  # fmt: skip


def _condition(rng: random.Random) -> str:
    """A comparison of a column, plain or inside a struct, as the Parquet reader may get to see it."""
    name = rng.choice(list(VALUES))
    literals = VALUES[name][2]
    column = rng.choice([name, name, f"st.{name}"])
    one, other = rng.choice(literals), rng.choice(literals)
    simple = rng.choice(["=", "<", "<=", ">", ">=", "<>", "<=>"])
    condition = rng.choice(
        [
            f"{column} {simple} {one}", f"{column} {simple} {one}", f"{column} IN ({one}, {other})",
            f"{column} NOT IN ({one}, {other})", f"{column} BETWEEN {one} AND {other}", f"{column} IS NULL",
            f"{column} IS NOT NULL", f"{column} = {one} OR {name} > {other}", f"{column} IN ({one}, NULL)",
        ]
    )  # fmt: skip
    if name == "text" and rng.random() < 0.4:
        start = rng.choice(["", "a", "\U0001f600", "\uffff", "x" * 70, "x" * 80 + "a", "e"])
        condition = rng.choice([f"startswith({column}, '{start}')", f"{column} LIKE '{start}%'"])
    return rng.choice([condition, condition, f"NOT ({condition})", f"{condition} AND k >= 0"])


def _typed_rows() -> pa.Table:
    """Files of two rows: a value twice, a value and NULL, a value and another, in turn."""
    count = max(len(values) for _, values, _ in VALUES.values()) + 2
    typed = {}
    for name, (type_, values, _) in VALUES.items():
        seconds = [values[n % len(values)] if n % 3 == 0 else None if n % 3 == 1 else values[0] for n in range(count)]
        pairs = [(values[n % len(values)], seconds[n]) for n in range(count)]
        typed[name] = pa.array([value for pair in pairs for value in pair], type_)
    struct = pa.StructArray.from_arrays(list(typed.values()), names=list(typed))
    groups = pa.array([n // 2 for n in range(2 * count)], pa.int32())
    return pa.table({"g": groups, "k": range(2 * count), **typed, "st": struct})


def test_every_type_compares_as_in_memory(spark: "SparkSession", tmp_path: Path) -> None:
    """Random comparisons over all types: before 1582, beyond ASCII, at the ends of integers, of NULL alone."""
    rng = random.Random(10)
    _check(*_both_ways(spark, tmp_path / "t", _typed_rows(), "g"), [_condition(rng) for _ in range(30)])
