"""Compaction: what is worth writing again is written again, a commit at a time.

It is planned in rounds, each from the newest version, until nothing is left that was there at the beginning. A process
that stops between two steps, or dies within one, leaves a table that is whole, with less left to do. Others may append
meanwhile; what they remove is left to them, and reported. Rows keep their ids. A purge is such a run that is about dead
rows alone.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import numpy as np

from coalesce.errors import CommitConflict
from coalesce.model.datafile import DataFile
from coalesce.model.version import Version
from coalesce.plan.plan import Plan
from coalesce.plan.report import human_bytes
from coalesce.predicate.expr import TRUE, Bound
from coalesce.predicate.outcomes import Mask
from coalesce.table.commit.changes import COMPACT, lost_rows
from coalesce.table.commit.transaction import Transaction
from coalesce.table.core import Core
from coalesce.table.maintain.held import Held, held
from coalesce.table.maintain.purge import due, with_dead
from coalesce.table.maintain.worth import Job, Limits, joined, packed, without_dead, worth_doing
from coalesce.table.removal import check_copied
from coalesce.table.result import WriteResult

# What one run has written it writes again only so often: moved, merged, and merged once more with what came of others.
_MOST_TIMES: Final = 4
_ATTEMPTS: Final = 3  # at a step, if others remove what it was about to replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one step of a compaction did, in one commit, and what is left as far as is known.

    `reasons` counts the files that were written again by why; `skipped` are files that others removed meanwhile, and
    those that were to be written with them.
    """

    version: int
    files_before: int
    files_after: int
    bytes_moved: int
    bytes_written: int
    bytes_left: int
    rows: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CompactResult:
    """What a compaction did, or with `dry_run` would do.

    `files_before` files of `bytes_moved` bytes were replaced by `files_after` of `bytes_written`, in so many `steps`, a
    commit each; in a dry run the latter are estimates. `reasons` counts files by why they were written again. `skipped`
    are files that others removed meanwhile, with those that were to be written with them: they are left for the next
    time. `bytes_left` is what `max_bytes` had no room for.
    """

    version: int
    steps: int = 0
    files_before: int = 0
    files_after: int = 0
    bytes_moved: int = 0
    bytes_written: int = 0
    bytes_left: int = 0
    rows: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    seconds: float = 0.0
    dry_run: bool = False

    def __repr__(self) -> str:
        left = f", {human_bytes(self.bytes_left)} left" if self.bytes_left else ""
        skipped = f", {len(self.skipped):,} skipped" if self.skipped else ""
        if not self.files_before:
            return f"<compact: nothing {'done' if left or skipped else 'to do'}{left}{skipped}; version {self.version}>"
        done = f"{self.files_before:,} files ({human_bytes(self.bytes_moved)}) "
        done += f"{'would become about' if self.dry_run else 'became'} {self.files_after:,}"
        return f"<compact: version {self.version}, {done}{left}{skipped}, {self.seconds:.2f} s>"


@dataclass
class Compaction:
    """A run: what it was asked for, and what it has done so far. One that is `purging` takes files with dead rows only.

    Only files that were there when it began, and those it has written, are looked at: with a writer that never rests it
    would otherwise never end.
    """

    core: Core
    where: Callable[[], Bound]
    target: int | None = None
    max_bytes: int | None = None
    limits: Limits = field(default_factory=Limits)
    purging: bool = False
    _began: int = -1
    _times: dict[str, int] = field(default_factory=dict)  # how often the rows of a file of this run were written
    _moved: int = 0
    _gave_way: set[str] = field(default_factory=set)

    def steps(self) -> Iterator[Step]:
        """Do it, step by step."""
        self.core.transaction(COMPACT)  # refuses a table that cannot be written, before any work
        while True:
            planned, jobs, left = self._round()
            if left and not jobs:  # there is no room: nothing is done, but that is to be known
                yield _nothing(planned.version.number, (), left)
            done = False
            for together in packed(jobs, self.limits):
                left -= sum(job.bytes for job in together)
                try:
                    step = self.step(planned, together, left)
                except _LayoutChanged:
                    done = True
                    break
                done |= step.files_before > 0
                yield step
            if not done:
                return

    def dry(self) -> CompactResult:
        """What the first round would do: all of it, unless files arrive where they are worth merging."""
        planned, jobs, left = self._round()
        chosen = sum(job.bytes for job in jobs)
        return CompactResult(
            version=planned.version.number,
            steps=len(packed(jobs, self.limits)),
            files_before=sum(len(job.files) for job in jobs),
            files_after=sum(job.files_after for job in jobs),
            bytes_moved=chosen,
            bytes_written=sum(int(planned.live_bytes[job.files].sum()) for job in jobs),
            bytes_left=left - chosen,
            rows=sum(int(planned.rows[job.files].sum()) for job in jobs),
            reasons=_summed(job.reasons for job in jobs),
            dry_run=True,
        )

    def _round(self) -> tuple[Held, list[Job], int]:
        """What there is, what is to be done about it now, and how many bytes are worth it, with or without room."""
        core = self.core
        core.refresh()
        if self._began < 0:
            self._began = core.version.number
        planned = held(core.plan(TRUE))
        snapshot = replace(core.snapshot(), target=self.target)
        limits, room = self.limits, None if self.max_bytes is None else self.max_bytes - self._moved
        if room is not None:
            limits = replace(limits, bytes=min(limits.bytes, max(room, 1)))
        among, target = self._among(planned), snapshot.target_file_bytes
        if self.purging:
            found = without_dead(planned, among, target, limits)
        else:
            too_dead = due(planned, core.version.properties, time.time_ns() // 1_000_000)
            found = worth_doing(planned, among, target, limits, too_dead)
        return planned, _within(found, room), sum(job.bytes for job in found)

    def _among(self, planned: Held) -> Mask:
        """The files that this run may write again."""
        predicate = self.where()
        everything = np.ones(len(planned.rows), np.bool_)
        everywhere = self.purging or predicate == TRUE
        among = everything if everywhere else _matching(planned, self.core.plan(predicate))
        later = np.flatnonzero(planned.added > self._began)
        own = [0 < self._times.get(path, 0) < _MOST_TIMES for path in planned.paths(later)]
        among[later] = own
        if self._gave_way:
            files = np.flatnonzero(among)
            among[files] = [path not in self._gave_way for path in planned.paths(files)]
        return among & with_dead(planned, predicate) if self.purging else among

    def step(self, planned: Held, jobs: list[Job], left: int) -> Step:
        """Do some jobs in one commit; those whose files others have removed are left out."""
        skipped: list[str] = []
        for _ in range(_ATTEMPTS):
            transaction = self.core.transaction(COMPACT)
            if _layout(transaction.base) != _layout(planned.version):
                raise _LayoutChanged("the columns, the partition fields or the rule were changed meanwhile; try again.")
            lost = lost_rows(planned.version, transaction.base, self.core.manifests)
            still = [job for job in jobs if not lost.keys() & set(planned.paths(job.files))] if lost else jobs
            given_up = set(map(id, jobs)).difference(map(id, still))
            skipped += [path for job in jobs if id(job) in given_up for path in planned.paths(job.files)]
            jobs = still
            if not jobs:
                break
            files = [file for job in jobs for file in planned.entries(job.files)]
            written: list[DataFile] = []
            try:
                result = self.core.committed(transaction, partial(self._move, jobs, files, written))
            except CommitConflict:
                continue
            self._gave_way.update(skipped)
            return self._done(jobs, files, written, result, left, tuple(skipped))
        skipped += [path for job in jobs for path in planned.paths(job.files)]
        self._gave_way.update(skipped)
        return _nothing(self.core.version.number, skipped, left)

    def _move(
        self, jobs: Sequence[Job], files: Sequence[DataFile], written: list[DataFile], transaction: Transaction
    ) -> None:
        snapshot = replace(self.core.snapshot(version=transaction.base), target=self.target)
        written += self.core.engines.widest.compact(snapshot, files, joined(jobs))
        transaction.add(written)
        check_copied(files, written)
        transaction.remove(files, copied=True)
        transaction.rewritten = sum(f.rows for f in written)
        if purged := sum(f.dead_rows for f in files):
            transaction.summary["rows_purged"] = purged

    def _done(
        self,
        jobs: Sequence[Job],
        files: Sequence[DataFile],
        written: Sequence[DataFile],
        result: WriteResult,
        left: int,
        skipped: tuple[str, ...],
    ) -> Step:
        moved = sum(file.bytes for file in files)
        self._moved += moved
        times = 1 + max(self._times.pop(file.path, 0) for file in files)
        self._times |= {file.path: times for file in written}
        return Step(
            version=result.version,
            files_before=len(files),
            files_after=len(written),
            bytes_moved=moved,
            bytes_written=sum(file.bytes for file in written),
            bytes_left=left,
            rows=sum(file.rows for file in written),
            reasons=_summed(job.reasons for job in jobs),
            skipped=skipped,
        )


class _LayoutChanged(CommitConflict):
    """Columns, partition fields or the rule are others than those that were planned for."""


def _layout(version: Version) -> tuple[object, ...]:
    return version.schema, version.current_spec_id, version.current_rule_id


def _within(jobs: list[Job], room: int | None) -> list[Job]:
    """The jobs, the first ones first, that there is room for."""
    if room is None:
        return jobs
    chosen = []
    for job in jobs:
        if job.bytes <= room:
            chosen.append(job)
            room -= job.bytes
    return chosen


def _nothing(version: int, skipped: Sequence[str], left: int) -> Step:
    return Step(
        version=version,
        files_before=0,
        files_after=0,
        bytes_moved=0,
        bytes_written=0,
        bytes_left=left,
        skipped=tuple(skipped),
    )


def summary(version: int, steps: Sequence[Step], seconds: float) -> CompactResult:
    """What the steps did together."""
    return CompactResult(
        version=version,
        steps=sum(step.files_before > 0 for step in steps),
        files_before=sum(step.files_before for step in steps),
        files_after=sum(step.files_after for step in steps),
        bytes_moved=sum(step.bytes_moved for step in steps),
        bytes_written=sum(step.bytes_written for step in steps),
        bytes_left=steps[-1].bytes_left if steps else 0,
        rows=sum(step.rows for step in steps),
        reasons=_summed(step.reasons for step in steps),
        skipped=tuple(dict.fromkeys(path for step in steps for path in step.skipped)),
        seconds=seconds,
    )


def run(compaction: Compaction) -> CompactResult:
    """Do all of it."""
    began = time.perf_counter()
    steps = list(compaction.steps())
    return summary(compaction.core.version.number, steps, time.perf_counter() - began)


def _summed(counts: Iterator[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for part in counts:
        total.update(part)
    return dict(total)


def _matching(planned: Held, plan: Plan) -> Mask:
    """Which of the files a plan of some rows has."""
    by_path = {m.ref.path: m.files for m in plan.manifests}
    found = np.zeros(len(planned.rows), np.bool_)
    for number, manifest in enumerate(planned.manifests):
        here = planned.manifest == number
        found[here] = np.isin(planned.position[here], by_path.get(manifest.ref.path, ()))
    return found
