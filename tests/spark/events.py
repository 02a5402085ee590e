"""The table that the tests of reading with Spark ask about: awkward values, shared files, several writes."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

import coalesce
from coalesce.table.table import Table, core_of

DAYS = [date(2026, 5, day) for day in range(1, 9)]
APPS = ["A", "a", "B", "", None, "[#small]", "__HIVE_DEFAULT_PARTITION__", "10", "9", "été", "x%y", "it's", "p/q=r"]

SCHEMA = pa.schema(
    [
        ("dt", pa.date32()),
        ("app", pa.string()),
        ("r", pa.int32()),
        ("k", pa.int64()),
        ("v", pa.float64()),
        ("s", pa.string()),
        ("ts", pa.timestamp("us", "UTC")),
        ("amount", pa.decimal128(10, 2)),
        ("tags", pa.list_(pa.string())),
        ("info", pa.struct([("a", pa.int32()), ("b", pa.string())])),
    ]
)


def rows(start: int, count: int) -> pa.Table:
    """Rows number `start` to `start + count`; `k` is the number, all else follows from it."""
    numbers = range(start, start + count)
    values = [None, 0.0, -0.0, float("nan"), float("inf"), 1.5, -2.25]
    return pa.table(
        {
            "dt": [DAYS[(i * 7) % len(DAYS)] if i % 41 else None for i in numbers],
            "app": [APPS[(i * i + i // 5) % len(APPS)] for i in numbers],
            "r": [i % 4 if i % 23 else None for i in numbers],
            "k": list(numbers),
            "v": [values[i % len(values)] for i in numbers],
            "s": [None if i % 11 == 0 else f"s{i % 17}" for i in numbers],
            "ts": [datetime(2026, 5, 1, tzinfo=UTC) + timedelta(hours=i % 200, microseconds=i) for i in numbers],
            "amount": [Decimal(i % 1000) / 4 for i in numbers],
            "tags": [["t" + str(i % 3)] * (i % 3) for i in numbers],
            "info": [{"a": i % 5, "b": f"b{i % 2}"} if i % 13 else None for i in numbers],
        },
        schema=SCHEMA,
    )


def make_events(path: Path, partition_by: tuple[str, ...] = ("dt", "app"), writes: int = 3, size: int = 150) -> Table:
    """A table of several writes in which small apps of one day share a file."""
    table = coalesce.create(path, SCHEMA, partition_by=list(partition_by), rule=coalesce.small("app"))
    for number in range(writes):
        table.append(rows(number * size, size))
    return table


def unmanaged(table: Table) -> set[str]:
    """Files in the table's directory that neither a version names nor the sidecar owns."""
    table.refresh()
    named = {file.path for version in table.history() for file in table.at(version=version.number).files()}
    found = {file.path for file in core_of(table).storage.list("")}
    return {path for path in found - named if not path.startswith("_coalesce/")}
