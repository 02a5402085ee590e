"""Where the rows of each tuple lie in a data file that has them in the order of its entry."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from coalesce.arrow.ranges import Ranges, Rows
from coalesce.arrow.reshape import until
from coalesce.model.datafile import DataFile, in_places
from coalesce.model.spec import LogicalTuple
from coalesce.model.types import AtomicType
from coalesce.model.values import column_of
from coalesce.predicate.outcomes import Mask, Outcomes, may_be_true, must_be_true


@dataclass(frozen=True, slots=True)
class Part:
    """The rows `start` to `stop` (exclusive) of a row group, all that may match of it.

    `matching` says which of them do, where that is known; otherwise they have to be looked at.
    """

    group: int
    start: int
    stop: int
    matching: Mask | None


@dataclass(frozen=True, slots=True)
class Places:
    """The rows of `tuples[i]` end before row `ends[i]` of the file; each has some. One that is not `live` is dead."""

    tuples: Sequence[LogicalTuple]
    ends: Rows
    live: Mask

    def component(self, position: int, type_: AtomicType, rows: range) -> pa.Array:
        """What these rows of the file, which are some, have in one component of their tuples; dead ones left out."""
        inside = self._between(rows.start, rows.stop)
        live = np.flatnonzero(self.live[inside]) + inside.start
        values = column_of(type_, [self.tuples[i][position] for i in live.tolist()])
        stops = np.minimum(self.ends[inside], rows.stop)
        lengths = stops - np.concatenate(([rows.start], stops[:-1]))
        return until(values, np.cumsum(lengths[self.live[inside]]))

    def parts(self, outcomes: Outcomes, group_rows: Sequence[int]) -> list[Part]:
        """Of each row group the rows from the first that may match to the last one, by the outcomes for each tuple.

        Dead ones match nothing, and what is `matching` is said of the live rows of a part.
        """
        may, sure = may_be_true(outcomes) & self.live, must_be_true(outcomes) & self.live
        begins = np.concatenate(([0], self.ends[:-1]))
        wanted = np.flatnonzero(may)
        wanted_begins, wanted_ends = begins[wanted], self.ends[wanted]
        found, begin = [], 0
        for group, count in enumerate(group_rows):
            end = begin + count
            first = int(np.searchsorted(wanted_ends, begin, side="right"))  # the first that ends behind the beginning
            after = int(np.searchsorted(wanted_begins, end, side="left"))  # the first that begins behind the end
            if first < after:
                start, stop = max(int(wanted_begins[first]), begin), min(int(wanted_ends[after - 1]), end)
                inside = self._between(start, stop)
                decided = bool((may[inside] == sure[inside]).all())
                stops = np.minimum(self.ends[inside], stop)
                lengths = np.where(self.live[inside], stops - np.concatenate(([start], stops[:-1])), 0)
                matching = np.repeat(sure[inside], lengths) if decided else None
                found.append(Part(group, start - begin, stop - begin, matching))
            begin = end
        return found

    def _between(self, start: int, stop: int) -> slice:
        """The tuples that have rows between these two."""
        first = int(np.searchsorted(self.ends, start, side="right"))
        return slice(first, int(np.searchsorted(self.ends, stop, side="left")) + 1)


def places_of(entry: DataFile) -> Places:
    """The places in a file whose rows lie in the order of its entry's tuples, of which every count is known."""
    counts, live = counts_in_order(entry)
    listed: Sequence[LogicalTuple] = entry.tuples or ()
    if entry.dead:
        listed = in_places(listed, entry.dead, lambda dead: dead.values)
    some = counts > 0
    if not some.all():
        listed = [listed[i] for i in np.flatnonzero(some).tolist()]
    return Places(listed, np.cumsum(counts[some]), live[some])


def live_rows(entry: DataFile) -> Ranges:
    """The rows of such a file whose tuples are live."""
    return Ranges.of_runs(*counts_in_order(entry))


def counts_in_order(entry: DataFile) -> tuple[Rows, Mask]:
    """How many rows each tuple has, in the order in which they lie in the file, and which of them are live."""
    total = len(entry.tuples or ()) + len(entry.dead)
    live = np.ones(total, np.bool_)
    if not entry.dead:
        return np.array(entry.tuple_rows or (), np.int64), live
    live[[dead.place for dead in entry.dead]] = False
    counts = np.zeros(total, np.int64)
    counts[live] = np.array(entry.tuple_rows or (), np.int64)
    counts[~live] = [dead.rows for dead in sorted(entry.dead, key=lambda dead: dead.place)]
    return counts, live
