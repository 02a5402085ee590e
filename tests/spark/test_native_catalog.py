"""Tables of the catalog, views, and what follows new commits."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import coalesce
from coalesce.table.table import Table
from tests.spark.events import make_events, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def events(spark: "SparkSession", tmp_path: Path) -> Iterator[Table]:
    """A table in the catalog as `events`, with 150 rows."""
    table = make_events(tmp_path / "events", writes=1)
    spark.sql(f"CREATE TABLE events USING coalesce LOCATION '{table.location}'")
    yield table
    spark.sql("DROP TABLE events")


def count(spark: "SparkSession", source: str = "events") -> int:
    """How many rows a query counts."""
    return int(spark.sql(f"SELECT count(*) AS c FROM {source}").collect()[0].c)


def test_the_catalog_follows_every_commit(spark: "SparkSession", events: Table) -> None:
    """The next query sees a commit, made here or by someone else; no REFRESH TABLE is needed, and none hurts."""
    assert count(spark) == 150
    events.append(rows(150, 50))
    assert count(spark) == 200
    someone_else = coalesce.open(events.location)
    someone_else.delete("k < 10")
    assert count(spark) == 190
    spark.sql("REFRESH TABLE events")
    assert spark.table("events").count() == 190


def test_a_frame_of_the_catalog_stays_at_its_version(spark: "SparkSession", events: Table) -> None:
    """`spark.table` fixes the version when it is called, as reading by path does."""
    before = spark.table("events")
    events.append(rows(150, 50))
    assert (before.count(), spark.table("events").count()) == (150, 200)


def test_the_catalog_follows_the_columns(spark: "SparkSession", events: Table) -> None:
    """A column that is renamed or added shows under its new name in the next query, and in DESCRIBE."""
    assert "s" in spark.table("events").columns
    events.rename_column("s", "subject")
    events.add_column("extra", "int64", default=5)
    assert {"subject", "extra"} <= set(spark.table("events").columns)
    assert spark.sql("SELECT DISTINCT extra FROM events WHERE subject = 's1'").collect()[0].extra == 5
    described = {row.col_name for row in spark.sql("DESCRIBE TABLE events").collect()}
    assert {"subject", "extra"} <= described
    assert "s" not in described


def test_one_query_reads_one_version(spark: "SparkSession", events: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that falls between two look-ups of one query is seen by neither: the second finds what the first did."""
    from coalesce.spark.source import versions

    look_up = versions.resolve
    seen: list[int] = []

    def commit_after_the_first(*arguments: object, **options: object) -> versions.QueriedVersion:
        found = look_up(*arguments, **options)  # type: ignore[arg-type]
        seen.append(found.version.number)
        if len(seen) == 1:
            events.append(rows(150, 50))
        return found

    monkeypatch.setattr(versions, "resolve", commit_after_the_first)
    both = spark.sql("SELECT (SELECT count(*) FROM events) AS a, count(*) AS b FROM events").collect()[0]
    assert (both.a, both.b) == (150, 150)
    assert seen == [1]


def test_versions_of_a_table_in_the_catalog(spark: "SparkSession", events: Table) -> None:
    """Options of a single query, or of the table, choose an older version."""
    events.append(rows(150, 50))
    assert count(spark, "events WITH (version = 1)") == 150
    assert count(spark) == 200
    spark.sql(f"CREATE TABLE first_events USING coalesce OPTIONS (version '1') LOCATION '{events.location}'")
    try:
        assert count(spark, "first_events") == 150
    finally:
        spark.sql("DROP TABLE first_events")


def test_views(spark: "SparkSession", events: Table) -> None:
    """A view of SQL text follows commits; one made of a frame, or of a source, stays where that was."""
    spark.table("events").where("app = 'A'").createOrReplaceTempView("fixed")
    spark.sql("CREATE OR REPLACE TEMP VIEW following AS SELECT * FROM events WHERE app = 'A'")
    spark.sql(f"CREATE OR REPLACE TEMP VIEW source USING coalesce OPTIONS (path '{events.location}')")
    before = count(spark, "fixed")
    events.append(rows(150, 150))
    assert count(spark, "fixed") == before
    assert count(spark, "following") == events.count("app = 'A'") > before
    assert count(spark, "source") == 150


def test_a_cached_table_is_not_read_after_a_commit(spark: "SparkSession", events: Table) -> None:
    """CACHE TABLE keeps the rows of one version; a query after the next commit reads the table."""
    spark.sql("CACHE TABLE events")
    assert count(spark) == 150
    events.append(rows(150, 50))
    assert count(spark) == 200
    spark.sql("UNCACHE TABLE events")


def test_other_tables_are_cached_as_before(spark: "SparkSession", events: Table, tmp_path: Path) -> None:
    """Only coalesce tables are resolved anew for each query."""
    assert count(spark) == 150
    spark.range(3).write.parquet(str(tmp_path / "plain"))
    spark.sql(f"CREATE TABLE plain USING parquet LOCATION '{tmp_path / 'plain'}'")
    try:
        assert count(spark, "plain") == 3
        catalog = spark._jsparkSession.sessionState().catalog()
        name = spark._jvm.org.apache.spark.sql.catalyst.QualifiedTableName  # type: ignore[union-attr]
        assert catalog.getCachedTable(name("spark_catalog", "default", "plain")) is not None
        assert catalog.getCachedTable(name("spark_catalog", "default", "events")) is None
    finally:
        spark.sql("DROP TABLE plain")
    assert events.version == 1


def test_awkward_locations(spark: "SparkSession", tmp_path: Path) -> None:
    """A path with blanks, percent signs, quotes and brackets is taken literally, by path and by LOCATION."""
    place = tmp_path / "a b%20c [d] ünï=1"
    make_events(place, writes=1)
    assert spark.read.format("coalesce").load(str(place)).where("app = 'A'").count() > 0
    assert spark.read.format("coalesce").load(f"file:{place}").count() == 150
    spark.sql(f"CREATE TABLE awkward USING coalesce LOCATION '{place}'")
    try:
        assert count(spark, "awkward WHERE app = 'A'") > 0
    finally:
        spark.sql("DROP TABLE awkward")
