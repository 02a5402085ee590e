"""Any sequence of logical operations against a list of rows, with a second opinion on every entry after each step.

For any engine: a machine makes the table and the data for it as its engine likes them.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from shutil import rmtree
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import coalesce
from coalesce.arrow.read import open_file
from coalesce.errors import SchemaError
from coalesce.model.rule import RuleRequest
from coalesce.model.transforms import apply
from coalesce.model.values import from_python
from coalesce.table.engine import REMOVALS
from coalesce.table.table import Table, core_of
from tests.checker import check_files

SCHEMA = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("n", pa.int32()), ("k", pa.int64())])
DAYS = [date(2026, 5, 17), date(2026, 6, 1), date(1969, 12, 31), None]
APPS = ["A", "B", "AB", "", "[#small]", "__HIVE_DEFAULT_PARTITION__", None]
NUMBERS = [0, 7, -1, None]

Row = tuple[date | None, str | None, int | None, int]
Truth = bool | None

FIELDS = ["dt", "month(dt)", "app", "bucket(3, app)", "truncate(1, app)", "bucket(2, n)", "truncate(10, n)", "void(n)"]
RULES: list[RuleRequest] = [
    coalesce.keep_all(),
    coalesce.group("app", {"[#some]": ["A", None], "other": [""]}),
    coalesce.small("app"),
    coalesce.small("app", below=1),
]


@dataclass(frozen=True)
class Condition:
    """A predicate as SQL, and what it is for a row."""

    sql: str
    truth: Callable[[Row], Truth]


def rows_of(numbers: Iterator[int]) -> st.SearchStrategy[list[Row]]:
    """Lists of rows, each with a number that no other row has."""
    row = st.builds(
        lambda dt, app, n: (dt, app, n, next(numbers)),
        st.sampled_from(DAYS),
        st.sampled_from(APPS),
        st.sampled_from(NUMBERS),
    )
    return st.lists(row, min_size=6, max_size=25) | st.just([])


def _equal(position: int, name: str, value: Any) -> Condition:
    literal = f"DATE '{value}'" if isinstance(value, date) else repr(value)
    return Condition(f"{name} = {literal}", lambda row: None if row[position] is None else row[position] == value)


def leaves() -> st.SearchStrategy[Condition]:
    """Conditions on one column."""
    return st.one_of(
        st.sampled_from([d for d in DAYS if d is not None]).map(lambda v: _equal(0, "dt", v)),
        st.sampled_from([a for a in APPS if a is not None]).map(lambda v: _equal(1, "app", v)),
        st.sampled_from([n for n in NUMBERS if n is not None]).map(lambda v: _equal(2, "n", v)),
        st.just(Condition("app IS NULL", lambda row: row[1] is None)),
        st.just(Condition("dt IS NULL", lambda row: row[0] is None)),
        st.just(Condition("n > 0", lambda row: None if row[2] is None else row[2] > 0)),
        st.just(Condition("app LIKE 'A%'", lambda row: None if row[1] is None else row[1].startswith("A"))),
        st.integers(0, 60).map(lambda k: Condition(f"k < {k}", lambda row: row[3] < k)),
    )


def conditions() -> st.SearchStrategy[Condition]:
    """Conditions under NOT, AND and OR, which are SQL's own in the model too."""

    def negated(one: Condition) -> Condition:
        return Condition(f"NOT ({one.sql})", lambda row: _not(one.truth(row)))

    def both(one: Condition, other: Condition) -> Condition:
        sql = f"({one.sql}) AND ({other.sql})"
        return Condition(sql, lambda row: _and(one.truth(row), other.truth(row)))

    def either(one: Condition, other: Condition) -> Condition:
        sql = f"({one.sql}) OR ({other.sql})"
        return Condition(sql, lambda row: _not(_and(_not(one.truth(row)), _not(other.truth(row)))))

    return st.recursive(
        leaves(),
        lambda inner: inner.map(negated) | st.builds(both, inner, inner) | st.builds(either, inner, inner),
        max_leaves=3,
    )


def _not(truth: Truth) -> Truth:
    return None if truth is None else not truth


def _and(one: Truth, other: Truth) -> Truth:
    return False if one is False or other is False else None if one is None or other is None else True


class LogicalOperations(RuleBasedStateMachine):
    """A table and the list of rows it should hold."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="coalesce-operations-"))
        self.table: Table
        self.rows: list[Row] = []
        self.ids: dict[int, tuple[int, int]] = {}
        self.numbers = iter(range(10_000))

    def teardown(self) -> None:
        """Leave nothing behind."""
        rmtree(self.directory)

    def draw_rows(self, data: st.DataObject) -> list[Row]:
        """Some new rows."""
        return data.draw(rows_of(self.numbers))

    def data(self, rows: list[Row]) -> object:
        """Rows as the engine takes them."""
        arrays = [pa.array([row[i] for row in rows], f.type) for i, f in enumerate(SCHEMA)]
        return pa.Table.from_arrays(arrays, schema=SCHEMA)

    def open(self, table: Table) -> Table:
        """The table as the engine opens it."""
        return table

    def tuple_of(self, row: Row) -> tuple[object, ...]:
        """The row's tuple under the current spec, one value at a time."""
        values = []
        for field in self.table.state.spec.fields:
            source, type_ = self.table.schema.by_id(field.source_id), self.table.schema.atomic(field.source_id)
            assert source is not None
            assert type_ is not None
            position = SCHEMA.get_field_index(source.name)
            values.append(apply(field.transform, type_, from_python(type_, row[position])))
        return tuple(values)

    # --- what may happen -----------------------------------------------------------------------------------------

    @initialize(
        fields=st.lists(st.sampled_from(FIELDS), max_size=3, unique=True),
        size=st.sampled_from(["1", "600", "128MB"]),
        rule_=st.sampled_from(RULES),
        remove_by=st.sampled_from(REMOVALS),
    )
    def create(self, fields: list[str], size: str, rule_: RuleRequest, remove_by: str) -> None:
        """Begin with any spec; the rule needs the field it names."""
        self.table = self.open(
            coalesce.create(
                self.directory / "t",
                SCHEMA,
                partition_by=fields,
                rule=rule_ if "app" in fields else None,
                properties={"write.target-file-bytes": size, "remove.by": remove_by},
            )
        )

    @rule(data=st.data())
    def append(self, data: st.DataObject) -> None:
        """Add rows."""
        new = self.draw_rows(data)
        self.table.append(self.data(new))
        self.rows += new

    @rule(data=st.data(), where=conditions())
    def overwrite(self, data: st.DataObject, where: Condition) -> None:
        """Replace what matches."""
        new = self.draw_rows(data)
        outside = sum(where.truth(row) is not True for row in new)
        if outside:
            with pytest.raises(SchemaError, match=rf"- {outside} rows? do(es)? not match .*, such as dt = "):
                self.table.overwrite(self.data(new), where.sql)
        self.table.overwrite(self.data(new), where.sql, allow_outside=outside > 0)
        self.rows = [row for row in self.rows if where.truth(row) is not True] + new

    @rule(data=st.data())
    def overwrite_partitions(self, data: st.DataObject) -> None:
        """Replace the logical partitions of the new rows."""
        new = self.draw_rows(data)
        replaced = {self.tuple_of(row) for row in new}
        self.table.overwrite_partitions(self.data(new))
        self.rows = [row for row in self.rows if self.tuple_of(row) not in replaced] + new

    @rule(where=conditions())
    def delete(self, where: Condition) -> None:
        """Remove what matches."""
        self.table.delete(where.sql)
        self.rows = [row for row in self.rows if where.truth(row) is not True]

    @rule(dt=st.sampled_from(DAYS), app=st.sampled_from(APPS))
    def drop_partition(self, dt: date | None, app: str | None) -> None:
        """Remove one logical partition."""
        self.table.drop_partition(dt=dt, app=app)
        self.rows = [row for row in self.rows if row[:2] != (dt, app)]

    @rule(data=st.data())
    def begin_again(self, data: st.DataObject) -> None:
        """Remove everything, and add rows."""
        self.table.truncate()
        self.rows = []
        self.append(data)

    @rule(field=st.sampled_from(FIELDS))
    def add_field(self, field: str) -> None:
        """Partition new rows by one field more, if it is not there yet."""
        names = {f.name for f in self.table.state.spec.fields}
        (parsed,) = coalesce_fields(field, self.table)
        if parsed not in names and len(names) < 3:
            self.table.evolve(add=field)

    @precondition(lambda self: len(self.table.state.spec.fields) > 1)
    @rule()
    def drop_field(self) -> None:
        """Partition new rows by one field less, unless the rule needs it."""
        name = self.table.state.spec.fields[-1].name
        if name != "app":
            self.table.evolve(drop=name)

    @precondition(lambda self: any(f.name == "app" for f in self.table.state.spec.fields))
    @rule(rule_=st.sampled_from(RULES))
    def set_rule(self, rule_: RuleRequest) -> None:
        """Route new rows by another rule."""
        self.table.set_rule(rule_)

    # --- what must hold ------------------------------------------------------------------------------------------

    @invariant()
    def holds_the_rows(self) -> None:
        """The rows are those of the list, entries are right, counts agree, and no row changes its id."""
        table = self.table
        assert {r["k"]: tuple(r.values()) for r in table.scan().to_arrow().to_pylist()} == {r[3]: r for r in self.rows}
        assert table.state.rows == len(self.rows)
        check_files(core_of(table).storage, table.state, table.files())
        ids = dict(self._row_ids())
        assert len(set(ids.values())) == len(ids) == len(self.rows)
        assert all(self.ids[k] == ids[k] for k in ids.keys() & self.ids.keys())
        self.ids = ids

    def _row_ids(self) -> Iterator[tuple[int, tuple[int, int]]]:
        for entry in self.table.files():
            with open_file(core_of(self.table).storage, entry, self.table.state) as file:
                lineage = file.lineage()
                assert lineage is not None
                keys = file.read([self.table.schema.field("k")], range(len(file.group_rows))).column("k").to_pylist()
                yield from zip(keys, zip(*(c.to_pylist() for c in lineage.columns), strict=True), strict=True)


def coalesce_fields(text: str, table: Table) -> list[str]:
    """The names that partition fields written as text would have."""
    from coalesce.model.spec import parse_partition_fields

    return [f.name for f in parse_partition_fields([text], table.schema)]
