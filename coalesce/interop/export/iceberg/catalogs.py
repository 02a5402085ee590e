"""A table of an Iceberg catalog that follows the export: the same snapshots, committed through the catalog itself."""

from typing import Any

from pyiceberg.exceptions import CommitFailedException, NoSuchNamespaceError, NoSuchTableError
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.table.update import AssertRefSnapshotId, AssertTableUUID, TableUpdate

from coalesce.errors import CommitConflict, ExportRefused, InvalidArgument
from coalesce.interop.export.iceberg.state import metadata_path
from coalesce.interop.export.iceberg.updates import MAIN, properties_are, schema_is, snapshot_is, spec_is
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
        AssertRefSnapshotId.model_validate({"ref": MAIN, "snapshot-id": table.metadata.current_snapshot_id}),
    )
    try:
        catalog.commit_table(table, requirements, tuple(updates))
    except CommitFailedException as error:
        raise CommitConflict(f"the catalog's table {identifier!r} was changed meanwhile; export again.") from error


def _updates(have: TableMetadata, wanted: TableMetadata) -> list[TableUpdate]:
    """What a catalog's table lacks. Ids are the same on both sides: they come from one source."""
    updates = [
        *schema_is(wanted.schema(), have.schemas, have.current_schema_id),
        *spec_is(wanted.spec(), have.partition_specs, have.default_spec_id),
        *properties_are(wanted.properties, have.properties),
    ]
    snapshot = wanted.current_snapshot()
    if snapshot is not None and snapshot.snapshot_id != have.current_snapshot_id:
        updates += snapshot_is(snapshot, have.snapshots)
    return updates
