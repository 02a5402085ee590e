"""Single rows that change: what becomes of their files, others at work meanwhile, and requests that fail."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from coalesce.arrow.engine import ArrowEngine
from coalesce.arrow.revise import FoundRows
from coalesce.errors import CoalesceError, CommitConflict, InvalidArgument, NeedsSpark, StorageError
from coalesce.manifest.paths import VERSIONS
from coalesce.model.entries import from_files
from coalesce.model.rule import small
from coalesce.storage.base import Storage
from coalesce.table.commit.transaction import Transaction
from coalesce.table.create import create_table
from coalesce.table.engine import Engines
from coalesce.table.revision import revise
from coalesce.table.table import Table, core_of
from tests.checker import check_files
from tests.support.lineage import held
from tests.table.examples import opened
from tests.table.stores import InterruptedStorage, MemoryStorage
from tests.table.test_abandon import orphans

SCHEMA = pa.schema(
    [("dt", pa.date32()), ("app", pa.string()), ("id", pa.int64()), ("x", pa.int64()), ("y", pa.int64())]
)
DAY = date(2026, 5, 17)


def shared(storage: Storage, remove_by: str = "mark", partition_by: tuple[str, ...] = ("dt", "app")) -> Table:
    """A table of one file with four apps of two rows each: ids 0 to 7."""
    table = create_table(
        storage,
        Engines(ArrowEngine()),
        SCHEMA,
        partition_by=list(partition_by),
        rule=small("app") if "app" in partition_by else None,
        properties={"remove.by": remove_by},
    )
    table.append(events(["A", "B", "C", "D"] * 2, range(8), x=0, y=0))
    return table


def events(apps: list[str], ids: Any, **values: int) -> pa.Table:
    """Rows of one day, with these values in all of them."""
    columns = {"dt": [DAY] * len(apps), "app": apps, "id": [*ids]} | {n: [v] * len(apps) for n, v in values.items()}
    return pa.table(columns, schema=pa.schema([SCHEMA.field(name) for name in columns]))


def values(storage: Storage, *names: str) -> dict[int, tuple[Any, ...]]:
    """Some columns of the rows by their `id`, each of which is there once."""
    rows = opened(storage).scan().to_arrow().to_pylist()
    found = {row["id"]: tuple(row[name] for name in names) for row in rows}
    assert len(found) == len(rows)
    return found


def data_files(storage: MemoryStorage) -> list[str]:
    """Every data file that was ever written."""
    return [r.partition(" ")[2] for r in storage.requests if r.startswith("put") and " data/" in r]


# --- what becomes of files -----------------------------------------------------------------------------------------


def test_of_a_shared_file_only_the_tuples_of_changed_rows_are_written_again() -> None:
    """The file stays, with those tuples dead; the version before has all rows as they were."""
    storage = MemoryStorage()
    table = shared(storage)
    (before,) = table.files()
    result = table.upsert(events(["A"], [4], x=1), ["id"])
    assert (result.rows_updated, result.rows_added, result.rows_removed) == (1, 0, 0)
    assert (result.files_added, result.files_removed) == (1, 0)
    old, new = sorted(table.files(), key=lambda f: f.path != before.path)
    assert [d.values[1] for d in old.dead] == ["A"]
    assert (new.rows, table.state.dead_rows) == (2, 2)
    assert table.state.summary["rows_rewritten"] == 2
    assert values(storage, "x", "y") == {i: (int(i == 4), 0) for i in range(8)}
    assert {row["x"] for row in table.at(version=1).scan().to_arrow().to_pylist()} == {0}
    check_files(storage, table.state, table.files())


@pytest.mark.parametrize(("remove_by", "dead"), [("mark", [1, 2, 3, 0]), ("auto", [1, 0, 0, 0]), ("rewrite", [0] * 4)])
def test_the_property_says_when_files_are_written_again_as_a_whole(remove_by: str, dead: list[int]) -> None:
    """As for removals; a file all of whose tuples have moved is not in the table any more."""
    storage = MemoryStorage()
    table = shared(storage, remove_by)
    ids = {i: row["id"] for i, (_, row) in held(table).items()}
    seen = []
    for number, app in enumerate("ABCD"):
        table.upsert(events([app], [number], x=1), ["id"])
        seen.append(sum(len(f.dead) for f in table.files()))
        check_files(storage, table.state, table.files())
    assert seen == dead
    assert values(storage, "x") == {i: (int(i < 4),) for i in range(8)}
    assert {i: row["id"] for i, (_, row) in held(table).items()} == ids


@pytest.mark.parametrize("partition_by", [("bucket(4, id)",), ("truncate(1, app)",), ("dt",), ()])
def test_files_whose_tuples_tell_no_rows_are_written_again(partition_by: tuple[str, ...]) -> None:
    """Under a transform, without fields, or of one tuple alone: nothing is marked."""
    storage = MemoryStorage()
    table = shared(storage, partition_by=partition_by)
    before = held(table)
    table.upsert(events(["A"], [4], x=1), ["id"])
    after = held(table)
    assert not any(f.dead for f in table.files())
    assert {i: row["id"] for i, (_, row) in after.items()} == {i: row["id"] for i, (_, row) in before.items()}
    assert {i: version for i, (version, _) in after.items()} == {
        i: 2 if row["id"] == 4 else 1 for i, (_, row) in before.items()
    }
    check_files(storage, table.state, table.files())


def test_a_row_goes_to_another_tuple_and_keeps_its_id() -> None:
    """A partition column changes like any other."""
    storage = MemoryStorage()
    table = shared(storage)
    (i,) = (i for i, (_, row) in held(table).items() if row["id"] == 4)
    table.upsert(events(["Z"], [4]), ["id"])
    assert held(table)[i] == (2, {"dt": DAY, "app": "Z", "id": 4, "x": 0, "y": 0})
    assert table.count("app = 'Z'") == table.count("app = 'A'") == 1
    check_files(storage, table.state, table.files())


def test_what_takes_spark_says_so() -> None:
    """And a statement that says nothing is refused before anything is looked at."""
    table = shared(MemoryStorage())
    with pytest.raises(NeedsSpark):
        table.update({"x": "1"})
    with pytest.raises(InvalidArgument, match="say which columns change"):
        table.update({})
    with pytest.raises(NeedsSpark, match="or use upsert"):
        table.merge([{"id": 1}], "t.id = s.id")


def test_rows_are_counted_before_they_are_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that loses a row, or has one twice, does not get it into the table, and leaves nothing."""
    storage = MemoryStorage()
    table = shared(storage)
    monkeypatch.setattr(FoundRows, "deleted", property(lambda _: 1))
    with pytest.raises(CoalesceError, match="2 rows were written where 1 stay and 0 are new"):
        table.upsert(events(["A"], [4], x=1), ["id"])
    assert opened(storage).version == 1
    assert not orphans(storage)


def test_a_change_that_was_applied_is_not_applied_again() -> None:
    """`applies` names it, as for any write."""
    table = shared(MemoryStorage())
    assert table.upsert(events(["A"], [4], x=1), ["id"], applies=("job", 1)).committed
    assert not table.upsert(events(["A"], [4], x=2), ["id"], applies=("job", 1)).committed
    assert table.scan("id = 4").to_arrow().column("x").to_pylist() == [1]


# --- others at work ------------------------------------------------------------------------------------------------


def overtaken(others: list[Callable[[Table], object]], remove_by: str = "mark") -> tuple[MemoryStorage, Table]:
    """A table whose next commits are each overtaken by something that another object of it does."""
    storage = InterruptedStorage(lambda request: request.startswith(f"put_if_absent {VERSIONS}"))
    table = shared(storage, remove_by)

    def work(other: Callable[[Table], object]) -> Callable[[], object]:
        return lambda: other(opened(storage))

    storage.interruptions = [work(other) for other in others]
    return storage, table


def begun(table: Table, rows: pa.Table, keys: list[str]) -> Transaction:
    """An upsert with its files written and its commit still to come."""
    core = core_of(table)
    transaction = core.transaction("upsert")
    revise(transaction, core.snapshot(), core.engines.rows.upsert(rows, keys))
    return transaction


def test_changes_of_different_tuples_of_one_file_both_commit_as_they_are() -> None:
    """Neither is made anew: each writes one file, and the second adds its dead tuple to the entry of now."""
    storage, table = overtaken([lambda t: t.upsert(events(["B"], [5], x=2), ["dt", "app", "id"])])
    table.upsert(events(["A"], [4], x=1), ["dt", "app", "id"])
    assert values(storage, "x") == {i: ({4: 1, 5: 2}.get(i, 0),) for i in range(8)}
    assert len(data_files(storage)) == 3
    assert {d.values[1] for f in table.files() for d in f.dead} == {"A", "B"}
    assert not orphans(storage)
    check_files(storage, table.state, table.files())


def test_changes_of_the_same_tuple_are_made_one_after_the_other() -> None:
    """The second is found anew on what the first has made, and both are there."""
    storage, table = overtaken([lambda t: t.upsert(events(["A"], [0], x=2), ["dt", "app", "id"])])
    table.upsert(events(["A"], [4], x=1), ["dt", "app", "id"])
    assert values(storage, "x") == {i: ({0: 2, 4: 1}.get(i, 0),) for i in range(8)}
    assert len(data_files(storage)) > 3
    assert not orphans(storage)
    check_files(storage, table.state, table.files())


def test_two_columns_of_one_row_changed_at_once_both_are() -> None:
    """No change is lost by being made on an old row."""
    storage, table = overtaken([lambda t: t.upsert(events(["A"], [4], x=2), ["id"])])
    table.upsert(events(["A"], [4], y=1), ["id"])
    assert values(storage, "x", "y")[4] == (2, 1)
    assert not orphans(storage)


def test_a_row_that_came_in_meanwhile_is_changed_and_not_doubled() -> None:
    """Two upserts of one new key make one row."""
    storage, table = overtaken([lambda t: t.upsert(events(["A"], [9], x=2), ["id"])])
    result = table.upsert(events(["A"], [9], y=1), ["id"])
    assert (result.rows_updated, result.rows_added) == (1, 0)
    assert values(storage, "x", "y")[9] == (2, 1)
    storage, table = overtaken([lambda t: t.append(events(["Q"], [9], x=2))])
    assert table.upsert(events(["A"], [9], y=1), ["id"]).rows_updated == 1
    assert values(storage, "app", "x", "y")[9] == ("A", 2, 1)


def test_rows_that_do_not_concern_it_do_not_keep_a_change_up() -> None:
    """An append of another tenant is nobody's business."""
    storage, table = overtaken([lambda t: t.append(events(["Q"], [9]))])
    table.upsert(events(["A"], [4], x=1), ["app", "id"])
    assert len(data_files(storage)) == 3
    assert values(storage, "x")[4] == (1,)


BETWEEN: dict[str, Callable[[Table], object]] = {
    "compact": lambda t: [t.append(events(["E"], [8], x=0, y=0)), t.compact()],
    "delete of other rows": lambda t: t.delete("id = 1"),
    "removal of another tuple": lambda t: t.drop_partition(app="B"),
    "removal of the tuple": lambda t: t.drop_partition(app="A"),
    "overwrite of the tuple": lambda t: t.overwrite(events(["A"], [4], x=7, y=7), "app = 'A'"),
    "rollback to nothing": lambda t: t.rollback(0),
    "rollback to the same": lambda t: [t.drop_partition(app="A"), t.rollback(1)],
    "a column more": lambda t: t.add_column("z", "int"),
    "another name": lambda t: t.rename_column("y", "why"),
    "another spec": lambda t: t.evolve(add="bucket(2, id)"),
}


@pytest.mark.parametrize("remove_by", ["mark", "rewrite"])
@pytest.mark.parametrize("between", BETWEEN)
def test_a_change_sees_what_came_in_between(between: str, remove_by: str) -> None:
    """It is as if the other had come first, or it is refused; no row of any other is lost, doubled or back."""
    storage, table = overtaken([BETWEEN[between]], remove_by)
    with suppress(CommitConflict):
        table.upsert(events(["A"], [4], x=1), ["id"])
        assert values(storage, "app", "x")[4] == ("A", 1)
    then = opened(storage).at(version=max(1, opened(storage).version - 1)).scan().to_arrow().to_pylist()
    if opened(storage).state.operation == "upsert":
        others = {row["id"]: row["x"] for row in then if row["id"] != 4}
        assert {i: x for i, (x,) in values(storage, "x").items() if i != 4} == others
    assert not orphans(storage)
    check_files(storage, opened(storage).state, opened(storage).files())


def test_a_conflict_names_the_logical_partition() -> None:
    """Rows that were copied are gone: what copied them is not committed, and says which they are."""
    storage = MemoryStorage()
    table = shared(storage)
    transaction = begun(table, events(["A"], [4], x=1), ["id"])
    opened(storage).drop_partition(app="A")
    with pytest.raises(CommitConflict, match=r"logical partition \(dt = .*2026-05-17.*, app = 'A'\) in data/"):
        core_of(table).commit(transaction)
    transaction.abandon()
    assert sorted(values(storage)) == [1, 2, 3, 5, 6, 7]
    assert not orphans(storage)


def test_tuples_that_nobody_knows_any_more_are_not_taken_for_moved() -> None:
    """Another commit has made what is said of the file unknown: the change is made anew, and the file written again."""

    def forget(other: Table) -> None:
        (file,) = other.files()
        transaction = core_of(other).transaction("forget")
        unknown = replace(file, tuples=None, tuple_rows=None, complete=False)
        transaction.mend(from_files([unknown], other.state.spec, other.schema))
        core_of(other).commit(transaction)

    storage, table = overtaken([forget])
    table.upsert(events(["A"], [4], x=1), ["id"])
    assert values(storage, "x") == {i: (int(i == 4),) for i in range(8)}
    assert not orphans(storage)


def test_a_partition_column_that_changes_meanwhile_stands_in_the_way() -> None:
    """Which tuples have moved was said in its type of then."""
    storage = MemoryStorage()
    schema = pa.schema([("n", pa.int32()), ("id", pa.int64())])
    engines, properties = Engines(ArrowEngine()), {"remove.by": "mark"}
    table = create_table(storage, engines, schema, partition_by=["n"], rule=small("n"), properties=properties)
    table.append(pa.table({"n": [1, 1, 2, 3], "id": range(4)}, schema=schema))
    transaction = begun(table, pa.table({"n": [1], "id": [0]}, schema=schema), ["id"])
    opened(storage).widen_column("n", "bigint")
    with pytest.raises(CommitConflict, match="a partition column has changed"):
        core_of(table).commit(transaction)
    transaction.abandon()
    assert not orphans(storage)


def test_others_that_are_faster_again_and_again_are_given_way_to_in_the_end() -> None:
    """It is not tried for ever, and leaves nothing behind."""

    def faster(i: int) -> Callable[[Table], object]:
        return lambda t: t.upsert(events(["A"], [4], x=i), ["id"])

    storage, table = overtaken([faster(i) for i in range(20)])
    with pytest.raises(CommitConflict):
        table.upsert(events(["A"], [4], y=1), ["dt", "app", "id"])
    assert values(storage, "x", "y")[4] == (19, 0)
    assert not orphans(storage)


# --- requests that fail --------------------------------------------------------------------------------------------


CHANGE = events(["A", "Z", "A"], [4, 5, 9], x=1)


class Stumbling(MemoryStorage):
    """Once it is `armed`, the write of this number fails, or is done and is said to have failed or to be there."""

    def __init__(self, number: int, kind: str) -> None:
        super().__init__()
        self.left, self.kind = number, kind
        self.armed, self.stumbled = False, ""

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create the file unless it is there, and perhaps not say so."""
        self.left -= self.armed
        if not self.armed or self.left != 0:
            return super().put_if_absent(path, data)
        self.stumbled = path
        created = self.kind != "fails" and super().put_if_absent(path, data)
        if self.kind == "says that it was there":
            return False
        raise StorageError(f"could not write: connection reset by peer; created: {created}.")

    def put(self, path: str, data: bytes) -> None:
        """Write the file, or fail."""
        self.left -= self.armed
        if self.armed and self.left == 0:
            self.stumbled = path
            raise StorageError("could not write: no space left on device.")
        super().put(path, data)


def changed_or_not(storage: Storage) -> bool:
    """Whether the rows are those after the change; they are those before it otherwise."""
    found = values(storage, "app", "x")
    before = {i: ("ABCD"[i % 4], 0) for i in range(8)}
    assert found in (before, before | {4: ("A", 1), 5: ("Z", 1), 9: ("A", 1)})
    return found != before


@pytest.mark.parametrize("remove_by", ["mark", "rewrite"])
@pytest.mark.parametrize("kind", ["fails", "loses its answer", "says that it was there"])
def test_a_change_is_whole_or_not_there_whichever_request_fails(kind: str, remove_by: str) -> None:
    """Each write of it fails once. It leaves nothing where it is known not to be there, and can be repeated."""
    outcomes = set()
    for number in range(1, 100):
        storage = Stumbling(number, kind)
        table = shared(storage, remove_by)
        storage.armed = True
        failed = False
        try:
            table.upsert(CHANGE, ["id"])
        except StorageError:
            failed = True
        storage.armed = False
        is_changed = changed_or_not(storage)
        assert failed or is_changed
        assert not orphans(storage) or storage.stumbled.startswith(VERSIONS)
        outcomes.add((failed, is_changed))
        opened(storage).upsert(CHANGE, ["id"])
        assert changed_or_not(storage)
        check_files(storage, opened(storage).state, opened(storage).files())
        if not storage.stumbled:
            break
    assert number > 3
    assert ((True, False) in outcomes) == (kind != "says that it was there")
    assert (False, True) in outcomes
