"""Removing logical partitions: what a scan costs while their rows still lie in the files.

One day of shared files, in which one app in ten is dropped: once marked as dead (`remove.by=mark`), once written again
(`remove.by=rewrite`). Then the same queries on both, by Spark, in turns.
"""

import argparse
import tempfile
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import coalesce
from benchmarks.harness import Result, in_turns, progress, report, seconds
from coalesce.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("n", pa.int64()), ("value", pa.float64())])
QUERIES = {
    "sum of a column": "SELECT sum(n) FROM {t}",
    "sum of two": "SELECT sum(n), sum(value) FROM {t}",
    "one app": "SELECT sum(n) FROM {t} WHERE app = 'app-0012'",
    "sum by app": "SELECT app, sum(n) FROM {t} GROUP BY app",
}


def filled(path: Path, rows: int, apps: int, by: str) -> Table:
    """A table of one day, without every tenth app; `by` says how those were removed."""
    table = coalesce.create(
        path,
        SCHEMA,
        partition_by=["dt", "app"],
        rule=coalesce.small("app", below="1GB"),
        properties={"remove.by": by, "write.target-file-bytes": "32MB"},
    )
    chosen = np.random.default_rng(1)
    names = np.char.add("app-", np.char.zfill(np.arange(apps).astype(str), 4))
    table.append(
        pa.table(
            {
                "dt": pa.array(np.full(rows, np.datetime64(date(2026, 5, 1)))),
                "app": pa.DictionaryArray.from_arrays(chosen.integers(0, apps, rows), names).cast(pa.string()),
                "n": np.arange(rows),
                "value": chosen.random(rows),
            },
            SCHEMA,
        )
    )
    gone = ", ".join(f"'{name}'" for name in names[::10])
    took = seconds(lambda: table.delete(f"app IN ({gone})"))
    progress(f"{by}: removed in {took:.2f} s, {table.state.dead_rows:,} rows dead, {len(table.files())} files")
    return table


def scans(spark: "SparkSession", directory: Path, rows: int, apps: int, repeats: int) -> list[Result]:
    """The same queries on rows that were marked and on those that were written again."""
    for by in ("mark", "rewrite"):
        table = filled(directory / by, rows, apps, by)
        spark.read.format("coalesce").load(table.location).createOrReplaceTempView(by)
    results = []
    for name, text in QUERIES.items():
        marked, rewritten = in_turns(
            repeats,
            lambda text=text: spark.sql(text.format(t="mark")).collect(),  # type: ignore[misc]
            lambda text=text: spark.sql(text.format(t="rewrite")).collect(),  # type: ignore[misc]
        )
        ratio = marked.clock / rewritten.clock
        results.append(Result(f"{name}: marked / rewritten", ratio, "", f"{rewritten.clock * 1e3:,.0f} ms rewritten"))
    return results


def main() -> None:
    """Run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks removal", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--apps", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    spark = coalesce.session()
    with tempfile.TemporaryDirectory() as directory:
        report("removal", scans(spark, Path(directory), options.rows, options.apps, options.repeats))
    spark.stop()


if __name__ == "__main__":
    main()
