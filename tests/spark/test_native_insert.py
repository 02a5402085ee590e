"""Writing through Spark's own doors: our writer commits it, or it is refused; never a file that no version names."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, IllegalArgumentException, PySparkException

import coalesce
from coalesce.table.table import Table
from tests.spark.events import unmanaged
from tests.support.numbers import sql_numbers
from tests.support.settings import OVERWRITE_MODE, changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("k", pa.int64())])
ROW = "SELECT DATE '2026-05-01' AS dt, 'A' AS app, {} AS k"


@pytest.fixture
def events(spark: "SparkSession", tmp_path: Path) -> Iterator[Table]:
    """A table with one row, in the catalog as `events`; afterwards all its files must be known."""
    table = coalesce.create(
        tmp_path / "events", SCHEMA, partition_by=["dt", "app"], rule=coalesce.small("app"), spark=spark
    )
    table.append(spark.sql(ROW.format("0L")))
    spark.sql(f"CREATE TABLE events USING coalesce LOCATION '{table.location}'")
    yield table
    spark.sql("DROP TABLE events")
    assert unmanaged(table) == set()


def test_insert_into(spark: "SparkSession", events: Table) -> None:
    """INSERT INTO, by position and by name, several times, each one commit."""
    spark.sql("INSERT INTO events " + ROW.format("1L"))
    assert sql_numbers(spark, "events") == [0, 1]
    spark.sql("INSERT INTO events VALUES (DATE '2026-05-02', NULL, 2), (NULL, '', 3)")
    spark.sql("INSERT INTO events (k, app, dt) SELECT 4, 'B', DATE '2026-05-03'")
    spark.sql("INSERT INTO events BY NAME SELECT 5L AS k, 'C' AS app, DATE '2026-05-03' AS dt")
    assert sql_numbers(spark, "events") == [0, 1, 2, 3, 4, 5]
    assert events.refresh().version == 5
    assert events.count("app = ''") == 1


def test_insert_through_a_relation_that_was_read(spark: "SparkSession", events: Table) -> None:
    """A relation that queries have used, with options or without, is no way past the writer."""
    assert sql_numbers(spark, "events") == [0]
    spark.sql("SELECT * FROM events WITH (timeZone = 'Asia/Tokyo')").collect()
    spark.sql("INSERT INTO events SELECT dt, app, k + 1 FROM events")
    spark.sql("INSERT INTO events WITH (layout = 'counted') SELECT dt, app, k + 2 FROM events")
    assert sql_numbers(spark, "events") == [0, 1, 2, 3]
    assert unmanaged(events) == set()


def test_insert_while_the_table_is_cached(spark: "SparkSession", events: Table) -> None:
    """CACHE TABLE does not turn an insert into a plain write."""
    spark.sql("CACHE TABLE events")
    spark.sql("INSERT INTO events " + ROW.format("1L"))
    assert sql_numbers(spark, "events") == [0, 1]
    spark.sql("UNCACHE TABLE events")
    assert events.refresh().version == 2


def test_insert_overwrite(spark: "SparkSession", events: Table) -> None:
    """INSERT OVERWRITE replaces the rows in one commit; what it replaced can still be read."""
    spark.sql("INSERT OVERWRITE events " + ROW.format("7L"))
    assert sql_numbers(spark, "events") == [7]
    spark.sql("INSERT OVERWRITE events SELECT dt, app, k + 1 FROM events")
    assert sql_numbers(spark, "events") == [8]
    assert [row.k for row in coalesce.open(events.location, spark=spark).read(version=1).collect()] == [0]


def test_dynamic_insert_overwrite(spark: "SparkSession", events: Table) -> None:
    """In dynamic mode only the logical partitions that get rows lose theirs."""
    spark.sql("INSERT INTO events SELECT DATE '2026-05-01', 'B', 1L")
    with changed(spark, {OVERWRITE_MODE: "dynamic"}):
        spark.sql("INSERT OVERWRITE events SELECT DATE '2026-05-01', 'B', 2L")
    assert sql_numbers(spark, "events") == [0, 2]
    assert events.refresh().count() == 2


def test_static_partitions_are_refused(spark: "SparkSession", events: Table) -> None:
    """INSERT … PARTITION (dt = …) names a physical layout this table does not have: refused before anything happens."""
    for word in ("INTO", "OVERWRITE"):
        with pytest.raises((AnalysisException, PySparkException)):
            spark.sql(f"INSERT {word} events PARTITION (dt = DATE '2026-05-01') SELECT 'A', 9L")
    assert sql_numbers(spark, "events") == [0]
    assert unmanaged(events) == set()


def test_insert_into_a_view(spark: "SparkSession", events: Table) -> None:
    """A view of the source takes rows through the writer, or refuses them."""
    spark.sql(f"CREATE OR REPLACE TEMP VIEW direct USING coalesce OPTIONS (path '{events.location}')")
    spark.table("events").createOrReplaceTempView("framed")
    spark.sql("CREATE OR REPLACE TEMP VIEW filtered AS SELECT * FROM events WHERE app = 'A'")
    committed = [0]
    for number, view in enumerate(["direct", "framed", "filtered"], start=1):
        try:
            spark.sql(f"INSERT INTO {view} " + ROW.format(f"{number}L"))
        except PySparkException:
            continue
        committed.append(number)
    assert sql_numbers(spark, "events") == committed
    assert unmanaged(events) == set()


def test_insert_into_an_old_version_is_refused(spark: "SparkSession", events: Table) -> None:
    """A relation of the past takes no rows."""
    spark.sql(f"CREATE OR REPLACE TEMP VIEW past USING coalesce OPTIONS (path '{events.location}', version '1')")
    with pytest.raises(IllegalArgumentException, match="version of the past"):
        spark.sql("INSERT INTO past " + ROW.format("1L"))
    with pytest.raises(IllegalArgumentException, match="version of the past"):
        spark.sql("INSERT INTO events WITH (version = 1) " + ROW.format("1L"))
    assert sql_numbers(spark, "events") == [0]


def test_frame_writers(spark: "SparkSession", events: Table) -> None:
    """`insertInto`, `save` and `saveAsTable` of DataFrames commit through the writer."""
    spark.sql(ROW.format("1L")).write.insertInto("events")
    assert sql_numbers(spark, "events") == [0, 1]
    spark.sql(ROW.format("2L")).write.format("coalesce").mode("append").save(events.location)
    assert sql_numbers(spark, "events") == [0, 1, 2]
    spark.sql(ROW.format("3L")).write.insertInto("events", overwrite=True)
    assert sql_numbers(spark, "events") == [3]
    with pytest.raises(IllegalArgumentException, match="there is a coalesce table"):
        spark.sql(ROW.format("4L")).write.format("coalesce").save(events.location)
    spark.sql(ROW.format("5L")).write.format("coalesce").mode("ignore").save(events.location)
    assert sql_numbers(spark, "events") == [3]


def test_save_as_table_appends(spark: "SparkSession", events: Table) -> None:
    """`saveAsTable` in append mode commits to the table of that name, or is refused; it never writes plain files."""
    try:
        spark.sql(ROW.format("1L")).write.format("coalesce").mode("append").saveAsTable("events")
    except AnalysisException:
        assert sql_numbers(spark, "events") == [0]
    else:
        assert sql_numbers(spark, "events") == [0, 1]
    assert unmanaged(events) == set()


def test_save_as_table_creates(spark: "SparkSession", tmp_path: Path) -> None:
    """`saveAsTable` with partitionBy and a path creates a table with that spec, and the catalog reads it."""
    rows = spark.sql("SELECT DATE '2026-05-01' AS dt, id AS k, CAST(id % 3 AS STRING) AS app FROM range(10)")
    writer = rows.write.format("coalesce").partitionBy("dt", "app").option("smallColumns", "app")
    writer.option("path", str(tmp_path / "made")).saveAsTable("made")
    try:
        table = coalesce.open(tmp_path / "made")
        assert [f.name for f in table.state.spec.fields] == ["dt", "app"]
        assert unmanaged(table) == set()
        assert len(table.files()) == 1
        assert sql_numbers(spark, "made") == list(range(10))
        spark.sql("INSERT INTO made BY NAME SELECT DATE '2026-05-02' AS dt, 10L AS k, 'x' AS app")
        assert sql_numbers(spark, "made WHERE app = 'x'") == [10]
        rows.write.format("coalesce").mode("append").saveAsTable("made")
        assert len(sql_numbers(spark, "made")) == 21
        assert unmanaged(table) == set()
    finally:
        spark.sql("DROP TABLE made")


def test_create_table_creates(spark: "SparkSession", tmp_path: Path) -> None:
    """CREATE TABLE with columns and PARTITIONED BY makes the table where there is none."""
    spark.sql(
        "CREATE TABLE born (dt DATE, app STRING, k BIGINT) USING coalesce PARTITIONED BY (dt, app) "
        f"OPTIONS (smallColumns 'app') LOCATION '{tmp_path / 'born'}'"
    )
    try:
        # As always in Spark, PARTITIONED BY moves its columns to the end.
        spark.sql("INSERT INTO born VALUES (1, DATE '2026-05-01', 'A'), (2, DATE '2026-05-01', 'B')")
        table = coalesce.open(tmp_path / "born")
        assert [f.name for f in table.state.spec.fields] == ["dt", "app"]
        assert len(table.files()) == 1
        assert sql_numbers(spark, "born WHERE app = 'B'") == [2]
        assert unmanaged(table) == set()
    finally:
        spark.sql("DROP TABLE born")


def test_create_table_as_select(spark: "SparkSession", tmp_path: Path) -> None:
    """CREATE TABLE … AS SELECT keeps PARTITIONED BY."""
    spark.sql(
        f"CREATE TABLE chosen USING coalesce PARTITIONED BY (app) LOCATION '{tmp_path / 'chosen'}' "
        "AS SELECT CAST(id % 2 AS STRING) AS app, id AS k FROM range(4)"
    )
    try:
        assert [f.name for f in coalesce.open(tmp_path / "chosen").state.spec.fields] == ["app"]
        assert sql_numbers(spark, "chosen WHERE app = '1'") == [1, 3]
    finally:
        spark.sql("DROP TABLE chosen")


@pytest.mark.usefixtures("events")
def test_what_spark_refuses(spark: "SparkSession") -> None:
    """Doors that this kind of source does not have are closed, not open into the directory."""
    for statement in (
        "TRUNCATE TABLE events PARTITION (dt = '2026-05-01')",
        "ALTER TABLE events ADD COLUMNS (z INT)",
        "ALTER TABLE events DROP PARTITION (dt = '2026-05-01')",
    ):
        with pytest.raises(PySparkException):
            spark.sql(statement)
    assert sql_numbers(spark, "events") == [0]


@pytest.mark.usefixtures("events")
def test_rows_that_do_not_fit(spark: "SparkSession") -> None:
    """An error of the writer arrives with its own words."""
    rows = spark.sql("SELECT 'x' AS dt, 'A' AS app, 1L AS k, 2 AS unknown")
    with pytest.raises(IllegalArgumentException, match="unknown"):
        rows.write.format("coalesce").mode("append").save(
            spark.sql("DESCRIBE EXTENDED events").where("col_name = 'Location'").collect()[0].data_type
        )
