"""Changes of Iceberg's metadata, by the names that its specification has for them."""

from collections.abc import Mapping, Sequence

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import (
    AddPartitionSpecUpdate,
    AddSchemaUpdate,
    AddSnapshotUpdate,
    RemovePartitionSpecsUpdate,
    RemoveSnapshotsUpdate,
    SetCurrentSchemaUpdate,
    SetDefaultSpecUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    TableUpdate,
)

MAIN = "main"  # the branch that readers see


def schema_is(schema: IcebergSchema, known: Sequence[IcebergSchema], current: int) -> list[TableUpdate]:
    """Make a schema the current one; it is added if it is not there."""
    found: list[TableUpdate] = []
    if all(schema.schema_id != other.schema_id for other in known):
        found.append(AddSchemaUpdate.model_validate({"schema": schema}))
    if schema.schema_id != current:
        found.append(SetCurrentSchemaUpdate.model_validate({"schema-id": schema.schema_id}))
    return found


def spec_is(spec: PartitionSpec, known: Sequence[PartitionSpec], current: int) -> list[TableUpdate]:
    """Make a spec the default one; it is added if it is not there."""
    found: list[TableUpdate] = []
    if all(spec.spec_id != other.spec_id for other in known):
        found.append(AddPartitionSpecUpdate(spec=spec))
    if spec.spec_id != current:
        found.append(SetDefaultSpecUpdate.model_validate({"spec-id": spec.spec_id}))
    return found


def properties_are(properties: Mapping[str, str], known: Mapping[str, str]) -> list[TableUpdate]:
    """Set properties that are not there, or other ones."""
    if all(known.get(name) == value for name, value in properties.items()):
        return []
    return [SetPropertiesUpdate(updates=dict(properties))]


def snapshot_is(snapshot: Snapshot, known: Sequence[Snapshot]) -> list[TableUpdate]:
    """Let readers see a snapshot; it is added if it is not there."""
    found: list[TableUpdate] = []
    if all(snapshot.snapshot_id != other.snapshot_id for other in known):
        found.append(AddSnapshotUpdate(snapshot=snapshot))
    reference = {"ref-name": MAIN, "type": "branch", "snapshot-id": snapshot.snapshot_id}
    return [*found, SetSnapshotRefUpdate.model_validate(reference)]


def without_snapshots(ids: Sequence[int]) -> list[TableUpdate]:
    """Forget snapshots."""
    return [RemoveSnapshotsUpdate.model_validate({"snapshot-ids": list(ids)})] if ids else []


def without_specs(ids: Sequence[int]) -> list[TableUpdate]:
    """Forget specs that no snapshot has."""
    return [RemovePartitionSpecsUpdate.model_validate({"spec-ids": list(ids)})] if ids else []
