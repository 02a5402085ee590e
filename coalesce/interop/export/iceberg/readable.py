"""What PyIceberg cannot read of files that others wrote, or reads wrongly; other readers of Iceberg may well.

It goes by Arrow's types, which a file written with Arrow remembers, and not by those of Parquet: text that was a
dictionary, bytes of a fixed size, an instant of another time zone than UTC.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as at
from pyiceberg.io.pyarrow import UTC_ALIASES, pyarrow_to_schema
from pyiceberg.table.name_mapping import NameMapping, parse_mapping_from_json

from coalesce.errors import CorruptMetadata
from coalesce.interop.export.footers import Footer
from coalesce.model.datafile import DataFile
from coalesce.storage.base import Storage

_FORMAT_VERSION: Final = 2
_NANOSECONDS: Final = pa.timestamp("ns")
_BEYOND: Final = "12-byte timestamps outside of the years 1677 to 2262, which PyIceberg reads wrongly"


def reads(stored: pa.DataType) -> bool:
    """Whether it reads what is stored as this beside what we store."""
    if at.is_timestamp(stored):
        return stored.tz is None or stored.tz in UTC_ALIASES
    views = at.is_string_view(stored) or at.is_binary_view(stored)
    return not (views or at.is_dictionary(stored) or at.is_fixed_size_binary(stored))


def unreadable_files(
    storage: Storage, files: Sequence[DataFile], footers: Sequence[Footer], mapping: str
) -> Iterator[tuple[str, str]]:
    """The files that it fails on, or reads wrongly, each with the beginning of a sentence that its name ends."""
    names = parse_mapping_from_json(mapping)
    known: dict[bytes, str | None] = {}
    for file, footer in zip(files, footers, strict=True):
        key = footer.schema.serialize().to_pybytes()
        if key not in known:
            known[key] = _failure(footer.schema, names)
        reason = known[key]
        if reason is not None:
            yield f"PyIceberg fails ({reason}) on the columns of", file.path
        elif footer.int96:
            for column in _out_of_range(storage, file, footer.int96):
                yield f"column {column!r} has {_BEYOND}, in", file.path


def _failure(schema: pa.Schema, names: NameMapping) -> str | None:
    """What it says of a file's columns, those that the table lacks among them, if it cannot read the file."""
    try:
        pyarrow_to_schema(schema, names, downcast_ns_timestamp_to_us=True, format_version=_FORMAT_VERSION)
    except Exception as error:  # noqa: BLE001 - whatever it raises, a reader would see
        return str(error).partition("\n")[0].rstrip(".")
    return None


# --- timestamps of 12 bytes ------------------------------------------------------------------------------------------


def _out_of_range(storage: Storage, file: DataFile, columns: Sequence[str]) -> list[str]:
    """The columns of 12-byte timestamps with values that nanoseconds since 1970 do not reach.

    Nothing in a footer tells, so they are read.
    """
    try:
        with storage.open_input(file.path, size=file.bytes) as source:
            opened = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
            groups = range(opened.metadata.num_row_groups)
            return [
                column
                for column in columns
                if any(_is_beyond(opened.read_row_group(i, columns=[column]).column(0)) for i in groups)
            ]
    except (pa.ArrowException, OSError) as error:
        raise CorruptMetadata(file.path, f"it is not a readable Parquet file: {error}.") from error


def _is_beyond(values: pa.ChunkedArray) -> bool:
    for chunk in values.chunks:
        for leaf in _leaves(chunk):
            try:
                leaf.cast(_NANOSECONDS)
            except pa.ArrowInvalid:
                return True
    return False


def _leaves(values: pa.Array) -> Iterator[pa.Array]:
    """The timestamps in an array, however deep they lie."""
    if at.is_struct(values.type):
        for member in values.flatten():
            yield from _leaves(member)
    elif at.is_map(values.type):
        yield from _leaves(values.keys)
        yield from _leaves(values.items)
    elif at.is_nested(values.type):
        yield from _leaves(values.flatten())
    elif at.is_timestamp(values.type):
        yield values
