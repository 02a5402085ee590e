"""Write the rows of files again, all of them, where the current spec and rule want them."""

from collections.abc import Sequence

import pyarrow as pa

from coalesce.arrow.encode import LINEAGE
from coalesce.arrow.read import open_file
from coalesce.arrow.write import write
from coalesce.model.datafile import DataFile
from coalesce.table.engine import Snapshot


def compact(snapshot: Snapshot, files: Sequence[DataFile]) -> list[DataFile]:
    """New files with the rows of `files`, which keep their ids and versions."""
    rows, lineage = [], []
    for entry in files:
        with open_file(snapshot.storage, entry, snapshot.version) as file:
            rows.append(file.read(snapshot.version.schema.fields, range(len(file.group_rows))))
            lineage.append((entry.rows, file.lineage()))
    return write(snapshot, pa.concat_tables(rows), all_lineage(lineage)) if rows else []


def all_lineage(parts: Sequence[tuple[int, pa.Table | None]]) -> pa.Table:
    """The ids and versions of the rows of several files, each with the number of its rows."""
    none = LINEAGE.empty_table()
    return pa.concat_tables([none, *(_unknown(count) if known is None else known for count, known in parts)])


def _unknown(count: int) -> pa.Table:
    return pa.Table.from_arrays([pa.nulls(count, f.type) for f in LINEAGE], schema=LINEAGE)
