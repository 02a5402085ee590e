"""The same statements on a Delta table and on one of ours: `python -m tests.spark.against_delta --sequences 500`.

Both are asked for their rows after each statement, and must agree; or both must refuse it because several rows of the
source would change one. What Delta alone refuses is counted, and shown with `--verbose`; if it says that several rows
match, the model has to say that no two of them act. It is not part of the tests: Maven fetches Delta's jars the first
time.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.errors import PySparkException

import coalesce
from benchmarks import peers
from coalesce.errors import CoalesceError
from coalesce.model.rule import RuleRequest, keep_all, small
from coalesce.spark.session.start import session
from coalesce.table.engine import REMOVALS
from coalesce.table.table import Table
from tests.spark.statement_model import expected, multiset
from tests.spark.statements import APPS, SCHEMA, TYPES, Speaker, Spoken, rows
from tests.support.settings import COMPILED_QUICKLY, INTERPRETED, WITHOUT_CALL_SITES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATEMENTS = 4
OURS, THEIRS = "ours", "theirs"
DONE, AMBIGUOUS, REFUSED = "done", "ambiguous", "refused"
# Delta takes the empty string for NULL in a partition column. And in a session that has it, it looks at every MERGE, on
# our tables too, and refuses those that assign a member of a struct.
DELTAS_APPS = tuple(app for app in APPS if app)
# What costs time and says nothing of rows.
QUICKLY = {
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.stats.collect": "false",
    "spark.databricks.delta.history.metricsEnabled": "false",
}


@dataclass
class Comparison:
    """What was seen: how often each way to end, and every difference."""

    ends: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)
    sequences: int = 0

    def __str__(self) -> str:
        lines = [f"{self.sequences} sequences, {self.ends.total()} statements, {len(self.differences)} differences"]
        lines += [f"  {n:6} {k}: ours {o}, Delta {d}" for (k, o, d), n in sorted(self.ends.items())]
        lines += [f"  {n:6} {why}" for why, n in self.refusals.most_common()]
        return "\n".join([*lines, *self.differences])


def ended(spark: "SparkSession", sql: str) -> tuple[str, str]:
    """How a statement ends, and what is said of it if it is refused."""
    try:
        spark.sql(sql)
    except (PySparkException, CoalesceError) as error:
        said = str(error)
        is_ambiguous = "AmbiguousMatch" in said or "MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW" in said
        return (AMBIGUOUS, "") if is_ambiguous else (REFUSED, said.replace("\n", " ")[:160])
    return DONE, ""


def create(spark: "SparkSession", root: Path, rng: Random) -> Table:
    """Both tables, with the same rows."""
    rules: list[RuleRequest] = [small("app"), small("app"), keep_all()]
    table = coalesce.create(
        root / OURS,
        SCHEMA,
        partition_by=["dt", "app"],
        rule=rng.choice(rules),
        properties={"remove.by": rng.choice(REMOVALS)},
        spark=spark,
    )
    columns = ", ".join(f"{name} {type_}" for name, type_ in TYPES.items())
    spark.sql(f"CREATE TABLE {OURS} USING coalesce LOCATION '{root / OURS}'")
    spark.sql(f"CREATE TABLE {THEIRS} ({columns}) USING delta PARTITIONED BY (dt, app) LOCATION '{root / THEIRS}'")
    first = [rows(rng, rng.randint(1, 14), DELTAS_APPS) for _ in range(rng.randint(1, 2))]
    for some in first:
        table.append(some)
    spark.createDataFrame(pa.concat_tables(first)).write.format("delta").mode("append").save(str(root / THEIRS))
    return table


def compare(spark: "SparkSession", table: Table, spoken: Spoken, found: Comparison, seed: int, verbose: bool) -> bool:
    """Carry a statement out on both; whether they agree."""
    version = table.refresh().version
    theirs, why = ended(spark, spoken.sql(THEIRS))
    ours, why_not = ended(spark, spoken.sql(OURS))
    found.ends[spoken.kind, ours, theirs] += 1
    for who, said in (("Delta", why), ("ours", why_not)):
        if said:
            found.refusals[f"{who}: {said[:100]}"] += 1
            if verbose:
                print(f"{who}: {said}\n  {spoken.sql(OURS)}", file=sys.stderr)  # noqa: T201 - a program
    if theirs != DONE and ours == DONE:
        # Where a MERGE inserts too, Delta counts rows of the source that match, whether they act or not.
        before = dict(enumerate(table.at(version=version).scan().to_arrow().to_pylist()))
        if theirs == REFUSED or expected(spark, before, spoken) is not None:
            table.refresh().rollback(version)  # so that both have the same rows again
            return True
    elif theirs == REFUSED and ours == AMBIGUOUS:
        # Delta does not get as far as that; the model has to say the same.
        before = dict(enumerate(table.at(version=version).scan().to_arrow().to_pylist()))
        if table.refresh().version == version and expected(spark, before, spoken) is None:
            return True
    elif theirs == ours != DONE:
        if table.refresh().version == version:
            return True
    elif theirs == ours == DONE:
        # Where nothing differs, that is seen without Spark.
        by_arrow = multiset(table.refresh().scan().to_arrow())
        if by_arrow == multiset(pa.table(DeltaTable(Path(table.location).with_name(THEIRS)).to_pyarrow_table())):
            return True
        rows_of = [multiset(spark.table(name).toArrow()) for name in (OURS, THEIRS)]
        if rows_of[0] == rows_of[1] == by_arrow:
            return True
        only = [sorted((a - b).elements())[:3] for a, b in (rows_of, rows_of[::-1])]
        found.differences.append(f"seed {seed}: {spoken.sql(OURS)}\n  only ours: {only[0]}\n  only Delta's: {only[1]}")
        return False
    found.differences.append(f"seed {seed}: {spoken.sql(OURS)}\n  ours: {ours} {why_not}; Delta: {theirs} {why}")
    return False


def sequence(spark: "SparkSession", root: Path, seed: int, found: Comparison, verbose: bool) -> None:
    """Some statements, until they differ."""
    rng = Random(seed)
    table = create(spark, root, rng)
    try:
        for _ in range(STATEMENTS):
            source = rows(rng, rng.randint(0, 6), DELTAS_APPS)
            numbered = source.append_column("m", pa.array(range(source.num_rows), pa.int64()))
            spark.createDataFrame(numbered).createOrReplaceTempView("src")
            spark.createDataFrame(rows(rng, 3, DELTAS_APPS)).createOrReplaceTempView("other")
            speaker = Speaker(rng, DELTAS_APPS, subqueries=rng.random() < 0.3, members=False)
            if not compare(spark, table, speaker.statement(), found, seed, verbose):
                break
        findings = list(table.refresh().check(deep=True))
        found.differences += [f"seed {seed}: check finds {findings}"] if findings else []
        if multiset(spark.table(OURS).toArrow()) != multiset(table.scan().to_arrow()):
            found.differences.append(f"seed {seed}: Spark and Arrow read different rows")
    finally:
        for name in (OURS, THEIRS):
            spark.sql(f"DROP TABLE {name}")
    found.sequences += 1


def main() -> int:
    """Compare, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first sequence")
    parser.add_argument("--verbose", action="store_true", help="show what is refused")
    given = parser.parse_args()
    found, began = Comparison(), time.perf_counter()
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        settings = peers.settings("delta", root) | INTERPRETED | WITHOUT_CALL_SITES
        settings |= {"spark.sql.session.timeZone": "UTC", "spark.driver.memory": "2g"} | QUICKLY | COMPILED_QUICKLY
        spark = session("local[2]", **settings, **{"spark.sql.warehouse.dir": str(root / "warehouse")})
        spark.sparkContext.setLogLevel("OFF")
        for seed in range(given.first, given.first + given.sequences):
            sequence(spark, root / str(seed), seed, found, given.verbose)
            if found.sequences % 10 == 0:
                print(f"{time.perf_counter() - began:.0f} s: {found}", file=sys.stderr, flush=True)  # noqa: T201
        spark.stop()
    print(found)  # noqa: T201
    return bool(found.differences)


if __name__ == "__main__":
    sys.exit(main())
