"""What Iceberg's metadata says of a table: its columns, partition fields and properties, and which snapshots stay."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID, uuid5

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import update_table_metadata

from coalesce.interop.export.iceberg import columns
from coalesce.interop.export.iceberg.naming import NAME_MAPPING, name_mapping, with_earlier, written
from coalesce.interop.export.iceberg.state import LOCATION, TABLE_ID, version_of
from coalesce.interop.export.iceberg.updates import properties_are, schema_is, spec_is, without_specs
from coalesce.model.schema import all_fields
from coalesce.model.spec import PartitionField
from coalesce.model.version import Version

_SNAPSHOTS: Final = 20  # that Iceberg's readers can travel back to, while the versions they show are kept
_NAMESPACE: Final = UUID("5f8fd2b6-9a5d-4f0a-8c25-9d6b0b2d9a10")  # to make an id of a table id that is none
_PROPERTIES: Final = {
    "gc.enabled": "false",  # what Iceberg takes for orphans are files of other versions
    "write.format.default": "parquet",
}


def first_metadata(
    version: Version, fields: Sequence[PartitionField], location: str, properties: Mapping[str, str]
) -> TableMetadata:
    """The metadata of a first export, without a snapshot."""
    said = {
        "format-version": 2,
        "table-uuid": str(table_uuid(version.table_id)),
        "location": location,
        "last-updated-ms": version.timestamp_ms,
        "last-column-id": version.max_column_id,
        "last-sequence-number": 0,
        "schemas": [columns.iceberg_schema(version.schema, 0).model_dump()],
        "current-schema-id": 0,
        "partition-specs": [columns.partition_spec(fields, version.schema, 0).model_dump()],
        "default-spec-id": 0,
        "last-partition-id": max((f.field_id for f in version.partition_fields), default=999),
        "sort-orders": [UNSORTED_SORT_ORDER.model_dump()],
        "default-sort-order-id": UNSORTED_SORT_ORDER.order_id,
        "properties": dict(properties),
    }
    return TableMetadataUtil.parse_obj(said)


def next_metadata(
    before: TableMetadata, version: Version, fields: Sequence[PartitionField], properties: Mapping[str, str]
) -> tuple[TableMetadata, bool]:
    """The metadata of the last export with the columns and partition fields of now, and whether those are others."""
    schema = columns.iceberg_schema(version.schema, max(s.schema_id for s in before.schemas) + 1)
    same_schema = next((s for s in before.schemas if s.fields == schema.fields), schema)
    spec = columns.partition_spec(fields, version.schema, max(s.spec_id for s in before.partition_specs) + 1)
    same_spec = next((s for s in before.partition_specs if s.fields == spec.fields), spec)
    updates = [
        *schema_is(same_schema, before.schemas, before.current_schema_id),
        *spec_is(same_spec, before.partition_specs, before.default_spec_id),
        *properties_are(properties, before.properties),
    ]
    return (update_table_metadata(before, tuple(updates)), True) if updates else (before, False)


def has_to_look_again(before: TableMetadata | None, version: Version) -> bool:
    """Whether files that were exported before may hold something else than readers would find in them now.

    That is so if a column has another type, whose bounds are written otherwise, too; if there is a new one with a
    default, which readers do not know; or if an earlier release made the export, which looked at less.
    """
    if before is None:
        return False
    if LOCATION not in before.properties:
        return True
    known = {f.field_id: f.field_type for f in before.schema().fields}
    now = columns.iceberg_schema(version.schema, 0).fields
    ids = before.schema().field_ids
    new_default = any(f.default is not None and f.id not in ids for f in all_fields(version.schema.fields))
    return new_default or any(f.field_type != known.get(f.field_id, f.field_type) for f in now)


def is_lost(spec: PartitionSpec, version: Version) -> bool:
    """Whether a column that a spec is made of is gone: some readers cannot even open a table with such a spec."""
    return any(version.schema.by_id(f.source_id) is None for f in spec.fields)


def without_lost_specs(metadata: TableMetadata, version: Version) -> TableMetadata:
    """The metadata without specs of columns that are gone; no snapshot that is left has one."""
    lost = [s.spec_id for s in metadata.partition_specs if is_lost(s, version)]
    return update_table_metadata(metadata, tuple(without_specs(lost))) if lost else metadata


def snapshots_to_drop(base: TableMetadata, version: Version, newest: Version) -> list[int]:
    """Those whose versions have expired, so that their files may be gone, and the oldest if there are many."""
    if any(is_lost(spec, version) for spec in base.partition_specs):
        return [s.snapshot_id for s in base.snapshots]
    numbers = [(s.snapshot_id, version_of(s)) for s in base.snapshots]
    expired = [i for i, number in numbers if number is None or newest.has_expired(number)]
    left = [i for i, _ in numbers if i not in expired]
    return [*expired, *left[: max(0, len(left) + 1 - _SNAPSHOTS)]]


def properties_of(version: Version, data: str, before: TableMetadata | None, path: str) -> dict[str, str]:
    """The properties of an export of files below `data`, on top of the metadata at `path`, if there is some."""
    earlier = None if before is None else before.properties.get(NAME_MAPPING)
    names = with_earlier(name_mapping(version.schema), earlier, path)
    return {**_PROPERTIES, TABLE_ID: version.table_id, LOCATION: data, NAME_MAPPING: written(names)}


def with_names(metadata: TableMetadata, names: str) -> TableMetadata:
    """The metadata with another name mapping."""
    updates = properties_are({NAME_MAPPING: names}, metadata.properties)
    return update_table_metadata(metadata, tuple(updates)) if updates else metadata


def table_uuid(table_id: str) -> UUID:
    """What Iceberg knows a table by."""
    try:
        return UUID(hex=table_id)
    except ValueError:
        return uuid5(_NAMESPACE, table_id)
