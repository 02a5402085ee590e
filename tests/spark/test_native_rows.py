"""The rows are right: the cases in which another source returns wrong ones, and what a version is."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql.functions import lit

import coalesce
from coalesce.table.table import Table
from tests.spark.events import APPS, make_events, rows
from tests.support.numbers import frame_numbers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("rows_are_read")


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A table that no test changes."""
    return make_events(tmp_path_factory.mktemp("native") / "events")


@pytest.fixture
def df(spark: "SparkSession", events: Table) -> "DataFrame":
    """Its rows, as a user reads them."""
    return spark.read.format("coalesce").load(events.location)


def test_all_rows_and_columns_are_read(df: "DataFrame", events: Table) -> None:
    """A whole read gives what was written: NULL, NaN, -0.0, '' and '[#small]' as themselves, nested values too."""
    read = df.toArrow().sort_by("k")
    written = pa.concat_tables([rows(0, 150), rows(150, 150), rows(300, 150)])
    assert read.column_names == written.column_names
    for name in written.column_names:
        assert repr(read.column(name).to_pylist()) == repr(written.column(name).to_pylist()), name
    assert len(df.inputFiles()) == len(events.files()) > 0


def test_a_filter_leaves_the_frame_as_it_was(df: "DataFrame") -> None:
    """Filter, collect, then count the whole: nothing of the filter is left behind."""
    assert len(df.filter("k = 1").collect()) == 1
    assert df.count() == 450
    assert df.filter("app = 'A'").count() + df.filter("NOT app <=> 'A'").count() == 450


def test_union_of_two_filters_of_one_frame(df: "DataFrame") -> None:
    """Two filters of one frame in one query each keep their own rows."""
    assert frame_numbers(df.filter("k = 2").union(df.filter("k = 3"))) == [2, 3]
    both = df.filter("app = 'A'").select("app").union(df.filter("app = 'B'").select("app"))
    assert {row.app for row in both.distinct().collect()} == {"A", "B"}


def test_a_view_used_twice(spark: "SparkSession", df: "DataFrame") -> None:
    """A view that one query filters in two ways answers both."""
    df.createOrReplaceTempView("twice")
    counts = spark.sql(
        "SELECT (SELECT count(*) FROM twice WHERE app = 'A') a, (SELECT count(*) FROM twice WHERE app = 'B') b,"
        " (SELECT count(*) FROM twice) c"
    ).first()
    assert counts is not None
    assert (counts.a, counts.b, counts.c) == (df.filter("app = 'A'").count(), df.filter("app = 'B'").count(), 450)


def test_self_join(df: "DataFrame") -> None:
    """A frame joined with itself under different filters."""
    left, right = df.filter("k < 20").alias("x"), df.filter("k >= 10").alias("y")
    assert left.join(right, "k").count() == 10
    assert df.alias("x").join(df.alias("y"), "k").count() == 450


@pytest.mark.parametrize("app", APPS)
def test_each_logical_partition_alone(df: "DataFrame", events: Table, app: str | None) -> None:
    """Values that look like NULL, like a group or like a path are found as what they are."""
    expected = [row["k"] for row in events.scan().to_arrow().to_pylist() if row["app"] == app]
    found = df.filter(df.app.eqNullSafe(lit(app)))
    assert frame_numbers(found) == sorted(expected)
    assert expected


def test_a_cached_frame(df: "DataFrame") -> None:
    """Filters on a cached frame do not narrow what is cached."""
    kept = df.filter("dt > DATE '2026-05-03'").cache()
    try:
        total = kept.count()
        assert kept.filter("app = 'A'").count() < total
        assert kept.count() == total == df.filter("dt > DATE '2026-05-03'").count()
    finally:
        kept.unpersist()


def test_threads(spark: "SparkSession", events: Table) -> None:
    """Eight threads ask different questions of one table at once and get their own answers."""
    expected = {app: sum(row["app"] == app for row in events.scan().to_arrow().to_pylist()) for app in APPS}

    def ask(app: str | None) -> int:
        frame = spark.read.format("coalesce").load(events.location)
        return frame.filter(frame.app.eqNullSafe(lit(app))).count()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, APPS * 2))
    assert answers == [expected[app] for app in APPS * 2]


def test_sessions_of_one_jvm(spark: "SparkSession", events: Table) -> None:
    """Another session of the same JVM reads too, by its own time zone."""
    other = coalesce.attach(spark.newSession())
    other.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    frame = other.read.format("coalesce").load(events.location)
    clock = "ts < TIMESTAMP '2026-05-01 12:00:00'"
    assert frame.filter(clock).count() == events.count("ts < TIMESTAMP '2026-05-01 06:30:00Z'")
    assert spark.read.format("coalesce").load(events.location).filter(clock).count() == events.count(
        "ts < TIMESTAMP '2026-05-01 12:00:00Z'"
    )


# --- versions ----------------------------------------------------------------------------------------------------


def test_a_frame_stays_at_its_version(spark: "SparkSession", tmp_path: Path) -> None:
    """A frame made before a commit reads what was there then; version and asOf go back to it."""
    table = make_events(tmp_path / "events", writes=1)
    before = spark.read.format("coalesce").load(table.location)
    moment = table.state.timestamp_ms
    table.append(rows(150, 150))
    assert before.count() == 150
    reader = spark.read.format("coalesce")
    assert reader.load(table.location).count() == 300
    assert spark.read.format("coalesce").option("version", 1).load(table.location).count() == 150
    as_of = spark.sql(f"SELECT CAST(timestamp_millis({moment}) AS STRING) t").collect()[0].t
    assert spark.read.format("coalesce").option("asOf", as_of).load(table.location).count() == 150


def test_a_cached_version_does_not_answer_for_another(spark: "SparkSession", tmp_path: Path) -> None:
    """Spark looks for a plan it has cached; that of another version is another plan."""
    table = make_events(tmp_path / "events", writes=1)
    before = spark.read.format("coalesce").load(table.location).cache()
    try:
        assert before.count() == 150
        table.append(rows(150, 150))
        assert spark.read.format("coalesce").load(table.location).count() == 300
        assert spark.read.format("coalesce").option("version", 1).load(table.location).count() == 150
    finally:
        before.unpersist()


def test_a_partition_of_nulls_is_one_of_nulls(spark: "SparkSession", tmp_path: Path) -> None:
    """Where every file has one value of a column, that of some files is NULL."""
    schema = pa.schema([("p", pa.string()), ("k", pa.int64())])
    table = coalesce.create(tmp_path / "t", schema, partition_by=["p"])
    table.append(pa.table({"p": ["", None, "a"], "k": [1, 2, 3]}, schema=schema))
    frame = spark.read.format("coalesce").load(table.location)
    assert {row.k: row.p for row in frame.collect()} == {1: "", 2: None, 3: "a"}
    assert frame_numbers(frame.where("p IS NULL")) == [2]


def test_table_read(spark: "SparkSession", tmp_path: Path) -> None:
    """`Table.read` is the same frame, at the object's version or an older one."""
    make_events(tmp_path / "events", writes=2)
    table = coalesce.open(tmp_path / "events", spark=spark)
    assert table.read().count() == 300
    assert table.read(version=1).count() == 150
    assert table.read(as_of=None, version=0).count() == 0
    assert frame_numbers(table.read().filter("k = 7")) == [7]


def test_a_table_made_anew_at_the_same_place(spark: "SparkSession", tmp_path: Path) -> None:
    """Nothing is remembered of a table that was deleted and made again with as many versions."""
    make_events(tmp_path / "events", writes=1)
    location = str(tmp_path / "events")
    assert spark.read.format("coalesce").load(location).count() == 150
    (tmp_path / "events").rename(tmp_path / "old")
    make_events(tmp_path / "events", writes=1, size=10)
    assert spark.read.format("coalesce").load(location).count() == 10
