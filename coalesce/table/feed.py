"""What each version of a table did to its rows: the parts of files that went with it, and those that came.

Found from manifests alone; most are in both of two versions and are not even read. Which rows of those parts are the
same row, moved or changed, their ids say.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from coalesce.errors import CoalesceError, SchemaError, VersionExpired, VersionNotFound
from coalesce.model.datafile import DataFile
from coalesce.model.schema import Schema
from coalesce.model.version import Version
from coalesce.plan.index import ManifestIndex
from coalesce.table.commit.changes import COMPACT, REPAIR, Dead, dead_in
from coalesce.table.commit.log import Log
from coalesce.table.commit.manifests import Manifests
from coalesce.table.engine import Part, Step

CHANGE_TYPE: Final = "_change_type"
COMMIT_VERSION: Final = "_commit_version"
COMMIT_TIMESTAMP: Final = "_commit_timestamp"
ADDED_COLUMNS: Final = (CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP)

INSERT: Final = "insert"
DELETE: Final = "delete"
PREIMAGE: Final = "update_preimage"
POSTIMAGE: Final = "update_postimage"


@dataclass(frozen=True)
class Feed:
    """The changes of the versions from `first` to `last`, with the columns of the last one."""

    log: Log
    manifests: Manifests
    first: int
    last: int

    @property
    def version(self) -> Version:
        """The version whose columns rows are shown with."""
        return self.log.load(self.last)

    def steps(self) -> Iterator[Step]:
        """Version by version; those that change no row are left out."""
        before = None if self.first == 0 else self._before()
        for number in range(self.first, self.last + 1):
            version = self.log.load(number)
            if version.operation not in (COMPACT, REPAIR):
                removed, added = _parts(before, version, self.manifests)
                if removed or added:
                    yield Step(number, version.timestamp_ms, tuple(removed), tuple(added))
            before = version

    def everything(self) -> Step:
        """All rows of the last version, as if they had come in with it."""
        version = self.version
        return Step(version.number, version.timestamp_ms, (), tuple(_parts(None, version, self.manifests)[1]))

    def _before(self) -> Version:
        try:
            return self.log.retained(self.first - 1, None)
        except VersionExpired as error:
            raise VersionExpired(f"what version {self.first} changed is not known any more: {error}") from error


def feed_of(log: Log, manifests: Manifests, first: int, last: int) -> Feed:
    """The changes of some versions, if there are all of them, and no column is called as one that is added."""
    if not 0 <= first <= last + 1:
        raise VersionNotFound(f"there are no changes from version {first} to version {last}; the first comes first.")
    version = log.retained(last, None)
    if version.table_id != log.head().table_id:
        raise CoalesceError("the table was dropped and created again meanwhile; open it again.")
    check_names(version.schema)
    return Feed(log, manifests, first, last)


def check_names(schema: Schema) -> None:
    """Refuse columns that are called as one of those that are added."""
    taken = [name for name in schema.names if name.lower() in ADDED_COLUMNS]
    if taken:
        raise SchemaError(f"column {taken[0]!r} has the name of one that changes have; rename it to read them.")


def _parts(old: Version | None, new: Version, manifests: Manifests) -> tuple[list[Part], list[Part]]:
    """The parts of files that one version has and the other has not, in both directions."""
    shared = set() if old is None else {r.path for r in old.manifests} & {r.path for r in new.manifests}
    olds = [] if old is None else [*manifests.load_all([r for r in old.manifests if r.path not in shared], old)]
    news = [*manifests.load_all([r for r in new.manifests if r.path not in shared], new)]
    dead_before, dead_after = (_dead(indexes) for indexes in (olds, news))
    before, after = _entries(olds, dead_after, dead_before), _entries(news, dead_before, dead_after)
    removed = [Part(file, None) for path, file in before.items() if path not in after]
    added = [Part(file, None) for path, file in after.items() if path not in before]
    for path in before.keys() & after.keys():
        removed += _newly_dead(before[path], after[path])
        added += _newly_dead(after[path], before[path])
    return removed, added


def _newly_dead(file: DataFile, later: DataFile) -> list[Part]:
    """The tuples that are live in an entry and dead in another one of the same file."""
    known = {dead.place for dead in file.dead}
    tuples = frozenset(dead.values for dead in later.dead if dead.place not in known)
    return [Part(file, tuples)] if tuples else []


def _dead(indexes: Sequence[ManifestIndex]) -> Dead:
    return {path: dead for index in indexes for path, dead in dead_in(index.entries).items()}


def _entries(indexes: Sequence[ManifestIndex], others: Dead, own: Dead) -> dict[str, DataFile]:
    """The entries, as objects, of files of which the `others` say something else."""
    found: dict[str, DataFile] = {}
    for index in indexes:
        paths = index.entries.core.column("path").to_pylist()
        differ = [place for place, path in enumerate(paths) if others.get(path) != own[path]]
        found |= {f.path: f for f in index.entries.files(np.array(differ, np.int64), columns=())}
    return found
