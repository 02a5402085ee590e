from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa
import pytest

from coalesce.arrow.rewrite import rewrite
from coalesce.arrow.write import write
from coalesce.errors import StorageError
from coalesce.model.rule import keep_all
from coalesce.storage.base import Storage
from coalesce.storage.local import LocalStorage
from tests.builders import bound, make_snapshot, make_version

ROWS = pa.table({"app": [f"{i % 7}" for i in range(70)], "n": range(70)})


@dataclass
class Failing:
    """A storage whose `fails_at`-th put fails: before the file is there, or after."""

    inner: Storage
    fails_at: int
    after: bool = False
    puts: int = 0
    lock: Lock = field(default_factory=Lock)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create the file, or fail."""
        with self.lock:
            self.puts += 1
            fails = self.puts == self.fails_at
        if not fails:
            return self.inner.put_if_absent(path, data)
        if self.after:
            self.inner.put_if_absent(path, data)
        raise StorageError("the disk is full.")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("fails_at", range(1, 8))
def test_a_failed_write_leaves_no_files(tmp_path: Path, fails_at: int, after: bool) -> None:
    """Whichever put fails, and whether or not its bytes arrived, what was put before it is deleted."""
    snapshot = make_snapshot(tmp_path, make_version(ROWS.schema, ["app"], keep_all()))
    failing = Failing(snapshot.storage, fails_at, after)
    with pytest.raises(StorageError, match="the disk is full"):
        write(replace(snapshot, storage=failing), ROWS)
    assert LocalStorage(tmp_path).list("") == []


@pytest.mark.parametrize("fails_at", [1, 4, 7])
def test_a_failed_rewrite_leaves_the_old_files_only(tmp_path: Path, fails_at: int) -> None:
    """The files that were to be replaced stay."""
    snapshot = make_snapshot(tmp_path, make_version(ROWS.schema, ["app"], keep_all()))
    files = write(snapshot, ROWS)
    with pytest.raises(StorageError):
        rewrite(replace(snapshot, storage=Failing(snapshot.storage, fails_at)), files, bound(snapshot.version, "n < 7"))
    assert paths(snapshot.storage) == sorted(f.path for f in files)


def test_a_file_that_is_there_already_is_ours_if_it_is_as_long(tmp_path: Path) -> None:
    """A store that repeats a request whose answer was lost finds its own work, which is no failure."""

    class Repeating(Failing):
        def put_if_absent(self, path: str, data: bytes) -> bool:
            self.inner.put_if_absent(path, data)
            return self.inner.put_if_absent(path, data)

    snapshot = make_snapshot(tmp_path, make_version(ROWS.schema, ["app"], keep_all()))
    assert len(write(replace(snapshot, storage=Repeating(snapshot.storage, 0)), ROWS)) == 7


def test_a_file_of_somebody_else_is_an_error(tmp_path: Path) -> None:
    """A file that is there and is not this one is never taken for it, nor left for a version to name."""

    class Occupied(Failing):
        def put_if_absent(self, path: str, data: bytes) -> bool:
            self.inner.put_if_absent(path, data + b"!")
            return False

    snapshot = make_snapshot(tmp_path, make_version(ROWS.schema))
    with pytest.raises(StorageError, match="there is another file"):
        write(replace(snapshot, storage=Occupied(snapshot.storage, 0)), ROWS)


def paths(storage: Storage) -> Sequence[str]:
    """The paths of all files there are."""
    return [f.path for f in storage.list("")]
