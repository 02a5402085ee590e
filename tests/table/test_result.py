"""What a write says it did is what happened to the rows."""

from collections.abc import Callable
from typing import Any

import pytest

from coalesce.model.rule import group, keep_all
from coalesce.table.result import WriteResult
from coalesce.table.table import Table
from tests.table.examples import create, events, ids
from tests.table.stores import MemoryStorage


@pytest.fixture
def table() -> Table:
    """A and B share a file, and C has one alone."""
    made = create(MemoryStorage(), group("app", {"[#small]": ["A", "B"]}))
    made.append(events(["A", "A", "B", "C"], [1, 2, 3, 4]))
    return made


def counts(result: WriteResult) -> tuple[int, int, int, int]:
    """Rows added and removed, files added and removed."""
    return result.rows_added, result.rows_removed, result.files_added, result.files_removed


@pytest.mark.parametrize(
    ("write", "operation", "expected"),
    [
        (lambda t: t.append(events(["A", "C"], [5, 6])), "append", (2, 0, 2, 0)),
        (lambda t: t.delete("app = 'C'"), "delete", (0, 1, 0, 1)),
        (lambda t: t.delete("id = 1"), "delete", (0, 1, 1, 1)),
        (lambda t: t.delete("app = 'Z'"), "delete", (0, 0, 0, 0)),
        (lambda t: t.overwrite(events(["A"], [5]), "app = 'A'"), "overwrite", (1, 2, 2, 1)),
        (lambda t: t.overwrite(events(["D"], [5])), "overwrite", (1, 4, 1, 2)),
        (lambda t: t.overwrite_partitions(events(["B", "D"], [5, 6])), "overwrite_partitions", (2, 1, 3, 1)),
        (lambda t: t.drop_partition(app="B"), "drop_partition", (0, 1, 1, 1)),
        (lambda t: t.drop_partition({"app": "B"}), "drop_partition", (0, 1, 1, 1)),
        (lambda t: t.truncate(), "truncate", (0, 4, 0, 2)),
        (lambda t: t.rollback(0), "rollback", (0, 4, 0, 2)),
        (lambda t: t.replace_schema(events("A", []).schema), "replace", (0, 4, 0, 2)),
        (lambda t: t.set_rule(keep_all()), "set_rule", (0, 0, 0, 0)),
        (lambda t: t.set_properties({"owner": "me"}), "set_properties", (0, 0, 0, 0)),
        (lambda t: t.evolve(add="bucket(4, id)"), "evolve", (0, 0, 0, 0)),
        (lambda t: t.add_column("note", "string"), "add_column", (0, 0, 0, 0)),
        (lambda t: t.rename_column("id", "key"), "rename_column", (0, 0, 0, 0)),
    ],
)
def test_every_write_says_what_it_did(
    table: Table, write: Callable[[Any], WriteResult], operation: str, expected: tuple[int, int, int, int]
) -> None:
    """One type for all of them; rows that are only written again have neither come nor gone."""
    before = table.count()
    result = write(table)
    assert (result.version, result.operation, result.committed) == (2, operation, True)
    assert counts(result) == expected
    assert table.count() == before + result.rows_added - result.rows_removed
    assert result.seconds >= 0
    assert table.history(limit=1)[0].operation == operation


def test_a_rollback_brings_rows_back(table: Table) -> None:
    """It counts by how much the versions differ."""
    table.truncate()
    assert counts(table.rollback(1)) == (4, 0, 2, 0)
    assert ids(table) == [1, 2, 3, 4]


def test_moving_rows_adds_none(table: Table) -> None:
    """A compaction writes files, and its version says so; the rows stay what they are."""
    table.set_rule(keep_all())
    step = table.compact()
    summary = table.state.summary
    assert (summary["rows_added"], summary["rows_removed"], summary["rows_rewritten"]) == (0, 0, 4)
    assert (step.files_before, step.files_after) == (2, 3)


def test_it_is_shown_in_a_line() -> None:
    """What did not happen is not mentioned."""
    result = WriteResult(version=3, operation="overwrite", rows_added=1, rows_removed=2000, files_added=2, seconds=0.5)
    assert repr(result) == "<overwrite: version 3, +1 row, -2,000 rows, +2 files, 0.50 s>"
    again = WriteResult(version=3, operation="append", committed=False)
    assert repr(again) == "<append: was made before; version 3>"
