"""A small table to export, and what other readers see of it."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from pyiceberg.table import StaticTable

import coalesce
from coalesce.table.table import Table

SCHEMA = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("n", pa.int64())])


def rows(day: int, apps: int = 4, each: int = 5) -> pa.Table:
    """Some rows of each of some apps, of one day."""
    made = [{"dt": date(2026, 5, day), "app": f"app-{a}", "n": 100 * a + i} for a in range(apps) for i in range(each)]
    return pa.Table.from_pylist(made, schema=SCHEMA)


def shared(place: Path, **properties: str) -> Table:
    """A table of one day whose apps share a file; rows that are removed are marked."""
    table = coalesce.create(
        str(place),
        SCHEMA,
        partition_by=["dt", "app"],
        rule=coalesce.small("app", below="1MB"),
        properties={"remove.by": "mark", **properties},
    )
    table.append(rows(1))
    return table


def numbers(found: pa.Table) -> list[int]:
    """The column `n`, in order."""
    return sorted(found.column("n").to_pylist())


def ours(table: Table) -> list[int]:
    """The rows by our own reader."""
    return numbers(table.scan().to_arrow())


def iceberg(place: str | Path) -> list[int]:
    """The rows by PyIceberg."""
    return numbers(StaticTable.from_metadata(str(place)).scan().to_arrow())


def delta(place: str | Path) -> list[int]:
    """The rows by delta-rs, whose DataFusion knows deletion vectors."""
    found = QueryBuilder().register("t", DeltaTable(str(place))).execute("SELECT * FROM t")
    return numbers(pa.table(found.read_all()))


def log(table: Table, number: int) -> list[tuple[str, dict[str, Any]]]:
    """The actions in a file of Delta's log."""
    text = Path(table.location, "_delta_log", f"{number:020d}.json").read_text()
    return [next(iter(json.loads(line).items())) for line in text.splitlines()]


def files(table: Table, directory: str) -> set[str]:
    """The files below a directory of the table."""
    root = Path(table.location)
    return {str(p.relative_to(root)) for p in (root / directory).rglob("*") if p.is_file()}
