"""A client of a Spark Connect server, which it starts: `python -m tests.spark.connect_client EVENTS NEW ASKED`.

Prints as JSON what it has seen: of a table of events, of a new one, and of every option (`asked.py`).
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import coalesce
from coalesce.errors import InvalidArgument, SchemaError
from coalesce.spark.session.jre import spark_java_home
from coalesce.table.table import core_of
from tests.spark.asked import asked, asked_reads, make, read, write
from tests.support.settings import COMPILED_QUICKLY


def main(location: str, place: str, asked_of: Path) -> None:
    """See the module."""
    os.environ["JAVA_HOME"] = str(spark_java_home())  # the server is PySpark's own, which looks for Java nowhere else
    os.environ["PYSPARK_PYTHON"] = sys.executable  # the server's workers need pyarrow and this package
    os.environ["JDK_JAVA_OPTIONS"] = COMPILED_QUICKLY["spark.driver.extraJavaOptions"]
    spark: Any = (
        SparkSession.builder.remote("local[2]")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    answers: dict[str, Any] = {"connect": type(spark).__module__}
    coalesce.attach(spark)
    try:
        coalesce.attach(spark, catalog="lake", warehouse=place)
    except InvalidArgument as error:
        answers["warehouse"] = str(error)

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
    chosen = where.load(location)
    answers["columns"] = chosen.columns
    answers["where"] = sorted(row.k for row in chosen.collect())
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
    before = len(core_of(new).storage.list("data"))
    try:
        new.overwrite(df.filter("k < 7"), "k < 5")
    except SchemaError as error:
        answers["outside"] = [str(error), len(core_of(new).storage.list("data")) - before]
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
    new.set_properties({"remove.by": "mark"})
    new.append(df.filter("k >= 200 AND k < 300"))
    new.drop_partition(app="A")
    answers["marked"] = [new.state.dead_rows, new.read().count(), new.read().filter("app = 'A'").count()]
    try:
        spark.read.format("coalesce").load(location + "-nowhere").collect()
    except Exception as error:  # noqa: BLE001 - what a user gets to see
        answers["error"] = str(error)

    # Every option, in the words of `asked.py`.
    answers["option writes"] = [write(spark, asked_of, case, mode) for case, mode in asked("connect")]
    make(asked_of)
    answers["option reads"] = [read(spark, asked_of, case) for _, case in asked_reads(asked_of, "connect")]
    nowhere = spark.createDataFrame([("a", 1)], "app STRING, k INT").write.format("coalesce").mode("append")
    try:
        nowhere.save(f"{asked_of}-no")
    except Exception as error:  # noqa: BLE001 - what a user gets to see
        answers["no table"] = str(error)
    try:
        spark.sql(f"CREATE TABLE t USING coalesce LOCATION '{asked_of}'")
    except Exception as error:  # noqa: BLE001 - what a user gets to see
        answers["catalog"] = str(error)
    sys.stdout.write(json.dumps(answers, default=str) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
