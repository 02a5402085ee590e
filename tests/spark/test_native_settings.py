"""Settings of the session that change while a query is on its way: a scan keeps the meaning the query was given."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import coalesce
from tests.support.numbers import frame_numbers
from tests.support.settings import changed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ZONE = "spark.sql.session.timeZone"
Put = Callable[[str, str], object]
Load = Callable[[str], "DataFrame"]

# Each holds on few hours of the table, and on others in another zone.
WHERE = [
    "at = TIMESTAMP '2026-05-03 01:00:00'",
    "at >= '2026-05-03 20:00:00' AND seen < '2026-05-03 23:00:00'",
    "at IN (TIMESTAMP '2026-05-03 01:00:00', TIMESTAMP '2026-05-04 01:00:00')",
    "CAST(at AS DATE) = DATE '2026-05-02'",
    "to_date(seen) BETWEEN DATE '2026-05-02' AND DATE '2026-05-03'",
    "date_trunc('DAY', at) = TIMESTAMP '2026-05-03 00:00:00'",
    "hour(at) = 3",
    "date_format(at, 'dd HH') = '03 07'",
    "CAST(at AS TIMESTAMP_NTZ) < TIMESTAMP_NTZ '2026-05-02 09:00:00'",
    "at > DATE '2026-05-04'",
    "dt = CAST(TIMESTAMP '2026-05-02 23:30:00' AS DATE)",
    "clock = TIMESTAMP '2026-05-03 01:00:00'",
]


@pytest.fixture(scope="module")
def load(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Load:
    """Seventy-two hours, as rows in memory or as a table in which each hour is a logical partition."""
    hours = [datetime(2026, 5, 2, tzinfo=UTC) + timedelta(hours=n) for n in range(72)]
    rows = pa.table(
        {
            "dt": [hour.date() for hour in hours],
            "at": pa.array(hours, pa.timestamp("us", "UTC")),
            "seen": pa.array(hours, pa.timestamp("us", "UTC")),
            "clock": pa.array([hour.replace(tzinfo=None) for hour in hours], pa.timestamp("us")),
            "n": [hour.hour for hour in hours],
            "k": range(len(hours)),
        }
    )
    path = tmp_path_factory.mktemp("settings") / "hours"
    table = coalesce.create(path, rows.schema, partition_by=["dt", "at"], rule=coalesce.small("at"))
    table.append(rows)
    memory = spark.createDataFrame(rows, spark.read.format("coalesce").load(str(path)).schema)
    return lambda place: memory if place == "memory" else spark.read.format("coalesce").load(str(path))


@pytest.fixture
def put(spark: "SparkSession") -> Iterator[Put]:
    """Changes a setting, for this test."""
    with ExitStack() as stack:
        yield lambda name, value: stack.enter_context(changed(spark, {name: value}))


@pytest.mark.parametrize("phase", ["analyzed", "optimizedPlan", "executedPlan", "collected"])
def test_the_time_zone_changes_on_the_way(load: Load, put: Put, phase: str) -> None:
    """Analysed in one zone and brought to some phase there, then run in another: the rows are the same."""
    for where in WHERE:
        found = {}
        for place in ("memory", "table"):
            put(ZONE, "America/Los_Angeles")
            frame = load(place).where(where).select("k")
            if phase == "collected":
                frame.collect()
            else:
                getattr(frame._jdf.queryExecution(), phase)()
            put(ZONE, "Asia/Kolkata")
            found[place] = sorted(row.k for row in frame.collect())
        assert found["table"] == found["memory"], where
        assert found["memory"], where


def test_conditions_of_two_zones_in_one_query(load: Load, put: Put) -> None:
    """The same words may mean two things in one query, if its frame was made in one zone and filtered in another."""
    for words in ("hour(at) = 3", "CAST(at AS DATE) = DATE '2026-05-03'"):
        found = {}
        for place in ("memory", "table"):
            put(ZONE, "Asia/Kolkata")
            marked = load(place).selectExpr("*", f"{words} AS here")
            put(ZONE, "-05:30")
            queries = [marked.where(f"here {word} {words}") for word in ("AND", "OR")]
            put(ZONE, "+05:30")
            queries.append(marked.where("here").where(words))
            put(ZONE, "UTC")
            found[place] = [frame_numbers(query) for query in queries]
        assert found["table"] == found["memory"], words


def test_what_outlives_the_zone_it_was_made_in(spark: "SparkSession", load: Load, put: Put, tmp_path: Path) -> None:
    """Views, cached frames and joins that prune keep their meaning too."""
    where = "hour(at) = 3 OR at = TIMESTAMP '2026-05-04 01:00:00'"
    days = spark.sql("SELECT DATE '2026-05-02' + CAST(id AS INT) AS day FROM range(3)")
    days.write.parquet(str(tmp_path / "days"))
    spark.read.parquet(str(tmp_path / "days")).createOrReplaceTempView("days")
    found = {}
    for place in ("memory", "table"):
        put(ZONE, "America/Los_Angeles")
        frame = load(place).where(where)
        frame.createOrReplaceTempView("made_of_a_frame")
        load(place).createOrReplaceTempView("hours")
        spark.sql(f"CREATE OR REPLACE TEMP VIEW made_of_text AS SELECT * FROM hours WHERE {where}")
        joined = spark.sql(
            "SELECT /*+ BROADCAST(d) */ t.k FROM hours t JOIN days d ON t.dt = d.day AND CAST(t.at AS DATE) = d.day "
            "WHERE d.day > DATE '2026-05-02'"
        )
        joined._jdf.queryExecution().executedPlan()
        cached = frame.cache()
        put(ZONE, "Asia/Kolkata")
        views = (spark.table("made_of_a_frame"), spark.table("made_of_text"), cached, joined)
        found[place] = [frame_numbers(view) for view in views]
        cached.unpersist()
    assert found["table"] == found["memory"]


@pytest.mark.parametrize(
    ("setting", "first", "then", "where"),
    [
        ("spark.sql.ansi.enabled", "true", "false", "CAST(CAST(at AS STRING) AS TIMESTAMP) = at AND n = '3'"),
        ("spark.sql.ansi.enabled", "false", "true", "CAST(CAST(at AS STRING) AS INT) > 20 OR n > '20'"),
        ("spark.sql.caseSensitive", "false", "true", "AT = TIMESTAMP '2026-05-03 01:00:00' AND hour(At) = 1"),
        ("spark.sql.caseSensitive", "true", "false", "at = TIMESTAMP '2026-05-03 01:00:00' AND hour(at) = 1"),
        ("spark.sql.legacy.timeParserPolicy", "CORRECTED", "LEGACY", "date_format(at, 'u') = '6'"),
    ],
)
def test_other_settings_change_on_the_way(
    load: Load, put: Put, setting: str, first: str, then: str, where: str
) -> None:
    """ANSI mode, the case of names, the way dates are formatted: each turned around between planning and running."""
    for phase in ("analyzed", "optimizedPlan", "executedPlan"):
        found = {}
        for place in ("memory", "table"):
            put(setting, first)
            frame = load(place).where(where).select("k")
            if place == "table":  # rows in memory are filtered by the optimizer
                getattr(frame._jdf.queryExecution(), phase)()
            put(setting, then)
            found[place] = sorted(row.k for row in frame.collect())
        assert found["table"] == found["memory"], phase


@pytest.mark.parametrize("removed", [False, True], ids=["all live", "some dead"])
def test_what_was_asked_under_other_settings_is_asked_anew(
    spark: "SparkSession", put: Put, tmp_path: Path, removed: bool
) -> None:
    """One condition on one version, ANSI mode off and on in turn: a text that is no number is NULL, and a failure."""
    rows = pa.table({"day": [1, 1, 2, 2], "app": ["5", "gone", "x", "gone"], "n": [1, 2, 3, 4]})
    rule, by = coalesce.small("app"), {"remove.by": "mark"}
    table = coalesce.create(tmp_path / "apps", rows.schema, partition_by=["day", "app"], rule=rule, properties=by)
    table.append(rows)
    if removed:
        table.drop_partition(app="gone")

    def numbers() -> list[int]:
        condition = "CAST(replace(app, 'gone', '7') AS INT) = 5"
        found = spark.read.format("coalesce").load(str(tmp_path / "apps")).where(condition).collect()
        return [row.n for row in found]

    for _ in range(2):
        put("spark.sql.ansi.enabled", "false")
        assert numbers() == [1]
        put("spark.sql.ansi.enabled", "true")
        with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
            numbers()
