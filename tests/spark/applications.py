"""Whole Spark applications that tests start and kill: `python -m tests.spark.applications NAME TABLE …`."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import coalesce
from coalesce.spark.session.start import session
from tests.spark.frames import stored
from tests.support.engines import by_jobs
from tests.support.settings import COMPILED_QUICKLY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROOT = Path(__file__).parents[2]


def start(name: str, *arguments: object, master: str = "local[1]") -> subprocess.Popen[str]:
    """Start an application in a process of its own, with a Spark of its own."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK_", "SPARK_"))}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.spark.applications", name, *map(str, arguments)],
        cwd=ROOT,
        env=kept | {"PYSPARK_PYTHON": sys.executable, "APPLICATION_MASTER": master},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that killing it kills its JVM and executors too
    )


def finish(process: subprocess.Popen[str]) -> str:
    """What an application printed; it must have ended well."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err[-5000:]
    return out


def _spark(**config: object) -> "SparkSession":
    return session(os.environ["APPLICATION_MASTER"], **{"spark.sql.shuffle.partitions": 2} | COMPILED_QUICKLY | config)


def _events(spark: "SparkSession", start_: int, count: int, apps: int = 3) -> "DataFrame":
    return spark.range(start_, start_ + count, 1, 2).selectExpr(
        "DATE '2026-05-17' AS dt", f"concat('app', id % {apps}) AS app", "id AS k"
    )


# --- the applications --------------------------------------------------------------------------------------------


def die_writing(location: str) -> None:
    """Append rows, and die as soon as the first of their files is being written."""
    spark = _spark()
    table = by_jobs(coalesce.open(location, spark=spark), spark)
    before = stored(table)

    def watch() -> None:
        while not any("_temporary" in path for path in stored(table) - before):
            time.sleep(0.001)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
    table.append(_events(spark, 100, 500_000))


def append_often(location: str, first: str, times: str) -> None:
    """Append ten rows at a time, each append one commit."""
    spark = _spark()
    table = coalesce.open(location, spark=spark)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for number in range(int(times)):
        table.append(_events(spark, int(first) + 10 * number, 10))


def on_a_cluster(location: str, failures: str, events: str) -> None:
    """Write with executors in processes of their own, some tasks failing twice; overwrite; read what was there."""
    from pyspark.sql import functions as F  # noqa: N812

    spark = _spark(**{"spark.executor.memory": "512m", "spark.task.maxFailures": 4})

    @F.udf("long")
    def fails_twice(k: int) -> int:
        if k == 7:
            attempts = list(Path(failures).iterdir())
            if len(attempts) < 2:
                Path(failures, str(len(attempts))).touch()
                raise RuntimeError("this task fails twice")
        return k

    table = coalesce.create(
        location,
        _events(spark, 0, 1).schema,
        partition_by=["dt", "app"],
        rule=coalesce.small("app"),
        properties={"remove.by": "mark"},
        spark=spark,
    )
    table.append(_events(spark, 0, 300, apps=7).select("dt", "app", fails_twice("k").alias("k")))
    table.delete("app = 'app3' AND pmod(k, 2) = 0")
    table.overwrite(_events(spark, 1000, 7, apps=7).where("app = 'app1'"), "app = 'app1'")
    table.overwrite_partitions(_events(spark, 2000, 7, apps=7).where("app = 'app2'"))
    counts = table.read().groupBy("app").agg(F.count("*"), F.sum("k")).orderBy("app").collect()
    spark.conf.set("spark.sql.files.maxPartitionBytes", "500")  # where pieces begin, executors find out
    pieces = table.read().groupBy("app").agg(F.count("*"), F.sum("k")).orderBy("app").collect()
    spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert table.state.dead_rows
    assert pieces == counts
    sys.stdout.write(f"{[tuple(row) for row in counts]}\n")

    frame = spark.read.format("coalesce").load(events)
    found = [frame.where("app = 'A'").count(), frame.count()]
    renamed = coalesce.open(events)
    renamed.rename_column("s", "subject")
    renamed.add_column("extra", "string", default="x")
    frame = spark.read.format("coalesce").load(events)
    found += [frame.where("subject = 's1' AND extra = 'x'").count(), frame.where("subject IS NULL").count()]
    frame.select("k").limit(3).write.mode("overwrite").parquet(f"{events}-copy")
    found.append(spark.read.parquet(f"{events}-copy").count())
    sys.stdout.write(f"{found}\n")
    spark.stop()


def stream(location: str, source: str, checkpoint: str, die_in_batch: str) -> None:
    """Stream a directory of files into a table, one file a batch, and die right after the commit of one batch."""
    spark = _spark()
    table = coalesce.open(location, spark=spark)
    append = coalesce.each_batch(table)

    def append_or_die(batch: "DataFrame", number: int) -> None:
        append(batch, number)
        if number == int(die_in_batch):
            os.killpg(0, signal.SIGKILL)

    follow(spark, source, checkpoint, append_or_die)


def follow(spark: "SparkSession", source: str, checkpoint: str, append: "Callable[[DataFrame, int], None]") -> None:
    """Hand every file in `source` that the checkpoint does not know to `append`, each as a batch."""
    frame = spark.readStream.schema("dt date, app string, k long").option("maxFilesPerTrigger", 1).parquet(source)
    query = frame.writeStream.foreachBatch(append).option("checkpointLocation", checkpoint)
    query.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    globals()[name](*arguments)
