"""Write rows that come as a stream and need not fit into memory together.

Rows are checked as they come, a handful at a time, and gathered. When there are enough of them, those that make files
of a reasonable size are written, and the others wait for more of their kind. So files come out nearly as well as if all
rows had been there, as long as the rows of a physical partition are not too far apart. Nothing is committed before the
last row: a failure at any of them leaves no file.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

import pyarrow as pa

from coalesce.arrow.reshape import bare_rows, in_memory
from coalesce.arrow.store import discard
from coalesce.arrow.write import Writing, checked
from coalesce.model.datafile import DataFile
from coalesce.table.engine import Snapshot

# Encodings make much of little: a run-end encoded column of a billion rows may take a few bytes. So not many more rows
# than these are decoded at a time, ...
_HANDFUL_ROWS: Final = 65_536
# ... nor more than this share of what may be gathered, of which there are copies while it is checked.
_HANDFUL_SHARE: Final = 8


def write_stream(snapshot: Snapshot, tables: Iterable[pa.Table], buffer_bytes: int) -> list[DataFile]:
    """Write the rows of all the tables; nothing is committed, and a failure, of the stream too, leaves no file.

    About three times `buffer_bytes` are in memory at a time.
    """
    writing = Writing(snapshot)
    gathered: list[pa.Table] = []
    try:
        for handful in _handfuls(tables, max(buffer_bytes // _HANDFUL_SHARE, 1)):
            rows = checked(snapshot, handful)
            if rows.num_rows:
                gathered.append(rows)
            if sum(rows.nbytes for rows in gathered) < buffer_bytes:
                continue
            left = writing.put(_emptied(gathered), ripe_only=True)
            # Half of the rows may have nearly all of the bytes.
            gathered.append(left if left.nbytes <= buffer_bytes / 2 else writing.put(left))
        if gathered:
            writing.put(_emptied(gathered))
    except BaseException:
        discard(snapshot.storage, [file.path for file in writing.files])
        raise
    return writing.files


def _emptied(tables: list[pa.Table]) -> pa.Table:
    """The rows of the tables as one; the list lets go of them, so that nothing else keeps them in memory."""
    # Arrow's concatenation of tables without columns has no rows.
    rows = pa.concat_tables(tables) if tables[0].num_columns else bare_rows(sum(t.num_rows for t in tables))
    tables.clear()
    return rows


def _handfuls(tables: Iterable[pa.Table], most_bytes: int) -> Iterator[pa.Table]:
    """The same rows in tables of about so many bytes: a check of each tiny batch by itself would take too long."""
    held: list[pa.Table] = []
    size = rows = 0
    for part in chain.from_iterable(map(_slices, tables)):
        if held and held[0].schema != part.schema:
            yield _emptied(held)
            size = rows = 0
        held.append(part)
        size, rows = size + in_memory(part), rows + part.num_rows
        # One without rows tells the columns, before there are rows.
        if size >= most_bytes or rows >= _HANDFUL_ROWS or part.num_rows == 0:
            yield _emptied(held)
            size = rows = 0
    if held:
        yield _emptied(held)


def _slices(table: pa.Table) -> Iterator[pa.Table]:
    for start in range(0, max(table.num_rows, 1), _HANDFUL_ROWS):
        # Of a table without columns Arrow would take more rows than there are.
        yield table.slice(start, min(_HANDFUL_ROWS, table.num_rows - start))
