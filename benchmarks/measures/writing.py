"""Writing with Spark: where the time of a write of many small logical partitions goes.

Ten days of two thousand apps whose sizes follow Zipf's law, 19,990 logical partitions (ten apps start on the second
day), are read from plain Parquet and written as a table whose small apps share. It has written a little before the
clock starts. `--rows` makes it smaller, `--known` appends once more with the layout taken from history. Beside others,
`python -m benchmarks run saas-events` writes such rows.
"""

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import coalesce
from benchmarks.harness import Result, progress, report, seconds
from coalesce.model.rule import parse_bytes
from coalesce.spark.engine import SparkEngine
from coalesce.table.table import Table, core_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAYS, APPS, LATE_APPS = 10, 2_000, 10
_WARM_UP = 20_000


def events(spark: "SparkSession", rows: int) -> "DataFrame":
    """Rows whose apps follow Zipf's law: app number k has a share of about 1/k."""

    def chance(seed: int) -> str:
        return f"(shiftrightunsigned(xxhash64(id, {seed}), 11) * 1.1102230246251565e-16D)"

    frame = spark.range(0, rows, 1, 8).selectExpr(
        "id",
        f"CAST(exp({chance(1)} * ln({APPS + 1})) AS INT) - 1 AS number",
        f"CAST(pmod(id, {DAYS}) AS INT) AS day",
        f"CAST({chance(2)} * 1000000 AS BIGINT) AS user",
        f"{chance(3)} AS value",
        f"CAST({chance(4)} * 86400e6 AS BIGINT) AS micros",
        "pmod(xxhash64(id, 5), 4) AS kind",
        "substring(md5(CAST(id AS STRING)), 1, 24) AS session",
    )
    return frame.where(f"NOT (number >= {APPS - LATE_APPS} AND day = 0)").selectExpr(
        "id",
        "user",
        "timestamp_micros(1777593600000000 + day * 86400000000 + micros) AS ts",
        "CASE kind WHEN 0 THEN 'view' WHEN 1 THEN 'click' WHEN 2 THEN 'buy' ELSE 'login' END AS kind",
        "value",
        "session",
        "date_add(DATE '2026-05-01', day) AS dt",
        "concat('app-', lpad(CAST(number AS STRING), 4, '0')) AS app",
    )


def new_table(spark: "SparkSession", frame: "DataFrame", directory: Path, below: str, target: str) -> Table:
    """An empty table whose small apps share."""
    return coalesce.create(
        directory,
        frame.schema,
        partition_by=["dt", "app"],
        rule=coalesce.small("app", below=below, target=target),
        spark=spark,
    )


def slivers(table: Table, target: int) -> int:
    """Files under half the target that are not the last of their physical partition."""
    by_key: dict[object, list[int]] = {}
    for file in sorted(table.files(), key=lambda f: f.path):
        by_key.setdefault(file.physical_key, []).append(file.bytes)
    return sum(size < target / 2 for sizes in by_key.values() for size in sizes[:-1])


def stages(table: Table) -> list[Result]:
    """Where the time of the table's last write went."""
    engine = core_of(table).engines.frames
    assert isinstance(engine, SparkEngine)
    return [Result(f"  of that, {name}", took, "s") for name, took in engine.last_write.stages.items()]


def measure(spark: "SparkSession", directory: Path, rows: int, below: str, target: str, known: bool) -> list[Result]:
    """Stage the input, warm up, and write."""
    progress(f"staging {rows:,} rows")
    staged = str(directory / "staged")
    events(spark, rows).write.parquet(staged)
    progress("warming up")
    little = spark.read.parquet(staged).limit(_WARM_UP)
    new_table(spark, little, directory / "warm-ours", below, target).append(little)
    progress("writing a coalesce table")
    table = new_table(spark, spark.read.parquet(staged), directory / "ours", below, target)
    ours = seconds(lambda: table.append(spark.read.parquet(staged)))
    ours_stages = stages(table)
    files, size = len(table.files()), table.state.bytes
    few = slivers(table, parse_bytes(target))
    alone = sum(len(file.tuples or ()) == 1 for file in table.files())
    again: list[Result] = []
    if known:
        progress("appending the same once more, by history")
        took = seconds(lambda: table.append(spark.read.parquet(staged), layout="known"))
        added = table.state.summary["files_added"]
        again = [Result("write, layout known", took, "s", f"{added} files"), *stages(table)]
    return [
        Result("logical partitions", len(table.partitions()), "", f"{table.state.rows:,} rows written"),
        Result("write", ours, "s"),
        *ours_stages,
        Result("files", files, "files", f"{alone} of one app alone"),
        Result("bytes", size / 2**20, "MB"),
        Result("slivers", few, "files", f"under half of {target}, and not the last of their run"),
        *again,
    ]


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000, help="how many rows (default: 20,000,000)")
    parser.add_argument("--below", default="64MB", help="logical partitions under this share files (default: 64MB)")
    parser.add_argument("--target", default="64MB", help="how large data files should become (default: 64MB)")
    parser.add_argument("--memory", default="4g", help="the driver's memory (default: 4g)")
    parser.add_argument("--known", action="store_true", help="append once more with layout known")
    parser.add_argument("--directory", type=Path, help="where to write (default: a temporary directory)")
    asked = parser.parse_args()
    spark = coalesce.session("local[2]", **{"spark.driver.memory": asked.memory})
    directory = Path(tempfile.mkdtemp(prefix="coalesce-writing-", dir=asked.directory))
    try:
        results = measure(spark, directory, asked.rows, asked.below, asked.target, asked.known)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        spark.stop()
    report("writing", results)


if __name__ == "__main__":
    main()
