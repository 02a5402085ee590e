"""Small files are merged after a write, if the table's properties say so, and only then."""

import threading
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest

import coalesce
from coalesce.arrow.engine import ArrowEngine
from coalesce.arrow.read import open_file
from coalesce.errors import StorageError
from coalesce.model.datafile import DataFile
from coalesce.table.engine import Engines, Snapshot
from coalesce.table.layout import Arrangement
from coalesce.table.maintain import auto
from coalesce.table.maintain.worth import Job, crowded
from coalesce.table.table import Table, core_of
from tests.checker import check_files
from tests.table.examples import create, events, ids, opened
from tests.table.stores import MemoryStorage

APPS = ["A", "B", "C"]
AUTO = {"write.auto-compact": "true", "write.auto-compact-files": "4"}


def kept(**properties: str) -> Table:
    """A table that keeps itself in shape."""
    return create(MemoryStorage(), coalesce.small("app", below="1MB"), **{**AUTO, **properties})


def fill(table: Table, appends: int, start: int = 0) -> int:
    """Append so often three rows; the largest number of files that there were."""
    most = 0
    for number in range(start, start + appends):
        table.append(events(APPS, range(3 * number, 3 * number + 3)))
        most = max(most, table.state.files)
    return most


def test_it_is_off_unless_asked_for() -> None:
    """Each append leaves a file, and a version."""
    table = create(MemoryStorage(), coalesce.small("app"))
    fill(table, 10)
    assert (table.state.files, table.version) == (10, 10)


def test_files_stay_few_and_rows_stay_what_they_are() -> None:
    """However many appends: a handful for each size of files; entries are right and every row has an id of its own."""
    table = kept()
    assert fill(table, 130) <= 5 * 3
    assert ids(table) == list(range(390))
    assert {v.operation for v in table.history()} == {"append", "compact", "create"}
    check_files(core_of(table).storage, table.state, table.files())
    found = []
    for file in table.files():
        with open_file(core_of(table).storage, file, table.state) as stored:
            lineage = stored.lineage()
            assert lineage is not None
            found += lineage.column("_row_id").to_pylist()
    assert len(set(found)) == 390


def test_it_can_be_turned_on_later() -> None:
    """The next write merges what has gathered, within the budget."""
    table = create(MemoryStorage(), coalesce.small("app"))
    fill(table, 20)
    table.set_properties(AUTO)
    fill(table, 1, start=20)
    assert table.state.files == 1


def test_only_what_a_write_touches_is_looked_at() -> None:
    """Another day's small files stay until something is written there."""
    table = create(MemoryStorage(), coalesce.small("app"))
    fill(table, 10)
    table.set_properties(AUTO)
    table.append([{"dt": date(2026, 5, 18), "app": "A", "id": 1000}])
    assert table.state.files == 11


def test_the_result_of_a_write_is_that_of_the_write() -> None:
    """Its version is the one with the rows; the table has moved on to the one that is compacted."""
    table = kept()
    fill(table, 4)
    result = table.append(events(APPS, [100, 101, 102]))
    assert (result.operation, result.version, result.files_added) == ("append", 5, 1)
    assert (table.version, table.state.files) == (6, 1)


def test_writers_that_compact_at_the_same_time_lose_nothing() -> None:
    """One of them gives way; all rows are there once."""
    table = kept()
    storage = core_of(table).storage
    errors: list[BaseException] = []

    def work(first: int) -> None:
        try:
            fill(opened(storage), 12, start=first)
        except BaseException as error:  # noqa: BLE001 - shown below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(12 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert ids(opened(storage)) == list(range(3 * 48))
    check_files(storage, opened(storage).state, opened(storage).files())


def test_a_failure_is_a_warning() -> None:
    """The rows are committed: to raise would make a caller append them again."""

    class Full(ArrowEngine):
        """Has no room to compact."""

        def compact(
            self,
            snapshot: Snapshot,  # noqa: ARG002 - the engine's signature
            files: Sequence[DataFile],  # noqa: ARG002
            arrangement: Arrangement | None = None,  # noqa: ARG002
        ) -> list[DataFile]:
            """Fails."""
            raise StorageError("the disk is full.")

    table = kept()
    fill(table, 4)
    table = Table(core_of(table).storage, Engines(Full()))
    with pytest.warns(RuntimeWarning, match="the rows are committed, but small files of memory could not be merged"):
        result = table.append(events(APPS, [100, 101, 102]))
    assert result.committed
    assert table.count() == 15


@pytest.mark.parametrize(
    ("name", "value"),
    [("write.auto-compact", "yes"), ("write.auto-compact-files", "1"), ("write.auto-compact-bytes", "many")],
)
def test_settings_that_make_no_sense(name: str, value: str) -> None:
    """They are refused when they are set."""
    with pytest.raises(coalesce.InvalidArgument, match=f"the property '{name}'"):
        kept(**{name: value})


def test_a_logical_partition_that_lies_in_two_places() -> None:
    """It has grown: its old rows share files, the new ones have their own, and both are too many at the same time."""
    table = create(MemoryStorage(), coalesce.small("app", below="1MB"))
    fill(table, 6)
    table.set_rule(coalesce.small("app", below=1))
    for number in range(18, 24):
        table.append(events("A", [number]))
    assert table.state.files == 12
    table.set_rule(coalesce.group("app", {"[#small]": ["B", "C"]}))
    table.set_properties(AUTO)
    table.append(events(APPS, [24, 25, 26]))
    assert table.state.files == 2
    assert ids(table) == list(range(27))
    assert table.count("app = 'A'") == 13
    check_files(core_of(table).storage, table.state, table.files())


def test_a_layout_that_changes_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are committed, and what was planned for the old columns is left for the next time."""
    table = kept()
    fill(table, 4)

    def overtaken(*arguments: Any) -> list[Job]:
        opened(core_of(table).storage).add_column("more", "int64")
        return crowded(*arguments)

    monkeypatch.setattr(auto, "crowded", overtaken)
    assert table.append(events(APPS, [100, 101, 102])).committed
    assert table.count() == 15
