"""Compaction while others write: whatever happens between two steps, no row comes back, goes or is there twice."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coalesce
from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import CommitConflict
from coalesce.model.datafile import DataFile
from coalesce.table.engine import Engines, Snapshot
from coalesce.table.layout import Arrangement
from coalesce.table.maintain.worth import OLD
from coalesce.table.table import Table, core_of
from tests.checker import check_files
from tests.support.examples import examples
from tests.table.examples import create, events, ids, opened
from tests.table.stores import MemoryStorage

APPS = ["A", "B", "C", "D", "E"]


def old_layout() -> Table:
    """Five files of an older rule, two rows each, that a compaction would move."""
    table = create(MemoryStorage())
    for number, app in enumerate(APPS):
        table.append(events(app, [2 * number, 2 * number + 1]))
    table.set_rule(coalesce.small("app", below="1GB"))
    return table


@pytest.mark.parametrize("same_object", [False, True])
def test_rows_deleted_between_two_steps_stay_deleted(same_object: bool) -> None:
    """By another process or by this one: a later step does not bring the rows of a file back that is gone."""
    table = old_layout()
    other = table if same_object else opened(core_of(table).storage)
    steps = table.compact_steps(step_bytes=1)
    next(steps)
    other.delete("app = 'D'")
    other.overwrite(events("C", [100]), "app = 'C'")
    list(steps)
    assert ids(opened(core_of(table).storage)) == [0, 1, 2, 3, 8, 9, 100]


def test_two_compactions_at_once_double_nothing() -> None:
    """Steps in turn: each takes what the other has left."""
    table = old_layout()
    one, other = (t.compact_steps(step_bytes=1) for t in (table, opened(core_of(table).storage)))
    for _ in range(3):
        next(one, None)
        next(other, None)
    list(one)
    list(other)
    assert ids(opened(core_of(table).storage)) == list(range(10))


def test_a_step_gives_way_to_others() -> None:
    """A file that goes while its rows are read stays gone; those that were to be merged with it are left for later."""
    table = old_layout()
    table.set_rule(coalesce.keep_all())

    class Overtaken(ArrowEngine):
        """Another writer removes a file while its rows are written again, once."""

        def compact(
            self, snapshot: Snapshot, files: Sequence[DataFile], arrangement: Arrangement | None = None
        ) -> list[DataFile]:
            """As ever, but slower than the other."""
            if any(f.rows == 2 and f.tuples and f.tuples[0][1] == "A" for f in files):
                opened(snapshot.storage).delete("app = 'A'")
            return super().compact(snapshot, files, arrangement)

    before = table.files()
    overtaken = Table(core_of(table).storage, Engines(Overtaken()))
    steps = list(overtaken.compact_steps(step_bytes=max(f.bytes for f in before) * 2))
    (gone,) = (f.path for f in before if f.tuples and f.tuples[0][1] == "A")
    skipped = {path for step in steps for path in step.skipped}
    assert gone in skipped
    assert len(skipped) == 2
    assert [step.files_before for step in steps] == [0, 2, 1]
    assert {f.path for f in table.refresh().files()} < {f.path for f in core_of(table).storage.list("data")}
    assert len(core_of(table).storage.list("data")) == 5 + 3, "what was written in vain is taken away"
    assert ids(opened(core_of(table).storage)) == list(range(2, 10))
    assert table.compact().files_before == 1
    assert ids(opened(core_of(table).storage)) == list(range(2, 10))


def test_only_what_was_removed_is_left_out() -> None:
    """Of many merges in one commit, the one whose files are gone is left out; the others are done all the same."""
    table = create(MemoryStorage())
    for number in range(2):
        table.append(events(APPS, range(5 * number, 5 * number + 5)))

    class Overtaken(ArrowEngine):
        """Another writer removes an app while its files are merged, once."""

        def compact(
            self, snapshot: Snapshot, files: Sequence[DataFile], arrangement: Arrangement | None = None
        ) -> list[DataFile]:
            """As ever, but slower than the other."""
            opened(snapshot.storage).delete("app = 'A'")
            return super().compact(snapshot, files, arrangement)

    result = Table(core_of(table).storage, Engines(Overtaken())).compact()
    assert (result.steps, result.files_before, result.files_after, len(result.skipped)) == (1, 8, 4, 2)
    assert ids(opened(core_of(table).storage)) == [1, 2, 3, 4, 6, 7, 8, 9]


def test_it_ends_although_others_append() -> None:
    """What comes in after it began is left for the next time: a writer that never rests cannot keep it from ending."""
    table = old_layout()
    other = opened(core_of(table).storage)
    steps = []
    for step in table.compact_steps(step_bytes=1):
        steps.append(step)
        assert len(steps) < 20
        for number in range(3):
            other.append(events("A", [1000 + 10 * len(steps) + number]))
    assert len(ids(opened(core_of(table).storage))) == 10 + 3 * len(steps)


def test_columns_that_change_meanwhile_are_planned_for_again() -> None:
    """A column that goes while a step is under way: what was written for it is not committed, and done anew."""
    table = old_layout()

    class Overtaken(ArrowEngine):
        """Another writer drops a column while rows are written, once."""

        def compact(
            self, snapshot: Snapshot, files: Sequence[DataFile], arrangement: Arrangement | None = None
        ) -> list[DataFile]:
            """As ever, but slower than the other."""
            other = opened(snapshot.storage)
            if "extra" in other.schema.names:
                other.drop_column("extra")
            return super().compact(snapshot, files, arrangement)

    table.add_column("extra", "int64", default=5)
    result = Table(core_of(table).storage, Engines(Overtaken())).compact()
    assert (result.files_before, result.files_after, result.skipped) == (5, 1, ())
    assert ids(opened(core_of(table).storage)) == list(range(10))
    assert len(core_of(table).storage.list("data")) == 5 + 1


def test_a_transaction_cannot_remove_what_its_base_does_not_have() -> None:
    """Planned from another version than the one it builds on, it is refused: the rows may be elsewhere by now."""
    table = old_layout()
    (stale,) = table.files("app = 'B'")
    table.delete("app = 'B'")
    transaction = core_of(table).transaction("compact")
    transaction.remove([stale])
    with pytest.raises(CommitConflict, match=r"1 of the files this transaction replaces, such as data/.* are not in"):
        core_of(table).commit(transaction)


def test_steps_are_as_large_as_was_asked() -> None:
    """All that fits into one step, each file in one of its own, or two by two; the sums add up."""
    sizes = [f.bytes for f in old_layout().files()]
    for step_bytes, expected in [(10**9, [5]), (1, [1] * 5), (max(sizes) * 2, [2, 2, 1]), (sum(sizes), [5])]:
        moved = [s for s in old_layout().compact_steps(step_bytes=step_bytes) if OLD in s.reasons]
        assert [step.files_before for step in moved] == expected
        assert sum(step.bytes_moved for step in moved) == sum(sizes)
        assert [step.bytes_left for step in moved] == [
            sum(sizes) - sum(s.bytes_moved for s in moved[: i + 1]) for i in range(len(moved))
        ]


def test_a_rule_alone_makes_files_worth_moving() -> None:
    """The spec is the same; after the compaction the small apps share a file, and nothing is left to do."""
    table = old_layout()
    result = table.compact()
    assert (result.files_before, result.files_after, result.steps, result.reasons) == (5, 1, 1, {OLD: 5})
    assert {f.rule_id for f in table.files()} == {table.state.current_rule_id}
    assert table.compact().files_before == 0
    assert ids(table) == list(range(10))
    check_files(core_of(table).storage, table.state, table.files())


@st.composite
def interruptions(draw: st.DrawFn) -> list[tuple[str, str]]:
    """What others do between two steps."""
    kinds = ["append", "delete", "overwrite", "overwrite_partitions", "drop", "compact", "rule", "part"]
    return draw(st.lists(st.tuples(st.sampled_from(kinds), st.sampled_from(APPS)), max_size=3))


@settings(max_examples=examples(15))
@given(st.data(), st.integers(1, 4000))
def test_compaction_among_any_other_writes(data: st.DataObject, step_bytes: int) -> None:
    """Between any two steps another object appends, removes, replaces or compacts; rows are those of a list."""
    table = old_layout()
    other = opened(core_of(table).storage)
    rows = {(app, 2 * i + j) for i, app in enumerate(APPS) for j in range(2)}
    fresh = iter(range(100, 10_000))
    steps = table.compact_steps(step_bytes=step_bytes)
    for _ in range(6):
        for kind, app in data.draw(interruptions()):
            rows = _interrupt(other, kind, app, rows, fresh)
        if next(steps, None) is None:
            break
        assert ids(opened(core_of(table).storage)) == sorted(i for _, i in rows)
    table.compact()
    found = opened(core_of(table).storage).scan().to_arrow()
    assert set(zip(found.column("app").to_pylist(), found.column("id").to_pylist(), strict=True)) == rows
    assert found.num_rows == len(rows)
    check_files(core_of(table).storage, table.refresh().state, table.files())


def _interrupt(
    other: Table, kind: str, app: str, rows: set[tuple[str, int]], fresh: Iterator[int]
) -> set[tuple[str, int]]:
    number = next(fresh)
    elsewhere = {row for row in rows if row[0] != app}
    match kind:
        case "append":
            other.append(events(app, [number]))
            return rows | {(app, number)}
        case "delete":
            other.delete(f"app = '{app}'")
            return elsewhere
        case "part":
            other.delete(f"app = '{app}' AND id < 100")
            return {row for row in rows if row[0] != app or row[1] >= 100}
        case "overwrite":
            other.overwrite(events(app, [number]), f"app = '{app}'")
            return elsewhere | {(app, number)}
        case "overwrite_partitions":
            other.overwrite_partitions(events(app, [number]))
            return elsewhere | {(app, number)}
        case "drop":
            other.drop_partition(app=app)
            return elsewhere
        case "compact":
            list(other.compact_steps(step_bytes=1500))
            return rows
        case _:
            other.set_rule(coalesce.group("app", {"some": sorted({app, "A"})}))
            return rows
