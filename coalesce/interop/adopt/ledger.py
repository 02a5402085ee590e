"""Which files a table was adopted from: all that the source had when it was last looked at, or that were let go of.

Those, too, that were gone from the source with rows in them that the table had removed: they may come back.

The files of an adopted table belong to others and stay where they are when the table lets go of them: after a
compaction, a deletion, an update. What the table has had once, another adoption must not take for new. So each adoption
writes down what it has seen, in an immutable file that a property of the version names with its digest.
"""

import hashlib
from collections.abc import Mapping
from typing import Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from coalesce.interop.adopt.survey import Seen
from coalesce.manifest.paths import ADOPTED
from coalesce.model.version import Version
from coalesce.storage.base import Storage
from coalesce.table.maintain.adopted import SEPARATOR, adopted_files
from coalesce.table.properties import ADOPTED_FILES, ADOPTED_FROM

_COLUMNS: Final = pa.schema(
    [
        *(("path", pa.string()), ("bytes", pa.int64()), ("modified_ms", pa.int64())),
        *(("footer", pa.string()), ("dead_rows", pa.int64())),  # lists of earlier releases have neither
    ]
)


def source_of(version: Version) -> str | None:
    """What kind of thing the table was adopted from; None if it was not."""
    return version.properties.get(ADOPTED_FROM)


def read_ledger(storage: Storage, version: Version) -> dict[str, Seen]:
    """The files that the source had at the last adoption, and those that the table has let go of, there or not."""
    table = adopted_files(storage, version)
    names, nothing = table.column_names, [None] * table.num_rows
    columns = (table.column(name).to_pylist() if name in names else nothing for name in _COLUMNS.names)
    return {path: Seen(size, at, footer, dead or 0) for path, size, at, footer, dead in zip(*columns, strict=True)}


def write_ledger(storage: Storage, kind: str, files: Mapping[str, Seen]) -> tuple[str, dict[str, str]]:
    """Store the files under a new name: that name, and the properties of a version that names it."""
    paths = sorted(files)
    seen = [files[path] for path in paths]
    arrays = [paths, *([getattr(s, name) for s in seen] for name in _COLUMNS.names[1:])]
    table = pa.Table.from_arrays([pa.array(a, f.type) for a, f in zip(arrays, _COLUMNS, strict=True)], schema=_COLUMNS)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    data = sink.getvalue().to_pybytes()
    path = f"{ADOPTED}/{uuid4().hex}.parquet"
    storage.put_if_absent(path, data)
    named = f"{path}{SEPARATOR}{hashlib.sha256(data).hexdigest()}"
    return path, {ADOPTED_FROM: kind, ADOPTED_FILES: named}
