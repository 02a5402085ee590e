"""Checkpoints of Delta's log: all that is true at one of its versions, in one Parquet file."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from coalesce.errors import CorruptMetadata
from coalesce.interop.export.delta.actions import Action
from coalesce.storage.base import Storage

_STRINGS: Final = pa.map_(pa.string(), pa.string())
_TEXTS: Final = pa.list_(pa.string())
_VECTOR: Final = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
_PARTITIONED: Final = [("partitionValues", _STRINGS), ("size", pa.int64())]
_LINEAGE: Final = [("deletionVector", _VECTOR), ("baseRowId", pa.int64()), ("defaultRowCommitVersion", pa.int64())]
_ADD: Final = [
    *(("path", pa.string()), *_PARTITIONED, ("modificationTime", pa.int64()), ("dataChange", pa.bool_())),
    *(("stats", pa.string()), *_LINEAGE),
]
_REMOVE: Final = [
    *(("path", pa.string()), ("deletionTimestamp", pa.int64()), ("dataChange", pa.bool_())),
    *(("extendedFileMetadata", pa.bool_()), *_PARTITIONED, *_LINEAGE),
]
_METADATA: Final = [
    *(("id", pa.string()), ("name", pa.string()), ("description", pa.string())),
    ("format", pa.struct([("provider", pa.string()), ("options", _STRINGS)])),
    *(("schemaString", pa.string()), ("partitionColumns", _TEXTS), ("configuration", _STRINGS)),
    ("createdTime", pa.int64()),
]
_PROTOCOL: Final = [
    *(("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())),
    *(("readerFeatures", _TEXTS), ("writerFeatures", _TEXTS)),
]
_DOMAIN: Final = [("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]
_SCHEMA: Final = pa.schema(
    [
        ("txn", pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())])),
        ("add", pa.struct(_ADD)),
        ("remove", pa.struct(_REMOVE)),
        ("metaData", pa.struct(_METADATA)),
        ("protocol", pa.struct(_PROTOCOL)),
        ("domainMetadata", pa.struct(_DOMAIN)),
    ]
)


def checkpoint_path(number: int) -> str:
    """The file of the checkpoint at a Delta version."""
    return f"_delta_log/{number:020d}.checkpoint.parquet"


def write_checkpoint(storage: Storage, number: int, actions: list[tuple[str, Action]], last: str) -> None:
    """Store a checkpoint, and then that it is the newest; `last` is the file that says so."""
    rows = [{name: action} for name, action in actions]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA), sink, compression="snappy")
    storage.put_if_absent(checkpoint_path(number), sink.getvalue().to_pybytes())
    storage.put(last, json.dumps({"version": number, "size": len(actions)}).encode())


def read_checkpoint(storage: Storage, number: int) -> Iterator[Action]:
    """The actions in a checkpoint, as lines of the log have them."""
    path = checkpoint_path(number)
    try:
        table = pq.read_table(pa.BufferReader(storage.read(path)))
    except (pa.ArrowException, OSError) as error:
        raise CorruptMetadata(
            path, f"it is not a readable Parquet file: {error}; drop_export('delta'), and export again."
        ) from error
    for name in table.column_names:
        column = table.column(name)
        for action in column.drop_null().to_pylist():
            yield {name: {key: _plain(key, value) for key, value in action.items() if value is not None}}


def _plain(key: str, value: Any) -> Any:
    """A value as JSON has it: Arrow gives maps as pairs, and members of structs that are not there as None."""
    if key in ("partitionValues", "configuration", "options") and isinstance(value, list):
        return dict(value)
    if isinstance(value, dict):
        return {k: _plain(k, v) for k, v in value.items() if v is not None}
    return value
