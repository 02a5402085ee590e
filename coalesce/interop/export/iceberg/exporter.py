"""A version as a snapshot of an Iceberg table over the same data files.

Manifests and the list of them are written first, under names of their own. Creating `v<N>.metadata.json` is the commit;
the hint comes last, and the next export mends it if it could not be written.
"""

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid4, uuid5

from pyiceberg.manifest import ManifestContent, ManifestFile, write_manifest_list
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.table.metadata import TableMetadata, TableMetadataV2
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
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
    update_table_metadata,
)

from coalesce.errors import CommitConflict
from coalesce.interop.export.entries import constant_fields, held_by
from coalesce.interop.export.footers import read_footers
from coalesce.interop.export.iceberg import columns
from coalesce.interop.export.iceberg.catalogs import follow
from coalesce.interop.export.iceberg.cleaning import clean, drop_all
from coalesce.interop.export.iceberg.files import METADATA, Words
from coalesce.interop.export.iceberg.manifests import (
    Before,
    Manifester,
    Written,
    name_of,
    new_files,
    what_was_before,
)
from coalesce.interop.export.iceberg.state import HINT, TABLE_ID, VERSION, State, metadata_path, read_state, version_of
from coalesce.interop.export.iceberg.stored import StorageIO
from coalesce.interop.export.refusals import refuse, unreadable_columns
from coalesce.model.spec import PartitionField
from coalesce.model.transforms import Identity
from coalesce.model.version import Version
from coalesce.storage.base import Storage
from coalesce.table.exports import ICEBERG, REFUSED, ExportOptions, ExportResult, ExportSource
from coalesce.table.maintain.exported import keep, record_of, release

_ATTEMPTS: Final = 10  # each overtaken by another export
_SNAPSHOTS: Final = 20  # that Iceberg's readers can travel back to, while the versions they show are kept
_NAMESPACE: Final = UUID("5f8fd2b6-9a5d-4f0a-8c25-9d6b0b2d9a10")  # to make an id of a table id that is none
_PROPERTIES: Final = {
    "gc.enabled": "false",  # what Iceberg takes for orphans are files of other versions
    "write.format.default": "parquet",
}


class IcebergExporter:
    """See `Exporter`."""

    def export(self, source: ExportSource, options: ExportOptions) -> ExportResult:
        """Write what changed since the last export, atomically."""
        began = time.perf_counter()
        target = source.storage if options.location is None else options.location
        record = record_of(ICEBERG, None if options.location is None else target.uri(""))
        if source.version.dead_rows and options.dead_rows == REFUSED:
            refuse(ICEBERG, source.storage.root, [f"{source.version.dead_rows:,} removed rows lie in its files; purge()."])
        for _ in range(_ATTEMPTS):
            attempt = _Attempt(source, target, read_state(target, source.version.table_id), record)
            result = attempt.run(began)
            if result is not None:
                if options.catalog is not None:
                    follow(options.catalog, options.identifier or "", target, result.number)
                return result
        raise CommitConflict(f"{_ATTEMPTS} attempts to export to {target.root} were each overtaken by another; try again.")

    def drop(self, storage: Storage, table_id: str) -> int:
        """Delete what exports have written."""
        read_state(storage, table_id)
        return drop_all(storage)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """An export on top of the one that is there."""

    source: ExportSource
    target: Storage
    state: State
    record: str

    @property
    def version(self) -> Version:
        return self.source.version

    def run(self, began: float) -> ExportResult | None:
        """What was exported; None if another export was faster."""
        version, state = self.version, self.state
        fields = self._fields()
        base, changed = self._metadata(fields)
        files = StorageIO(self.target)
        usable = _usable_specs(base, version, rewrite=self._types_changed())
        before = what_was_before(files, state.snapshot, version.manifests, usable)
        is_newer = state.version is not None and state.version > version.number
        unchanged = not changed and not self._to_write(before) and not before.entries and state.snapshot is not None
        if is_newer or unchanged:
            self._hint(state.number)
            return self._result(state.number, before.kept, fields, Written(), began, wrote=False)
        snapshot_id = secrets.randbits(62) + 1
        written = self._manifests(files, base, fields, before, snapshot_id)
        manifests = [*before.kept, *written.manifests]
        snapshot = self._snapshot(files, base, manifests, written, snapshot_id)
        gone = self._snapshots_to_drop(base, snapshot_id)
        updates: list[TableUpdate] = [
            AddSnapshotUpdate(snapshot=snapshot),
            SetSnapshotRefUpdate(ref_name="main", type=SnapshotRefType.BRANCH, snapshot_id=snapshot_id),
            *([RemoveSnapshotsUpdate(snapshot_ids=gone)] if gone else []),
        ]
        previous = self.target.uri(metadata_path(state.number)) if state.number else None
        metadata = update_table_metadata(base, tuple(updates), metadata_location=previous)
        metadata = _without_lost_specs(metadata, version)
        keep(self.source.storage, self.record, version)
        number = state.number + 1
        if not self.target.put_if_absent(metadata_path(number), metadata.model_dump_json().encode()):
            return None
        self._hint(number)
        release(self.source.storage, self.record, before=version.number)
        if gone:
            clean(files, metadata, number)
        if self.source.newest().has_expired(version.number):
            raise CommitConflict(f"version {version.number} has expired while it was exported; export again.")
        return self._result(number, manifests, fields, written, began, wrote=True)

    def _fields(self) -> tuple[PartitionField, ...]:
        """What Iceberg's table is partitioned by."""
        schema = self.version.schema
        return constant_fields(self.version, allowed=lambda f: columns.can_partition(f, schema))

    def _metadata(self, fields: Sequence[PartitionField]) -> tuple[TableMetadata, bool]:
        """The metadata to go on from, with the columns and partition fields of now, and whether those changed."""
        version, found = self.version, self.state.metadata
        properties = {
            **_PROPERTIES,
            TABLE_ID: version.table_id,
            "schema.name-mapping.default": columns.name_mapping(version.schema),
        }
        if found is None:
            spec = columns.partition_spec(fields, version.schema, 0)
            return TableMetadataV2(
                location=self.target.uri(""),
                table_uuid=_uuid(version.table_id),
                last_column_id=version.max_column_id,
                schemas=[columns.iceberg_schema(version.schema, 0)],
                current_schema_id=0,
                partition_specs=[spec],
                default_spec_id=0,
                last_partition_id=max((f.field_id for f in version.partition_fields), default=999),
                sort_orders=[UNSORTED_SORT_ORDER],
                default_sort_order_id=UNSORTED_SORT_ORDER.order_id,
                properties=properties,
                last_updated_ms=version.timestamp_ms,
            ), True
        updates: list[TableUpdate] = []
        schema = columns.iceberg_schema(version.schema, max(s.schema_id for s in found.schemas) + 1)
        same_schema = next((s for s in found.schemas if s.fields == schema.fields), None)
        if same_schema is None:
            updates.append(AddSchemaUpdate(schema_=schema))
        wanted_schema = schema if same_schema is None else same_schema
        if wanted_schema.schema_id != found.current_schema_id:
            updates.append(SetCurrentSchemaUpdate(schema_id=wanted_schema.schema_id))
        spec = columns.partition_spec(fields, version.schema, max(s.spec_id for s in found.partition_specs) + 1)
        same_spec = next((s for s in found.partition_specs if s.fields == spec.fields), None)
        if same_spec is None:
            updates.append(AddPartitionSpecUpdate(spec=spec))
        wanted_spec = spec if same_spec is None else same_spec
        if wanted_spec.spec_id != found.default_spec_id:
            updates.append(SetDefaultSpecUpdate(spec_id=wanted_spec.spec_id))
        if any(found.properties.get(name) != value for name, value in properties.items()):
            updates.append(SetPropertiesUpdate(updates=properties))
        return (update_table_metadata(found, tuple(updates)) if updates else found), bool(updates)

    def _types_changed(self) -> bool:
        """Whether a column has another type than in the last export: then bounds are written otherwise."""
        found = self.state.metadata
        if found is None:
            return False
        now = columns.iceberg_schema(self.version.schema, 0)
        before = {f.field_id: f.field_type for f in found.schema().fields}
        return any(f.field_type != before.get(f.field_id, f.field_type) for f in now.fields)

    def _to_write(self, before: Before) -> list[str]:
        return [name_of(ref) for ref in self.version.manifests if name_of(ref) not in before.kept_sources]

    def _manifests(
        self,
        files: StorageIO,
        base: TableMetadata,
        fields: tuple[PartitionField, ...],
        before: Before,
        snapshot_id: int,
    ) -> Written:
        """New manifests for those of ours that have none, if readers will find in the files what they should."""
        version, storage = self.version, self.source.storage
        words = Words(version, fields, storage)
        todo = [ref for ref in version.manifests if name_of(ref) not in before.kept_sources]
        held = list(held_by(self.source, todo))
        new = new_files(held, before, words)
        footers = read_footers(storage, version, new)
        told = {f.source_id for f in fields if isinstance(f.transform, Identity)}
        reasons = unreadable_columns(version, new, footers, told, columns.widens)
        if reasons:
            refuse(ICEBERG, storage.root, reasons)
        by_path = dict(zip((f.path for f in new), footers, strict=True))
        specs: dict[int, PartitionSpec] = {s.spec_id: s for s in base.partition_specs}
        schema: IcebergSchema = base.schema()
        manifester = Manifester(files, words, schema, specs, base.default_spec_id, snapshot_id)
        written = Written()
        for part in held:
            manifester.write(part, before, by_path, written)
        manifester.write_removed(before, written)
        return written

    def _snapshot(
        self,
        files: StorageIO,
        base: TableMetadata,
        manifests: Sequence[ManifestFile],
        written: Written,
        snapshot_id: int,
    ) -> Snapshot:
        sequence = base.last_sequence_number + 1
        parent = base.current_snapshot_id
        path = f"{METADATA}/snap-{snapshot_id}-{uuid4().hex[:12]}.avro"
        address = self.target.uri(path)
        with write_manifest_list(
            format_version=2,
            output_file=files.new_output(address),
            snapshot_id=snapshot_id,
            parent_snapshot_id=parent,
            sequence_number=sequence,
            avro_compression="deflate",
        ) as writer:
            writer.add_manifests(list(manifests))
        latest = max((s.timestamp_ms for s in base.snapshots), default=0)
        return Snapshot(
            snapshot_id=snapshot_id,
            parent_snapshot_id=parent,
            sequence_number=sequence,
            timestamp_ms=max(time.time_ns() // 1_000_000, base.last_updated_ms, latest + 1),
            manifest_list=address,
            summary=self._summary(manifests, written),
            schema_id=base.current_schema_id,
        )

    def _summary(self, manifests: Sequence[ManifestFile], written: Written) -> Summary:
        version = self.version
        deletes = [m for m in manifests if m.content == ManifestContent.DELETES]
        same_rows = version.operation == "compact" and self.state.version == version.number - 1
        operation = Operation.REPLACE if same_rows else Operation.OVERWRITE if written.removed else Operation.APPEND
        counts = {
            "added-data-files": len(written.added),
            "deleted-data-files": len(written.removed),
            "added-records": sum(f.physical_rows for f in written.added),
            "deleted-records": sum(f.record_count for f in written.removed),
            "total-data-files": version.files,
            "total-records": version.rows + version.dead_rows,
            "total-files-size": version.bytes,
            "total-delete-files": sum((m.added_files_count or 0) for m in deletes),
            "total-position-deletes": version.dead_rows,
            "total-equality-deletes": 0,
        }
        named = {VERSION: str(version.number), "coalesce.commit-id": version.commit_id}
        return Summary(operation=operation, **{name: str(n) for name, n in counts.items()}, **named)

    def _snapshots_to_drop(self, base: TableMetadata, snapshot_id: int) -> list[int]:
        """Those whose versions have expired, so that their files may be gone, and the oldest if there are many."""
        newest = self.source.newest()
        old = [s for s in base.snapshots if s.snapshot_id != snapshot_id]
        numbers = [(s.snapshot_id, version_of(s)) for s in old]
        expired = [i for i, number in numbers if number is None or newest.has_expired(number)]
        left = [i for i, _ in numbers if i not in expired]
        lost = {spec.spec_id for spec in base.partition_specs if _is_lost(spec, self.version)}
        if lost:  # what has a spec of a column that is gone, some readers cannot even open
            return [i for i, _ in numbers]
        return [*expired, *left[: max(0, len(left) + 1 - _SNAPSHOTS)]]

    def _hint(self, number: int) -> None:
        if number and self.state.hint != number:
            self.target.put(HINT, str(number).encode())

    def _result(
        self,
        number: int,
        manifests: Sequence[ManifestFile],
        fields: Sequence[PartitionField],
        written: Written,
        began: float,
        *,
        wrote: bool,
    ) -> ExportResult:
        deletes = [m for m in manifests if m.content == ManifestContent.DELETES]
        seen = self.version.number if wrote or self.state.version is None else self.state.version
        return ExportResult(
            format=ICEBERG,
            location=self.target.root,
            version=max(seen, self.version.number),
            number=number,
            files=self.version.files,
            files_added=len(written.added),
            files_removed=len(written.removed),
            dead_files=sum(m.added_files_count or 0 for m in deletes),
            partitioned_by=tuple(f.name for f in fields),
            written=wrote,
            seconds=time.perf_counter() - began,
        )


def _uuid(table_id: str) -> UUID:
    try:
        return UUID(hex=table_id)
    except ValueError:
        return uuid5(_NAMESPACE, table_id)


def _is_lost(spec: PartitionSpec, version: Version) -> bool:
    """Whether a column that a spec is made of is gone."""
    return any(version.schema.by_id(f.source_id) is None for f in spec.fields)


def _usable_specs(base: TableMetadata, version: Version, *, rewrite: bool) -> set[int]:
    """The specs whose manifests can stay as they are."""
    if rewrite:
        return set()
    return {spec.spec_id for spec in base.partition_specs if not _is_lost(spec, version)}


def _without_lost_specs(metadata: TableMetadata, version: Version) -> TableMetadata:
    lost = [s.spec_id for s in metadata.partition_specs if _is_lost(s, version)]
    if not lost:
        return metadata
    return update_table_metadata(metadata, (RemovePartitionSpecsUpdate(spec_ids=lost),))


EXPORTER: Final = IcebergExporter()
