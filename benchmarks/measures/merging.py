"""Changing single rows: a MERGE, an UPDATE and a DELETE in one small tenant of a large table, beside Delta and Iceberg.

The rows are those of `writing`: ten days of two thousand apps, Zipf-like. Of one app and one day, about a thousand rows
of twenty million, half are updated by a MERGE that also inserts five hundred; an UPDATE changes the app's other values,
a DELETE takes every third row. Iceberg and Delta are partitioned by day and sorted by app inside; Iceberg merges on
read, Delta has deletion vectors. Each format runs in a process of its own; each statement runs several times, on
another app each time, and the first does not count.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import coalesce
from benchmarks import peers
from benchmarks.harness import Result, progress, report, seconds
from benchmarks.measures.writing import events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("coalesce", "iceberg", "delta")
DAY = "DATE '2026-05-05'"
APPS = [f"app-{number:04d}" for number in range(250, 256)]
STATEMENTS = {
    "merge": (
        "MERGE INTO {t} AS t USING source AS s ON t.dt = s.dt AND t.app = s.app AND t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET value = s.value WHEN NOT MATCHED THEN INSERT *"
    ),
    "update": "UPDATE {t} SET value = value * 2 WHERE dt = {day} AND app = '{app}' AND user % 2 = 0",
    "delete": "DELETE FROM {t} WHERE dt = {day} AND app = '{app}' AND id % 3 = 0",
}


def made(format_: str, spark: "SparkSession", staged: str, directory: Path) -> str:
    """The table with all rows; its name in SQL."""
    rows = spark.read.parquet(staged)
    if format_ == "coalesce":
        small = coalesce.small("app", below="64MB")
        table = coalesce.create(directory / "t", rows.schema, partition_by=["dt", "app"], rule=small, spark=spark)
        table.append(rows)
        spark.sql(f"CREATE TABLE t USING coalesce LOCATION '{directory / 't'}'")
        return "t"
    name = "lake.db.t" if format_ == "iceberg" else f"delta.`{directory / 't'}`"
    options = {
        "iceberg": "'format-version'='2', 'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', "
        "'write.merge.mode'='merge-on-read'",
        "delta": "'delta.enableDeletionVectors'='true'",
    }
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in rows.schema)
    properties = f"PARTITIONED BY (dt) TBLPROPERTIES ({options[format_]})"
    spark.sql(f"CREATE TABLE {name} ({columns}) USING {format_} {properties}")
    ordered = rows.repartition(10, "dt").sortWithinPartitions("dt", "app")
    if format_ == "iceberg":
        ordered.writeTo(name).append()
    else:
        ordered.write.format("delta").mode("append").save(str(directory / "t"))
    return name


def source(spark: "SparkSession", name: str, app: str) -> None:
    """A thousand rows for an app and day: five hundred that are there, with other values, and as many new ones."""
    known = spark.sql(f"SELECT * FROM {name} WHERE dt = {DAY} AND app = '{app}' ORDER BY id LIMIT 500")
    rows = known.selectExpr("*").withColumn("value", known["value"] + 1)
    new = rows.withColumn("id", rows["id"] + 10**12)
    both = spark.createDataFrame(rows.unionByName(new).toArrow())
    both.createOrReplaceTempView("source")


def run(format_: str, directory: Path, staged: str) -> dict[str, object]:
    """The seconds of each statement, and for ours the files that it read, wrote and took away."""
    settings = {} if format_ == "coalesce" else peers.settings(format_, directory / "warehouse")
    spark = coalesce.session("local[2]", **settings, **{"spark.driver.memory": "6g", "spark.sql.shuffle.partitions": 8})
    wrote = seconds(lambda: made(format_, spark, staged, directory))
    name = {"coalesce": "t", "iceberg": "lake.db.t", "delta": f"delta.`{directory / 't'}`"}[format_]
    found: dict[str, object] = {"write": wrote}
    for kind, text in STATEMENTS.items():
        times = []
        for app in APPS:
            if kind == "merge":
                source(spark, name, app)
            times.append(seconds(lambda: spark.sql(text.format(t=name, day=DAY, app=app)).collect()))  # noqa: B023
        found[kind] = times
        if format_ == "coalesce":
            table = coalesce.open(directory / "t", spark=spark)
            touched = table.plan(f"dt = {DAY} AND app = '{APPS[-1]}'").file_count
            found[f"{kind} files"] = [touched, table.state.summary["files_added"], table.state.summary["files_removed"]]
    spark.stop()
    return found


def main() -> None:
    """Run each format, and compare."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks merging", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--directory", help="where the tables are made")
    parser.add_argument("--format", choices=FORMATS, help=argparse.SUPPRESS)
    parser.add_argument("--staged", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="coalesce-merging-", dir=asked.directory) as temporary:
        directory = Path(temporary)
        if asked.format is not None:
            print(json.dumps(run(asked.format, directory, asked.staged)))
            return
        progress(f"staging {asked.rows:,} rows")
        spark = coalesce.session("local[2]")
        staged = str(directory / "staged")
        events(spark, asked.rows).write.parquet(staged)
        spark.stop()
        report("merging", list(beside_others(directory, staged)))


def beside_others(directory: Path, staged: str) -> list[Result]:
    """Each statement, by each format."""
    measured = {}
    for format_ in FORMATS:
        reason = None if format_ == "coalesce" else peers.unavailable(format_)
        if reason is not None:
            progress(f"{format_}: {reason}")
            continue
        progress(f"{format_}: all rows, then {len(APPS)} of each statement")
        command = [sys.executable, "-m", "benchmarks.measures.merging", "--format", format_]
        command += ["--directory", str(directory), "--staged", staged]
        ran = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
        if ran.returncode == 0:
            measured[format_] = json.loads(ran.stdout.splitlines()[-1])
        else:
            progress(f"{format_}: it failed")
    results = []
    for kind in STATEMENTS:
        ours = statistics.median(measured["coalesce"][kind][1:])
        read, added, removed = measured["coalesce"][f"{kind} files"]
        note = f"{read} files hold the rows; {added} written, {removed} taken away"
        results.append(Result(f"{kind}, coalesce", ours * 1e3, "ms", note))
        for format_ in measured.keys() - {"coalesce"}:
            median = statistics.median(measured[format_][kind][1:])
            results.append(Result(f"{kind}, {format_}", median * 1e3, "ms", f"{median / ours:.1f}x ours"))
    return results


if __name__ == "__main__":
    main()
