"""The main job from end to end, on a small table and a Spark on this machine.

Skewed events are written twice, by Spark's own partitionBy and as a coalesce table. Then one small logical partition is
queried, replaced and dropped, and its neighbours in the same file are shown to be untouched.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import coalesce
from coalesce.cli.arguments import add_debug
from coalesce.cli.layout import grid, number
from coalesce.errors import CoalesceError
from coalesce.plan.report import human_bytes
from coalesce.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

HELP = "see it work on a small table, with Spark on this machine"

_ROWS, _DAYS, _APPS = 200_000, 4, 250
_FIRST_DAY = date(2026, 5, 15)
_SMALL = date(2026, 5, 17), "app-017"  # the logical partition that everything is done to
_NEIGHBOURS = "dt = DATE '2026-05-17' AND app IN ('app-016', 'app-018', 'app-019')"

T = TypeVar("T")


def configure(parser: argparse.ArgumentParser) -> None:
    """Where to leave the tables."""
    parser.add_argument(
        "--keep", metavar="DIR", type=Path, help="write to DIR, which must be new or empty, and keep it"
    )
    add_debug(parser)


def run(arguments: argparse.Namespace) -> None:
    """Tell the story, from beginning to end."""
    with ExitStack() as stack:
        directory = stack.enter_context(_kept(arguments.keep) if arguments.keep else _temporary())
        with _progress("starting Spark"):
            from coalesce.spark.session import session

            spark = session(**{"spark.sql.shuffle.partitions": 8})
            stack.callback(spark.stop)
        _Demo(spark, directory).run()
        if arguments.keep:
            _say(
                f"\nThe tables are in {directory}. Try:\n  coalesce partitions {directory / 'events'} --sort rows --limit 5"
            )


@dataclass
class _Demo:
    spark: "SparkSession"
    directory: Path
    seconds: dict[str, float] = field(default_factory=dict)

    def run(self) -> None:
        """All chapters."""
        events = self.events()
        table = self.write(events)
        self.query(table)
        self.replace(table)
        self.drop(table)

    def events(self) -> "DataFrame":
        """A few apps with most of the rows, and hundreds with a handful a day."""
        from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it

        draw = F.pmod(F.xxhash64("id"), F.lit(1000))
        tiny = F.format_string("app-%03d", F.pmod(F.xxhash64("id", F.lit("app")), F.lit(_APPS)))
        return self.spark.range(_ROWS, numPartitions=4).select(
            F.date_add(F.lit(_FIRST_DAY), F.pmod("id", F.lit(_DAYS)).cast("int")).alias("dt"),
            F.when(draw < 400, "web").when(draw < 650, "ios").when(draw < 800, "android").otherwise(tiny).alias("app"),
            F.col("id").alias("event"),
            (F.pmod(F.xxhash64("id", F.lit("amount")), F.lit(10_000)) / 100).alias("amount"),
        )

    def write(self, events: "DataFrame") -> Table:
        """Both layouts of the same rows."""
        _say(f"{_ROWS:,} events of {_DAYS} days: three apps have 80% of them, {_APPS} others share the rest.\n")
        hive, path = self.directory / "hive", self.directory / "events"
        with self._timed("hive", "writing them with Spark's partitionBy"):
            events.repartition("dt", "app").write.partitionBy("dt", "app").parquet(str(hive))
        table = coalesce.create(
            path,
            events.schema,
            partition_by=["dt", "app"],
            rule=coalesce.small("app", below="64KB"),
            properties={"write.target-file-bytes": "1MB"},
            spark=self.spark,
        )
        with self._timed("coalesce", "writing them as a coalesce table"):
            table.append(events)
        self._compare(hive, table)
        return table

    def _compare(self, hive: Path, table: Table) -> None:
        files = list(hive.rglob("*.parquet"))
        entries = table.files()
        physical = {f.physical_key for f in entries}
        logical = number(len(table.partitions()))
        header = ("", "logical partitions", "physical partitions", "files", "bytes", "seconds to write")
        hive_bytes, ours = human_bytes(sum(f.stat().st_size for f in files)), human_bytes(table.state.bytes)
        directories = number(len({f.parent for f in files}))
        rows = [
            ("partitionBy", directories, directories, number(len(files)), hive_bytes, f"{self.seconds['hive']:.1f}"),
            ("coalesce", logical, number(len(physical)), number(len(entries)), ours, f"{self.seconds['coalesce']:.1f}"),
        ]
        _say(grid(header, rows, right=header[1:]))

    def query(self, table: Table) -> None:
        """One small logical partition, through Spark."""
        day, app = _SMALL
        predicate = f"dt = DATE '{day}' AND app = '{app}'"
        _say(f"\nOne small logical partition, read by Spark: SELECT … WHERE {predicate}")
        with self._timed("query", "asking Spark"):
            found = table.read().where(predicate).collect()
        expected = self.spark.read.parquet(str(self.directory / "hive")).where(predicate)
        _check(_sorted(found) == _sorted(expected.select("dt", "app", "event", "amount").collect()))
        _say(
            f"{len(found)} rows in {self.seconds['query']:.1f} seconds, the same that partitionBy's directory holds.\n"
        )
        _say(table.plan(predicate).explain())

    def replace(self, table: Table) -> None:
        """Overwrite it, in the middle of a shared file."""
        from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it

        day, app = _SMALL
        predicate = f"dt = DATE '{day}' AND app = '{app}'"
        shared = table.files(predicate)
        _say(f"\nThat file is shared by {len(shared[0].tuples or ())} logical partitions. Replace this one in it:")
        before = _rows(table, _NEIGHBOURS)
        corrected = table.read().where(predicate).withColumn("amount", F.lit(1.0))
        with self._timed("overwrite", "overwriting one logical partition"):
            version = table.overwrite(corrected, where=predicate)
        amounts = {row.amount for row in table.read().where(predicate).collect()}
        _check(amounts == {1.0} and _rows(table, _NEIGHBOURS) == before)
        _say(
            f"version {version.number} in {self.seconds['overwrite']:.1f} seconds; all its amounts are now 1.0, and the "
            f"{len(before)} rows of three neighbours are\nthe same as before."
        )

    def drop(self, table: Table) -> None:
        """Drop it; older versions still have it."""
        day, app = _SMALL
        predicate = f"dt = DATE '{day}' AND app = '{app}'"
        before, rows = _rows(table, _NEIGHBOURS), table.count(predicate)
        _say("\nNow drop it:")
        with self._timed("drop", "dropping one logical partition"):
            version = table.drop_partition(dt=day, app=app)
        _check(table.count(predicate) == 0 and _rows(table, _NEIGHBOURS) == before)
        _check(table.at(version=version.number - 1).count(predicate) == rows)
        _say(
            f"version {version.number} in {self.seconds['drop']:.1f} seconds; {rows} rows are gone, the neighbours are "
            f"the same, and version {version.number - 1} still has them all."
        )

    @contextmanager
    def _timed(self, name: str, doing: str) -> Iterator[None]:
        started = time.perf_counter()
        with _progress(doing):
            yield
        self.seconds[name] = time.perf_counter() - started


def _rows(table: Table, predicate: str) -> list["Row"]:
    return _sorted(table.read().where(predicate).collect())


def _sorted(rows: list["Row"]) -> list["Row"]:
    return sorted(rows, key=lambda row: row.event)


def _check(holds: bool) -> None:
    if not holds:
        raise CoalesceError("the demo found rows that should not be as they are; this is a bug in coalesce.")


def _say(text: str) -> None:
    print(text, flush=True)


@contextmanager
def _progress(doing: str) -> Iterator[None]:
    print(f"… {doing}", file=sys.stderr, flush=True)
    yield


@contextmanager
def _temporary() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="coalesce-demo-") as name:
        yield Path(name)


@contextmanager
def _kept(directory: Path) -> Iterator[Path]:
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise CoalesceError(f"{directory} is not an empty directory; give a new one to --keep.")
    yield directory
