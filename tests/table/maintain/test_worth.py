"""What is worth writing again: never for nothing, never for the worse, and not twice."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import coalesce
from coalesce.model.datafile import DataFile
from coalesce.model.rule import Group, PhysicalKey
from coalesce.model.spec import LogicalTuple
from coalesce.predicate.expr import TRUE
from coalesce.table.maintain.held import Held, held
from coalesce.table.maintain.worth import (
    GROWN,
    OLD,
    SHRUNK,
    SMALL,
    SPREAD,
    Job,
    Limits,
    crowded,
    joined,
    packed,
    worth_doing,
)
from coalesce.table.table import Table, core_of
from tests.support.examples import examples
from tests.table.examples import create
from tests.table.stores import MemoryStorage

DAY = 20_590
MB = 1024 * 1024
TARGET = 10 * MB
BELOW = 4 * MB
SHARED: PhysicalKey = (DAY, Group("[#small]"))


def table_of(files: Sequence[DataFile]) -> Table:
    """A table by day and app with these entries; there are no data files."""
    table = create(MemoryStorage(), coalesce.small("app", below=BELOW))
    add(table, files)
    return table


def add(table: Table, files: Sequence[DataFile], removed: Sequence[DataFile] = ()) -> None:
    """Commit entries in place of others."""
    transaction = core_of(table).transaction("compact")
    transaction.add(files)
    transaction.remove(removed)
    core_of(table).commit(transaction)


_number = iter(range(10**9))


def file(apps: dict[str, int], bytes_: int, *, alone: bool = False, rule_id: int = 0) -> DataFile:
    """An entry of a file with so many rows of each app."""
    tuples: list[LogicalTuple] = [(DAY, app) for app in sorted(apps)]
    return DataFile(
        path=f"data/made-up/{next(_number)}.parquet",
        spec_id=0,
        rows=sum(apps.values()),
        bytes=bytes_,
        rule_id=rule_id,
        physical_key=tuples[0] if alone else SHARED,
        tuples=tuple(tuples),
        tuple_rows=tuple(apps[app] for app in sorted(apps)),
        complete=True,
    )


def look(table: Table) -> Held:
    """What the planner sees."""
    return held(core_of(table).plan(TRUE))


def jobs_of(table: Table, limits: Limits | None = None, target: int = TARGET) -> list[Job]:
    """What is worth doing about all files."""
    seen = look(table)
    return worth_doing(seen, np.ones(len(seen.rows), np.bool_), target, limits or Limits())


def carry_out(table: Table, job: Job) -> None:
    """As an engine would, if every row took what the planner expects."""
    before = look(table).entries(job.files)
    assert job.arrangement is not None
    each = job.arrangement.bytes_per_row
    after = [
        DataFile(
            path=f"data/made-up/{next(_number)}.parquet",
            spec_id=0,
            rows=planned.rows,
            bytes=max(1, int(planned.rows * each)),
            rule_id=table.state.current_rule_id,
            physical_key=planned.physical_key,
            tuples=tuple(job.arrangement.tuples[s.index] for s in planned.slices),
            tuple_rows=tuple(s.rows for s in planned.slices),
            complete=True,
        )
        for planned in job.arrangement.files
    ]
    add(table, after, before)


def settle(table: Table, limits: Limits | None = None, target: int = TARGET) -> list[dict[str, int]]:
    """Do what is worth doing until nothing is; the reasons, job by job."""
    done: list[dict[str, int]] = []
    for _ in range(20):
        found = jobs_of(table, limits, target)
        if not found:
            return done
        paths = [{f.path for f in look(table).entries(job.files)} for job in found]
        for job, inputs in zip(found, paths, strict=True):
            numbers = [n for n, f in enumerate(_in_order(table)) if f.path in inputs]
            carry_out(table, replace(job, files=np.array(numbers)))
            done.append(dict(job.reasons))
    raise AssertionError("it never ends")


def _in_order(table: Table) -> list[DataFile]:
    seen = look(table)
    return seen.entries(np.arange(len(seen.rows)))


def rows_of(table: Table) -> Counter[LogicalTuple]:
    """How many rows there are of each tuple."""
    total: Counter[LogicalTuple] = Counter()
    for entry in table.files():
        total.update(dict(zip(entry.tuples or (), entry.tuple_rows or (), strict=True)))
    return total


# --- examples ------------------------------------------------------------------------------------------------------


def test_small_files_become_one() -> None:
    """Three of a quarter make one file; another look finds nothing."""
    table = table_of([file({"a": 100, "b": 100}, 2 * MB) for _ in range(3)])
    (job,) = jobs_of(table)
    assert (len(job.files), job.files_after, job.reasons) == (3, 1, {SMALL: 3})
    assert settle(table) == [{SMALL: 3}]
    assert jobs_of(table) == []


def test_one_small_file_has_no_neighbour() -> None:
    """Nor do small files of different physical partitions."""
    assert jobs_of(table_of([file({"a": 100}, 2 * MB)])) == []
    assert jobs_of(table_of([file({"a": 100}, 2 * MB), file({"b": 9000}, 7 * MB, alone=True)])) == []


def test_files_that_are_large_enough_stay() -> None:
    """Three quarters of the target are enough, however many there are of different tuples."""
    assert jobs_of(table_of([file({f"app-{i}{j}": 1000 for j in range(3)}, 8 * MB) for i in range(9)])) == []


def test_a_tuple_that_has_grown_gets_a_partition_of_its_own() -> None:
    """Its rows leave the shared files; those of the others stay together."""
    table = table_of([file({"a": 1000, "big": 7000}, 8 * MB)])
    assert settle(table) == [{GROWN: 1}]
    assert {f.physical_key for f in table.files()} == {SHARED, (DAY, "big")}
    assert jobs_of(table) == []


def test_a_tuple_that_has_shrunk_goes_back() -> None:
    """Below half of the limit; between that and the limit it stays where it is, so that nothing flaps."""
    between = table_of([file({"a": 10, "c": 10, "d": 10}, 8 * MB), file({"b": 3000}, 3 * MB, alone=True)])
    assert jobs_of(between) == []
    table = table_of([file({"a": 1000}, 2 * MB), file({"b": 1500}, int(1.5 * MB), alone=True)])
    assert settle(table)[0] == {SHRUNK: 1}
    assert {f.physical_key for f in table.files()} == {SHARED}
    assert len(table.files()) == 1
    assert jobs_of(table) == []


def test_large_files_of_the_same_tuples_are_written_as_one_run() -> None:
    """Each of twenty apps lies in two files and then in one."""
    apps = {f"app-{i:02}": 100 for i in range(20)}
    table = table_of([file(apps, 10 * MB), file(apps, 10 * MB)])
    assert settle(table) == [{SPREAD: 2}]
    assert sum(len(f.tuples or ()) for f in table.files()) == 20
    assert len(table.files()) == 2


def test_a_little_of_many_tuples_is_not_worth_large_files() -> None:
    """A small file that has something of each of ten large ones stays beside them until it has enough."""
    large = [file({f"app-{i}{j}": 1000 for j in range(10)}, 10 * MB) for i in range(10)]
    some = {f"app-{i}{j}": 20 for i in range(10) for j in range(10)}
    table = table_of([*large, file(some, MB)])
    assert jobs_of(table) == []
    add(table, [file(dict.fromkeys(some, 250), 7 * MB)])
    assert settle(table)[0] == {SPREAD: 10, SMALL: 2}
    assert max(Counter(t for f in table.files() for t in f.tuples or ()).values()) <= 2, "but for those that are cut"


def test_a_tuple_too_large_for_one_file_is_no_reason() -> None:
    """It is cut where one file ends and the next begins, and stays so."""
    apps = {f"app-{i}": 900 for i in range(9)}
    table = table_of([file(apps, 3 * MB) for _ in range(9)])
    settle(table, target=2 * MB)
    found = sorted(f.tuples for f in table.files() if f.tuples)
    assert any(before[-1] == after[0] for before, after in pairwise(found))
    assert jobs_of(table, target=2 * MB) == []


def test_files_of_an_older_rule() -> None:
    """They move although they lie where they should: the rule that made them is another one."""
    table = table_of([file({"a": 1000}, 9 * MB)])
    table.set_rule(coalesce.small("app", below=5 * MB))
    assert settle(table)[0] == {OLD: 1}
    assert jobs_of(table) == []


def test_very_many_files_are_merged_a_few_at_a_time() -> None:
    """Each job stays below the limits; in the end there are as few as if all had been seen at once."""
    table = table_of([file({f"app-{i % 7}": 10, "z": 1}, 20_000) for i in range(200)])
    limits = Limits(files=30)
    assert all(len(job.files) <= 30 for job in jobs_of(table, limits))
    settle(table, limits)
    assert len(table.files()) == 1


def test_steps_are_filled() -> None:
    """Best fit, the largest first: seven jobs of 1 to 7 in steps of 10 are three steps, and none is too large."""

    def job(size: int, by_itself: bool = False) -> Job:
        return Job(files=np.array([size]), bytes=size, reasons={}, arrangement=None, less=1, by_itself=by_itself)

    steps = packed([job(size) for size in range(1, 8)], Limits(bytes=10))
    assert sorted(sum(j.bytes for j in step) for step in steps) == [8, 10, 10]
    assert [len(step) for step in packed([job(1) for _ in range(7)], Limits(bytes=10**9, files=3))] == [3, 3, 1]
    assert [len(step) for step in packed([job(1, True), job(1), job(30), job(2)], Limits(bytes=10))] == [1, 1, 2]


def test_jobs_that_are_done_together_have_one_arrangement() -> None:
    """Every file keeps its tuples under their new numbers."""
    table = table_of([file({app: 100}, 5 * MB, alone=True) for app in "aabb"])
    found = jobs_of(table)
    assert [len(job.files) for job in found] == [2, 2]
    together = joined(found)
    assert together is not None
    named = {(together.tuples[s.index], s.rows) for f in together.files for s in f.slices}
    assert named == {((DAY, "a"), 200), ((DAY, "b"), 200)}


# --- without anyone asking -----------------------------------------------------------------------------------------


def test_a_crowd_is_merged_tier_by_tier() -> None:
    """As in a merge tree: a row is written again once for each size, so 300 appends cost each row two or three."""
    table = table_of([])
    written = rewritten = most = 0
    for _ in range(300):
        add(table, [file({"a": 500, "b": 500}, 1000)])
        written += 1000
        for job in crowded(look(table), 16, TARGET, TARGET * 10):
            rewritten += sum(f.rows for f in look(table).entries(job.files))
            carry_out(table, job)
        most = max(most, len(table.files()))
    assert most <= 2 * 17
    assert rewritten <= 3 * written


def test_a_crowd_larger_than_the_budget_waits() -> None:
    """The smallest files are merged as far as the budget goes."""
    table = table_of([file({"a": 500}, MB) for _ in range(17)])
    (job,) = crowded(look(table), 16, TARGET, 5 * MB)
    assert len(job.files) == 5
    assert crowded(look(table), 16, TARGET, MB) == []
    assert crowded(look(table), 17, TARGET, TARGET) == []


# --- properties ------------------------------------------------------------------------------------------------------


@st.composite
def layouts(draw: st.DrawFn) -> list[DataFile]:
    """Files of any sizes, shared or not, with any apps."""
    found = []
    for _ in range(draw(st.integers(0, 14))):
        alone = draw(st.booleans())
        names = draw(st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=1 if alone else 8))
        each = draw(st.integers(1, 4000))
        apps = {name: each * draw(st.integers(1, 3)) for name in sorted(names)}
        row_bytes = draw(st.sampled_from([0.5, 900, 1000, 3000]))
        size = max(1, int(sum(apps.values()) * row_bytes))
        found.append(file(apps, size, alone=alone))
    return found


@settings(max_examples=examples(25), deadline=None)
@given(layouts(), st.integers(2, 20))
def test_any_layout_settles_and_none_gets_worse(files: list[DataFile], most: int) -> None:
    """Merging leaves fewer files and postings each time, every row is there once, and the end is the end."""
    table = table_of(files)
    rows = rows_of(table)
    limits = Limits(files=most)
    for _ in range(30):
        found = jobs_of(table, limits)
        if not found:
            break
        job = found[0]
        before = _fragments(table)
        carry_out(table, job)
        assert rows_of(table) == rows
        if not {GROWN, SHRUNK, OLD} & set(job.reasons):
            assert _fragments(table) < before
    assert jobs_of(table, limits) == []


def _fragments(table: Table) -> int:
    return len(table.files()) + sum(len(f.tuples or ()) for f in table.files())


def test_wide_rows_beside_many_narrow_ones() -> None:
    """What a row takes is not what it takes elsewhere: files do not become many times as large as they should."""
    wide = [file({"A": 50}, 512 * 1024) for _ in range(40)]
    table = table_of([*wide, file({"B": 200_000}, 2_000, alone=True)])
    (job,) = jobs_of(table, target=MB)
    assert len(job.files) == 40
    assert 18 <= job.files_after <= 22


def test_files_of_their_own_move_to_several_new_places() -> None:
    """Two days of apps that are alone and small: where they go there is nothing yet, and so nothing to compare with."""
    days = [
        replace(file({app: 10}, 1000), physical_key=(day, app), tuples=((day, app),))
        for day in (DAY, DAY + 1, DAY + 2)
        for app in ("a", "b", "c")
    ]
    table = table_of(days)
    assert settle(table) == [{SHRUNK: 9}]
    assert len(table.files()) == 3
