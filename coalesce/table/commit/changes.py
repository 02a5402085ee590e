"""What came into a table between versions, and what went: for commits that others overtook, and for streams.

Versions are compared by the manifests they name. Most are in both, and are not even read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from coalesce.errors import CoalesceError
from coalesce.model.columns import whole
from coalesce.model.entries import DEAD
from coalesce.model.version import Version
from coalesce.table.commit.manifests import Manifests

COMPACT: Final = "compact"  # the operation that moves rows to other files and changes none
REPAIR: Final = "repair"  # the operation that makes entries anew: files and rows are the same before and after


def lost_rows(old: Version, new: Version, manifests: Manifests) -> dict[str, int | None]:
    """The files of `old` of which `new` has other rows, and how many it has: None where it does not have the file."""
    before, dead = _rows_and_dead(old, new, manifests)
    after, now_dead = _rows_and_dead(new, old, manifests) if before else ({}, {})
    # As many rows may be others: after a rollback, other tuples may have died.
    other = {path for path, places in dead.items() if now_dead.get(path) != places}
    return {path: after.get(path) for path, rows in before.items() if after.get(path) != rows or path in other}


def rows_only_in(version: Version, other: Version, manifests: Manifests) -> dict[str, int]:
    """The files in those manifests of `version` that `other` does not name, each with its rows that are not dead."""
    return _rows_and_dead(version, other, manifests)[0]


def _rows_and_dead(
    version: Version, other: Version, manifests: Manifests
) -> tuple[dict[str, int], dict[str, list[int]]]:
    """The same, and the places of the dead tuples of those files that have some."""
    elsewhere = {ref.path for ref in other.manifests}
    own = [ref for ref in version.manifests if ref.path not in elsewhere]
    rows: dict[str, int] = {}
    dead: dict[str, list[int]] = {}
    for index in manifests.load_all(own, version):
        core = index.entries.core
        paths = core.column("path").to_pylist()
        rows |= zip(paths, index.rows.tolist(), strict=True)
        if DEAD in core.column_names:
            lists = whole(core.column(DEAD))
            places, offsets = lists.values.field("place"), lists.offsets.to_pylist()
            dead |= {
                path: places[begin:end].to_pylist()
                for path, (begin, end) in zip(paths, pairwise(offsets), strict=True)
                if end > begin
            }
    return rows, dead


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
