"""Removing logical partitions by marking them: no data file is touched, and nothing is lost, doubled or back."""

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import coalesce
from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import CoalesceError, CommitConflict, InvalidArgument, SchemaError, StorageError
from coalesce.manifest.paths import VERSIONS
from coalesce.model.datafile import DataFile
from coalesce.model.entries import from_files
from coalesce.model.rule import small
from coalesce.model.version import DEAD_TUPLES
from coalesce.storage.base import Storage
from coalesce.table.create import create_table
from coalesce.table.engine import Engines, Rewritten
from coalesce.table.result import WriteResult
from coalesce.table.table import Table, core_of
from tests.checker import check_files
from tests.table.examples import create, events, ids, opened
from tests.table.stores import InterruptedStorage, LosingStorage, MemoryStorage

Operation = Callable[[Table], WriteResult]


def shared(storage: Storage, remove_by: str = "mark") -> Table:
    """A table of one file with four apps of two rows each: ids 0 to 7."""
    table = create(storage, small("app"), **{"remove.by": remove_by})
    table.append(events(["A", "B", "C", "D"] * 2, list(range(8))))
    return table


REMOVALS: dict[str, tuple[Operation, list[int]]] = {
    "drop_partition": (lambda t: t.drop_partition(app="A"), [1, 2, 3, 5, 6, 7]),
    "delete": (lambda t: t.delete("app = 'A'"), [1, 2, 3, 5, 6, 7]),
    "delete by NOT, OR and AND": (
        lambda t: t.delete("NOT (app IN ('A', 'B') OR dt > DATE '2030-01-01') AND app <> 'D'"),
        [0, 1, 3, 4, 5, 7],
    ),
    "overwrite": (lambda t: t.overwrite(events("A", [8]), "app = 'A'"), [1, 2, 3, 5, 6, 7, 8]),
    "overwrite_partitions": (lambda t: t.overwrite_partitions(events(["A", "B"], [8, 9])), [2, 3, 6, 7, 8, 9]),
    "what statistics decide": (lambda t: t.delete("app = 'A' AND id < 100"), [1, 2, 3, 5, 6, 7]),
}


@pytest.mark.parametrize("name", REMOVALS)
def test_a_removal_that_tuples_decide_touches_no_data_file(name: str) -> None:
    """The files are the same, and none is written but those of new rows; the version before has all rows."""
    operation, left = REMOVALS[name]
    storage = MemoryStorage()
    table = shared(storage)
    (before,) = table.files()
    written = {f.path for f in storage.list("data")}
    result = operation(table)
    after = {f.path: f for f in table.files()}
    assert ids(table) == ids(opened(storage)) == left
    assert after[before.path].dead_rows == result.rows_removed == 8 - len([i for i in left if i < 8])
    assert len({f.path for f in storage.list("data")} - written) == (result.rows_added > 0)
    assert result.files_removed == 0
    assert table.state.dead_rows == result.rows_removed
    assert DEAD_TUPLES in table.state.reader_features & table.state.writer_features
    assert ids(table.at(version=1)) == list(range(8))
    assert DEAD_TUPLES not in table.at(version=1).state.reader_features
    check_files(storage, table.state, table.files())


def test_metadata_knows_live_rows_only() -> None:
    """Counts, partitions, distinct values, extremes and plans are exact, from metadata alone where they were."""
    table = shared(MemoryStorage())
    table.drop_partition(app="A")
    table.drop_partition(app="D")
    assert table.count() == 4
    assert table.count("app = 'A'") == 0
    assert table.plan("app = 'A'").file_count == 0
    assert [(p.values["app"], p.rows) for p in table.partitions()] == [("B", 2), ("C", 2)]
    assert table.distinct("app") == ["B", "C"]
    assert (table.min("app"), table.max("app")) == ("B", "C")
    assert (table.min("id"), table.max("id")) == (1, 6)
    assert table.state.rows == 4
    assert table.scan(columns=[]).to_arrow().num_rows == 4


def test_a_file_goes_with_its_last_live_tuple() -> None:
    """By whichever removal that happens, and then nothing is dead any more: older readers may read the table again."""
    table = shared(MemoryStorage())
    for app in "ABC":
        table.drop_partition(app=app)
    assert len(table.files()) == 1
    table.drop_partition(app="D")
    assert table.files() == []
    assert table.state.dead_rows == 0
    assert DEAD_TUPLES not in table.state.reader_features


@pytest.mark.parametrize(("remove_by", "marks"), [("mark", [1, 2, 3]), ("auto", [1, 0, 0]), ("rewrite", [0, 0, 0])])
def test_the_property_says_when_files_are_rewritten(remove_by: str, marks: list[int]) -> None:
    """`auto` marks while no more than three tenths of a file are dead, and then takes all dead rows out of it."""
    table = shared(MemoryStorage(), remove_by)
    seen = []
    for app in "ABC":
        table.drop_partition(app=app)
        seen.append(sum(len(f.dead) for f in table.files()))
    assert seen == marks
    assert ids(table) == [3, 7]


def test_a_wrong_policy_is_refused() -> None:
    """When it is set, with what may stand there."""
    with pytest.raises(InvalidArgument, match="mark"):
        create(MemoryStorage(), None, **{"remove.by": "marks"})
    with pytest.raises(InvalidArgument, match=r"remove\.by"):
        create(MemoryStorage(), None, **{"remove.how": "mark"})


def test_what_tuples_do_not_decide_is_rewritten() -> None:
    """Only the files in doubt; dead rows do not come back by it, and rows keep their ids."""
    storage = MemoryStorage()
    table = shared(storage)
    table.append(events(["A", "E"], [20, 21]))
    table.drop_partition(app="A")
    assert [f.dead_rows for f in table.files()] == [2, 1]
    result = table.delete("id = 21 OR id = 1")
    assert result.rows_removed == 2
    assert ids(table) == [2, 3, 5, 6, 7]
    assert table.state.dead_rows == 0
    check_files(storage, table.state, table.files())


@pytest.mark.parametrize("partition_by", [["day(ts)", "app"], ["bucket(4, app)"], ["x"]])
def test_other_partition_fields_are_rewritten(tmp_path: Path, partition_by: list[str]) -> None:
    """What no engine tells by columns alone is removed as before."""
    rows = pa.table(
        {"ts": pa.array([0, 86_400_000_000] * 4, pa.timestamp("us")), "app": list("ABCDEFGH"), "x": [0.5] * 8}
    )
    table = coalesce.create(tmp_path / "t", rows.schema, partition_by=partition_by, properties={"remove.by": "mark"})
    table.append(rows)
    table.delete("app = 'A'")
    assert table.state.dead_rows == 0
    assert table.count() == 7


def test_a_column_that_tells_dead_rows_cannot_be_dropped() -> None:
    """Without it no reader could leave them out. Once they are out of the files, it can."""
    table = shared(MemoryStorage())
    table.drop_partition(app="A")
    table.evolve(drop="app")
    with pytest.raises(SchemaError, match="purge"):
        table.drop_column("app")
    table.delete("id = 1")
    table.drop_column("app")
    assert ids(table) == [2, 3, 5, 6, 7]


def test_a_column_that_is_dropped_meanwhile_stands_in_the_way() -> None:
    """The removal was staged by it, and is refused; the other way round, the column stays."""
    storage = InterruptedStorage(lambda request: request.startswith(f"put_if_absent {VERSIONS}"))
    table, other = shared(storage), opened(storage)
    table.evolve(drop="app")
    storage.interruptions = [lambda: other.drop_column("app")]
    with pytest.raises(CommitConflict):
        table.drop_partition(app="A")
    assert table.count() == 8
    storage = InterruptedStorage(lambda request: request.startswith(f"put_if_absent {VERSIONS}"))
    table, other = shared(storage), opened(storage)
    table.evolve(drop="app")
    storage.interruptions = [lambda: other.drop_partition(app="A")]
    with pytest.raises((CommitConflict, SchemaError)):
        table.drop_column("app")
    assert opened(storage).count() == 6


def test_widened_and_renamed_columns_still_tell() -> None:
    """Dead tuples are in the manifest as the column was; the file and the reader have other types and names."""
    storage = MemoryStorage()
    schema = pa.schema([("d", pa.date32()), ("k", pa.int32()), ("id", pa.int64())])
    table = create_table(storage, Engines(ArrowEngine()), schema, partition_by=["d", "k"], rule=small("k", "d"))
    table.append(
        pa.table(
            {"d": pa.array([0, 0, 1, 1], pa.int32()).cast(pa.date32()), "k": [1, 2, 1, 2], "id": range(4)},
            schema=schema,
        )
    )
    table.set_properties({"remove.by": "mark"})
    table.delete("d = DATE '1970-01-01' AND k = 1")
    table.widen_column("k", "bigint")
    table.widen_column("d", "timestamp_ntz")
    table.rename_column("k", "kk")
    assert ids(table) == [1, 2, 3]
    table.delete("kk = 2 AND d = TIMESTAMP_NTZ '1970-01-02 00:00:00'")
    assert ids(table) == [1, 2]
    assert table.state.dead_rows == 2


# --- others at work ----------------------------------------------------------------------------------------------


def interrupted(other: Callable[[Table], object], remove_by: str = "mark") -> tuple[Storage, Table]:
    """A table whose next commit is overtaken by something that another object of it does."""
    storage = InterruptedStorage(lambda request: request.startswith(f"put_if_absent {VERSIONS}"))
    table = shared(storage, remove_by)
    table.append(events("E", [8]))
    storage.interruptions = [lambda: other(opened(storage))]
    return storage, table


def test_removals_of_different_tuples_of_one_file_both_succeed() -> None:
    """The second adds its dead tuples to those that the entry has by then."""
    storage, table = interrupted(lambda other: other.drop_partition(app="B"))
    table.drop_partition(app="A")
    assert ids(opened(storage)) == [2, 3, 6, 7, 8]
    assert [[d.values[1] for d in f.dead] for f in table.files()] == [["A", "B"], []]
    check_files(storage, table.state, table.files())


def test_the_last_two_tuples_of_a_file_go_at_the_same_time() -> None:
    """Neither removal alone leaves the file empty; both together do, and the entry goes."""
    storage, table = interrupted(lambda other: other.delete("app IN ('A', 'B')"))
    table.delete("app IN ('C', 'D')")
    assert ids(opened(storage)) == [8]
    assert len(table.files()) == 1


def test_the_same_tuple_removed_twice_is_removed_once() -> None:
    """The second has nothing to do, and says so."""
    storage, table = interrupted(lambda other: other.drop_partition(app="A"))
    assert table.drop_partition(app="A").rows_removed == 0
    assert ids(opened(storage)) == [1, 2, 3, 5, 6, 7, 8]
    assert table.state.dead_rows == 2


def test_rows_that_come_back_by_a_rollback_stand_in_the_way() -> None:
    """A removal that found nothing to remove, as it was dead already, may not go on as if that were still so."""
    storage = InterruptedStorage(lambda request: request.startswith(f"put_if_absent {VERSIONS}"))
    table = shared(storage)
    table.drop_partition(app="A")
    storage.interruptions = [lambda: opened(storage).rollback(1)]
    with pytest.raises(CommitConflict):
        table.overwrite(events("A", [9]), "app = 'A'")
    assert ids(opened(storage)) == list(range(8))


def test_a_whole_file_does_not_go_with_rows_that_came_back() -> None:
    """All that was live in it matched; by a rollback other rows of it are, and none that matches."""
    storage = InterruptedStorage(lambda request: request.startswith(f"put_if_absent {VERSIONS}"))
    table = create(storage, small("app"), **{"remove.by": "mark"})
    table.append(events(["A", "B"], [1, 2]))
    table.drop_partition(app="A")  # version 2 has B alone
    table.rollback(1)
    table.drop_partition(app="B")
    storage.interruptions = [lambda: opened(storage).rollback(2)]
    with suppress(CommitConflict):
        table.overwrite(events("A", [9]), "app = 'A'")
    assert 2 in ids(opened(storage))


def test_tuples_that_nobody_knows_any_more_are_not_taken_for_removed() -> None:
    """Another commit has made what is said of the file unknown: the removal is made anew, by rewriting it."""

    def forget(other: Table) -> None:
        file = next(f for f in other.files() if f.rows == 8)
        transaction = core_of(other).transaction("forget")
        unknown = replace(file, tuples=None, tuple_rows=None, complete=False)
        transaction.mend(from_files([unknown], other.state.spec, other.schema))
        core_of(other).commit(transaction)

    storage, table = interrupted(forget)
    assert table.drop_partition(app="A").rows_removed == 2
    assert ids(opened(storage)) == [1, 2, 3, 5, 6, 7, 8]
    assert table.state.dead_rows == 0


def test_more_rows_than_there_were_are_not_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever an engine made of them: neither by a removal that rewrites nor by a compaction."""
    storage = MemoryStorage()
    table = shared(storage, "rewrite")
    table.append(events("E", [8]))
    engine = core_of(table).engines.rows
    rewrite, compact = engine.rewrite, engine.compact

    def twice(files: list[DataFile]) -> list[DataFile]:
        return [replace(f, rows=2 * f.rows + 9) for f in files]

    def too_many(*given: Any) -> Rewritten:
        done = rewrite(*given)
        return Rewritten(twice(done.added), done.untouched)

    monkeypatch.setattr(engine, "rewrite", too_many)
    monkeypatch.setattr(engine, "compact", lambda *given: twice(compact(*given)))
    for operation in (lambda: table.drop_partition(app="A"), table.compact):
        with pytest.raises(CoalesceError, match="in the place of"):
            operation()
    assert ids(opened(storage)) == list(range(9))
    assert len(list(storage.list("data"))) == 2


def test_as_many_rows_may_be_others() -> None:
    """A rollback brings rows of one tuple back, and as many of another die: that is not the same."""
    storage = InterruptedStorage(lambda request: request.startswith(f"put_if_absent {VERSIONS}"))
    table, other = shared(storage), opened(storage)
    table.drop_partition(app="A")

    def swap() -> None:
        other.rollback(1)
        other.drop_partition(app="B")

    storage.interruptions = [swap]
    with pytest.raises(CommitConflict):
        table.overwrite(events("A", [9]), "app = 'A'")
    assert ids(opened(storage)) == [0, 2, 3, 4, 6, 7]


@pytest.mark.parametrize("change", ["compact", "rewrite"])
def test_a_removal_gives_way_to_what_moves_its_rows_and_is_made_anew(change: str) -> None:
    """The file that it wanted to mark is gone, and the rows are in another: they are removed from there."""
    moves: dict[str, Callable[[Table], object]] = {
        "compact": lambda other: other.compact(),
        "rewrite": lambda other: other.delete("id = 1"),
    }
    storage, table = interrupted(moves[change])
    table.drop_partition(app="A")
    assert ids(opened(storage)) == [i for i in (1, 2, 3, 5, 6, 7, 8) if i != 1 or change == "compact"]


def test_what_copies_rows_does_not_bring_dead_ones_back() -> None:
    """A compaction, or a removal that rewrites, that has read rows which are dead by now is not committed with them."""
    storage, table = interrupted(lambda other: other.drop_partition(app="A"))
    table.compact()
    assert ids(opened(storage)) == [1, 2, 3, 5, 6, 7, 8]
    storage, table = interrupted(lambda other: other.drop_partition(app="A"))
    table.delete("id = 1")
    assert ids(opened(storage)) == [2, 3, 5, 6, 7, 8]


def test_a_removal_is_whole_or_not_there_whichever_request_fails() -> None:
    """Each request of it fails once: before it was done, and after. Nothing is left behind, and it can be repeated."""
    for error in (True, False):
        number = 0
        while True:
            number += 1
            sent: list[str] = []

            def loses(path: str, number: int = number, sent: list[str] = sent) -> bool:
                sent.append(path)
                return len(sent) == number

            storage = LosingStorage(lambda _: False, error=error)
            table = shared(storage)
            storage.loses = loses
            with suppress(StorageError):
                table.overwrite(events("A", [8]), "app = 'A'")
            storage.loses = lambda _: False
            newest = opened(storage)
            assert ids(newest) == (list(range(8)) if newest.version == 1 else [1, 2, 3, 5, 6, 7, 8])
            newest.drop_partition(app="B")
            assert 1 not in ids(opened(storage))
            if len(sent) < number:
                break
        assert number > 3


def test_processes_that_remove_at_once_lose_nothing_and_bring_nothing_back(tmp_path: Path) -> None:
    """Eight processes remove different apps from one file while others append and compact: each version is right."""
    program = Path(__file__).with_name("removing.py")
    run = subprocess.run(
        [sys.executable, str(program), str(tmp_path / "t"), "8", "5"], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["failed"] == 0, run.stderr
    assert report["problems"] == []
    assert report["marked"] > 8
