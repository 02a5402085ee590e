"""From a predicate and a version to the files that may hold a matching row.

Version → manifests (by their bounds) → tuples (by the index) → statistics → files. A file whose tuples are unknown
is judged by its physical key and statistics alone. Every judgement is the same question to the one evaluator: can
the predicate be TRUE here?
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import assert_never

import numpy as np
import numpy.typing as npt

from coalesce.model.schema import Schema
from coalesce.model.spec import Spec, field_type
from coalesce.model.transforms import Identity
from coalesce.model.values import Components
from coalesce.model.version import ManifestRef, Version
from coalesce.plan.bounds import bounds_of
from coalesce.plan.column_domains import Domains
from coalesce.plan.index import Component, ManifestIndex, Positions
from coalesce.predicate.alternatives import by_values
from coalesce.predicate.domains import Both, Gathered, Unknown, computed_outcomes
from coalesce.predicate.expr import (
    And,
    Asked,
    Bound,
    Computed,
    Constant,
    InBuckets,
    InRange,
    InSet,
    IsNull,
    Leaf,
    Not,
    Opaque,
    Or,
)
from coalesce.predicate.outcomes import (
    ANYTHING,
    LeafOutcomes,
    Mask,
    Narrow,
    Outcomes,
    may_be_true,
    must_be_true,
    possible,
)

_FEW = 4  # search if it leaves less than one tuple in so many; else judging all of them in one go is as fast

# Brings the indexes of manifests, in order.
LoadManifests = Callable[[Sequence[ManifestRef]], Iterable[ManifestIndex]]

# Some distinct tuples of a manifest, or all of them (None).
Tuples = tuple[Spec, ManifestIndex, npt.NDArray[np.integer] | None]
# The outcomes of a condition that only an engine understands, at some tuples; None if it cannot say.
JudgeOpaque = Callable[[Opaque, Tuples], Outcomes | None]


@dataclass(frozen=True)
class PlannedManifest:
    """What a plan keeps of one manifest.

    `files` are the positions of the files to read; `postings` those of the (file, tuple) pairs that may match, with
    the possible `outcomes` of the predicate at each; `unknown_files` are the files among `files` whose tuples are
    unknown, with `unknown_outcomes`.
    """

    ref: ManifestRef
    spec: Spec
    index: ManifestIndex
    files: Positions
    postings: Positions
    outcomes: Outcomes
    unknown_files: Positions
    unknown_outcomes: Outcomes

    def without_index(self) -> Callable[[ManifestIndex], "PlannedManifest"]:
        """The same, as soon as it is given the index: manifests never change, nor do positions in them."""
        rest = (self.files, self.postings, self.outcomes, self.unknown_files, self.unknown_outcomes)
        ref, spec = self.ref, self.spec
        return lambda index: PlannedManifest(ref, spec, index, *rest)

    @property
    def nbytes(self) -> int:
        """How much memory it takes without the index."""
        rest = (self.files, self.postings, self.outcomes, self.unknown_files, self.unknown_outcomes)
        return sum(array.nbytes for array in rest)

    def only(self, wanted: Mask) -> "PlannedManifest":
        """The same for some of the files: `wanted` says which, for every file of the manifest."""
        pairs = wanted[self.index.posting_file[self.postings]]
        unknown = wanted[self.unknown_files]
        return replace(
            self,
            files=self.files[wanted[self.files]],
            postings=self.postings[pairs],
            outcomes=self.outcomes[pairs],
            unknown_files=self.unknown_files[unknown],
            unknown_outcomes=self.unknown_outcomes[unknown],
        )

    def components(self, schema: Schema) -> Components:
        """What the tuples are made of: the fields' names, and their types, as stored where the column is gone."""
        return tuple(
            (f.name, field_type(f, schema) if schema.atomic(f.source_id) else self.index.entries.tuple_type(f.field_id))
            for f in self.spec.fields
        )

    def in_doubt(self) -> Mask:
        """For every file of the manifest, whether some of its rows may match and some may not, by what is known.

        Rows of pairs that were ruled out do not match; those of the others do in the files not in doubt.
        """
        doubt = np.zeros(len(self.index.entries), np.bool_)
        doubt[self.index.posting_file[self.postings[~must_be_true(self.outcomes)]]] = True
        doubt[self.unknown_files[~must_be_true(self.unknown_outcomes)]] = True
        return doubt


@dataclass(frozen=True)
class Judge:
    """A predicate, asked about places that domains describe."""

    predicate: Bound
    schema: Schema
    opaque: JudgeOpaque | None = None

    def outcomes(
        self, domains: Domains, count: int, expr: Bound | None = None, tuples: Tuples | None = None
    ) -> Outcomes:
        """The possible outcomes at each of `count` places; a column without a domain is unknown.

        `tuples` says which tuples stand at the places, if that is what they are.
        """
        leaf, narrow = self._asked_at(domains, count, tuples)
        return possible(self.predicate if expr is None else expr, leaf, count, narrow)

    def _asked_at(self, domains: Domains, count: int, tuples: Tuples | None) -> tuple[LeafOutcomes, Narrow]:
        def leaf(asked: Asked) -> Outcomes:
            match asked:
                case Opaque():
                    return self._engines_word(asked, tuples, np.full(count, ANYTHING, np.uint8))
                case Computed(text=text):
                    outcomes = computed_outcomes(asked, domains, count)
                    if self.opaque is None or tuples is None or not bool((outcomes == ANYTHING).any()):
                        return outcomes
                    condition = Opaque(text, frozenset(column.id for column in asked.columns))
                    return self._engines_word(condition, tuples, outcomes)
                case _:
                    domain = domains.get(asked.column.id)
                    return (Unknown(count) if domain is None else domain).outcomes(asked)

        def narrow(places: Positions) -> tuple[LeafOutcomes, Narrow]:
            here = {column_id: domain.at(places) for column_id, domain in domains.items()}
            if tuples is None:
                return self._asked_at(here, len(places), None)
            spec, index, positions = tuples
            narrowed = spec, index, places if positions is None else positions[places]
            return self._asked_at(here, len(places), narrowed)

        return leaf, narrow

    def _engines_word(self, condition: Opaque, tuples: Tuples | None, outcomes: Outcomes) -> Outcomes:
        """`outcomes`, and where anything may be, what the engine says, if there is one that knows."""
        known = None if self.opaque is None or tuples is None else self.opaque(condition, tuples)
        return outcomes if known is None else np.where(outcomes == ANYTHING, known, outcomes)

    def at_pairs(self, spec: Spec, index: ManifestIndex, pairs: Positions) -> Outcomes:
        """The possible outcomes at (file, tuple) pairs: the tuple is known, the file has statistics."""
        tuples = index.posting_tuple[pairs]
        domains = index.tuple_domains(spec, self.schema, self.columns, tuples)
        _add_statistics(domains, self.statistics(index), index.posting_file[pairs])
        return self.outcomes(domains, len(pairs), tuples=(spec, index, tuples))

    def at_files(self, spec: Spec, index: ManifestIndex, files: Positions) -> Outcomes:
        """The possible outcomes in files whose tuples are unknown: they have physical keys and statistics."""
        domains = index.physical_domains(spec, self.schema, files)
        _add_statistics(domains, self.statistics(index), files)
        return self.outcomes(domains, len(files))

    def statistics(self, index: ManifestIndex) -> Domains:
        """What the statistics of a manifest's files say of the columns the predicate asks about."""
        domains: Domains = {}
        for column_id in self.columns:
            type_ = self.schema.atomic(column_id)
            domain = None if type_ is None else index.statistics_domain(column_id, type_)
            if domain is not None:
                domains[column_id] = domain
        return domains

    @cached_property
    def columns(self) -> frozenset[int]:
        """The columns the predicate's leaves ask about."""
        return frozenset(_asked(self.predicate))


def _asked(expr: Bound) -> Iterator[int]:
    match expr:
        case And(parts) | Or(parts):
            for part in parts:
                yield from _asked(part)
        case Not(part):
            yield from _asked(part)
        case IsNull(column) | InSet(column) | InRange(column) | InBuckets(column):
            yield column.id
        case Computed():
            yield from (column.id for column in expr.columns)
        case Constant() | Opaque():
            return
        case _:
            assert_never(expr)


def kept_manifests(version: Version, predicate: Bound) -> list[ManifestRef]:
    """The manifests that may name a file with a matching row, by their bounds alone."""
    judge = Judge(predicate, version.schema)
    kept: list[ManifestRef] = []
    for _, refs, domains in bounds_of(version):
        may = may_be_true(judge.outcomes(domains, len(refs)))
        kept += [refs[i] for i in np.flatnonzero(may)]
    return kept


def plan_manifest(judge: Judge, ref: ManifestRef, spec: Spec, index: ManifestIndex) -> PlannedManifest:
    """What to read of one manifest."""
    exact = {f.source_id for f in spec.fields if isinstance(f.transform, Identity)}
    tuples, outcomes = _matching_tuples(judge, spec, index)
    if judge.columns <= exact:
        pairs = index.postings(tuples)
        pair_outcomes = outcomes.repeat(index.posting_counts(tuples))
    else:
        pairs, pair_outcomes = _by_statistics(judge, spec, index, tuples)
    unknown, unknown_outcomes = _unknown_files(judge, spec, index)
    keep = np.zeros(len(index.entries), np.bool_)
    keep[index.posting_file[pairs]] = True
    keep[unknown] = True
    return PlannedManifest(ref, spec, index, keep.nonzero()[0], pairs, pair_outcomes, unknown, unknown_outcomes)


def _matching_tuples(judge: Judge, spec: Spec, index: ManifestIndex) -> tuple[Positions, Outcomes]:
    """The distinct tuples on which the predicate may be TRUE, in order, and its outcomes there."""
    tuples = _candidates(judge, spec, index)
    count = index.tuple_count if tuples is None else len(tuples)
    domains = index.tuple_domains(spec, judge.schema, judge.columns, tuples)
    outcomes = judge.outcomes(domains, count, tuples=(spec, index, tuples))
    may = may_be_true(outcomes).nonzero()[0]
    return (may if tuples is None else tuples[may]), outcomes[may]


def _candidates(judge: Judge, spec: Spec, index: ManifestIndex) -> Positions | None:
    """All tuples on which the predicate may be TRUE, and others, by search; None if that would not leave few."""
    found = _searched(judge.predicate, judge.schema, spec, index)
    if found is None or found.count * _FEW > index.tuple_count:
        return None
    if not found.runs:
        return np.empty(0, np.int64)
    tuples = np.concatenate([component.tuples(places) for component, places in found.runs], dtype=np.int64)
    tuples.sort()
    if len(found.runs) > 1:  # two searches may find the same one; np.unique would import half of NumPy to tell
        first = np.ones(len(tuples), np.bool_)
        first[1:] = tuples[1:] != tuples[:-1]
        tuples = tuples[first]
    return tuples


@dataclass(frozen=True, slots=True)
class _Search:
    """Tuples by the values of one component or of several; `count` may count one twice."""

    count: int
    runs: tuple[tuple[Component, Positions], ...]


def _searched(expr: Bound, schema: Schema, spec: Spec, index: ManifestIndex) -> _Search | None:
    """Where to look for the tuples on which `expr` may be TRUE; None if they may be anywhere.

    Of conditions that must all hold, the narrowest will do; of alternatives, it takes every one.
    """
    match expr:
        case And(parts):
            some = [s for s in (_searched(p, schema, spec, index) for p in parts) if s is not None]
            return min(some, key=lambda s: s.count, default=None)
        case Or(parts):
            sorted_out = by_values(parts)
            alternatives = parts if sorted_out is None else (sorted_out[0].hull, *sorted_out[1])
            each = [_searched(p, schema, spec, index) for p in alternatives]
            known = [s for s in each if s is not None]
            if len(known) < len(each):
                return None
            return _Search(sum(s.count for s in known), tuple(r for s in known if s.count for r in s.runs))
        case IsNull() | InSet() | InRange() | InBuckets():
            return _leaf_searched(expr, expr.column.id, schema, spec, index)
        case Computed(columns=(column,)):
            return _leaf_searched(expr, column.id, schema, spec, index)
        case Constant(value):
            return None if value is True else _Search(0, ())
        case Not() | Opaque() | Computed():
            return None
        case _:
            assert_never(expr)


def _leaf_searched(
    leaf: Leaf | Computed, column_id: int, schema: Schema, spec: Spec, index: ManifestIndex
) -> _Search | None:
    best: _Search | None = None
    for position, field in enumerate(spec.fields):
        source_type = schema.atomic(field.source_id)
        if field.source_id != column_id or source_type is None:
            continue
        outcomes = index.values_domain(position, field, source_type).outcomes(leaf)
        component, places = index.component(position), may_be_true(outcomes).nonzero()[0]
        count = component.count(places)
        if best is None or count < best.count:
            best = _Search(count, ((component, places),))
    return best


def _by_statistics(judge: Judge, spec: Spec, index: ManifestIndex, tuples: Positions) -> tuple[Positions, Outcomes]:
    """The pairs of these tuples that the files' statistics leave: first file by file, then pair by pair.

    File by file only those columns count of which no tuple says anything: where a tuple and the statistics contradict
    each other nothing is known, and that shows pair by pair.
    """
    sources = {f.source_id for f in spec.fields}
    others = {column_id: d for column_id, d in judge.statistics(index).items() if column_id not in sources}
    in_file = may_be_true(judge.outcomes(others, len(index.entries)))
    if len(tuples) == index.tuple_count:
        pairs = np.sort(index.postings_in(np.flatnonzero(in_file)))
    else:
        pairs = index.postings(tuples)
        pairs = pairs[in_file[index.posting_file[pairs]]]
    outcomes = judge.at_pairs(spec, index, pairs)
    may = may_be_true(outcomes)
    return pairs[may], outcomes[may]


def _unknown_files(judge: Judge, spec: Spec, index: ManifestIndex) -> tuple[Positions, Outcomes]:
    """The files with unknown tuples that may match."""
    files = index.untrusted_files
    if not len(files):
        return files, np.empty(0, np.uint8)
    outcomes = judge.at_files(spec, index, files)
    may = may_be_true(outcomes)
    return files[may], outcomes[may]


def _add_statistics(domains: Domains, statistics: Domains, files: npt.NDArray[np.integer]) -> None:
    for column_id, domain in statistics.items():
        here = Gathered(domain, files)
        before = domains.get(column_id)
        domains[column_id] = here if before is None else Both(before, here)
