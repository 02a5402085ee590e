"""Layout: from how many rows each logical tuple has to which rows make which file. Pure arithmetic, no rows moved.

Every tuple is routed to a physical key by the rule. The tuples of one physical key, in Spark's order, then form one
long run of rows, and that run is cut into files of about the target size. A cut falls between two tuples where that
leaves both sides a reasonable size, so that a small tuple lies in one file; only a tuple too large for that is cut
itself, evenly. No tuple gets a sliver of a file.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, Final

from coalesce.model.datafile import DataFile
from coalesce.model.rule import PhysicalKey, Rule, route_all
from coalesce.model.schema import Schema
from coalesce.model.spec import LogicalTuple, Spec
from coalesce.model.types import FLOATING, AtomicType, Value
from coalesce.model.values import order_key

# An entry lists every tuple of its file, and a planner decodes the entries of a manifest together: past this many a
# single entry would cost more to read than the files it helps to skip. So a file never holds more.
MAX_TUPLES_PER_FILE: Final = 100_000

# A run's length lies within these shares of the target, and so do the pieces of what is left after it.
_LEAST, _MOST = 0.5, 1.5
_LEAST_REST, _MOST_REST = 0.75, 1.25


@dataclass(frozen=True, slots=True)
class Slice:
    """The rows `start` to `stop` (exclusive) of tuple number `index`, counted within that tuple."""

    index: int
    start: int
    stop: int

    @property
    def rows(self) -> int:
        """How many rows the slice has; never 0."""
        return self.stop - self.start


@dataclass(frozen=True)
class PlannedFile:
    """A file to be written: its physical key and the rows that go into it, in order."""

    physical_key: PhysicalKey
    slices: tuple[Slice, ...]

    @cached_property
    def rows(self) -> int:
        """How many rows the file will have."""
        return sum(s.stop - s.start for s in self.slices)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the table knew of its tuples before this write: bytes it holds of each, and which are alone already."""

    sizes: Mapping[LogicalTuple, int] | None = None
    alone: Collection[LogicalTuple] = frozenset()


def plan_files(
    tuples: Sequence[LogicalTuple],
    rows: Sequence[int],
    *,
    bytes_per_row: float,
    target: int,
    rule: Rule,
    spec: Spec,
    schema: Schema,
    known: Known | None = None,
    in_order: Sequence[int] | None = None,
    max_tuples: int = MAX_TUPLES_PER_FILE,
) -> list[PlannedFile]:
    """The files for `rows[i]` rows of each distinct `tuples[i]`: together they have every row exactly once.

    `in_order` is their `spark_order`, if it has been computed before. Files come in the order of their first
    tuple, and the slices of one physical key in Spark's order of tuples.
    """
    types = spec.types(schema)
    keys = physical_keys(tuples, rows, bytes_per_row, rule, spec, types, known or Known())
    order = spark_order(tuples, types) if in_order is None else in_order
    return files_of_keys(order, keys, rows, target / bytes_per_row, max_tuples)


def files_of_keys(
    in_order: Iterable[int],
    keys: Sequence[PhysicalKey],
    rows: Sequence[int],
    target_rows: float,
    max_tuples: int = MAX_TUPLES_PER_FILE,
) -> list[PlannedFile]:
    """The files for `rows[i]` rows of each tuple `i`, whose physical key is `keys[i]`, taken `in_order`."""
    runs: dict[PhysicalKey, list[int]] = {}
    by_object: dict[int, list[int]] = {}  # many tuples have one and the same key, and to hash it takes the longest
    for index in in_order:
        if rows[index] > 0:
            key = keys[index]
            run = by_object.get(id(key))
            if run is None:
                run = by_object[id(key)] = runs.setdefault(key, [])
            run.append(index)
    return [
        PlannedFile(key, slices)
        for key, run in runs.items()
        for slices in _files_of_run(run, [rows[i] for i in run], target_rows, max_tuples)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """Rows that the table has already, as they are to lie: `files` are made of `tuples`, each of which is there once.

    The rows of a tuple are counted through the files that have them now, in the order in which those are given.
    """

    tuples: Sequence[LogicalTuple]
    files: Sequence[PlannedFile]
    bytes_per_row: float


def ripe(files: Sequence[PlannedFile], target_rows: float) -> list[bool]:
    """Of the files for a part of the rows, which to write before the others come: more rows would not better them.

    That is files of a reasonable size, and if these have not half of the rows, the largest of the others.
    """
    total = sum(file.rows for file in files)
    chosen, left = [False] * len(files), total
    for index in sorted(range(len(files)), key=lambda i: -files[i].rows):
        if files[index].rows < _LEAST * target_rows and left <= total / 2:
            break
        chosen[index] = True
        left -= files[index].rows
    return chosen


def physical_keys(
    tuples: Sequence[LogicalTuple],
    rows: Sequence[int],
    bytes_per_row: float,
    rule: Rule,
    spec: Spec,
    types: Sequence[AtomicType],
    known: Known,
) -> list[PhysicalKey]:
    """The physical key of each tuple; its size is what the table has of it and what this write adds."""
    has_floats = may_be_nan(types)
    sizes, alone = known.sizes or {}, known.alone
    if has_floats:
        sizes, alone = {one_nan(t): size for t, size in sizes.items()}, {one_nan(t) for t in alone}
        tuples = [one_nan(t) for t in tuples]
    added = [int(count * bytes_per_row) for count in rows]
    all_sizes = [sizes.get(t, 0) + size for t, size in zip(tuples, added, strict=True)] if sizes else added
    return route_all(rule, spec, tuples, all_sizes, alone)


def may_be_nan(types: Sequence[AtomicType]) -> bool:
    """Whether a tuple with components of these types may have a NaN."""
    return not FLOATING.isdisjoint(types)


def one_nan(tuple_: LogicalTuple) -> LogicalTuple:
    """The tuple with one and the same NaN object, without which Python would not find it in a dictionary."""
    if any(v != v for v in tuple_):  # true of NaN only
        return tuple(math.nan if v != v else v for v in tuple_)
    return tuple_


def spark_order(tuples: Sequence[LogicalTuple], types: Sequence[AtomicType]) -> list[int]:
    """The positions of `tuples` in Spark's order, component by component, NULL first."""
    components = [_sort_keys(type_, [t[i] for t in tuples]) for i, type_ in enumerate(types)]
    keys = list(zip(*components, strict=True)) if components else [()] * len(tuples)
    return sorted(range(len(tuples)), key=keys.__getitem__)


def _sort_keys(type_: AtomicType, values: list[Value]) -> list[Any]:
    if type_ not in FLOATING and None not in values:
        return values  # as almost always: they compare as Spark compares them
    return [(False, None) if v is None else (True, order_key(type_, v)) for v in values]


def cuts(ends: Sequence[int], target: float) -> list[int]:
    """Where to cut a run into balanced pieces of about `target`, ascending; the run's end is the last one.

    `ends` are the ascending positions at which the run's members end. A piece is between a half and one and a half
    of the target unless the whole run is less. A cut is the member's end nearest to the even one if that keeps the
    pieces balanced, and the even one, inside a member, if no end does.
    """
    total = ends[-1]
    pieces = max(1, min(round(total / target), total))
    chosen = []
    start = 0
    for left in range(pieces, 1, -1):
        after = left - 1
        even = start + (total - start) / left
        least_rest, most_rest = (_LEAST, _MOST) if after == 1 else (after * _LEAST_REST, after * _MOST_REST)
        low = max(start + _LEAST * target, total - most_rest * target, start + 1)
        high = min(start + _MOST * target, total - least_rest * target, total - after)
        start = _nearest(ends, even, low, high)
        chosen.append(start)
    return [*chosen, total]


def _nearest(ends: Sequence[int], even: float, low: float, high: float) -> int:
    candidates = ends[bisect_left(ends, low) : bisect_right(ends, high)]
    position = bisect_left(candidates, even)
    nearest = candidates[max(0, position - 1) : position + 1]
    return min(nearest, key=lambda end: abs(end - even), default=round(even))


def _files_of_run(
    run: Sequence[int], rows: Sequence[int], target_rows: float, max_tuples: int
) -> Iterable[tuple[Slice, ...]]:
    """The run's rows as files; `run` are tuple numbers, `rows` how many rows each has."""
    ends = list(accumulate(rows))
    start = 0
    for stop in cuts(ends, target_rows):
        slices = _slices(run, ends, start, stop)
        parts = -(-len(slices) // max_tuples)
        for part in range(parts):
            yield tuple(slices[len(slices) * part // parts : len(slices) * (part + 1) // parts])
        start = stop


def _slices(run: Sequence[int], ends: Sequence[int], start: int, stop: int) -> list[Slice]:
    """The slices of the tuples that lie between two positions of the run."""
    found = []
    position = bisect_right(ends, start)
    while start < stop:
        begins = ends[position - 1] if position else 0
        end = min(stop, ends[position])
        found.append(Slice(run[position], start - begins, end - begins))
        start, position = end, position + 1
    return found


def listing(
    entry: DataFile,
    tuples: Sequence[LogicalTuple] | None,
    rows: Sequence[int] | None,
    most: int = MAX_TUPLES_PER_FILE,
    *,
    ordered: bool = False,
) -> DataFile:
    """The entry with all tuples of its file and their rows, if they are known and not more than an entry may list.

    `ordered` says that the rows lie in the order of the tuples.
    """
    if tuples is None or len(tuples) > most:
        return entry
    counts = None if rows is None else tuple(rows)
    return replace(entry, tuples=tuple(tuples), tuple_rows=counts, complete=True, ordered=ordered)
