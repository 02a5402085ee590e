"""Columns that lie in an adopted file, and that its directory tells as well: for us, the directory counts.

Readers of other formats that find a column in a file may show what lies there. So the two have to agree, which
statistics tell in most cases; where they do not, the column is read.
"""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from coalesce.arrow.parquet_statistics import told
from coalesce.arrow.read import constants_of
from coalesce.errors import CorruptMetadata
from coalesce.model.datafile import DataFile
from coalesce.model.types import AtomicType, Value
from coalesce.model.values import values_of
from coalesce.model.version import Version
from coalesce.storage.base import Storage
from coalesce.table.maintain.own_files import is_own

_CERTAIN: Final = 64  # a bound as long may have been cut


def contradicted(
    storage: Storage, version: Version, file: DataFile, metadata: pq.FileMetaData, stored: Mapping[int, pa.Field]
) -> frozenset[int]:
    """The columns, `stored` so in a file that others wrote, whose values are not those that its entry tells."""
    if is_own(file.path):
        return frozenset()
    constants = constants_of(file, version.spec_by_id(file.spec_id))
    both = [(i, value, type_) for i, value in constants.items() if i in stored and (type_ := version.schema.atomic(i))]
    leaves = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)} if both else {}
    return frozenset(
        i
        for i, value, type_ in both
        if not _is_told(metadata, leaves[stored[i].name], stored[i].type, type_, value)
        and _distinct(storage, file, stored[i].name, type_) != [value]
    )


def _is_told(metadata: pq.FileMetaData, leaf: int, stored: pa.DataType, type_: AtomicType, value: Value) -> bool:
    """Whether statistics say that every row has the value."""
    cut = isinstance(value, str | bytes) and len(value) >= _CERTAIN
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        known = told(group.column(leaf), metadata.created_by, stored, type_, no_nan=False)
        if known is None or cut:
            return False
        if value is None:
            if known.null_count != group.num_rows:
                return False
        elif group.num_rows and (known.null_count, known.lower, known.upper) != (0, value, value):
            return False
    return True


def _distinct(storage: Storage, file: DataFile, name: str, type_: AtomicType) -> list[Value] | None:
    """The values of a column; None if they are not of the type."""
    try:
        with storage.open_input(file.path, size=file.bytes) as source:
            read = pq.ParquetFile(source, coerce_int96_timestamp_unit="us").read(columns=[name])
            return values_of(type_, read.column(name).unique())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, KeyError):
        return None
    except (pa.ArrowException, OSError) as error:
        raise CorruptMetadata(file.path, f"it is not a readable Parquet file: {error}.") from error
