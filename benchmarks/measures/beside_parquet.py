"""Writing with Spark beside plain Parquet: the same rows by day, sorted by app, compressed alike.

The rows of the benchmark `writing` are read from Parquet and written in turns, `--rounds` times after one to warm up:
as plain Parquet in a directory for each day, sorted by app, with zstd at level 1; as a new coalesce table; and as one
that is written by jobs only. Of each, the best time counts, since what disturbs a run only ever makes it slower.
"""

import argparse
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import coalesce
from benchmarks.harness import Result, progress, report, seconds
from benchmarks.measures.writing import events, new_table
from coalesce.spark.engine import SparkEngine
from coalesce.spark.write.here import HERE, Here
from coalesce.table.table import core_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BELOW = TARGET = "64MB"
BY_JOBS = Here(write=-1, rewrite=HERE.rewrite, read=HERE.read)

Times = dict[str, list[float]]


def plain(spark: "SparkSession", staged: str, directory: Path) -> None:
    """The honest simple alternative: a directory for each day, rows in it sorted by app."""
    rows = spark.read.parquet(staged).repartition("dt").sortWithinPartitions("dt", "app")
    options = {"compression": "zstd", "parquet.compression.codec.zstd.level": "1"}
    rows.write.options(**options).partitionBy("dt").parquet(str(directory))


def ours(spark: "SparkSession", staged: str, directory: Path, here: Here, stages: Times) -> None:
    """The same rows as a table whose small apps share; `stages` gets where the time went."""
    table = new_table(spark, spark.read.parquet(staged), directory, BELOW, TARGET)
    engine = SparkEngine(spark, here=here)
    core_of(table).engines = replace(core_of(table).engines, frames=engine)
    table.append(spark.read.parquet(staged))
    for name, took in engine.last_write.stages.items():
        stages.setdefault(name, []).append(took)


def measure(spark: "SparkSession", directory: Path, rows: int, rounds: int) -> list[Result]:
    """All ways of writing so many rows."""
    progress(f"staging {rows:,} rows")
    staged = str(directory / f"staged-{rows}")
    events(spark, rows).write.parquet(staged)
    stages: dict[str, Times] = {"ours": {}, "ours, by jobs": {}}
    ways: dict[str, Callable[[Path], None]] = {
        "plain Parquet by day": lambda place: plain(spark, staged, place),
        "ours": lambda place: ours(spark, staged, place, HERE, stages["ours"]),
        "ours, by jobs": lambda place: ours(spark, staged, place, BY_JOBS, stages["ours, by jobs"]),
    }
    times: Times = {name: [] for name in ways}
    for number in range(rounds + 1):
        progress(f"{rows:,} rows: {'warming up' if number == 0 else f'round {number} of {rounds}'}")
        for name, way in ways.items():
            place = directory / "written"
            took = seconds(lambda: way(place))  # noqa: B023 - called at once
            shutil.rmtree(place)
            if number:
                times[name].append(took)
    best = {name: min(found) for name, found in times.items()}
    limit = best["plain Parquet by day"]
    results = []
    for name, took in best.items():
        results.append(Result(f"{rows:,} rows: {name}", took, "s", f"{took / limit:.2f}x plain"))
        parts = stages.get(name, {})
        results += [Result(f"  of that, {part}", min(found[1:]), "s") for part, found in parts.items()]
    return results


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 4_000_000], help="how many rows")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is written (default: 3)")
    parser.add_argument("--memory", default="4g", help="the driver's memory (default: 4g)")
    asked = parser.parse_args()
    spark = coalesce.session("local[2]", **{"spark.driver.memory": asked.memory})
    with tempfile.TemporaryDirectory(prefix="coalesce-beside-") as temporary:
        results = [result for rows in asked.rows for result in measure(spark, Path(temporary), rows, asked.rounds)]
        spark.stop()
    report("beside_parquet", results)


if __name__ == "__main__":
    main()
