"""Tables of very many columns, and appends of very many logical partitions, without Spark.

Each step is measured at three sizes, and its note says how many times as long it took as at the size before: what is
linear grows as the size does. Every size runs in a process of its own, so that its peak of memory is its own.
"""

import argparse
import multiprocessing
import resource
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa

import coalesce
from benchmarks.harness import Result, progress, report, seconds

COLUMNS = (500, 1_000, 2_000)
PARTITIONS = (10_000, 30_000, 100_000)
_ROWS = 1_000
_ROWS_OF_A_PARTITION = 10
_DAYS = 10

# Of each step: what it is called, what it took, its unit.
Steps = list[tuple[str, float, str]]


def many_columns(count: int) -> pa.Table:
    """A thousand rows of as many columns: a day, an app, and doubles, integers and strings in turn."""
    random = np.random.default_rng(12)
    columns: dict[str, object] = {
        "dt": pa.array((20_574 + np.arange(_ROWS) % 3).astype(np.int32), pa.date32()),
        "app": [f"app-{i % 50}" for i in range(_ROWS)],
    }
    kinds: list[Callable[[], object]] = [
        lambda: random.random(_ROWS),
        lambda: random.integers(0, 1_000, _ROWS),
        lambda: [f"value {i % 97}" for i in range(_ROWS)],
    ]
    columns |= {f"column_{i:04d}": kinds[i % 3]() for i in range(count - 2)}
    return pa.table(columns)


def columns_of(count: int) -> Steps:
    """Every kind of work on a table of so many columns, each the first of its kind on a table that was just opened."""
    rows = many_columns(count)
    with tempfile.TemporaryDirectory() as directory:
        location = Path(directory) / "table"
        coalesce.create(location, rows.schema, partition_by=["dt", "app"], rule=coalesce.small("app")).append(rows)

        def opened(work: Callable[[coalesce.Table], object]) -> float:
            table = coalesce.open(location)
            return seconds(lambda: work(table))

        return [
            ("append", opened(lambda table: table.append(rows)), "s"),
            ("open", seconds(lambda: coalesce.open(location)), "s"),
            ("plan", opened(lambda table: table.plan("app = 'app-7' AND column_0001 < 10").file_count), "s"),
            ("scan of all", opened(lambda table: table.scan().to_arrow()), "s"),
            ("scan of one app", opened(lambda table: table.scan("app = 'app-7'").to_arrow()), "s"),
            ("scan of one column", opened(lambda table: table.scan(columns=["column_0001"]).to_arrow()), "s"),
            ("files()", opened(lambda table: table.files()), "s"),
            ("delete in shared files", opened(lambda table: table.delete("app = 'app-7'")), "s"),
        ]


def partitions_of(count: int) -> Steps:
    """Two appends of so many logical partitions, ten rows each in no order, and reading them."""
    random = np.random.default_rng(12)
    number = random.permutation(np.arange(count * _ROWS_OF_A_PARTITION) % count)
    apps = pa.array([f"app-{i:06d}" for i in range(count // _DAYS)])
    rows = pa.table(
        {
            "dt": pa.array((20_574 + number % _DAYS).astype(np.int32), pa.date32()),
            "app": apps.take(pa.array(number // _DAYS)),
            "id": np.arange(len(number)),
            "value": random.random(len(number)),
        }
    )
    before = _peak()
    with tempfile.TemporaryDirectory() as directory:
        table = coalesce.create(
            Path(directory) / "table", rows.schema, partition_by=["dt", "app"], rule=coalesce.small("app")
        )
        first = seconds(lambda: table.append(rows))
        peak = _peak()
        point = "dt = DATE '2026-05-03' AND app = 'app-000017'"
        return [
            ("append", first, "s"),
            ("peak of memory above the rows", peak - before, "MB"),
            ("append again", seconds(lambda: table.append(rows)), "s"),
            ("scan of one", seconds(lambda: table.scan(point).to_arrow()), "s"),
            ("scan of all", seconds(lambda: table.scan().to_arrow()), "s"),
            ("partitions()", seconds(table.partitions), "s"),
        ]


def _peak() -> float:
    """The most memory this process ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def growth(sizes: Sequence[int], unit: str, work: Callable[[int], Steps]) -> list[Result]:
    """The steps at each size, with how they grew."""
    results: list[Result] = []
    before: Steps = []
    context = multiprocessing.get_context("spawn")
    for place, size in enumerate(sizes):
        progress(f"{size:,} {unit}")
        with ProcessPoolExecutor(1, mp_context=context) as process:
            steps = process.submit(work, size).result()
        for number, (name, value, measure) in enumerate(steps):
            note = ""
            if before:
                note = f"{value / max(before[number][1], 1e-9):.1f}x, for {size / sizes[place - 1]:.1f}x as many"
            results.append(Result(f"{size:,} {unit}: {name}", value, measure, note))
        before = steps
    return results


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, nargs="+", default=COLUMNS, help="how many columns")
    parser.add_argument("--partitions", type=int, nargs="+", default=PARTITIONS, help="how many logical partitions")
    asked = parser.parse_args()
    results = growth(asked.columns, "columns", columns_of)
    results += growth(asked.partitions, "logical partitions", partitions_of)
    report("wide", results)


if __name__ == "__main__":
    main()
