"""A table of an Iceberg catalog that follows the export: the same snapshots, committed through the catalog itself."""

from typing import Any

from pyiceberg.exceptions import CommitFailedException, NoSuchNamespaceError, NoSuchTableError
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.update import (
    AddPartitionSpecUpdate,
    AddSchemaUpdate,
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    AssertTableUUID,
    SetCurrentSchemaUpdate,
    SetDefaultSpecUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    TableUpdate,
)

from coalesce.errors import CommitConflict, ExportRefused, InvalidArgument
from coalesce.interop.export.iceberg.state import metadata_path
from coalesce.storage.base import Storage


def follow(catalog: Any, identifier: str, target: Storage, number: int) -> None:
    """Make a catalog's table show what the newest metadata file shows; it is registered if it is not there."""
    wanted = TableMetadataUtil.parse_raw(target.read(metadata_path(number)).decode())
    try:
        table = catalog.load_table(identifier)
    except NoSuchTableError:
        try:
            catalog.register_table(identifier, target.uri(metadata_path(number)))
        except NoSuchNamespaceError as error:
            raise InvalidArgument(f"the catalog has no namespace for {identifier!r}; create it first.") from error
        return
    if table.metadata.table_uuid != wanted.table_uuid:
        raise ExportRefused(f"the catalog's table {identifier!r} is no export of this table; choose another name.")
    updates = _updates(table.metadata, wanted)
    if not updates:
        return
    requirements = (
        AssertTableUUID(uuid=table.metadata.table_uuid),
        AssertRefSnapshotId(ref="main", snapshot_id=table.metadata.current_snapshot_id),
    )
    try:
        catalog.commit_table(table, requirements, tuple(updates))
    except CommitFailedException as error:
        raise CommitConflict(f"the catalog's table {identifier!r} was changed meanwhile; export again.") from error


def _updates(have: TableMetadata, wanted: TableMetadata) -> list[TableUpdate]:
    """What a catalog's table lacks. Ids are the same on both sides: they come from one source."""
    known_schemas = {s.schema_id for s in have.schemas}
    known_specs = {s.spec_id for s in have.partition_specs}
    updates: list[TableUpdate] = [
        AddSchemaUpdate(schema_=s) for s in wanted.schemas if s.schema_id not in known_schemas
    ]
    if wanted.current_schema_id != have.current_schema_id:
        updates.append(SetCurrentSchemaUpdate(schema_id=wanted.current_schema_id))
    updates += [AddPartitionSpecUpdate(spec=s) for s in wanted.partition_specs if s.spec_id not in known_specs]
    if wanted.default_spec_id != have.default_spec_id:
        updates.append(SetDefaultSpecUpdate(spec_id=wanted.default_spec_id))
    if any(have.properties.get(name) != value for name, value in wanted.properties.items()):
        updates.append(SetPropertiesUpdate(updates=wanted.properties))
    snapshot = wanted.current_snapshot()
    if snapshot is not None and snapshot.snapshot_id != have.current_snapshot_id:
        if have.snapshot_by_id(snapshot.snapshot_id) is None:
            updates.append(AddSnapshotUpdate(snapshot=snapshot))
        updates.append(
            SetSnapshotRefUpdate(ref_name="main", type=SnapshotRefType.BRANCH, snapshot_id=snapshot.snapshot_id)
        )
    return updates
