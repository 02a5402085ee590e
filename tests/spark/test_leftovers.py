"""The watch over the session that tests share (`tests/support/leftovers.py`)."""

from typing import TYPE_CHECKING

from tests.support.leftovers import Watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_views_go_without_a_word(spark: "SparkSession", watch: Watch) -> None:
    """A temporary view is dropped, one that was there before stays, and a session that is as before says nothing."""
    spark.range(1).createOrReplaceTempView("of_the_module")
    before = watch.state()
    assert watch.put_back(before) is None
    spark.range(1).createOrReplaceTempView("left")
    assert watch.put_back(before) is None
    assert [table.name for table in spark.catalog.listTables()] == ["of_the_module"]


def test_what_should_have_been_put_back_is_named(spark: "SparkSession", watch: Watch) -> None:
    """Tables, databases and settings, by name; and they are as before."""
    before = watch.state()
    spark.sql("CREATE TABLE left_behind (k INT) USING parquet")
    spark.sql("CREATE DATABASE left_beside")
    spark.conf.set("spark.sql.caseSensitive", "true")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    assert watch.put_back(before) == (
        "left in the shared session: the table `default`.`left_behind`, the database left_beside, "
        "the setting spark.sql.caseSensitive = true (before: None), "
        "the setting spark.sql.session.timeZone = Asia/Tokyo (before: UTC)"
    )
    assert watch.state() == before
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
