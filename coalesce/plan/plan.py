"""A plan: the files a query has to read, what is left to check, and how that came about.

Making a plan touches only what it must. Entries become objects, conjuncts are judged file by file and the report is
drawn up when it is asked for.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from coalesce.model.datafile import DataFile
from coalesce.model.version import ManifestRef, Version, held_bytes
from coalesce.plan.index import ManifestIndex
from coalesce.plan.objects import objects_of
from coalesce.plan.planner import Judge, JudgeOpaque, LoadManifests, PlannedManifest, kept_manifests, plan_manifest
from coalesce.plan.report import Report, explain, make_report, shortened
from coalesce.predicate.expr import TRUE, And, Bound
from coalesce.predicate.normalize import conjuncts
from coalesce.predicate.outcomes import Mask, must_be_true
from coalesce.predicate.render import to_sql


@dataclass(frozen=True, repr=False)
class Plan:
    """The files of `version` that may hold a row on which `predicate` is TRUE."""

    version: Version
    predicate: Bound
    manifests: tuple[PlannedManifest, ...]
    load: LoadManifests
    opaque: JudgeOpaque | None = None

    def __reduce__(self) -> tuple[object, ...]:
        """To be sent elsewhere: it is planned anew there, and what was decoded of manifests stays here."""
        return make_plan, (self.version, self.predicate, self.load, self.opaque)

    @property
    def file_count(self) -> int:
        """How many files are to be read."""
        return sum(len(m.files) for m in self.manifests)

    @property
    def rows(self) -> int:
        """How many rows those files have together, matching or not."""
        return sum(int(m.index.rows[m.files].sum()) for m in self.manifests)

    @property
    def bytes(self) -> int:
        """How many bytes those files have together."""
        return sum(int(m.index.bytes[m.files].sum()) for m in self.manifests)

    @cached_property
    def files(self) -> tuple[DataFile, ...]:
        """The files to read, as entries."""
        schema = self.version.schema
        return tuple(f for m in self.manifests for f in m.index.entries.files(m.files, m.components(schema)))

    @cached_property
    def files_to_scan(self) -> tuple[DataFile, ...]:
        """The same, with the statistics only of the columns that the predicate asks about."""
        schema = self.version.schema
        columns = frozenset(Judge(self.predicate, schema).columns)
        return tuple(
            f for m in self.manifests for f in objects_of(m.index).files(m.files, m.components(schema), columns)
        )

    def paths(self) -> Iterator[str]:
        """The paths of the files to read, relative to the table, without making entries of them."""
        for m in self.manifests:
            yield from m.index.paths(m.files)

    def only(self, wanted: Callable[[ManifestIndex], Mask]) -> "Plan":
        """The same for some of the files: `wanted` says which, for every file of a manifest."""
        parts = (m.only(wanted(m.index)) for m in self.manifests)
        return replace(self, manifests=tuple(m for m in parts if len(m.files)))

    @cached_property
    def conjuncts(self) -> tuple[Bound, ...]:
        """The conditions that must all be TRUE."""
        return conjuncts(self.predicate)

    @cached_property
    def satisfied(self) -> tuple[Mask, ...]:
        """For each conjunct, in which of `files` every row surely satisfies it."""
        return tuple(
            np.concatenate([_satisfied(m, Judge(c, self.version.schema, self.opaque)) for m in self.manifests])
            if self.manifests
            else np.empty(0, np.bool_)
            for c in self.conjuncts
        )

    @cached_property
    def residual(self) -> Bound:
        """What still has to be checked row by row: the conjuncts that some file to be read does not surely satisfy."""
        left = tuple(c for c, done in zip(self.conjuncts, self.satisfied, strict=True) if not bool(done.all()))
        return TRUE if not left else left[0] if len(left) == 1 else And(left)

    @cached_property
    def report(self) -> Report:
        """How many manifests, files and bytes each stage took away."""
        return make_report(self.version, self.predicate, self.manifests, self.load, self.residual, self.opaque)

    def explain(self) -> str:
        """The report, for people."""
        return explain(self.report)

    def to_dict(self) -> dict[str, object]:
        """The report and the files, for programs."""
        return {
            **self.report.to_dict(),
            "files": [
                {"path": f.path, "rows": f.rows, "bytes": f.bytes, "spec_id": f.spec_id, "rule_id": f.rule_id}
                for f in self.files
            ],
        }

    def __repr__(self) -> str:
        return f"<plan for {shortened(to_sql(self.predicate))}: {self.file_count} of {self.version.files} files>"


@dataclass(frozen=True)
class Outline:
    """A plan without the indexes of its manifests, to be kept.

    Those are large, and held where there is a bound to them; a plan that is kept must not hold them beyond that.
    """

    version: Version
    predicate: Bound
    load: LoadManifests
    opaque: JudgeOpaque | None
    refs: tuple[ManifestRef, ...]
    manifests: tuple[Callable[[ManifestIndex], PlannedManifest], ...]
    nbytes: int

    @staticmethod
    def of(plan: Plan) -> "Outline":
        """What to keep of a plan."""
        return Outline(
            plan.version,
            plan.predicate,
            plan.load,
            plan.opaque,
            tuple(m.ref for m in plan.manifests),
            tuple(m.without_index() for m in plan.manifests),
            held_bytes(plan.version) + sum(m.nbytes for m in plan.manifests),
        )

    def plan(self) -> Plan:
        """The plan, with the indexes as they are held, or as they are loaded once more."""
        indexes = zip(self.manifests, self.load(self.refs), strict=True)
        return Plan(self.version, self.predicate, tuple(put_in(i) for put_in, i in indexes), self.load, self.opaque)


def make_plan(version: Version, predicate: Bound, load: LoadManifests, opaque: JudgeOpaque | None = None) -> Plan:
    """Plan a bound and normalized predicate on a version; `load` brings the indexes of manifests.

    `opaque` judges conditions that only an engine understands; without it they prune nothing.
    """
    judge = Judge(predicate, version.schema, opaque)
    refs = kept_manifests(version, predicate)
    planned = (
        plan_manifest(judge, ref, version.spec_by_id(ref.spec_id), index)
        for ref, index in zip(refs, load(refs), strict=True)
    )
    return Plan(version, predicate, tuple(m for m in planned if len(m.files)), load, opaque)


def _satisfied(planned: PlannedManifest, judge: Judge) -> Mask:
    """In which of the planned files every tuple surely satisfies the conjunct, not only those that were looked for."""
    index, spec = planned.index, planned.spec
    sure = np.ones(len(index.entries), np.bool_)
    pairs = index.postings_in(planned.files)
    outcomes = judge.at_pairs(spec, index, pairs)
    sure[index.posting_file[pairs[~must_be_true(outcomes)]]] = False
    if len(planned.unknown_files):
        sure[planned.unknown_files] = must_be_true(judge.at_files(spec, index, planned.unknown_files))
    return sure[planned.files]
