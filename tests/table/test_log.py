import os
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from coalesce.errors import (
    CoalesceError,
    CommitConflict,
    CorruptMetadata,
    NotAFile,
    SchemaError,
    StorageError,
    TableExists,
    TableNotFound,
    VersionNotFound,
)
from coalesce.manifest.paths import LATEST_HINT, version_path
from coalesce.storage.base import Listing
from coalesce.storage.local import LocalStorage
from coalesce.storage.objects import ObjectStorage
from coalesce.table.commit.log import Log
from coalesce.table.table import core_of
from tests.s3 import S3Location
from tests.table.examples import add_files, create, events, grow, ids, named_files, opened
from tests.table.stores import FailingStorage, MemoryStorage


def grown(versions: int) -> MemoryStorage:
    """A table with this many versions after the first one."""
    storage = MemoryStorage()
    create(storage)
    grow(storage, versions)
    storage.put(LATEST_HINT, str(versions).encode())
    storage.requests.clear()
    return storage


# --- the newest version ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("versions", [10, 2000])
def test_opening_the_newest_version_takes_three_requests(versions: int) -> None:
    """The hint, a listing that begins there, and the version: the same at ten versions and at two thousand."""
    storage = grown(versions)
    assert opened(storage).version == versions
    assert storage.requests == [
        f"read {LATEST_HINT}",
        "list _coalesce/versions",
        f"read {version_path(versions)}",
    ]


def test_the_listing_begins_at_the_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies before it is not even listed, so the request is as small at ten thousand versions."""
    storage = grown(100)
    listed: list[int] = []
    whole = storage.list

    def counting(prefix: str, start_after: str | None = None) -> object:
        found = whole(prefix, start_after)
        listed.append(len(found))
        return found

    monkeypatch.setattr(storage, "list", counting)
    opened(storage)
    assert listed == [1]


def test_a_refresh_takes_one_request_when_nothing_happened() -> None:
    """A table that is open looks for newer versions only, and keeps what it has read."""
    storage = grown(50)
    table = opened(storage)
    storage.requests.clear()
    table.refresh()
    assert storage.requests == ["list _coalesce/versions"]


def test_on_s3_a_page_of_names_is_enough(s3_location: S3Location) -> None:
    """With more versions than a listing has names to a page, opening still takes three requests."""
    storage = ObjectStorage(s3_location.location, s3_location.options)
    create(storage)
    grow(storage, 1050)
    storage.put(LATEST_HINT, b"1048")
    before = len(s3_location.server.requests)
    assert opened(storage).version == 1050
    made = s3_location.server.requests[before:]
    assert [r.partition(" ")[0] for r in made] == ["GET"] * 3, made


@pytest.mark.parametrize("hint", [b"0", b"1", b"7", b"19"])
def test_a_stale_hint_only_costs_a_longer_listing(hint: bytes) -> None:
    """The writer died before it wrote the hint, or another one overtook it."""
    storage = grown(20)
    storage.put(LATEST_HINT, hint)
    assert opened(storage).version == 20


@pytest.mark.parametrize(
    "hint",
    [
        b"21",
        b"99999999999999999999",
        b"",
        b"-3",
        b"1e1",
        b" 20",
        b"20\n",
        b"0x14",
        b"\xff\xfe",
        b"x" * 10_000,
        b"5" * 21,
    ],
)
def test_a_wrong_hint_is_not_believed(hint: bytes) -> None:
    """A version that is not there, or no number at all: the listing starts from the beginning."""
    storage = grown(20)
    storage.put(LATEST_HINT, hint)
    assert opened(storage).version == 20


def test_without_a_hint_all_versions_are_listed() -> None:
    """Whoever copied a table may have left it out."""
    storage = grown(20)
    storage.delete(LATEST_HINT)
    assert opened(storage).version == 20


def test_the_oldest_versions_may_have_expired() -> None:
    """A history that begins later is no gap, whatever the hint says."""
    storage = grown(20)
    for number in range(15):
        storage.delete(version_path(number))
    for hint in (b"20", b"3", b"0", b"99"):
        storage.put(LATEST_HINT, hint)
        assert opened(storage).version == 20
    assert [v.number for v in opened(storage).history()] == [20, 19, 18, 17, 16, 15]


def test_a_gap_is_named() -> None:
    """A version that is missing between others: the table may not be what it says, and the file is named."""
    storage = grown(20)
    storage.delete(version_path(17))
    missing = version_path(17)
    for hint in (b"16", b"3", b"x"):
        storage.put(LATEST_HINT, hint)
        with pytest.raises(CorruptMetadata, match="missing although later versions exist") as caught:
            opened(storage)
        assert caught.value.file == missing
    storage.put(LATEST_HINT, b"20")  # from here the newest version is found, and the gap only when history is asked for
    with pytest.raises(CorruptMetadata) as caught:
        opened(storage).history()
    assert caught.value.file == missing


def test_what_else_lies_among_the_versions_is_not_looked_at() -> None:
    """Temporary files of a writer that died, and notes of people."""
    storage = grown(5)
    for name in ("README", "00000000000000000009.json.tmp", "9.json", "00000000000000000003.json~"):
        storage.put(f"_coalesce/versions/{name}", b"nonsense")
    assert opened(storage).version == 5


def test_a_commit_stands_even_if_the_hint_cannot_be_written() -> None:
    """The version file is the commit; the hint only helps to find it."""
    storage = FailingStorage()
    table = create(storage)
    storage.fails_at = 2  # a manifest, the version, and no more
    add_files(table, ["A"])
    assert storage.fails_at < 0
    assert storage.read(LATEST_HINT) == b"0"
    assert opened(storage).version == 1


def test_a_store_that_fails_is_no_missing_table() -> None:
    """Only when there is nothing there is there no table."""
    with pytest.raises(TableNotFound, match="no coalesce table at memory"):
        opened(MemoryStorage())

    class Broken(MemoryStorage):
        def read(self, path: str) -> bytes:
            raise StorageError(f"could not read {path!r}: permission denied.")

    with pytest.raises(StorageError, match="permission denied"):
        opened(Broken())


# --- one version -------------------------------------------------------------------------------------------------


def test_a_version_is_read_once() -> None:
    """Versions never change, so a second look costs nothing."""
    storage = grown(5)
    log = Log(storage)
    assert log.load(3) is log.load(3)
    assert storage.requests == [f"read {version_path(3)}"]


def test_a_version_that_is_not_there() -> None:
    """Never written or expired: either way it is said which."""
    table = opened(grown(5))
    with pytest.raises(VersionNotFound, match="no version 6"):
        table.at(version=6)


def test_a_history_that_was_replaced_is_noticed() -> None:
    """A version that does not follow the one before it belongs to another history of the same table."""
    storage, other = MemoryStorage(), MemoryStorage()
    create(storage)
    other.files, other.modified = dict(storage.files), dict(storage.modified)
    add_files(opened(storage), ["A"])
    log = Log(storage)
    log.load(1)
    add_files(opened(other), ["B"])
    add_files(opened(other), ["C"])
    storage.put(version_path(2), other.read(version_path(2)))
    with pytest.raises(CorruptMetadata, match="does not follow version 1") as caught:
        log.load(2)
    assert caught.value.file == version_path(2)


def test_history_is_newest_first() -> None:
    """Every version with what was done in it."""
    table = create(MemoryStorage())
    add_files(table, ["A"])
    add_files(table, ["B", "C"])
    history = table.history()
    assert [(v.number, v.operation) for v in history] == [(2, "append"), (1, "append"), (0, "create")]
    assert [v.summary.get("files_added") for v in history] == [2, 1, None]
    assert [v.number for v in table.history(limit=2)] == [2, 1]


def test_a_short_history_of_a_long_table_is_a_few_requests() -> None:
    """With a limit only the versions that are shown are read, and the others not even listed."""
    storage = grown(300)
    table = opened(storage)
    storage.requests.clear()
    assert [v.number for v in table.history(3)] == [300, 299, 298]
    assert storage.requests == ["list _coalesce/versions", *(f"read {version_path(n)}" for n in (299, 298))]
    assert [v.number for v in table.at(version=7).history(limit=2)] == [7, 6]
    assert [v.number for v in table.at(version=2).history(limit=9)] == [2, 1, 0]
    for number in range(298):
        storage.delete(version_path(number))
    assert [v.number for v in opened(storage).history(9)] == [300, 299, 298]
    storage.delete(version_path(299))
    with pytest.raises(CorruptMetadata, match="missing although later versions exist"):
        opened(storage).history(9)


def test_versions_are_read_at_the_same_time() -> None:
    """A long history of a slow store takes about as long as the slowest of its files, and is in order."""
    waiting, most = 0, 0

    class Slow(MemoryStorage):
        """Takes its time for each answer."""

        def read(self, path: str) -> bytes:
            nonlocal waiting, most
            waiting += 1
            most = max(most, waiting)
            time.sleep(0.05)
            waiting -= 1
            return super().read(path)

    slow, storage = Slow(), grown(40)
    slow.files, slow.modified = storage.files, storage.modified
    assert [v.number for v in opened(slow).history()] == list(range(40, -1, -1))
    assert most > 6


def test_versions_come_one_after_the_other_in_time() -> None:
    """Also when two commits fall into one millisecond, or a clock is behind: no two have the same time."""
    table = create(MemoryStorage())
    for _ in range(20):
        table.set_properties({"a": "b"})
    times = [v.timestamp_ms for v in table.history()]
    assert times == sorted(set(times), reverse=True)


# --- the table as it was -----------------------------------------------------------------------------------------


def test_a_table_at_a_version_stays_there() -> None:
    """It has the rows of that version, follows nobody, and cannot be written."""
    table = create(MemoryStorage())
    for i in range(4):
        table.append(events("A", [i]))
    old = table.at(version=2)
    assert (ids(old), old.version) == ([0, 1], 2)
    assert old.refresh().version == 2
    with pytest.raises(CoalesceError, match="opened at version 2 and is read-only"):
        old.append(events("A", [9]))


def test_a_table_at_a_time_is_the_newest_version_committed_by_then() -> None:
    """To the millisecond, for every version, in whatever zone the time is given; one without a zone is UTC."""
    storage = grown(100)
    table = opened(storage)
    for version in table.history():
        moment = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=version.timestamp_ms)
        assert table.at(as_of=moment).version == version.number
        assert table.at(as_of=moment.replace(tzinfo=None)).version == version.number
        assert table.at(as_of=moment + timedelta(milliseconds=996)).version == version.number
        if version.number > 0:
            assert table.at(as_of=moment - timedelta(microseconds=1)).version == version.number - 1


def test_a_time_before_the_first_version_or_after_the_last() -> None:
    """There was no table before; after, it is as it is."""
    table = opened(grown(5))
    assert table.at(as_of=datetime(2200, 1, 1, tzinfo=UTC)).version == 5
    with pytest.raises(VersionNotFound, match="oldest version still there, 0, was committed after"):
        table.at(as_of=datetime(2000, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("both", [{}, {"version": 1, "as_of": datetime(2026, 1, 1, tzinfo=UTC)}])
def test_either_a_version_or_a_time(both: dict[str, object]) -> None:
    """Not neither and not both."""
    with pytest.raises(CoalesceError, match="either version= or as_of="):
        opened(grown(1)).at(**both)  # type: ignore[arg-type]


# --- another table in its place ----------------------------------------------------------------------------------


def test_a_table_is_created_once() -> None:
    """A second one is refused, also after the first versions have expired."""
    storage = MemoryStorage()
    create(storage)
    with pytest.raises(TableExists, match=r"already; open it with coalesce\.open"):
        create(storage)
    grow(storage, 3)
    storage.delete(version_path(0))
    with pytest.raises(TableExists):
        create(storage)


@pytest.mark.parametrize("appends", [0, 1, 2, 3])
def test_a_commit_never_lands_on_another_table_in_the_same_place(appends: int) -> None:
    """Dropped and created again, with fewer, as many or more versions: what was begun before must not land there."""
    storage = MemoryStorage()
    old = create(storage)
    for i in range(2):
        old.append(events("A", [i]))
    begun = core_of(old).transaction("append", applies=("job", 1))
    begun.add(named_files(old, ["A"]))
    storage.files.clear()
    new = create(storage)
    for i in range(appends):
        new.append(events("B", [100 + i]), applies=("job", i + 1))
    with pytest.raises(CommitConflict, match="dropped and created again"):
        core_of(old).commit(begun)
    there = [100 + i for i in range(appends)]
    assert ids(opened(storage)) == there
    assert ids(old.refresh()) == there
    old.append(events("A", [7]))  # looked at afresh, it is a table like any other
    assert ids(opened(storage)) == [7, *there]


def test_a_refresh_sees_a_table_that_was_created_again_with_as_many_versions() -> None:
    """By the file of the version, as the listing shows it: still one request if nothing happened."""
    storage = MemoryStorage()
    create(storage).append(events("A", [1]))
    table = opened(storage)
    storage.files.clear()
    create(storage).append(events("B", [2]))
    storage.modified = {path: moment + 1000 for path, moment in storage.modified.items()}
    assert ids(table.refresh()) == [2]
    storage.requests.clear()
    table.refresh()
    assert storage.requests == ["list _coalesce/versions"]


@pytest.mark.parametrize("appends", [0, 1, 2, 3, 4])
def test_a_refresh_after_a_commit_of_its_own_sees_a_table_that_was_created_again(appends: int) -> None:
    """What was committed here was never listed, so its file is known by its digest: one request, and only once."""
    storage = MemoryStorage()
    table = create(storage)
    for i in range(2):
        table.append(events("A", [i]))
    storage.files.clear()
    new = create(storage)
    for i in range(appends):
        new.append(events("B", [100 + i]))
    assert ids(table.refresh()) == [100 + i for i in range(appends)]
    new.append(events("B", [7]))
    new.refresh()
    storage.requests.clear()
    new.refresh()
    assert storage.requests == ["list _coalesce/versions"]


@pytest.mark.parametrize("appends", [0, 1, 2, 3])
def test_an_object_of_a_dropped_table_never_brings_its_rows_back(appends: int) -> None:
    """It may follow to the new table or refuse; the new table has its own rows and perhaps the one appended."""
    storage = MemoryStorage()
    old = create(storage)
    for i in range(2):
        old.append(events("A", [i]))
    storage.files.clear()
    new = create(storage)
    for i in range(appends):
        new.append(events("B", [100 + i]))
    with suppress(CommitConflict):
        old.append(events("A", [7]))
    assert [i for i in ids(opened(storage)) if i != 7] == [100 + i for i in range(appends)]


# --- what must not be committed ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ({"a": 1}, r"properties\.a: it should be a string, not 1"),
        ({"a": "\ud800"}, "surrogate"),
        ({"a": object()}, "not JSON serializable"),
    ],
)
def test_a_version_that_could_not_be_read_is_not_committed(damage: dict[str, str], reason: str) -> None:
    """Whatever comes past the checks of arguments, the table stays readable."""
    storage = MemoryStorage()
    table = create(storage)
    change = core_of(table).transaction("set_properties")
    change.change(lambda head: replace(head, properties=damage))
    with pytest.raises(SchemaError, match=f"'set_properties' cannot be committed:.*{reason}"):
        core_of(table).commit(change)
    assert opened(storage).version == 0


@pytest.fixture
def local(tmp_path: Path) -> Callable[[], LocalStorage]:
    """A place on this machine's disk, opened as often as it is asked for."""
    return lambda: LocalStorage(tmp_path / "events")


def test_another_process_sees_a_commit_on_disk(local: Callable[[], LocalStorage]) -> None:
    """The same on a real disk: what one object commits, a fresh one and a refreshed one see."""
    table = create(local())
    reader = opened(local())
    table.append(events("A", [1]))
    assert reader.version == 0
    assert ids(reader) == []
    assert ids(reader.refresh()) == [1]
    assert ids(opened(local())) == [1]


@pytest.mark.parametrize("versions", [3, 300])
def test_a_local_commit_lists_nothing(
    local: Callable[[], LocalStorage], versions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither opening nor committing reads the directory of versions, however long it is: both look names up."""
    create(local())
    grow(local(), versions)
    local().put(LATEST_HINT, str(versions).encode())
    looked_up: list[str] = []
    stat = os.stat

    def counting(path: str, *arguments: object, **named: object) -> os.stat_result:
        looked_up.append(str(path))
        return stat(path, *arguments, **named)  # type: ignore[arg-type]

    def refused(*_: object) -> object:
        raise AssertionError("the directory is listed")

    monkeypatch.setattr(os, "scandir", refused)
    table = opened(local())
    monkeypatch.setattr(os, "stat", counting)
    add_files(table, ["A"])
    assert table.version == versions + 1
    assert sum("versions/" in path for path in looked_up) < 50


@pytest.mark.parametrize("hint", [b"20", b"19", b"3", b"0", b"21", b"99999999999999999999", b"", b"x", None])
def test_on_disk_a_hint_is_only_a_place_to_start(local: Callable[[], LocalStorage], hint: bytes | None) -> None:
    """Right, stale, too high, no number or lost: the newest version is the newest, whether or not old ones expired."""
    create(local())
    grow(local(), 20)
    local().delete(LATEST_HINT)
    if hint is not None:
        local().put(LATEST_HINT, hint)
    assert opened(local()).version == 20
    for number in range(15):
        local().delete(version_path(number))
    assert opened(local()).version == 20


@pytest.mark.parametrize("hint", [b"3", b"16", b"x"])
def test_on_disk_a_gap_is_named(local: Callable[[], LocalStorage], hint: bytes) -> None:
    """Nobody commits into it: that would make a second history of the versions behind it."""
    create(local())
    grow(local(), 20)
    old = opened(local()).at(version=16)
    local().delete(version_path(17))
    local().put(LATEST_HINT, hint)
    with pytest.raises(CorruptMetadata, match="missing although later versions exist") as caught:
        opened(local())
    assert caught.value.file == version_path(17)
    assert old.version == 16


def test_a_version_that_comes_while_names_are_looked_up_is_no_gap(tmp_path: Path) -> None:
    """Two commits between one look and the next: the first is looked for again before anything is said of it."""

    class Slow(LocalStorage):
        """Another writer commits after the first look."""

        looks = 0

        def _present(self, paths: Sequence[str]) -> Listing:
            found = super()._present(paths)
            self.looks += 1
            if self.looks == 1:
                grow(LocalStorage(tmp_path), 2)
            return found

    create(LocalStorage(tmp_path))
    assert Log(Slow(tmp_path)).newest() == 2


@pytest.mark.parametrize("what", ["a directory", "a link to nothing", "no regular file"])
def test_what_is_no_file_and_has_the_name_of_the_next_version(
    local: Callable[[], LocalStorage], tmp_path: Path, what: str
) -> None:
    """A commit says so at once and leaves nothing behind; readers do not mind, and all is well when it is gone."""
    table = create(local())
    table.append(events("A", [1]))
    place = tmp_path / "events" / version_path(2)
    {"a directory": place.mkdir, "no regular file": lambda: os.mkfifo(place)}.get(
        what, lambda: place.symlink_to("nowhere")
    )()
    before = sorted(path for path in tmp_path.rglob("*") if not path.is_dir())
    with pytest.raises(NotAFile, match=f"could not create '{version_path(2)}' in .*: {what} has this name; move it"):
        table.append(events("A", [2]))
    assert sorted(path for path in tmp_path.rglob("*") if not path.is_dir()) == before
    assert ids(opened(local())) == ids(table.refresh()) == [1]
    if place.is_dir():
        place.rmdir()
    else:
        place.unlink()
    table.append(events("A", [3]))
    assert ids(opened(local())) == [1, 3]


@pytest.mark.parametrize("hidden", [LATEST_HINT, version_path(1)])
def test_a_directory_in_the_place_of_a_file(local: Callable[[], LocalStorage], tmp_path: Path, hidden: str) -> None:
    """In that of the hint it does no harm. In that of the newest version, the table ends before it, and stays so."""
    table = create(local())
    table.append(events("A", [1]))
    (tmp_path / "events" / hidden).unlink()
    (tmp_path / "events" / hidden).mkdir()
    if hidden == LATEST_HINT:
        opened(local()).append(events("A", [2]))
        assert ids(opened(local())) == [1, 2]
    else:
        with pytest.raises(NotAFile, match="a directory has this name"):
            opened(local()).append(events("A", [2]))


def test_a_directory_in_the_place_of_a_manifest(local: Callable[[], LocalStorage], tmp_path: Path) -> None:
    """The manifest is missing, and named."""
    table = create(local())
    add_files(table, ["A"])
    (ref,) = table.state.manifests
    (tmp_path / "events" / ref.path).unlink()
    (tmp_path / "events" / ref.path).mkdir()
    with pytest.raises(CorruptMetadata, match="missing although version 1 names it") as caught:
        opened(local()).plan()
    assert caught.value.file == ref.path


def test_a_version_is_understood_once_however_often_the_table_is_opened(
    local: Callable[[], LocalStorage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what is in its file, which is read each time: a flipped bit, or another number, is noticed."""
    table = create(local())
    table.append(events("A", [1]))
    before = opened(local()).state
    monkeypatch.setattr("coalesce.table.commit.log.decode_version", None)
    assert opened(local()).state is before
    monkeypatch.undo()
    file = tmp_path / "events" / version_path(1)
    data = bytearray(file.read_bytes())
    data[40] ^= 1
    file.write_bytes(data)
    with pytest.raises(CorruptMetadata):
        opened(local())
    shutil.copy(tmp_path / "events" / version_path(0), file)
    with pytest.raises(CorruptMetadata, match="it was moved"):
        opened(local())
