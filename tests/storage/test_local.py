"""What a local disk adds to the contract: crashes, full disks, permissions, links."""

import errno
import os
import pickle
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from coalesce.errors import NothingWritten, StorageError
from coalesce.storage import open_storage
from coalesce.storage.local import LocalStorage

_NOBODY = 65534  # a user without rights, on every Unix


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    """An empty local storage; its root does not exist yet."""
    return LocalStorage(tmp_path / "table")


def everything_in(directory: Path) -> list[str]:
    """All files, temporary ones included."""
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if not path.is_dir())


def test_a_killed_writer_leaves_nothing_or_everything(tmp_path: Path) -> None:
    """Wherever SIGKILL hits a writer, the file is absent or whole, no temporary is listed, and others can write it."""
    project = Path(__file__).parents[2]
    program = [sys.executable, str(Path(__file__).with_name("dying.py")), str(tmp_path)]
    assert subprocess.run(program, cwd=project, env={"PYTHONPATH": str(project)}, timeout=300).returncode == 0
    data = b"0123456789" * 100_000
    outcomes: dict[str, bool] = {}
    for root in sorted(tmp_path.iterdir()):
        storage = LocalStorage(root)
        listed = [(file.path, file.size) for file in storage.list("")]
        assert listed in ([], [("a/b/file", len(data))]), root.name
        outcomes[root.name] = bool(listed)
        assert storage.put_if_absent("a/b/file", data) is not bool(listed)
        assert storage.read("a/b/file") == data
    # The program reached the steps it is about, and the link is what makes the file visible.
    assert outcomes["half-written"] is False
    assert outcomes["link-1-before"] is False
    assert outcomes["link-1-after"] is True
    assert len(outcomes) > 15


def test_file_name_and_directories_are_synced_in_order(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before True is returned, the bytes are on the disk, then the file's name, and each new directory's name."""
    done: list[str] = []
    link, fsync = os.link, os.fsync

    def traced_sync(descriptor: int) -> None:
        target = os.readlink(f"/proc/self/fd/{descriptor}")
        done.append(f"sync {'file' if stat.S_ISREG(os.fstat(descriptor).st_mode) else os.path.basename(target)}")
        fsync(descriptor)

    def traced_link(source: str, target: str) -> None:
        link(source, target)
        done.append("link")

    monkeypatch.setattr(os, "fsync", traced_sync)
    monkeypatch.setattr(os, "link", traced_link)
    above = os.path.basename(os.path.dirname(storage.uri("")))
    assert storage.put_if_absent("a/b/file", b"x")
    assert done == [f"sync {above}", "sync table", "sync a", "sync file", "link", "sync b"]
    done.clear()
    assert storage.put_if_absent("a/b/other", b"x")
    assert done == ["sync file", "link", "sync b"]


def test_a_directory_that_was_deleted_is_made_again(storage: LocalStorage) -> None:
    """Also where those below it are new: the table was dropped and created again, and nothing written to it yet."""
    storage.put_if_absent("data/first/p=a/file", b"1")
    shutil.rmtree(storage.uri("data"))
    assert storage.put_if_absent("data/second/p=a/file", b"2")
    assert storage.read("data/second/p=a/file") == b"2"


def test_directories_that_another_writer_has_just_made_are_synced_too(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other may die before it syncs their names; what we create in them has to survive all the same.

    Whether they were there before we looked, or came into being between our look and our `mkdir`.
    """
    synced: list[str] = []
    fsync, mkdir = os.fsync, os.mkdir

    def traced_sync(descriptor: int) -> None:
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    def overtaken_mkdir(path: str, mode: int = 0o777) -> None:
        mkdir(path, mode)
        mkdir(path, mode)  # as if another writer had made it just before: FileExistsError

    monkeypatch.setattr(os, "fsync", traced_sync)
    os.makedirs(storage.uri("a/b"))
    assert storage.put_if_absent("a/b/file", b"x")
    assert synced[:2] == ["table", "a"]
    synced.clear()
    monkeypatch.setattr(os, "mkdir", overtaken_mkdir)
    assert storage.put_if_absent("c/d/file", b"x")
    assert synced[:2] == ["table", "c"]


def test_a_full_disk_is_a_sentence_and_leaves_nothing(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """ENOSPC is told as such, and neither the file nor a temporary one stays behind."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    storage.put_if_absent("a/first", b"x")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError) as caught:
        storage.put_if_absent("a/second", b"x" * 100)
    assert str(caught.value) == (
        f"could not write 'a/second' in {storage.root}: no space left on device; free some space and try again."
    )
    assert everything_in(Path(storage.uri(""))) == ["a/first"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB, where the machine lets us mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small file system needs privileges")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_really_full_disk(small_disk: Path) -> None:
    """The same on a file system that is full: refused, cleaned up, and smaller files can still be created."""
    storage = LocalStorage(small_disk / "table")
    storage.put_if_absent("small", b"x")
    with pytest.raises(StorageError, match="no space left on device"):
        storage.put_if_absent("large", b"x" * 1_000_000)
    with pytest.raises(StorageError, match="no space left on device"):
        storage.put("large", b"x" * 1_000_000)
    assert everything_in(small_disk / "table") == ["small"]
    assert storage.put_if_absent("other", b"y") is True


def test_a_file_over_the_size_limit(storage: LocalStorage) -> None:
    """A write that the operating system cuts off half-way is refused and cleaned up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(NothingWritten, match="file too large"):
            storage.put_if_absent("large", b"x" * 1_000_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert everything_in(Path(storage.uri(""))) == []


@contextmanager
def without_privileges(directory: Path) -> Iterator[None]:
    """Do the work of a user who may not do everything, and to whom the directory belongs."""
    if os.geteuid() != 0:
        yield
        return
    for path in (directory, *directory.rglob("*")):
        os.chown(path, _NOBODY, _NOBODY)
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_no_permission_is_a_sentence() -> None:
    """Reading and writing what is not ours is told as such."""
    with tempfile.TemporaryDirectory() as outside:  # pytest's own directories let no other user in
        os.chmod(outside, 0o755)
        storage = LocalStorage(Path(outside, "table"))
        storage.put_if_absent("a/file", b"x")
        with without_privileges(Path(outside, "table")):
            _check_refusals(storage)


def _check_refusals(storage: LocalStorage) -> None:
    os.chmod(storage.uri("a"), 0)
    uses: list[Callable[[], object]] = [
        lambda: storage.read("a/file"),
        lambda: storage.put_if_absent("a/b", b""),
        lambda: storage.list(""),
    ]
    for use in uses:
        with pytest.raises(StorageError, match="permission denied; check who owns it"):
            use()
    os.chmod(storage.uri("a"), 0o700)


def test_a_file_system_without_hard_links_is_refused(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where links cannot be made there is no atomic create, and nothing is pretended."""

    def refuse(*_: str) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(StorageError, match="the file system refuses hard links"):
        storage.put_if_absent("file", b"x")
    assert everything_in(Path(storage.uri(""))) == []


def test_a_link_whose_answer_was_lost_is_ours(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over NFS a repeated link finds the file that the first one made; two names for our bytes show whose it is."""
    link = os.link

    def answer_lost(source: str, target: str) -> None:
        link(source, target)
        raise FileExistsError(errno.EEXIST, "File exists")

    monkeypatch.setattr(os, "link", answer_lost)
    assert storage.put_if_absent("file", b"x") is True
    assert everything_in(Path(storage.uri(""))) == ["file"]


def test_empty_directories_go_with_the_last_file(storage: LocalStorage) -> None:
    """A write that failed leaves none of its own behind; the topmost stays, and so does what is not empty."""
    for path in ("data/w/k=1/a", "data/w/k=1/b", "data/w/k=2/c", "data/v/d"):
        storage.put_if_absent(path, b"x")
    storage.delete("data/w/k=1/a")
    assert os.path.isdir(storage.uri("data/w/k=1"))
    storage.delete("data/w/k=1/b")
    assert sorted(os.listdir(storage.uri("data/w"))) == ["k=2"]
    storage.delete("data/w/k=2/c")
    assert os.listdir(storage.uri("data")) == ["v"]
    storage.delete("data/v/d")
    assert os.listdir(storage.uri("data")) == []
    assert storage.put_if_absent("data/w/k=1/a", b"y") is True


def test_a_directory_deleted_behind_our_back_is_made_again(storage: LocalStorage) -> None:
    """A storage that outlives a dropped table can write to a new one at the same place."""
    storage.put_if_absent("a/b/file", b"x")
    os.unlink(storage.uri("a/b/file"))
    os.removedirs(storage.uri("a/b"))
    assert storage.put_if_absent("a/b/file", b"y") is True
    assert storage.read("a/b/file") == b"y"


def test_a_directory_that_others_delete_again_and_again(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the last file of theirs in it, as those do that look at the clock: it is made until a file is in it."""
    make = storage._make_directory
    times = 0

    def deleted(directory: str) -> None:
        nonlocal times
        make(directory)
        if directory == storage.uri("a/b") and times < 5:
            times += 1
            os.rmdir(directory)

    monkeypatch.setattr(storage, "_make_directory", deleted)
    storage.put("a/b/file", b"x")
    assert (storage.read("a/b/file"), times) == (b"x", 5)


def test_links_to_files_are_files_and_links_to_directories_are_left_out(storage: LocalStorage, tmp_path: Path) -> None:
    """A listing never wanders out of the table, nor in circles, and a dangling link is nothing."""
    storage.put_if_absent("a/file", b"123")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_bytes(b"x")
    os.symlink(storage.uri("a/file"), storage.uri("link"))
    os.symlink(tmp_path / "outside", storage.uri("elsewhere"))
    os.symlink(storage.uri(""), storage.uri("a/circle"))
    os.symlink("nowhere", storage.uri("dangling"))
    assert [(file.path, file.size) for file in storage.list("")] == [("a/file", 3), ("link", 3)]


def test_a_sweep_has_no_links(storage: LocalStorage, tmp_path: Path) -> None:
    """Neither links nor what they lead to, not even if the directory that was asked for is behind one."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(b"1")
    storage.put("data/a/file", b"2")
    root = Path(storage.uri(""))
    (root / "data/link").symlink_to(outside)
    (root / "data/a/link").symlink_to(outside / "file")
    (root / "other").symlink_to(root / "data")
    assert [file.path for file in storage.sweep("")] == ["data/a/file"]
    assert [file.path for file in storage.sweep("data")] == ["data/a/file"]
    assert storage.sweep("other") == storage.sweep("other/a") == storage.sweep("data/link") == []


def test_a_file_where_a_directory_should_be(storage: LocalStorage) -> None:
    """A path below a file cannot be written, and the error names it."""
    storage.put_if_absent("a", b"x")
    with pytest.raises(StorageError, match=r"could not write 'a/b' in .*: not a directory"):
        storage.put_if_absent("a/b", b"x")


def test_only_what_follows_is_looked_at(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A listing from a name on opens no directory that lies wholly before it."""
    for name in ["a/1", "b/1", "b/2", "b/c/1", "d/1"]:
        storage.put_if_absent(name, b"")
    opened: list[str] = []
    scandir = os.scandir

    def traced(path: str) -> "os._ScandirIterator[str]":
        opened.append(os.path.relpath(path, storage.uri("")))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", traced)
    assert [file.path for file in storage.list("", "b/1")] == ["b/2", "b/c/1", "d/1"]
    assert sorted(opened) == [".", "b", "b/c", "d"]


def test_a_relative_root_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changing the working directory later does not move the table."""
    monkeypatch.chdir(tmp_path)
    storage = open_storage("events")
    monkeypatch.chdir("/")
    storage.put_if_absent("file", b"x")
    assert storage.root == "events"
    assert (tmp_path / "events/file").read_bytes() == b"x"


def test_it_can_be_sent_to_another_process(storage: LocalStorage) -> None:
    """A worker gets the same storage."""
    storage.put_if_absent("file", b"x")
    copy: LocalStorage = pickle.loads(pickle.dumps(storage))
    assert copy.read("file") == b"x"
    assert copy.root == storage.root


@pytest.mark.parametrize("look", ["stat", "lstat"])
def test_a_file_that_comes_after_the_first_look_is_another_writers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: str
) -> None:
    """Whoever looks at the name before creating it, and finds nothing, has lost to the one who creates it meanwhile."""
    storage, other = LocalStorage(tmp_path), LocalStorage(tmp_path)
    target = tmp_path / "v" / "1.json"
    original = getattr(os, look)

    def looked(path: str, *arguments: object, **named: object) -> os.stat_result:
        try:
            return original(path, *arguments, **named)  # type: ignore[no-any-return]
        finally:
            if str(path) == str(target) and not target.exists():
                monkeypatch.undo()
                other.put_if_absent("v/1.json", b"other")

    (tmp_path / "v").mkdir()
    monkeypatch.setattr(os, look, looked)
    created = storage.put_if_absent("v/1.json", b"own")
    assert target.read_bytes() == (b"own" if created else b"other")
    assert [file.path for file in storage.list("")] == ["v/1.json"]


def test_a_failure_is_certain_only_before_the_name(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that fails may have been made, and only its answer lost."""

    def fails(*_: object) -> None:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(os, "link", fails)
    with pytest.raises(StorageError) as failed:
        storage.put_if_absent("v/1.json", b"1")
    assert not isinstance(failed.value, NothingWritten)
