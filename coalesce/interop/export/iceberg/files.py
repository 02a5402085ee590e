"""Entries as Iceberg's data files, and dead rows as its position deletes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent, FileFormat
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, PrimitiveType, StringType

from coalesce.interop.export.bounds import safe_bounds, safe_null_count
from coalesce.interop.export.entries import dead_positions, partition_value
from coalesce.interop.export.footers import Footer
from coalesce.interop.export.iceberg.columns import iceberg_type
from coalesce.model.arrow_schema import FIELD_ID
from coalesce.model.datafile import DataFile
from coalesce.model.spec import PartitionField
from coalesce.model.types import FLOATING, AtomicType, Value
from coalesce.model.version import Version
from coalesce.storage.base import Storage

METADATA: Final = "metadata"

# The columns of a file of position deletes, with the ids that Iceberg reserves for them.
_FILE_PATH, _POSITION = 2147483546, 2147483545
_DELETES: Final = pa.schema(
    [
        pa.field("file_path", pa.string(), nullable=False, metadata={FIELD_ID: str(_FILE_PATH)}),
        pa.field("pos", pa.int64(), nullable=False, metadata={FIELD_ID: str(_POSITION)}),
    ]
)


@dataclass(frozen=True, slots=True)
class Words:
    """What turns entries of a version into Iceberg's: the fields it is partitioned by, and where its files lie."""

    version: Version
    fields: tuple[PartitionField, ...]
    storage: Storage

    def data_file(self, file: DataFile, footer: Footer | None, offsets: list[int] | None = None) -> IcebergFile:
        """One data file; its row groups begin where its footer says, or at the `offsets` that are known already.

        Its records are those that lie in it, dead ones too; what bounds say is said of live ones.
        """
        columns = [(f.id, self.version.schema.atomic(f.id)) for f in self.version.schema]
        known = [(i, type_, file.statistics[i]) for i, type_ in columns if type_ is not None and i in file.statistics]
        bounds = {i: (type_, *safe_bounds(type_, statistics)) for i, type_, statistics in known}
        return _file(
            content=DataFileContent.DATA,
            file_path=self.storage.uri(file.path),
            partition=self.partition(file),
            record_count=file.physical_rows,
            file_size_in_bytes=file.bytes,
            value_counts={i: file.physical_rows for i, _, _ in known} or None,
            null_value_counts=_counts({i: safe_null_count(s, file.rows) for i, _, s in known}),
            nan_value_counts=_counts({i: s.nan_count for i, type_, s in known if type_ in FLOATING}),
            lower_bounds=_encoded({i: (type_, lower) for i, (type_, lower, _) in bounds.items()}),
            upper_bounds=_encoded({i: (type_, upper) for i, (type_, _, upper) in bounds.items()}),
            split_offsets=offsets if footer is None else list(footer.split_offsets) or None,
        )

    def partition(self, file: DataFile) -> Record:
        """The value of each partition field in a file."""
        return Record(*(partition_value(self.version, file, f) for f in self.fields))

    def delete_file(self, file: DataFile, target: Storage) -> IcebergFile:
        """A new file of position deletes for the dead rows of a data file. It applies to that one only."""
        address = self.storage.uri(file.path)
        dead = dead_positions(self.storage, self.version, file)
        positions = np.flatnonzero(dead.mask())
        paths = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(positions), np.int32)), pa.array([address]))
        table = pa.Table.from_arrays([paths.cast(pa.string()), pa.array(positions)], schema=_DELETES)
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        data = sink.getvalue().to_pybytes()
        path = f"{METADATA}/deletes/{uuid4().hex}.parquet"
        target.put_if_absent(path, data)
        ends = {_FILE_PATH: (to_bytes(StringType(), address),) * 2}
        ends[_POSITION] = (to_bytes(LongType(), int(positions[0])), to_bytes(LongType(), int(positions[-1])))
        return _file(
            content=DataFileContent.POSITION_DELETES,
            file_path=target.uri(path),
            partition=self.partition(file),
            record_count=len(positions),
            file_size_in_bytes=len(data),
            value_counts=dict.fromkeys(ends, len(positions)),
            null_value_counts=dict.fromkeys(ends, 0),
            lower_bounds={i: lower for i, (lower, _) in ends.items()},
            upper_bounds={i: upper for i, (_, upper) in ends.items()},
        )


def _file(**members: object) -> IcebergFile:
    return IcebergFile.from_args(_table_format_version=2, file_format=FileFormat.PARQUET, **members)


def _counts(counts: Mapping[int, int | None]) -> dict[int, int] | None:
    return {i: count for i, count in counts.items() if count is not None} or None


def _encoded(bounds: Mapping[int, tuple[AtomicType, Value]]) -> dict[int, bytes] | None:
    """Bounds in Iceberg's encoding."""
    found = {}
    for column_id, (type_, value) in bounds.items():
        if value is not None:
            iceberg = iceberg_type(type_)
            assert isinstance(iceberg, PrimitiveType)
            found[column_id] = to_bytes(iceberg, value)
    return found or None
