"""Random INSERT, DELETE, UPDATE and MERGE: what they say, as SQL and through Python.

Texts have `t` for the table and `s` for the source; `{T}` stands for the table where a subquery or a source reads it.
The views `src` and `other` hold rows of the same columns. Nothing in them can fail on a row, so that a model may
evaluate everything everywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any, Final

import pyarrow as pa

TYPES: Final = {
    "k": "BIGINT",
    "dt": "DATE",
    "app": "STRING",
    "n": "INT",
    "amount": "DECIMAL(10,2)",
    "ts": "TIMESTAMP",
    "v": "DOUBLE",
    "b": "BINARY",
    "info": "STRUCT<a: INT, b: STRING>",
    "tags": "ARRAY<STRING>",
}
SCHEMA: Final = pa.schema(
    [
        ("k", pa.int64()),
        ("dt", pa.date32()),
        ("app", pa.string()),
        ("n", pa.int32()),
        ("amount", pa.decimal128(10, 2)),
        ("ts", pa.timestamp("us", "UTC")),
        ("v", pa.float64()),
        ("b", pa.binary()),
        ("info", pa.struct([("a", pa.int32()), ("b", pa.string())])),
        ("tags", pa.list_(pa.string())),
    ]
)
APPS: Final = ("A", "a", "B", "C", "", "[#small]", "x%y z", "p/q=r", "été")
_DAYS: Final = tuple(date(2026, 5, day) for day in (1, 2, 3))
_DOUBLES: Final = (0.0, -0.0, 1.5, -2.25, float("nan"), float("inf"))
MEMBERS: Final = ("info.a", "info.b")

Row = dict[str, Any]


def rows(rng: Random, count: int, apps: Sequence[str] = APPS) -> pa.Table:
    """Rows with few different keys, and NULL in every column."""

    def some(values: Sequence[Any]) -> list[Any]:
        return [None if rng.random() < 0.12 else rng.choice(values) for _ in range(count)]

    instants = [datetime(2026, 5, 1, tzinfo=UTC) + timedelta(hours=7 * i, microseconds=i) for i in range(4)]
    return pa.table(
        {
            "k": some(range(8)),
            "dt": some(_DAYS),
            "app": some(apps),
            "n": some(range(-2, 9)),
            "amount": some([Decimal(i) / 4 for i in range(9)]),
            "ts": some([*instants, datetime(1965, 1, 1, tzinfo=UTC)]),
            "v": some(_DOUBLES),
            "b": some([b"", b"\x00\xff", b"b"]),
            "info": some([{"a": 1, "b": "x"}, {"a": 2, "b": None}, {"a": None, "b": "y"}]),
            "tags": some([[], ["x"], ["x", None], ["y", "z"]]),
        },
        schema=SCHEMA,
    )


@dataclass(frozen=True)
class Said:
    """A clause: its condition, and the values by column (`info.a` for a member); None for a row that goes."""

    condition: str | None
    values: Mapping[str, str] | None
    star: bool = False


@dataclass(frozen=True)
class Spoken:
    """A statement. An UPDATE and a DELETE are a clause for rows that no source matches."""

    kind: str
    source: str | None = None
    on: str | None = None
    matched: tuple[Said, ...] = ()
    not_matched: tuple[Said, ...] = ()
    by_source: tuple[Said, ...] = ()
    cte: bool = False

    @property
    def clauses(self) -> tuple[Said, ...]:
        """All of them."""
        return (*self.matched, *self.not_matched, *self.by_source)

    def sql(self, table: str) -> str:
        """The statement on a table of the catalog."""
        return self._text().replace("{T}", table)

    def _text(self) -> str:
        if self.kind == "insert":
            return f"INSERT INTO {{T}} ({', '.join(TYPES)}) SELECT {', '.join(TYPES)} FROM {self.source}"
        if self.kind != "merge":
            (clause,) = self.by_source
            where = "" if clause.condition is None else f" WHERE {clause.condition}"
            if clause.values is None:
                return f"DELETE FROM {{T}} AS t{where}"
            return f"UPDATE {{T}} AS t SET {_assigned(clause.values)}{where}"
        head, source = ("", self.source)
        if self.cte:
            head, source = f"WITH c AS (SELECT * FROM {self.source}) ", "c"
        parts = [f"{head}MERGE INTO {{T}} AS t USING {source} AS s ON {self.on}"]
        for words, clauses in (
            ("WHEN MATCHED", self.matched),
            ("WHEN NOT MATCHED", self.not_matched),
            ("WHEN NOT MATCHED BY SOURCE", self.by_source),
        ):
            for clause in clauses:
                when = words if clause.condition is None else f"{words} AND {clause.condition}"
                parts.append(f"{when} THEN {_action(clause, inserts=clauses is self.not_matched)}")
        return " ".join(parts)


def _assigned(values: Mapping[str, str]) -> str:
    return ", ".join(f"t.{name} = {value}" for name, value in values.items())


def _action(clause: Said, *, inserts: bool) -> str:
    if clause.values is None:
        return "DELETE"
    if clause.star:
        return "INSERT *" if inserts else "UPDATE SET *"
    if inserts:
        return f"INSERT ({', '.join(clause.values)}) VALUES ({', '.join(clause.values.values())})"
    return f"UPDATE SET {_assigned(clause.values)}"


class Speaker:
    """Makes statements up. `subqueries` may stand in conditions and values; a MERGE may assign `members` of structs."""

    def __init__(
        self, rng: Random, apps: Sequence[str] = APPS, *, subqueries: bool = True, members: bool = True
    ) -> None:
        self.rng = rng
        self.apps = apps
        self.subqueries = subqueries
        self.members = members

    def statement(self) -> Spoken:
        """Any statement."""
        kind = self.rng.choice(["insert", "delete", "update", "update", "merge", "merge", "merge"])
        match kind:
            case "insert":
                return Spoken(kind, source=self.rng.choice(["src", "(SELECT * FROM {T} WHERE k > 5)"]))
            case "delete":
                return Spoken(kind, by_source=(Said(self._condition("t", may_miss=True), None),))
            case "update":
                return Spoken(kind, by_source=(Said(self._condition("t", may_miss=True), self._values("t")),))
        return self._merge()

    # --- merge ---------------------------------------------------------------------------------------------------

    def _merge(self) -> Spoken:
        matched = self._clauses(self.rng.choice([0, 1, 1, 2, 3]), "ts", deletes=True)
        not_matched = self._clauses(self.rng.choice([0, 1, 1, 2]), "s", deletes=False)
        by_source = self._clauses(self.rng.choice([0, 0, 1, 2]), "t", deletes=True)
        if not (matched or not_matched or by_source):
            matched = (Said(None, None),)
        return Spoken("merge", self._source(), self._on(), matched, not_matched, by_source, self.rng.random() < 0.2)

    def _clauses(self, count: int, scope: str, *, deletes: bool) -> tuple[Said, ...]:
        clauses = []
        for number in range(count):
            last = number == count - 1
            condition = self._condition(scope, may_miss=last)
            if condition is None and not last:
                condition = "true"
            if deletes and self.rng.random() < 0.35:
                clauses.append(Said(condition, None))
            elif "s" in scope and self.rng.random() < 0.35:
                clauses.append(Said(condition, {c: f"s.{c}" for c in TYPES}, star=True))
            else:
                clauses.append(Said(condition, self._values(scope, whole=scope == "s" or not self.members)))
        return tuple(clauses)

    def _source(self) -> str:
        names = ", ".join(name for name in TYPES if name != "k")
        return self.rng.choice(
            [
                "src",
                "src",
                "(SELECT * FROM src WHERE n IS NOT NULL)",
                f"(SELECT k, {', '.join(f'max_by({c}, m) AS {c}' for c in TYPES if c != 'k')} FROM src GROUP BY k)",
                f"(SELECT k, {', '.join(f'max_by({c}, m) AS {c}' for c in TYPES if c != 'k')} FROM src GROUP BY k)",
                "(SELECT * FROM {T} WHERE k > 3)",
                f"(SELECT DISTINCT k + 1 AS k, {names} FROM {{T}} WHERE app = 'A')",
                f"(SELECT 1L AS k, {names} FROM src LIMIT 0)",
            ]
        )

    def _on(self) -> str:
        return self.rng.choice(
            [
                "t.k = s.k",
                "t.k = s.k",
                "t.k = s.k",
                "t.k <=> s.k",
                "t.k = s.k AND t.app = s.app",
                "t.k = s.k AND t.dt = s.dt AND t.app <=> s.app",
                "s.k = t.k AND t.n > 1",
                "t.k = s.k AND s.n > 1",
                "t.k = s.k + 1 AND t.dt = DATE '2026-05-02'",
                "t.app = s.app AND t.k < s.k",
                "t.v = s.v AND t.dt = s.dt",
                "t.ts = s.ts AND t.app = s.app",
                "t.amount = s.amount AND t.k = s.k",
                "t.b = s.b AND t.k = s.k",
                "t.info.a = s.info.a AND t.k = s.k",
                "t.k = s.n",
                "t.k = s.k AND NULL",
                "false",
            ]
        )

    # --- conditions ----------------------------------------------------------------------------------------------

    def _condition(self, scope: str, *, may_miss: bool = False, depth: int = 2) -> str | None:
        if may_miss and self.rng.random() < 0.4:
            return None
        return self._truth(scope, depth)

    def _truth(self, scope: str, depth: int) -> str:
        if depth == 0 or self.rng.random() < 0.5:
            return self._leaf(scope)
        if self.rng.random() < 0.2:
            return f"NOT ({self._truth(scope, depth - 1)})"
        word = self.rng.choice(["AND", "OR"])
        return f"({self._truth(scope, depth - 1)} {word} {self._truth(scope, depth - 1)})"

    def _leaf(self, scope: str) -> str:
        p, q = self.rng.choice(scope), self.rng.choice(scope)
        leaves = [
            f"{p}.k > {self.rng.randint(0, 6)}",
            f"{p}.k IN ({self.rng.randint(0, 7)}, {self.rng.randint(0, 7)})",
            f"{p}.n IS NULL",
            f"{p}.n <> {q}.k",
            f"{p}.app = {self._text()}",
            f"{p}.app IN ({self._text()}, {self._text()})",
            f"{p}.app IS NOT NULL",
            f"{p}.dt = {self._day()}",
            f"{p}.dt >= {q}.dt",
            f"{p}.v > 1.0",
            f"{p}.v = CAST('NaN' AS DOUBLE)",
            f"{p}.amount BETWEEN 0.5 AND 1.50",
            f"{p}.info.a = 2",
            f"{p}.info.b LIKE 'x%'",
            f"array_contains({p}.tags, 'x')",
            f"size({p}.tags) = 0",
            f"{p}.ts < TIMESTAMP '2026-05-01 08:00:00'",
            f"{p}.b = X'00FF'",
            f"upper({p}.app) = 'A'",
            "CAST(NULL AS BOOLEAN)",
            "true",
            "false",
        ]
        if self.subqueries:
            leaves += [
                f"{p}.k IN (SELECT o.k FROM other o)",
                f"{p}.k NOT IN (SELECT o.k FROM other o WHERE o.k IS NOT NULL)",
                f"EXISTS (SELECT 1 FROM other o WHERE o.k = {p}.k AND o.app <=> {p}.app)",
                f"NOT EXISTS (SELECT 1 FROM other o WHERE o.k = {p}.k)",
                f"{p}.n = (SELECT max(x.n) FROM {{T}} x)",
                f"{p}.n > (SELECT avg(x.n) FROM {{T}} x WHERE x.app = {p}.app)",
            ]
        return self.rng.choice(leaves)

    def _text(self) -> str:
        return "'" + self.rng.choice(self.apps) + "'"

    def _day(self) -> str:
        return f"DATE '{self.rng.choice(_DAYS)}'"

    # --- values --------------------------------------------------------------------------------------------------

    def _values(self, scope: str, *, whole: bool = False) -> dict[str, str]:
        names = self.rng.sample([*TYPES, "dt", "app"], self.rng.randint(1, 4))
        if scope == "s":
            names += self.rng.sample([*TYPES], 3)
        chosen = list(dict.fromkeys(names))
        if "info" in chosen and not whole and self.rng.random() < 0.7:
            chosen.remove("info")
            chosen += self.rng.sample(MEMBERS, self.rng.randint(1, 2))
        return {name: self._value(name, scope) for name in chosen}

    def _value(self, column: str, scope: str) -> str:
        p, q = self.rng.choice(scope), self.rng.choice(scope)
        choices = {
            "k": [f"{p}.k + 1", f"coalesce({p}.k, 0L)", f"{p}.n", "3"],
            "dt": [self._day(), f"date_add({p}.dt, 1)", f"CAST({p}.ts AS DATE)", f"{p}.dt"],
            "app": [self._text(), self._text(), f"upper({p}.app)", f"coalesce({p}.app, {q}.info.b)"],
            "n": [f"{p}.n + 1", f"-{p}.n", f"{p}.k", f"length({p}.app)", f"CAST({p}.amount AS INT)", "7"],
            "amount": [f"-{p}.amount", f"{p}.n", "0.05", f"{p}.amount / 3 + 0.005", f"{q}.amount"],
            "ts": [f"{p}.ts + INTERVAL 1 DAY", f"CAST({p}.dt AS TIMESTAMP)", "TIMESTAMP '1900-01-01 00:00:00.000001'"],
            "v": [f"{p}.v * 2", "CAST('NaN' AS DOUBLE)", f"-{p}.v", f"{p}.n", "-0.0D"],
            "b": ["X'00FF'", f"CAST({p}.app AS BINARY)", f"{p}.b"],
            "info": [f"named_struct('a', {p}.n, 'b', {q}.app)", f"{p}.info", "named_struct('a', 5, 'b', 'z')"],
            "info.a": [f"{p}.n", f"{p}.info.a + 1", "4"],
            "info.b": [f"{p}.app", f"concat({p}.info.b, '!')", "'w'"],
            "tags": [f"array({p}.app, 'x')", f"{p}.tags", "array()", f"array_append({p}.tags, {q}.app)"],
        }[column]
        if self.subqueries and column == "n":
            choices += ["(SELECT max(x.n) FROM {T} x)", f"(SELECT min(o.n) FROM other o WHERE o.k = {p}.k)"]
        return self.rng.choice([*choices, "NULL"])
