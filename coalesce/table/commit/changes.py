"""What came into a table between versions, and what went: for commits that others overtook, and for streams.

Versions are compared by the manifests they name. Most are in both, and are not even read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from coalesce.errors import CoalesceError
from coalesce.model.columns import whole
from coalesce.model.entries import Entries
from coalesce.model.entry_columns import DEAD
from coalesce.model.version import Version
from coalesce.table.commit.manifests import Manifests

COMPACT: Final = "compact"  # the operation that moves rows to other files and changes none
REPAIR: Final = "repair"  # the operation that makes entries anew: files and rows are the same before and after


# The dead tuples of each file, by their places in it: with the file itself, all there is to know of its live rows.
Dead = dict[str, frozenset[int]]

_NONE: Final[frozenset[int]] = frozenset()


def lost_rows(old: Version, new: Version, manifests: Manifests) -> dict[str, frozenset[int] | None]:
    """The files of `old` of which `new` has other rows, with what is dead in them: None where the file is gone."""
    before = only_in(old, new, manifests)
    after = only_in(new, old, manifests) if before else {}
    return {path: after.get(path) for path, dead in before.items() if after.get(path) != dead}


def only_in(version: Version, other: Version, manifests: Manifests) -> Dead:
    """The files in those manifests of `version` that `other` does not name, each with what is dead in it."""
    elsewhere = {ref.path for ref in other.manifests}
    own = [ref for ref in version.manifests if ref.path not in elsewhere]
    found: Dead = {}
    for index in manifests.load_all(own, version):
        found |= dead_in(index.entries)
    return found


def dead_in(entries: Entries) -> Dead:
    """The same of all files of a manifest."""
    paths = entries.core.column("path").to_pylist()
    if DEAD not in entries.core.column_names:
        return dict.fromkeys(paths, _NONE)
    lists = whole(entries.core.column(DEAD))
    places, offsets = lists.values.field("place").to_pylist(), lists.offsets.to_pylist()
    return {
        path: frozenset(places[start:stop]) if stop > start else _NONE
        for path, (start, stop) in zip(paths, pairwise(offsets), strict=True)
    }


# --- a stream of new rows ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Span:
    """Files that came in after version `since` and up to version `until`, which has all of them."""

    since: int
    until: int


@dataclass(frozen=True, slots=True)
class Follower:
    """Goes through the versions of a table, and finds what came in.

    A version that only adds files brings new rows. One that compacts or repairs brings none and is passed over: what it
    made anew is as old as it was. One that removes rows, or replaces them, is an error, for the rows may have been
    passed on already; unless `skip_changes`.
    """

    load: Callable[[int], Version]
    manifests: Manifests
    skip_changes: bool = False

    def next(self, start: int, last: int, max_files: int | None = None) -> Span:
        """What came in after version `start` and not after `last`; a version is taken whole, however many files."""
        since = self.since(start, last)
        until, version = since, self.load(since)
        first_files = version.files
        while until < last:
            following = self.load(until + 1)
            if lost_rows(version, following, self.manifests):
                break  # from here on, files that came in before may be missing
            if max_files is not None and version.files > first_files and following.files - first_files > max_files:
                break
            until, version = until + 1, following
        return Span(since, until)

    def since(self, start: int, last: int) -> int:
        """Where `next` begins: at `start`, or at the last of the versions right after it that bring nothing."""
        version = self.load(start)
        while version.number < last:
            following = self.load(version.number + 1)
            if not lost_rows(version, following, self.manifests):
                break
            if following.operation not in (COMPACT, REPAIR) and not self.skip_changes:
                raise CoalesceError(
                    f"version {following.number} ({following.operation}) removed or replaced rows that this stream may "
                    "have passed on already; set the option skipChanges to true to go on without what it changed."
                )
            version = following
        return version.number
