"""Small appends by Spark: ours beside Iceberg's and Delta's, one by one and as a stream.

Each append brings `--rows` rows of one day and 200 apps. Every format has a process and a session of its own; peers
partition by day, which is what suits them. The rows come from a plan that says how many they are (`range`), and from
Python's objects, of which Spark knows nothing; out of a Parquet file, the workload `small-appends` appends them. The
stream reads one such file in each micro-batch. What is shown is the median; the formats take turns, `--rounds` times.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import coalesce
from benchmarks import peers
from benchmarks.harness import Result, progress, report, seconds
from coalesce.table.table import core_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMATS = ("coalesce", "iceberg", "delta")
SCHEMA = "id BIGINT, dt DATE, app STRING, value DOUBLE"
APPS = 200

Append = Callable[["DataFrame"], object]
Times = dict[str, list[float]]


def ranged(spark: "SparkSession", rows: int, number: int) -> "DataFrame":
    """Rows of one day whose plan says how many they are."""
    return spark.range(rows).selectExpr(
        "id",
        f"date_add(DATE'2026-05-01', {number % 28}) AS dt",
        f"concat('app-', lpad(string(id % {APPS}), 4, '0')) AS app",
        "id * 1.5D AS value",
    )


def objects(spark: "SparkSession", rows: int, number: int) -> "DataFrame":
    """The same rows from a list of tuples."""
    day = date(2026, 5, 1) + timedelta(days=number % 28)
    return spark.createDataFrame([(i, day, f"app-{i % APPS:04d}", i * 1.5) for i in range(rows)], SCHEMA)


def appender(spark: "SparkSession", format_: str, directory: Path, name: str) -> tuple[Append, Any]:
    """How rows are appended to a new table of a format; and what a stream is written to."""
    if format_ == "coalesce":
        table = coalesce.create(
            directory / name,
            ranged(spark, 1, 0).schema,
            partition_by=["dt", "app"],
            rule=coalesce.small("app"),
            spark=spark,
        )
        return table.append, table
    if format_ == "iceberg":
        spark.sql(f"CREATE TABLE lake.db.{name} ({SCHEMA}) USING iceberg PARTITIONED BY (dt)")
        return lambda frame: frame.writeTo(f"lake.db.{name}").append(), f"lake.db.{name}"
    place = str(directory / name)
    spark.sql(f"CREATE TABLE delta.`{place}` ({SCHEMA}) USING delta PARTITIONED BY (dt)")
    return lambda frame: frame.write.format("delta").mode("append").save(place), place


def streamed(spark: "SparkSession", format_: str, target: Any, source: Path, checkpoint: Path) -> list[float]:
    """The seconds of each micro-batch that appends one file."""
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1").parquet(str(source))
    writer = stream.writeStream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    if format_ == "coalesce":
        query = writer.foreachBatch(coalesce.each_batch(target)).start()
    elif format_ == "iceberg":
        query = writer.format("iceberg").toTable(target)
    else:
        query = writer.format("delta").start(target)
    query.awaitTermination()
    return [p["durationMs"]["triggerExecution"] / 1e3 for p in query.recentProgress if p["numInputRows"]]


def measured(format_: str, rows: int, appends: int) -> Times:
    """All times of one format, in this process."""
    with tempfile.TemporaryDirectory(prefix="coalesce-appends-") as temporary:
        directory = Path(temporary)
        settings = {} if format_ == "coalesce" else peers.settings(format_, directory / "warehouse")
        spark = coalesce.session("local[2]", **settings)
        for number in range(appends):
            ranged(spark, rows, number).coalesce(1).write.mode("append").parquet(str(directory / "files"))
        sources: dict[str, Callable[[int], DataFrame]] = {
            "a range": lambda number: ranged(spark, rows, number),
            "Python's objects": lambda number: objects(spark, rows, number),
        }
        times: Times = {}
        for name, source in sources.items():
            append, target = appender(spark, format_, directory, f"t{len(times)}")
            for number in range(-3, appends):  # three to warm up
                frame = source(number)
                took = seconds(lambda: append(frame))  # noqa: B023 - called at once
                if number >= 0:
                    times.setdefault(name, []).append(took)
            if format_ == "coalesce":
                assert core_of(target).version.rows == (appends + 3) * rows
        _, target = appender(spark, format_, directory, "streamed")
        times["a stream's micro-batch"] = streamed(
            spark, format_, target, directory / "files", directory / "checkpoint"
        )[3:]
        spark.stop()
    return times


def main() -> None:
    """Let each format run in a process of its own, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000, help="rows of an append (default: 1,000)")
    parser.add_argument("--appends", type=int, default=12, help="how many are measured (default: 12)")
    parser.add_argument("--rounds", type=int, default=2, help="how often the formats take turns (default: 2)")
    parser.add_argument("--format", choices=FORMATS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.format is not None:
        print(json.dumps(measured(asked.format, asked.rows, asked.appends)))
        return
    found: dict[str, Times] = {}
    missing = {f: reason for f in FORMATS[1:] if (reason := peers.unavailable(f)) is not None}
    for number in range(asked.rounds):
        for format_ in FORMATS:
            if format_ in missing:
                continue
            progress(f"{format_}, round {number + 1} of {asked.rounds}")
            command = [sys.executable, "-m", "benchmarks.measures.appends", "--format", format_]
            command += ["--rows", str(asked.rows), "--appends", str(asked.appends)]
            output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            for name, times in json.loads(output.splitlines()[-1]).items():
                found.setdefault(format_, {}).setdefault(name, []).extend(times)
    report("appends", results(found, missing))


def results(found: dict[str, Times], missing: dict[str, str]) -> list[Result]:
    """Medians, and ours against the faster of the others."""
    rows = []
    for name in found["coalesce"]:
        medians = {format_: statistics.median(times[name]) for format_, times in found.items()}
        best = min((m for f, m in medians.items() if f != "coalesce"), default=None)
        for format_ in FORMATS:
            if format_ in missing:
                rows.append(Result(f"{name}: {format_}", float("nan"), "ms", missing[format_]))
                continue
            ratio = "" if best is None or format_ != "coalesce" else f"{medians[format_] / best:.2f}x the faster peer"
            rows.append(Result(f"{name}: {format_}", medians[format_] * 1e3, "ms", ratio))
    return rows


if __name__ == "__main__":
    main()
