"""Removing and replacing logical partitions that share files: the commit, and what scans cost after it.

    drop     one tenant of 250 goes from 400 daily files: marked as dead, and by rewriting the files
    replace  100 logical partitions are replaced, beside an append of the same rows
    scans    a tenth of the rows is dead, few large apps or many small ones: by Arrow and by Spark, beside the same
             table without those rows; and what Spark takes for all rows of those files, dead ones too, as plain Parquet

Without a name, all of them run. What a drop takes beside other formats, `python -m benchmarks run saas-events` tells.
"""

import argparse
import statistics
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa

import coalesce
from benchmarks.harness import Result, in_turns, progress, report, seconds
from coalesce.table.table import Table

SCHEMA = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("n", pa.int64()), ("value", pa.float64())])
FIRST = (date(2025, 1, 1) - date(1970, 1, 1)).days
DAYS, TENANTS, ROWS_EACH = 400, 250, 4
QUERIES = {
    "sum of a column": "SELECT sum(n) FROM {t}",
    "sum of two": "SELECT sum(n), sum(value) FROM {t}",
    "one app": "SELECT sum(n) FROM {t} WHERE app = 'app-0012'",
    "sum by app": "SELECT app, sum(n) FROM {t} GROUP BY app",
}


def tenants(first: int, days: int) -> pa.Table:
    """Some days of four rows for each tenant."""
    rows = days * TENANTS * ROWS_EACH
    names = np.char.add("tenant-", np.arange(TENANTS).astype(str))
    return pa.table(
        {
            "dt": pa.array(np.repeat(np.arange(first, first + days) + FIRST, TENANTS * ROWS_EACH), pa.int32()),
            "app": np.tile(np.repeat(names, ROWS_EACH), days),
            "n": np.arange(rows),
            "value": np.random.default_rng(first).random(rows),
        }
    ).cast(SCHEMA)


def daily(path: Path) -> Table:
    """A table of 400 daily files, each with all tenants: 100,000 logical partitions."""
    made = coalesce.create(
        path, SCHEMA, partition_by=["dt", "app"], rule=coalesce.small("app"), properties={"remove.by": "mark"}
    )
    for first in range(0, DAYS, 40):
        made.append(tenants(first, 40))
    return made


def drop(directory: Path) -> list[Result]:
    """A tenant goes from every day."""
    progress(f"{DAYS} days of {TENANTS} tenants")
    table = daily(directory / "drop")
    manifests = len(table.state.manifests)
    nothing = statistics.median(seconds(lambda: table.set_properties({"owner": str(i)})) for i in range(9))  # noqa: B023
    marked = [seconds(lambda: table.drop_partition(app=f"tenant-{i}")) for i in range(9)]  # noqa: B023 - called at once
    table.set_properties({"remove.by": "rewrite"})
    rewritten = seconds(lambda: table.drop_partition(app="tenant-100"))
    median = statistics.median(marked)
    limit = 3 * nothing + 0.02 * manifests
    return [
        Result("a commit that changes a property", nothing * 1e3, "ms"),
        Result(
            f"drop of a tenant from {DAYS} files, {manifests} manifests",
            median * 1e3,
            "ms",
            f"{median / limit:.2f} of the limit of {limit * 1e3:.0f} ms; the first {marked[0] * 1e3:.0f} ms",
        ),
        Result("the same by rewriting", rewritten * 1e3, "ms", f"{rewritten / median:.0f}x the time"),
    ]


def replace(directory: Path) -> list[Result]:
    """A hundred logical partitions of one day, replaced and appended."""
    progress("replacing 100 logical partitions")
    table, other = daily(directory / "replaced"), daily(directory / "appended")
    new = tenants(200, 1).slice(0, 100 * ROWS_EACH)
    replaced, appended = in_turns(9, lambda: table.overwrite_partitions(new), lambda: other.append(new))
    ratio = f"{replaced.clock / appended.clock:.2f}x, {replaced.processor / appended.processor:.2f}x by processor time"
    return [
        Result("append of 100 logical partitions", appended.clock * 1e3, "ms"),
        Result("overwrite_partitions of the same", replaced.clock * 1e3, "ms", ratio),
    ]


# --- scans over dead rows ----------------------------------------------------------------------------------------


def filled(path: Path, rows: int, apps: int, by: str, few: bool) -> Table:
    """A table of one day without a tenth of its rows; `by` says how those were removed."""
    table = coalesce.create(
        path,
        SCHEMA,
        partition_by=["dt", "app"],
        rule=coalesce.small("app", below="1GB"),
        properties={"remove.by": by, "write.target-file-bytes": "32MB"},
    )
    chosen = np.random.default_rng(1)
    names = np.char.add("app-", np.char.zfill(np.arange(apps).astype(str), 4))
    places = chosen.integers(0, apps, rows)
    if few:  # one app that has a tenth of the rows by itself
        places = np.where(chosen.random(rows) < 0.1, apps // 2, places)
    table.append(
        pa.table(
            {
                "dt": pa.array(np.full(rows, np.datetime64(date(2026, 5, 1)))),
                "app": pa.DictionaryArray.from_arrays(places, names).cast(pa.string()),
                "n": np.arange(rows),
                "value": chosen.random(rows),
            },
            SCHEMA,
        )
    )
    gone = ", ".join(f"'{name}'" for name in (names[apps // 2 : apps // 2 + 1] if few else names[::10]))
    took = seconds(lambda: table.delete(f"app IN ({gone})"))
    progress(f"{by}: removed in {took:.2f} s, {table.state.dead_rows:,} rows dead, {len(table.files())} files")
    return table


def scans(directory: Path, rows: int, apps: int, repeats: int) -> list[Result]:
    """The same queries on rows that were marked and on those that were written again."""
    spark = coalesce.session()
    results = []
    for few in (True, False):
        kind = "one large app dead" if few else "100 small apps dead"
        tables = [filled(directory / f"{by}-{few}", rows, apps, by, few) for by in ("mark", "rewrite")]
        for columns in (["n"], None):
            marked, rewritten = in_turns(
                repeats,
                lambda columns=columns: tables[0].scan(columns=columns).to_arrow(),  # type: ignore[misc]  # noqa: B023
                lambda columns=columns: tables[1].scan(columns=columns).to_arrow(),  # type: ignore[misc]  # noqa: B023
            )
            by_processor = marked.processor / rewritten.processor
            name = f"Arrow, {kind}, {'all columns' if columns is None else 'one column'}"
            note = f"{rewritten.clock * 1e3:,.0f} ms rewritten; {by_processor:.2f} by processor time"
            results.append(Result(name, marked.clock / rewritten.clock, "x", note))
        for table, by in zip(tables, ("mark", "rewrite"), strict=True):
            spark.read.format("coalesce").load(table.location).createOrReplaceTempView(by)
        files = [f"{tables[0].location}/{file.path}" for file in tables[0].files()]
        spark.read.parquet(*files).createOrReplaceTempView("plain")
        for _ in range(5):  # until the JVM has compiled what it runs, or the first query would pay for all
            for text in QUERIES.values():
                for by in ("mark", "rewrite", "plain"):
                    spark.sql(text.format(t=by)).collect()
        for name, text in QUERIES.items():
            marked, rewritten, plain = in_turns(
                repeats,
                lambda text=text: spark.sql(text.format(t="mark")).collect(),  # type: ignore[misc]
                lambda text=text: spark.sql(text.format(t="rewrite")).collect(),  # type: ignore[misc]
                lambda text=text: spark.sql(text.format(t="plain")).collect(),  # type: ignore[misc]
            )
            ratio = marked.clock / rewritten.clock
            all_rows = f"{plain.clock / rewritten.clock:.2f} all rows, as plain Parquet"
            note = f"{rewritten.clock * 1e3:,.0f} ms rewritten; {all_rows}"
            results.append(Result(f"Spark, {kind}, {name}", ratio, "x", note))
    spark.stop()
    return results


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks removal", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=["drop", "replace", "scans", []], default=[])
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of a scan (default: 10,000,000)")
    parser.add_argument("--apps", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--directory", help="where the tables are made")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="coalesce-removal-", dir=asked.directory) as temporary:
        directory = Path(temporary)
        parts: dict[str, Callable[[], list[Result]]] = {
            "drop": lambda: drop(directory),
            "replace": lambda: replace(directory),
            "scans": lambda: scans(directory, asked.rows, asked.apps, asked.repeats),
        }
        chosen = asked.parts or list(parts)
        report("removal", [result for name in chosen for result in parts[name]()])


if __name__ == "__main__":
    main()
