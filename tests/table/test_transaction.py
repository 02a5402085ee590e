import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import coalesce
from coalesce.errors import (
    CommitConflict,
    CommitUncertain,
    InvalidArgument,
    StorageError,
    UnsupportedFeature,
    VersionNotFound,
)
from coalesce.manifest.paths import VERSIONS
from coalesce.model.datafile import DataFile
from coalesce.model.rule import group, keep_all, small
from coalesce.model.version import Version
from coalesce.table.commit.transaction import Transaction
from coalesce.table.result import WriteResult
from coalesce.table.table import Table, core_of
from tests.table.examples import add_files, begun_append, begun_delete, create, events, ids, named_files, opened
from tests.table.stores import FailingStorage, InterruptedStorage, LosingStorage, MemoryStorage


def begin_append(table: Table, apps: str | list[str], ids_: list[int]) -> Transaction:
    """An append with its data files written and its commit still to come."""
    return begun_append(table, events(apps, ids_))


def tables() -> tuple[Table, Table]:
    """Two objects of one table that shares files between the apps A and B, and keeps C alone."""
    storage = MemoryStorage()
    one = create(storage, group("app", {"[#small]": ["A", "B"]}))
    one.append(events(["A", "B", "C"], [1, 2, 3]))
    return one, opened(storage)


# --- what does not conflict --------------------------------------------------------------------------------------


def test_appends_never_conflict() -> None:
    """Each lands on whatever is newest by then, in whatever order they were begun."""
    one, other = tables()
    first, second = begin_append(one, "A", [10]), begin_append(other, "A", [11])
    assert core_of(other).commit(second).number == 2
    assert core_of(one).commit(first).number == 3
    assert ids(one) == [1, 2, 3, 10, 11]


def test_a_delete_and_an_append_of_another_app_both_land() -> None:
    """Judged by tuple: the deleted rows lie in a file that B shares, and the new B rows are not in question."""
    one, other = tables()
    delete = begun_delete(one, "app = 'A'")
    other.append(events("B", [10]))
    core_of(one).commit(delete)
    assert ids(one) == [2, 3, 10]


def test_a_delete_and_an_append_of_the_same_app_conflict() -> None:
    """The delete has not seen the new rows, and a reader could not tell whether they were meant."""
    one, other = tables()
    delete = begun_delete(one, "app = 'A'")
    other.append(events("A", [10]))
    with pytest.raises(CommitConflict, match=r"rows that may match .*'A'.* were added since version 1"):
        core_of(one).commit(delete)
    assert ids(one.refresh()) == [1, 2, 3, 10]


def test_a_delete_of_rows_the_new_tuples_cannot_be() -> None:
    """A condition on several fields is judged on whole tuples."""
    one, other = tables()
    delete = begun_delete(one, "app IN ('A', 'C') AND dt = DATE '2026-05-18'")
    other.append(events(["A", "C"], [10, 11]))  # both of the day before
    core_of(one).commit(delete)
    assert ids(one) == [1, 2, 3, 10, 11]


def test_a_delete_by_another_column_is_judged_by_statistics() -> None:
    """New rows whose ids lie elsewhere do not stand in the way; ones that may be among them do."""
    one, other = tables()
    delete = begun_delete(one, "id < 3")
    other.append(events("A", [10]))
    core_of(one).commit(delete)
    assert ids(one) == [3, 10]
    delete = begun_delete(one, "id < 11")
    other.append(events("A", [5, 20]))
    with pytest.raises(CommitConflict):
        core_of(one).commit(delete)


def test_rows_whose_tuples_are_unknown_conflict_with_every_delete() -> None:
    """Missing knowledge is never taken for a no."""
    one, other = tables()
    delete = begun_delete(one, "app = 'A'")
    begun = core_of(other).transaction("append")
    begun.add([DataFile(path="data/x/unknown.parquet", spec_id=0, rows=1, bytes=1)])
    core_of(other).commit(begun)
    with pytest.raises(CommitConflict):
        core_of(one).commit(delete)


def test_two_deletes_of_the_same_file_conflict() -> None:
    """Of a whole file, and of different rows in a shared one: each rewrote it without seeing the other."""
    one, other = tables()
    first, second = begun_delete(one, "app = 'C'"), begun_delete(other, "app = 'C'")
    core_of(other).commit(second)
    with pytest.raises(CommitConflict, match="removed or rewritten by another commit since version 1"):
        core_of(one).commit(first)
    first, second = begun_delete(one.refresh(), "app = 'A'"), begun_delete(other, "app = 'B'")
    core_of(other).commit(second)
    with pytest.raises(CommitConflict, match="removed or rewritten"):
        core_of(one).commit(first)
    assert ids(one.refresh()) == [1]


def test_two_deletes_of_different_files_both_land() -> None:
    """Also when both names stand in one manifest, which each has to write again."""
    one, other = tables()
    first, second = begun_delete(one, "app = 'C'"), begun_delete(other, "app IN ('A', 'B')")
    core_of(other).commit(second)
    core_of(one).commit(first)
    assert ids(one) == []
    assert one.state.manifests == ()


def test_a_merge_is_no_conflict() -> None:
    """Entries that another commit moved into another manifest are the same files as before."""
    storage = MemoryStorage()
    one = create(storage)
    for i in range(15):
        one.append(events(f"app {i}", [i]))
    other = opened(storage)
    delete = begun_delete(one, "app = 'app 3'")
    before = {m.path for m in one.state.manifests}
    other.append(events("new", [100]))
    other.append(events("new", [101]))
    assert not before & {m.path for m in other.state.manifests}  # they were merged
    core_of(one).commit(delete)
    assert ids(one) == [*range(3), *range(4, 15), 100, 101]


def test_a_rollback_that_brings_rows_back_conflicts() -> None:
    """The delete has not seen them: they were gone when it began, though they are older than it."""
    one, other = tables()
    one.delete("app = 'C'")
    delete = begun_delete(one, "app = 'C'")
    other.rollback(1)
    with pytest.raises(CommitConflict, match="were added since version 2"):
        core_of(one).commit(delete)
    assert ids(one.refresh()) == [1, 2, 3]


# --- metadata ----------------------------------------------------------------------------------------------------


def test_two_changes_of_metadata_conflict() -> None:
    """Each was made of what the table was; the second would undo the first."""
    one, other = tables()
    change = core_of(one).transaction("set_properties")
    change.change(lambda head: replace(head, properties={"a": "1"}))
    other.set_properties({"b": "2"})
    with pytest.raises(CommitConflict, match="were changed in version 2"):
        core_of(one).commit(change)
    assert one.refresh().state.properties == {"b": "2"}


def test_a_change_of_metadata_and_an_append_both_land() -> None:
    """Whichever comes first. The rows written before the change of rule stay where they are and are still found."""
    one, other = tables()
    begun = begin_append(one, ["A", "C"], [10, 11])
    other.set_rule(keep_all())
    core_of(one).commit(begun)
    change = core_of(one).transaction("set_properties")
    change.change(lambda head: replace(head, properties={"a": "1"}))
    other.append(events("A", [12]))
    core_of(one).commit(change)
    assert ids(one) == [1, 2, 3, 10, 11, 12]
    assert ids(one, "app = 'A'") == [1, 10, 12]
    assert {f.rule_id for f in one.files()} == {0, 1}
    assert one.state.properties == {"a": "1"}


def test_every_rule_is_kept() -> None:
    """Files say under which rule they were written, so a rule is never taken away or renumbered."""
    one, _ = tables()
    one.set_rule(small("app", below="1MB"))
    one.set_rule(keep_all())
    assert [r.rule_id for r in one.state.rules] == [0, 1, 2]
    assert one.state.current_rule_id == 2


def test_a_feature_that_came_in_between_stops_the_commit() -> None:
    """A writer that does not know a feature must not write, also if it did not have to know it when it began."""
    one, other = tables()
    begun = begin_append(one, "A", [10])
    change = core_of(other).transaction("upgrade")
    change.change(lambda head: replace(head, writer_features=head.writer_features | {"rowFilters"}))
    core_of(other).commit(change)
    with pytest.raises(UnsupportedFeature, match="version 2 uses rowFilters"):
        core_of(one).commit(begun)
    with pytest.raises(UnsupportedFeature, match="rowFilters"):
        one.append(events("A", [11]))
    assert ids(one.refresh()) == [1, 2, 3]


# --- overtaken between the head and the create -------------------------------------------------------------------


Removal = Callable[[Table], WriteResult]

REMOVALS: dict[str, Removal] = {
    "delete": lambda t: t.delete("app = 'A'"),
    "drop_partition": lambda t: t.drop_partition(app="A"),
    "overwrite": lambda t: t.overwrite(events("A", [4]), "app = 'A'"),
    "overwrite_partitions": lambda t: t.overwrite_partitions(events("A", [4])),
}


@pytest.mark.parametrize("removal", REMOVALS)
def test_a_removal_that_is_overtaken_keeps_what_others_did(removal: str) -> None:
    """Whoever commits between its look at the newest version and its own create stays: at every attempt anew.

    The first takes C away, whose name stands in the manifest that the removal has to write without A as well; the
    others add rows, of B, which shares its files with A, and of D.
    """
    storage = InterruptedStorage(lambda request: request.startswith(f"put_if_absent {VERSIONS}"))
    one = create(storage, group("app", {"[#small]": ["A", "B"]}))
    one.append(events(["A", "B", "C"], [1, 2, 3]))
    other = opened(storage)
    storage.interruptions = [
        lambda: other.delete("app = 'C'"),
        lambda: other.append(events("B", [10])),
        lambda: other.append(events("D", [11])),
    ]
    result = REMOVALS[removal](one)
    assert (result.version, storage.interruptions) == (5, [])
    kept = [2, 10, 11] if removal in ("delete", "drop_partition") else [2, 4, 10, 11]
    assert ids(one) == ids(opened(storage)) == kept
    assert_row_ids_are_unique(one)


def test_a_removal_that_is_overtaken_by_a_merge() -> None:
    """The manifests it was about to filter are one by then, and other entries have come in with them."""
    storage = InterruptedStorage(lambda request: request.startswith(f"put_if_absent {VERSIONS}"))
    one = create(storage)
    for i in range(15):
        one.append(events(f"app {i}", [i]))
    other = opened(storage)

    def appends_until_merged() -> None:
        for i in range(15, 18):
            other.append(events(f"app {i}", [i]))
        assert len(other.state.manifests) < 15

    storage.interruptions = [appends_until_merged, lambda: other.append(events("app 18", [18]))]
    one.delete("app = 'app 3'")
    assert ids(one) == [i for i in range(19) if i != 3]
    assert_row_ids_are_unique(one)


def test_an_append_that_is_overtaken_while_manifests_merge() -> None:
    """What it adds waits for the next merge: its number is not known before the commit has happened."""
    storage = InterruptedStorage(lambda request: request.startswith(f"put_if_absent {VERSIONS}"))
    one = create(storage)
    for i in range(15):
        one.append(events(f"app {i}", [i]))
    other = opened(storage)
    storage.interruptions = [lambda: other.set_properties({"owner": "somebody"})]
    result = one.append(events("new", [15]))
    (file,) = one.files("app = 'new'")
    assert file.added_version == result.version == 17
    one.append(events("newer", [16]))
    assert [f.added_version for f in one.files("app IN ('new', 'newer')")] == [17, 18]
    assert_row_ids_are_unique(one)


def test_manifests_of_two_specs_are_never_merged() -> None:
    """Enough small ones to merge, but not of one spec: each file stays under its own."""
    one = create(MemoryStorage())
    for i in range(8):
        one.append(events(f"app {i}", [i]))
    one.evolve(add="bucket(3, id)")
    for i in range(8, 18):
        one.append(events(f"app {i}", [i]))
    assert ids(one) == list(range(18))
    assert [f.spec_id for f in one.files()].count(0) == 8
    assert all(ids(one, f"app = 'app {i}' AND id = {i}") == [i] for i in range(18))


def test_partitions_that_look_alike_are_dropped_one_by_one() -> None:
    """'' is not NULL, and neither of them is the group's name."""
    one = create(MemoryStorage(), small("app"))
    one.append(
        pa.table({"dt": [None] * 3, "app": ["", None, "[#small]"], "id": [1, 2, 3]}, schema=events("", []).schema)
    )
    one.drop_partition(app="")
    assert ids(one) == [2, 3]
    one.drop_partition(app=None)
    assert ids(one) == [3]


# --- rollback ----------------------------------------------------------------------------------------------------


def test_a_rollback_is_a_new_version_with_the_old_rows() -> None:
    """Nothing is lost: the versions in between are still there, and can be rolled back to in turn."""
    one, _ = tables()
    one.append(events("A", [10]))
    one.delete("app = 'B'")
    one.rollback(1)
    assert (one.version, ids(one)) == (4, [1, 2, 3])
    assert (one.state.summary["to_version"], one.state.summary["rows_removed"]) == (1, 0)
    one.rollback(3)
    assert (one.version, ids(one)) == (5, [1, 3, 10])
    assert [ids(one.at(version=v)) for v in range(6)] == [
        [], [1, 2, 3], [1, 2, 3, 10], [1, 3, 10], [1, 2, 3], [1, 3, 10],
    ]  # fmt: skip


def test_a_rollback_keeps_what_only_grows() -> None:
    """Rules, specs, row ids and applied sequences: old files need the first, and ids must not be used twice."""
    one, _ = tables()
    one.set_rule(keep_all())
    one.append(events("A", [10]), applies=("job", 5))
    after = one.state
    one.rollback(1)
    assert one.state.rules == after.rules
    assert one.state.current_rule_id == 0
    assert one.state.next_row_id == after.next_row_id
    assert one.state.applied == {"job": 5}
    one.append(events("B", [20]))
    assert_row_ids_are_unique(one)


def test_a_rollback_counts_as_a_drop_of_the_columns_it_takes_away(tmp_path: Path) -> None:
    """Add x, roll back, add x: another column, under a physical name that no file has used."""
    table = coalesce.create(tmp_path, pa.schema([("k", pa.int64())]))
    table.append(pa.table({"k": [1]}))
    table.add_column("x", "int64")
    before = table.schema.field("x")
    table.append(pa.table({"k": [2], "x": [20]}))
    table.rollback(1)
    assert table.state.has_dropped_or_renamed
    table.add_column("x", "int64")
    table.append(pa.table({"k": [3], "x": [30]}))
    after = table.schema.field("x")
    assert (before.physical_name, after.physical_name.startswith("x-")) == ("x", True)
    assert after.id > before.id
    assert table.scan().to_arrow().sort_by("k").to_pydict() == {"k": [1, 3], "x": [None, 30]}
    table.rollback(3)  # the first x is back, and shows what it held
    assert table.scan().to_arrow().sort_by("k").to_pydict() == {"k": [1, 2], "x": [None, 20]}
    assert table.state.has_dropped_or_renamed


def test_a_rollback_that_keeps_every_column_sets_no_flag() -> None:
    """Rows alone came and went: names are as unused as they were."""
    one, _ = tables()
    one.append(events("A", [10]))
    one.rollback(1)
    assert not one.state.has_dropped_or_renamed


def test_a_rollback_conflicts_with_every_other_commit() -> None:
    """It replaces the whole table, so it must have seen the whole table."""
    one, other = tables()
    begun = core_of(one).transaction("rollback")
    begun.exclusive = True
    begun.replace_manifests(())
    other.append(events("C", [10]))
    with pytest.raises(CommitConflict, match="version 2 was committed while 'rollback' was under way"):
        core_of(one).commit(begun)


def test_a_rollback_to_a_version_that_is_not_there() -> None:
    """Says so and changes nothing."""
    one, _ = tables()
    with pytest.raises(VersionNotFound):
        one.rollback(7)
    assert one.refresh().version == 1


# --- applied once ------------------------------------------------------------------------------------------------


def test_a_write_with_a_sequence_is_applied_once() -> None:
    """Repeating it, by the same object or another, changes nothing and says which version has it."""
    one, other = tables()
    first = one.append(events("A", [10]), applies=("job", 1))
    again = one.append(events("A", [10]), applies=("job", 1))
    assert (first.committed, first.rows_added, again.committed, again.rows_added) == (True, 1, False, 0)
    assert again.version == other.append(events("A", [10]), applies=("job", 1)).version == first.version
    assert other.append(events("A", [9]), applies=("job", 0)).version == first.version  # an older one is done too
    assert other.append(events("A", [10]), applies=("another job", 1)).version == first.version + 1
    assert other.append(events("A", [11]), applies=("job", 2)).version == first.version + 2
    assert ids(other) == [1, 2, 3, 10, 10, 11]


def test_two_that_write_the_same_sequence_at_once_apply_it_once() -> None:
    """A restarted job and the one it was to replace."""
    one, other = tables()
    begun = []
    for table in (one, other):
        transaction = core_of(table).transaction("append", applies=("job", 1))
        transaction.add(core_of(table).engines.rows.write(core_of(table).snapshot(), events("A", [10])))
        begun.append(transaction)
    first, second = core_of(one).commit(begun[0]), core_of(other).commit(begun[1])
    assert first == second
    assert ids(opened(core_of(one).storage)) == [1, 2, 3, 10]


WRITES: list[Callable[[Table, Any], WriteResult]] = [
    lambda t, applies: t.append(events("A", [10]), applies=applies),
    lambda t, applies: t.overwrite(events("A", [10]), "app = 'A'", applies=applies),
    lambda t, applies: t.overwrite_partitions(events("A", [10]), applies=applies),
    lambda t, applies: t.delete("app = 'A'", applies=applies),
    lambda t, applies: t.drop_partition(app="A", applies=applies),
    lambda t, applies: t.truncate(applies=applies),
]
WRITE_NAMES = ["append", "overwrite", "overwrite_partitions", "delete", "drop_partition", "truncate"]


@pytest.mark.parametrize("write", WRITES, ids=WRITE_NAMES)
def test_every_write_can_be_made_once(write: Callable[[Table, Any], WriteResult]) -> None:
    """Repeated, it changes nothing and writes no file, though rows that it would remove have come since."""
    one, other = tables()
    first = write(one, ("job", 7))
    assert opened(core_of(one).storage).state.applied == {"job": 7}
    one.append(events("A", [11]))
    before = ids(one), {f.path for f in core_of(one).storage.list("")}
    for sequence in (7, 6):
        again = write(other, ("job", sequence))
        assert (again.version, again.committed) == (first.version + 1, False)
    assert (ids(other), {f.path for f in core_of(one).storage.list("")}) == before


@pytest.mark.parametrize("write", WRITES, ids=WRITE_NAMES)
@pytest.mark.parametrize(
    "applies",
    [
        ("job", -5),
        ("job", 2**63),
        ("job", 2**70),
        ("job", True),
        ("job", "1"),
        ("job", 1.0),
        ("job", None),
        ("", 1),
        (None, 1),
        (b"job", 1),
        ("job",),
        ("job", 1, 2),
        "j1",
        7,
    ],
)
def test_what_cannot_be_a_sequence_is_refused(write: Callable[[Table, Any], WriteResult], applies: Any) -> None:
    """Before anything is written: -5 counted as done long ago, and 2**70 is no 64-bit integer."""
    table, _ = tables()
    before = {f.path for f in core_of(table).storage.list("")}
    with pytest.raises(InvalidArgument, match=r"applies= is \(application, sequence\), a name and a number from 0"):
        write(table, applies)
    assert {f.path for f in core_of(table).storage.list("")} == before


@pytest.mark.parametrize("sequence", [0, 2**63 - 1, np.int64(3)])
def test_the_least_and_the_greatest_sequence_are_kept(sequence: int) -> None:
    """Both ends of what the format can hold go through the version file."""
    table, other = tables()
    table.append(events("A", [10]), applies=("job", sequence))
    assert opened(core_of(table).storage).state.applied == {"job": sequence}
    assert other.append(events("A", [10]), applies=("job", sequence)).version == table.version


def test_a_sequence_that_another_writer_commits_meanwhile_leaves_no_files() -> None:
    """What was written for the commit that was not made is deleted again: data file and manifest."""
    one, other = tables()
    engine = core_of(one).engines.rows
    written = engine.write(core_of(one).snapshot(), events("A", [10]))
    begun = core_of(one).transaction("append", applies=("job", 1))
    begun.add(written)
    other.append(events("A", [10]), applies=("job", 1))
    before = {f.path for f in core_of(one).storage.list("")} - {written[0].path}
    core_of(one).commit(begun)
    assert {f.path for f in core_of(one).storage.list("")} == before


# --- row ids -----------------------------------------------------------------------------------------------------


def row_id_ranges(table: Table) -> list[tuple[int, int]]:
    """The ids of the rows of each file, as first and one past the last, sorted."""
    files = table.files()
    assert all(f.first_row_id is not None for f in files)
    return sorted((f.first_row_id or 0, (f.first_row_id or 0) + f.rows) for f in files)


def assert_row_ids_are_unique(table: Table) -> None:
    """No two files share an id, and none has one that is still to be given out."""
    ranges = row_id_ranges(table)
    assert all(end <= start for (_, end), (start, _) in pairwise(ranges))
    assert all(end <= table.state.next_row_id for _, end in ranges)


def test_row_ids_are_dense_over_appends() -> None:
    """From 0, without a gap and without one twice, through merges and commits that had to be repeated."""
    storage = MemoryStorage()
    one, other = create(storage), opened(storage)
    chosen = random.Random(5)
    total = 0
    for _ in range(40):
        begun = core_of(one).transaction("append")
        begun.add(named_files(one, ["A", "B", "C"][: chosen.randint(1, 3)], rows=chosen.randint(0, 9)))
        if chosen.random() < 0.5:
            total += int(add_files(other, ["D"], rows=chosen.randint(1, 9)).summary["rows_added"])
        total += int(core_of(one).commit(begun).summary["rows_added"])
    ranges = [r for r in row_id_ranges(one) if r[0] != r[1]]
    assert ranges[0][0] == 0
    assert all(end == start for (_, end), (start, _) in pairwise(ranges))
    assert ranges[-1][1] == one.state.next_row_id == total


def test_row_ids_survive_a_rewrite() -> None:
    """A row that is written again without its neighbour keeps the id and the version it had."""
    one, _ = tables()
    before = row_ids(one)
    one.delete("app = 'A'")
    after = row_ids(one)
    assert after == {i: of for i, of in before.items() if i != 1}
    one.append(events("A", [10]))
    assert_row_ids_are_unique(one)
    assert row_ids(one)[10] not in before.values()


def row_ids(table: Table) -> dict[int, tuple[int, int]]:
    """For the `id` of each row its row id and the version that added it, read from the files themselves."""
    from coalesce.arrow.read import open_file

    found = {}
    for entry in table.files():
        with open_file(core_of(table).storage, entry, table.state) as file:
            lineage = file.lineage()
            assert lineage is not None
            values = file.read([table.schema.field("id")], range(len(file.group_rows))).column("id").to_pylist()
            rows = lineage.to_pylist()
        found.update({v: tuple(row.values()) for v, row in zip(values, rows, strict=True)})
    return found


# --- many small commits ------------------------------------------------------------------------------------------


def test_hundreds_of_small_commits_leave_few_manifests() -> None:
    """And every file is still found, by itself and among all, with its own version and row id."""
    storage = MemoryStorage()
    table = create(storage)
    most = 0
    for i in range(600):
        transaction = core_of(table).transaction("append")
        transaction.add([replace(f, path=f"data/{i}.parquet") for f in named_files(table, [f"app {i}"])])
        most = max(most, len(core_of(table).commit(transaction).manifests))
    assert most < 100
    assert len(table.state.manifests) < 100
    table = opened(storage)
    files = table.files()
    assert sorted(f.path for f in files) == sorted(f"data/{i}.parquet" for i in range(600))
    assert {f.path: (f.added_version, f.first_row_id) for f in files} == {
        f"data/{i}.parquet": (i + 1, i) for i in range(600)
    }
    for i in (0, 1, 299, 598, 599):
        assert [f.path for f in table.files(f"app = 'app {i}'")] == [f"data/{i}.parquet"]
    assert table.count() == 600


# --- stores that lose answers or fail ----------------------------------------------------------------------------


@pytest.mark.parametrize("error", [False, True], ids=["reports False", "reports an error"])
def test_a_commit_whose_answer_was_lost_is_made_once(error: bool) -> None:
    """The file is there and is this very commit: trying again would append the rows twice."""
    storage = LosingStorage(lambda path: path.startswith(VERSIONS), error=error)
    table = create(storage)
    for i in range(5):
        assert table.append(events("A", [i])).version == i + 1
    assert storage.lost == 6
    assert ids(opened(storage)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("carried_out", [True, False])
@pytest.mark.parametrize("error", [True, False])
def test_a_commit_whose_answer_and_file_are_out_of_reach_may_have_happened(carried_out: bool, error: bool) -> None:
    """Nobody can tell then: the error says so, with what to look for, and nothing is deleted; repeating it is safe."""

    class Cut(MemoryStorage):
        cut = False

        def put_if_absent(self, path: str, data: bytes) -> bool:
            if not self.cut or not path.startswith(VERSIONS):
                return super().put_if_absent(path, data)
            if carried_out:
                super().put_if_absent(path, data)
            if error:
                raise StorageError("could not write: connection reset by peer.")
            return False

        def read(self, path: str) -> bytes:
            if self.cut and path.startswith(VERSIONS) and path.endswith("2.json"):
                raise StorageError("could not read: connection refused.")
            return super().read(path)

    storage = Cut()
    table = create(storage)
    table.append(events("A", [1]), applies=("job", 1))
    storage.cut = True
    with pytest.raises(CommitUncertain, match=r"version 2 of the table .* may have been committed") as raised:
        table.append(events("A", [2]), applies=("job", 2))
    storage.cut = False
    found = [v for v in table.history() if v.commit_id == raised.value.commit_id]
    assert len(found) == carried_out
    table.append(events("A", [2]), applies=("job", 2))
    assert ids(table) == ids(opened(storage)) == [1, 2]


def test_a_data_file_whose_answer_was_lost_is_written_once() -> None:
    """The same for data files and manifests, whose names nobody else uses."""
    storage = LosingStorage(lambda path: not path.startswith(VERSIONS), error=False)
    table = create(storage)
    table.append(events("A", [1]))
    assert storage.lost >= 2
    assert ids(opened(storage)) == [1]


def test_an_answer_that_is_lost_while_another_wins_is_a_lost_race() -> None:
    """A store that says False, and means it."""
    storage = MemoryStorage()
    table = create(storage)
    other = opened(storage)
    begun = begin_append(table, "A", [1])
    other.append(events("B", [2]))
    assert core_of(table).commit(begun).number == 2
    assert ids(table) == [1, 2]


def test_a_store_that_refuses_without_having_the_file_is_asked_again() -> None:
    """S3 answers so while another create of the same key is under way, which may fail in the end."""

    class Busy(MemoryStorage):
        refusals = 3

        def put_if_absent(self, path: str, data: bytes) -> bool:
            if path.startswith(VERSIONS) and not path.endswith("00.json") and self.refusals:
                self.refusals -= 1
                return False
            return super().put_if_absent(path, data)

    storage = Busy()
    table = create(storage)
    table.append(events("A", [1]))
    assert storage.refusals == 0
    assert (table.version, ids(opened(storage))) == (1, [1])


def test_a_writer_that_is_always_overtaken_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """After many attempts it says so, instead of trying for ever."""
    storage = MemoryStorage()
    table, other = create(storage), opened(storage)
    begun = replace(begin_append(table, "A", [1]), attempts=5)
    real = storage.put_if_absent
    overtaking: list[Version] = []

    def put_if_absent(path: str, data: bytes) -> bool:
        if path.startswith(VERSIONS) and len(overtaking) < 10:
            monkeypatch.setattr(storage, "put_if_absent", real)
            overtaking.append(add_files(other, ["B"]))
            monkeypatch.setattr(storage, "put_if_absent", put_if_absent)
        return real(path, data)

    monkeypatch.setattr(storage, "put_if_absent", put_if_absent)
    with pytest.raises(CommitConflict, match="5 attempts to commit 'append' were each overtaken"):
        core_of(table).commit(begun)
    assert len(overtaking) == 5


OPERATIONS: list[Callable[[Table], object]] = [
    lambda t: t.append(events(["A", "B", "C", "D"], [10, 11, 12, 13])),
    lambda t: t.delete("app = 'A'"),
    lambda t: t.overwrite(events("B", [20]), "app = 'B'"),
    lambda t: t.rollback(0),
    lambda t: t.set_rule(keep_all()),
]


@pytest.mark.parametrize("operation", OPERATIONS, ids=["append", "delete", "overwrite", "rollback", "set_rule"])
def test_a_write_that_fails_anywhere_changes_nothing(operation: Callable[[Table], object]) -> None:
    """The disk is full at the first write, the second, …: an error each time, the old rows, and no new version."""
    finished = False
    for fails_at in range(20):
        storage = FailingStorage()
        table = create(storage, group("app", {"[#small]": ["A", "B"]}))
        table.append(events(["A", "B", "C"], [1, 2, 3]))
        storage.fails_at = fails_at
        try:
            operation(table)
        except StorageError:
            storage.fails_at = None
            assert (opened(storage).version, ids(opened(storage))) == (1, [1, 2, 3])
            if not storage.failed[0].startswith(VERSIONS):  # a version that was sent off may yet arrive
                assert {f.path for f in storage.list("data")} == {f.path for f in table.files()}
            table.append(events("C", [4]))  # and the object is still good
            assert ids(table) == [1, 2, 3, 4]
        else:
            finished = True  # only the hint is left to fail, and that is no failure
            assert opened(storage).version == 2
            break
    assert finished


def test_an_append_that_fails_leaves_no_data_files() -> None:
    """What was written before the failure is taken back."""
    storage = FailingStorage()
    table = create(storage)
    storage.fails_at = 2
    with pytest.raises(StorageError, match="no space left"):
        table.append(events(["A", "B", "C", "D"], [1, 2, 3, 4]))
    assert not [path for path in storage.files if path.startswith("data/")]


# --- odds and ends -----------------------------------------------------------------------------------------------


def test_a_summary_says_what_came_and_went() -> None:
    """Files, rows and bytes, added and removed; a rewritten file counts on both sides, its rows on neither."""
    one, _ = tables()
    one.append(events(["A", "C"], [10, 11]))
    summary = one.state.summary
    assert (summary["files_added"], summary["rows_added"], summary["files_removed"]) == (2, 2, 0)
    before = one.state
    one.delete("app = 'B'")
    summary = one.state.summary
    assert (summary["files_added"], summary["files_removed"]) == (1, 1)
    assert (summary["rows_added"], summary["rows_removed"], summary["rows_rewritten"]) == (0, 1, 1)
    assert before.bytes + int(summary["bytes_added"]) - int(summary["bytes_removed"]) == one.state.bytes


def test_an_empty_append_is_a_version_without_files() -> None:
    """No rows, no file, no manifest."""
    table = create(MemoryStorage())
    result = table.append(pa.table({"dt": [], "app": [], "id": []}, schema=events("A", []).schema))
    assert (result.version, result.committed, table.state.manifests, table.state.rows) == (1, True, (), 0)


def test_files_under_several_specs_go_to_a_manifest_each() -> None:
    """One manifest has one spec; one commit may have several."""
    storage = MemoryStorage()
    table = create(storage)
    change = core_of(table).transaction("evolve")

    def add_spec(head: Version) -> Version:
        spec = replace(head.spec, spec_id=1, fields=head.spec.fields[:1])
        return replace(head, specs=(*head.specs, spec), current_spec_id=1)

    change.change(add_spec)
    core_of(table).commit(change)
    begun = core_of(table).transaction("append")
    begun.add(
        [
            DataFile(
                path="data/a", spec_id=0, rows=1, bytes=1, physical_key=(1, "a"), tuples=((1, "a"),), complete=True
            ),
            DataFile(path="data/b", spec_id=1, rows=1, bytes=1, physical_key=(1,), tuples=((1,),), complete=True),
            DataFile(path="data/c", spec_id=0, rows=1, bytes=1),
        ]
    )
    core_of(table).commit(begun)
    assert sorted((m.spec_id, m.files) for m in table.state.manifests) == [(0, 2), (1, 1)]
    assert sorted(f.path for f in opened(storage).files()) == ["data/a", "data/b", "data/c"]
    assert sorted(f.path for f in opened(storage).files("app = 'b'")) == ["data/b", "data/c"]
