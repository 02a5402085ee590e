"""Every version of a table that has not expired: whether it can be read, and whether it follows the one before it.

Versions are read afresh, whatever a table remembers of them, and those that cannot be read keep nobody from the others.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from coalesce.errors import CoalesceError, CorruptMetadata, FileMissing, VersionNotFound
from coalesce.manifest.paths import LATEST_HINT, VERSIONS, version_number, version_path
from coalesce.model.spec import Spec
from coalesce.model.version import ManifestRef, Version
from coalesce.storage.base import Storage
from coalesce.table.commit.log import Log, no_table
from coalesce.table.maintain import kinds
from coalesce.table.maintain.columns import Gatherer

_GONE: Final = "the file of the version is missing"

Wrong = tuple[str, str, int, str]  # a kind of finding, a file, a version, what is wrong


@dataclass(eq=False)
class NamedManifest:
    """A manifest, and the versions that name it, as the first and the last of some in a row."""

    ref: ManifestRef
    spec: Spec
    next_row_id: int
    spans: list[tuple[int, int]] = field(default_factory=list)


@dataclass(eq=False)
class Read:
    """What was read: the newest version that could be, all numbers, and from each version to the next what changed."""

    head: Version | None
    numbers: list[int]
    columns: Gatherer = field(default_factory=Gatherer)
    manifests: list[NamedManifest] = field(default_factory=list)
    changes: list[tuple[int, list[int], list[int]]] = field(default_factory=list)
    wrong: list[Wrong] = field(default_factory=list)


def read_versions(storage: Storage) -> Read:
    """Read all versions that have not expired, oldest first."""
    hint = _hint(storage)  # before the listing, which then has the version that it names
    listed = _listed(storage)
    if not listed:
        raise no_table(storage.root)
    head = _newest(storage, listed)
    if head is not None:
        listed = _completed(storage, head, listed)
    kept = [n for n in listed if head is None or n >= head.number or head.retains(n)]
    read = Read(head, kept)
    if head is not None:
        read.wrong += _missing(head, listed)
    read.wrong += _about_hint(storage, hint, listed)
    following = _Following(read)
    for version in _each(storage, kept, read.wrong):
        following.take(version)
    following.close()
    return read


def newest_readable(storage: Storage) -> Version | None:
    """The newest version that can be read, as it is at this moment."""
    return _newest(storage, _listed(storage))


def _listed(storage: Storage) -> list[int]:
    return [n for file in storage.list(VERSIONS) if (n := version_number(file.path)) is not None]


def _completed(storage: Storage, head: Version, listed: list[int]) -> list[int]:
    """The versions that were listed, and those that should have been and are there.

    A directory that is read while a version is created may show the one after it, and not itself.
    """
    there = []
    for number in _wanted(head).difference(listed):
        with suppress(FileMissing):
            storage.size(version_path(number))
            there.append(number)
    return sorted([*listed, *there])


def _newest(storage: Storage, listed: Sequence[int]) -> Version | None:
    log = Log(storage)
    for number in reversed(listed):
        try:
            return log.load(number)
        except CoalesceError:
            continue
    return None


def _each(storage: Storage, numbers: Sequence[int], wrong: list[Wrong]) -> Iterator[Version]:
    """The versions that can be read; what is wrong with the others is noted."""
    log, left = Log(storage), list(numbers)
    while left:
        done = 0
        try:
            for version in log.load_all(left):
                done += 1
                yield version
            return
        except VersionNotFound:  # it was there a moment ago; if it has expired since, nobody will be told
            wrong.append((kinds.MISSING_VERSION, version_path(left[done]), left[done], _GONE))
        except CoalesceError as error:
            alone = _alone(storage, left[done])
            if alone is None:
                wrong.append((kinds.DAMAGED_VERSION, version_path(left[done]), left[done], _reason(error)))
            else:  # the log refuses what does not follow, and `_Following` says so
                yield alone
        left = left[done + 1 :]


def _alone(storage: Storage, number: int) -> Version | None:
    try:
        return Log(storage).load(number)
    except CoalesceError:
        return None


def _reason(error: CoalesceError) -> str:
    return f"the version cannot be read: {error.reason if isinstance(error, CorruptMetadata) else error}".rstrip(".")


class _Following:
    """Goes from version to version, oldest first."""

    def __init__(self, read: Read) -> None:
        self.read = read
        self.before: Version | None = None
        self.numbered: dict[str, list[int]] = {}  # manifests by path: two of one path may be different
        self.live: dict[int, int] = {}  # the manifests of the version before, and since when

    def take(self, version: Version) -> None:
        """The next version."""
        before = self.before
        if before is not None:
            self.read.wrong += _history(before, version)
        self.read.columns.add(version)
        if before is None or version.manifests != before.manifests or version.number != before.number + 1:
            now = {self._number(ref, version) for ref in version.manifests}
            came, went = [m for m in now if m not in self.live], [m for m in self.live if m not in now]
            for m in went:
                self.read.manifests[m].spans.append((self.live.pop(m), before.number if before is not None else 0))
            if before is not None and version.number != before.number + 1:
                self._interrupted(before.number, version.number)
            self.live |= dict.fromkeys(came, version.number)
            self.read.changes.append((version.number, came, went))
        self.before = version

    def _interrupted(self, last: int, first: int) -> None:
        """Versions between have expired, or cannot be read: they do not count as naming anything."""
        for m, since in self.live.items():
            self.read.manifests[m].spans.append((since, last))
            self.live[m] = first

    def _number(self, ref: ManifestRef, version: Version) -> int:
        for number in self.numbered.setdefault(ref.path, []):
            known = self.read.manifests[number].ref
            if known is ref or known == ref:
                return number
        number = len(self.read.manifests)
        self.numbered[ref.path].append(number)
        self.read.manifests.append(NamedManifest(ref, version.spec_by_id(ref.spec_id), version.next_row_id))
        return number

    def close(self) -> None:
        """There are no more."""
        if self.before is not None:
            for m, since in self.live.items():
                self.read.manifests[m].spans.append((since, self.before.number))


def _history(before: Version, version: Version) -> Iterator[Wrong]:
    """What a version must not have changed, or has to follow."""
    where, number = version_path(version.number), version.number
    if version.table_id != before.table_id:
        yield kinds.BROKEN_HISTORY, where, number, f"the version is of another table than version {before.number}"
        return
    if number == before.number + 1 and version.parent_commit_id != before.commit_id:
        yield (
            kinds.BROKEN_HISTORY,
            where,
            number,
            f"the version does not follow version {before.number}, but another one",
        )
    if version.timestamp_ms <= before.timestamp_ms:
        yield kinds.BROKEN_HISTORY, where, number, f"the version is not later than version {before.number}"
    for name in ("next_row_id", "max_column_id"):
        if getattr(version, name) < getattr(before, name):
            yield kinds.BROKEN_HISTORY, where, number, f"{name} is less than in version {before.number}"


def _missing(head: Version, listed: Sequence[int]) -> Iterator[Wrong]:
    """The versions that should be there and are not."""
    for number in sorted(_wanted(head).difference(listed)):
        yield kinds.MISSING_VERSION, version_path(number), number, _GONE


def _wanted(head: Version) -> set[int]:
    return {*range(head.retained_from, head.number), *head.tags.values()}


def _hint(storage: Storage) -> bytes | None:
    try:
        return storage.read(LATEST_HINT)
    except FileMissing:
        return None


def _about_hint(storage: Storage, hint: bytes | None, listed: Sequence[int]) -> Iterator[Wrong]:
    """A hint may be lost or late. One that names no version, and stays so, makes every reader list all of them."""
    if hint is None or not listed or (hint.isdigit() and len(hint) <= 20 and int(hint) in listed):
        return
    if _hint(storage) != hint:  # the version that it named has expired since
        return
    named = hint[:40].decode(errors="replace")
    yield kinds.WRONG_HINT, LATEST_HINT, listed[-1], f"the hint names {named!r}, and there is no such version"
