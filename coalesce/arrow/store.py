"""Put data files where they belong: several at a time, and all of them or none."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final

from coalesce.arrow.threads import each
from coalesce.errors import StorageError
from coalesce.model.datafile import DataFile
from coalesce.storage.base import Storage

# Files made at the same time. Encoding runs outside Python's lock, and a store takes its time for a put; more of them
# would only hold more files in memory.
_WORKERS: Final = 4

# Makes a file: its bytes and its entry, None for the bytes if the file is there already, or None for all of it.
MakeFile = Callable[[], tuple[bytes | None, DataFile] | None]


def store(storage: Storage, files: Sequence[MakeFile]) -> list[DataFile]:
    """Make and store files, in order. If any fails, none of them is left behind."""
    begun: list[str] = []

    def make_and_put(make: MakeFile) -> DataFile | None:
        made = make()
        if made is None:
            return None
        data, entry = made
        if data is not None:
            begun.append(entry.path)
            _put(storage, entry.path, data)
        return entry

    try:
        entries = each(make_and_put, files, _WORKERS)
    except BaseException:  # none of them is being put any more
        discard(storage, begun)
        raise
    return [entry for entry in entries if entry is not None]


def discard(storage: Storage, paths: Iterable[str]) -> None:
    """Delete files of a write that has failed."""
    for path in paths:
        with suppress(StorageError):  # an orphan that no version names; the first failure is what to report
            storage.delete(path)


def _put(storage: Storage, path: str, data: bytes) -> None:
    # The directory is this write's own, so a file that is there is this one: the answer to the first request was
    # lost and the store repeated it.
    if not storage.put_if_absent(path, data) and storage.size(path) != len(data):
        raise StorageError(f"there is another file at {path!r} in {storage.root}; write again.")
