"""A version as a snapshot of an Iceberg table over the same data files.

Manifests and the list of them are written first, under names of their own. Creating `v<N>.metadata.json` is the commit;
the hint comes last, and the next export mends it if it could not be written.
"""

import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final
from uuid import uuid4

from pyiceberg.manifest import ManifestContent, ManifestFile, write_manifest_list
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.table.update import update_table_metadata

from coalesce.interop.export.attempts import check_still_kept, dead_rows_in_the_way, until_done
from coalesce.interop.export.entries import constant_fields, held_by
from coalesce.interop.export.footers import read_footers
from coalesce.interop.export.iceberg import columns
from coalesce.interop.export.iceberg.catalogs import check_follows, follow
from coalesce.interop.export.iceberg.cleaning import clean, drop_all
from coalesce.interop.export.iceberg.files import METADATA, Words
from coalesce.interop.export.iceberg.manifests import Before, Manifester, Written, name_of, new_files, what_was_before
from coalesce.interop.export.iceberg.metadata import (
    first_metadata,
    has_to_look_again,
    is_lost,
    next_metadata,
    properties_of,
    snapshots_to_drop,
    table_uuid,
    with_names,
    without_lost_specs,
)
from coalesce.interop.export.iceberg.naming import NAME_MAPPING, with_unknown
from coalesce.interop.export.iceberg.naming import written as written_names
from coalesce.interop.export.iceberg.readable import reads, unreadable_files
from coalesce.interop.export.iceberg.state import HINT, VERSION, State, find_state, metadata_path, read_state
from coalesce.interop.export.iceberg.stored import StorageIO
from coalesce.interop.export.iceberg.updates import snapshot_is, without_snapshots
from coalesce.interop.export.refusals import refuse, sentences, unreadable_columns
from coalesce.model.spec import PartitionField
from coalesce.model.transforms import Identity
from coalesce.model.version import ManifestRef, Version
from coalesce.storage.base import Storage
from coalesce.table.exports import ICEBERG, ExportOptions, ExportResult, ExportSource
from coalesce.table.maintain.exported import keep, record_of, release


class IcebergExporter:
    """See `Exporter`."""

    def export(self, source: ExportSource, options: ExportOptions) -> ExportResult:
        """Write what changed since the last export, atomically."""
        began = time.perf_counter()
        target = source.storage if options.location is None else options.location
        record = record_of(ICEBERG, None if options.location is None else target.uri(""))
        reasons = [*columns.names_twice(source.version.schema), *dead_rows_in_the_way(source, options)]
        if reasons:
            refuse(ICEBERG, source.storage.root, reasons)
        table_id = source.version.table_id

        def attempt() -> ExportResult | None:
            state = read_state(target, table_id)
            if state.was_moved(target.uri(""), source.storage.uri("")):
                state = replace(state, metadata=None)  # which leads nowhere: the export begins anew, behind it
            if options.catalog is not None:
                check_follows(options.catalog, options.identifier or "", state.metadata, table_uuid(table_id))
            return _Attempt(source, target, state, record).run(began)

        result = until_done(attempt, target.root)
        if options.catalog is not None:
            follow(options.catalog, options.identifier or "", target, result.number)
        return result

    def drop(self, storage: Storage, table_id: str) -> int:
        """Delete what exports have written."""
        return drop_all(storage, find_state(storage, table_id), table_id)


@dataclass(frozen=True)
class _Attempt:
    """An export on top of the one that is there."""

    source: ExportSource
    target: Storage
    state: State
    record: str

    @property
    def version(self) -> Version:
        return self.source.version

    @cached_property
    def files(self) -> StorageIO:
        return StorageIO(self.target)

    @cached_property
    def looks_again(self) -> bool:
        """Whether what was exported before is looked at again."""
        return has_to_look_again(self.state.metadata, self.version)

    @cached_property
    def fields(self) -> tuple[PartitionField, ...]:
        """What Iceberg's table is partitioned by."""
        schema = self.version.schema
        return constant_fields(self.version, allowed=lambda f: columns.can_partition(f, schema))

    def run(self, began: float) -> ExportResult | None:
        """What was exported; None if another export was faster."""
        version, state = self.version, self.state
        base, changed = self._base()
        before = what_was_before(self.files, state.snapshot, version.manifests, self._usable(base))
        todo = [ref for ref in version.manifests if name_of(ref) not in before.kept_sources]
        unchanged = not changed and not todo and not before.entries
        if state.snapshot is not None and (unchanged or (state.version or 0) > version.number):
            self._hint(state.number)
            return self._result(state.number, before.kept, None, began)
        snapshot_id = secrets.randbits(62) + 1
        written, names = self._manifests(base, todo, before, snapshot_id)
        base = with_names(base, names)
        manifests = [*before.kept, *written.manifests]
        snapshot = self._snapshot(base, manifests, written, snapshot_id)
        gone = snapshots_to_drop(base, version, self.source.newest())
        updates = (*snapshot_is(snapshot, base.snapshots), *without_snapshots(gone))
        previous = self.target.uri(metadata_path(state.number)) if state.number else None
        metadata = without_lost_specs(update_table_metadata(base, updates, metadata_location=previous), version)
        keep(self.source.storage, self.record, version)
        number = state.number + 1
        if not self.target.put_if_absent(metadata_path(number), metadata.model_dump_json().encode()):
            return None
        self._hint(number)
        release(self.source.storage, self.record, before=version.number)
        if gone:
            clean(self.files, metadata, number, version.table_id)
        check_still_kept(self.source)
        return self._result(number, manifests, written, began)

    def _base(self) -> tuple[TableMetadata, bool]:
        """The metadata to go on from, with the columns and partition fields of now, and whether those are others."""
        before, version, path = self.state.metadata, self.version, metadata_path(self.state.number)
        properties = properties_of(version, self.source.storage.uri(""), before, path)
        if before is None:
            return first_metadata(version, self.fields, self.target.uri(""), properties), True
        return next_metadata(before, version, self.fields, properties)

    def _usable(self, base: TableMetadata) -> set[int]:
        """The specs whose manifests can stay as they are."""
        if self.looks_again:
            return set()
        return {spec.spec_id for spec in base.partition_specs if not is_lost(spec, self.version)}

    def _manifests(
        self, base: TableMetadata, todo: Sequence[ManifestRef], before: Before, snapshot_id: int
    ) -> tuple[Written, str]:
        """New manifests for those of ours that have none, if readers will find in the files what they should.

        And what names of columns mean in files without ids, those that are new among them.
        """
        version, storage = self.version, self.source.storage
        words = Words(version, self.fields, storage)
        held = list(held_by(self.source, todo))
        new = [f for part in held for f in part.files] if self.looks_again else new_files(held, before, words)
        footers = read_footers(storage, version, new)
        told = {f.source_id for f in self.fields if isinstance(f.transform, Identity)}
        names = written_names(
            with_unknown(json.loads(base.properties[NAME_MAPPING]), (f.schema for f in footers if not f.has_ids))
        )
        reasons = unreadable_columns(version, new, footers, told, columns.widens, reads, by_ids=True)
        reasons = reasons or sentences(unreadable_files(storage, new, footers, names))
        if reasons:
            refuse(ICEBERG, storage.root, reasons)
        by_path = dict(zip((f.path for f in new), footers, strict=True))
        specs = {s.spec_id: s for s in base.partition_specs}
        manifester = Manifester(self.files, words, base.schema(), specs, base.default_spec_id, snapshot_id)
        written = Written()
        for part in held:
            manifester.write(part, before, by_path, written)
        manifester.write_removed(before, written)
        return written, names

    def _snapshot(
        self, base: TableMetadata, manifests: Sequence[ManifestFile], written: Written, snapshot_id: int
    ) -> Snapshot:
        last = getattr(base, "last_sequence_number", 0)  # which a table of version 1 has not
        sequence = max([last, *(s.sequence_number or 0 for s in base.snapshots)]) + 1
        address = self.target.uri(f"{METADATA}/snap-{snapshot_id}-{uuid4().hex[:12]}.avro")
        parent = base.current_snapshot_id
        with write_manifest_list(
            format_version=2,
            output_file=self.files.new_output(address),
            snapshot_id=snapshot_id,
            parent_snapshot_id=parent,
            sequence_number=sequence,
            avro_compression="deflate",
        ) as writer:
            writer.add_manifests(list(manifests))
        latest = max((s.timestamp_ms for s in base.snapshots), default=0)
        said = {
            "snapshot-id": snapshot_id,
            "parent-snapshot-id": parent,
            "sequence-number": sequence,
            "timestamp-ms": max(time.time_ns() // 1_000_000, base.last_updated_ms, latest + 1),
            "manifest-list": address,
            "summary": self._summary(manifests, written),
            "schema-id": base.current_schema_id,
        }
        return Snapshot.model_validate(said)

    def _summary(self, manifests: Sequence[ManifestFile], written: Written) -> dict[str, str]:
        version = self.version
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
            "total-delete-files": _delete_files(manifests),
            "total-position-deletes": version.dead_rows,
            "total-equality-deletes": 0,
        }
        named = {VERSION: str(version.number), "coalesce.commit-id": version.commit_id}
        return {"operation": operation.value, **{name: str(n) for name, n in counts.items()}, **named}

    def _hint(self, number: int) -> None:
        if self.state.hint != number:
            self.target.put(HINT, str(number).encode())

    def _result(
        self, number: int, manifests: Sequence[ManifestFile], written: Written | None, began: float
    ) -> ExportResult:
        return ExportResult(
            format=ICEBERG,
            location=self.target.root,
            version=max(self.version.number, self.state.version or 0),
            number=number,
            files=self.version.files,
            files_added=0 if written is None else len(written.added),
            files_removed=0 if written is None else len(written.removed),
            dead_files=_delete_files(manifests),
            partitioned_by=tuple(f.name for f in self.fields),
            written=written is not None,
            seconds=time.perf_counter() - began,
        )


def _delete_files(manifests: Sequence[ManifestFile]) -> int:
    return sum(m.added_files_count or 0 for m in manifests if m.content == ManifestContent.DELETES)


EXPORTER: Final = IcebergExporter()
