"""Where the rows of each tuple lie in a data file that has them in the order of its entry."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coalesce.arrow.reshape import until
from coalesce.model.datafile import DataFile
from coalesce.model.spec import LogicalTuple
from coalesce.model.types import AtomicType
from coalesce.model.values import column_of
from coalesce.predicate.outcomes import Mask, Outcomes, may_be_true, must_be_true

Rows = npt.NDArray[np.int64]


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
    """The rows of `tuples[i]` end before row `ends[i]` of the file; each has some."""

    tuples: Sequence[LogicalTuple]
    ends: Rows

    def component(self, position: int, type_: AtomicType, rows: range) -> pa.Array:
        """What these rows of the file, which are some, have in one component of their tuples."""
        inside = self._between(rows.start, rows.stop)
        values = column_of(type_, [t[position] for t in self.tuples[inside]])
        return until(values, np.minimum(self.ends[inside], rows.stop) - rows.start)

    def parts(self, outcomes: Outcomes, group_rows: Sequence[int]) -> list[Part]:
        """Of each row group the rows from the first that may match to the last one, by the outcomes for each tuple."""
        may, sure = may_be_true(outcomes), must_be_true(outcomes)
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
                lengths = stops - np.concatenate(([start], stops[:-1]))
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
    tuples, counts = entry.tuples or (), np.array(entry.tuple_rows or (), np.int64)
    if len(tuples) != len(counts) or not counts.all():
        tuples = tuple(t for t, n in zip(tuples, counts.tolist(), strict=True) if n)
    return Places(tuples, np.cumsum(counts[counts != 0]))
