"""A table of an Iceberg catalog that follows the export: the same snapshots, committed through the catalog itself."""

from typing import Any, Final
from uuid import UUID

from pyiceberg.exceptions import CommitFailedException, NoSuchNamespaceError, NoSuchTableError, RESTError
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.table.update import AssertRefSnapshotId, AssertTableUUID, TableUpdate

from coalesce.errors import CommitConflict, ExportRefused, InvalidArgument
from coalesce.interop.export.iceberg.state import metadata_path, version_of
from coalesce.interop.export.iceberg.updates import MAIN, properties_are, schema_is, snapshot_is, spec_is
from coalesce.storage.base import Storage

_ANEW: Final = "then drop it from the catalog, without purging, and export again"


def check_follows(catalog: Any, identifier: str, before: TableMetadata | None, table_uuid: UUID) -> None:
    """Refuse a catalog's table that somebody else has written to, and one that cannot be made.

    `before` is where the export stands. That is asked before the export is committed, and again before the catalog's
    table is: it would lose their rows.
    """
    if "." not in identifier:
        raise InvalidArgument(f"{identifier!r} names no namespace of the catalog; identifier= is such as 'db.events'.")
    try:
        have = catalog.load_table(identifier).metadata
    except (NoSuchTableError, NoSuchNamespaceError):
        _check_namespace(catalog, identifier)
        return
    except FileNotFoundError as error:
        raise ExportRefused(
            f"the metadata of the catalog's table {identifier!r} is gone, as it is if the export was dropped since; "
            f"{_ANEW}."
        ) from error
    _check(have, identifier, before, table_uuid)


def follow(catalog: Any, identifier: str, target: Storage, number: int) -> None:
    """Make a catalog's table show what the newest metadata file shows; it is registered if it is not there."""
    wanted = TableMetadataUtil.parse_raw(target.read(metadata_path(number)).decode())
    try:
        table = catalog.load_table(identifier)
    except NoSuchTableError:
        try:
            catalog.register_table(identifier, target.uri(metadata_path(number)))
        except NoSuchNamespaceError as error:
            raise _no_namespace(identifier) from error
        return
    _check(table.metadata, identifier, wanted, wanted.table_uuid)
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


def _check_namespace(catalog: Any, identifier: str) -> None:
    """Refuse a name whose namespace is not there; whatever else a catalog says is left to when it is asked to."""
    try:
        catalog.load_namespace_properties(tuple(identifier.split(".")[:-1]))
    except NoSuchNamespaceError as error:
        raise _no_namespace(identifier) from error
    except RESTError:
        return


def _no_namespace(identifier: str) -> InvalidArgument:
    return InvalidArgument(f"the catalog has no namespace for {identifier!r}; create it first.")


def _check(have: TableMetadata, identifier: str, before: TableMetadata | None, table_uuid: UUID) -> None:
    if have.table_uuid != table_uuid:
        raise ExportRefused(f"the catalog's table {identifier!r} is no export of this table; choose another name.")
    snapshot, schema = have.current_snapshot(), have.schema()
    if snapshot is not None and version_of(snapshot) is None:
        raise ExportRefused(
            f"somebody else has written to the catalog's table {identifier!r}: its snapshot {snapshot.snapshot_id} is "
            f"none of ours, and an export would take its rows away. Take them over into the table if they are wanted; "
            f"{_ANEW}."
        )
    known = [] if before is None else before.schemas
    ahead = before is None or _sequence(have) > _sequence(before)
    if ahead or all((s.schema_id, s.fields) != (schema.schema_id, schema.fields) for s in known):
        raise ExportRefused(
            f"the catalog's table {identifier!r} has snapshots or columns that the export has not: somebody else has "
            f"changed it, or the export was dropped since, or the table was moved; {_ANEW}."
        )


def _sequence(metadata: TableMetadata) -> int:
    return max((snapshot.sequence_number or 0 for snapshot in metadata.snapshots), default=0)


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
