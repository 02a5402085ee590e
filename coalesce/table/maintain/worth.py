"""What is worth writing again: pure arithmetic on what files hold, no I/O.

A file is worth it if it is of an older spec or rule, if what it holds is not known, or if one of its tuples has grown
past the rule's limit or shrunk below it and belongs elsewhere. Files of one physical partition are worth it together if
that leaves fewer of them, or if the same tuples lie in several: what a query for one tuple costs is the number of files
it lies in. A large file takes part only if the others have so much of its tuples that its neighbours gain from it. How
large a file is, the rows say that the table has. Files with dead rows that are to go are worth it by themselves.

Nothing is proposed that does not lessen the number of files and postings, or of dead rows, so that a second look finds
nothing to do.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
from sortedcontainers import SortedList

from coalesce.plan.index import Positions
from coalesce.predicate.outcomes import Mask
from coalesce.table.layout import Arrangement, PlannedFile, Slice, files_of_keys
from coalesce.table.maintain.held import Held
from coalesce.table.maintain.placed import Placed, by_key, keep

OLD: Final = "of an older spec or rule"
UNKNOWN: Final = "of unknown contents"
GROWN: Final = "with a logical partition that has grown large"
SHRUNK: Final = "of a logical partition that has become small"
SPREAD: Final = "with logical partitions that others have too"
SMALL: Final = "small"
DEAD: Final = "with rows that were removed"

# A file is small below this share of the target: two of them make one.
SMALL_SHARE: Final = 0.75
# A file that is not small is written again if others have at least this share of its rows, of the same tuples.
SPREAD_SHARE: Final = 0.25

STEP_BYTES: Final = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much one commit writes again, unless files only make sense together.

    `in_memory` is how much of that may be files whose tuples of now are only in their rows: an engine that works in
    this process has all of those in memory.
    """

    bytes: int = STEP_BYTES
    in_memory: int = 64 * 1024 * 1024
    files: int = 2_000
    postings: int = 500_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """Files, by their numbers, that are written again together, and how; None if that is to be seen from their rows.

    `reasons` counts the files by why. `less` is by how much there will be fewer files and postings. A job `by itself`
    is not to be done together with others, for they may have the same tuples.
    """

    files: Positions
    bytes: int
    reasons: Mapping[str, int]
    arrangement: Arrangement | None
    less: int
    by_itself: bool

    @property
    def files_after(self) -> int:
        """How many files there will be; unless that is known, as many as there are."""
        return len(self.files) if self.arrangement is None else len(self.arrangement.files)


def worth_doing(held: Held, among: Mask, target: int, limits: Limits, due: Mask | None = None) -> list[Job]:
    """What is to be written again of the files `among` all, the most useful first.

    Files that have to move come first, and alone: where they arrive they may be worth more. Those that are `due`
    because of their dead rows are written again in any case, with others if that is worth it.
    """
    placed = Placed.by_rule(held)
    moving = [*_foreign(held, among, limits), *_moved(placed, among & (placed.old | placed.stray), target, limits)]
    if moving:
        return moving
    jobs = [job for key, members in placed.homes(among) for job in _of_home(placed, key, members, target, limits)]
    rest = np.zeros(len(held.rows), np.bool_) if due is None else among & due
    rest[[number for job in jobs for number in job.files.tolist()]] = False
    by_use = sorted(jobs, key=lambda job: -job.less / max(job.bytes, 1))
    return [*_moved(placed, rest, target, limits), *by_use]


def without_dead(held: Held, which: Mask, target: int, limits: Limits) -> list[Job]:
    """Some files, all of which have dead rows, written again, and no others."""
    placed = Placed.by_rule(held)
    jobs = [*_foreign(held, which, limits), *_moved(placed, which & held.known, target, limits)]
    return [replace(job, reasons={DEAD: len(job.files)}) for job in jobs]


def crowded(held: Held, most: int, target: int, most_bytes: int) -> list[Job]:
    """What small files there are too many of: more than `most` of about the same number of rows, in one place.

    They are merged as in a log-structured merge tree, so that a row is written again once for each such number of
    rows, however often this is asked. Files stay in their physical partition.
    """
    jobs: list[Job] = []
    taken = np.zeros(len(held.tuples), np.bool_)  # a tuple that has grown may lie in two of the places
    for key, members in by_key(held, held.known & (held.live_bytes < SMALL_SHARE * target)):
        if len(members) <= most:
            continue
        tiers = np.floor(np.log(np.maximum(held.rows[members], 1)) / np.log(most + 1))
        full = [tier for tier, count in zip(*np.unique(tiers, return_counts=True), strict=True) if count > most]
        if not full:
            continue
        due = members[tiers <= max(full)]
        due = due[np.argsort(held.rows[due], kind="stable")]
        due = due[np.cumsum(held.bytes[due]) <= most_bytes]
        own = held.posting_tuple[held.postings_of(due)]
        by_itself = bool(taken[own].any())
        taken[own] = True
        jobs += _merged(held, np.sort(due), keep(held, key), target, {SMALL: len(due)}, by_itself=by_itself)
    return jobs


def packed(jobs: Sequence[Job], limits: Limits) -> list[list[Job]]:
    """The jobs in steps of about the limit, so that there are few: best fit, the largest first."""
    steps = [[job] for job in jobs if job.by_itself]
    together: list[list[Job]] = []
    files: list[int] = []
    room: SortedList[tuple[int, int]] = SortedList()
    for job in sorted((job for job in jobs if not job.by_itself), key=lambda job: -job.bytes):
        place = room.bisect_left((job.bytes, -1))
        if place < len(room):
            left, number = room.pop(place)
            together[number].append(job)
        else:
            left, number = limits.bytes, len(together)
            together.append([job])
            files.append(0)
        files[number] += len(job.files)
        if left > job.bytes and files[number] < limits.files:
            room.add((left - job.bytes, number))
    return [*steps, *together]


def joined(jobs: Sequence[Job]) -> Arrangement | None:
    """The arrangement of jobs that are done together, in their order."""
    parts = [job.arrangement for job in jobs if job.arrangement is not None]
    if len(parts) < len(jobs):
        return None
    if len(parts) == 1:
        return parts[0]
    tuples = [t for part in parts for t in part.tuples]
    files, start = [], 0
    for part in parts:
        for file in part.files:
            slices = tuple(Slice(s.index + start, s.start, s.stop) for s in file.slices)
            files.append(PlannedFile(file.physical_key, slices))
        start += len(part.tuples)
    rows = sum(file.rows for file in files)
    weights = sum(part.bytes_per_row * sum(file.rows for file in part.files) for part in parts)
    return Arrangement(tuples=tuples, files=files, bytes_per_row=weights / max(rows, 1))


# --- files that have to move -------------------------------------------------------------------------------------


def _foreign(held: Held, among: Mask, limits: Limits) -> Iterator[Job]:
    """Files of other specs, and files whose tuples are not known: their rows say where they belong."""
    version = held.version
    fitting = replace(limits, bytes=min(limits.bytes, limits.in_memory))
    for files in _chunks(held, np.flatnonzero(among & ~held.known & (held.rows > 0)), fitting):
        specs = np.array([held.manifests[m].spec.spec_id for m in held.manifest[files]])
        old = int(((specs != version.current_spec_id) | (held.rule_id[files] != version.current_rule_id)).sum())
        reasons = {reason: count for reason, count in ((OLD, old), (UNKNOWN, len(files) - old)) if count}
        yield Job(
            files=files,
            bytes=int(held.bytes[files].sum()),
            reasons=reasons,
            arrangement=None,
            less=len(files),
            by_itself=True,
        )


def _moved(placed: Placed, which: Mask, target: int, limits: Limits) -> Iterator[Job]:
    """Some files of known tuples, each of which goes where it belongs: it may be where it is."""
    held = placed.held
    for files in _chunks(held, np.flatnonzero(which), limits):
        arrangement = _arranged(placed, files, target)
        yield _job(held, files, arrangement, _reasons(placed, files), by_itself=True)


def _chunks(held: Held, files: Positions, limits: Limits) -> Iterator[Positions]:
    """The files, in order, as many at a time as the limits allow, but at least one."""
    start = 0
    while start < len(files):
        rest = files[start : start + limits.files]
        fits = (np.cumsum(held.bytes[rest]) <= limits.bytes) & (np.cumsum(held.postings[rest]) <= limits.postings)
        stop = start + max(int(fits.sum()), 1)
        yield files[start:stop]
        start = stop


# --- files of one physical partition -------------------------------------------------------------------------------


def _of_home(placed: Placed, key: int, members: Positions, target: int, limits: Limits) -> list[Job]:
    held = placed.held
    small = held.live_bytes[members] < SMALL_SHARE * target
    many = list(_chunks(held, _by_first_tuple(held, members[small]), limits))
    if len(many) > 1:  # too many to see through at once: the rest is for when these have become few
        stay = keep(held, key)
        jobs = [job for c in many for job in _merged(held, np.sort(c), stay, target, {SMALL: len(c)}, by_itself=True)]
        if jobs:
            return jobs
    grown = placed.moved[members]
    spread = _spread(held, members, small | grown)
    files = members[small | grown | spread]
    reasons = _reasons(placed, files, members[spread])
    if grown.any():  # by itself: where it goes there may be files that are merged
        return [_job(held, files, _arranged(placed, files, target), reasons, by_itself=True)]
    return _merged(held, files, placed, target, reasons, fewer=not spread.any())


def _merged(
    held: Held,
    files: Positions,
    placed: Placed,
    target: int,
    reasons: Mapping[str, int],
    *,
    fewer: bool = True,
    by_itself: bool = False,
) -> list[Job]:
    """The files written as one run, if that leaves less; `fewer` files, if that is what it is for."""
    if len(files) < 2:
        return []
    job = _job(held, files, _arranged(placed, files, target), reasons, by_itself=by_itself)
    return [job] if job.less > 0 and (not fewer or job.files_after < len(files)) else []


def _job(
    held: Held, files: Positions, arrangement: Arrangement, reasons: Mapping[str, int], *, by_itself: bool = False
) -> Job:
    before = len(files) + len(held.postings_of(files))
    after = len(arrangement.files) + sum(len(file.slices) for file in arrangement.files)
    return Job(
        files=files,
        bytes=int(held.bytes[files].sum()),
        reasons=reasons,
        arrangement=arrangement,
        less=before - after,
        by_itself=by_itself,
    )


def _arranged(placed: Placed, files: Positions, target: int) -> Arrangement:
    """The rows of the files as a write of all of them would lay them out."""
    held = placed.held
    postings = held.postings_of(files)
    used, code = np.unique(held.posting_tuple[postings], return_inverse=True)
    counts = np.bincount(code, weights=held.posting_rows[postings], minlength=len(used)).astype(np.int64).tolist()
    total = max(int(held.rows[files].sum()), 1)
    bytes_per_row = max(float((held.rows[files] * held.row_bytes[files]).sum()) / total, 1.0)
    keys = [placed.keys[number] for number in placed.wanted[used].tolist()]
    return Arrangement(
        tuples=[held.tuples[i] for i in used.tolist()],
        files=files_of_keys(range(len(used)), keys, counts, target / bytes_per_row),
        bytes_per_row=bytes_per_row,
    )


def _reasons(placed: Placed, files: Positions, spread: Positions | None = None) -> dict[str, int]:
    """Why each file is written again, the first reason that holds."""
    old, moved = placed.old[files], placed.moved[files]
    shared = np.zeros(len(files), np.bool_) if spread is None else np.isin(files, spread)
    grown = moved & ~placed.held.is_alone[files]
    kinds = [(OLD, old), (GROWN, grown), (SHRUNK, moved), (DEAD, placed.held.dead[files] > 0), (SPREAD, shared)]
    kinds.append((SMALL, np.ones(len(files), np.bool_)))
    found, left = {}, np.ones(len(files), np.bool_)
    for reason, holds in kinds:
        count = int((left & holds).sum())
        if count:
            found[reason] = count
        left &= ~holds
    return found


def _by_first_tuple(held: Held, files: Positions) -> Positions:
    return files[np.argsort(held.first_tuple[files], kind="stable")]


def _spread(held: Held, members: Positions, chosen: Mask) -> Mask:
    """Which of the files that are not chosen yet have tuples that the chosen ones, or each other, have much of."""
    if chosen.all():
        return np.zeros(len(members), np.bool_)
    postings = held.postings_of(members)
    file = np.searchsorted(members, held.posting_file[postings])  # members are in order
    own = _Postings(file, held.posting_tuple[postings], held.posting_rows[postings])
    rows = held.rows[members]
    found = ~chosen
    while found.any():
        enough = own.shared(found | chosen, len(members)) >= SPREAD_SHARE * rows
        kept = found & enough
        if kept.sum() == found.sum():
            return found
        found = kept
    return found


@dataclass(frozen=True, slots=True)
class _Postings:
    """The postings of some files: rows `rows[i]` of tuple `tuple_[i]` in file `file[i]`."""

    file: Positions
    tuple_: Positions
    rows: Positions

    def shared(self, among: Mask, count: int) -> npt.NDArray[np.float64]:
        """How many rows of each file's tuples the others `among` the files have.

        A tuple that is cut where one file ends and another begins does not count: it is too large for one.
        """
        inside = among[self.file]
        file, rows = self.file[inside], self.rows[inside]
        codes, tuple_ = np.unique(self.tuple_[inside], return_inverse=True)

        def per_tuple(which: Mask) -> npt.NDArray[np.float64]:
            return np.bincount(tuple_[which], weights=rows[which], minlength=len(codes)).astype(np.float64)

        first, last = np.full(count, len(codes)), np.full(count, -1)
        np.minimum.at(first, file, tuple_)
        np.maximum.at(last, file, tuple_)
        begins, ends = tuple_ == first[file], tuple_ == last[file]
        others = per_tuple(np.ones(len(file), np.bool_))[tuple_] - rows
        others -= np.where(ends, per_tuple(begins)[tuple_] - np.where(begins, rows, 0), 0)
        others -= np.where(begins, per_tuple(ends)[tuple_] - np.where(ends, rows, 0), 0)
        others += np.where(begins & ends, per_tuple(begins & ends)[tuple_] - rows, 0)
        return np.bincount(file, weights=others, minlength=count).astype(np.float64)
