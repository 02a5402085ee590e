"""Some rows among many, by where they begin and end: rows that lie together need not be told one by one."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coalesce.predicate.outcomes import Mask

Rows = npt.NDArray[np.int64]

# Rows that are so many on average are handed on as they lie; to copy fewer is quicker than to handle each slice.
_LONG_SLICE: Final = 2_048


@dataclass(frozen=True, slots=True)
class Ranges:
    """Of `total` rows those from `starts[i]` to `stops[i]`, exclusive; in order, and no two of these touch."""

    starts: Rows
    stops: Rows
    total: int

    @staticmethod
    def of(mask: Mask) -> "Ranges":
        """The rows where it is true."""
        edges = np.flatnonzero(np.diff(mask, prepend=False, append=False))
        return Ranges(edges[::2], edges[1::2], len(mask))

    @staticmethod
    def of_runs(lengths: Rows, chosen: Mask) -> "Ranges":
        """The rows of the chosen ones of some runs, which lie one behind the other."""
        some = lengths > 0
        ends, chosen = np.cumsum(lengths[some]), chosen[some]
        changes = np.flatnonzero(np.diff(chosen, prepend=False, append=False))
        edges = np.concatenate(([0], ends))[changes]
        return Ranges(edges[::2], edges[1::2], int(ends[-1]) if len(ends) else 0)

    @property
    def count(self) -> int:
        """How many rows these are."""
        return int((self.stops - self.starts).sum())

    @property
    def is_all(self) -> bool:
        """Whether they are all the rows there are."""
        return self.count == self.total

    def mask(self) -> Mask:
        """The same as a flag for each row."""
        edges = np.stack([self.starts, self.stops], axis=1).ravel()
        lengths = np.diff(edges, prepend=0, append=self.total)
        return np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)

    def between(self, start: int, stop: int) -> "Ranges":
        """Those of the rows from `start` to `stop`, counted from there."""
        first = int(np.searchsorted(self.stops, start, side="right"))
        after = max(first, int(np.searchsorted(self.starts, stop, side="left"))) if start < stop else first
        starts, stops = self.starts[first:after], self.stops[first:after]
        return Ranges(np.maximum(starts, start) - start, np.minimum(stops, stop) - start, stop - start)

    def numbers(self, rows: Rows) -> Rows:
        """The number of each of some of these rows among all of them."""
        until = np.cumsum(self.stops - self.starts)
        place = np.searchsorted(self.starts, rows, side="right") - 1
        found: Rows = rows - (self.stops - until)[place]
        return found

    def rows(self, numbers: Rows) -> Rows:
        """The rows that have these numbers among all of them."""
        until = np.cumsum(self.stops - self.starts)
        place = np.searchsorted(until, numbers, side="right")
        found: Rows = numbers + (self.stops - until)[place]
        return found

    def among(self, wanted: Mask) -> "Ranges":
        """Those of the rows that are wanted; the mask has a flag for each of them."""
        mask = self.mask()
        mask[mask] = wanted
        return Ranges.of(mask)


def joined(parts: Sequence[Ranges]) -> Ranges:
    """Rows of one part behind the other as rows of all."""
    if len(parts) == 1:
        return parts[0]
    begins = [0, *accumulate(part.total for part in parts)]
    edges = [np.stack([p.starts, p.stops], axis=1) + begin for p, begin in zip(parts, begins, strict=False)]
    # Where one range ends and the next begins there is no edge.
    values, counts = np.unique(np.concatenate([np.empty((0, 2), np.int64), *edges]), return_counts=True)
    kept = values[counts == 1]
    return Ranges(kept[::2], kept[1::2], begins[-1])


def chosen_rows(columns: Sequence[pa.ChunkedArray], chosen: Ranges) -> list[pa.ChunkedArray]:
    """The chosen rows of columns: as slices of what there is if they lie in long runs, otherwise copied."""
    if len(chosen.starts) * _LONG_SLICE > chosen.total:
        kept = pa.array(chosen.mask())
        return [column.filter(kept) for column in columns]
    slices = list(zip(chosen.starts.tolist(), (chosen.stops - chosen.starts).tolist(), strict=True))
    return [
        pa.chunked_array([chunk for start, count in slices for chunk in column.slice(start, count).chunks], column.type)
        for column in columns
    ]
