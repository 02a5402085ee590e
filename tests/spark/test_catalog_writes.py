"""Rows into a catalog's tables: INSERT in all its forms, and what DataFrame.write and writeTo do."""

import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions

from coalesce.model.spec import field_text
from coalesce.spark.catalog import writes
from tests.spark.events import unmanaged
from tests.spark.lakes import Lake, attached, events
from tests.support.settings import CASE_SENSITIVE, OVERWRITE_MODE, changed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ANSI = "spark.sql.ansi.enabled"


@pytest.fixture(scope="module")
def catalog(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A catalog with a namespace `db`."""
    with attached(spark, tmp_path_factory.mktemp("lake")) as found:
        found.sql("CREATE NAMESPACE lake.db")
        yield found


@pytest.fixture
def lake(catalog: Lake) -> Iterator[Lake]:
    """The same, with three rows in `lake.db.events`; no file is left that no version names."""
    events(catalog)
    yield catalog
    if (catalog.root / "db" / "events").exists():
        assert unmanaged(catalog.table("db/events")) == set()
    for _, name, _ in catalog.sql("SHOW TABLES IN lake.db"):
        catalog.sql(f"DROP TABLE lake.db.{name}")


def row(lake: Lake, number: int, day: int = 9, app: str = "Z") -> "DataFrame":
    """One row, its columns in another order than the table's."""
    return lake.spark.sql(f"SELECT {number}L AS k, '{app}' AS app, DATE '2026-05-{day:02}' AS dt")


def test_insert_into(lake: Lake) -> None:
    """By position, by a list of columns, by name, with part of the values in PARTITION; under both ANSI settings."""
    lake.sql("INSERT INTO lake.db.events (k, app, dt) VALUES (4, 'D', DATE '2026-05-04')")
    lake.sql("INSERT INTO lake.db.events BY NAME SELECT 5L AS k, 'E' AS app, DATE '2026-05-05' AS dt")
    lake.sql("INSERT INTO lake.db.events PARTITION (dt = '2026-05-06', app = 'F') SELECT 6L")
    with changed(lake.spark, {ANSI: "false", CASE_SENSITIVE: "true"}):
        lake.sql("INSERT INTO lake.db.events PARTITION (dt = DATE '2026-05-07') SELECT 'G', 7")
    lake.sql("INSERT INTO lake.db.events SELECT dt, app, k + 7 FROM lake.db.events WHERE k = 1")
    assert lake.numbers("lake.db.events") == [1, 2, 3, 4, 5, 6, 7, 8]
    assert lake.sql("SELECT dt, app FROM lake.db.events WHERE k IN (6, 7) ORDER BY k") == lake.sql(
        "VALUES (DATE '2026-05-06', 'F'), (DATE '2026-05-07', 'G')"
    )
    lake.sql("INSERT INTO lake.db.events (k) VALUES (9)")
    assert lake.sql("SELECT * FROM lake.db.events WHERE k = 9") == [(None, None, 9)]


def test_insert_overwrite(lake: Lake) -> None:
    """All rows; those of a PARTITION (…); in dynamic mode the logical partitions of the new rows."""
    lake.sql("INSERT OVERWRITE lake.db.events PARTITION (dt = DATE '2026-05-01') SELECT 'A', 10L")
    assert lake.numbers("lake.db.events") == [2, 3, 10]
    with changed(lake.spark, {OVERWRITE_MODE: "dynamic"}):
        lake.sql("WITH c AS (SELECT 11L AS k) INSERT OVERWRITE lake.db.events SELECT DATE '2026-05-02', 'B', k FROM c")
        assert lake.numbers("lake.db.events") == [3, 10, 11]
        lake.sql("INSERT OVERWRITE lake.db.events PARTITION (dt = DATE '2026-05-03') SELECT 'X', 12L")
        assert lake.numbers("lake.db.events") == [3, 10, 11, 12]
        lake.sql("INSERT OVERWRITE lake.db.events SELECT dt, app, k + 10 FROM lake.db.events WHERE k = 12")
        assert lake.numbers("lake.db.events") == [3, 10, 11, 22]
        lake.sql("EXPLAIN INSERT OVERWRITE lake.db.events SELECT dt, app, 0L FROM lake.db.events")
    lake.sql("INSERT OVERWRITE lake.db.events SELECT DATE '2026-05-09', 'Z', 1L")
    assert lake.numbers("lake.db.events") == [1]
    operations = [v.operation for v in lake.table("db/events").history(limit=5)]
    assert operations == ["overwrite", *["overwrite_partitions"] * 3, "overwrite"]


def test_insert_replace_where(lake: Lake) -> None:
    """The rows that match go, in the same commit; what only Spark could judge, or would not match again, is refused."""
    lake.sql("INSERT INTO lake.db.events REPLACE WHERE app = 'A' OR k > 2 SELECT DATE '2026-05-01', 'A', 20L")
    assert lake.numbers("lake.db.events") == [2, 20]
    replaced = "INSERT INTO lake.db.events REPLACE WHERE {} SELECT DATE '2026-05-01', {}"
    lake.sql(replaced.format("dt < '2026-05-02' AND app LIKE 'A%'", "'A', 21L"))
    assert lake.numbers("lake.db.events") == [2, 21]
    lake.sql(replaced.format("NOT app IN ('B', 'C')", "'it''s \\\\', 22L"))
    assert lake.numbers("lake.db.events") == [2, 22]
    lake.sql(replaced.format("app = 'it''s \\\\'", "'it''s \\\\', 23L"))
    assert lake.numbers("lake.db.events") == [2, 23]
    for condition, words in {
        "length(app) = 1": "compare columns with values",
        "app = 'B'": "does not match",
        "k IN (SELECT 1)": "SUBQUERY",
        "rand() > 0": "DETERMINISTIC|compare|translate",
    }.items():
        with pytest.raises(PySparkException, match=f"(?s){words}"):
            lake.sql(replaced.format(condition, "'C', 24L"))
    assert lake.numbers("lake.db.events") == [2, 23]


def test_a_table_is_written_from_itself(lake: Lake) -> None:
    """A statement that reads the table it writes to, in whatever form, reads what was there and writes as it says."""
    lake.sql(
        "INSERT OVERWRITE lake.db.events PARTITION (dt = DATE '2026-05-01') SELECT app, k + 10 FROM lake.db.events"
    )
    assert lake.numbers("lake.db.events") == [2, 3, 11, 12, 13]
    lake.sql("INSERT INTO lake.db.events REPLACE WHERE k > 10 SELECT dt, app, k + 10 FROM lake.db.events WHERE k = 12")
    assert lake.numbers("lake.db.events") == [2, 3, 22]
    lake.sql(
        "INSERT INTO lake.db.events BY NAME SELECT k + 1 AS k FROM lake.db.events t JOIN lake.db.events s USING (k)"
    )
    assert lake.numbers("lake.db.events") == [2, 3, 3, 4, 22, 23]
    with changed(lake.spark, {OVERWRITE_MODE: "dynamic"}):
        lake.sql("INSERT OVERWRITE lake.db.events SELECT dt, app, 0L FROM lake.db.events WHERE k = 2")
    assert lake.numbers("lake.db.events") == [0, 3, 3, 4, 22, 23]
    insert = "INSERT INTO lake.db.events SELECT dt, app, {}L WHERE k = 0"
    lake.sql(f"FROM lake.db.events {insert.format(50)} {insert.format(51)}")
    assert lake.numbers("lake.db.events")[-2:] == [50, 51]
    lake.sql("USE lake.db")
    try:
        lake.sql("INSERT INTO events REPLACE WHERE k >= 50 SELECT dt, app, k + 10 FROM events WHERE k = 50")
    finally:
        lake.sql("USE spark_catalog.default")
    assert lake.numbers("lake.db.events")[-2:] == [23, 60]


def test_rows_change(lake: Lake) -> None:
    """DELETE, UPDATE and MERGE, with and without other clauses than INSERT, find a table by its full name."""
    lake.sql("DELETE FROM lake.db.events WHERE app = 'A'")
    lake.sql("UPDATE lake.db.events SET k = k + 10 WHERE lake.db.events.app = 'B'")
    assert lake.numbers("lake.db.events") == [3, 12]
    merge = "MERGE INTO lake.db.events t USING (SELECT DATE '2026-05-03' AS dt, {} AS app, {} AS k) s ON t.app = s.app "
    lake.sql(merge.format("'D'", "4L") + "WHEN NOT MATCHED THEN INSERT *")
    lake.sql(merge.format("'C'", "5L") + "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *")
    assert lake.numbers("lake.db.events") == [4, 12]


def test_truncate(lake: Lake) -> None:
    """TRUNCATE TABLE is a version; EXPLAIN does nothing."""
    lake.sql("EXPLAIN TRUNCATE TABLE lake.db.events")
    assert lake.numbers("lake.db.events") == [1, 2, 3]
    lake.sql("TRUNCATE TABLE lake.db.events")
    assert lake.numbers("lake.db.events") == []
    assert lake.numbers("lake.db.events VERSION AS OF 2") == [1, 2, 3]


def test_write_to(lake: Lake) -> None:
    """append, overwrite and overwritePartitions go by the names of columns."""
    row(lake, 4).writeTo("lake.db.events").append()
    row(lake, 5).writeTo("lake.db.events").overwritePartitions()
    assert lake.numbers("lake.db.events") == [1, 2, 3, 5]
    row(lake, 6).writeTo("lake.db.events").overwrite(functions.col("app") == "Z")
    assert lake.numbers("lake.db.events") == [1, 2, 3, 6]
    with changed(lake.spark, {OVERWRITE_MODE: "dynamic"}):
        row(lake, 7, 1, "A").writeTo("lake.db.events").overwrite(functions.lit(True))
    assert lake.numbers("lake.db.events") == [7]
    writer = row(lake, 8).writeTo("lake.db.events").option("txnAppId", "nightly").option("txnVersion", "1")
    writer.append()
    writer.append()
    assert lake.numbers("lake.db.events") == [7, 8]


def test_write_to_makes_tables(lake: Lake) -> None:
    """create, replace and createOrReplace; partitionedBy takes transforms."""
    row(lake, 1).writeTo("lake.db.made").partitionedBy(functions.partitioning.bucket(4, "k"), "dt").create()
    table = lake.table("db/made")
    assert [field_text(f, table.schema) for f in table.state.spec.fields] == ["bucket(4, k)", "dt"]
    with pytest.raises(PySparkException, match="ALREADY_EXISTS"):
        row(lake, 2).writeTo("lake.db.made").create()
    row(lake, 2).select("k").writeTo("lake.db.made").replace()
    row(lake, 3).select("k").writeTo("lake.db.made").createOrReplace()
    assert lake.numbers("lake.db.made") == [3]
    assert lake.numbers("lake.db.made VERSION AS OF 1") == [1]
    assert lake.table("db/made").schema.names == ("k",)


def test_save_as_table(lake: Lake) -> None:
    """It makes a coalesce table whatever the default source is; overwrite replaces the rows and keeps the table."""
    row(lake, 1).write.partitionBy("app").saveAsTable("lake.db.saved")
    row(lake, 2).write.mode("append").saveAsTable("lake.db.saved")
    assert lake.numbers("lake.db.saved") == [1, 2]
    row(lake, 3).write.mode("overwrite").saveAsTable("lake.db.saved")
    row(lake, 4).write.mode("ignore").saveAsTable("lake.db.saved")
    assert lake.numbers("lake.db.saved") == [3]
    assert lake.sql("SELECT fields FROM lake.db.saved.specs") == [(["app"],)]
    row(lake, 5).select("k", "app", "dt").write.insertInto("lake.db.saved")
    assert lake.numbers("lake.db.saved") == [3, 5]
    refusals: dict[str, Callable[[], object]] = {
        "ALREADY_EXISTS": lambda: row(lake, 9).write.saveAsTable("lake.db.saved"),
        "partitioning": lambda: row(lake, 9).write.mode("append").partitionBy("dt").saveAsTable("lake.db.saved"),
        "partitioned by app": lambda: (
            row(lake, 9).write.mode("overwrite").partitionBy("dt").saveAsTable("lake.db.saved")
        ),
        "leave out LOCATION": lambda: row(lake, 9).write.option("path", "/nowhere").saveAsTable("lake.db.new"),
        "USING csv": lambda: row(lake, 9).write.format("csv").saveAsTable("lake.db.new"),
        "no option nonsense": lambda: row(lake, 9).writeTo("lake.db.saved").option("nonsense", "1").append(),
    }
    for words, write in refusals.items():
        with pytest.raises(PySparkException, match=words):
            write()
    assert lake.numbers("lake.db.saved") == [3, 5]
    assert not lake.spark.catalog.tableExists("lake.db.new")


def test_columns_that_rows_bring(lake: Lake) -> None:
    """MergeSchema adds them, overwriteSchema puts them in the place of the others; without these they are refused."""
    wider = row(lake, 4).withColumn("note", functions.lit("x"))
    merging = {"mergeSchema": "true"}
    with pytest.raises(PySparkException, match="TOO_MANY_DATA_COLUMNS"):
        wider.writeTo("lake.db.events").append()
    wider.writeTo("lake.db.events").options(**merging).append()
    more = row(lake, 5).withColumn("more", functions.lit(1))
    more.write.mode("append").options(**merging).saveAsTable("lake.db.events")
    row(lake, 6, 3, "C").withColumn("last", functions.lit(2)).writeTo("lake.db.events").options(
        **merging
    ).overwritePartitions()
    assert lake.sql("SELECT k, note, more, last FROM lake.db.events WHERE k > 2 ORDER BY k") == [
        (4, "x", None, None),
        (5, None, 1, None),
        (6, None, None, 2),
    ]
    with pytest.raises(PySparkException, match="mergeSchema is true or false"):
        more.write.mode("overwrite").option("mergeSchema", "nonsense").saveAsTable("lake.db.events")
    replacing = row(lake, 8).selectExpr("dt", "app", "CAST(k AS STRING) AS k", "1 AS n").write.mode("overwrite")
    replacing.option("overwriteSchema", "true").saveAsTable("lake.db.events")
    assert lake.sql("SELECT * FROM lake.db.events") == [(*lake.sql("VALUES (DATE '2026-05-09', 'Z', '8', 1)")[0],)]
    assert lake.sql("SELECT fields FROM lake.db.events.specs WHERE current") == [(["dt", "app"],)]
    assert lake.numbers("lake.db.events VERSION AS OF 2") == [1, 2, 3]
    with pytest.raises(PySparkException, match="overwriteSchema goes with"):
        replacing.option("overwriteSchema", "true").option("replaceWhere", "n = 1").saveAsTable("lake.db.events")
    with pytest.raises(PySparkException, match="is none that a table"):
        row(lake, 9).writeTo("lake.db.new").option("overwriteSchema", "true").create()


def test_rows_that_do_not_fit(lake: Lake) -> None:
    """A wrong number of columns, a wrong type or a NULL that is not allowed leaves the table as it was."""
    lake.sql("CREATE TABLE lake.db.strict (k BIGINT NOT NULL)")
    for statement, words in {
        "INSERT INTO lake.db.events VALUES (1)": "ARITY",
        "INSERT INTO lake.db.events VALUES ('x', 'y', 'z')": "CAST",
        "INSERT INTO lake.db.events BY NAME SELECT 1 AS nothing": "nothing",
        "INSERT INTO lake.db.strict VALUES (NULL)": "k",
        "INSERT INTO lake.db.events PARTITION (k = 1) SELECT DATE '2026-05-01', 'A'": "NON_PARTITION_COLUMN",
    }.items():
        with pytest.raises(PySparkException, match=words):
            lake.sql(statement)
    assert (lake.table("db/events").version, lake.table("db/strict").version) == (2, 0)


def test_columns_that_move_meanwhile(lake: Lake) -> None:
    """Rows that were matched to a table's columns find them by name, if those were put in another order since."""
    lake.sql("CREATE TABLE lake.db.pairs (a BIGINT, b BIGINT)")
    matched = lake.spark.sql("SELECT 1L AS a, 2L AS b")
    lake.sql("ALTER TABLE lake.db.pairs ALTER COLUMN b FIRST")
    place = str(lake.root / "db" / "pairs")
    writes.write({"table": place, "how": "append", "where": None, "options": {}}, matched)
    assert lake.sql("SELECT a, b FROM lake.db.pairs") == [(1, 2)]


def test_a_copy_of_a_table_is_another_table(lake: Lake) -> None:
    """A directory that was copied has the same commits; each is read and written as itself, in one query too."""
    shutil.copytree(lake.root / "db" / "events", lake.root / "db" / "copy")
    lake.sql("INSERT INTO lake.db.copy VALUES (DATE '2026-05-09', 'Z', 9)")
    assert lake.sql("SELECT (SELECT max(k) FROM lake.db.copy), (SELECT max(k) FROM lake.db.events)") == [(9, 3)]
    assert lake.sql("SELECT count(*) FROM lake.db.copy.files UNION ALL SELECT count(*) FROM lake.db.events.files") == [
        (4,),
        (3,),
    ]


def test_tables_of_the_sessions_catalog_say_what_to_write(lake: Lake) -> None:
    """writeTo, REPLACE WHERE and PARTITION (…) do not reach a table USING coalesce: a sentence says what does."""
    lake.sql("CREATE TABLE plain (k BIGINT, app STRING) USING coalesce PARTITIONED BY (app)")
    try:
        one = lake.spark.sql("SELECT 1L AS k, 'A' AS app")
        writes: list[Callable[[], object]] = [
            lambda: one.writeTo("plain").append(),
            lambda: one.writeTo("spark_catalog.default.plain").overwritePartitions(),
            lambda: lake.sql("INSERT INTO plain REPLACE WHERE app = 'A' SELECT 1L, 'A'"),
            lambda: lake.sql("INSERT INTO plain PARTITION (app = 'A') SELECT 1L"),
        ]
        for write in writes:
            with pytest.raises(PySparkException, match=r'format\("coalesce"\)'):
                write()
        assert lake.numbers("plain") == []
    finally:
        lake.sql("DROP TABLE plain")
