"""Write the rows of files again as an arrangement says, in memory that does not grow with their number.

The new files are made a few at a time. Of each old file only the row groups that those need are read: its tuples tell
where they lie. A file that does not have its rows in the order of its tuples is read whole, and put in order.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coalesce.arrow.compact import all_lineage
from coalesce.arrow.encode import Target, data_path
from coalesce.arrow.read import open_file
from coalesce.arrow.store import discard, store
from coalesce.arrow.tuples import RowTuples, tuples_of
from coalesce.arrow.write import in_one_piece, make_file, row_order
from coalesce.errors import CorruptMetadata
from coalesce.manifest.paths import new_write_directory
from coalesce.model.datafile import DataFile
from coalesce.plan.index import runs
from coalesce.table.engine import Snapshot
from coalesce.table.layout import Arrangement, PlannedFile, one_nan

# New files are made together up to so many bytes, as they will be in the files; in memory their rows take more.
_TOGETHER: Final = 64 * 1024 * 1024
_READERS: Final = 4  # old files that are read at the same time

Rows = npt.NDArray[np.int64]


def arrange(snapshot: Snapshot, files: Sequence[DataFile], arrangement: Arrangement) -> list[DataFile]:
    """The files of the arrangement with the rows of `files`, which keep their ids; a failure leaves none."""
    sources = _Sources.of(files, arrangement)
    directory = new_write_directory()
    written: list[DataFile] = []
    try:
        for numbers in _together(arrangement):
            written += _written(snapshot, files, arrangement, sources, numbers, directory)
    except BaseException:
        discard(snapshot.storage, [file.path for file in written])
        raise
    return written


def _together(arrangement: Arrangement) -> Iterator[range]:
    """The new files that are made at the same time: neighbours, which have much of the same old files."""
    start, rows = 0, 0
    for number, file in enumerate(arrangement.files):
        if rows and (rows + file.rows) * arrangement.bytes_per_row > _TOGETHER:
            yield range(start, number)
            start, rows = number, 0
        rows += file.rows
    yield range(start, len(arrangement.files))


@dataclass(frozen=True, slots=True)
class _Sources:
    """Where the rows of each tuple lie: piece `i` of a tuple is `rows[i]` rows of file `file[i]` from `begin[i]` on.

    Pieces are in the order of tuples, those of tuple `t` from `starts[t]` on; `before[i]` rows of it come before.
    """

    starts: Rows
    file: Rows
    begin: Rows
    rows: Rows
    before: Rows

    @staticmethod
    def of(files: Sequence[DataFile], arrangement: Arrangement) -> "_Sources":
        place = {tuple_: number for number, tuple_ in enumerate(arrangement.tuples)}
        tuple_ = np.array([place[one_nan(t)] for f in files for t in f.tuples or ()], np.int64)
        rows = np.array([n for f in files for n in f.tuple_rows or ()], np.int64)
        lengths = np.array([len(f.tuples or ()) for f in files], np.int64)
        until = np.cumsum(rows) - rows
        first = until[np.cumsum(lengths) - lengths] if len(rows) else until
        order = np.argsort(tuple_, kind="stable")
        counts = np.bincount(tuple_, minlength=len(arrangement.tuples))
        starts = np.concatenate(([0], np.cumsum(counts)))
        rows_in_order = rows[order]
        before = np.cumsum(rows_in_order) - rows_in_order
        before -= np.repeat(before[starts[:-1]], counts)
        file = np.repeat(np.arange(len(files)), lengths)
        return _Sources(starts, file[order], (until - np.repeat(first, lengths))[order], rows_in_order, before)

    def pieces(self, planned: PlannedFile) -> tuple[Rows, Rows, Rows]:
        """What a new file is made of, in order: old files, the first row in each, and how many."""
        which = np.array([s.index for s in planned.slices], np.int64)
        found = runs(self.starts, which)
        counts = self.starts[which + 1] - self.starts[which]
        from_ = np.maximum(self.before[found], np.repeat([s.start for s in planned.slices], counts))
        to = np.minimum(self.before[found] + self.rows[found], np.repeat([s.stop for s in planned.slices], counts))
        there = to > from_
        found, from_, to = found[there], from_[there], to[there]
        return self.file[found], self.begin[found] + from_ - self.before[found], to - from_


def _written(
    snapshot: Snapshot,
    files: Sequence[DataFile],
    arrangement: Arrangement,
    sources: _Sources,
    numbers: range,
    directory: str,
) -> list[DataFile]:
    """Some of the new files."""
    version = snapshot.version
    made_of = [sources.pieces(arrangement.files[number]) for number in numbers]
    file, begin, count = (np.concatenate(part) for part in zip(*made_of, strict=True))
    lowest = np.full(len(files), np.iinfo(np.int64).max)
    highest = np.zeros(len(files), np.int64)
    np.minimum.at(lowest, file, begin)
    np.maximum.at(highest, file, begin + count)
    needed = np.unique(file)
    with ThreadPoolExecutor(_READERS) as pool:
        read = list(pool.map(lambda n: _rows(snapshot, files[n], int(lowest[n]), int(highest[n])), needed.tolist()))
    rows = in_one_piece(pa.concat_tables([part for part, _ in read]))
    lineage = all_lineage([(part.num_rows, own) for part, own in read])
    # Where in `rows` the first row of each old file would lie.
    base = np.zeros(len(files), np.int64)
    lengths = highest[needed] - lowest[needed]
    base[needed] = np.cumsum(lengths) - lengths - lowest[needed]
    makers = []
    for number, (own_file, own_begin, own_count) in zip(numbers, made_of, strict=True):
        planned = arrangement.files[number]
        chosen = _ranges(base[own_file] + own_begin, own_count)
        target = Target(
            path=data_path(directory, number, version.spec, version.schema, planned.physical_key),
            spec=version.spec,
            rule_id=version.current_rule_id,
            physical_key=planned.physical_key,
        )
        held = RowTuples(
            [arrangement.tuples[s.index] for s in planned.slices],
            np.repeat(np.arange(len(planned.slices)), [s.rows for s in planned.slices]),
            [s.rows for s in planned.slices],
        )
        makers.append(partial(make_file, rows, held, lineage, chosen, version, target, arrangement.bytes_per_row))
    return store(snapshot.storage, makers)


def _ranges(starts: Rows, counts: Rows) -> Rows:
    """So many numbers from each start on."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(int(counts.sum()))


def _rows(snapshot: Snapshot, entry: DataFile, start: int, stop: int) -> tuple[pa.Table, pa.Table | None]:
    """The rows `start` to `stop` of a file, counted in the order of its tuples, and their ids and versions."""
    fields = snapshot.version.schema.fields
    with open_file(snapshot.storage, entry, snapshot.version) as file:
        lineage = file.lineage()
        if file.places is None:
            rows = file.read(fields, range(len(file.group_rows)))
            order = pa.array(_in_tuple_order(rows, entry, snapshot)[start:stop])
            return rows.take(order), None if lineage is None else lineage.take(order)
        ends = np.cumsum(file.live_rows)
        first, last = int(np.searchsorted(ends, start, "right")), int(np.searchsorted(ends, stop, "left"))
        begins = int(ends[first]) - file.live_rows[first]
        rows = file.read(fields, range(first, last + 1)).slice(start - begins, stop - start)
        return rows, None if lineage is None else lineage.slice(start, stop - start)


def _in_tuple_order(rows: pa.Table, entry: DataFile, snapshot: Snapshot) -> Rows:
    """The rows of a file, in the order of its entry's tuples."""
    tuples = tuples_of(rows, snapshot.version.spec_by_id(entry.spec_id), snapshot.version.schema)
    number = {tuple_: i for i, tuple_ in enumerate(tuples.distinct)}
    listed = {one_nan(t): rows for t, rows in zip(entry.tuples or (), entry.tuple_rows or (), strict=True) if rows}
    if listed != dict(zip(tuples.distinct, tuples.counts, strict=True)):
        # Rows would get values of their neighbours, and nobody could tell any more.
        raise CorruptMetadata(
            entry.path, "its rows are not of the logical partitions that its entry lists; check(deep=True) says more."
        )
    return row_order(tuples, [number[tuple_] for tuple_ in listed])
