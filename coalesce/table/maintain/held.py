"""What the files of a version hold, as arrays: all that the planner of maintenance knows.

Files of other specs, and those whose tuples or counts are unknown, are there with their sizes only. Of the others every
posting is known: a file, a tuple, and how many rows the file has of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from coalesce.model.columns import numbers
from coalesce.model.datafile import DataFile
from coalesce.model.rule import Group, PhysicalKey
from coalesce.model.spec import LogicalTuple, Spec
from coalesce.model.values import values_of
from coalesce.model.version import Version
from coalesce.plan.index import ManifestIndex, Positions, runs
from coalesce.plan.plan import Plan
from coalesce.plan.planner import PlannedManifest
from coalesce.predicate.outcomes import Mask
from coalesce.table.layout import one_nan, spark_order

_Item = TypeVar("_Item", LogicalTuple, PhysicalKey)

_NO_RULE = -1
NO_KEY = -1

# A file of so many bytes is taken at its word about what a row takes; in smaller ones, footers and page headers count.
_TELLING_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Held:
    """The files of a version, numbered; `tuples` of the current spec are in Spark's order.

    `known` says of which files every posting is known, `keys[key[i]]` is the physical key of file `i`, if that is.
    `rows` are those that the table has; of `dead` ones, the first of which are dead since `dead_since`, it has no more.
    `bytes` are those of both.
    """

    version: Version
    manifests: Sequence[PlannedManifest]
    manifest: npt.NDArray[np.int64]
    position: Positions
    rows: Positions
    dead: Positions
    dead_since: Positions
    bytes: Positions
    rule_id: npt.NDArray[np.int64]
    added: Positions
    known: Mask
    key: npt.NDArray[np.int64]
    keys: Sequence[PhysicalKey]
    tuples: Sequence[LogicalTuple]
    posting_file: Positions
    posting_tuple: Positions
    posting_rows: Positions

    @cached_property
    def row_bytes(self) -> npt.NDArray[np.float64]:
        """About how many bytes a row of each file would take in a larger one.

        In a small file as many as usual, or fewer; but what it has beyond the smallest file, its rows have.
        """
        rows: Positions = self.rows + self.dead
        own = self.bytes / np.maximum(rows, 1)
        telling = self.bytes >= _TELLING_BYTES
        if not telling.any():
            telling = rows * 2 >= rows.max(initial=0)
        usual = self.bytes[telling].sum() / max(int(rows[telling].sum()), 1)
        beyond = (self.bytes - self.bytes.min(initial=_TELLING_BYTES)) / np.maximum(rows, 1)
        return np.where(self.bytes >= _TELLING_BYTES, own, np.maximum(np.minimum(own, usual), beyond))

    @cached_property
    def live_bytes(self) -> Positions:
        """About how many bytes the rows of each file take that the table has: what is left if it is written again."""
        share = self.rows / np.maximum(self.rows + self.dead, 1)
        found: Positions = np.where(self.dead > 0, self.bytes * share, self.bytes).astype(np.int64)
        return found

    @cached_property
    def is_alone(self) -> Mask:
        """Which files lie in a physical partition that no group shares."""
        alone = np.array([not any(isinstance(c, Group) for c in key) for key in self.keys] + [False], np.bool_)
        found: Mask = alone[self.key]
        return found

    def paths(self, files: npt.NDArray[np.integer]) -> list[str]:
        """The paths of some files."""
        return [path for m, here in self._by_manifest(files) for path in m.index.paths(here)]

    def entries(self, files: npt.NDArray[np.integer]) -> list[DataFile]:
        """Some files as objects, without statistics, which nobody asks about when all rows are read."""
        schema = self.version.schema
        return [
            file
            for m, here in self._by_manifest(files)
            for file in m.index.entries.files(here, m.components(schema), columns=())
        ]

    def postings_of(self, files: npt.NDArray[np.integer]) -> Positions:
        """The postings of some files."""
        order, starts = self._by_file
        return order[runs(starts, files)]

    @cached_property
    def postings(self) -> Positions:
        """How many postings each file has."""
        return np.bincount(self.posting_file, minlength=len(self.rows))

    @cached_property
    def first_tuple(self) -> Positions:
        """The first tuple of each file, by its number; one behind the last where none is known."""
        first = np.full(len(self.rows), len(self.tuples))
        np.minimum.at(first, self.posting_file, self.posting_tuple)
        return first

    @cached_property
    def _by_file(self) -> tuple[Positions, Positions]:
        """The postings file by file, and where those of each file begin."""
        return np.argsort(self.posting_file, kind="stable"), np.concatenate(([0], np.cumsum(self.postings)))

    def _by_manifest(self, files: npt.NDArray[np.integer]) -> list[tuple[PlannedManifest, Positions]]:
        ordered = np.sort(files)
        numbers, starts = np.unique(self.manifest[ordered], return_index=True)
        parts = np.split(self.position[ordered], starts[1:])
        return [(self.manifests[number], part) for number, part in zip(numbers.tolist(), parts, strict=False)]


def held(plan: Plan) -> Held:
    """What the files of a plan hold; the plan is one of everything, or of what is to be looked at."""
    version, manifests = plan.version, plan.manifests
    keys: _Numbered[PhysicalKey] = _Numbered()
    tuples: _Numbered[LogicalTuple] = _Numbered()
    parts = [_part(m, version.current_spec_id, keys, tuples) for m in manifests]
    names = list(tuples.numbers)
    order = spark_order(names, version.spec.types(version.schema))
    rank = np.empty(len(order), np.int64)
    rank[np.array(order, np.int64)] = np.arange(len(order))
    starts = np.cumsum([0, *(len(p.rows) for p in parts)])

    def joined(arrays: Sequence[npt.NDArray[np.generic]], kind: type = np.int64) -> npt.NDArray[np.int64]:
        return np.concatenate([np.empty(0, kind), *arrays])

    return Held(
        version=version,
        manifests=manifests,
        manifest=joined([np.full(len(p.rows), i) for i, p in enumerate(parts)]),
        position=joined([m.files for m in manifests]),
        rows=joined([p.rows for p in parts]),
        dead=joined([m.index.entries.dead_rows[m.files] for m in manifests]),
        dead_since=joined([m.index.entries.dead_since[m.files] for m in manifests]),
        bytes=joined([p.bytes for p in parts]),
        rule_id=joined([p.rule_id for p in parts]),
        added=joined([p.added for p in parts]),
        known=np.concatenate([np.empty(0, np.bool_), *(p.known for p in parts)]),
        key=joined([p.key for p in parts]),
        keys=list(keys.numbers),
        tuples=[names[i] for i in order],
        posting_file=joined([p.posting_file + start for p, start in zip(parts, starts, strict=False)]),
        posting_tuple=rank[joined([p.posting_tuple for p in parts])],
        posting_rows=joined([p.posting_rows for p in parts]),
    )


class _Numbered(Generic[_Item]):
    """Distinct tuples, or physical keys, numbered as they come."""

    def __init__(self) -> None:
        self.numbers: dict[_Item, int] = {}

    def number(self, item: _Item) -> int:
        return self.numbers.setdefault(one_nan(item), len(self.numbers))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class _Part:
    """The files of one manifest; postings name them by their place among those that are planned."""

    rows: Positions
    bytes: Positions
    rule_id: npt.NDArray[np.int64]
    added: Positions
    known: Mask
    key: npt.NDArray[np.int64]
    posting_file: Positions
    posting_tuple: Positions
    posting_rows: Positions


def _part(
    planned: PlannedManifest, current_spec: int, keys: _Numbered[PhysicalKey], tuples: _Numbered[LogicalTuple]
) -> _Part:
    index, files = planned.index, planned.files
    core = index.entries.core
    is_current = planned.spec.spec_id == current_spec
    counted = _counted(index)[files] if is_current else np.zeros(len(files), np.bool_)
    places = np.full(len(index.entries), -1)
    places[files] = np.arange(len(files))
    postings = index.postings_in(files[counted])
    used, code = np.unique(index.posting_tuple[postings], return_inverse=True)
    named = np.array([tuples.number(t) for t in _tuples_at(index, planned.spec, used)], np.int64)
    return _Part(
        rows=index.rows[files],
        bytes=index.bytes[files],
        rule_id=numbers(core.column("rule_id"), null=_NO_RULE)[files].astype(np.int64),
        added=numbers(core.column("added_version"), null=0)[files],
        known=counted,
        key=_keys_at(index, keys)[files] if is_current else np.full(len(files), NO_KEY),
        posting_file=places[index.posting_file[postings]],
        posting_tuple=named[code],
        posting_rows=index.posting_rows[postings],
    )


def _counted(index: ManifestIndex) -> Mask:
    """The files of which all tuples are known, with the number of rows of each."""
    counted = index.trusted.copy()
    counted[index.posting_file[index.posting_rows < 0]] = False
    return counted


def _tuples_at(index: ManifestIndex, spec: Spec, which: npt.NDArray[np.integer]) -> list[LogicalTuple]:
    """Some of the distinct tuples of a manifest."""
    columns = []
    for position, field in enumerate(spec.fields):
        component = index.component(position)
        values = [*values_of(index.entries.tuple_type(field.field_id), component.values), None]
        columns.append([values[code] for code in component.codes[which]])
    return list(zip(*columns, strict=True)) if columns else [()] * len(which)


def _keys_at(index: ManifestIndex, keys: _Numbered[PhysicalKey]) -> npt.NDArray[np.int64]:
    """The number of each file's physical key."""
    own = physical_keys_of(index)
    numbered = np.array([*(keys.number(key) for key in own.keys), NO_KEY], np.int64)
    return numbered[own.code]


@dataclass(frozen=True)
class OwnKeys:
    """The distinct physical keys of a manifest, and which of them each file has; -1 where that is unknown."""

    keys: Sequence[PhysicalKey]
    code: npt.NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        """About how much memory they take."""
        return self.code.nbytes + 200 * len(self.keys)


def physical_keys_of(index: ManifestIndex) -> OwnKeys:
    """The physical keys of a manifest, found once and kept with its index."""
    return index.derived("physical keys", lambda: _own_keys(index))


def _own_keys(index: ManifestIndex) -> OwnKeys:
    core = index.entries.core
    found: _Numbered[PhysicalKey] = _Numbered()
    keys = zip(index.entries.physical_keys(), core.column("physical_known").to_pylist(), strict=True)
    code = [found.number(key) if is_known else NO_KEY for key, is_known in keys]
    return OwnKeys(list(found.numbers), np.array(code, np.int64))
