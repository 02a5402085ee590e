"""Rows of files with dead ones, counted as Spark reads them: in which scans, and that none is miscounted in silence."""

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame

import coalesce
from coalesce.arrow import encode
from coalesce.table.table import Table
from tests.spark.test_dead import MARK, keys, load, plan_of, removed, short
from tests.support.order import forget_order
from tests.support.settings import changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("rows_are_read")

APPS = 30
GONE = (0, 3, 4, 5, 11, 29)
COUNT = 60_000
LEFT = [k for k in range(COUNT) if k % APPS not in GONE]
ROW_BY_ROW = {"spark.sql.parquet.enableVectorizedReader": "false"}


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    """One file of several row groups and many pages, from which apps are gone at both ends and between."""
    monkeypatch.setattr(encode, "SHARED_ROW_GROUP_BYTES", 24_000)
    monkeypatch.setattr(encode, "_PAGE_BYTES", 1_000)
    table = short(tmp_path / "t", [f"app {i:02}" for i in range(APPS)], COUNT)
    for number in GONE:
        table.drop_partition(app=f"app {number:02}")
    held = pq.read_metadata(tmp_path / "t" / table.files()[0].path)
    assert held.num_row_groups > 3
    return table


def is_counted(frame: DataFrame) -> bool:
    """Whether its rows are counted; else they are told by the numbers that Spark's reader makes."""
    plan = plan_of(frame)
    assert ("LiveRows" in plan) != ("_tmp_metadata_row_index" in plan), plan
    assert ("LiveRows" in plan) != ("binarySearch" in plan), plan
    return "LiveRows" in plan


def test_which_scans_are_counted(spark: "SparkSession", groups: Table) -> None:
    """Those by which Spark's reader leaves out nothing: no filters of its own, no files that it may pass over."""
    frame = load(spark, groups)
    assert is_counted(frame)
    assert is_counted(frame.selectExpr("count(*)"))
    assert is_counted(frame.where("k IS NOT NULL"))
    assert is_counted(frame.where("k % 2 = 0"))  # not for the reader
    assert is_counted(frame.join(load(spark, groups).select("k"), "k"))
    assert not is_counted(frame.where("k > 100"))
    assert not is_counted(frame.where("app <> 'app 01'"))
    assert not is_counted(frame.select("k", "_metadata.row_index"))
    for settings in (
        {"spark.sql.files.ignoreCorruptFiles": "true"},
        {"spark.sql.files.ignoreMissingFiles": "true"},
        ROW_BY_ROW,
        {"spark.sql.codegen.wholeStage": "false"},
    ):
        with changed(spark, settings):
            assert not is_counted(load(spark, groups))
    groups.purge()
    assert "LiveRows" not in plan_of(load(spark, groups))


PIECES: list[dict[str, Any]] = [
    {},
    {"spark.sql.files.maxPartitionBytes": "20000"},
    {"spark.sql.files.maxPartitionBytes": "3000"},  # most pieces have no row group
    {"spark.sql.files.maxPartitionBytes": "20000", "spark.sql.files.maxPartitionNum": "1"},  # all of them in one task
    {"spark.sql.codegen.hugeMethodLimit": "10"},  # what is compiled is not used, but for the counter by itself
    {"spark.sql.codegen.hugeMethodLimit": "10", "spark.sql.files.maxPartitionBytes": "20000"},
    {"spark.sql.codegen.factoryMode": "NO_CODEGEN"},
    {"spark.sql.parquet.columnarReaderBatchSize": "7"},
    {"spark.sql.adaptive.enabled": "false"},
]


@pytest.mark.parametrize("settings", PIECES)
def test_however_a_file_is_read(spark: "SparkSession", groups: Table, settings: dict[str, str]) -> None:
    """In pieces and in whole, in batches of any size, compiled or not; rows, limits and what is computed of them."""
    with changed(spark, settings):
        frame = load(spark, groups)
        assert is_counted(frame)
        assert keys(frame) == LEFT
        found = frame.selectExpr("count(*)", "sum(k)", "count(distinct app)").collect()[0]
        assert tuple(found) == (len(LEFT), sum(LEFT), APPS - len(GONE))
        by_app = {row.app: row["count"] for row in frame.groupBy("app").count().collect()}
        assert by_app == {f"app {i:02}": COUNT // APPS for i in range(APPS) if i not in GONE}
        assert set(keys(frame.limit(COUNT // APPS + 5))) <= set(LEFT)
        assert frame.limit(COUNT // APPS + 5).count() == COUNT // APPS + 5
        assert keys(frame.where("k % 1000 = 7")) == [k for k in LEFT if k % 1000 == 7]


def test_values_that_are_not_null(spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By that condition the reader would skip row groups of nothing but NULL: rows behind them would be miscounted."""
    monkeypatch.setattr(encode, "SHARED_ROW_GROUP_BYTES", 4_000)
    schema = pa.schema([("app", pa.string()), ("k", pa.int64())])
    table = coalesce.create(tmp_path / "t", schema, partition_by=["app"], rule=coalesce.small("app"), properties=MARK)
    apps = [f"app {i // 1000}" for i in range(9_000)]
    table.append(pa.table({"app": apps, "k": [k if k >= 3_000 else None for k in range(9_000)]}, schema))
    table.drop_partition(app="app 5")
    frame = load(spark, table).where("k IS NOT NULL")
    assert is_counted(frame)
    assert keys(frame) == [k for k in range(3_000, 9_000) if k // 1000 != 5]
    assert min(keys(frame.orderBy("k").limit(10))) == 3_000


def test_many_files_in_one_task(spark: "SparkSession", tmp_path: Path) -> None:
    """Files of several writes, read one after the other by the same code; columns that have names of Spark's own."""
    names = ["app", "k", "file_path", "file_block_start", "_file"]
    schema = pa.schema(zip(names, [pa.string(), pa.int64(), pa.string(), pa.int64(), pa.int32()], strict=True))
    table = coalesce.create(tmp_path / "t", schema, partition_by=["app"], rule=coalesce.small("app"), properties=MARK)
    for write in range(5):
        ks = range(100 * write, 100 * write + 20 + write)
        table.append(
            pa.table([["ABCD"[k % 4] for k in ks], ks, ["x"] * len(ks), [-1] * len(ks), [5] * len(ks)], schema=schema)
        )
        table.drop_partition(app="ABCD"[write % 4])
    held = sorted(table.scan().to_arrow().column("k").to_pylist())
    assert removed(table) > 20
    frame = load(spark, table)
    assert is_counted(frame)
    assert keys(frame) == held
    assert keys(frame.coalesce(1)) == held
    assert keys(frame.where("file_path LIKE '%x' AND file_block_start + 1 = 0 AND _file % 5 = 0")) == held
    table.rename_column("k", "key")
    table.add_column("k", "int64", default=7)
    assert sorted(row.key for row in load(spark, table).where("k % 7 = 0").select("key", "k").collect()) == held


def test_files_without_dead_rows_are_read_together_with_the_others(spark: "SparkSession", tmp_path: Path) -> None:
    """As one scan where all rows are counted, whatever is known of their order; as two where the reader filters."""
    schema = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("k", pa.int64())])
    table = coalesce.create(
        tmp_path / "t", schema, partition_by=["dt", "app"], rule=coalesce.small("app"), properties=MARK
    )
    for write in range(6):
        ks = range(100 * write, 100 * write + 20 + write)
        days = [date(2026, 5, 1 + write % 3)] * len(ks)
        table.append(pa.table([days, ["ABCD"[k % 4] for k in ks], ks], schema=schema))
    table.drop_partition(dt="2026-05-02", app="A")
    table.drop_partition(dt="2026-05-03", app="D")
    held = sorted(table.scan().to_arrow().column("k").to_pylist())
    assert [bool(file.dead) for file in table.files()].count(False) == 2
    frame = load(spark, table)
    for together in (frame, frame.where("dt > DATE '2026-04-01'"), frame.where("k % 1 = 0 AND k IS NOT NULL")):
        assert plan_of(together).count("FileScan coalesce") == 1
        assert is_counted(together)
        assert keys(together) == held
    some = "dt <> DATE '2026-05-02' AND k % 2 = 0"
    assert plan_of(frame.where(some)).count("FileScan coalesce") == 1
    assert keys(frame.where(some)) == sorted(table.scan(some).to_arrow().column("k").to_pylist())
    for apart in (frame.where("k >= 0"), frame.select("k", "_metadata.row_index")):
        assert plan_of(apart).count("FileScan coalesce") == 2
        assert keys(apart) == held
    for settings in (ROW_BY_ROW, {"spark.sql.files.ignoreMissingFiles": "true"}):
        with changed(spark, settings):
            assert plan_of(load(spark, table)).count("FileScan coalesce") == 2
            assert keys(load(spark, table)) == held
    assert "LiveRows" not in plan_of(frame.where("dt = DATE '2026-05-01'"))  # where no file has dead rows
    forget_order(table, lambda file: not file.dead)
    assert plan_of(load(spark, table)).count("FileScan coalesce") == 1
    assert keys(load(spark, table)) == held
    late = load(spark, table).groupBy("dt").agg({"k": "max"}).where("`max(k)` > 400").select("dt")
    joined = load(spark, table).join(late.hint("broadcast"), "dt")
    assert keys(joined) == [k for k in held if k % 300 >= 100]


def test_rows_that_do_not_add_up(spark: "SparkSession", tmp_path: Path) -> None:
    """A file that has not the rows of its entry, more or fewer, fails the query: they would be taken for others."""
    table = short(tmp_path / "t", ["A", "B", "C"], 30)
    table.drop_partition(app="A")
    path = tmp_path / "t" / table.files()[0].path
    rows = pq.read_table(path)
    for other in (pa.concat_tables([rows, rows.slice(0, 1)]), rows.slice(1)):
        pq.write_table(other, path)
        frame = load(spark, table)
        assert is_counted(frame)
        with pytest.raises(Exception, match="which of them were removed cannot be told"):
            frame.selectExpr("sum(k)").collect()
    pq.write_table(rows, path)
    assert keys(load(spark, table)) == [k for k in range(30) if k % 3]
    pieces = {"spark.sql.files.maxPartitionBytes": str(path.stat().st_size // 2)}
    pq.write_table(pa.concat_tables([rows, rows]), path)
    with changed(spark, pieces), pytest.raises(Exception, match="which of them were removed cannot be told"):
        load(spark, table).selectExpr("sum(k)").collect()
    one_batch = {"spark.sql.parquet.columnarReaderBatchSize": "30"}  # as many rows as the entry says, and then more
    with changed(spark, one_batch), pytest.raises(Exception, match="which of them were removed cannot be told"):
        load(spark, table).selectExpr("sum(k)").collect()


@pytest.mark.parametrize("settings", PIECES[:4])
def test_two_scans_in_one_task(spark: "SparkSession", groups: Table, settings: dict[str, str]) -> None:
    """A batch of one, a batch of the other: each knows its own pieces, though Spark says only where the last began."""
    with changed(spark, settings | {"spark.sql.parquet.columnarReaderBatchSize": "7"}):
        frame, other = load(spark, groups).select("k", "app"), load(spark, groups).select("k")
        assert is_counted(frame)
        assert is_counted(other)
        ones, others = (each.coalesce(1)._jdf.toJavaRDD() for each in (frame, other))
        pairs = ones.zip(others)
        for rows, each in ((pairs.keys(), frame), (pairs.values(), other)):
            java = spark._jsparkSession.createDataFrame(rows, each._jdf.schema())
            assert keys(DataFrame(java, spark)) == LEFT


def test_another_reader_is_refused(spark: "SparkSession", groups: Table) -> None:
    """Where something has put another reader below, whose rows may be others, the query fails."""
    jvm: Any = spark.sparkContext._jvm
    frame = load(spark, groups)
    live = frame._jdf.queryExecution().sparkPlan()
    while live.getClass().getSimpleName() != "LiveRows":
        live = live.children().apply(0)
    other = spark.range(3)._jdf.queryExecution().sparkPlan()
    places = jvm.scala.jdk.javaapi.CollectionConverters.asScala([other]).toIndexedSeq()
    with pytest.raises(Exception, match="which is not Spark's own reader"):
        live.withNewChildrenInternal(places).execute()


def test_equal_scans_are_read_once(spark: "SparkSession", groups: Table) -> None:
    """Two scans of the same rows are one to Spark; scans of versions with other dead rows are two."""
    before = groups.state.number
    groups.drop_partition(app="app 20")
    with changed(spark, {"spark.sql.adaptive.enabled": "false"}):
        sums = "SELECT app, sum(k) FROM {} GROUP BY app"
        load(spark, groups).createOrReplaceTempView("new")
        load(spark, groups, version=before).createOrReplaceTempView("old")
        same = spark.sql(" UNION ALL ".join([sums.format("new")] * 2))
        assert "ReusedExchange" in plan_of(same)
        assert same.count() == 2 * (APPS - len(GONE) - 1)
        other = spark.sql(sums.format("new") + " UNION ALL " + sums.format("old"))
        assert "ReusedExchange" not in plan_of(other)
        assert other.count() == 2 * (APPS - len(GONE)) - 1


def test_what_executors_are_sent(spark: "SparkSession", groups: Table) -> None:
    """Of the operator itself nothing: another stands in for it, of which Spark has the class, with the same columns."""
    jvm: Any = spark.sparkContext._jvm
    live = load(spark, groups)._jdf.queryExecution().sparkPlan()
    while live.getClass().getSimpleName() != "LiveRows":
        live = live.children().apply(0)
    buffer = jvm.java.io.ByteArrayOutputStream()
    jvm.java.io.ObjectOutputStream(buffer).writeObject(live)
    sent = bytes(buffer.toByteArray())
    assert b"coalesce" not in sent
    assert b"LocalTableScanExec" in sent
