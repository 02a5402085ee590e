"""What a query need not do again: a reader that was sent to the executors, an answer that Python has given before."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import coalesce
from coalesce.spark.session import native
from coalesce.spark.source.queries import describe
from coalesce.spark.source.versions import resolve
from coalesce.storage.objects import ObjectStorage
from tests.support.settings import changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = pa.table({"app": ["a", "a", "b", "c"], "x": [0.0, -0.0, 1.0, 2.0], "k": [1, 2, 3, 4]})
VECTORIZED = "spark.sql.parquet.enableVectorizedReader"
WAREHOUSE = "readers"

pytestmark = pytest.mark.usefixtures("lake")


@pytest.fixture(scope="module")
def lake(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A catalog of two tables that have the same columns and other rows."""
    place = tmp_path_factory.mktemp("readers")
    coalesce.attach(spark, catalog=WAREHOUSE, warehouse=str(place))
    for name, rows in {"events": ROWS, "others": ROWS.slice(2)}.items():
        made = coalesce.create(place / name, rows.schema, partition_by=["app"], rule=coalesce.small("app"))
        made.append(rows)
    yield place
    for setting in ("", ".warehouse"):
        spark.conf.unset(f"spark.sql.catalog.{WAREHOUSE}{setting}")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What Spark asks Python, in that order."""
    questions: list[str] = []

    def noted(name: str, call: Callable[..., str]) -> Callable[..., str]:
        def answer(question: dict[str, object], subject: object) -> str:
            questions.append(str(question.get("verb", name)))
            return call(question, subject)

        return answer

    for name, call in native._CALLS.items():
        monkeypatch.setitem(native._CALLS, name, noted(name, call))
    return questions


def _numbers(spark: "SparkSession", where: str, table: str = "events") -> list[int]:
    found = spark.sql(f"SELECT k FROM {WAREHOUSE}.{table} WHERE {where}").collect()
    return sorted(row.k for row in found)


def _plan(spark: "SparkSession", where: str) -> None:
    frame = spark.sql(f"SELECT k FROM {WAREHOUSE}.events WHERE {where}")
    frame._jdf.queryExecution().toRdd().getNumPartitions()


def test_a_query_that_was_asked_before_asks_one_question(spark: "SparkSession", asked: list[str]) -> None:
    """The catalog has to be asked for the newest version; what the same filters leave of that version is known."""
    _plan(spark, "app = 'a' AND k > 0")
    asked.clear()
    _plan(spark, "app = 'a' AND k > 0")
    assert asked == ["load"]


def test_what_was_committed_since_is_seen(spark: "SparkSession", lake: Path) -> None:
    """What is known is known of a version: the next one is asked for anew."""
    assert _numbers(spark, "app = 'b'", "others") == [3]
    table = coalesce.open(lake / "others")
    table.append(pa.table({"app": ["b"], "x": [5.0], "k": [50]}))
    assert _numbers(spark, "app = 'b'", "others") == [3, 50]
    table.rollback(1)
    assert _numbers(spark, "app = 'b'", "others") == [3]


def test_tables_with_the_same_columns_have_their_own_rows(spark: "SparkSession") -> None:
    """One reader does for both: which files it reads, each scan says."""
    assert _numbers(spark, "k > 2") == [3, 4]
    assert _numbers(spark, "k > 2", "others") == [3, 4]
    assert _numbers(spark, "k < 3") == [1, 2]
    assert _numbers(spark, "k < 3", "others") == []


def test_filters_that_are_equal_to_java_are_not_the_same(spark: "SparkSession") -> None:
    """0.0 and -0.0, 1 and 1.0."""
    for zero in ("0.0D", "-0.0D", "0"):
        assert _numbers(spark, f"x = {zero}") == [1, 2]
        assert _numbers(spark, f"x > {zero}") == [3, 4]
        assert _numbers(spark, f"x < {zero}") == []


def test_a_reader_is_made_anew_for_other_settings_of_the_session(spark: "SparkSession", lake: Path) -> None:
    """Rows or batches of columns: a scan that expects one and gets the other fails."""
    for vectorized in ("true", "false", "true", "false"):
        with changed(spark, {VECTORIZED: vectorized}):
            assert _numbers(spark, "k >= 2") == [2, 3, 4]
    other = spark.newSession()
    other.conf.set(VECTORIZED, "false")
    assert [row.k for row in other.read.format("coalesce").load(str(lake / "events")).where("k >= 4").collect()] == [4]
    assert _numbers(spark, "k >= 4") == [4]


def test_a_reader_is_made_anew_for_other_settings_of_hadoop(spark: "SparkSession") -> None:
    """Those of a file system among them: whoever sets other credentials reads with those."""
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    assert _numbers(spark, "k = 3") == [3]
    settings.set("fs.file.impl", "no.such.FileSystem")
    settings.set("fs.file.impl.disable.cache", "true")
    try:
        with pytest.raises(Exception, match=r"no\.such\.FileSystem"):
            _numbers(spark, "k = 3")
    finally:
        settings.unset("fs.file.impl")
        settings.unset("fs.file.impl.disable.cache")
    assert _numbers(spark, "k = 3") == [3]


def _kept(spark: "SparkSession") -> Any:
    """The readers that are kept in the JVM."""
    scan = spark.table(f"{WAREHOUSE}.events")._jdf.queryExecution().optimizedPlan().collectLeaves().head()
    field = scan.relation().getClass().getClassLoader().loadClass("coalesce.spark.Readers").getDeclaredField("KEPT")
    field.setAccessible(True)
    return field.get(None)


def test_a_reader_is_copied_for_other_filters(spark: "SparkSession") -> None:
    """Hadoop's settings go to the executors once; each scan still skips row groups by its own filters."""
    kept = _kept(spark)
    kept.clear()
    for number in (1, 2, 3, 4, 5):
        assert _numbers(spark, f"k = {number}") == [number] * (number < 5)
        assert _numbers(spark, f"k = {number} AND app = 'a'") == [number] * (number < 3)
    (made,) = list(kept.values())
    form = made.getClass().getDeclaredField("form")
    form.setAccessible(True)
    # Those of later releases cannot be taken apart: there, a reader is made for each scan.
    assert (form.get(made) is not None) is spark.version.startswith("4.1.")


def test_a_reader_that_cannot_be_copied_is_made_for_each_scan(spark: "SparkSession") -> None:
    """Where a Spark makes its readers otherwise, so that no filters are found in them."""
    kept = _kept(spark)
    kept.clear()
    assert _numbers(spark, "k = 1") == [1]
    (made,) = list(kept.values())
    place = made.getClass().getDeclaredField("form")
    place.setAccessible(True)
    place.set(made, None)
    try:
        assert _numbers(spark, "k = 2") == [2]
        assert _numbers(spark, "k > 2 AND x > 1") == [4]
    finally:
        kept.clear()


def test_a_reader_is_made_anew_for_another_time_zone_of_the_machine(spark: "SparkSession") -> None:
    """A session that was told no time zone goes by the machine's, which no setting of it tells."""
    zones = spark.sparkContext._jvm.java.util.TimeZone  # type: ignore[union-attr]
    before, kept, counts = zones.getDefault(), _kept(spark), []
    kept.clear()
    try:
        for zone in ("UTC", "Asia/Kolkata", "UTC"):
            zones.setDefault(zones.getTimeZone(zone))
            assert _numbers(spark, "k = 4 AND app = 'c'") == [4]
            counts.append(kept.size())
    finally:
        zones.setDefault(before)
    assert counts == [1, 2, 2]


def test_where_files_lie_is_called_as_the_settings_have_it(spark: "SparkSession", lake: Path) -> None:
    """A version is described once; the scheme that its files are read by is asked of Hadoop each time."""
    found = replace(resolve(str(lake / "events"), spark), storage=ObjectStorage("s3://bucket/events"))
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    assert describe("s3://bucket/events", found, spark)["root"] == "s3a://bucket/events"
    settings.set("fs.s3.impl", "org.apache.hadoop.fs.s3a.S3AFileSystem")
    try:
        assert describe("s3://bucket/events", found, spark)["root"] == "s3://bucket/events"
    finally:
        settings.unset("fs.s3.impl")


def test_a_table_that_was_dropped_is_not_remembered(spark: "SparkSession") -> None:
    """A frame of it that asks again is told, in words, also if it has asked the same before."""
    spark.sql(f"CREATE TABLE {WAREHOUSE}.gone (app STRING, k BIGINT) PARTITIONED BY (app)")
    spark.sql(f"INSERT INTO {WAREHOUSE}.gone VALUES ('a', 1)")
    frame = spark.table(f"{WAREHOUSE}.gone").where("app = 'a' AND k > 0")
    assert [row.k for row in frame.collect()] == [1]
    spark.sql(f"DROP TABLE {WAREHOUSE}.gone")
    with pytest.raises(Exception, match=r"TableNotFound|there is no table"):
        frame.where("true").select("k").collect()


def test_explain_still_says_what_each_stage_left(spark: "SparkSession") -> None:
    """To plan a scan takes no description; whoever looks gets it."""
    frame = spark.sql(f"SELECT k FROM {WAREHOUSE}.events WHERE app = 'c'")
    text = frame._jdf.queryExecution().toString()
    assert "v1: 1 of 1 files" in text
    assert "logical tuples 1" in text
