"""The portable source, against a real Spark Connect server that the test starts."""

import json
from pathlib import Path

import pytest

import coalesce
from tests.spark.events import make_events, unmanaged
from tests.spark.processes import run

pytestmark = pytest.mark.spark

CONNECT = """
import json
import os
import sys

from pyspark.sql import SparkSession

import coalesce
from coalesce.errors import SchemaError
from coalesce.spark.session.jre import spark_java_home

os.environ["JAVA_HOME"] = str(spark_java_home())  # the server is PySpark's own, which looks for Java nowhere else
os.environ["PYSPARK_PYTHON"] = sys.executable  # the server's workers need pyarrow and this package
location, place = sys.argv[1], sys.argv[2]
spark = (
    SparkSession.builder.remote("local[2]")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
answers = {"connect": type(spark).__module__}
coalesce.attach(spark)

# Wrong rows elsewhere: a filter that leaks into other uses of the frame.
df = spark.read.format("coalesce").load(location)
answers["filter then count"] = [df.filter("k = 1").count(), df.count()]
union = df.filter("k = 2").union(df.filter("k = 3"))
answers["union"] = sorted(row.k for row in union.collect())
df.createOrReplaceTempView("v")
twice = spark.sql("SELECT (SELECT count(*) FROM v WHERE app = 'A') a, (SELECT count(*) FROM v) b").collect()[0]
answers["view twice"] = [twice.a, twice.b]
answers["self join"] = df.alias("x").join(df.alias("y"), "k").filter("x.k < 10").count()

# Options that prune.
where = spark.read.format("coalesce").option("where", "app = 'A' AND dt IS NOT NULL").option("columns", "k, app")
read = where.load(location)
answers["columns"] = read.columns
answers["where"] = sorted(row.k for row in read.collect())
answers["version"] = spark.read.format("coalesce").option("version", "1").load(location).count()
answers["awkward"] = sorted({str(row.app) for row in df.select("app").distinct().collect()})
answers["rows"] = df.orderBy("k").limit(40).toArrow().to_pylist()

# The table picks the engine by itself.
table = coalesce.open(location, spark=spark)
answers["read"] = table.read().count()
new = coalesce.create(place, df.schema, partition_by=["dt", "app"], rule=coalesce.small("app"), spark=spark)
new.append(df.filter("k < 100"))
answers["appended"] = [new.count(), new.read().count()]
df.filter("k >= 100 AND k < 110").write.format("coalesce").mode("append").save(place)
new.refresh()
answers["written"] = [new.count(), new.version]
df.filter("k < 5").write.format("coalesce").mode("overwrite").save(place)
answers["overwritten"] = [new.refresh().count(), new.version]
before = len(new.storage.list("data"))
try:
    new.overwrite(df.filter("k < 7"), "k < 5")
except SchemaError as error:
    answers["outside"] = [str(error), len(new.storage.list("data")) - before]
try:
    new.overwrite(spark.range(0))
except SchemaError as error:
    answers["other columns"] = str(error)
torn = df.filter("k < 7").selectExpr("* EXCEPT (app)", "IF(k = 6, CAST(X'FF' AS STRING), app) AS app")
try:
    new.append(torn)
except SchemaError as error:
    answers["no text"] = str(error)
new.delete("k = 3")
answers["deleted"] = new.read().count()
try:
    spark.read.format("coalesce").load(location + "-nowhere").collect()
except Exception as error:
    answers["error"] = str(error)
print(json.dumps(answers, default=str))
spark.stop()
"""


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, object], Path]:
    """What a client of a Connect server has seen; one server for all tests of this module."""
    directory = tmp_path_factory.mktemp("connect")
    make_events(directory / "events")
    lines = run(CONNECT, directory / "events", directory / "new", directory=directory)
    return json.loads(lines[-1]), directory


def test_it_is_a_connect_session(connect: tuple[dict[str, object], Path]) -> None:
    """The session has no JVM to reach."""
    assert str(connect[0]["connect"]).startswith("pyspark.sql.connect")


def test_right_rows(connect: tuple[dict[str, object], Path]) -> None:
    """Filter then count, union of two filters, a view used twice, self-join: each as it should be."""
    answers, directory = connect
    table = coalesce.open(directory / "events")
    assert answers["filter then count"] == [1, 450]
    assert answers["union"] == [2, 3]
    assert answers["view twice"] == [table.count("app = 'A'"), 450]
    assert answers["self join"] == 10


def test_options(connect: tuple[dict[str, object], Path]) -> None:
    """`where`, `columns` and `version` choose rows, columns and the version."""
    answers, directory = connect
    table = coalesce.open(directory / "events")
    expected = table.scan("app = 'A' AND dt IS NOT NULL", columns=["k"]).to_arrow().column("k").to_pylist()
    assert answers["columns"] == ["k", "app"]
    assert answers["where"] == sorted(expected)
    assert answers["version"] == 150


def test_values(connect: tuple[dict[str, object], Path]) -> None:
    """Every type arrives as it was written, awkward strings included."""
    answers, directory = connect
    table = coalesce.open(directory / "events")
    rows = table.scan("k < 40").to_arrow().sort_by("k").to_pylist()
    assert repr(answers["rows"]) == repr(json.loads(json.dumps(rows, default=str)))
    assert answers["awkward"] == sorted({str(app) for app in table.distinct("app")})


def test_writes(connect: tuple[dict[str, object], Path]) -> None:
    """`append`, `df.write` and `overwrite` each make one commit, and leave no file that no version names."""
    answers, directory = connect
    assert answers["read"] == 450
    assert answers["appended"] == [100, 100]
    assert answers["written"] == [110, 2]
    assert answers["overwritten"] == [5, 3]
    assert answers["deleted"] == 4
    assert unmanaged(coalesce.open(directory / "new")) == set()


def test_rows_outside_of_what_is_overwritten_are_refused(connect: tuple[dict[str, object], Path]) -> None:
    """Counted in the workers, before any of them writes a file."""
    outside = connect[0]["outside"]
    assert isinstance(outside, list)
    assert "2 rows do not match k < 5L, such as " in outside[0]
    assert outside[1] == 0


def test_what_does_not_fit_is_said_in_our_words(connect: tuple[dict[str, object], Path]) -> None:
    """By columns alone if there are no rows; and what only a worker can see, as the error that it is."""
    assert "'id'" in str(connect[0]["other columns"])
    assert "UTF-8" in str(connect[0]["no text"])


def test_errors(connect: tuple[dict[str, object], Path]) -> None:
    """No table: the sentence arrives through the server."""
    assert "there is no coalesce table at" in str(connect[0]["error"])
