"""Deleting many files: several at a time, each tried again if the store fails, and what could not be deleted is told.

Whoever is interrupted leaves some of them deleted and the others not. That has to be harmless, whichever they are.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from coalesce.errors import StorageError
from coalesce.storage.base import Storage, StoredFile

_AT_ONCE: Final = 16
_WAVE: Final = 256  # files that are begun in any order; all of them before any of the next wave
_ATTEMPTS: Final = 4
_FIRST_WAIT: Final = 0.1  # seconds

# Is called with how many files are done, and of how many.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class NotDeleted:
    """A file that could not be deleted, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """What became of some files."""

    gone: Sequence[StoredFile]
    failures: tuple[NotDeleted, ...]


def delete_all(storage: Storage, files: Sequence[StoredFile], progress: Progress | None = None) -> Deleted:
    """Delete files, the first of them first."""
    gone: list[StoredFile] = []
    failures: list[NotDeleted] = []
    pool = ThreadPoolExecutor(_AT_ONCE)
    try:
        for first in range(0, len(files), _WAVE):
            wave = files[first : first + _WAVE]
            for file, failure in zip(wave, pool.map(lambda file: _delete(storage, file.path), wave), strict=True):
                if failure is None:
                    gone.append(file)
                else:
                    failures.append(failure)
            if progress is not None:
                progress(first + len(wave), len(files))
    finally:
        pool.shutdown(cancel_futures=True)  # after an interruption those that were not begun stay
    return Deleted(gone, tuple(failures))


def delete_in_order(storage: Storage, files: Sequence[StoredFile], progress: Progress | None = None) -> Deleted:
    """Delete files one after the other; if one cannot be deleted, those after it stay."""
    gone: list[StoredFile] = []
    for file in files:
        failure = _delete(storage, file.path)
        if failure is not None:
            return Deleted(gone, (failure,))
        gone.append(file)
        if progress is not None:
            progress(len(gone), len(files))
    return Deleted(gone, ())


def _delete(storage: Storage, path: str) -> NotDeleted | None:
    for attempt in range(_ATTEMPTS):
        try:
            storage.delete(path)
        except StorageError as error:
            failure = NotDeleted(path, str(error))
            if attempt + 1 < _ATTEMPTS:
                time.sleep(_FIRST_WAIT * 2**attempt)
        else:
            return None
    return failure
