"""The same rows for the same SQL, whether a table prunes or Spark reads everything."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from coalesce.table.table import Table
from tests.spark.events import DAYS, make_events, rows
from tests.spark.queries import query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCH = 25
QUERIES = 500

# For few rows it takes longer to compile a query than to interpret it.
QUICK = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture(scope="module")
def tables(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """The views `ours` and `plain` of the same rows, and `days`; few tasks, since there are few rows."""
    directory = tmp_path_factory.mktemp("queries")
    table = make_events(directory / "events")
    for number in range(3):
        pq.write_table(rows(number * 150, 150), _made(directory / "plain") / f"{number}.parquet")
    spark.read.format("coalesce").load(table.location).createOrReplaceTempView("ours")
    spark.read.parquet(str(directory / "plain")).createOrReplaceTempView("plain")
    days = ", ".join(f"(DATE '{day}', {1 + number // 7}, 'day {number}')" for number, day in enumerate(DAYS))
    spark.sql(f"SELECT * FROM VALUES {days} AS d(day, week, name)").createOrReplaceTempView("days")
    before = {name: spark.conf.get(name) for name in QUICK}
    for name, value in QUICK.items():
        spark.conf.set(name, value)
    yield table
    for name, old in before.items():
        spark.conf.set(name, str(old))


def _made(directory: Path) -> Path:
    directory.mkdir(exist_ok=True)
    return directory


def fingerprint(number: int, table: str) -> str:
    """One row that says which query, how many rows, and two hashes over all of them in any order."""
    text = query(number).replace("{t}", table).replace("{d}", "days")
    return (
        f"SELECT {number} AS q, '{table}' AS t, count(*) AS c, bit_xor(xxhash64(struct(*))) AS x,"
        f" sum(CAST(xxhash64(struct(*)) AS DECIMAL(38, 0))) AS y FROM ({text})"
    )


@pytest.mark.parametrize("start", range(0, QUERIES, BATCH))
@pytest.mark.usefixtures("tables")
def test_same_rows_as_plain_parquet(spark: "SparkSession", start: int) -> None:
    """Twenty-five generated queries give the same rows on a coalesce table and on the same data as plain Parquet."""
    numbers = range(start, start + BATCH)
    both = [fingerprint(number, table) for number in numbers for table in ("ours", "plain")]
    found = {(row.q, row.t): (row.c, row.x, row.y) for row in spark.sql(" UNION ALL ".join(both)).collect()}
    different = [n for n in numbers if found[n, "ours"] != found[n, "plain"]]
    assert not different, [(query(n), found[n, "ours"][0], found[n, "plain"][0]) for n in different]


@pytest.mark.usefixtures("tables")
def test_the_queries_ask_for_something() -> None:
    """The generator makes different queries of every shape."""
    texts = [query(number) for number in range(QUERIES)]
    assert len(set(texts)) > QUERIES * 0.95
    for word in ("JOIN", "EXISTS", "NOT IN (SELECT", "WITH c", "OVER", "CASE", "UNION", "ROLLUP", "LATERAL"):
        assert any(word in text for text in texts), word
