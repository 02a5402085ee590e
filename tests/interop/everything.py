"""A table with something of everything, and what happens to it: each stage leaves it as another engine may find it."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa

import coalesce

SCHEMA = pa.schema(
    [
        ("dt", pa.date32()),
        ("app", pa.string()),
        pa.field("n", pa.int32(), nullable=False),
        ("amount", pa.decimal128(10, 2)),
        ("ratio", pa.float64()),
        ("moment", pa.timestamp("us", "UTC")),
        ("wall", pa.timestamp("us")),
        ("ok", pa.bool_()),
        ("name", pa.string()),
        ("small", pa.int8()),
        ("place", pa.struct([("city", pa.string()), ("code", pa.int32())])),
        ("tags", pa.list_(pa.string())),
        ("attrs", pa.map_(pa.string(), pa.int64())),
    ]
)
# Four values that some take for each other, and a few ordinary ones.
ODD = [None, "", "[#small]", "__HIVE_DEFAULT_PARTITION__", "ümläut 50%", "a/b"]
START = datetime(2026, 5, 1, tzinfo=UTC)


def rows(day: int, count: int = 400) -> pa.Table:
    """Rows of a day: half of them of one app, the rest of thirty others, six of which have odd names."""
    random = np.random.default_rng(day)
    apps = [*ODD, *(f"app-{i}" for i in range(25))]
    picks, big = random.integers(0, len(apps), count), random.random(count) < 0.5
    made = []
    for i in range(count):
        n = int(random.integers(-500, 500))
        moment = START + timedelta(days=day - 1, microseconds=int(random.integers(0, 86_400_000_000)))
        made.append(
            {
                "dt": date(2026, 5, day),
                "app": "web" if big[i] else apps[picks[i]],
                "n": n,
                "amount": None if i % 7 == 0 else Decimal(int(random.integers(-10_000, 90_000))) / 100,
                "ratio": None if i % 11 == 0 else float("nan") if i % 13 == 0 else [n / 500, -0.0][i % 17 == 0],
                "moment": moment,
                "wall": moment.replace(tzinfo=None),
                "ok": None if i % 5 == 0 else n > 0,
                "name": None if i % 6 == 0 else f"name {n % 40}",
                "small": n % 7,
                "place": None if i % 9 == 0 else {"city": ["Ulm", "Oslo", None][n % 3], "code": n % 50},
                "tags": None if i % 8 == 0 else [f"t{n % 4}", None, "x"][: n % 4],
                "attrs": None if i % 10 == 0 else [("k", n), ("l", n % 3)],
            }
        )
    return pa.Table.from_pylist(made, schema=SCHEMA)


def create(place: Path) -> coalesce.Table:
    """The table, still empty."""
    return coalesce.create(
        str(place),
        SCHEMA,
        partition_by=["dt", "app"],
        rule=coalesce.small("app", below="4KB"),
        properties={"write.target-file-bytes": "16KB", "remove.by": "mark"},
    )


def append_three_days(table: coalesce.Table) -> None:
    """The first rows."""
    for day in (1, 2, 3):
        table.append(rows(day))


def delete_some(table: coalesce.Table) -> None:
    """Small partitions go by a mark, single rows by a rewrite."""
    table.drop_partition(dt=date(2026, 5, 2), app="app-7")
    table.delete("app = 'app-3' OR (app IS NULL AND dt = DATE '2026-05-01')")
    table.delete("n BETWEEN 100 AND 110 AND app = 'web'")


def change_columns(table: coalesce.Table) -> None:
    """A column is renamed, and a member of a struct; one goes, and another comes under its name."""
    table.rename_column("name", "title")
    table.rename_column("place.city", "town")
    table.drop_column("small")
    table.add_column("small", "string")
    more = rows(4).rename_columns([{"name": "title"}.get(n, n) for n in SCHEMA.names])
    place = pa.struct([("town", pa.string()), ("code", pa.int32())])
    at = more.schema.get_field_index("place")
    more = more.set_column(at, "place", more["place"].combine_chunks().cast(place))
    at = more.schema.get_field_index("small")
    table.append(more.set_column(at, "small", pa.array([f"s{i % 3}" for i in range(more.num_rows)])))


def compact(table: coalesce.Table) -> None:
    """The rows that were removed leave the files, and small files become fewer."""
    table.purge()
    table.compact(target="64KB")


def widen(table: coalesce.Table) -> None:
    """A column gets a wider type, and a row that needs it."""
    table.widen_column("n", "int64")
    table.append([{"dt": date(2026, 5, 4), "app": "web", "n": 2**40}])


STAGES: dict[str, Callable[[coalesce.Table], None]] = {
    "three days": append_three_days,
    "after deletes": delete_some,
    "after changes of columns": change_columns,
    "after compaction": compact,
    "after a wider type": widen,
}
