"""What keeps a data file from being one that Iceberg can take over as it is (`icebergCompatV3`), by its footer."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from coalesce.errors import StorageError
from coalesce.model.arrow_schema import FIELD_ID
from coalesce.model.datafile import DataFile
from coalesce.model.schema import RESERVED_NAMES, ROW_ID_FIELD, ROW_VERSION_FIELD
from coalesce.model.types import Field, ListType, MapType, StructType
from coalesce.model.version import Version
from coalesce.storage.base import Storage

_LINEAGE = {"_row_id": ROW_ID_FIELD, "_row_commit_version": ROW_VERSION_FIELD}
assert _LINEAGE.keys() == RESERVED_NAMES


def unfit_for_iceberg(storage: Storage, version: Version, file: DataFile) -> list[str]:
    """What is wrong with a file, as beginnings of sentences that end in the name of the file."""
    try:
        with storage.open_input(file.path, size=file.bytes) as source:
            metadata = pq.read_metadata(source)
    except (pa.ArrowException, OSError) as error:
        raise StorageError(f"the data file {file.path!r} cannot be read as Parquet: {error}.") from error
    parquet = metadata.schema
    members = list(parquet.to_arrow_schema())
    return list(_reasons(version, file, members, [parquet.column(i).physical_type for i in range(len(parquet))]))


def _reasons(version: Version, file: DataFile, members: Sequence[pa.Field], kinds: Sequence[str]) -> Iterator[str]:
    ids = {_id(m) for m in members}
    nameless = any(_id(m) is None for m in members)
    if nameless:
        yield "columns have no ids (column mapping) in"
    if "INT96" in kinds:
        yield "timestamps are stored in 12 bytes (INT96), not as int64, in"
    sources = {f.source_id for f in version.spec_by_id(file.spec_id).fields}
    by_id = {f.id: f for f in version.schema}
    names = {m.name for m in members}
    for source in sorted(sources & by_id.keys()):
        if source not in ids and not (nameless and by_id[source].physical_name in names):
            yield f"the partition column {by_id[source].name!r} is not in the file, but only told by its entry, in"
    for member in members:
        if member.name in _LINEAGE and _id(member) != _LINEAGE[member.name]:
            yield f"the column {member.name} has not the field id {_LINEAGE[member.name]} in"
    if not nameless:
        by_stored = {_id(m): m for m in members}
        for field in version.schema:
            if (stored := by_stored.get(field.id)) is not None and not has_inner_ids(field, stored.type):
                yield f"elements, keys or values in the column {field.name!r} have no ids, as Spark gives them none, in"


def has_inner_ids(field: Field, stored: pa.DataType) -> bool:
    """Whether everything inside of a column carries an id in the file. Spark's writer gives elements and keys none."""
    match field.type:
        case StructType(fields) if pa.types.is_struct(stored):
            inside = {_id(stored.field(i)): stored.field(i) for i in range(stored.num_fields)}
            return None not in inside and all(f.id not in inside or has_inner_ids(f, inside[f.id].type) for f in fields)
        case ListType(element) if pa.types.is_list(stored):
            return _id(stored.value_field) is not None and has_inner_ids(element, stored.value_type)
        case MapType(key, value) if pa.types.is_map(stored):
            told = _id(stored.key_field) is not None and _id(stored.item_field) is not None
            return told and has_inner_ids(key, stored.key_type) and has_inner_ids(value, stored.item_type)
        case _:
            return True


def _id(field: pa.Field) -> int | None:
    text = (field.metadata or {}).get(FIELD_ID)
    return None if text is None else int(text)
