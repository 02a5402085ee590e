"""A store in memory, and ones that count, fail or lose their answers, for tests of what is built on a store."""

import threading
import time
from collections.abc import Callable

import pyarrow as pa

from coalesce.errors import StorageError
from coalesce.storage.base import Listing, StoredFile, check_path, directory_of, file_missing


class MemoryStorage:
    """Files in a dictionary. `requests` has a line for each call, such as `read _coalesce/latest`."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.modified: dict[str, int] = {}
        self.requests: list[str] = []
        self._lock = threading.Lock()

    @property
    def root(self) -> str:
        """A name for messages."""
        return "memory"

    def uri(self, path: str) -> str:
        """Nowhere an engine could find it."""
        return f"memory:{path}"

    def read(self, path: str) -> bytes:
        """The whole file."""
        self._called("read", path)
        with self._lock:
            if check_path(path) not in self.files:
                raise file_missing(self.root, path)
            return self.files[path]

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Some of it."""
        return self.read(path)[offset : offset + length]

    def size(self, path: str) -> int:
        """Its length."""
        return len(self.read(path))

    def list(self, prefix: str, start_after: str | None = None) -> Listing:
        """The files below `prefix`, sorted."""
        self._called("list", prefix)
        inside, after = directory_of(prefix), start_after or ""
        with self._lock:
            found = [
                StoredFile(path, len(data), self.modified[path])
                for path, data in self.files.items()
                if path.startswith(inside) and path > after
            ]
        return sorted(found, key=lambda file: file.path)

    def sweep(self, prefix: str) -> Listing:
        """The same."""
        return self.list(prefix)

    @property
    def lists_from_a_name(self) -> bool:
        """As stores do."""
        return True

    def numbered(self, name: Callable[[int], str], first: int) -> Listing:
        """The files from a number on, by a listing."""
        return self.list(name(first).rpartition("/")[0], name(first - 1) if first > 0 else None)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create the file unless it is there."""
        self._called("put_if_absent", path)
        with self._lock:
            if check_path(path) in self.files:
                return False
            self._store(path, data)
            return True

    def put(self, path: str, data: bytes) -> None:
        """Write the file."""
        self._called("put", path)
        with self._lock:
            self._store(check_path(path), data)

    def delete(self, path: str) -> None:
        """Delete the file if it is there."""
        self._called("delete", path)
        with self._lock:
            self.files.pop(check_path(path), None)

    def open_input(self, path: str, *, size: int | None = None) -> pa.NativeFile:  # noqa: ARG002 - it is known here
        """The file for pyarrow."""
        return pa.BufferReader(self.read(path))

    def _store(self, path: str, data: bytes) -> None:
        self.files[path] = data
        self.modified[path] = time.time_ns() // 1_000_000

    def _called(self, method: str, path: str) -> None:
        self.requests.append(f"{method} {path}")


class LosingStorage(MemoryStorage):
    """Creates files, and then says that they were there already, or that something failed.

    `loses` picks the paths. With `error` the answer is a StorageError, as after a broken connection; without it is
    False, as from a store that repeats the request on its own and finds what the first one made.
    """

    def __init__(self, loses: Callable[[str], bool], *, error: bool) -> None:
        super().__init__()
        self.loses = loses
        self.error = error
        self.lost = 0

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create the file unless it is there, and perhaps not say so."""
        created = super().put_if_absent(path, data)
        if not created or not self.loses(path):
            return created
        self.lost += 1
        if self.error:
            raise StorageError("could not write: connection reset by peer.")
        return False


class FailingStorage(MemoryStorage):
    """Fails every write from number `fails_at` on, counted from when it is set, without having done anything."""

    def __init__(self) -> None:
        super().__init__()
        self.fails_at: int | None = None
        self.failed: list[str] = []

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create the file unless it is there, or fail."""
        self._maybe_fail(path)
        return super().put_if_absent(path, data)

    def put(self, path: str, data: bytes) -> None:
        """Write the file, or fail."""
        self._maybe_fail(path)
        super().put(path, data)

    def _maybe_fail(self, path: str) -> None:
        if self.fails_at is not None:
            self.fails_at -= 1
            if self.fails_at < 0:
                self.failed.append(path)
                raise StorageError("could not write: no space left on device.")


class InterruptedStorage(MemoryStorage):
    """Lets another writer work in the middle of an operation.

    Before a request that `at` picks, such as `put_if_absent _coalesce/versions/…`, the next of `interruptions` runs.
    What an interruption itself requests is not interrupted.
    """

    def __init__(self, at: Callable[[str], bool]) -> None:
        super().__init__()
        self.at = at
        self.interruptions: list[Callable[[], object]] = []
        self._interrupted = False

    def _called(self, method: str, path: str) -> None:
        super()._called(method, path)
        with self._lock:
            if self._interrupted or not self.interruptions or not self.at(f"{method} {path}"):
                return
            self._interrupted = True
            interrupt = self.interruptions.pop(0)
        try:
            interrupt()
        finally:
            self._interrupted = False
