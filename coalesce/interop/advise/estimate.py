"""What a compaction would make of files, by the very arithmetic that it decides with, and without writing anything.

Round by round, as compactions go: what `worth_doing` wants written again is replaced by what its arrangement says,
until nothing is wanted any more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Final
from uuid import uuid4

import numpy as np

from coalesce.interop.adopt.survey import Packing
from coalesce.model.datafile import DataFile
from coalesce.model.entries import from_files
from coalesce.model.spec import LogicalTuple
from coalesce.model.version import ManifestRef, Version
from coalesce.plan.index import ManifestIndex
from coalesce.plan.plan import make_plan
from coalesce.predicate.expr import TRUE
from coalesce.table.layout import PlannedFile
from coalesce.table.maintain.held import Held, held
from coalesce.table.maintain.worth import Job, Limits, worth_doing

_MOST_ROUNDS: Final = 20


@dataclass(frozen=True, slots=True)
class Estimate:
    """The files that there would be; `moved` bytes would be written again."""

    files: Sequence[DataFile]
    moved: int

    @property
    def directories(self) -> int:
        """In how many physical partitions they would lie."""
        return len({f.physical_key for f in self.files})

    @property
    def mean(self) -> float:
        """How large a file would be, on average."""
        return sum(f.bytes for f in self.files) / max(len(self.files), 1)


def compacted(version: Version, files: Sequence[DataFile], target: int, packing: Packing) -> Estimate:
    """What `compact` would leave of a table with these files and the rule of the version.

    Files that are there have the size they have; those that would be written, what the rows take without the rest.
    """
    payload = {f.path: packing.payload(f.bytes, f.rows) for f in files}
    beside = packing.footer + packing.fixed
    now = [replace(f, first_row_id=0, added_version=0, statistics={}) for f in files]
    names = count()
    done: set[str] = set()  # of which nothing more can be said
    moved = 0
    for _ in range(_MOST_ROUNDS):
        planned = looked_at(version, now)
        among = np.array([path not in done for path in planned.paths(np.arange(len(planned.rows)))], np.bool_)
        jobs = worth_doing(planned, among, target, Limits())
        if not jobs:
            break
        gone = {path for job in jobs for path in planned.paths(job.files)}
        new = [file for job in jobs for file in _files(planned, job, payload, beside, target, names, done)]
        moved += sum(job.bytes for job in jobs)
        now = [f for f in now if f.path not in gone] + new
    return Estimate(now, moved)


def looked_at(version: Version, files: Sequence[DataFile]) -> Held:
    """The files as the planner of maintenance sees those of a version."""
    refs: list[ManifestRef] = []
    indexes: dict[str, ManifestIndex] = {}
    for spec_id in sorted({f.spec_id for f in files}):
        own = [f for f in files if f.spec_id == spec_id]
        path = str(spec_id)
        indexes[path] = ManifestIndex(from_files(own, version.spec_by_id(spec_id), version.schema))
        refs.append(
            ManifestRef(
                path=path,
                spec_id=spec_id,
                files=len(own),
                rows=sum(f.rows for f in own),
                bytes=sum(f.bytes for f in own),
                length=0,
                digest="",
                bounds=None,
                added_version=0,
                first_row_id=0,
            )
        )
    # Under an id of its own: planners remember what a commit's manifests are.
    there = replace(version, manifests=tuple(refs), commit_id=uuid4().hex)
    return held(make_plan(there, TRUE, lambda wanted: iter([indexes[ref.path] for ref in wanted])))


def _files(
    planned: Held,
    job: Job,
    payload: dict[str, float],
    beside: float,
    target: int,
    names: "count[int]",
    done: set[str],
) -> list[DataFile]:
    """The files that a job would leave, and in `payload` what their rows take."""
    arrangement, version = job.arrangement, planned.version
    total = sum(payload[path] for path in planned.paths(job.files))
    per_row = total / max(int(planned.rows[job.files].sum()), 1)
    if arrangement is not None:
        made = [
            _file(version, f"estimated/{next(names)}", file, arrangement.tuples, int(file.rows * per_row + beside))
            for file in arrangement.files
        ]
        payload |= {file.path: file.rows * per_row for file in made}
        return made
    # What their rows hold is not known: as many as their bytes would fill.
    rows, size = int(planned.rows[job.files].sum()), int(total)
    number = max(1, round(size / target))
    paths = [f"estimated/{next(names)}" for _ in range(number)]
    done.update(paths)
    return [
        DataFile(path=path, spec_id=version.current_spec_id, rows=rows // number, bytes=size // number)
        for path in paths
    ]


def _file(version: Version, path: str, planned: PlannedFile, tuples: Sequence[LogicalTuple], size: int) -> DataFile:
    return DataFile(
        path=path,
        spec_id=version.current_spec_id,
        rows=planned.rows,
        bytes=max(1, size),
        rule_id=version.current_rule_id,
        physical_key=planned.physical_key,
        tuples=tuple(tuples[s.index] for s in planned.slices),
        tuple_rows=tuple(s.rows for s in planned.slices),
        complete=True,
        first_row_id=0,
        added_version=0,
    )
