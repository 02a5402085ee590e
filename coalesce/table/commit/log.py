"""The log of a table's versions: find the newest, load one, create the next.

Creating a version file is the only commit there is. A small hint says where to start looking for the newest
version, so opening a table costs three requests however many versions it has; the hint is written after the
commit, may be stale, lost or wrong, and is never trusted for more than a place to start. All versions are listed
only where it leads nowhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from itertools import islice, pairwise
from threading import Lock

from coalesce.errors import (
    CoalesceError,
    CommitUncertain,
    CorruptMetadata,
    FileMissing,
    NothingWritten,
    SchemaError,
    StorageError,
    TableNotFound,
    UnsupportedFeature,
    VersionExpired,
    VersionNotFound,
)
from coalesce.manifest.parts import Parts
from coalesce.manifest.paths import LATEST_HINT, VERSIONS, version_number, version_path
from coalesce.manifest.version_file import decode_version, digest_of, encode_version
from coalesce.model.version import Version, held_bytes
from coalesce.recent import Recent
from coalesce.storage.base import Listing, Storage, StoredFile

_AT_ONCE = 16  # versions that are read at the same time: most of it is waiting for the store
_LOOKS = 3  # how often files are listed before one is said to be lost
_REMEMBERED = 8 * 1024 * 1024  # bytes of decoded versions kept per table; they never change
# What files say, by number and by what is in them, whichever table they are of: Spark opens a table for each query.
_UNDERSTOOD: Recent[tuple[int, bytes], Version] = Recent(_REMEMBERED, held_bytes)


class Log:
    """The versions of the table in `storage`. Safe to use from several threads."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        # With the digests of their files.
        self._remembered: Recent[int, tuple[bytes, Version]] = Recent(_REMEMBERED, lambda known: held_bytes(known[1]))
        self._parts = Parts()  # of the version that was read last
        self._newest_seen: int | None = None
        self._newest_file: StoredFile | None = None  # as it was listed, if it was
        self._lock = Lock()

    def newest(self) -> int:
        """The number of the newest version.

        The store shows whether the version that was the newest is still the same file. If it was created again
        meanwhile, with the table, nothing that is remembered holds any more. One that was created here has not been
        listed yet: it is known by its digest.
        """
        created = self._newest_seen if self._newest_file is None else None
        number = self._find()
        known = None if created is None else self._remembered.get(created)
        if created is not None and known is not None and not self._is_stored(created, known[0]):
            self._remembered.clear()
        return number

    def _find(self) -> int:
        seen = self._newest_seen
        start = seen if seen is not None else self._hint()
        listed = {} if start is None else _by_number(self.storage.numbered(version_path, start))
        if not listed:
            listed = self._all()  # the hint was wrong
            self._remembered.clear()  # or the table is another one than the one that was seen
        elif seen is not None and self._newest_file not in (None, listed.get(seen)):
            self._remembered.clear()
        if next(_gaps(listed), None) is not None:  # what was looked up one by one need not have the newest, then
            listed = self._whole()
        number = self._newest_seen = _last(listed, self.storage.root)
        self._newest_file = listed[number]
        return number

    def _whole(self) -> dict[int, StoredFile]:
        """Every version file there is, if none is missing between them but of versions that have expired.

        While files are listed, an expiry may be committed and files be deleted: then they are listed again.
        """
        lost: list[int] = []
        for _ in range(_LOOKS):
            listed = self._all()
            gaps = list(_gaps(listed))
            kept_from = self._kept_from(_last(listed, self.storage.root)) if gaps else 0
            lost = [max(gap.start, kept_from) for gap in gaps if gap.stop > kept_from]
            if not lost:
                return listed
        raise CorruptMetadata(
            version_path(lost[0]), "the file is missing although later versions exist; restore it from a backup."
        )

    def _kept_from(self, newest: int) -> int:
        """The oldest version that is kept without a tag; if the newest version cannot be read, all are."""
        head = self._readable(newest)
        return 0 if head is None else head.retained_from

    def _readable(self, number: int) -> Version | None:
        """A version, or None if its file is damaged or a newer release's."""
        try:
            return self.load(number)
        except (CorruptMetadata, UnsupportedFeature):
            return None

    def _is_stored(self, number: int, digest: bytes) -> bool:
        try:
            return digest_of(self._read(number)) == digest
        except VersionNotFound:
            return False

    def numbers(self) -> list[int]:
        """Every version that has not expired, oldest first. Lists all of them: for people, not for planning."""
        listed = self._whole()
        head = self._readable(_last(listed, self.storage.root))
        # That the newest is damaged keeps nobody from those before it.
        return [number for number in listed if head is None or not head.has_expired(number)]

    def any(self) -> Version:
        """The newest version; if it is damaged, which keeps nobody from those before it, the oldest."""
        head = self._readable(self.newest())
        return self.load(self.numbers()[0]) if head is None else head

    def files(self) -> Listing:
        """The version files that are there, of expired versions too."""
        return list(self._all().values())

    def retained(self, number: int, newest: Version | None) -> Version:
        """Version `number`, if it has not expired, as `newest` says; without one, that is read if it can be."""
        head = self._readable(self.newest()) if newest is None else newest
        if head is not None and head.has_expired(number):
            raise expired(self.storage.root, number, head)
        return self.load(number)

    def load(self, number: int) -> Version:
        """Version `number`."""
        known = self._remembered.get(number)
        if known is not None:
            return known[1]
        return self._decoded(self._read(number), number)

    def load_all(self, numbers: Sequence[int]) -> Iterator[Version]:
        """Several versions, in the order of `numbers`. Those next to each other are read with half the work."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for first in range(0, len(numbers), _AT_ONCE):
                some = numbers[first : first + _AT_ONCE]
                missing = [number for number in some if number not in self._remembered]
                read = dict(zip(missing, pool.map(self._read, missing), strict=True))
                for number in some:
                    data = read.get(number)
                    yield self.load(number) if data is None else self._decoded(data, number)

    def last(self, count: int, until: int | None = None) -> list[Version]:
        """The last versions up to `until`, or up to the newest: `count` of them, or as many as there are; newest first.

        Versions before them are not even listed, unless one is missing: it may have expired, or be lost.
        """
        newest = self.newest()
        head, last = self._readable(newest), newest if until is None else until
        kept = (number for number in range(last, -1, -1) if head is None or not head.has_expired(number))
        try:
            return list(self.load_all(list(islice(kept, min(count, last + 1)))))
        except VersionNotFound:
            numbers = [number for number in self.numbers() if number <= last]
            return list(self.load_all(numbers[::-1][:count]))

    def head(self) -> Version:
        """The newest version, as it is in the store at this moment: what a commit builds on.

        A version that is remembered is not taken on trust here. The table may have been dropped and created again,
        and have a version of the same number; to build on the old one would bring the dropped rows back.
        """
        number = self._find()
        data = self._read(number)
        known = self._remembered.get(number)
        if known is not None:
            if known[0] == digest_of(data):
                return known[1]
            self._remembered.clear()
        return self._decoded(data, number)

    def create(self, version: Version) -> bool:
        """Commit `version`: True if this call did, False if another writer has taken the number.

        CommitUncertain if the store lost its answer and cannot be asked what became of it. After NothingWritten, and
        a SchemaError, nothing was sent off.
        """
        path, data = version_path(version.number), self._encoded(version)
        failure: StorageError | None = None
        try:
            created = self.storage.put_if_absent(path, data)
        except NothingWritten:
            raise
        except StorageError as error:
            created, failure = False, error
        if not created:
            # A store that repeats a request on its own may refuse the very file it has just created for us; and one
            # that failed may have carried the request out, and only its answer was lost.
            try:
                created = self._holds(path, data)
            except StorageError as error:
                raise CommitUncertain(self.storage.root, version.number, version.commit_id, error) from failure
        if not created and failure is not None:
            raise failure
        if not created or self._came_too_late(version):
            return False
        self._remembered.put(version.number, (digest_of(data), version))
        self._newest_seen, self._newest_file = version.number, None
        with suppress(StorageError):  # the commit has happened; without the hint, readers look a little longer
            self.storage.put(LATEST_HINT, str(version.number).encode())
        return True

    def _came_too_late(self, version: Version) -> bool:
        """Whether a version that was just created had expired before.

        Its number is free again once another writer's version has expired and its file is deleted. That takes a writer
        which has slept since it read the newest version; nobody would ever read what it has committed there. Whoever
        lets versions go writes the hint before any file is deleted.
        """
        hint: int | None = None
        with suppress(StorageError):  # as if there were none
            hint = self._hint()
        if hint is None or hint <= version.number:
            return False
        try:
            log = Log(self.storage)
            if not log.load(log.newest()).has_expired(version.number):
                return False
        except CoalesceError as error:
            raise CommitUncertain(self.storage.root, version.number, version.commit_id, error) from error
        with suppress(StorageError):  # then the next expiry deletes it
            self.storage.delete(version_path(version.number))
        return True

    def _holds(self, path: str, data: bytes) -> bool:
        try:
            return self.storage.read(path) == data
        except FileMissing:
            return False

    def _read(self, number: int) -> bytes:
        try:
            return self.storage.read(version_path(number))
        except FileMissing:
            raise self._missing(number) from None

    def _missing(self, number: int) -> VersionNotFound:
        """The error for a version whose file is not there."""
        with suppress(CoalesceError):
            other = Log(self.storage)  # what is known here stays as it is
            if (newest := other.newest()) > number and (head := other.load(newest)).has_expired(number):
                return expired(self.storage.root, number, head)
        return VersionNotFound(f"there is no version {number} of the table at {self.storage.root}.")

    def _decoded(self, data: bytes, number: int) -> Version:
        version = self._understood(data, number)
        parent = self._remembered.get(number - 1)
        if parent is not None and version.table_id != parent[1].table_id:
            self._remembered.clear()
        elif parent is not None and version.parent_commit_id != parent[1].commit_id:
            raise CorruptMetadata(
                version_path(number), f"it does not follow version {number - 1}: the table's history was replaced."
            )
        self._remembered.put(version.number, (digest_of(data), version))
        return version

    def _understood(self, data: bytes, number: int) -> Version:
        """The version in a file, which is mostly like the one that was read last, or that one."""
        key = number, sha256(data).digest()
        known = _UNDERSTOOD.get(key)
        if known is not None:
            return known
        parts = Parts(self._parts)
        version = decode_version(data, number, parts)
        self._parts = parts
        _UNDERSTOOD.put(key, version)
        return version

    def _encoded(self, version: Version) -> bytes:
        """The version's file, if it can be read back: a commit that cannot be read would be the table's last."""
        try:
            data = encode_version(version)
            self._understood(data, version.number)
        except CorruptMetadata as error:
            place = f" {error.where}:" if error.where else ""
            raise SchemaError(f"{version.operation!r} cannot be committed:{place} {error.reason}") from error
        except (TypeError, ValueError) as error:
            raise SchemaError(f"{version.operation!r} cannot be committed: {error}.") from error
        return data

    def surely_newest(self) -> Version:
        """The newest version, for those who delete what it does not need.

        The hint is written after the version it names. If that is not there, it may be lost, with all that it named.
        """
        hint = self._hint()
        head = self.head()
        if hint is not None and hint > head.number:
            raise CorruptMetadata(
                version_path(hint),
                f"it is missing although {LATEST_HINT!r} names it; restore it from a backup. If there surely was no "
                "such version, delete the hint.",
            )
        return head

    def _hint(self) -> int | None:
        try:
            text = self.storage.read(LATEST_HINT)
        except FileMissing:
            return None
        return int(text) if text.isdigit() and len(text) <= 20 else None

    def _all(self) -> dict[int, StoredFile]:
        return _by_number(self.storage.list(VERSIONS))


def _by_number(listed: Listing) -> dict[int, StoredFile]:
    """The version files of a listing by number, in order. What else lies among them is not looked at."""
    numbered = ((version_number(file.path), file) for file in listed)
    return {number: file for number, file in numbered if number is not None}


def _last(listed: Mapping[int, StoredFile], root: str) -> int:
    """The last of the versions, if there are any."""
    if not listed:
        raise no_table(root)
    return max(listed)


def _gaps(listed: Mapping[int, StoredFile]) -> Iterator[range]:
    """The versions that are missing between others."""
    return (range(number + 1, follows) for number, follows in pairwise(listed) if follows != number + 1)


def no_table(root: str) -> TableNotFound:
    """The error for a location without a table."""
    return TableNotFound(f"there is no coalesce table at {root}.")


def expired(root: str, number: int, newest: Version) -> VersionExpired:
    """The error for a version that has expired, as the newest version says."""
    return VersionExpired(
        f"version {number} of the table at {root} has expired: the oldest version that is kept is "
        f"{newest.retained_from}, and no tag names this one."
    )


def why_missing(storage: Storage, version: Version) -> TableNotFound | VersionNotFound | None:
    """Why a file that a version names is not there: it has expired meanwhile, or its table is gone; else None.

    For those who read a version that they opened before, and find that something of it is gone.
    """
    try:
        log = Log(storage)
        newest = log.load(log.newest())
    except TableNotFound:
        return TableNotFound(f"the table at {storage.root} was dropped or moved away since it was opened.")
    except CoalesceError:
        return None
    if newest.table_id != version.table_id:
        return VersionNotFound(f"another table lies at {storage.root} since this one was opened; open it again.")
    return expired(storage.root, version.number, newest) if newest.has_expired(version.number) else None
