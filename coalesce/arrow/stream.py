"""Write rows that come as a stream and need not fit into memory together.

Rows are checked as they come, a handful at a time, and gathered. When there are enough of them, those that make files
of a reasonable size are written, and the others wait for more of their kind. So files come out nearly as well as if all
rows had been there, as long as the rows of a physical partition are not too far apart. Nothing is committed before the
last row: a failure at any of them leaves no file.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa

from coalesce.arrow.reshape import bare_rows, default_of
from coalesce.arrow.sizes import row_bytes
from coalesce.arrow.store import discard
from coalesce.arrow.write import Writing, checked
from coalesce.model.datafile import DataFile
from coalesce.model.schema import Schema
from coalesce.table.engine import Snapshot

# Not many more rows than these are decoded at a time: a column of a billion rows may take a few bytes.
_HANDFUL_ROWS: Final = 65_536
# Nor more than this share of what may be gathered, of which there are copies while it is checked.
_HANDFUL_SHARE: Final = 8
# So many tables are made one, as each takes some room and time of its own, however few its rows.
_MANY_TABLES: Final = 512


def write_stream(snapshot: Snapshot, tables: Iterable[pa.Table], buffer_bytes: int) -> list[DataFile]:
    """Write the rows of all the tables; nothing is committed, and a failure, of the stream too, leaves no file.

    About three times `buffer_bytes` are in memory at a time.
    """
    writing = Writing(snapshot)
    gathered = _Gathered()
    try:
        for handful in _handfuls(tables, snapshot.version.schema, max(buffer_bytes // _HANDFUL_SHARE, 1)):
            gathered.add(checked(snapshot, handful))
            if gathered.bytes < buffer_bytes:
                continue
            left = writing.put(gathered.taken(), ripe_only=True)
            # Half of the rows may have nearly all of the bytes.
            gathered.add(left if left.nbytes <= buffer_bytes / 2 else writing.put(left))
        if gathered.bytes:
            writing.put(gathered.taken())
    except BaseException:
        discard(snapshot.storage, [file.path for file in writing.files])
        raise
    return writing.files


@dataclass
class _Gathered:
    """Rows that fit the table and wait for more."""

    bytes: int = 0
    _tables: list[pa.Table] = field(default_factory=list)
    _latest: list[pa.Table] = field(default_factory=list)

    def add(self, rows: pa.Table) -> None:
        """Gather these, too."""
        if rows.num_rows == 0:
            return
        self.bytes += max(rows.nbytes, 1)
        self._latest.append(rows)
        if len(self._latest) == _MANY_TABLES:
            self._tables.append(_emptied(self._latest).combine_chunks())

    def taken(self) -> pa.Table:
        """All rows, which are not gathered any more."""
        self.bytes = 0
        self._tables += self._latest
        self._latest.clear()
        return _emptied(self._tables)


def _emptied(tables: list[pa.Table]) -> pa.Table:
    """The rows of the tables as one; the list lets go of them, so that nothing else keeps them in memory."""
    # Arrow's concatenation of tables without columns has no rows.
    rows = pa.concat_tables(tables) if tables[0].num_columns else bare_rows(sum(t.num_rows for t in tables))
    tables.clear()
    return rows


def _handfuls(tables: Iterable[pa.Table], schema: Schema, most_bytes: int) -> Iterator[pa.Table]:
    """The same rows in tables of about so many bytes: a check of each tiny batch by itself would take too long."""
    held: list[pa.Table] = []
    size = rows = 0
    given: pa.Schema | None = None
    width = 0
    for table in tables:
        if table.schema != given:
            if held:
                yield _emptied(held)
            size = rows = 0
            given, width = table.schema, _absent_bytes(schema, table.column_names)
            if table.num_rows == 0:  # it tells the columns, before there are rows
                yield table
        for part, part_bytes in _slices(table, width, most_bytes):
            held.append(part)
            size, rows = size + part_bytes, rows + part.num_rows
            if size >= most_bytes or rows >= _HANDFUL_ROWS:
                yield _emptied(held)
                size = rows = 0
    if held:
        yield _emptied(held)


def _slices(table: pa.Table, width: int, most_bytes: int) -> Iterator[tuple[pa.Table, int]]:
    """The rows in pieces of at most so many bytes, or of one row, and their bytes; each row has `width` of its own."""
    for start in range(0, table.num_rows, _HANDFUL_ROWS):
        # Of a table without columns Arrow would take more rows than there are.
        part = table.slice(start, min(_HANDFUL_ROWS, table.num_rows - start))
        ends = np.cumsum(row_bytes(part) + width)
        begin = before = 0
        while begin < part.num_rows:
            end = max(int(np.searchsorted(ends, before + most_bytes, side="right")), begin + 1)
            yield part.slice(begin, end - begin), int(ends[end - 1]) - before
            begin, before = end, int(ends[end - 1])


def _absent_bytes(schema: Schema, names: Iterable[str]) -> int:
    """What the table's other columns will take in each row."""
    there = {name.lower() for name in names}
    return sum(default_of(f, 1).nbytes for f in schema.fields if f.name.lower() not in there)
