"""Versions expire by a commit; what is kept is kept, and what has expired is no version any more."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from coalesce.errors import (
    CommitUncertain,
    CorruptMetadata,
    InvalidArgument,
    StorageError,
    VersionExpired,
    VersionNotFound,
)
from coalesce.manifest.paths import CLOCK, LATEST_HINT, VERSIONS, version_number, version_path
from coalesce.model.version import Version
from coalesce.storage import open_storage
from coalesce.storage.base import Listing, alone
from coalesce.table.commit.changes import Follower
from coalesce.table.commit.log import Log
from coalesce.table.commit.manifests import ManifestCache, Manifests
from coalesce.table.maintain import deleting
from coalesce.table.table import Table, core_of
from tests.s3 import S3Location
from tests.table.examples import create, events, grow, ids, opened
from tests.table.maintain.aging import DAY_MS, age, age_on_disk, grown, numbers
from tests.table.stores import InterruptedStorage, MemoryStorage


def aged(appends: int, days: float = 30) -> tuple[MemoryStorage, Table]:
    """A table whose versions are all of the same age."""
    storage = MemoryStorage()
    table = grown(storage, appends)
    age(storage, days)
    return storage, table


def of_version(test: Callable[[int], bool]) -> Callable[[str], bool]:
    """Whether a path is the file of a version that passes a test."""
    return lambda path: (number := version_number(path)) is not None and test(number)


# --- what is kept ------------------------------------------------------------------------------------------------


def test_old_versions_expire_and_the_last_ones_stay() -> None:
    """By default all that are older than a week but the last ten; their rows are read as before."""
    _, table = aged(20)
    result = table.expire()
    assert (result.versions, result.retained_from, result.version) == (tuple(range(11)), 11, 21)
    assert numbers(table) == list(range(11, 22))
    assert ids(table) == list(range(1, 21))
    assert ids(table.at(version=11)) == list(range(1, 12))
    assert table.history(1)[0].summary["retained_from"] == 11


def test_younger_versions_stay_and_the_one_before_them() -> None:
    """The one that was current when the week began, so that every moment since can be gone back to."""
    storage = MemoryStorage()
    table = grown(storage, 10)
    age(storage, 8, of_version(lambda n: n <= 6))
    age(storage, 6, of_version(lambda n: n > 6))
    assert table.expire(keep_last=1).versions == (0, 1, 2, 3, 4, 5)
    assert numbers(table) == [6, 7, 8, 9, 10, 11]


def test_a_young_version_protects_all_after_it() -> None:
    """Times of files need not be in order: a copy may have given an older version a newer time."""
    storage, table = aged(10)
    age(storage, -30, of_version(lambda n: n == 4))
    table.expire(keep_last=1)
    assert numbers(table) == [3, *range(4, 12)]


def test_the_newest_stays_and_tagged_ones_do() -> None:
    """However old, and however few are to stay."""
    storage, table = aged(5)
    table.tag("a", version=2)
    table.tag("b", version=0)
    age(storage)
    result = table.expire(keep_last=1)
    assert result.versions == (1, 3, 4)
    assert numbers(table) == [0, 2, 5, 6, 7, 8]
    assert ids(table.at(version="a")) == [1, 2]
    assert ids(table.at(version=0)) == []


def test_commits_that_only_tag_or_expire_are_not_counted() -> None:
    """A table that nobody writes to does not lose its history to its own upkeep."""
    storage, table = aged(5)
    for i in range(10):
        table.tag(f"t{i}", version=5)
    age(storage)
    assert table.expire(keep_last=3).versions == (0, 1, 2)
    for _ in range(5):
        age(storage)
        before = table.version
        assert table.expire(keep_last=3).versions == ()
        assert table.refresh().version == before  # nothing to do is nothing to commit
    assert numbers(table)[:3] == [3, 4, 5]


def test_what_a_week_is_the_store_decides() -> None:
    """Neither the clock of this machine nor those of writers: versions that claim to be of 1999 are young."""
    storage = MemoryStorage()
    create(storage)
    grow(storage, 20)  # their own times are seconds apart, and may be years in the future
    assert opened(storage).expire(keep_last=1).versions == ()
    age(storage)
    assert opened(storage).expire(keep_last=1).versions == tuple(range(20))
    assert [path for path in storage.files if path.startswith(CLOCK)] == []  # the file that the clock was read off


def test_a_moment_since_the_week_began_can_be_gone_back_to() -> None:
    """And one before it says that its version has expired."""
    storage = MemoryStorage()
    table = create(storage)
    grow(storage, 20)
    table.refresh()
    times = {v.number: v.committed for v in table.history()}
    age(storage, 30, of_version(lambda n: n <= 12))
    table.tag("a", version=5)
    table.expire(keep_last=1)
    assert numbers(table)[:3] == [5, 12, 13]
    assert table.at(as_of=times[12]).version == 12
    assert table.at(as_of=times[13] - timedelta(milliseconds=1)).version == 12
    for moment in (times[5], times[9], times[12] - timedelta(milliseconds=1)):
        with pytest.raises(VersionExpired, match=r"has expired: it may have been any .* 5 and version 12"):
            table.at(as_of=moment)
    with pytest.raises(VersionNotFound, match="the oldest version still there, 5, was committed after"):
        table.at(as_of=times[4])
    table.tag("b", version=12)
    assert table.at(as_of=datetime.now(UTC) + timedelta(days=1)).version == table.version


# --- arguments ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("older_than", ["23h", "1439m", "0s", "0.9d", timedelta(hours=23), timedelta(0)])
def test_less_than_a_day_takes_force(older_than: str | timedelta) -> None:
    """For both: a day is what writers and readers that are at work are given."""
    storage, table = aged(3)
    before = dict(storage.files)
    for clean in (table.expire, table.vacuum):
        with pytest.raises(InvalidArgument, match=r"24 hours at the least.*force=True"):
            clean(older_than)
    assert storage.files == before
    assert table.expire(older_than, keep_last=1, force=True).versions == (0, 1, 2)


@pytest.mark.parametrize("older_than", ["24h", "1440m", "86400s", "1d", " 1.5 d ", "36h", timedelta(days=1)])
def test_ages_as_people_write_them(older_than: str | timedelta) -> None:
    """Days, hours, minutes, seconds."""
    _, table = aged(3)
    assert table.expire(older_than, keep_last=1).versions == (0, 1, 2)


@pytest.mark.parametrize(
    "older_than", ["", "7", "7 days", "d", "-1d", "1w", "١d", "7D", 7, None, timedelta(-1), "1d2h"]
)
def test_other_ages_are_refused(older_than: str) -> None:
    """Even with force; nothing happens."""
    storage, table = aged(3)
    before = dict(storage.files)
    for clean in (table.expire, table.vacuum):
        with pytest.raises(InvalidArgument, match="older_than="):
            clean(older_than, force=True)
    assert storage.files == before


@pytest.mark.parametrize(
    "arguments",
    [{"keep_last": 0}, {"keep_last": True}, {"keep_last": 1.5}, {"dry_run": 1}, {"force": "yes"}],
)
def test_other_arguments_are_refused(arguments: dict[str, object]) -> None:
    """The newest version never expires, so at least one is kept."""
    _, table = aged(3)
    with pytest.raises(InvalidArgument):
        table.expire("7d", **arguments)  # type: ignore[arg-type]


def test_a_dry_run_changes_nothing() -> None:
    """And says what would be done."""
    storage, table = aged(20)
    before = dict(storage.files)
    dry = table.expire(dry_run=True)
    assert storage.files == before
    assert table.version == 20
    done = table.expire()
    assert (dry.versions, dry.bytes, dry.retained_from) == (done.versions, done.bytes, done.retained_from)
    assert repr(dry).startswith("<would expire 11 versions; kept from version 11, ")
    assert repr(done).startswith("<expired 11 versions; kept from version 11, ")


# --- what has expired --------------------------------------------------------------------------------------------


def test_an_expired_version_is_a_clear_error() -> None:
    """Whoever asks for it by number."""
    _, table = aged(20)
    table.expire()
    for use in (lambda: table.at(version=3), lambda: table.rollback(3), lambda: opened_at(table, 3)):
        with pytest.raises(VersionExpired, match=r"version 3 .* has expired: the oldest version that is kept is 11, "):
            use()
    with pytest.raises(VersionNotFound, match=r"there is no version 99 of the table at memory\."):
        table.at(version=99)


def opened_at(table: Table, number: int) -> Table:
    """The table at a version, opened by another process."""
    return opened(core_of(table).storage).at(version=number)


def test_an_expired_version_whose_file_is_there_is_no_version() -> None:
    """An expiry that died left it: it is not opened, listed, tagged or rolled back to, and the next one deletes it."""
    storage, table = aged(20)
    left = {version_path(n): storage.files[version_path(n)] for n in (7, 10)}
    table.expire()
    for path, data in left.items():
        storage.put(path, data)
    for use in (
        lambda: table.at(version=7),
        lambda: opened_at(table, 7),
        lambda: table.rollback(7),
        lambda: table.tag("a", version=7),
    ):
        with pytest.raises(VersionExpired):
            use()
    assert numbers(opened(storage)) == list(range(11, 22))
    assert [v.number for v in opened(storage).history(100)] == list(range(21, 10, -1))
    assert table.expire().versions == (7, 10)
    assert table.refresh().version == 21
    assert table.append(events("A", [99])).version == 22


def test_a_damaged_newest_version_keeps_nobody_from_older_ones() -> None:
    """What has expired cannot be told then; what is there is read."""
    storage, table = aged(12)
    table.expire()
    storage.files[version_path(13)] = storage.files[version_path(13)][:-5]
    log = Log(storage)
    old = Table(storage, core_of(table).engines, log=log, version=log.any())
    assert ids(old.at(version=8)) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert Log(storage).any().number == 3
    assert Log(storage).numbers() == list(range(3, 14))


def test_a_reader_of_an_expired_version_is_told_so() -> None:
    """It has it open, and a manifest or a data file of it is gone."""
    storage, table = aged(3)
    reader, scanned = table.at(version=2), table.at(version=2)
    core_of(reader).manifests = Manifests(storage, ManifestCache())
    scan = scanned.scan()
    table.truncate()
    age(storage)
    table.expire(keep_last=1)
    assert ids(scanned) == [1, 2]  # what it needs is there until it is vacuumed
    assert table.vacuum().files > 0
    with pytest.raises(VersionExpired, match=r"version 2 .* has expired"):
        reader.scan().to_arrow()
    with pytest.raises(VersionExpired, match=r"version 2 .* has expired"):
        scan.to_arrow()
    with pytest.raises(VersionExpired, match=r"version 2 .* has expired"):
        list(scan.to_batches())


def test_a_file_that_is_lost_is_not_said_to_have_expired() -> None:
    """If the version is retained, something is wrong with the table, and the message is what it was."""
    storage, table = aged(3)
    for path in [path for path in storage.files if path.startswith("data/")]:
        storage.delete(path)
    with pytest.raises(StorageError, match="there is no file"):
        ids(table)
    core_of(table).manifests = Manifests(storage, ManifestCache())
    for ref in table.state.manifests:
        storage.delete(ref.path)
    with pytest.raises(CorruptMetadata, match="the manifest is missing although version 3 names it"):
        table.plan()


def test_a_stream_that_is_too_far_behind_is_told_so() -> None:
    """It follows versions one by one, and the next one has expired."""
    storage, table = aged(20)
    follower = Follower(Log(storage).load, Manifests(storage))
    table.expire()
    with pytest.raises(VersionExpired, match=r"version 2 .* has expired"):
        follower.next(2, 20)


# --- gaps --------------------------------------------------------------------------------------------------------


def with_gap() -> MemoryStorage:
    """A table with the versions 2 and 5, which have tags, and 11 to 21."""
    storage, table = aged(18)
    table.tag("a", version=2)
    table.tag("b", version=5)
    age(storage)
    table.expire(keep_last=8)
    assert numbers(table) == [2, 5, *range(11, 22)]
    return storage


@pytest.mark.parametrize("hint", [b"21", b"20", b"11", b"5", b"2", b"3", b"0", b"7", b"99", b"x", None])
def test_a_gap_below_what_is_kept_is_none(hint: bytes | None) -> None:
    """Wherever one begins to look, the newest version is found, and can be written to."""
    storage = with_gap()
    if hint is None:
        storage.delete(LATEST_HINT)
    else:
        storage.put(LATEST_HINT, hint)
    table = opened(storage)
    assert table.version == 21
    assert table.append(events("A", [100])).version == 22


@pytest.mark.parametrize("hint", [b"21", b"5", b"2", b"0"])
def test_the_same_on_a_disk_where_names_are_looked_up(tmp_path: Path, hint: bytes) -> None:
    """There a stale hint shows some of the versions behind a gap, and the newest need not be one of them."""
    storage = open_storage(tmp_path)
    table = grown(storage, 30)
    table.tag("a", version=2)
    table.tag("b", version=5)
    age_on_disk(tmp_path)
    table.expire(keep_last=8)
    storage.put(LATEST_HINT, hint)
    assert opened(storage).version == 33
    assert numbers(opened(storage)) == [2, 5, *range(23, 34)]


def test_a_gap_above_is_still_damage() -> None:
    """And is named, also if it begins below."""
    for gone, named in ({12}, 12), ({14, 15}, 14), ({11, 12}, 11):
        storage = with_gap()
        for number in gone:
            storage.delete(version_path(number))
        for hint in (b"2", b"x"):
            storage.put(LATEST_HINT, hint)
            with pytest.raises(CorruptMetadata, match=version_path(named)):
                opened(storage)
        with pytest.raises(CorruptMetadata, match=version_path(named)):
            Log(storage).numbers()


def test_opening_costs_what_it_did() -> None:
    """The hint, a listing from there, and the version, whatever was tagged and has expired."""
    storage = with_gap()
    storage.requests.clear()
    assert opened(storage).version == 21
    assert storage.requests == [f"read {LATEST_HINT}", f"list {VERSIONS}", f"read {version_path(21)}"]


def test_opening_at_a_version_does_not_list_all() -> None:
    """The newest version says whether it is there."""
    storage = with_gap()
    storage.requests.clear()
    assert opened(storage).at(version=5).version == 5
    assert storage.requests == [
        f"read {LATEST_HINT}",
        f"list {VERSIONS}",
        f"read {version_path(21)}",
        f"read {version_path(5)}",
    ]
    storage.requests.clear()
    assert opened(storage).at(version="a").version == 2
    assert len(storage.requests) == 5  # tags are looked up as they are now


# --- while others are at work, and failures ----------------------------------------------------------------------


def test_an_expiry_that_is_overtaken_is_made_anew() -> None:
    """On top of what was appended: rows and tags of others stay."""
    storage = InterruptedStorage(lambda request: request.startswith(f"put_if_absent {VERSIONS}/"))
    table = grown(storage, 5)
    storage.interruptions.append(lambda: opened(storage).append(events("A", [6])))
    assert table.expire("0s", keep_last=2, force=True).versions == (0, 1, 2, 3)
    assert ids(table) == [1, 2, 3, 4, 5, 6]
    storage.interruptions.append(lambda: opened(storage).expire("0s", keep_last=1, force=True))
    table.append(events("A", [7]))
    assert ids(table) == [1, 2, 3, 4, 5, 6, 7]


def test_two_expiries_at_once_do_not_bring_anything_back() -> None:
    """What is kept only ever grows younger."""
    storage = InterruptedStorage(lambda request: request.startswith(f"put_if_absent {VERSIONS}/"))
    table = grown(storage, 10)
    storage.interruptions.append(lambda: opened(storage).expire("0s", keep_last=1, force=True))
    result = table.expire("0s", keep_last=5, force=True)
    assert (result.retained_from, table.state.retained_from) == (10, 10)


def test_an_expiry_while_another_reads_the_versions_that_it_lets_go() -> None:
    """Neither fails: the second begins anew, and finds nothing left to do."""
    storage = InterruptedStorage(lambda request: request == f"read {version_path(1)}")
    grown(storage, 30)
    storage.interruptions.append(lambda: opened(storage).expire("0s", keep_last=1, force=True))
    result = opened(storage).expire("0s", keep_last=100, force=True)
    assert (storage.interruptions, result.retained_from, result.versions) == ([], 30, ())


def test_a_commit_to_a_number_that_is_free_again_is_made_anew(tmp_path: Path) -> None:
    """A writer sleeps between its last look and its commit, while others commit, and what they committed expires.

    Its version would lie in the gap, where nobody looks; or, where the gap is large, be taken for the newest.
    """
    storage = open_storage(tmp_path)
    table, asleep = grown(storage, 2), opened(storage)
    log = core_of(asleep).log
    create_version = log.create

    def sleeping(version: Version) -> bool:
        log.create = create_version  # type: ignore[method-assign]
        for i in range(3, 9):
            table.append(events("A", [i]))
        assert table.expire("0s", keep_last=1, force=True).retained_from == 8
        return create_version(version)

    log.create = sleeping  # type: ignore[method-assign]
    assert asleep.append(events("A", [99])).version == 10
    assert ids(opened(storage)) == [*range(1, 9), 99]
    assert [version_number(f.path) for f in storage.list(VERSIONS)] == [8, 9, 10]
    assert storage.read(LATEST_HINT) == b"10"


def test_a_commit_stands_though_the_hint_is_ahead(tmp_path: Path) -> None:
    """The hint is believed by nobody: the newest version says what has expired."""
    storage = open_storage(tmp_path)
    table = grown(storage, 2)
    storage.put(LATEST_HINT, b"77")
    assert table.append(events("A", [3])).version == 3
    assert storage.read(LATEST_HINT) == b"3"


def test_a_commit_of_which_nobody_can_tell_whether_it_was_too_late() -> None:
    """The store fails just then: the writer is told that it may have been committed."""
    storage = InterruptedStorage(lambda request: request == f"read {LATEST_HINT}")
    table = grown(storage, 2)
    listing = storage.list

    def unreachable(prefix: str, start_after: str | None = None) -> Listing:
        raise StorageError(f"could not list {prefix} after {start_after}: connection reset by peer.")

    def failing() -> None:
        storage.put(LATEST_HINT, b"77")
        storage.list = unreachable  # type: ignore[method-assign]

    storage.interruptions.append(failing)
    with pytest.raises(CommitUncertain, match="connection reset"):
        table.append(events("A", [3]))
    storage.list = listing  # type: ignore[method-assign]
    assert ids(opened(storage)) == [1, 2, 3]


def test_nothing_is_deleted_before_the_commit() -> None:
    """If that fails, all versions are there."""
    storage, table = aged(20)
    put = storage.put_if_absent

    def failing(path: str, data: bytes) -> bool:
        if path.startswith(VERSIONS):
            raise StorageError("could not write: the disk is full.")
        return put(path, data)

    storage.put_if_absent = failing  # type: ignore[method-assign]
    with pytest.raises(StorageError):
        table.expire()
    assert numbers(opened(storage)) == list(range(21))


def test_files_that_cannot_be_deleted_are_told_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure that passes is not even noticed; one that stays is reported, and is the next expiry's work."""
    monkeypatch.setattr(deleting, "_FIRST_WAIT", 0)
    storage, table = aged(20)
    delete, tries = storage.delete, dict[str, int]()

    def failing(path: str) -> None:
        tries[path] = tries.get(path, 0) + 1
        if path == version_path(4) or (path == version_path(5) and tries[path] < 3):
            raise StorageError(f"could not delete {path}: busy.")
        delete(path)

    storage.delete = failing  # type: ignore[method-assign]
    result = table.expire()
    assert result.versions == (0, 1, 2, 3, *range(5, 11))
    assert [(f.path, f.reason) for f in result.failures] == [
        (version_path(4), f"could not delete {version_path(4)}: busy.")
    ]
    assert "1 not deleted" in repr(result)
    assert numbers(opened(storage)) == list(range(11, 22))
    storage.delete = delete  # type: ignore[method-assign]
    assert opened(storage).expire().versions == (4,)


def test_the_oldest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that whoever is interrupted leaves no gap that an old reader could not make sense of."""
    monkeypatch.setattr(deleting, "_WAVE", 4)
    storage, table = aged(30)
    storage.requests.clear()
    table.expire()
    deleted = [version_number(r.split()[1]) for r in storage.requests if r.startswith(f"delete {VERSIONS}")]
    waves = [sorted(n for n in deleted[i : i + 4] if n is not None) for i in range(0, len(deleted), 4)]
    assert [n for wave in waves for n in wave] == list(range(21))


def test_history_while_versions_expire() -> None:
    """Those that went while they were read are left out."""
    storage = InterruptedStorage(lambda request: request == f"read {version_path(3)}")
    table = grown(storage, 20)
    storage.interruptions.append(lambda: opened(storage).expire("0s", keep_last=2, force=True))
    assert numbers(opened(storage)) == [19, 20, 21]
    assert table.refresh().version == 21


def test_a_version_is_old_by_the_time_of_its_file() -> None:
    """To the millisecond: what is exactly as old as it may be goes."""
    storage = MemoryStorage()
    table = grown(storage, 3)
    moment = storage.modified[version_path(3)]
    for path in storage.modified:
        storage.modified[path] = moment - 7 * DAY_MS - 60_000
    storage.modified[version_path(2)] = moment + 10 * DAY_MS
    assert table.expire(keep_last=1).retained_from == 1


def test_on_s3(s3_location: S3Location) -> None:
    """The same there, by the server's clock; aged by force, as S3 lets nobody set a time."""
    storage = open_storage(s3_location.location, options=s3_location.options)
    table = grown(storage, 6)
    table.tag("a", version=2)
    assert table.expire("1d", keep_last=1).versions == ()
    assert table.expire("0s", keep_last=2, force=True).versions == (0, 1, 3, 4)
    assert numbers(opened(storage)) == [2, 5, 6, 7, 8]
    table.truncate()
    table.expire("0s", keep_last=1, force=True)
    assert table.vacuum("1d").paths == ()
    result = table.vacuum("0s", force=True)
    assert result.files == len(result.paths) > 0
    assert ids(opened(storage).at(version="a")) == [1, 2]
    assert opened(storage).count() == 0
    assert [f.path for f in storage.list(CLOCK)] == []


def test_a_version_that_a_tag_leaves_alone_is_not_taken_for_the_newest(tmp_path: Path) -> None:
    """Somebody who has seen it last, weeks ago, finds those behind the gap; a commit into it would be lost.

    While files are deleted, too: whoever is killed leaves no version that looks like the newest.
    """
    storage = open_storage(tmp_path)
    table = grown(storage, 4)
    asleep = opened(storage)
    for i in range(5, 31):
        table.append(events("A", [i]))
    table.tag("a", version=4)
    table.expire("0s", keep_last=1, force=True)
    assert asleep.append(events("A", [99])).version == 33
    assert ids(opened(storage)) == [*range(1, 31), 99]
    table.untag("a")
    storage.put(LATEST_HINT, b"4")
    assert opened(storage).version == 34  # it has expired, and is still there
    table.expire("0s", keep_last=1, force=True)
    assert [f.path for f in storage.list(VERSIONS) if "4.json" in f.path] == [version_path(34)]


def test_marks_of_versions_that_are_gone_go(tmp_path: Path) -> None:
    """Whoever was killed, or was late, has left them; what is not a mark of the table's own stays."""
    storage = open_storage(tmp_path)
    table = grown(storage, 6)
    table.tag("a", version=2)
    table.expire("0s", keep_last=1, force=True)
    kept = alone(version_path(2))
    late, others = alone(version_path(1)), f"{VERSIONS}/notes.kept"
    storage.put(late, b"")
    storage.put(others, b"")
    table.append(events("A", [7]))
    table.expire("0s", keep_last=1, force=True)
    left = {f.path for f in storage.list(VERSIONS)}
    assert (kept in left, late in left, others in left) == (True, False, True)
