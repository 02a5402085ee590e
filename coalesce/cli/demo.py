"""The main job from end to end, on a small table and a Spark on this machine.

Skewed events are written twice, by Spark's own partitionBy and as a coalesce table. Then one small logical partition is
queried, another replaced and a third dropped, all inside a file they share with many others, whose rows stay as they
were.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import coalesce
from coalesce.cli.arguments import add_debug
from coalesce.cli.output import complain, tell
from coalesce.cli.text import number
from coalesce.errors import CoalesceError
from coalesce.plan.report import human_bytes
from coalesce.table.grid import grid
from coalesce.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

HELP = "see it work on a small table, with Spark on this machine"

_ROWS, _DAYS, _SMALL_APPS = 200_000, 3, 250
_CONFIG = {
    "spark.sql.shuffle.partitions": 4,
    # Java's optimizing compiler costs more than it gains in so short a life.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}
_FIRST_DAY, _DAY = date(2026, 5, 15), date(2026, 5, 17)


def configure(parser: argparse.ArgumentParser) -> None:
    """Where to leave the tables."""
    parser.add_argument("--keep", metavar="DIR", type=Path, help="write to DIR, a new or empty directory, and keep it")
    add_debug(parser)


def run(arguments: argparse.Namespace) -> None:
    """Tell the story, from beginning to end."""
    keep: Path | None = arguments.keep
    with ExitStack() as stack:
        if keep is None:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="coalesce-demo-")))
        else:
            directory = _empty(keep)
        with _watch("starting Spark"):
            from coalesce.spark.session.start import session

            spark = session("local[*]", **_CONFIG)
            stack.callback(spark.stop)
        _Story(spark, directory).tell()
    if keep is not None:
        _say(f"\nThe tables are in {keep}. Try:\n  coalesce partitions {keep / 'events'} --sort rows --limit 5")


def _empty(directory: Path) -> Path:
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise CoalesceError(f"{directory} is not an empty directory; give a new one to --keep.")
    return directory.absolute()


@dataclass
class _Story:
    spark: "SparkSession"
    directory: Path

    def tell(self) -> None:
        """Chapter by chapter."""
        _say(
            f"{_ROWS:,} events of {_DAYS} days. Three apps have 80% of them; {_SMALL_APPS} small ones share the rest.\n"
        )
        table = self.write(self.events())
        self.query(table, "app-017")
        self.replace(table, "app-018")
        self.drop(table, "app-019")

    def events(self) -> "DataFrame":
        """A few apps with most of the rows, and hundreds with a few dozen a day."""
        from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it

        draw = F.pmod(F.xxhash64("id"), F.lit(1000))
        small = F.format_string("app-%03d", F.pmod(F.xxhash64("id", F.lit("app")), F.lit(_SMALL_APPS)))
        return self.spark.range(_ROWS, numPartitions=4).select(
            F.date_add(F.lit(_FIRST_DAY), F.pmod("id", F.lit(_DAYS)).cast("int")).alias("dt"),
            F.when(draw < 400, "web").when(draw < 650, "ios").when(draw < 800, "android").otherwise(small).alias("app"),
            F.col("id").alias("event"),
            (F.pmod(F.xxhash64("id", F.lit("amount")), F.lit(10_000)) / 100).alias("amount"),
        )

    def write(self, events: "DataFrame") -> Table:
        """The same rows, written both ways."""
        hive = self.directory / "hive"
        with _watch("writing them with Spark's partitionBy") as hive_watch:
            events.repartition("dt", "app").write.partitionBy("dt", "app").parquet(str(hive))
        table = coalesce.create(
            self.directory / "events",
            events.schema,
            partition_by=["dt", "app"],
            rule=coalesce.small("app", below="64KB"),
            properties={"write.target-file-bytes": "1MB"},
            spark=self.spark,
        )
        with _watch("writing them as a coalesce table") as watch:
            table.append(events)
        files, entries = list(hive.rglob("*.parquet")), table.files()
        directories, hive_bytes = number(len({f.parent for f in files})), sum(f.stat().st_size for f in files)
        logical, physical = number(len(table.partitions())), number(len({f.physical_key for f in entries}))
        header = ("written by", "logical partitions", "physical partitions", "files", "bytes", "seconds")
        rows = [
            ("partitionBy", directories, directories, number(len(files)), human_bytes(hive_bytes), hive_watch.shown),
            ("coalesce", logical, physical, number(len(entries)), human_bytes(table.state.bytes), watch.shown),
        ]
        _say(grid(header, rows, right=header[1:]))
        return table

    def query(self, table: Table, app: str) -> None:
        """Read a small logical partition through Spark."""
        predicate = _is(app)
        _say(f"\nRead one small logical partition with Spark, where {predicate}:\n")
        with _watch("asking Spark") as watch:
            found = _rows(table, predicate)
        directory = self.directory / "hive" / f"dt={_DAY}" / f"app={app}"
        _check([row[2:] for row in found] == sorted(self.spark.read.parquet(str(directory)).collect()))
        plan = table.plan(predicate)
        _say(plan.explain())
        shared = len(plan.files[0].tuples or ())
        _say(
            f"\n{len(found)} rows in {watch.shown} seconds, the same that partitionBy wrote. "
            f"The file is shared by {shared} logical partitions."
        )

    def replace(self, table: Table, app: str) -> None:
        """Overwrite a logical partition in the middle of the shared file."""
        from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it

        _say(f"\nOverwrite another of them, {app}:")
        before = _rows(table, _is_not(app))
        corrected = table.read().where(_is(app)).withColumn("amount", F.lit(1.0))
        with _watch("overwriting one logical partition") as watch:
            result = table.overwrite(corrected, where=_is(app))
        _check({row.amount for row in _rows(table, _is(app))} == {1.0})
        _check(_rows(table, _is_not(app)) == before)
        _say(f"version {result.version} in {watch.shown} seconds. {_neighbours(before)}")

    def drop(self, table: Table, app: str) -> None:
        """Drop one; older versions still have it."""
        _say(f"\nDrop a third, {app}:")
        gone, before = _rows(table, _is(app)), _rows(table, _is_not(app))
        with _watch("dropping one logical partition") as watch:
            result = table.drop_partition(dt=_DAY, app=app)
        _check(_rows(table, _is(app)) == [])
        _check(_rows(table, _is_not(app)) == before)
        _check(table.at(version=result.version - 1).count(_is(app)) == len(gone))
        _say(f"version {result.version} in {watch.shown} seconds. {_neighbours(before)}")
        _say(f"Its {len(gone)} rows are gone; version {result.version - 1} still has them.")


def _rows(table: Table, predicate: str) -> list["Row"]:
    """What Spark reads, in a fixed order."""
    return sorted(table.read().where(predicate).collect())


def _is(app: str) -> str:
    return f"dt = DATE '{_DAY}' AND app = '{app}'"


def _is_not(app: str) -> str:
    return f"dt = DATE '{_DAY}' AND app LIKE 'app-%' AND app <> '{app}'"


def _neighbours(rows: list["Row"]) -> str:
    return f"The {len(rows):,} rows of its {len({row.app for row in rows})} neighbours are as before."


def _check(holds: bool) -> None:
    if not holds:
        raise CoalesceError("the demo found rows that are not as they should be; please report this as a bug.")


def _say(text: str) -> None:
    tell(text)


@dataclass
class _Watch:
    seconds: float = 0.0

    @property
    def shown(self) -> str:
        return f"{self.seconds:.1f}"


@contextmanager
def _watch(doing: str) -> Iterator[_Watch]:
    """Say on stderr what is being done, and measure how long it takes."""
    complain(f"… {doing}")
    watch, started = _Watch(), time.perf_counter()
    yield watch
    watch.seconds = time.perf_counter() - started
