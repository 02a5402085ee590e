"""Which files Spark reads, and what it says about that."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import coalesce
from coalesce.plan.report import make_report
from coalesce.table.commit.manifests import SHARED_CACHE
from coalesce.table.table import Table
from tests.spark.events import DAYS, make_events
from tests.support.settings import CASE_SENSITIVE, changed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("rows_are_read")


@pytest.fixture(scope="module")
def events(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Eight days and one NULL day, three writes: 27 files, each of one day and many apps."""
    path = tmp_path_factory.mktemp("pruning") / "events"
    make_events(path)
    return coalesce.open(path, spark=spark)


@pytest.fixture
def plainly_planned(spark: "SparkSession") -> Iterator[None]:
    """Without adaptive execution the plan that was made is the plan that ran, with its numbers."""
    with changed(spark, {"spark.sql.adaptive.enabled": "false"}):
        yield


def files_read(frame: "DataFrame") -> list[int]:
    """Run the frame; how many files each scan of a coalesce table opened."""
    frame.collect()
    return [scan.metrics().apply("numFiles").value() for scan in scans(frame)]


def scans(frame: "DataFrame") -> list[Any]:
    """The scans of coalesce tables in the plan that ran."""
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    found = [leaves.apply(i) for i in range(leaves.size())]
    return [leaf for leaf in found if leaf.nodeName().startswith("Scan coalesce")]


def explained(frame: "DataFrame", mode: str = "simple") -> str:
    """What `frame.explain(mode)` prints."""
    jvm: Any = frame.sparkSession._jvm
    text = frame._jdf.queryExecution().explainString(jvm.org.apache.spark.sql.execution.ExplainMode.fromString(mode))
    return str(text)


# --- what is read ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("plainly_planned")
@pytest.mark.parametrize(
    ("where", "most"),
    [
        ("dt = DATE '2026-05-03'", 3),
        ("dt > DATE '2026-05-06'", 6),
        ("dt IS NULL", 3),
        ("dt = DATE '2026-05-03' AND k < 100", 1),
        ("k = 200", 9),
        ("app = 'nobody'", 0),
        ("(dt = DATE '2026-05-03' AND app = 'A') OR (dt = DATE '2026-05-04' AND app = 'nobody')", 3),
        # Only Catalyst understands these:
        ("dayofmonth(dt) = 3", 3),
        ("date_format(dt, 'yyyy-MM') = '2026-06'", 0),
        ("lower(app) = 'nobody'", 0),
        ("app RLIKE '^nob.*y$'", 0),
        ("length(concat(app, cast(dt AS STRING))) > 100", 0),
        ("NOT (lower(app) <> 'nobody')", 0),
        ("lower(app) = 'nobody' OR dayofmonth(dt) = 3", 3),
        ("CASE WHEN app = 'A' THEN dt = DATE '2026-05-03' ELSE false END", 3),
        ("try_cast(app AS INT) = 11", 0),
    ],
)
def test_files_read(events: Table, where: str, most: int) -> None:
    """A filter opens few files, and finds the rows that are there."""
    frame = events.read().where(where)
    assert sum(files_read(frame)) <= most
    everything = events.read().cache()
    try:
        assert frame.count() == everything.where(where).count()
    finally:
        everything.unpersist()


@pytest.mark.usefixtures("plainly_planned")
def test_dynamic_partition_pruning(spark: "SparkSession", events: Table, tmp_path: Path) -> None:
    """A join with a filtered dimension of days opens the files of those days only."""
    values = ", ".join(f"(DATE '{day}', {number})" for number, day in enumerate(DAYS))
    dimension = str(tmp_path / "dimension")
    # In files: Spark would filter literal rows while it plans, and then see no filter that makes pruning worth a try.
    spark.sql(f"SELECT * FROM VALUES {values} AS d(day, number)").write.parquet(dimension)
    spark.read.parquet(dimension).createOrReplaceTempView("dimension")
    events.read().createOrReplaceTempView("facts")
    join = (
        "SELECT /*+ BROADCAST(d) */ count(*) AS c FROM facts f JOIN dimension d ON f.dt = d.day "
        "WHERE d.number IN (2, 3)"
    )
    assert spark.sql(join).collect()[0].c == events.count("dt IN (DATE '2026-05-03', DATE '2026-05-04')")
    assert files_read(spark.sql(join)) == [6]
    assert "dynamicpruning" in explained(spark.sql(join))


@pytest.mark.usefixtures("plainly_planned")
def test_a_query_reads_the_manifests_it_needs(spark: "SparkSession", tmp_path: Path) -> None:
    """What Spark has to know of all files, such as that each has one day, the version says without its manifests."""
    table = make_events(tmp_path / "events")
    SHARED_CACHE.clear()
    frame = spark.read.format("coalesce").load(table.location)
    assert frame.where("dt = DATE '2001-01-01'").collect() == []
    assert len(SHARED_CACHE) == 0
    assert frame.where("dt = DATE '2026-05-03'").count() == table.count("dt = DATE '2026-05-03'")
    assert "PartitionFilters: [isnotnull(dt" in explained(frame.where("dt = DATE '2026-05-03'"))


@pytest.mark.usefixtures("plainly_planned")
def test_an_error_of_the_filter_is_sparks(events: Table) -> None:
    """A condition that fails on some value prunes nothing by it; Spark raises when, and only when, it meets a row."""
    from pyspark.errors import NumberFormatException

    with pytest.raises(NumberFormatException):
        events.read().where("cast(app AS INT) = 10").collect()
    careful = events.read().where("app = '10' AND cast(app AS INT) = 10")
    assert careful.count() == events.count("app = '10'")


@pytest.mark.usefixtures("plainly_planned")
def test_user_functions_are_not_called_to_prune(spark: "SparkSession", events: Table) -> None:
    """A user's function runs where Spark runs it, over the rows; all files are kept for it."""
    spark.udf.register("shout", lambda text: text and text.upper())
    frame = events.read().where("shout(app) = 'NOBODY'")
    assert sum(files_read(frame)) == len(events.files())
    assert frame.count() == 0


def test_nondeterministic_filters_keep_everything(events: Table) -> None:
    """What may answer differently for each row is not asked beforehand."""
    assert events.read().where("rand() < 2 AND app = 'A'").count() == events.count("app = 'A'")
    assert events.read().where("rand() < 0").count() == 0


# --- what is said ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["simple", "formatted", "cost"])
def test_explain_shows_the_index(events: Table, mode: str) -> None:
    """Every mode of explain() says how many files and bytes are kept of how many, stage by stage."""
    text = explained(events.read().where("dt = DATE '2026-05-03' AND k < 100"), mode)
    total = len(events.files())
    assert f"coalesce v3: 1 of {total} files" in text
    assert "manifests " in text
    assert "logical tuples 3, statistics 1" in text


def test_nobody_explains_what_nobody_looks_at(events: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """The optimizer's estimates need no report of the stages; explain() makes one for each scan, however often."""
    made: list[object] = []

    def counting(*arguments: Any) -> Any:
        made.append(arguments)
        return make_report(*arguments)

    monkeypatch.setattr("coalesce.spark.source.queries.make_report", counting)
    frame = events.read().where("dt = DATE '2026-05-03' AND k < 101")
    frame._jdf.queryExecution().optimizedPlan().stats()
    assert made == []
    for _ in range(2):
        assert "logical tuples 3, statistics 1" in explained(frame)
    assert len(made) == 1


def test_last_scan(events: Table) -> None:
    """The report of the scan that ran last: explaining another query in between does not count."""
    events.read().where("dt = DATE '2026-05-03' AND lower(app) = 'a'").collect()
    explained(events.read().where("dt = DATE '2026-05-04'"))
    report = events.last_scan()
    assert report is not None
    assert "2026-05-03" in report.predicate
    assert report.stages[-1].files <= 3
    assert report.version == 3


def test_statistics_reach_the_optimizer(spark: "SparkSession", events: Table) -> None:
    """Bytes and rows of what the filters leave, so that a small rest of a large table is broadcast."""
    where = "dt = DATE '2026-05-03' AND app = 'A'"
    everything, one = events.read(), events.read().where(where)
    sizes = [f._jdf.queryExecution().optimizedPlan().stats() for f in (everything, one)]
    assert sizes[0].sizeInBytes() == events.state.bytes
    assert sizes[1].sizeInBytes() < events.state.bytes / 20
    assert f"rowCount={events.count(where)}" in explained(one, "cost")
    with changed(spark, {"spark.sql.autoBroadcastJoinThreshold": str(events.state.bytes // 10)}):
        other = events.read().withColumnRenamed("k", "other")
        assert "BroadcastHashJoin" in explained(other.join(one, "app"))
        assert "BroadcastHashJoin" not in explained(other.join(everything, "app"))


def test_the_scan_is_sparks_own(events: Table) -> None:
    """Vectorised Parquet, filters pushed to row groups, only the columns that are asked for."""
    text = explained(events.read().where("k > 5 AND app = 'A'").select("v"))
    assert "Batched: true" in text
    assert "Format: Parquet" in text
    assert "GreaterThan(k,5)" in text
    assert "EqualTo(app,A)" in text
    assert "ReadSchema: struct<app:string,k:bigint,v:double>" in text


def test_file_metadata_columns(events: Table) -> None:
    """`_metadata` has the files' names, sizes and times as the file system has them, and the rows' places in them."""
    rows = (
        events.read()
        .select("k", "_metadata.*")
        .where("k < 5")
        .union(events.read().where("k < 5").select("k", "_metadata.*"))
        .collect()
    )
    assert len(rows) == 10
    for row in rows:
        path = Path(unquote(row.file_path).removeprefix("file://").removeprefix("file:"))
        status = path.stat()
        assert row.file_name == path.name
        assert row.file_size == status.st_size
        assert row.file_modification_time.timestamp() == pytest.approx(status.st_mtime, abs=1)
        assert pq.read_table(path).column("k")[row.row_index].as_py() == row.k
    times = {row[0].year for row in events.read().select("_metadata.file_modification_time").distinct().collect()}
    assert times == {datetime.now().year}, "also where nothing is filtered"


# --- when something is wrong -------------------------------------------------------------------------------------


def test_errors_name_what_is_wrong(spark: "SparkSession", events: Table, tmp_path: Path) -> None:
    """No table, no such version, no such option value: each says so in a sentence, from Spark's side too."""
    from pyspark.errors import IllegalArgumentException

    load = spark.read.format("coalesce").load
    with pytest.raises(IllegalArgumentException, match=r"there is no coalesce table at .*nowhere"):
        load(str(tmp_path / "nowhere"))
    with pytest.raises(IllegalArgumentException, match="there is no version 99"):
        spark.read.format("coalesce").option("version", 99).load(events.location)
    with pytest.raises(IllegalArgumentException, match="version is a number such as 7, or a tag; not '-1'"):
        spark.read.format("coalesce").option("version", "-1").load(events.location)
    with pytest.raises(IllegalArgumentException, match="has no tag 'new'"):
        spark.read.format("coalesce").option("version", "new").load(events.location)
    with pytest.raises(IllegalArgumentException, match="asOf is a time"):
        spark.read.format("coalesce").option("asOf", "yesterday").load(events.location)
    with pytest.raises(IllegalArgumentException, match="was committed after"):
        spark.read.format("coalesce").option("asOf", "2001-01-01 00:00:00").load(events.location)
    with pytest.raises(IllegalArgumentException, match="say where the table lies"):
        spark.read.format("coalesce").load()
    with pytest.raises(coalesce.CoalesceError, match="open the table with spark="):
        coalesce.open(events.location).read()


def test_a_missing_data_file_is_named(spark: "SparkSession", tmp_path: Path) -> None:
    """A file that somebody deleted is an error that says which, not fewer rows."""
    table = make_events(tmp_path / "events", writes=1)
    gone = table.files()[0].path
    (tmp_path / "events" / gone).unlink()
    with pytest.raises(Exception, match="(?s)FILE_NOT_EXIST.*" + gone.rpartition("/")[2]):
        spark.read.format("coalesce").load(table.location).collect()


def test_columns_in_any_case(spark: "SparkSession", events: Table) -> None:
    """Names are matched as Spark matches them, in filters too."""
    assert "1 of" in explained(events.read().where("DT = DATE '2026-05-03' AND K < 100"))
    assert events.read().where("APP = 'A'").count() == events.count("app = 'A'")
    with changed(spark, {CASE_SENSITIVE: "true"}):
        assert "1 of" in explained(events.read().where("dt = DATE '2026-05-03' AND k < 100"))


def test_a_table_without_partitions(spark: "SparkSession", tmp_path: Path) -> None:
    """No spec at all: statistics prune."""
    table = coalesce.create(tmp_path / "t", pa.schema([("k", pa.int64())]))
    table.append(pa.table({"k": [1, 2]}))
    table.append(pa.table({"k": [3, 4]}))
    frame = spark.read.format("coalesce").load(table.location)
    assert frame.where("k > 2").count() == 2
    assert "1 of 2 files" in explained(frame.where("k > 2"))


def test_an_empty_table(spark: "SparkSession", tmp_path: Path) -> None:
    """A table without rows has its columns."""
    make_events(tmp_path / "events", writes=0)
    frame = spark.read.format("coalesce").load(str(tmp_path / "events"))
    assert frame.columns[:2] == ["dt", "app"]
    assert frame.where("app = 'A'").count() == frame.count() == 0
