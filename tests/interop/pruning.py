"""How many files each engine reads out of an export, for ten predicates: what bounds tell, and what tuples."""

import re
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from pyiceberg.table import StaticTable

import coalesce

PREDICATES = [
    "dt = DATE '2026-05-07'",
    "dt >= DATE '2026-05-09'",
    "app = 'web'",
    "app = 'app-17'",
    "app = 'app-17' AND dt = DATE '2026-05-07'",
    "app IN ('app-3', 'app-500', 'app-998')",
    "app IS NULL",
    "app = 'app-017'",
    "amount > 995 AND dt = DATE '2026-05-03'",
    "event = 123456",
]
DAYS, APPENDS, ROWS, APPS = 10, 4, 5_000, 5_000


def rows_of(day: int, part: int) -> pa.Table:
    """A quarter of a day's rows: most of one app, the rest of five thousand others, a few without one."""
    random = np.random.default_rng(day * APPENDS + part)
    apps = np.char.add("app-", random.integers(0, APPS, ROWS).astype(str)).astype(object)
    apps[random.random(ROWS) < 0.6] = "web"
    if (day, part) == (4, 2):
        apps[:5] = None
    return pa.table(
        {
            "dt": pa.array([date(2026, 5, day)] * ROWS),
            "app": pa.array(apps, pa.string()),
            "amount": random.integers(1, 1_000, ROWS),
            "event": np.arange(ROWS) + (day * APPENDS + part) * ROWS,
        }
    )


def table_of_days(place: Path) -> coalesce.Table:
    """Ten days of 20,000 rows, each of which came in four appends."""
    table = coalesce.create(
        str(place),
        rows_of(1, 0).schema,
        partition_by=["dt", "app"],
        rule=coalesce.small("app", below="8KB"),
        properties={"write.target-file-bytes": "16KB"},
    )
    for day in range(1, DAYS + 1):
        for part in range(APPENDS):
            table.append(rows_of(day, part))
    return table


def files_read(spark: Any, place: Path) -> str:
    """A table in Markdown."""
    table = table_of_days(place)
    table.export_iceberg()
    table.export_delta()
    iceberg, delta = StaticTable.from_metadata(str(place)), DeltaTable(str(place))
    lines = [
        f"of {table.state.files} files",
        "| predicate | coalesce | PyIceberg | Spark, Iceberg | delta-rs | Spark, Delta |",
        "|---|---|---|---|---|---|",
    ]
    for predicate in PREDICATES:
        counts = [
            table.plan(predicate).file_count,
            len(list(iceberg.scan(predicate.replace("DATE '", "'")).plan_files())),
            _on_spark(spark, "iceberg", place, predicate, "resultDataFiles"),
            _in_delta_rs(delta, predicate),
            _on_spark(spark, "delta", place, predicate, "numFiles"),
        ]
        lines.append(f"| `{predicate}` | {' | '.join(str(count) for count in counts)} |")
    return "\n".join(lines)


def _on_spark(spark: Any, format_: str, place: Path, predicate: str, metric: str) -> int:
    frame = spark.read.format(format_).load(str(place)).where(predicate)
    frame.collect()
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    found = [leaves.apply(i).metrics() for i in range(leaves.size())]
    return sum(int(metrics.apply(metric).value()) for metrics in found if metrics.contains(metric))


def _in_delta_rs(table: DeltaTable, predicate: str) -> int:
    plan = QueryBuilder().register("t", table).execute(f"EXPLAIN ANALYZE SELECT * FROM t WHERE {predicate}")
    text = str(pa.table(plan.read_all()).to_pylist())
    return sum(int(count) for count in re.findall(r"files_opened=(\d+)", text))
