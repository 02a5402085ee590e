"""Reading with Spark: our scan against Spark's own on the same files, a point query, and what the bridge costs.

Every timing builds a new DataFrame (Spark keeps what a finished one has computed), the two sides take turns, and what
counts are the ratios. The planning figures are from tables of entries without data: nothing is read there.
"""

import argparse
import statistics
import tempfile
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import coalesce
from benchmarks.engines.spark_metrics import Executions, observed
from benchmarks.harness import Result, progress, report, seconds
from coalesce.model.datafile import ColumnStatistics, DataFile
from coalesce.model.rule import Group
from coalesce.model.types import STRING
from coalesce.model.values import display
from coalesce.table.table import Table, core_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAYS, APPS = 10, 2_000
WIDE = [
    "count(*) AS n",
    "sum(v) AS total",
    *(f"{function}({column}) AS {column}_{function}" for column in ("k", "v", "s", "u") for function in ("min", "max")),
]


def session() -> "SparkSession":
    """Two cores, little noise."""
    return coalesce.session("local[2]", **{"spark.sql.shuffle.partitions": 4, "spark.driver.memory": "4g"})


def make_table(spark: "SparkSession", path: str, rows: int) -> Table:
    """Days × apps of very different size, written by Spark; small apps share files."""
    chance = "pmod(xxhash64(id), 1000000) / 1000000"
    frame = spark.range(rows, numPartitions=8).selectExpr(
        f"date_add(DATE '2026-05-01', CAST(pmod(id, {DAYS}) AS INT)) AS dt",
        f"concat('app-', lpad(CAST(floor(pow({chance}, 3) * {APPS}) AS STRING), 5, '0')) AS app",
        "id AS k",
        "id * 0.5D AS v",
        "substring(md5(CAST(id AS STRING)), 1, 16) AS s",
        "CAST(pmod(id * 7919, 100000) AS INT) AS u",
    )
    table = coalesce.create(
        path,
        frame.schema,
        partition_by=["dt", "app"],
        rule=coalesce.small("app"),
        properties={"write.target-file-bytes": "33554432"},
        spark=spark,
    )
    table.append(frame)
    return table


def in_turns(one: Callable[[], object], other: Callable[[], object], repeats: int) -> tuple[float, float]:
    """The medians of two kinds of work, in seconds, done alternately; the first round only warms up."""
    one()
    other()
    times = [(seconds(one), seconds(other)) for _ in range(repeats)]
    return statistics.median(t[0] for t in times), statistics.median(t[1] for t in times)


# --- scans -------------------------------------------------------------------------------------------------------


def scans(spark: "SparkSession", table: Table, repeats: int) -> list[Result]:
    """Everything, and a wide aggregate of everything, as a coalesce table and as plain files."""
    paths = [core_of(table).storage.uri(file.path) for file in table.files()]

    def ours() -> "DataFrame":
        return spark.read.format("coalesce").load(table.location)

    def plain() -> "DataFrame":
        return spark.read.schema(ours().schema).parquet(*paths)

    results = []
    for name, work in (
        ("full scan", lambda frame: frame.write.format("noop").mode("overwrite").save()),
        ("wide aggregate", lambda frame: frame.groupBy("app").agg(*map(_column, WIDE)).collect()),
        ("wide aggregate of one day", lambda f: f.where("dt = DATE '2026-05-03'").agg(*map(_column, WIDE)).collect()),
    ):
        progress(name)
        mine, theirs = in_turns(partial(_run, work, ours), partial(_run, work, plain), repeats)
        note = f"{mine / theirs:.2f} × spark.read.parquet on the same {len(paths)} files ({theirs * 1e3:,.0f} ms)"
        results.append(Result(name, mine * 1e3, "ms", note))
    return results


def _run(work: Callable[["DataFrame"], object], frame: Callable[[], "DataFrame"]) -> None:
    work(frame())


def _column(text: str) -> Any:
    from pyspark.sql.functions import expr

    return expr(text)


def point(spark: "SparkSession", table: Table, repeats: int) -> list[Result]:
    """One small logical partition out of a shared file, against that very file with the same filter."""
    shared = max(table.files(), key=lambda file: len(file.tuples or ()))
    counts = sorted(zip(shared.tuple_rows or (), shared.tuples or (), strict=True), key=lambda pair: pair[0] or 0)
    _, (_, app) = counts[len(counts) // 2]
    assert isinstance(app, str)
    where = f"dt = DATE '{_day(shared)}' AND app = {display(STRING, app)}"
    path = core_of(table).storage.uri(shared.path)

    def ours() -> list[Any]:
        return spark.read.format("coalesce").load(table.location).where(where).selectExpr(*WIDE).collect()

    def plain() -> list[Any]:
        return spark.read.parquet(path).where(where).selectExpr(*WIDE).collect()

    progress(f"point query: {where}")
    mine, theirs = in_turns(ours, plain, repeats)
    read, rows = bytes_read(spark, ours), int(ours()[0].n)
    size, inside = f"{shared.bytes / 2**20:.1f} MB", len(shared.tuples or ())
    ratio = f"{mine / theirs:.2f} × spark.read.parquet of the one file ({theirs * 1e3:,.0f} ms); {rows:,} rows"
    share = f"{100 * read / shared.bytes:.1f}% of the file's {size}; it holds {inside:,} logical partitions"
    return [Result("point query", mine * 1e3, "ms", ratio), Result("  bytes read", read / 1024, "KB", share)]


def _day(file: DataFile) -> str:
    assert file.tuples is not None
    days = file.tuples[0][0]
    assert isinstance(days, int)
    return (date(1970, 1, 1) + timedelta(days=days)).isoformat()


def bytes_read(spark: "SparkSession", work: Callable[[], object]) -> int:
    """What the tasks of some work have read, by Spark's own count."""
    executions = Executions(spark)
    executions.forget()
    with observed(spark):
        work()
    return executions.read()[1]


# --- planning ----------------------------------------------------------------------------------------------------


def bridge(spark: "SparkSession", directory: str, files: int, repeats: int) -> list[Result]:
    """How long a scan of so many files waits for its list of them, everything and one logical partition."""
    table = coalesce.create(
        f"{directory}/entries-{files}",
        pa.schema([("dt", pa.date32()), ("app", pa.string()), ("n", pa.int64())]),
        partition_by=["dt", "app"],
        rule=coalesce.small("app"),
    )
    transaction = core_of(table).transaction("append")
    transaction.add([_entry(number) for number in range(files)])
    core_of(table).commit(transaction)
    name = f"{files:,} files"
    progress(name)
    results = []
    loads = [seconds(lambda: spark.read.format("coalesce").load(table.location)) for _ in range(repeats)]
    cold = f"{loads[0] * 1e3:,.0f} ms the first time"
    results.append(Result(f"{name}: load()", statistics.median(loads) * 1e3, "ms", cold))
    for what, where in (("list everything", "true"), ("list a point", "dt = DATE '2026-05-03' AND app = 'app-00042'")):
        times, counts = [], set()
        for _ in range(repeats):
            scan = _scan(spark.read.format("coalesce").load(table.location).where(where))
            times.append(seconds(scan.selectedPartitions))
            counts.add(int(scan.selectedPartitions().totalNumberOfFiles()))
        planned = statistics.median(seconds(partial(coalesce.open(table.location).plan, where)) for _ in range(3))
        note = f"{counts.pop():,} of {files:,} kept; planning alone, in Python: {planned * 1e3:,.1f} ms"
        results.append(Result(f"{name}: {what}", statistics.median(times) * 1e3, "ms", note))
    return results


def _scan(frame: "DataFrame") -> Any:
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    return leaves.apply(0)


def _entry(number: int) -> DataFile:
    """A shared file of one day and twenty apps."""
    day = 20_574 + number % 365
    apps = sorted(f"app-{(number // 365 * 20 + j) % 5_000:05d}" for j in range(20))
    return DataFile(
        path=f"data/w/_dt={day}/_app=%5B%23small%5D/{number:08d}.parquet",
        spec_id=0,
        rows=2_000,
        bytes=10**6,
        rule_id=0,
        physical_key=(day, Group("[#small]")),
        tuples=tuple((day, app) for app in apps),
        tuple_rows=(100,) * 20,
        complete=True,
        statistics={3: ColumnStatistics(lower=number, upper=number + 2_000, null_count=0)},
    )


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.measures.reading", description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000, help="rows of the table that is scanned")
    parser.add_argument("--repeats", type=int, default=7, help="timings of each kind")
    parser.add_argument("--files", type=int, nargs="*", default=[1_000, 100_000], help="entries of the planned tables")
    arguments = parser.parse_args()
    spark = session()
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as directory:
        if arguments.rows:
            progress(f"writing {arguments.rows:,} rows")
            table = make_table(spark, str(Path(directory) / "events"), arguments.rows)
            results += scans(spark, table, arguments.repeats)
            results += point(spark, table, arguments.repeats)
        for files in arguments.files:
            results += bridge(spark, directory, files, arguments.repeats)
    report("reading", results)
    spark.stop()


if __name__ == "__main__":
    main()
