"""Tables of very many columns, and appends of very many logical partitions, without Spark.

Each step is measured at three sizes, and its note says how many times as long it took as at the size before: what is
linear grows as the size does. Of most steps it is the best of three. Every size runs in a process of its own, so that
its peak of memory is its own.
"""

import argparse
import multiprocessing
import resource
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

import coalesce
from benchmarks.harness import Result, Took, least, progress, report, timed

COLUMNS = (500, 1_000, 2_000)
PARTITIONS = (10_000, 30_000, 100_000)
_ROWS = 1_000
_ROWS_OF_A_PARTITION = 10
_DAYS = 10
_REPEATS = 3

# Of each step: what it is called, and what it took of time, or of memory in MB.
Steps = list[tuple[str, Took | float]]


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

        def opened(work: Callable[[coalesce.Table], object]) -> Took:
            return least(timed(partial(work, coalesce.open(location))) for _ in range(_REPEATS))

        steps: Steps = [
            ("open", least(timed(lambda: coalesce.open(location)) for _ in range(_REPEATS))),
            ("plan", opened(lambda table: table.plan("app = 'app-7' AND column_0001 < 10").file_count)),
            ("scan of all", opened(lambda table: table.scan().to_arrow())),
            ("scan of one app", opened(lambda table: table.scan("app = 'app-7'").to_arrow())),
            ("scan of one column", opened(lambda table: table.scan(columns=["column_0001"]).to_arrow())),
            ("files()", opened(lambda table: table.files())),
            ("delete in shared files", timed(lambda: coalesce.open(location).delete("app = 'app-7'"))),
        ]
        return [("append", opened(lambda table: table.append(rows))), *steps]


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

        def appended(name: str) -> tuple[coalesce.Table, Took]:
            table = coalesce.create(
                Path(directory) / name, rows.schema, partition_by=["dt", "app"], rule=coalesce.small("app")
            )
            return table, timed(lambda: table.append(rows))

        table, first = appended("0")
        peak = _peak()
        first = least([first, *(appended(str(again))[1] for again in range(1, _REPEATS))])
        point = "dt = DATE '2026-05-03' AND app = 'app-000017'"
        return [
            ("append", first),
            ("peak of memory above the rows", peak - before),
            ("append again", timed(lambda: table.append(rows))),
            ("scan of one", timed(lambda: table.scan(point).to_arrow())),
            ("scan of all", timed(lambda: table.scan().to_arrow())),
            ("partitions()", timed(table.partitions)),
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
        for number, (name, took) in enumerate(steps):
            earlier = before[number][1] if before else None
            results.append(_result(f"{size:,} {unit}: {name}", took, earlier, size / sizes[max(place - 1, 0)]))
        before = steps
    return results


def _result(name: str, took: Took | float, earlier: Took | float | None, times: float) -> Result:
    if isinstance(took, Took):
        note = f"{took.processor:.2f} s of the processors"
        if isinstance(earlier, Took):
            note += f"; {took.processor / max(earlier.processor, 1e-9):.1f}x for {times:.1f}x as many"
        return Result(name, took.clock, "s", note)
    note = f"{took / max(earlier, 1.0):.1f}x for {times:.1f}x as many" if isinstance(earlier, float) else ""
    return Result(name, took, "MB", note)


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
