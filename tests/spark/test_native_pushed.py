"""Filters that reach Spark's Parquet reader, over row groups as homogeneous as a table makes them.

The reader skips row groups by dictionaries, bounds and page indexes, which do not see every value as Spark does. What
is right, rows in memory say: plain Parquet files lose the same rows.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import coalesce
from coalesce.table.table import Table
from tests.spark.test_native_pruning import explained

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
