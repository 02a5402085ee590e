"""Conditions that are computed, on rows without Spark, beside the same written by hand with pyarrow.compute.

Ten million rows in one table. Each condition is left to check in every row: nothing is pruned. By hand, the files are
read with pyarrow's Parquet reader, the columns that the condition asks for and the one that is wanted, and filtered by
what pyarrow.compute has for the same words. How long plans with functions take, `python -m benchmarks planning` tells.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import coalesce
from benchmarks.harness import Result, in_turns, progress, report
from coalesce.table.table import Table

AT_MOST = 1.5
_APPS = 2_000


def rows(count: int) -> pa.Table:
    """Events of apps, with the day, two numbers and a price."""
    random = np.random.default_rng(16)
    apps = pa.array([f"App-{i:04d}" for i in range(_APPS)])
    return pa.table(
        {
            "id": np.arange(count),
            "dt": pa.array(20_574 + random.integers(0, 365, count).astype(np.int32), pa.date32()),
            "app": apps.take(pa.array(random.integers(0, _APPS, count))),
            "started": random.integers(0, 1_000_000, count),
            "ended": random.integers(0, 1_000_000, count),
            "price": random.random(count),
        }
    )


# The condition, the columns it reads, and the same by hand.
BY_HAND: dict[str, tuple[list[str], Callable[[pa.Table], pa.Array]]] = {
    "started > 999000": (["started"], lambda t: pc.greater(t["started"], 999_000)),
    "app = 'App-0042'": (["app"], lambda t: pc.equal(t["app"], "App-0042")),
    "ended - started > 990000": (
        ["ended", "started"],
        lambda t: pc.greater(pc.subtract_checked(t["ended"], t["started"]), 990_000),
    ),
    "started > ended": (["ended", "started"], lambda t: pc.greater(t["started"], t["ended"])),
    "lower(app) = 'app-0042'": (["app"], lambda t: pc.equal(pc.utf8_lower(t["app"]), "app-0042")),
    "app LIKE 'App-0_42'": (["app"], lambda t: pc.match_like(t["app"], "App-0_42")),
    "month(dt) = 5 AND price * 2 > 1.9": (
        ["dt", "price"],
        lambda t: pc.and_(pc.equal(pc.month(t["dt"]), 5), pc.greater(pc.multiply(t["price"], 2.0), 1.9)),
    ),
    "CASE WHEN price > 0.5 THEN started ELSE ended END < 1000": (
        ["ended", "price", "started"],
        lambda t: pc.less(pc.if_else(pc.greater(t["price"], 0.5), t["started"], t["ended"]), 1_000),
    ),
}


def measured(table: Table, files: list[Path], repeats: int) -> list[Result]:
    """Each condition by us and by hand, in turns."""
    results = []
    for where, (columns, mask) in BY_HAND.items():
        progress(where)

        def ours(where: str = where) -> int:
            return int(table.scan(where, columns=["id"]).to_arrow().num_rows)

        def by_hand(columns: list[str] = columns, mask: Callable[[pa.Table], pa.Array] = mask) -> int:
            whole = pa.concat_tables(
                pq.read_table(f, columns=["id", *columns], page_checksum_verification=True) for f in files
            )
            return int(whole.filter(mask(whole)).select(["id"]).num_rows)

        assert ours() == by_hand(), where
        here, there = in_turns(repeats, ours, by_hand)
        ratio = here.clock / there.clock
        note = f"{ratio:.2f}x of {there.clock * 1000:.0f} ms by hand; to be at most {AT_MOST}x"
        results.append(Result(where, here.clock * 1000, "ms", note))
    return results


def main() -> None:
    """Build, measure, report."""
    options = argparse.ArgumentParser(prog="python -m benchmarks predicates", description=__doc__)
    options.add_argument("--rows", type=int, default=10_000_000, help="rows of the table (10,000,000)")
    options.add_argument("--quick", action="store_true", help="a tenth of the rows")
    options.add_argument("--repeats", type=int, default=5)
    chosen = options.parse_args()
    count = chosen.rows // 10 if chosen.quick else chosen.rows
    with tempfile.TemporaryDirectory() as directory:
        progress(f"{count:,} rows")
        made = rows(count)
        table = coalesce.create(Path(directory) / "t", made.schema)
        table.append(made)
        files = [Path(directory) / "t" / file.path for file in table.files()]
        results = measured(table, files, chosen.repeats)
    report("predicates", results)


if __name__ == "__main__":
    main()
