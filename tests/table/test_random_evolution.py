"""Random lives: any sequence of changes and writes leaves the rows, the names and usage tracking intact."""

from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis.strategies as st
import pyarrow as pa
from hypothesis import given, settings

import coalesce
from coalesce.errors import SchemaError, SpecError
from coalesce.model.arrow_schema import arrow_schema
from coalesce.model.schema import all_fields
from coalesce.model.types import INT32, STRING
from coalesce.model.version import Version
from coalesce.table.table import Table
from tests.fast import FAST
from tests.support.examples import examples

Row = dict[str, object]
NAMES = ["a", "b", "c", "d", "e"]
STEPS = ["append", "append", "add", "drop", "rename", "widen", "reorder", "spec", "unspec", "rule", "delete"]


def in_order(rows: list[Row]) -> list[str]:
    """Rows as sorted text."""
    return sorted(repr(sorted(row.items())) for row in rows)


def check_usage_tracking(before: Version, after: Version) -> None:
    """Ids only grow and are never reused; the flag is set by the first drop or rename and never cleared."""
    old = {f.id: f for f in all_fields(before.schema.fields)}
    new = {f.id: f for f in all_fields(after.schema.fields)}
    assert after.max_column_id >= before.max_column_id
    assert all(i > before.max_column_id for i in new.keys() - old.keys())
    assert all(old[i].physical_name == new[i].physical_name for i in new.keys() & old.keys())
    lost_a_name = bool(old.keys() - new.keys()) or any(old[i].name != new[i].name for i in new.keys() & old.keys())
    assert after.has_dropped_or_renamed == (before.has_dropped_or_renamed or lost_a_name)
    for i in new.keys() - old.keys():
        assert (new[i].physical_name == new[i].name) == (not before.has_dropped_or_renamed)


def append(data: st.DataObject, table: Table, rows: list[Row]) -> None:
    """A few rows of today's columns."""
    pools = {
        f.name: st.sampled_from(["x", "y", "", None] if f.type == STRING else [0, 1, 7, None]) for f in table.schema
    }
    values = {name: data.draw(st.lists(pool, min_size=3, max_size=3)) for name, pool in pools.items()}
    fresh = pa.table(values, schema=arrow_schema(table.schema))
    table.append(fresh)
    rows += fresh.to_pylist()


def step(data: st.DataObject, table: Table, rows: list[Row], kind: str) -> list[Row]:
    """One change, made to the table and to the rows in memory."""
    names = list(table.schema.names)
    name = data.draw(st.sampled_from(names))
    match kind:
        case "append":
            append(data, table, rows)
        case "add" if set(NAMES) - set(names):
            new = data.draw(st.sampled_from(sorted(set(NAMES) - set(names))))
            default = data.draw(st.sampled_from([None, 7]))
            table.add_column(new, "int32", first=data.draw(st.booleans()), default=default)
            rows = [{**row, new: default} for row in rows]
        case "drop":
            table.drop_column(name)
            rows = [{k: v for k, v in row.items() if k != name} for row in rows]
        case "rename":
            new = data.draw(st.sampled_from(NAMES))
            table.rename_column(name, new)
            rows = [{new if k == name else k: v for k, v in row.items()} for row in rows]
        case "widen" if table.schema.field(name).type == INT32:
            table.widen_column(name, "int64")
        case "reorder":
            table.reorder(data.draw(st.permutations(names)))
        case "spec":
            table.evolve(add=data.draw(st.sampled_from(["{}", "bucket(2, {})", "truncate(1, {})"])).format(name))
        case "unspec" if table.state.spec.fields:
            table.evolve(drop=data.draw(st.sampled_from([f.name for f in table.state.spec.fields])))
        case "rule" if table.state.spec.fields:
            table.set_rule(coalesce.small(data.draw(st.sampled_from([f.name for f in table.state.spec.fields]))))
        case "delete":
            value = "x" if table.schema.field(name).type == STRING else 1
            try:
                table.drop_partition({name: value})
            except SchemaError as error:  # a partition field may have had the name of the column that was dropped
                assert "is the name of" in str(error)  # noqa: PT017
                return rows
            rows = [row for row in rows if row[name] != value]
    return rows


@settings(max_examples=examples(40))
@given(st.data())
def test_any_sequence_of_changes_keeps_every_row(data: st.DataObject) -> None:
    """After each step the table holds the rows in memory; at the end, every earlier version still holds its own."""
    with TemporaryDirectory(dir=FAST) as directory:
        schema = pa.schema([("a", pa.string()), ("b", pa.int32())])
        table = coalesce.create(Path(directory) / "t", schema, partition_by=["a"])
        rows: list[Row] = []
        past = {0: (table.schema.names, in_order(rows))}
        for kind in data.draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=8)):
            before = table.state
            try:
                rows = step(data, table, rows, kind)
            except (SchemaError, SpecError):
                assert table.state == before  # refused, and nothing has happened
            check_usage_tracking(before, table.state)
            assert in_order(table.scan().to_arrow().to_pylist()) == in_order(rows)
            past[table.version] = (table.schema.names, in_order(rows))
        for version, (names, expected) in past.items():
            then = table.at(version=version)
            assert then.schema.names == names
            assert in_order(then.scan().to_arrow().to_pylist()) == expected
