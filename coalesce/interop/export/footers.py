"""What other engines will find in data files: which columns, of which types, and where row groups begin.

An entry does not tell whether its file has a column or was written before there was one, and a reader of another format
has no defaults and fewer types that widen. So the footer of every file is looked at, once, when it is first exported.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from coalesce.arrow.compat import has_inner_ids
from coalesce.errors import CorruptMetadata, FileMissing
from coalesce.interop.export.contradictions import contradicted
from coalesce.model.arrow_schema import FIELD_ID
from coalesce.model.datafile import DataFile
from coalesce.model.types import Field, ListType, MapType, StructType
from coalesce.model.version import Version
from coalesce.storage.base import Storage

_AT_ONCE: Final = 16  # most of it is waiting for the store


@dataclass(frozen=True, slots=True)
class Footer:
    """`types` are the stored types of the columns that the file has, inner ones too, by column id.

    `misnamed` are columns that a file without ids has under a name that differs in upper and lower case, `unnumbered`
    those of a file with ids in which elements, keys or values have none. `schema` is what Arrow makes of all columns of
    the file, and `int96` are the paths of those with 12-byte timestamps. Those `contradicted` have other values than
    the file's entry tells.
    """

    types: Mapping[int, pa.DataType]
    misnamed: frozenset[int]
    unnumbered: frozenset[int]
    split_offsets: tuple[int, ...]
    schema: pa.Schema
    has_ids: bool
    int96: tuple[str, ...]
    contradicted: frozenset[int]


def read_footers(storage: Storage, version: Version, files: Sequence[DataFile]) -> list[Footer]:
    """The footers of data files, several of which are read at a time."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda file: _footer(storage, version, file), files))


def _footer(storage: Storage, version: Version, file: DataFile) -> Footer:
    try:
        with storage.open_input(file.path, size=file.bytes) as opened:
            metadata = pq.read_metadata(opened)
    except FileMissing:
        raise
    except (pa.ArrowException, OSError) as error:
        raise CorruptMetadata(file.path, f"it is not a readable Parquet file: {error}.") from error
    if metadata.num_rows != file.physical_rows:
        raise CorruptMetadata(
            file.path, f"it has {metadata.num_rows} rows, and its entry says {file.physical_rows}; check() says more."
        )
    schema = metadata.schema
    arrow = schema.to_arrow_schema()
    has_ids = any(_id(f) is not None for f in arrow)
    types = dict(_stored(version.schema.fields, list(arrow), has_ids))
    folded = frozenset() if has_ids else {name.lower() for name in arrow.names}
    misnamed = frozenset(f.id for f in version.schema if f.id not in types and f.physical_name.lower() in folded)
    numbered = {_id(m): m.type for m in arrow if has_ids}
    inside = (f.id for f in version.schema if f.id in numbered and not has_inner_ids(f, numbered[f.id]))
    leaves = (schema.column(i) for i in range(len(schema)))
    int96 = tuple(leaf.path for leaf in leaves if leaf.physical_type == "INT96")
    offsets = tuple(_offsets(metadata))
    by_key = {_id(m) if has_ids else m.name: m for m in arrow}
    stored = {f.id: by_key[key] for f in version.schema if (key := f.id if has_ids else f.physical_name) in by_key}
    other = contradicted(storage, version, file, metadata, stored)
    return Footer(types, misnamed, frozenset(inside), offsets, arrow.remove_metadata(), has_ids, int96, other)


def _stored(fields: Sequence[Field], members: Sequence[pa.Field], has_ids: bool) -> Iterator[tuple[int, pa.DataType]]:
    """The stored type of each column that is there: found by its id, in a file without any by its physical name."""
    by_key = {_id(m) if has_ids else m.name: m for m in members}
    for field in fields:
        found = by_key.get(field.id if has_ids else field.physical_name)
        if found is not None:
            yield field.id, found.type
            yield from _inside(field, found.type, has_ids)


def _inside(field: Field, stored: pa.DataType, has_ids: bool) -> Iterator[tuple[int, pa.DataType]]:
    match field.type:
        case StructType(fields) if pa.types.is_struct(stored):
            yield from _stored(fields, [stored.field(i) for i in range(stored.num_fields)], has_ids)
        case ListType(element) if pa.types.is_list(stored) or pa.types.is_large_list(stored):
            yield element.id, stored.value_type
            yield from _inside(element, stored.value_type, has_ids)
        case MapType(key, value) if pa.types.is_map(stored):
            for member, type_ in ((key, stored.key_type), (value, stored.item_type)):
                yield member.id, type_
                yield from _inside(member, type_, has_ids)
        case _:
            return


def _id(field: pa.Field) -> int | None:
    text = (field.metadata or {}).get(FIELD_ID)
    return None if text is None else int(text)


def _offsets(metadata: pq.FileMetaData) -> Iterator[int]:
    """Where each row group begins: with its first dictionary, or its first page."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if group.num_columns:
            first = group.column(0)
            yield first.dictionary_page_offset if first.has_dictionary_page else first.data_page_offset
