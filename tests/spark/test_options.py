"""Every option is honoured or refused, by both sources alike; and what is refused leaves the table as it was."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import coalesce
from coalesce.errors import CoalesceError
from coalesce.spark.translate.options import OPTIONS, Source, read_options, stream_options, write_options
from tests.spark.asked import (
    CONNECT,
    NATIVE,
    Write,
    asked,
    expected_write,
    make,
    read,
    reads,
    write,
)
from tests.spark.processes import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SERVED = """
import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import coalesce
from coalesce.spark.session.jre import spark_java_home
from tests.spark.asked import asked, make, read, reads, write

os.environ["JAVA_HOME"] = str(spark_java_home())  # the server is PySpark's own, which looks for Java nowhere else
os.environ["PYSPARK_PYTHON"] = sys.executable  # the server's workers need pyarrow and this package
spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
coalesce.attach(spark)
place = Path(sys.argv[1])
answers = {"writes": [write(spark, place, case, mode) for case, mode in asked("connect")]}
make(place)
answers["reads"] = [read(spark, place, case) for case in reads(place)]
nowhere = spark.createDataFrame([("a", 1)], "app STRING, k INT").write.format("coalesce").mode("append")
try:
    nowhere.save(sys.argv[1] + "-no")
except Exception as error:
    answers["no table"] = str(error)
try:
    spark.sql(f"CREATE TABLE t USING coalesce LOCATION '{place}'")
except Exception as error:
    answers["catalog"] = str(error)
print(json.dumps(answers))
spark.stop()
"""


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of every case through a Spark Connect server."""
    directory = tmp_path_factory.mktemp("connect")
    answers: dict[str, Any] = json.loads(run(SERVED, directory / "t", directory=directory)[-1])
    return answers


def check_write(case: Write, mode: str, source: str, found: dict[str, Any]) -> None:
    """Compare what came of a write with what the model says."""
    wanted = expected_write(case, mode, source)
    what = f"{case} in mode {mode}, {source}"
    if wanted.refused is None:
        assert found["error"] is None, what
    else:
        assert found["error"] is not None, what
        assert re.search(wanted.refused, found["error"], re.DOTALL), f"{what}: {found['error']}"
    assert found["rows"] == wanted.rows, what
    assert found["version"] == (3 if wanted.committed else 2), what
    assert found["left behind"] == [], what
    assert found["unmanaged"] == [], what


def check_read(location: Path, number: int, source: str, found: dict[str, Any]) -> None:
    """Compare what a read found with what the case says."""
    case = reads(location)[number]
    wanted = case.expected(source)
    if isinstance(wanted, str):
        assert re.search(wanted, found.get("error", ""), re.DOTALL), f"{case}, {source}: {found}"
    else:
        assert found.get("rows") == wanted, f"{case}, {source}: {found}"


def test_writes(spark: "SparkSession", tmp_path: Path) -> None:
    """Each spelling of each option in each mode does what the model says, or is refused and leaves nothing behind."""
    coalesce.attach(spark)
    for case, mode in asked(NATIVE):
        check_write(case, mode, NATIVE, write(spark, tmp_path / "t", case, mode))


@pytest.mark.spark
def test_writes_through_connect(connect: dict[str, Any]) -> None:
    """The same through Spark Connect."""
    for (case, mode), found in zip(asked(CONNECT), connect["writes"], strict=True):
        check_write(case, mode, CONNECT, found)
    assert "there is no coalesce table at" in connect["no table"]
    assert "coalesce.create(path" in connect["no table"]
    assert "read it with load(path)" in connect["catalog"]


def test_reads(spark: "SparkSession", tmp_path: Path) -> None:
    """Each spelling of each option reads what it says, or is refused."""
    coalesce.attach(spark)
    make(tmp_path / "t")
    for number, case in enumerate(reads(tmp_path / "t")):
        check_read(tmp_path / "t", number, NATIVE, read(spark, tmp_path / "t", case))


@pytest.mark.spark
def test_reads_through_connect(connect: dict[str, Any], tmp_path: Path) -> None:
    """The same through Spark Connect."""
    make(tmp_path / "t")
    for number, found in enumerate(connect["reads"]):
        check_read(tmp_path / "t", number, CONNECT, found)


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
