"""A table that goes through many lives, beside the same rows in memory."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import coalesce
from coalesce.model.arrow_schema import arrow_type
from coalesce.table.table import Table

Row = dict[str, object]
Rows = list[Row]
OnRow = Callable[[Row], object]


def contents(table: Table, where: str | None = None) -> Rows:
    """The rows, in an order of their own."""
    return in_order(table.scan(where).to_arrow().to_pylist())


def in_order(rows: Rows) -> Rows:
    """Rows sorted by what they hold, whatever the order of their columns."""
    return sorted(rows, key=lambda row: repr(sorted(row.items())))


class Story:
    """A table beside the same rows in memory, and what each version looked like."""

    def __init__(self, directory: Path, read: Callable[[Table], Rows] | None = None, **options: Any) -> None:
        self.read = contents if read is None else read
        schema = pa.schema(
            [
                ("dt", pa.date32()),
                ("merchant", pa.string()),
                ("amount", pa.int32()),
                ("detail", pa.struct([("code", pa.int32()), ("note", pa.string())])),
            ]
        )
        self.table = coalesce.create(directory, schema, partition_by=["dt"], **options)
        self.rows: Rows = []
        self.past: dict[int, tuple[tuple[str, ...], Rows]] = {}
        self.number = 0
        self.remember()

    def expect(self, table: Table, rows: Rows) -> None:
        """Fail unless the table holds just these rows, under just these names."""
        assert in_order(self.read(table)) == in_order(rows)
        assert table.count() == len(rows)

    def remember(self) -> None:
        """Compare now, and keep what this version looks like."""
        self.expect(self.table, self.rows)
        self.past[self.table.version] = (self.table.schema.names, [dict(r) for r in self.rows])

    def append(self, **others: object) -> None:
        """Eight rows over two days and four merchants, with today's columns."""
        arrow = pa.schema([(f.name, t) for f, t in zip(self.table.schema, _types(self.table), strict=True)])
        fresh: Rows = []
        for i in range(8):
            self.number += 1
            row = {name: self._value(arrow.field(name).type, i) for name in arrow.names}
            fresh.append({**row, **others})
        self.table.append(pa.Table.from_pylist(fresh, schema=arrow))
        self.rows += fresh
        self.remember()

    def _value(self, type_: pa.DataType, i: int) -> object:
        if pa.types.is_date(type_):
            return dt.date(2026, 4, 1 + i % 2)
        if pa.types.is_timestamp(type_):
            return dt.datetime(2026, 4, 1 + i % 2)
        if pa.types.is_string(type_):
            return f"m-{i % 4}"
        if pa.types.is_struct(type_):
            return {f.name: self._value(f.type, i) for f in type_}
        return float(self.number) if pa.types.is_floating(type_) else self.number

    def step(
        self, change: Callable[[Table], object], on_rows: Callable[[dict[str, object]], object] | None = None
    ) -> None:
        """A change of the table, and what it means for each row."""
        change(self.table)
        if on_rows is not None:
            for row in self.rows:
                on_rows(row)
        self.remember()

    def delete(self, where: str, gone: Callable[[dict[str, object]], bool]) -> None:
        """Delete rows, here and there."""
        self.table.delete(where)
        self.rows = [r for r in self.rows if not gone(r)]
        self.remember()


def _types(table: Table) -> list[pa.DataType]:
    return [arrow_type(f.type) for f in table.schema]


def twelve_evolutions(story: Story) -> None:
    """Every kind of change, interleaved with appends and deletes, the rows compared after each."""
    story.append()
    story.step(lambda t: t.evolve(add="bucket(8, merchant)"))
    story.append()
    story.delete("merchant = 'm-1'", lambda r: r["merchant"] == "m-1")
    story.step(lambda t: t.add_column("channel", pa.string(), default="web"), lambda r: r.update(channel="web"))
    story.append()
    story.step(lambda t: t.rename_column("dt", "event_date"), lambda r: r.update(event_date=r.pop("dt")))
    story.append()
    story.step(lambda t: t.evolve(replace={"bucket(8, merchant)": "bucket(16, merchant)"}))
    story.append()
    story.step(lambda t: t.widen_column("amount", "int64"))
    story.append()
    story.step(lambda t: t.add_column("dt", pa.string()), lambda r: r.update(dt=None))
    story.append()
    story.delete("dt IS NULL AND amount <= 4", lambda r: r["dt"] is None and r["amount"] <= 4)  # type: ignore[operator]
    story.step(lambda t: t.drop_column("channel"), lambda r: r.pop("channel"))
    story.append()
    story.step(
        lambda t: t.rename_column("detail.code", "reason"),
        lambda r: r.update(detail={"reason": r["detail"]["code"], "note": r["detail"]["note"]}),  # type: ignore[index]
    )
    story.append()
    story.step(lambda t: t.reorder(["amount", "event_date"]))
    story.step(lambda t: t.set_rule(coalesce.small("event_date")))
    story.append()
    story.step(lambda t: t.evolve(drop="event_date"))
    story.append()
    story.step(
        lambda t: t.widen_column("event_date", "timestamp_ntz"),
        lambda r: r.update(event_date=dt.datetime.combine(r["event_date"], dt.time())),  # type: ignore[arg-type]
    )
    story.append()
    story.delete(
        "event_date = TIMESTAMP_NTZ '2026-04-02 00:00:00'", lambda r: r["event_date"] == dt.datetime(2026, 4, 2)
    )


def look_back(story: Story) -> None:
    """Every earlier version still has the names and the rows it had."""
    for version, (names, rows) in story.past.items():
        then = story.table.at(version=version)
        assert then.schema.names == names
        story.expect(then, rows)
