"""Keeping a table in shape: what compaction costs and gives, and how long it takes to expire and vacuum.

* `appends`: 500 small appends of 1,000 rows and 200 apps, then `compact`: files and the time of a point query beside
  the same rows written at once; and the same appends with `write.auto-compact`: how many files there were at the most,
  and how often each byte was written again.
* `throughput`: compaction with a local Spark, and by its jobs only, beside Spark's own read, repartition, sort and
  write of the same files, in turns.
* `cleaning`: `expire` at 10,000 versions, and `vacuum` of 100,000 files.
* `cluster`: the memory of the driver on a `local-cluster` of two executors, at so many rows and at ten times as many.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import psutil
import pyarrow as pa

import coalesce
from benchmarks.harness import Result, in_turns, progress, report, seconds
from benchmarks.measures.writing import events, new_table
from coalesce.manifest.paths import new_write_directory
from coalesce.model.datafile import DataFile
from coalesce.spark.write.here import Here
from coalesce.table.engine import Engines
from coalesce.table.table import Table, core_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("n", pa.int64()), ("value", pa.float64())])
BY_JOBS = Here(write=-1, rewrite=-1)
MB = 1024 * 1024


# --- many small appends --------------------------------------------------------------------------------------------


def rows(number: int, count: int = 1_000, apps: int = 200) -> pa.Table:
    """The rows of one append: a day, and apps at random."""
    chosen = np.random.default_rng(number)
    names = np.char.add("app-", chosen.integers(0, apps, count).astype(str))
    first = number * count
    return pa.table(
        {
            "dt": pa.array([date(2026, 5, 1)] * count),
            "app": names,
            "n": np.arange(first, first + count),
            "value": chosen.random(count),
        },
        SCHEMA,
    )


def empty(directory: Path, **properties: str) -> Table:
    """A table whose small apps share."""
    return coalesce.create(
        directory, SCHEMA, partition_by=["dt", "app"], rule=coalesce.small("app"), properties=properties
    )


def appends(directory: Path, count: int) -> list[Result]:
    """Small appends and a compaction, beside one append; and a table that keeps itself in shape."""
    progress(f"{count} appends of 1,000 rows")
    table = empty(directory / "many")
    for number in range(count):
        table.append(rows(number))
    point = "app = 'app-17'"
    before = in_turns(5, lambda: table.scan(point).to_arrow())[0].clock
    took = seconds(table.compact)
    once = empty(directory / "once")
    once.append(pa.concat_tables([rows(number) for number in range(count)]))
    compacted, written = in_turns(25, lambda: table.scan(point).to_arrow(), lambda: once.scan(point).to_arrow())

    progress(f"{count} appends to a table that keeps itself in shape")
    kept = empty(directory / "kept", **{"write.auto-compact": "true"})
    most = 0
    for number in range(count):
        kept.append(rows(number))
        most = max(most, kept.state.files)
    history = kept.history()
    added = {
        operation: sum(int(v.summary["bytes_added"]) for v in history if v.operation == operation)
        for operation in ("append", "compact")
    }
    return [
        Result("point query before", before * 1e3, "ms", f"{count} files"),
        Result("compact", took, "s", f"{count} files became {table.state.files}"),
        Result("point query after", compacted.clock * 1e3, "ms", f"{table.state.files} file"),
        Result("the same, written at once", written.clock * 1e3, "ms", f"{once.state.files} file"),
        Result("after, of at once", compacted.clock / written.clock, "x", "the goal is 1.1 at the most"),
        Result("processor time, of at once", compacted.processor / written.processor, "x"),
        Result("auto-compact: files at the most", most, "", f"{kept.state.files} in the end"),
        Result(
            "auto-compact: written again", added["compact"] / added["append"], "x", "of what was appended; limit 10"
        ),
    ]


# --- how fast ------------------------------------------------------------------------------------------------------


def throughput(spark: "SparkSession", directory: Path, count: int, rounds: int) -> list[Result]:
    """Compaction beside Spark's own rewriting of the same files."""
    parts = 8
    progress(f"{count:,} rows in many small files")
    table = new_table(spark, events(spark, count), directory / "small", "64MB", "64MB")
    by_jobs(table, spark)
    frame = events(spark, count).cache()
    for part in range(parts):
        table.append(frame.where(f"pmod(id, {parts * 10}) DIV 10 = {part}"))
    frame.unpersist()
    files = [str(directory / "small" / file.path) for file in table.files()]
    size = table.state.bytes / MB

    def spark_itself() -> None:
        read = spark.read.option("recursiveFileLookup", "true").parquet(*files)
        ordered = read.repartition("dt").sortWithinPartitions("dt", "app")
        options = {"compression": "zstd", "parquet.compression.codec.zstd.level": "1"}
        ordered.write.options(**options).partitionBy("dt").mode("overwrite").parquet(str(directory / "plain"))

    def ours(jobs: bool) -> None:
        copy = directory / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(directory / "small", copy, copy_function=os.link)
        opened = coalesce.open(copy, spark=spark)
        if jobs:
            by_jobs(opened, spark)
        made.append(opened.compact().files_after)

    made: list[int] = []
    usual, plain, jobs = in_turns(rounds, lambda: ours(False), spark_itself, lambda: ours(True))
    became = f"{len(files)} files, {size:.0f} MB, became {made[0]}"
    return [
        Result("compaction", size / usual.clock, "MB/s", f"in a driver without executors; {became}"),
        Result("read, repartition, sort, write", size / plain.clock, "MB/s", "Spark's own, of the same files"),
        Result("compaction, of that", plain.clock / usual.clock, "x", "the goal is 0.9 or more"),
        Result("compaction by jobs", size / jobs.clock, "MB/s", "as executors would do it"),
        Result("by jobs, of Spark's own", plain.clock / jobs.clock, "x"),
    ]


def by_jobs(table: Table, spark: "SparkSession") -> None:
    """Let Spark jobs do what the driver would do itself."""
    from coalesce.spark.engine import SparkEngine

    core_of(table).engines = Engines(core_of(table).engines.rows, SparkEngine(spark, here=BY_JOBS))


# --- expiry and vacuum ---------------------------------------------------------------------------------------------


def cleaning(directory: Path, versions: int, files: int) -> list[Result]:
    """A table of very many versions and files, most of which are not needed any more."""
    progress(f"{versions:,} versions")
    table = empty(directory / "old")
    core = core_of(table)
    each = files // versions
    content = b"PAR1" + bytes(200) + b"PAR1"
    previous: list[DataFile] = []
    for number in range(versions):
        write = new_write_directory()
        new = [
            DataFile(path=f"{write}/{i:05d}.parquet", spec_id=0, rows=1, bytes=len(content), rule_id=0)
            for i in range(each)
        ]
        (directory / "old" / write).mkdir(parents=True)
        for file in new:
            (directory / "old" / file.path).write_bytes(content)
        transaction = core.transaction("replace")
        transaction.add(new)
        transaction.remove(previous)
        core.commit(transaction)
        previous = new
        if number % 1_000 == 999:
            progress(f"{number + 1:,} versions")
    _age(directory / "old", days=30)
    started = time.perf_counter()
    expired = table.expire(older_than="0s", keep_last=10, force=True)
    expiring = time.perf_counter() - started
    _age(directory / "old", days=30)
    fresh = coalesce.open(directory / "old")
    started = time.perf_counter()
    vacuumed = fresh.vacuum()
    vacuuming = time.perf_counter() - started
    return [
        Result("expire", expiring, "s", repr(expired)),
        Result("vacuum", vacuuming, "s", repr(vacuumed)),
        Result("files left", sum(1 for _ in (directory / "old" / "data").rglob("*.parquet")), "", f"of {files:,}"),
    ]


def _age(directory: Path, days: int) -> None:
    then = time.time() - days * 86_400
    for place, _, names in os.walk(directory):
        for name in names:
            os.utime(f"{place}/{name}", (then, then))


# --- a cluster -----------------------------------------------------------------------------------------------------


def cluster(directory: Path, count: int) -> list[Result]:
    """The driver's memory, once and at ten times the rows, in processes of their own."""
    results = []
    for number in (count, 10 * count):
        progress(f"{number:,} rows on a local-cluster")
        where = str(directory / f"cluster-{number}")
        command = [sys.executable, "-m", "benchmarks.measures.maintenance", "on-cluster", where, str(number)]
        answer = json.loads(
            subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1]
        )
        note = f"{answer['files_before']} files, {answer['bytes'] / MB:.0f} MB, became {answer['files_after']}"
        results += [
            Result(f"{number:,} rows: Python in the driver", answer["python"], "MB", f"more than before it; {note}"),
            Result(f"{number:,} rows: the driver's heap", answer["heap"], "MB", "in use after it, collected"),
            Result(f"{number:,} rows: compaction", answer["seconds"], "s"),
        ]
    return results


def on_cluster(directory: Path, count: int) -> None:
    """Compact on a cluster of two executors, and say what the driver took."""
    config = {"spark.driver.memory": "1g", "spark.executor.memory": "1g", "spark.sql.shuffle.partitions": 4}
    spark = coalesce.session("local-cluster[2,1,1024]", **config)
    table = new_table(spark, events(spark, 1), directory, "16MB", "16MB")
    by_jobs(table, spark)
    for part in range(4):
        table.append(events(spark, count).where(f"pmod(id, 40) DIV 10 = {part}"))
    table.compact("dt = DATE '2026-05-01'", max_bytes="1KB")  # imports what it needs
    process = psutil.Process()
    before = process.memory_info().rss
    started = time.perf_counter()
    result = table.compact()
    took = time.perf_counter() - started
    after = process.memory_info().rss
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    jvm.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    answer = {
        "python": (after - before) / MB,
        "heap": (runtime.totalMemory() - runtime.freeMemory()) / MB,
        "seconds": took,
        "bytes": result.bytes_moved,
        "files_before": result.files_before,
        "files_after": result.files_after,
    }
    print(json.dumps(answer), flush=True)
    spark.stop()


PARTS = ("appends", "throughput", "cleaning", "cluster")


def main() -> None:
    """Measure and report."""
    if sys.argv[1:2] == ["on-cluster"]:
        on_cluster(Path(sys.argv[2]), int(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which parts; all without")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--directory", type=Path, help="where to work; a temporary directory without")
    asked = parser.parse_args()
    share = 10 if asked.quick else 1
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="coalesce-maintenance-", dir=asked.directory) as temporary:
        place = Path(temporary)
        for part in asked.parts or PARTS:
            match part:
                case "appends":
                    results += appends(place, 500 // share)
                case "cleaning":
                    results += cleaning(place, 10_000 // share, 100_000 // share)
                case "cluster":
                    results += cluster(place, 400_000 // share)
                case _:
                    spark = coalesce.session("local[2]", **{"spark.driver.memory": "4g"})
                    results += throughput(spark, place, 4_000_000 // share, 3)
                    spark.stop()
    report("maintenance", results)


if __name__ == "__main__":
    main()
