"""Entries as objects, kept with the index of their manifest: whoever scans a table scans it again.

An entry that lists thousands of tuples takes as long to make as it takes to read a column of its file.
"""

from typing import Final

import numpy as np

from coalesce.model.columns import whole
from coalesce.model.datafile import DataFile
from coalesce.model.entries import Entries
from coalesce.model.values import Components
from coalesce.plan.index import ManifestIndex, Positions
from coalesce.recent import Recent

_MOST_BYTES: Final = 8 * 1024 * 1024  # for a manifest
_MOST_FILES: Final = 1_000  # asked for at once; of more than these, few would still be there the next time
_FILE_BYTES, _TUPLE_BYTES = 1_500, 200  # as measured, with two components and a few statistics

_Key = tuple[int, Components, frozenset[int]]


class Objects:
    """The objects that were made last of a manifest's entries, by position, components and columns of statistics."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries
        postings = len(whole(entries.core.column("tuples")).values)
        # All that it may come to hold: an index asks for it only once.
        self.nbytes = min(_MOST_BYTES, len(entries) * _FILE_BYTES + postings * _TUPLE_BYTES)
        self._made: Recent[_Key, DataFile] = Recent(self.nbytes, _weight)

    def files(self, positions: Positions, components: Components, columns: frozenset[int]) -> list[DataFile]:
        """As `Entries.files`."""
        if len(positions) > _MOST_FILES:
            return self._entries.files(positions, components, columns)
        found = {p: self._made.get((p, components, columns)) for p in positions.tolist()}
        missing = [p for p, file in found.items() if file is None]
        if missing:
            made = self._entries.files(np.array(missing, np.int64), components, columns)
            for position, file in zip(missing, made, strict=True):
                self._made.put((position, components, columns), file)
            found |= zip(missing, made, strict=True)
        return [file for file in found.values() if file is not None]


def objects_of(index: ManifestIndex) -> Objects:
    """Those that are kept with the index."""
    return index.derived(Objects, lambda: Objects(index.entries))


def _weight(file: DataFile) -> int:
    return _FILE_BYTES + _TUPLE_BYTES * (len(file.tuples or ()) + len(file.dead))
