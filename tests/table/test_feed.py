"""Changes of rows: played back, they lead from any version to any later one, whatever made the versions."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coalesce
from coalesce.errors import InvalidArgument, SchemaError, VersionExpired, VersionNotFound
from coalesce.table.table import Table
from tests.support.examples import examples

SCHEMA = pa.schema([("dt", pa.int32()), ("app", pa.string()), ("id", pa.int64()), ("v", pa.int64())])
SIGNS = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}
ADDED = ["_change_type", "_commit_version", "_commit_timestamp"]

Held = Counter[tuple[object, ...]]


def rows(ids: range | list[int], v: int = 1) -> pa.Table:
    """A row for each id; which day and app it has, the id says."""
    days, apps = [i % 2 for i in ids], [None if i % 5 == 4 else f"app{i % 5}" for i in ids]
    return pa.table({"dt": days, "app": apps, "id": list(ids), "v": [v] * len(ids)}, schema=SCHEMA)


def create(path: Path, **properties: str) -> Table:
    """A table whose apps share files."""
    small = coalesce.small("app", below="1MB")
    return coalesce.create(path, SCHEMA, partition_by=["dt", "app"], rule=small, properties=properties)


def held(table: Table) -> Held:
    """The rows of a version, each with how often it is there."""
    return Counter(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())


def played(changes: pa.Table, upon: Held) -> Held:
    """What changes make of rows; a row that goes has to be there."""
    now = upon.copy()
    for row in changes.to_pylist():
        values = tuple(value for name, value in row.items() if name not in ADDED)
        now[values] += SIGNS[row["_change_type"]]
        assert now[values] >= 0, row
    return +now


OPERATIONS: dict[str, Callable[[Table, int], object]] = {
    "append": lambda t, n: t.append(rows(range(100 * n, 100 * n + 20))),
    "upsert": lambda t, n: t.upsert(rows([n, 100, 107, 200 + n], n), keys=["id"]),
    "delete by tuple": lambda t, n: t.delete(f"app = 'app{n % 4}'"),
    "delete by value": lambda t, n: t.delete(f"id = {100 + n}"),
    "overwrite": lambda t, n: t.overwrite(rows([5 * n], 7), "app = 'app0'", allow_outside=True),
    "overwrite partitions": lambda t, n: t.overwrite_partitions(rows([n, n + 1], 9)),
    "drop partition": lambda t, n: t.drop_partition(dt=n % 2),
    "compact": lambda t, _: t.compact(),
    "purge": lambda t, _: t.purge(),
    "rollback": lambda t, n: t.rollback(n // 2),
    "truncate": lambda t, _: t.truncate(),
    "property": lambda t, n: t.set_properties({"note": str(n)}),
}


@settings(max_examples=examples(25), deadline=None)
@given(
    names=st.lists(st.sampled_from(sorted(OPERATIONS)), min_size=1, max_size=8),
    by=st.sampled_from(["auto", "mark", "rewrite"]),
)
def test_changes_lead_from_each_version_to_the_next(names: list[str], by: str) -> None:
    """Whatever happened to a table, its changes played upon one version give the other; moved rows have none."""
    with TemporaryDirectory() as directory:
        table = create(Path(directory, "t"), **{"remove.by": by})
        table.append(rows(range(100, 130)))
        for number, name in enumerate(names, start=1):
            OPERATIONS[name](table, number)
        states = [held(table.at(version=number)) for number in range(table.version + 1)]
        for number in range(1, table.version + 1):
            changes = table.changes(number, number).to_arrow()
            assert played(changes, states[number - 1]) == states[number]
            if table.at(version=number).state.operation in ("compact", "set_properties"):
                assert changes.num_rows == 0
        assert played(table.changes(0).to_arrow(), Counter()) == states[-1]


def test_an_update_is_told_from_a_removal_and_a_new_row(tmp_path: Path) -> None:
    """A row with other values is the same row: before and after; its neighbours in the file have not changed."""
    table = create(tmp_path)
    table.append(rows(range(40)))
    table.upsert(rows([7, 1000], 5), keys=["id"])
    changes = table.changes(2).to_arrow().select(["id", "v", "_change_type", "_commit_version"]).to_pylist()
    assert [tuple(row.values()) for row in changes] == [
        (7, 1, "update_preimage", 2),
        (7, 5, "update_postimage", 2),
        (1000, 5, "insert", 2),
    ]


def test_a_rollback_undoes_an_update_as_an_update(tmp_path: Path) -> None:
    """The row that comes back is the one that was there, so it is updated, not replaced."""
    table = create(tmp_path)
    table.append(rows(range(4)))
    table.upsert(rows([3], 5), keys=["id"])
    table.compact()
    table.rollback(1)
    kinds = [(r["v"], r["_change_type"]) for r in table.changes(table.version).to_arrow().to_pylist()]
    assert kinds == [(5, "update_preimage"), (1, "update_postimage")]


def test_changes_have_the_columns_of_the_last_version(tmp_path: Path) -> None:
    """Rows of older versions are shown with the columns there are now: new ones hold what they hold in old rows."""
    table = create(tmp_path)
    table.append(rows([1]))
    table.rename_column("v", "value")
    table.add_column("note", "string", default="none")
    table.delete("id = 1")
    shown = table.changes(1).to_arrow()
    assert shown.column_names == ["dt", "app", "id", "value", "note", *ADDED]
    assert [(r["value"], r["note"], r["_change_type"]) for r in shown.to_pylist()] == [
        (1, "none", "insert"),
        (1, "none", "delete"),
    ]


def test_changes_leave_by_every_door(tmp_path: Path) -> None:
    """A table, batches, a reader, pandas, polars, or whatever speaks Arrow."""
    table = create(tmp_path)
    table.append(rows([1, 2]))
    changes = table.changes(1)
    assert changes.to_reader().read_all() == changes.to_arrow() == pa.table(changes)
    assert len(changes.to_pandas()) == len(changes.to_polars()) == 2
    assert "changes up to version 1" in repr(changes)


def test_versions_that_are_not_there_are_said(tmp_path: Path) -> None:
    """Beyond the newest, the wrong way round, expired, and by a number in quotes."""
    table = create(tmp_path)
    for n in range(4):
        table.append(rows([n]))
    assert table.changes(5).to_arrow().num_rows == 0  # what comes next: nothing has come yet
    with pytest.raises(VersionNotFound, match="no changes from version 7 to version 4"):
        table.changes(7)
    with pytest.raises(InvalidArgument, match="write 3 for the number"):
        table.changes("3")
    table.tag("later", 3)
    assert table.changes("later", "later").to_arrow().column("id").to_pylist() == [2]
    table.expire(older_than="0s", keep_last=2, force=True)
    with pytest.raises(VersionExpired, match="what version 2 changed is not known any more"):
        table.changes(2).to_arrow()


def test_a_column_with_the_name_of_an_added_one_is_refused(tmp_path: Path) -> None:
    """Two columns of one name would tell neither."""
    table = coalesce.create(tmp_path, pa.schema([("_Change_Type", pa.string())]))
    with pytest.raises(SchemaError, match="rename it to read them"):
        table.changes(0)
