"""Files that no version needs are deleted, and no other: each rule of safety has a test that fails without it."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from coalesce.errors import CoalesceError, CorruptMetadata, StorageError, UnsupportedFeature
from coalesce.manifest.paths import (
    CLOCK,
    LATEST_HINT,
    METADATA,
    VERSIONS,
    new_manifest_path,
    new_write_directory,
    version_path,
)
from coalesce.manifest.version_file import encode_version
from coalesce.model import version as model
from coalesce.storage import open_storage
from coalesce.storage.base import Listing, alone, temporary_beside
from coalesce.table.maintain import deleting, reachable
from coalesce.table.maintain.own_files import is_own
from coalesce.table.table import Table, core_of
from tests.table.examples import begun_append, create, events, grow, ids, named_files, opened
from tests.table.maintain.aging import age, age_on_disk, grown, numbers, tree
from tests.table.stores import InterruptedStorage, MemoryStorage


def data(storage: MemoryStorage) -> set[str]:
    """The data files that are there."""
    return {path for path in storage.files if path.startswith("data/")}


def orphan(storage: MemoryStorage, path: str | None = None) -> str:
    """A file that no version names, as a writer leaves it that dies."""
    made = f"{new_write_directory()}/_dt=2026-05-17/_app=A/00000.parquet" if path is None else path
    storage.put(made, b"half of it")
    return made


# --- what goes ---------------------------------------------------------------------------------------------------


def test_what_no_version_needs_goes() -> None:
    """Data files and manifests of expired versions, orphans, and nothing else: all versions are read as before."""
    storage = MemoryStorage()
    table = grown(storage, 3)
    table.tag("a", version=2)
    table.delete("id = 1")
    table.truncate()
    table.append(events("A", [9]))
    left = orphan(storage)
    age(storage)
    assert table.vacuum(dry_run=True).paths == (left,)
    table.expire(keep_last=2)
    age(storage)
    before = set(storage.files)
    dry = table.vacuum(dry_run=True)
    assert set(storage.files) == before
    assert repr(dry).startswith(f"<would delete {dry.files} files, ")
    done = table.vacuum()
    assert (dry.paths, dry.bytes) == (done.paths, done.bytes)
    assert before - set(storage.files) == set(done.paths)
    assert done.files == len(done.paths)
    assert left in done.paths
    assert {path.split("/")[0] for path in done.paths} == {"data", METADATA}
    assert ids(opened(storage).at(version="a")) == [1, 2]
    assert {number: ids(opened(storage).at(version=number)) for number in numbers(table)} == {
        2: [1, 2], 6: [], 7: [9], 8: [9],
    }  # fmt: skip
    assert table.vacuum().files == 0


def test_a_table_that_is_empty_now_may_lose_all_its_files() -> None:
    """That nothing is used is then what every version says, each of which was read."""
    storage = MemoryStorage()
    table = grown(storage, 3)
    table.truncate()
    age(storage)
    table.expire(keep_last=1)
    table.vacuum()
    assert data(storage) == set()
    assert table.append(events("A", [1])).rows_added == 1


LEFTOVERS = [
    "data/0123456789abcdef0123456789abcdef/00000.parquet",
    "data/0123456789abcdef0123456789abcdef/_dt=2026-05-17/_app=%5B%23small%5D/00012.parquet",
    "data/0123456789abcdef0123456789abcdef/fedcba9876543210fedcba9876543210/_app=A/100000.parquet",
    "data/0123456789abcdef0123456789abcdef/_app=A/part-00003-8f0e7a52-9d1c-4c5b-8f57-0d5c7d1f8e10.c000.zstd.parquet",
    "data/0123456789abcdef0123456789abcdef/_app=A/.part-00003-8f0e7a52-9d1c-4c5b-8f57-0d5c7d1f8e10.c000.parquet.crc",
    "data/0123456789abcdef0123456789abcdef/_SUCCESS",
    "data/0123456789abcdef0123456789abcdef/._SUCCESS.crc",
    "data/0123456789abcdef0123456789abcdef/_temporary/0/task_1/_app=A/part-00000-x.parquet",
    "data/0123456789abcdef0123456789abcdef/_temporary/0/_temporary/attempt_1/.part-0.crc",
    temporary_beside("data/0123456789abcdef0123456789abcdef/_app=A/00000.parquet"),
    temporary_beside(f"{METADATA}/latest"),
    temporary_beside(version_path(7)),
    temporary_beside(new_manifest_path()),
    new_manifest_path(),
    f"{CLOCK}/{uuid4().hex}",
]


@pytest.mark.parametrize("path", LEFTOVERS)
def test_what_our_writers_leave_goes(path: str) -> None:
    """Arrow's files, Spark's, Hadoop's on the way to them, and temporaries of commits."""
    storage = MemoryStorage()
    table = grown(storage, 2)
    orphan(storage, path)
    age(storage)
    assert table.vacuum().paths == (path,)
    assert ids(table) == [1, 2]


def test_temporaries_on_a_disk_go(tmp_path: Path) -> None:
    """Listings leave them out; a clean-up must see them."""
    table = grown(open_storage(tmp_path), 1)
    left = [tmp_path / path for path in LEFTOVERS if path.endswith(".tmp")]
    assert len(left) == 4
    for path in left:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half of it")
    age_on_disk(tmp_path)
    assert set(table.vacuum().paths) == {path.relative_to(tmp_path).as_posix() for path in left}
    assert not any(path.exists() for path in left)
    assert not (tmp_path / "data/0123456789abcdef0123456789abcdef").exists()


# --- 1: what all versions name -----------------------------------------------------------------------------------


def test_what_any_retained_version_names_stays() -> None:
    """Though the newest does not have it, and though a version that removed it has expired."""
    storage = MemoryStorage()
    table = grown(storage, 2)
    table.tag("a", version=1)
    table.truncate()
    table.rollback(2)
    table.truncate()
    age(storage)
    table.expire(keep_last=2)
    assert numbers(table) == [1, 5, 6, 7]
    table.vacuum()
    assert ids(table.at(version="a")) == [1]
    assert ids(table.at(version=5)) == [1, 2]
    table.untag("a")
    table.expire(keep_last=1)
    age(storage)
    table.vacuum()
    assert len(data(storage)) == 0


def test_a_rollback_finds_everything_it_needs() -> None:
    """A path once removed is named again only by a version that named it all the while."""
    storage = MemoryStorage()
    table = grown(storage, 3)
    table.truncate()
    age(storage)
    table.expire(keep_last=2)
    table.vacuum()
    table.rollback(3)
    assert ids(table) == [1, 2, 3]
    age(storage)
    table.expire(keep_last=1)
    table.vacuum()
    assert ids(opened(storage)) == [1, 2, 3]


# --- 2: what cannot be read --------------------------------------------------------------------------------------


def flipped(data_: bytes) -> bytes:
    """With one bit another one."""
    return data_[:100] + bytes([data_[100] ^ 1]) + data_[101:]


def lose_versions(storage: MemoryStorage) -> None:
    """A table without any."""
    for path in [path for path in storage.files if path.startswith(VERSIONS)]:
        storage.delete(path)


DAMAGE: dict[str, Callable[[MemoryStorage, Table], object]] = {
    "the newest version is damaged": lambda s, t: s.put(version_path(t.version), b"{}"),
    "an older version is damaged": lambda s, _: s.put(version_path(3), flipped(s.files[version_path(3)])),
    "an older version is missing": lambda s, _: s.delete(version_path(3)),
    "the oldest version is missing": lambda s, _: s.delete(version_path(2)),
    "a tagged version is missing": lambda s, _: s.delete(version_path(1)),
    "a tagged version is damaged": lambda s, _: s.put(version_path(1), b""),
    "a manifest is missing": lambda s, t: s.delete(t.state.manifests[0].path),
    "a manifest is damaged": lambda s, t: s.put(
        t.state.manifests[0].path, flipped(s.files[t.state.manifests[0].path])
    ),
    "a manifest is empty": lambda s, t: s.put(t.state.manifests[0].path, b""),
    "a manifest is another one": lambda s, t: s.put(
        t.state.manifests[0].path, s.files[t.state.manifests[1].path]
    ),
    "all versions are missing": lambda s, _: lose_versions(s),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
@pytest.mark.parametrize("hint", [True, False])
def test_metadata_that_cannot_be_read_stops_everything(name: str, hint: bool) -> None:
    """Nothing is deleted: what it names would look as if nobody needed it."""
    storage = MemoryStorage()
    table = grown(storage, 4)
    table.tag("a", version=1)
    table.delete("id = 2")
    table.expire("0s", keep_last=4, force=True)
    assert table.state.retained_from == 2
    orphan(storage)
    DAMAGE[name](storage, table)
    if not hint:
        storage.delete(LATEST_HINT)
    age(storage)
    before = dict(storage.files)
    with pytest.raises(CoalesceError):
        table.vacuum()
    assert storage.files == before


def test_a_newest_version_that_was_lost_stops_everything() -> None:
    """The hint still names it: what only that version needed would look as if nobody did."""
    storage = MemoryStorage()
    table = grown(storage, 3)
    newest = table.append(events("A", [9])).version
    age(storage)
    before = dict(storage.files)
    storage.delete(version_path(newest))
    with pytest.raises(CorruptMetadata, match=f"{newest:020d}.json.*is missing although '_coalesce/latest' names it"):
        opened(storage).vacuum()
    assert {*before} - {*storage.files} == {version_path(newest)}
    storage.delete(LATEST_HINT)
    assert opened(storage).vacuum().files > 0


def test_a_store_that_cannot_be_listed_or_read_stops_everything() -> None:
    """Whichever request fails."""
    storage = MemoryStorage()
    table = grown(storage, 4)
    table.truncate()
    table.expire("0s", keep_last=3, force=True)
    orphan(storage)
    age(storage)
    before = dict(storage.files)
    storage.requests.clear()
    table.vacuum(dry_run=True)
    made = [request for request in storage.requests if not request.startswith(("put", "delete"))]
    assert len(made) > 5
    called = storage._called

    def failing(method: str, path: str) -> None:
        called(method, path)
        if f"{method} {path}" == failed:
            raise StorageError(f"could not {method} {path}: connection reset by peer.")

    storage._called = failing  # type: ignore[method-assign]
    for failed in made:
        if failed == f"read {LATEST_HINT}":
            continue
        with pytest.raises(CoalesceError):
            table.vacuum()
        assert storage.files == before, failed


def test_a_table_of_a_newer_release_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What its writers need, only a newer release knows; a version that is kept counts as the newest does."""
    storage = MemoryStorage()
    table = grown(storage, 2)
    orphan(storage)
    age(storage)
    monkeypatch.setattr(model, "WRITER_FEATURES", frozenset({"logicalPartitions"}))
    before = dict(storage.files)
    with pytest.raises(UnsupportedFeature):
        table.vacuum()
    assert storage.files == before


def test_a_version_of_another_table_stops_everything() -> None:
    """Whose files lie somewhere else."""
    storage, other = MemoryStorage(), MemoryStorage()
    table = grown(storage, 3)
    grown(other, 3)
    storage.put(version_path(1), other.files[version_path(1)])
    orphan(storage)
    age(storage)
    before = dict(storage.files)
    with pytest.raises(CorruptMetadata):
        table.vacuum()
    assert storage.files == before


# --- 3: first the list, then the newest version ------------------------------------------------------------------


def test_a_version_that_is_committed_meanwhile_protects_its_files() -> None:
    """Its files are old, as those of a write that took a day: they are listed, and then committed."""
    storage = InterruptedStorage(lambda request: request == "list _coalesce")
    table = grown(storage, 1)
    slow = opened(storage)
    begun = begun_append(slow, events("A", [2]))
    left = orphan(storage)
    age(storage)
    storage.interruptions.append(lambda: core_of(slow).commit(begun))
    assert table.vacuum().paths == (left,)
    assert ids(opened(storage)) == [1, 2]


def test_versions_that_expire_meanwhile_are_no_damage() -> None:
    """Another expiry deletes a version that is about to be read: what is retained then is read again."""
    storage = InterruptedStorage(lambda request: request == f"read {version_path(2)}")
    table = grown(storage, 5)
    left = orphan(storage)
    age(storage)
    storage.interruptions.append(lambda: opened(storage).expire(keep_last=1))
    assert left in table.vacuum().paths
    assert ids(opened(storage)) == [1, 2, 3, 4, 5]


# --- 4: age ------------------------------------------------------------------------------------------------------


def test_what_is_young_stays() -> None:
    """A writer may be about to commit it: older than a week by default, than a day at the least."""
    storage = MemoryStorage()
    table = grown(storage, 1)
    begun = begun_append(opened(storage), events("A", [2]))
    for days, older_than in (6, "7d"), (0.9, "24h"):
        age(storage, days)
        assert table.vacuum(older_than).paths == ()
        age(storage, -days)
    begun.commit()
    assert ids(table.refresh()) == [1, 2]


def test_by_the_clock_of_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose own clock is a year ahead does not delete what was written a minute ago."""
    storage = MemoryStorage()
    table = grown(storage, 1)
    left = orphan(storage)
    monkeypatch.setattr("time.time", lambda: 1e10)
    assert table.vacuum().paths == ()
    assert left in storage.files


def test_force_takes_everything_that_no_version_names() -> None:
    """At once; whoever says so knows that nobody else is at work."""
    storage = MemoryStorage()
    table = grown(storage, 1)
    left = orphan(storage)
    assert table.vacuum("0s", force=True).paths == (left,)


# --- 5: names ----------------------------------------------------------------------------------------------------

FOREIGN = [
    "data/part-00000.parquet",
    "data/dt=2026-05-17/app=A/part-00000-8f0e7a52-9d1c-4c5b-8f57-0d5c7d1f8e10.c000.parquet",
    "data/0123456789abcdef0123456789abcdef.parquet",
    "data/0123456789abcdef0123456789abcdef/notes.txt",
    "data/0123456789abcdef0123456789abcdef/data.parquet",
    "data/0123456789abcdef0123456789abcdef/0.parquet",
    "data/0123456789abcdef0123456789abcdef/app=A/00000.parquet",
    "data/0123456789abcdef0123456789abcdef/deeper/_app=A/00000.parquet",
    "data/0123456789ABCDEF0123456789ABCDEF/00000.parquet",
    "data/0123456789abcdef0123456789abcde/00000.parquet",
    "data/w1/00000.parquet",
    "2026/0123456789abcdef0123456789abcdef/00000.parquet",
    "0123456789abcdef0123456789abcdef/00000.parquet",
    "README.md",
    "backup/_coalesce/manifests/0123456789abcdef0123456789abcdef.parquet",
    "_coalesce/notes",
    "_coalesce/latest.old",
    "_coalesce/manifests/other.parquet",
    "_coalesce/manifests/0123456789abcdef0123456789abcdef.parquet.bak",
    "_coalesce/manifests/old/0123456789abcdef0123456789abcdef.parquet",
    "_coalesce/versions/7.json",
    "_coalesce/versions/00000000000000000003.json.bak",
    "_coalesce/other/0123456789abcdef0123456789abcdef",
    ".coalesce-0123456789abcdef0123456789abcdef.tmp",
    "other/.coalesce-0123456789abcdef0123456789abcdef.tmp",
]


def test_what_others_put_there_stays() -> None:
    """Adopted files, notes, copies: whatever our writers do not call so, or put there."""
    storage = MemoryStorage()
    table = grown(storage, 1)
    for path in FOREIGN:
        orphan(storage, path)
    age(storage)
    assert table.vacuum("0s", force=True).paths == ()
    assert set(FOREIGN) <= set(storage.files)
    assert not any(is_own(path) for path in [*FOREIGN, LATEST_HINT])


def test_an_adopted_file_that_was_removed_stays() -> None:
    """It was named once, and the version that named it has expired; it is still not ours to delete."""
    storage = MemoryStorage()
    table = grown(storage, 1)
    adopted = orphan(storage, "data/dt=2026-05-17/app=A/part-00000.parquet")
    begun = core_of(table).transaction("adopt")
    begun.add([replace(named_files(table, ["A"])[0], path=adopted)])
    core_of(table).commit(begun)
    table.truncate()
    age(storage)
    table.expire(keep_last=1)
    assert adopted not in table.vacuum().paths
    assert adopted in storage.files


def test_names_that_a_file_system_takes_for_the_same_are_the_same() -> None:
    """One that does not tell upper from lower case, or spells accents in its own way, shows other names than given."""
    storage = MemoryStorage()
    table = create(storage)
    table.append(events("Zoe\u0301É", [1]))
    (path,) = data(storage)
    name = path.rpartition("/")[0].rpartition("=")[2]
    for shown in (path.replace(name, "Zo\u00e9E\u0301"), path.upper().replace("DATA/", "data/")):
        listed = replace(storage.list("data")[0], path=shown)
        assert reachable.unused(storage, core_of(table).log, table.state, [listed]) == []


# --- 7: deleting -------------------------------------------------------------------------------------------------


def test_failures_are_told_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """And tried again first; the others go."""
    monkeypatch.setattr(deleting, "_FIRST_WAIT", 0)
    storage = MemoryStorage()
    table = grown(storage, 1)
    left = [orphan(storage) for _ in range(5)]
    age(storage)
    delete, tries = storage.delete, dict[str, int]()

    def failing(path: str) -> None:
        tries[path] = tries.get(path, 0) + 1
        if path in left[:2] or (path == left[2] and tries[path] < 3):
            raise StorageError(f"could not delete {path}: busy.")
        delete(path)

    storage.delete = failing  # type: ignore[method-assign]
    result = table.vacuum()
    assert set(result.paths) == set(left[2:])
    assert {(f.path, f.reason) for f in result.failures} == {
        (path, f"could not delete {path}: busy.") for path in left[:2]
    }
    assert result.bytes == 3 * len(b"half of it")
    assert "2 not deleted" in repr(result)
    storage.delete = delete  # type: ignore[method-assign]
    assert set(table.vacuum().paths) == set(left[:2])


def test_an_interruption_leaves_a_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle: some files are gone, none that is needed, and the next time goes on."""
    monkeypatch.setattr(deleting, "_WAVE", 4)
    storage = MemoryStorage()
    table = grown(storage, 2)
    left = {orphan(storage) for _ in range(20)}
    age(storage)

    def interrupt(done: int, total: int) -> None:
        assert total == 20
        if done == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.vacuum(progress=interrupt)
    assert len(left & set(storage.files)) == 12
    assert ids(opened(storage)) == [1, 2]
    seen: list[tuple[int, int]] = []
    assert table.vacuum(progress=lambda done, total: seen.append((done, total))).files == 12
    assert seen == [(4, 12), (8, 12), (12, 12)]


def test_expired_versions_that_were_left_go_in_order(tmp_path: Path) -> None:
    """An expiry that died left them; a younger one keeps those behind it, so that no gap comes about."""
    storage = open_storage(tmp_path)
    table = grown(storage, 12)
    table.tag("a", version=3)
    shutil.copytree(tmp_path / VERSIONS, tmp_path / "copy")
    table.expire("0s", keep_last=1, force=True)
    for path in (tmp_path / "copy").iterdir():
        if not (tmp_path / VERSIONS / path.name).exists():
            path.rename(tmp_path / VERSIONS / path.name)
    shutil.rmtree(tmp_path / "copy")
    age_on_disk(tmp_path)
    os.utime(tmp_path / version_path(7))
    gone = [version_path(number) for number in (0, 1, 2, 4, 5, 6)]
    assert table.vacuum().paths == tuple(gone)
    assert (tmp_path / alone(version_path(3))).exists()
    assert opened(storage).version == 14


# --- 8: links ----------------------------------------------------------------------------------------------------


def test_links_are_not_followed(tmp_path: Path) -> None:
    """Neither a link nor what it leads to is deleted, wherever in the table it lies."""
    root, elsewhere = tmp_path / "table", tmp_path / "elsewhere"
    table = grown(open_storage(root), 1)
    write = new_write_directory()
    outside = elsewhere / "_app=A" / "00000.parquet"
    outside.parent.mkdir(parents=True)
    outside.write_bytes(b"somebody else's")
    (root / write).mkdir()
    (root / write / "00000.parquet").symlink_to(outside)
    (root / write / "_app=B").symlink_to(outside.parent)
    (root / new_write_directory()).symlink_to(elsewhere)
    (root / new_manifest_path()).symlink_to(outside)
    age_on_disk(tmp_path)
    before = tree(tmp_path)
    assert table.vacuum("0s", force=True).paths == ()
    assert tree(tmp_path) == before


@pytest.mark.parametrize("moved", ["data", "_coalesce/manifests"])
def test_a_directory_that_is_a_link_is_not_cleaned(tmp_path: Path, moved: str) -> None:
    """Somebody moved it to another disk: the table works, and what lies there is left alone."""
    root = tmp_path / "table"
    table = grown(open_storage(root), 2)
    (root / moved).rename(tmp_path / "moved")
    (root / moved).symlink_to(tmp_path / "moved")
    table.truncate()
    table.expire("0s", keep_last=1, force=True)
    age_on_disk(tmp_path)
    before = tree(tmp_path / "moved")
    table.vacuum("0s", force=True)
    assert tree(tmp_path / "moved") >= before
    assert len(before) >= 2


# --- how much it takes -------------------------------------------------------------------------------------------


def test_every_manifest_is_read_once() -> None:
    """However many versions name it."""
    storage = MemoryStorage()
    table = grown(storage, 3)
    grow(storage, 40, start=3)
    orphan(storage)
    age(storage)
    storage.requests.clear()
    table.vacuum()
    reads = [request for request in storage.requests if request.startswith("read") and LATEST_HINT not in request]
    assert len(reads) == len(set(reads))
    assert sum("manifests" in request for request in reads) == 3
    assert sum("versions" in request for request in reads) == 41


def test_a_listing_that_is_not_complete_deletes_less() -> None:
    """A store that does not show all files yet: they stay."""
    storage = MemoryStorage()
    table = grown(storage, 2)
    left = [orphan(storage), orphan(storage)]
    age(storage)
    sweep = storage.sweep

    def some(prefix: str) -> Listing:
        return [file for file in sweep(prefix) if file.path != left[0]]

    storage.sweep = some  # type: ignore[method-assign]
    assert table.vacuum().paths == (left[1],)
    assert encode_version(table.state) == storage.files[version_path(2)]
