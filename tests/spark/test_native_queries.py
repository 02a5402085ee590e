"""The same rows for the same SQL, whether a table prunes or Spark has all rows in memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from coalesce.table.table import Table
from tests.spark.events import DAYS, make_events, rows
from tests.spark.queries import fingerprint, query
from tests.support.examples import examples
from tests.support.settings import INTERPRETED, changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCH = 25
NUMBERS = [3 * number for number in range(examples(50))]  # of every shape there are some


@pytest.fixture(scope="module")
def tables(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """The views `ours` and `plain` of the same rows, and `days`; few tasks, since there are few rows."""
    directory = tmp_path_factory.mktemp("queries")
    table = make_events(directory / "events")
    for number in range(3):
        pq.write_table(rows(number * 150, 150), _made(directory / "plain") / f"{number}.parquet")
    spark.read.format("coalesce").load(table.location).createOrReplaceTempView("ours")
    # In memory: Spark's reader of plain Parquet skips row groups that hold a NaN or a zero of the other sign.
    spark.read.parquet(str(directory / "plain")).localCheckpoint().createOrReplaceTempView("plain")
    days = ", ".join(f"(DATE '{day}', {1 + number // 7}, 'day {number}')" for number, day in enumerate(DAYS))
    spark.sql(f"SELECT * FROM VALUES {days} AS d(day, week, name)").createOrReplaceTempView("days")
    with changed(spark, INTERPRETED):
        yield table


def _made(directory: Path) -> Path:
    directory.mkdir(exist_ok=True)
    return directory


@pytest.mark.parametrize("start", range(0, len(NUMBERS), BATCH))
@pytest.mark.usefixtures("tables")
def test_same_rows_as_in_memory(spark: "SparkSession", start: int) -> None:
    """Twenty-five generated queries give the same rows on a coalesce table and on the same data in memory."""
    numbers = NUMBERS[start : start + BATCH]
    both = [fingerprint(number, table) for number in numbers for table in ("ours", "plain")]
    found = {(row.q, row.t): (row.c, row.x, row.y) for row in spark.sql(" UNION ALL ".join(both)).collect()}
    different = [n for n in numbers if found[n, "ours"] != found[n, "plain"]]
    assert not different, [(query(n), found[n, "ours"][0], found[n, "plain"][0]) for n in different]


def test_the_queries_ask_for_something() -> None:
    """The generator makes different queries of every shape."""
    texts = [query(number) for number in NUMBERS]
    assert len(set(texts)) > len(texts) * 0.95
    for word in ("JOIN", "EXISTS", "NOT IN (SELECT", "WITH c", "OVER", "CASE", "UNION", "ROLLUP", "LATERAL"):
        assert any(word in text for text in texts), word


# Each means something else, or fails, under another setting or another type than the column's.
CONDITIONS = [
    "app COLLATE UTF8_LCASE = 'a'", "app COLLATE UNICODE_CI = 'ÉTÉ'", "app COLLATE UTF8_LCASE IN ('b', 'A')",
    "app ILIKE 'a'", "app LIKE 'A' ESCAPE '/'", "app RLIKE '(?i)^a$'", "app = 'A\n'", "app = 'a\\'b'",
    "app IS DISTINCT FROM 'A'", "try_cast(app AS INT) = 10", "nullif(app, 'A') IS NULL", "app BETWEEN 'A' AND 'a'",
    "(app, r) IN (('A', 1), ('B', 2))", "app IN ('A', '" + "', '".join(f"app-{i}" for i in range(2000)) + "')",
    "NOT (app = 'A' AND dt > DATE '2026-05-03')", "dt = '2026-05-03'", "dt > '2026-05'",
    "dt = TIMESTAMP '2026-05-03 00:00:00'", "extract(DAY FROM dt) = 3",
    "CAST(dt AS TIMESTAMP) > TIMESTAMP '2026-05-03 05:00:00'", "date_trunc('month', dt) = TIMESTAMP '2026-05-01'",
    "ts > '2026-05-03'", "ts = TIMESTAMP '2026-05-03 12:00:00'", "CAST(ts AS DATE) = dt", "r = '1'", "r > '1'",
    "r = 1.0", "r IN (1L, 2S)", "k = '7'", "k & 1 = 1", "v = 'NaN'", "v > 'Infinity'", "amount = 1.5",
    "amount IN (1.5, 2)", "amount > 1.111111", "greatest(r, 2) = 2", "info = named_struct('a', 1, 'b', 'b1')",
    "char_length(app) = 1",
]  # fmt: skip


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("spark.sql.ansi.enabled", "false"),
        ("spark.sql.session.timeZone", "America/New_York"),
        ("spark.sql.caseSensitive", "true"),
    ],
)
def test_same_rows_under_other_settings(spark: "SparkSession", setting: str, value: str) -> None:
    """Collations, time zones, ANSI or not, conversions either way: pruning follows what Spark makes of a condition."""
    both = [
        f"SELECT {n} AS q, '{table}' AS t, count(*) AS c, sum(k) AS s FROM {table} WHERE {condition}"
        for n, condition in enumerate(CONDITIONS)
        for table in ("ours", "plain")
    ]
    with changed(spark, {setting: value}):
        found = {(row.q, row.t): (row.c, row.s) for row in spark.sql(" UNION ALL ".join(both)).collect()}
    different = [c for n, c in enumerate(CONDITIONS) if found[n, "ours"] != found[n, "plain"]]
    assert not different
