"""Rows that were written for one schema, and another writer who changes it before they are committed."""

from collections.abc import Callable

import pyarrow as pa
import pytest

import coalesce
from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import CommitConflict
from coalesce.table import removal
from coalesce.table.commit.transaction import Transaction
from coalesce.table.create import create_table
from coalesce.table.engine import Engines, Rewritten
from coalesce.table.table import Table, core_of
from tests.checker import check_files
from tests.table.examples import begun_append, begun_delete
from tests.table.stores import MemoryStorage

PLACE = pa.struct([("city", pa.string()), ("zip", pa.int32())])
SCHEMA = pa.schema([("app", pa.string()), ("n", pa.int32()), ("x", pa.string()), ("at", PLACE)])


def rows(apps: list[str], numbers: list[int]) -> pa.Table:
    """Rows with a value in every column."""
    at = [{"city": f"c{n}", "zip": n} for n in numbers]
    return pa.table({"app": apps, "n": numbers, "x": [f"x{n}" for n in numbers], "at": at}, schema=SCHEMA)


def started() -> Table:
    """A table of two apps that share a file; version 1."""
    rule = coalesce.small("app")
    table = create_table(MemoryStorage(), Engines(ArrowEngine()), SCHEMA, partition_by=["app"], rule=rule)
    table.append(rows(["A", "B"], [1, 2]))
    return table


def opened(table: Table) -> Table:
    """The table as another process would open it."""
    return Table(core_of(table).storage, Engines(ArrowEngine()))


def begin_append(table: Table) -> Transaction:
    """An append that is written and not committed."""
    return begun_append(table, rows(["C"], [3]))


def begin_delete(table: Table) -> Transaction:
    """A delete that has rewritten the shared file and is not committed."""
    return begun_delete(table, "app = 'A'")


def begin_compact(table: Table) -> Transaction:
    """A compaction that has moved the rows and is not committed."""
    begun = core_of(table).transaction("compact")
    begun.add(core_of(table).engines.rows.compact(core_of(table).snapshot(), table.files()))
    begun.remove(table.files())
    return begun


BEGUN: list[Callable[[Table], Transaction]] = [begin_append, begin_delete, begin_compact]
Change = Callable[[Table], object]


def _without(*names: str) -> pa.Schema:
    return pa.schema([f for f in SCHEMA if f.name not in names])


REFUSED: dict[str, tuple[Change, str]] = {
    "replaced by other columns": (lambda t: t.replace_schema(_without("x")), "'x' is gone"),
    "replaced by a required column": (
        lambda t: t.replace_schema(SCHEMA.append(pa.field("r", pa.int64(), nullable=False))),
        "'at' is gone",  # a struct is always a new one; a required column alone has its test below
    ),
    "dropped": (lambda t: t.drop_column("x"), "column 'x' is gone"),
    "a member dropped": (lambda t: t.drop_column("at.zip"), "column 'at.zip' is gone"),
    "dropped and added again": (lambda t: (t.drop_column("x"), t.add_column("x", "string")), "column 'x' is gone"),
}

CARRIED: dict[str, Change] = {
    "added": lambda t: t.add_column("y", "int64"),
    "added with a default": lambda t: t.add_column("y", "int64", default=7, required=True),
    "a member added": lambda t: t.add_column("at.street", "string"),
    "renamed": lambda t: t.rename_column("x", "z"),
    "a partition column renamed": lambda t: t.rename_column("app", "application"),
    "names swapped": lambda t: (t.rename_column("x", "t"), t.rename_column("n", "x"), t.rename_column("t", "n")),
    "reordered": lambda t: t.reorder(["n", "x"]),
    "widened": lambda t: t.widen_column("n", "int64"),
    "a member widened": lambda t: t.widen_column("at.zip", "int64"),
    "partitioned otherwise": lambda t: t.evolve(add="bucket(4, n)"),
    "another rule": lambda t: t.set_rule(coalesce.keep_all()),
    "properties": lambda t: t.set_properties({"owner": "me"}),
}


@pytest.mark.parametrize("begin", BEGUN, ids=["append", "delete", "compact"])
@pytest.mark.parametrize("change", REFUSED)
def test_a_schema_that_shows_less_of_the_rows_is_a_conflict(change: str, begin: Callable[[Table], Transaction]) -> None:
    """Their values would be lost, or required columns read as NULL; nothing is committed."""
    table = started()
    begun = begin(table)
    other = opened(table)
    make, message = REFUSED[change]
    make(other)
    with pytest.raises(CommitConflict, match=message):
        core_of(table).commit(begun)
    assert opened(table).version == other.version


@pytest.mark.parametrize("begin", BEGUN, ids=["append", "delete", "compact"])
@pytest.mark.parametrize("change", CARRIED)
def test_other_changes_carry_the_rows_over(change: str, begin: Callable[[Table], Transaction]) -> None:
    """The table reads as if the write had been committed first, and the change after it."""
    table, twin = started(), started()
    begun = begin(table)
    CARRIED[change](opened(table))
    core_of(table).commit(begun)

    core_of(twin).commit(begin(twin))
    CARRIED[change](twin)
    expected, found = (t.scan().to_arrow().to_pylist() for t in (opened(twin), opened(table)))
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    check_files(core_of(table).storage, table.state, table.files())


def test_a_column_that_a_rollback_brings_back_is_not_lost() -> None:
    """A file is rewritten without a dropped column, and the column is back when it is to be committed."""
    table = started()
    opened(table).drop_column("x")
    begun = begin_delete(table)
    opened(table).rollback(1)
    with pytest.raises(CommitConflict, match="column 'x' is there again"):
        core_of(table).commit(begun)
    assert sorted(opened(table).scan().to_arrow().column("x").to_pylist()) == ["x1", "x2"]


def test_a_rollback_behind_the_column_is_a_conflict() -> None:
    """The rows hold a column that the older schema does not have."""
    table = started()
    table.add_column("y", "int64")
    begun = begin_append(table)
    opened(table).rollback(1)
    with pytest.raises(CommitConflict, match="column 'y' is gone"):
        core_of(table).commit(begun)


def test_a_required_column_that_nobody_filled_is_a_conflict() -> None:
    """A table that began again, with a required column more: the rows would be NULL there."""
    schema = pa.schema([("app", pa.string()), ("n", pa.int64())])
    table = create_table(MemoryStorage(), Engines(ArrowEngine()), schema)
    begun = core_of(table).transaction("append")
    begun.add(
        core_of(table).engines.rows.write(core_of(table).snapshot(), pa.table({"app": ["A"], "n": [1]}, schema=schema))
    )
    opened(table).replace_schema(schema.append(pa.field("r", pa.int64(), nullable=False)))
    with pytest.raises(CommitConflict, match="column 'r' is new and required"):
        core_of(table).commit(begun)
    assert opened(table).count() == 0


def test_a_delete_by_a_column_of_another_type_sees_what_was_added() -> None:
    """`d = DATE …` was meant for dates; rows of that day, a timestamp by now, are a conflict all the same."""
    schema = pa.schema([("d", pa.date32()), ("n", pa.int64())])
    table = create_table(MemoryStorage(), Engines(ArrowEngine()), schema, partition_by=["d"])
    day = coalesce.col("d") == "2026-05-17"
    table.append(pa.table({"d": pa.array([20_590], pa.int32()).cast(pa.date32()), "n": [1]}))
    begun = core_of(table).transaction("delete")
    removal.remove(begun, core_of(table).bound(day), lambda _files, _drop: Rewritten([], []))
    other = opened(table)
    other.widen_column("d", "timestamp_ntz")
    other.append(pa.table({"d": pa.array([20_590 * 86_400_000_000]).cast(pa.timestamp("us")), "n": [2]}))
    with pytest.raises(CommitConflict, match="rows that may match"):
        core_of(table).commit(begun)
