"""Every option is honoured or refused, and what is refused leaves the table as it was."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import coalesce
from coalesce.errors import CoalesceError
from coalesce.spark.translate.option_names import OPTIONS, Source
from coalesce.spark.translate.options import read_options, stream_options, write_options
from tests.spark.asked import NATIVE, asked, check_read, check_write, make, read, reads, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_writes(spark: "SparkSession", tmp_path: Path) -> None:
    """Each spelling of each option in each mode does what the model says, or is refused and leaves nothing behind."""
    coalesce.attach(spark)
    for case, mode in asked(NATIVE):
        check_write(case, mode, NATIVE, write(spark, tmp_path / "t", case, mode))


def test_reads(spark: "SparkSession", tmp_path: Path) -> None:
    """Each spelling of each option reads what it says, or is refused."""
    coalesce.attach(spark)
    make(tmp_path / "t")
    for number, case in enumerate(reads(tmp_path / "t")):
        check_read(tmp_path / "t", number, NATIVE, read(spark, tmp_path / "t", case))


# --- the catalog and streams -------------------------------------------------------------------------------------


def test_tables_of_the_catalog(spark: "SparkSession", tmp_path: Path) -> None:
    """What a table was created with comes along and is let through; what a query adds is looked at like any option."""
    coalesce.attach(spark)
    make(tmp_path / "t")
    spark.sql(
        f"CREATE TABLE asked USING coalesce OPTIONS (partitionOverwriteMode 'dynamic') LOCATION '{tmp_path / 't'}'"
    )
    try:
        assert spark.read.option("version", "1").table("asked").count() == 3
        coalesce.open(tmp_path / "t").tag("audit 1", version=1)
        assert spark.read.option("version", "audit 1").table("asked").count() == 3
        assert spark.read.format("coalesce").option("versionAsOf", "audit 1").load(str(tmp_path / "t")).count() == 3
        assert spark.sql("SELECT * FROM asked WITH (version = 1)").count() == 3
        with pytest.raises(Exception, match="TIME_TRAVEL"):  # of its own catalogs Spark takes this one itself
            spark.read.option("versionAsOf", "1").table("asked")
        for wrong, sentence in (
            ("vesion = 1", "did you mean version"),
            ("replaceWhere = 'k = 1'", "belongs to one write"),
            ("version = 1, asOf = '2026-05-17 12:00:00'", "two answers"),
        ):
            with pytest.raises(Exception, match=sentence):
                spark.sql(f"SELECT * FROM asked WITH ({wrong})")
            with pytest.raises(Exception, match=sentence):
                spark.sql(f"INSERT INTO asked WITH ({wrong}) SELECT 'a', 9, now()")
        with pytest.raises(Exception, match="version of the past"):
            spark.sql("INSERT INTO asked WITH (version = 1) SELECT 'a', 9, now()")
        spark.sql("INSERT OVERWRITE asked SELECT 'a', 9, now()")
        assert sorted(row.k for row in spark.table("asked").collect()) == [3, 4, 9]
        with pytest.raises(Exception, match="there is no option colour"):
            spark.sql(f"CREATE TABLE other USING coalesce OPTIONS (colour 'red') LOCATION '{tmp_path / 't'}'")
        assert not spark.catalog.tableExists("other")
    finally:
        spark.sql("DROP TABLE asked")


def test_a_table_the_catalog_made(spark: "SparkSession") -> None:
    """The options by which a table was made are no options of its reads, and do not stand in their way."""
    coalesce.attach(spark)
    frame = spark.createDataFrame([("a", 1), ("b", 2)], "app STRING, k INT")
    frame.write.format("coalesce").partitionBy("app").option("smallColumns", "app").saveAsTable("made")
    try:
        assert spark.table("made").count() == 2
        assert spark.readStream.table("made").isStreaming
        spark.sql("INSERT INTO made SELECT * FROM made")
        assert spark.table("made").count() == 4
    finally:
        spark.sql("DROP TABLE made")


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("startingVersoin", "1", "did you mean startingVersion"),
        ("maxFilesPerTrigger", "0", "maxFilesPerTrigger is a number such as 1000"),
        ("skipChanges", "yes", "skipChanges is true or false"),
        ("versionAsOf", "1", "say startingVersion"),
        ("ignoreChanges", "true", "say skipChanges"),
        ("startingTimestamp", "2026-05-17", "say the version"),
        ("where", "k = 1", "where belongs to spark.read"),
        ("txnAppId", "x", "txnAppId belongs to df.write"),
    ],
)
def test_streams(spark: "SparkSession", tmp_path: Path, name: str, value: str, sentence: str) -> None:
    """A stream refuses what it does not know when it is loaded, before a query starts."""
    coalesce.attach(spark)
    make(tmp_path / "t")
    with pytest.raises(Exception, match=sentence):
        spark.readStream.format("coalesce").option(name, value).load(str(tmp_path / "t"))


# --- the module itself -------------------------------------------------------------------------------------------


def test_every_option_is_in_the_docs() -> None:
    """Options that nobody can read about are options that nobody has."""
    text = (Path(__file__).parents[2] / "docs" / "reading-with-spark.md").read_text("utf-8")
    assert [option.name for option in OPTIONS if f"`{option.name}`" not in text] == []


def test_values_that_are_missing() -> None:
    """An option without a value is not taken for one that was left out: that would replace the whole table."""
    with pytest.raises(CoalesceError, match="replaceWhere has no value"):
        write_options({"replaceWhere": None}, overwrite=True)


def test_spellings() -> None:
    """Names are without regard to case; values stand among blanks; a stream begins where it says."""
    assert read_options({"VersionASOF": " 7 "}).version == 7
    assert read_options({"columns": "app, `k`"}, Source.PORTABLE).columns == ("app", "k")
    assert stream_options({"STARTINGVERSION": "Latest", "skipchanges": "TRUE"}).starting == -1
    given = write_options({"__partition_columns": '["dt"]', "smallColumns": "app, b"}, overwrite=False)
    assert (given.partition_by, given.small_columns) == (("dt",), ("app", "b"))


def test_what_spark_and_the_catalog_say_is_theirs() -> None:
    """Keys by which Spark hands over what was said elsewhere are known only where it does so."""
    assert read_options({"path": "/t", "coalesce.create": "true", "smallColumns": "app"}, catalog=True).follows
    for key in ("coalesce.create", "__partition_columns", "smallColumns"):
        with pytest.raises(CoalesceError):
            read_options({key: "x"})
    with pytest.raises(CoalesceError, match="leave out clusterBy"):
        write_options({"__clustering_columns": "[]"}, overwrite=False)
