"""A process that lives long: thousands of appends and plans, and what they cost as time goes by.

Each append brings a few rows, with everything a commit does, fsyncs included; each is followed by a plan. Every so
often a line says what the process holds: its resident memory, the same after the allocators were asked to give back
what they keep for later, what Arrow and Python have allocated, and what the cache of manifests holds. What grows with
each line and is not given back is a leak; what is given back is not. The time of a plan is that of a point: the others
look at ranges of a table that grows.
"""

import argparse
import ctypes
import datetime as dt
import gc
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

import coalesce
from benchmarks.harness import Result, progress, report
from coalesce.table.commit.manifests import SHARED_CACHE
from coalesce.table.table import Table

SCHEMA = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("n", pa.int64())])
DAYS, APPS, ROWS = 400, 5_000, 20
_FIRST_DAY = dt.date(2026, 1, 1)
_MB = 2**20


@dataclass(frozen=True, slots=True)
class Point:
    """What a process holds after so many commits, and what those since the last point cost."""

    commits: int
    commit_ms: float
    plan_ms: float
    resident: float
    given_back: float
    arrow: float
    python_blocks: int
    cache: float
    manifests: int
    metadata_per_commit: float

    def line(self) -> str:
        """For people."""
        return (
            f"{self.commits:>7,}  {self.commit_ms:9.2f}  {self.plan_ms:7.2f}  {self.resident:8.1f}  "
            f"{self.given_back:10.1f}  {self.arrow:8.1f}  {self.python_blocks:>9,}  {self.cache:8.1f}  "
            f"{self.manifests:>9,}  {self.metadata_per_commit:11.1f}"
        )


HEADER = (
    "commits  ms/commit  ms/plan    RSS MB  trimmed MB  Arrow MB     blocks  cache MB  manifests  metadata KB/commit"
)


def resident_mb() -> float:
    """How much memory the process has, by its own account."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / _MB


def give_back() -> None:
    """Have Python, Arrow and the C library give back what they only keep for later."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def rows(number: int) -> pa.Table:
    """A few rows of a day, of apps that share a file."""
    day = _FIRST_DAY + dt.timedelta(number % DAYS)
    apps = [f"app-{(number * 7 + i) % APPS:05d}" for i in range(ROWS)]
    return pa.table({"dt": [day] * ROWS, "app": apps, "n": range(number, number + ROWS)}, schema=SCHEMA)


def predicate(number: int) -> str:
    """One of thousands: a point, a range of days with a condition on statistics, a list."""
    day = _FIRST_DAY + dt.timedelta(number * 13 % DAYS)
    app = f"app-{number * 7 % APPS:05d}"
    match number % 3:
        case 0:
            return f"dt = DATE '{day}' AND app = '{app}'"
        case 1:
            return f"dt >= DATE '{day}' AND n > {number}"
        case _:
            return f"app IN ('{app}', 'app-{number % APPS:05d}') AND dt <> DATE '{day}'"


def metadata_bytes(location: Path) -> int:
    """What was ever written of versions and manifests: nothing of it is deleted."""
    return sum(path.stat().st_size for path in (location / "_coalesce").rglob("*") if path.is_file())


def soak(location: Path, commits: int, plans: int, every: int) -> list[Point]:
    """Append and plan, and look at the process every so often."""
    table = coalesce.create(location, SCHEMA, partition_by=["dt", "app"], rule=coalesce.small("app"))
    print(HEADER, flush=True)
    points: list[Point] = []
    appends: list[float] = []
    planned: list[float] = []
    asked, written = 0, metadata_bytes(location)
    for number in range(1, commits + 1):
        start = time.perf_counter()
        table.append(rows(number))
        appends.append(time.perf_counter() - start)
        while asked < plans * number // commits:
            start = time.perf_counter()
            assert table.plan(predicate(asked)).version.number == number
            if asked % 3 == 0:
                planned.append(time.perf_counter() - start)
            asked += 1
        if number % every == 0:
            before, written = written, metadata_bytes(location)
            points.append(_point(table, number, appends, planned, (written - before) / every))
            print(points[-1].line(), flush=True)
            appends, planned = [], []
    return points


def _point(table: Table, number: int, appends: list[float], planned: list[float], metadata: float) -> Point:
    gc.collect()
    resident = resident_mb()
    give_back()
    return Point(
        commits=number,
        commit_ms=statistics.median(appends) * 1e3,
        plan_ms=statistics.median(planned) * 1e3 if planned else 0.0,
        resident=resident,
        given_back=resident_mb(),
        arrow=pa.total_allocated_bytes() / _MB,
        python_blocks=sys.getallocatedblocks(),
        cache=SHARED_CACHE.total / _MB,
        manifests=len(table.state.manifests),
        metadata_per_commit=metadata / 1024,
    )


def spark_plans(location: Path, count: int) -> list[Result]:
    """Queries of the native source up to the files they would read, without jobs, each after a commit of its own."""
    spark = coalesce.session()
    table = coalesce.open(location, spark=spark)
    held: list[float] = []
    took: list[float] = []
    for number in range(count):
        table.append(rows(number))
        frame = spark.read.format("coalesce").load(str(location)).where(predicate(number))
        begun = time.perf_counter()
        frame.inputFiles()
        took.append(time.perf_counter() - begun)
        if (number + 1) % max(1, count // 4) == 0:
            give_back()
            held.append(resident_mb())
    spark.stop()
    curve = ", ".join(f"{mb:,.0f}" for mb in held)
    return [
        Result("plan of a Spark query", statistics.median(took) * 1e3, "ms", f"{count} of them, each on a new version"),
        Result("memory after a quarter of them", held[0], "MB", f"Python's, at each quarter: {curve}"),
    ]


def results(points: list[Point]) -> list[Result]:
    """The first points beside the last: flat is a ratio of one."""
    first, last = points[min(1, len(points) - 1)], points[-1]
    most = max((b.given_back - a.given_back for a, b in pairwise(points[1:])), default=0.0)
    figures = [
        ("commit", first.commit_ms, last.commit_ms, "ms"),
        ("plan", first.plan_ms, last.plan_ms, "ms"),
        ("memory", first.given_back, last.given_back, "MB"),
        ("metadata written for a commit", first.metadata_per_commit, last.metadata_per_commit, "KB"),
    ]
    found = []
    for name, early, late, unit in figures:
        note = f"{late / early:.2f}x" if early else ""
        found.append(Result(f"{name}, up to {first.commits:,} commits", early, unit))
        found.append(Result(f"{name}, up to {last.commits:,} commits", late, unit, note))
    return [*found, Result("most that memory grew from one line to the next", most, "MB")]


def main() -> None:
    """Run and report."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--commits", type=int, default=10_000)
    options.add_argument("--plans", type=int, default=10_000)
    options.add_argument("--every", type=int, default=None, help="commits between two lines; a tenth of them")
    options.add_argument("--spark", type=int, default=0, metavar="N", help="also N plans of Spark queries")
    options.add_argument("--quick", action="store_true", help="a tenth of everything")
    options.add_argument("--directory", default=None, help="where to put the table; a temporary directory")
    chosen = options.parse_args()
    commits, plans = (n // 10 if chosen.quick else n for n in (chosen.commits, chosen.plans))
    with tempfile.TemporaryDirectory(dir=chosen.directory) as temporary:
        location = Path(temporary) / "events"
        progress(f"{commits:,} appends of {ROWS} rows and {plans:,} plans")
        found = results(soak(location, commits, plans, chosen.every or max(1, commits // 10)))
        if chosen.spark:
            progress(f"{chosen.spark:,} queries of Spark, without jobs")
            found += spark_plans(location, chosen.spark)
    report("soak", found)


if __name__ == "__main__":
    main()
