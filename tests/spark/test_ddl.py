"""DDL on tables of the catalog: it does what it says to the table, or is refused before anything is touched."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

import coalesce
from coalesce.model.rule import BySize
from coalesce.model.spec import field_text
from coalesce.table.table import Table, core_of
from tests.spark.events import unmanaged
from tests.spark.processes import run
from tests.support.numbers import sql_numbers
from tests.support.settings import CASE_SENSITIVE, OVERWRITE_MODE, changed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "dt DATE, app STRING, k BIGINT"
ROWS = "VALUES (1, DATE '2026-05-01', 'A'), (2, DATE '2026-05-02', 'B')"


def warehouse(spark: "SparkSession") -> Path:
    """Where managed tables of the database `default` lie."""
    return Path(str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:"))


def frame(spark: "SparkSession", number: int) -> "DataFrame":
    """One row for the table, its columns in another order."""
    return spark.sql(f"SELECT 'C' AS app, {number}L AS k, DATE '2026-05-03' AS dt")


def directory(table: Table) -> set[tuple[str, int]]:
    """Every file of a table, by name and age."""
    return {(str(p), p.stat().st_mtime_ns) for p in Path(table.location).rglob("*")}


def fields(location: Path) -> list[str]:
    """What the table at a location is partitioned by."""
    table = coalesce.open(location)
    return [field_text(f, table.schema) for f in table.state.spec.fields]


@pytest.fixture
def managed(spark: "SparkSession") -> Iterator[Table]:
    """A managed table `managed` with two rows; whatever happened, no file is left that no version names."""
    spark.sql(f"CREATE TABLE managed ({COLUMNS}) USING coalesce PARTITIONED BY (dt, app) OPTIONS (smallColumns 'app')")
    spark.sql(f"INSERT INTO managed {ROWS}")
    table = coalesce.open(warehouse(spark) / "managed", spark=spark)
    yield table
    if (warehouse(spark) / "managed").exists():
        assert unmanaged(table.refresh()) == set()
    for name in ("managed", "renamed"):
        spark.sql(f"DROP TABLE IF EXISTS {name}")


def test_create_table_without_a_location(spark: "SparkSession", managed: Table) -> None:
    """The table lies where managed tables lie, with its partition fields and its rule; DROP TABLE takes it away."""
    assert fields(warehouse(spark) / "managed") == ["dt", "app"]
    assert isinstance(managed.state.rule, BySize)
    assert [v.operation for v in managed.history()] == ["append", "create"]
    with pytest.raises(PySparkException, match="already exists"):
        spark.sql(f"CREATE TABLE managed ({COLUMNS}) USING coalesce")
    spark.sql(f"CREATE TABLE IF NOT EXISTS managed ({COLUMNS}) USING coalesce")
    assert sql_numbers(spark, "managed") == [1, 2]
    spark.sql("DROP TABLE managed PURGE")
    assert not (warehouse(spark) / "managed").exists()


def test_create_table_says_what_is_required(spark: "SparkSession") -> None:
    """NOT NULL and the table's own properties arrive; neither columns nor a place is an error that says so."""
    spark.sql(
        "CREATE TABLE strict (k BIGINT NOT NULL, s STRING) USING coalesce "
        "TBLPROPERTIES ('write.target-file-bytes' = '1048576', 'team' = 'x')"
    )
    try:
        table = coalesce.open(warehouse(spark) / "strict")
        assert [f.required for f in table.schema] == [True, False]
        assert core_of(table).snapshot().target_file_bytes == 1048576
        with pytest.raises(PySparkException, match="set_properties"):
            spark.sql("ALTER TABLE strict SET TBLPROPERTIES ('write.target-file-bytes' = '5')")
        spark.sql("ALTER TABLE strict SET TBLPROPERTIES ('team' = 'y')")
        assert sql_numbers(spark, "strict") == []
    finally:
        spark.sql("DROP TABLE strict")
    with pytest.raises(PySparkException, match="neither which columns"):
        spark.sql("CREATE TABLE nothing USING coalesce")


def test_truncate_is_a_version(spark: "SparkSession", managed: Table) -> None:
    """TRUNCATE TABLE removes the rows and keeps the table, its history and what it was; whatever the overwrite mode."""
    with changed(spark, {OVERWRITE_MODE: "dynamic"}):
        spark.sql("EXPLAIN TRUNCATE TABLE managed").collect()
        assert sql_numbers(spark, "managed") == [1, 2]
        spark.sql("TRUNCATE TABLE managed")
    assert sql_numbers(spark, "managed") == []
    assert sorted(row.k for row in managed.read(version=1).collect()) == [1, 2]
    assert fields(warehouse(spark) / "managed") == ["dt", "app"]


REFUSED = {
    "TRUNCATE TABLE managed PARTITION (dt = '2026-05-01')": "drop_partition",
    "ALTER TABLE managed ADD PARTITION (dt = '2026-05-01', app = 'x')": "drop_partition",
    "ALTER TABLE managed DROP PARTITION (dt = '2026-05-01')": "drop_partition",
    "ALTER TABLE managed PARTITION (dt = '2026-05-01') RENAME TO PARTITION (dt = '2026-05-09')": "drop_partition",
    "ALTER TABLE managed PARTITION (dt = '2026-05-01') SET LOCATION '/nowhere'": "drop_partition",
    "ALTER TABLE managed RECOVER PARTITIONS": "drop_partition",
    "MSCK REPAIR TABLE managed": "drop_partition",
    "SHOW PARTITIONS managed": "partitions()",
    "ANALYZE TABLE managed PARTITION (dt) COMPUTE STATISTICS": "has its statistics",
    "LOAD DATA INPATH '/nowhere' OVERWRITE INTO TABLE managed": "spark.read",
    "ALTER TABLE managed ADD COLUMNS (z INT)": "add_column",
    "ALTER TABLE managed ALTER COLUMN k COMMENT 'x'": "add_column",
    "ALTER TABLE managed DROP COLUMN k": "DROP COLUMN",
    "ALTER TABLE managed RENAME COLUMN k TO n": "RENAME COLUMN",
    "ALTER TABLE managed CLUSTER BY (k)": "bucket",
    "ALTER TABLE managed SET LOCATION '/nowhere'": "CREATE TABLE … LOCATION",
    "CREATE OR REPLACE TABLE managed (x INT) USING coalesce": "REPLACE TABLE",
    "CREATE OR REPLACE TABLE managed USING coalesce AS SELECT 1 AS x": "REPLACE TABLE",
    "CREATE TABLE other (a INT, b INT) USING coalesce CLUSTERED BY (a) INTO 4 BUCKETS": "bucket",
    "CREATE TABLE other (a INT, b INT) USING coalesce CLUSTER BY (a)": "bucket",
    "CREATE TABLE other (a INT, b CHAR(3)) USING coalesce": "b is CHAR(3).*STRING",
    "CREATE TABLE other (a ARRAY<VARCHAR(3)>) USING coalesce": "VARCHAR(3).*STRING",
    "INSERT OVERWRITE DIRECTORY '{managed}' USING parquet SELECT 1": "there is a coalesce table",
    "INSERT OVERWRITE DIRECTORY '{managed}/data' USING parquet SELECT 1": "there is a coalesce table",
    "INSERT OVERWRITE DIRECTORY '{warehouse}' USING csv SELECT 1": "there is a coalesce table",
    "CREATE TABLE other USING parquet LOCATION '{managed}' AS SELECT 1 AS x": "coalesce table|not empty|non-empty",
    "CREATE TABLE other USING coalesce LOCATION '{managed}' AS SELECT 1 AS x": "coalesce table|not empty|non-empty",
    "CREATE TABLE other ({columns}) USING coalesce PARTITIONED BY (k) LOCATION '{managed}'": "partitioned by|columns",
}


def test_what_is_refused_touches_nothing(spark: "SparkSession", managed: Table) -> None:
    """Every command that would write or delete files past the table, or change the catalog and not the table."""
    before = directory(managed)
    places = {"managed": managed.location, "warehouse": str(warehouse(spark)), "columns": COLUMNS}
    for statement, words in REFUSED.items():
        with pytest.raises(PySparkException, match="(?s)" + words.replace("(", r"\(").replace(")", r"\)")):
            spark.sql(statement.format_map(places))
        assert directory(managed) == before, statement
    assert sql_numbers(spark, "managed") == [1, 2]
    assert not spark.catalog.tableExists("other")
    assert not (warehouse(spark) / "other").exists()


FRAMES: dict[str, Callable[["DataFrame", Table], object]] = {
    "parquet over the table": lambda df, t: df.write.mode("overwrite").parquet(t.location),
    "parquet into the table": lambda df, t: df.write.mode("append").parquet(f"{t.location}/data"),
    "parquet over its parent": lambda df, t: df.write.mode("overwrite").parquet(str(Path(t.location).parent)),
    "parquet as the table": lambda df, _: df.write.mode("overwrite").saveAsTable("managed"),
    "another place": lambda df, _: df.write.format("coalesce").mode("append").saveAsTable("managed", path="/nowhere"),
    "other columns": lambda df, _: (
        df.drop("k").write.format("coalesce").mode("overwrite").saveAsTable("managed", partitionBy=["app"])
    ),
    "other fields": lambda df, _: (
        df.write.format("coalesce").mode("append").saveAsTable("managed", partitionBy=["app"])
    ),
    "bucketBy": lambda df, _: df.write.format("coalesce").bucketBy(4, "k").saveAsTable("other"),
    "clusterBy": lambda df, _: df.write.format("coalesce").clusterBy("k").saveAsTable("other"),
    "clusterBy and a path": lambda df, t: df.write.format("coalesce").clusterBy("k").save(f"{t.location}-other"),
    "a table that is there": lambda df, t: df.write.format("coalesce").saveAsTable("other", path=t.location),
}


def test_frames_that_are_refused_touch_nothing(spark: "SparkSession", managed: Table) -> None:
    """The same through DataFrame.write."""
    before = directory(managed)
    for name, write in FRAMES.items():
        with pytest.raises(PySparkException, match=r"^(?!.*NativeSource@)"):
            write(frame(spark, 9), managed)
        assert directory(managed) == before, name
    assert sql_numbers(spark, "managed") == [1, 2]
    assert not spark.catalog.tableExists("other")


def test_save_as_table_keeps_the_history(spark: "SparkSession", managed: Table) -> None:
    """Mode append, with the table's own partitionBy or none, adds; mode overwrite is a version, not a new table."""
    writer = frame(spark, 3).write.format("coalesce")
    writer.mode("append").partitionBy("dt", "app").saveAsTable("managed")
    assert sql_numbers(spark, "managed") == [1, 2, 3]
    frame(spark, 4).write.format("coalesce").mode("append").saveAsTable("managed")
    frame(spark, 5).write.format("coalesce").mode("overwrite").saveAsTable("managed")
    assert sql_numbers(spark, "managed") == [5]
    assert sorted(row.k for row in managed.refresh().read(version=3).collect()) == [1, 2, 3, 4]
    assert fields(warehouse(spark) / "managed") == ["dt", "app"]


def test_save_as_table_under_a_new_name_appends(spark: "SparkSession", managed: Table) -> None:
    """A table that is there but not in the catalog under that name gets the rows added, if that is the mode."""
    frame(spark, 3).write.format("coalesce").mode("append").saveAsTable("alias", path=managed.location)
    try:
        assert sql_numbers(spark, "alias") == [1, 2, 3]
    finally:
        spark.sql("DROP TABLE alias")
    assert sql_numbers(spark, "managed") == [1, 2, 3]


@pytest.mark.usefixtures("managed")
def test_a_renamed_table(spark: "SparkSession") -> None:
    """ALTER TABLE … RENAME moves a managed table's directory; rows, history and what is written next go with it."""
    assert sql_numbers(spark, "managed") == [1, 2]
    spark.sql("ALTER TABLE managed RENAME TO renamed")
    assert sql_numbers(spark, "renamed") == [1, 2]
    spark.sql("INSERT INTO renamed VALUES (3, DATE '2026-05-03', 'C')")
    assert sql_numbers(spark, "renamed") == [1, 2, 3]
    assert not (warehouse(spark) / "managed").exists()
    moved = coalesce.open(warehouse(spark) / "renamed")
    assert (moved.version, unmanaged(moved)) == (2, set())


def test_an_external_table_survives_its_name(spark: "SparkSession", managed: Table, tmp_path: Path) -> None:
    """DROP TABLE of an external table leaves the files; SET LOCATION shows another table's rows."""
    coalesce.create(tmp_path / "t", managed.schema, spark=spark).append(frame(spark, 7))
    spark.sql(f"CREATE TABLE outside USING coalesce LOCATION '{managed.location}'")
    spark.sql(f"ALTER TABLE outside SET LOCATION '{tmp_path / 't'}'")
    assert sql_numbers(spark, "outside") == [7]
    spark.sql("TRUNCATE TABLE outside")
    spark.sql("DROP TABLE outside PURGE")
    assert coalesce.open(tmp_path / "t").version == 2
    assert sql_numbers(spark, "managed") == [1, 2]


def test_a_managed_table_stays_where_it_is(spark: "SparkSession", managed: Table, tmp_path: Path) -> None:
    """SET LOCATION would make another table a managed one's to delete, by DROP TABLE: refused, of plain tables too."""
    coalesce.create(tmp_path / "t", managed.schema)
    spark.sql("CREATE TABLE plain (k BIGINT) USING parquet")
    try:
        for name in ("managed", "plain"):
            with pytest.raises(PySparkException, match=r"DROP TABLE would delete.*CREATE TABLE … LOCATION"):
                spark.sql(f"ALTER TABLE {name} SET LOCATION '{tmp_path / 't'}'")
        spark.sql(f"ALTER TABLE plain SET LOCATION '{tmp_path / 'elsewhere'}'")  # nothing of ours: as before
        spark.sql(f"CREATE TABLE outside USING coalesce LOCATION '{managed.location}'")
        with pytest.raises(PySparkException, match="no coalesce table at /nowhere"):
            spark.sql("ALTER TABLE outside SET LOCATION '/nowhere'")
    finally:
        spark.sql("DROP TABLE plain")
        spark.sql("DROP TABLE IF EXISTS outside")
    assert coalesce.open(tmp_path / "t").version == 0
    assert sql_numbers(spark, "managed") == [1, 2]


def test_drop_database(spark: "SparkSession", managed: Table) -> None:
    """A database goes with its managed tables, not with a table that merely lies in its directory."""
    spark.sql("CREATE DATABASE shelf")
    place = warehouse(spark) / "shelf.db"
    spark.sql(f"CREATE TABLE shelf.own ({COLUMNS}) USING coalesce")
    coalesce.create(place / "guest", managed.schema)
    with pytest.raises(PySparkException, match="guest is not one that belongs"):
        spark.sql("DROP DATABASE shelf CASCADE")
    assert coalesce.open(place / "guest").version == 0
    assert spark.table("shelf.own").count() == 0
    (place / "guest").rename(warehouse(spark) / "guest")
    spark.sql("DROP DATABASE shelf CASCADE")
    assert not place.exists()


@pytest.mark.usefixtures("managed")
def test_the_catalog_shows_the_columns(spark: "SparkSession", managed: Table) -> None:
    """SHOW COLUMNS, listColumns, DESCRIBE of a column and SHOW CREATE TABLE show what the table has now."""
    managed.rename_column("k", "number")
    managed.add_column("extra", "int64", default=5)
    expected = ["number", "dt", "app", "extra"]
    assert [row.col_name for row in spark.sql("SHOW COLUMNS IN managed").collect()] == expected
    assert [column.name for column in spark.catalog.listColumns("managed")] == expected
    described = {row.info_name: row.info_value for row in spark.sql("DESCRIBE managed extra").collect()}
    assert described["data_type"] == "bigint"
    shown = spark.sql("SHOW CREATE TABLE managed").collect()[0][0]
    assert "number BIGINT" in shown
    assert "PARTITIONED BY (dt, app)" in shown
    spark.sql("ANALYZE TABLE managed COMPUTE STATISTICS FOR ALL COLUMNS")
    assert spark.sql("SELECT sum(number + extra) AS s FROM managed").collect()[0].s == 13


@pytest.mark.usefixtures("managed")
def test_create_table_like(spark: "SparkSession") -> None:
    """A table like another has its columns, partition fields and rule, and a directory of its own."""
    spark.sql("CREATE TABLE alike LIKE managed")
    spark.sql("CREATE TABLE plain LIKE managed USING parquet")
    try:
        spark.sql("INSERT INTO alike SELECT * FROM managed")
        assert (sql_numbers(spark, "alike"), sql_numbers(spark, "plain")) == ([1, 2], [])
        alike = coalesce.open(warehouse(spark) / "alike")
        assert fields(warehouse(spark) / "alike") == ["dt", "app"]
        assert isinstance(alike.state.rule, BySize)
    finally:
        spark.sql("DROP TABLE alike")
        spark.sql("DROP TABLE plain")
    assert sql_numbers(spark, "managed") == [1, 2]


def test_transforms_in_partitioned_by(spark: "SparkSession") -> None:
    """PARTITIONED BY takes the transforms a table can have, in Spark's spelling or ours; other tables are as before."""
    created = "CREATE TABLE hashed (ts TIMESTAMP, id INT) USING coalesce PARTITIONED BY (days(ts), bucket(4, id))"
    spark.newSession().sql(created)
    try:
        spark.sql("INSERT INTO hashed VALUES (TIMESTAMP '2026-05-01 10:00:00', 5)")
        assert fields(warehouse(spark) / "hashed") == ["day(ts)", "bucket(4, id)"]
        (shown,) = spark.sql("SHOW CREATE TABLE hashed").collect()
        spark.sql("DROP TABLE hashed")
        spark.sql(shown[0])
        assert fields(warehouse(spark) / "hashed") == ["day(ts)", "bucket(4, id)"]
    finally:
        spark.sql("DROP TABLE IF EXISTS hashed")
    with pytest.raises(PySparkException, match="there is no transform 'week'"):
        spark.sql("CREATE TABLE hashed (ts TIMESTAMP) USING coalesce PARTITIONED BY (week(ts))")
    with pytest.raises(PySparkException, match="UNSUPPORTED_PARTITION_TRANSFORM"):
        spark.sql("CREATE TABLE hashed (ts TIMESTAMP, k INT) USING parquet PARTITIONED BY (days(ts))")


def test_odd_names_in_partitioned_by(spark: "SparkSession") -> None:
    """SHOW CREATE TABLE quotes the columns of partition fields: what it shows makes the same table again."""
    columns = "`a.b` INT, `my col` INT, `x``y` STRING"
    fields_ = "(`a.b`, bucket(4, `my col`), truncate(2, `x``y`))"
    spark.sql(f"CREATE TABLE odd ({columns}) USING coalesce PARTITIONED BY {fields_}")
    try:
        (shown,) = spark.sql("SHOW CREATE TABLE odd").collect()
        assert f"PARTITIONED BY {fields_}" in shown[0]
        spark.sql("DROP TABLE odd")
        spark.sql(shown[0])
        assert fields(warehouse(spark) / "odd") == ["a.b", "bucket(4, my col)", "truncate(2, x`y)"]
    finally:
        spark.sql("DROP TABLE IF EXISTS odd")


def test_comments(spark: "SparkSession") -> None:
    """Comments of columns and of their members are the table's; they outlive a rename, and a frame shows them."""
    spark.sql(
        "CREATE TABLE said (k INT COMMENT 'how many', s STRUCT<a: INT COMMENT 'inner'>) USING coalesce COMMENT 'x'"
    )
    try:
        table = coalesce.open(warehouse(spark) / "said", spark=spark)
        table.rename_column("k", "n")
        assert [f.comment for f in coalesce.open(warehouse(spark) / "said").schema] == ["how many", None]
        described = {row.col_name: row.comment for row in spark.sql("DESCRIBE said").collect()}
        assert described["n"] == "how many"
        shown = spark.table("said").schema
        assert shown["n"].metadata == {"comment": "how many"}
        assert shown["s"].dataType["a"].metadata == {"comment": "inner"}  # type: ignore[index]
        assert "COMMENT 'x'" in spark.sql("SHOW CREATE TABLE said").collect()[0][0]
    finally:
        spark.sql("DROP TABLE said")


def test_columns_that_differ_only_in_case(spark: "SparkSession", tmp_path: Path) -> None:
    """Whatever the session's setting, such columns are refused in a sentence and no table is made."""
    with changed(spark, {CASE_SENSITIVE: "true"}):
        with pytest.raises(PySparkException, match="differ only in case"):
            spark.sql("CREATE TABLE twice (a INT, A INT) USING coalesce")
        with pytest.raises(PySparkException, match="differ only in case"):
            spark.sql("SELECT 1 AS a, 2 AS A").write.format("coalesce").save(str(tmp_path / "twice"))
    assert not spark.catalog.tableExists("twice")
    assert not (warehouse(spark) / "twice").exists()


def sessions(spark: "SparkSession") -> dict[str, "SparkSession"]:
    """A new session and a clone, as Spark makes for streams."""
    from pyspark.sql import SparkSession

    context: Any = spark.sparkContext
    return {"new": spark.newSession(), "clone": SparkSession(context, spark._jsparkSession.cloneSession())}


def test_every_session_of_the_driver(spark: "SparkSession") -> None:
    """What sessions that were never attached create has its partition fields, and their TRUNCATE is a version."""
    for name, other in sessions(spark).items():
        place = warehouse(spark) / name
        try:
            other.sql(f"CREATE TABLE {name} USING coalesce PARTITIONED BY (app) AS SELECT 1L AS k, 'A' AS app")
            assert fields(place) == ["app"], name
            other.sql(f"TRUNCATE TABLE {name}")
            assert coalesce.open(place).version == 2, name
            other.sql(f"DROP TABLE {name}")
            other.sql(f"CREATE TABLE {name} ({COLUMNS}) USING coalesce PARTITIONED BY (app)")
            assert fields(place) == ["app"], name
            other.sql(f"DROP TABLE {name}")
            frame(other, 1).write.format("coalesce").partitionBy("dt", "app").saveAsTable(name)
            assert fields(place) == ["dt", "app"], name
            frame(other, 2).write.format("coalesce").mode("overwrite").saveAsTable(name)
            assert coalesce.open(place).version == 2, name
        finally:
            with suppress(PySparkException):
                spark.sql(f"DROP TABLE IF EXISTS {name}")


def test_a_session_without_our_rules_is_refused(spark: "SparkSession") -> None:
    """Our rules switched off by a setting: CREATE TABLE says what is missing and makes nothing."""
    other = spark.newSession()
    other.conf.set("spark.sql.optimizer.excludedRules", "coalesce.spark.CreateTables")
    for statement in (
        "CREATE TABLE lost USING coalesce PARTITIONED BY (app) AS SELECT 1L AS k, 'A' AS app",
        f"CREATE TABLE lost ({COLUMNS}) USING coalesce PARTITIONED BY (app) LOCATION '/nowhere/lost'",
    ):
        with pytest.raises(PySparkException, match=r"coalesce\.attach\(session\)"):
            other.sql(statement)
    assert not (warehouse(spark) / "lost").exists()


HIVE = """
import sys
from pathlib import Path
import coalesce

root = Path(sys.argv[1])
spark = coalesce.session("local[1]", **{
    "spark.sql.catalogImplementation": "hive",
    "spark.sql.shuffle.partitions": 1,
    "spark.sql.warehouse.dir": str(root / "warehouse"),
    "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={root}/metastore;create=true",
    "spark.driver.extraJavaOptions": f"-Dderby.system.home={root} -Dderby.stream.error.file={root}/derby.log",
})

def numbers(name):
    return [row.k for row in spark.sql(f"SELECT k FROM {name} ORDER BY k").collect()]

def refused(statement):
    try:
        spark.sql(statement)
    except Exception as error:
        return "coalesce table" in str(error)

spark.sql("CREATE TABLE t (app STRING COMMENT 'c', k BIGINT) USING coalesce PARTITIONED BY (app)")
spark.sql("INSERT INTO t VALUES (1, 'A')")
spark.sql("TRUNCATE TABLE t")
spark.sql("INSERT INTO t VALUES (2, 'A'), (3, 'B')")
print(numbers("t"), [row.col_name for row in spark.sql("SHOW COLUMNS IN t").collect()])
spark.sql("ALTER TABLE t SET TBLPROPERTIES ('team' = 'y')")
spark.sql("ALTER TABLE t RENAME TO u")
print(numbers("u"), sorted(p.name for p in (root / "warehouse").iterdir()))
print(refused(f"INSERT OVERWRITE DIRECTORY '{root}/warehouse/u' STORED AS PARQUET SELECT 1"))
print(refused(f"INSERT OVERWRITE LOCAL DIRECTORY '{root}/warehouse' STORED AS TEXTFILE SELECT 1"))
print(refused("ALTER TABLE u ADD COLUMNS (z INT)"), refused("MSCK REPAIR TABLE u"))
spark.sql("SELECT 'C' AS app, 4L AS k").write.format("coalesce").mode("overwrite").saveAsTable("u")
spark.sql(f"CREATE TABLE outside USING coalesce LOCATION '{root}/warehouse/u'")
spark.sql("DROP TABLE outside")
table = coalesce.open(root / "warehouse" / "u")
print(numbers("u"), [v.operation for v in table.history()], [f.name for f in table.state.spec.fields])
spark.sql("DROP TABLE u")
print(sorted(p.name for p in (root / "warehouse").iterdir()))
"""


@pytest.mark.spark
def test_the_hive_catalog(tmp_path: Path) -> None:
    """The same with Hive's catalog, which moves and deletes directories by itself."""
    assert run(HIVE, tmp_path, directory=tmp_path) == [
        "[2, 3] ['k', 'app']",
        "[2, 3] ['u']",
        "True",
        "True",
        "True True",
        "[4] ['overwrite', 'append', 'truncate', 'append', 'create'] ['app']",
        "[]",
    ]
