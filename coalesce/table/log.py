"""The log of a table's versions: find the newest, load one, create the next.

Creating a version file is the only commit there is. A small hint says where to start looking for the newest
version, so opening a table costs three requests however many versions it has; the hint is written after the
commit, may be stale, lost or wrong, and is never trusted for more than a place to start.
"""

from collections import OrderedDict
from contextlib import suppress
from itertools import pairwise
from threading import Lock

from coalesce.errors import CorruptMetadata, FileMissing, StorageError, TableNotFound, VersionNotFound
from coalesce.manifest.paths import LATEST_HINT, VERSIONS, version_number, version_path
from coalesce.manifest.version_file import decode_version, encode_version
from coalesce.model.version import Version
from coalesce.storage.base import Storage

_REMEMBERED = 64  # decoded versions kept per table; they never change


class Log:
    """The versions of the table in `storage`. Safe to use from several threads."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._remembered: OrderedDict[int, Version] = OrderedDict()
        self._newest_seen: int | None = None
        self._lock = Lock()

    def newest(self) -> int:
        """The number of the newest version."""
        start = self._newest_seen if self._newest_seen is not None else self._hint()
        numbers = self._listed(start)
        if not numbers and start is not None:
            numbers = self._listed(None)  # the hint was wrong
        if not numbers:
            raise TableNotFound(f"there is no coalesce table at {self.storage.root}.")
        _check_no_gap(numbers)
        self._newest_seen = numbers[-1]
        return numbers[-1]

    def numbers(self) -> list[int]:
        """Every version still there, oldest first. Lists all of them: for people, not for planning."""
        numbers = self._listed(None)
        if not numbers:
            raise TableNotFound(f"there is no coalesce table at {self.storage.root}.")
        _check_no_gap(numbers)
        return numbers

    def load(self, number: int) -> Version:
        """Version `number`."""
        with self._lock:
            if number in self._remembered:
                self._remembered.move_to_end(number)
                return self._remembered[number]
            parent = self._remembered.get(number - 1)
        try:
            data = self.storage.read(version_path(number))
        except FileMissing:
            raise VersionNotFound(
                f"there is no version {number} of the table at {self.storage.root}: "
                "it was never written, or it has expired."
            ) from None
        version = decode_version(data, number)
        if parent is not None and version.parent_commit_id != parent.commit_id:
            raise CorruptMetadata(
                version_path(number), f"it does not follow version {number - 1}: the table's history was replaced."
            )
        self._remember(version)
        return version

    def create(self, version: Version) -> bool:
        """Commit `version`: True if this call did, False if another writer has taken the number."""
        path = version_path(version.number)
        if not self.storage.put_if_absent(path, encode_version(version)) and not self._is_ours(path, version):
            return False
        self._remember(version)
        self._newest_seen = version.number
        with suppress(StorageError):  # the commit has happened; without the hint, readers look a little longer
            self.storage.put(LATEST_HINT, str(version.number).encode())
        return True

    def _is_ours(self, path: str, version: Version) -> bool:
        """A store that repeats a request on its own may refuse the very file it has just created for us."""
        return decode_version(self.storage.read(path), version.number).commit_id == version.commit_id

    def _remember(self, version: Version) -> None:
        with self._lock:
            self._remembered[version.number] = version
            self._remembered.move_to_end(version.number)
            while len(self._remembered) > _REMEMBERED:
                self._remembered.popitem(last=False)

    def _hint(self) -> int | None:
        try:
            text = self.storage.read(LATEST_HINT)
        except FileMissing:
            return None
        return int(text) if text.isdigit() and len(text) <= 20 else None

    def _listed(self, start: int | None) -> list[int]:
        """The numbers of the version files from `start` on."""
        after = version_path(start - 1) if start is not None and start > 0 else None
        found = (version_number(f.path) for f in self.storage.list(VERSIONS, start_after=after))
        return [n for n in found if n is not None]


def _check_no_gap(numbers: list[int]) -> None:
    if numbers[-1] - numbers[0] != len(numbers) - 1:
        missing = next(n for n, follows in pairwise(numbers) if follows != n + 1) + 1
        raise CorruptMetadata(
            version_path(missing), "the file is missing although later versions exist; restore it from a backup."
        )
