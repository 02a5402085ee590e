"""Makes the golden tables of the current format version: `python manifests/golden/make.py DIRECTORY`.

They are made once, when a format version is released, and committed; later releases only read them. Each table has an
`expected.json` beside it: its rows in every version, as text that does not depend on Python's types.
"""

import datetime as dt
import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

import coalesce
from coalesce.model.types import AtomicType
from coalesce.model.values import display, values_of
from coalesce.table.table import Table, core_of

EVENTS = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("n", pa.int64())])
AWKWARD = [None, "", "[#small]", "__HIVE_DEFAULT_PARTITION__", "é", "e\u0301", "\U0001f600", "a/b=c%20d", "x" * 100]


def events(first: int, apps: list[str | None]) -> pa.Table:
    """Two days of one row for each app."""
    days = [dt.date(1969, 12, 31), dt.date(2026, 5, 17)]
    rows = [(day, app) for day in days for app in apps]
    return pa.table(
        {"dt": [d for d, _ in rows], "app": [a for _, a in rows], "n": range(first, first + len(rows))}, schema=EVENTS
    )


def keep_all(path: Path) -> None:
    """Every logical partition in a file of its own; awkward values."""
    coalesce.create(path, EVENTS, partition_by=["dt", "app"]).append(events(0, AWKWARD))


def by_size(path: Path) -> None:
    """All apps of a day share a file; then some rows are deleted out of it."""
    table = coalesce.create(path, EVENTS, partition_by=["dt", "app"], rule=coalesce.small("app"))
    table.append(events(0, AWKWARD))
    table.append(events(100, ["A", "B"]), applies=("golden", 1))
    table.drop_partition(app="[#small]")
    table.drop_partition(app=None)


def groups(path: Path) -> None:
    """A, B, C share, later A, D, E do."""
    rule = coalesce.group("app", {"[#small]": ["A", "B", "C"]})
    table = coalesce.create(path, EVENTS, partition_by=["dt", "app"], rule=rule)
    table.append(events(0, ["A", "B", "C", "D", "E"]))
    table.set_rule(coalesce.group("app", {"[#small]": ["A", "D", "E", None]}))
    table.append(events(100, ["A", "B", "C", "D", "E", None]))


def specs(path: Path) -> None:
    """Four specs side by side, a renamed and a dropped column, a reused name, a widened type, a default."""
    table = coalesce.create(path, EVENTS, partition_by=["dt"])
    table.append(events(0, ["A", None]))
    table.evolve(add="bucket(4, app)")
    table.append(events(10, ["A", "B"]))
    table.rename_column("dt", "day")
    table.add_column("dt", "string", default="old")
    table.evolve(add="truncate(1, app)", drop="day")
    table.append(events(20, ["A", "C"]).rename_columns(["day", "app", "n"]).append_column("dt", pa.array(["new"] * 4)))
    table.drop_column("dt")
    table.widen_column("day", "timestamp_ntz")
    table.evolve(add="year(day)")
    table.append(
        pa.table({"day": [dt.datetime(2027, 1, 1)], "app": ["Z"], "n": [30]}),
    )


def void(path: Path) -> None:
    """A field that became void, as Iceberg leaves a dropped one, and a bucket beside it; a rollback in the end."""
    table = coalesce.create(path, EVENTS, partition_by=["dt", "app"])
    table.append(events(0, ["A", None]))
    table.evolve(drop="app", add=["void(app)"])
    table.append(events(10, ["A", "B"]))
    table.evolve(add="bucket(2, n)")
    table.append(events(20, ["A"]))
    table.rollback(3)


def missing(path: Path) -> None:
    """Entries that lost what they could lose: tuples, counts, completeness, statistics, physical key, rule."""
    table = coalesce.create(path, EVENTS, partition_by=["dt", "app"])
    table.append(events(0, ["A", "B", "C", "D"]))
    losses: list[dict[str, object]] = [
        {"tuples": None, "tuple_rows": None},
        {"complete": False},
        {"tuple_rows": None},
        {"statistics": {}},
        {"physical_key": None},
        {"rule_id": None},
        {"tuples": (), "tuple_rows": ()},
        {"tuple_rows": (99,)},
    ]
    transaction = core_of(table).transaction("lose")
    for file, loss in zip(table.files(), losses, strict=True):
        transaction.remove([file])
        transaction.add([replace(file, **loss)])  # type: ignore[arg-type]
    core_of(table).commit(transaction)


def types(path: Path) -> None:
    """Every type, partitioned by a double with NaN and -0.0; nested columns."""
    nan = math.nan
    rows = pa.table(
        {
            "p": pa.array([nan, -0.0, 0.0, None], pa.float64()),
            "boolean": pa.array([True, False, None, True]),
            "int8": pa.array([-128, 127, None, 0], pa.int8()),
            "int16": pa.array([-(2**15), 2**15 - 1, None, 0], pa.int16()),
            "int32": pa.array([-(2**31), 2**31 - 1, None, 0], pa.int32()),
            "int64": pa.array([-(2**63), 2**63 - 1, None, 0], pa.int64()),
            "float": pa.array([nan, -0.0, None, 1.5], pa.float32()),
            "double": pa.array([math.inf, -math.inf, None, 0.1], pa.float64()),
            "decimal": pa.array(
                [Decimal("-1.50"), Decimal("99999999.99"), None, Decimal("0.00")], pa.decimal128(10, 2)
            ),
            "wide": pa.array([Decimal(10) ** 37, -(Decimal(10) ** 37), None, Decimal(0)], pa.decimal128(38, 0)),
            "string": pa.array(["", "\U0001f600", None, "long " * 30]),
            "binary": pa.array([b"", b"\x00\xff", None, b"x"], pa.binary()),
            "date": pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None, dt.date(1970, 1, 1)]),
            "ts": pa.array([0, -1, None, 253402300799999999], pa.timestamp("us", "UTC")),
            "ntz": pa.array([0, -1, None, 253402300799999999], pa.timestamp("us")),
            "list": pa.array([[1, None], [], None, [2]], pa.list_(pa.int32())),
            "map": pa.array([[("k", 1)], [], None, [("", None)]], pa.map_(pa.string(), pa.int64())),
            "struct": pa.array([{"a": 1, "b": ["x"]}, None, {"a": None, "b": None}, {"a": 2, "b": []}]),
        }
    )
    coalesce.create(path, rows.schema, partition_by=["p"]).append(rows)


def dead(path: Path) -> None:
    """Rows that are in files and not in the table: removed from the same file twice, put back, and rolled back."""
    table = coalesce.create(path, EVENTS, partition_by=["dt", "app"], rule=coalesce.small("app"))
    table.set_properties({"remove.by": "mark"})
    table.append(events(0, AWKWARD))
    table.drop_partition(app="[#small]")
    table.drop_partition(app=None)
    table.append(events(100, ["A", "[#small]"]))
    table.overwrite_partitions(events(200, ["", "A"]))
    table.delete("dt < DATE '2000-01-01' AND app > 'd'")
    table.rollback(3)
    table.delete("app = 'a/b=c%20d' OR (app = '' AND dt = DATE '1969-12-31')")


def ordered(path: Path) -> None:
    """Entries that say that rows lie in the order of tuples, and one that does not; dead tuples in both; a rewrite."""
    table = coalesce.create(path, EVENTS, partition_by=["dt", "app"], rule=coalesce.small("app"))
    table.set_properties({"remove.by": "mark"})
    table.append(events(0, AWKWARD))
    first = table.files()[0]
    transaction = core_of(table).transaction("forget")
    transaction.remove([first])
    transaction.add([replace(first, ordered=False)])
    core_of(table).commit(transaction)
    table.drop_partition(app="")
    table.drop_partition(app="é")
    table.append(events(100, ["A", "B", "C"]))
    table.delete("app = 'B' OR app IS NULL")
    table.delete("n = 105")


def retention(path: Path) -> None:
    """A version that only a tag keeps, a gap behind it, and a rollback to another tag's."""
    table = coalesce.create(path, EVENTS, partition_by=["dt", "app"], rule=coalesce.small("app"))
    for first in (0, 10, 20):
        table.append(events(first, ["A", None, ""]))
    table.tag("audit-2026", version=1)
    table.tag("größer \U0001f600")
    table.drop_partition(app="A")
    table.expire("0s", keep_last=1, force=True)
    table.rollback(1)
    table.vacuum("0s", force=True)


TABLES: dict[str, Callable[[Path], None]] = {
    f.__name__: f for f in (keep_all, by_size, groups, specs, void, missing, types, dead, ordered, retention)
}


def rows_as_text(table: Table) -> list[dict[str, str]]:
    """The rows, each value as text, in an order of their own."""
    rows = table.scan().to_arrow()
    columns = {}
    for field in table.schema:
        column = rows.column(field.name)
        if isinstance(field.type, AtomicType):
            columns[field.name] = [display(field.type, v) for v in values_of(field.type, column)]
        else:
            columns[field.name] = [repr(v) for v in column.to_pylist()]
    found = [{name: column[i] for name, column in columns.items()} for i in range(rows.num_rows)]
    return sorted(found, key=lambda row: list(row.items()))


def expected(path: Path) -> dict[str, list[dict[str, str]]]:
    """The rows of every version."""
    table = coalesce.open(path)
    return {str(v.number): rows_as_text(table.at(version=v.number)) for v in reversed(table.history())}


def main() -> None:
    """Make every table."""
    directory = Path(sys.argv[1])
    for name, make in TABLES.items():
        make(directory / name / "table")
        text = json.dumps(expected(directory / name / "table"), indent=1, ensure_ascii=False)
        (directory / name / "expected.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
