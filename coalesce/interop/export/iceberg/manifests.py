"""Manifests of Iceberg, one for each of ours: what has not changed since the last export is not written again.

Ours never change, so one of Iceberg's that was made of it stays true; its name begins with the name of ours. Where ours
was replaced, files that both have go on with the sequence numbers they had, and those that are gone are listed so.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import (
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.table.snapshots import Snapshot

from coalesce.interop.export.entries import Held
from coalesce.interop.export.footers import Footer
from coalesce.interop.export.iceberg.files import METADATA, Words
from coalesce.interop.export.iceberg.reading import entries_of, manifests_of
from coalesce.interop.export.iceberg.stored import StorageIO
from coalesce.model.datafile import DataFile
from coalesce.model.version import ManifestRef

_CODEC: Final = "deflate"


def source_of(manifest: ManifestFile) -> str | None:
    """The name of the manifest of ours that one of Iceberg's was made of; None if it only lists what was deleted."""
    parts = manifest.manifest_path.rpartition("/")[2].split(".")
    return parts[0] if len(parts) == 4 else None


def name_of(ref: ManifestRef) -> str:
    """The name of a manifest of ours, without its directory."""
    return ref.path.rpartition("/")[2].removesuffix(".parquet")


class _Writer(ManifestWriterV2):
    """PyIceberg's writer, for manifests of delete files too, which it has no writer of its own for."""

    def __init__(
        self, spec: PartitionSpec, schema: IcebergSchema, files: StorageIO, path: str, snapshot_id: int, deletes: bool
    ) -> None:
        super().__init__(spec, schema, files.new_output(files.storage.uri(path)), snapshot_id, _CODEC)
        self._deletes = deletes

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES if self._deletes else ManifestContent.DATA

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes" if self._deletes else "data"}


@dataclass
class Before:
    """What the last export had: manifests that stay, and entries of those that do not, by the files' addresses."""

    kept: list[ManifestFile] = field(default_factory=list)
    entries: dict[str, tuple[ManifestEntry, int]] = field(default_factory=dict)  # with the id of their spec

    @property
    def kept_sources(self) -> set[str]:
        """The manifests of ours that need not be written again."""
        return {found for manifest in self.kept if (found := source_of(manifest)) is not None}


def what_was_before(
    files: StorageIO, snapshot: Snapshot | None, refs: Iterable[ManifestRef], usable: set[int]
) -> Before:
    """The manifests of a snapshot that are still true, if their spec is `usable`, and what is in the others."""
    before = Before()
    if snapshot is None:
        return before
    wanted = {name_of(ref) for ref in refs}
    for manifest in manifests_of(files, snapshot):
        if source_of(manifest) in wanted and manifest.partition_spec_id in usable:
            before.kept.append(manifest)
        elif manifest.content == ManifestContent.DATA:
            for entry in entries_of(files, manifest, discard_deleted=True):
                before.entries[entry.data_file.file_path] = (entry, manifest.partition_spec_id)
    return before


@dataclass
class Written:
    """What was written for a new snapshot, and what it changes."""

    manifests: list[ManifestFile] = field(default_factory=list)
    added: list[DataFile] = field(default_factory=list)
    removed: list[IcebergFile] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Manifester:
    """Writes manifests of one snapshot."""

    files: StorageIO
    words: Words
    schema: IcebergSchema
    specs: Mapping[int, PartitionSpec]
    spec_id: int
    snapshot_id: int

    def write(self, held: Held, before: Before, footers: Mapping[str, Footer], written: Written) -> None:
        """The manifests of one of ours: its data files, and the dead rows of those."""
        name = f"{METADATA}/{name_of(held.ref)}.{uuid4().hex[:12]}"
        spec = self.specs[self.spec_id]
        with self._writer(spec, f"{name}.data.avro") as writer:
            for file in held.files:
                address = self.words.storage.uri(file.path)
                old = before.entries.pop(address, None)
                if old is None:
                    written.added.append(file)
                    writer.add(self._entry(self.words.data_file(file, footers[file.path])))
                    continue
                entry, _ = old
                data_file = self.words.data_file(file, None, entry.data_file.split_offsets)
                writer.existing(self._entry(data_file, entry))
        written.manifests.append(writer.to_manifest_file())
        dead = [file for file in held.files if file.dead_rows]
        if dead:
            with self._writer(spec, f"{name}.deletes.avro", deletes=True) as writer:
                for file in dead:
                    writer.add(self._entry(self.words.delete_file(file, self.files.storage)))
            written.manifests.append(writer.to_manifest_file())

    def write_removed(self, before: Before, written: Written) -> None:
        """A manifest of the files that no manifest has any more, for each spec that they have."""
        for spec_id in sorted({spec_id for _, spec_id in before.entries.values()}):
            with self._writer(self.specs[spec_id], f"{METADATA}/removed-{uuid4().hex}.avro") as writer:
                for entry, its_spec in before.entries.values():
                    if its_spec == spec_id:
                        writer.delete(entry)
                        written.removed.append(entry.data_file)
            written.manifests.append(writer.to_manifest_file())

    def _writer(self, spec: PartitionSpec, path: str, *, deletes: bool = False) -> _Writer:
        return _Writer(spec, self.schema, self.files, path, self.snapshot_id, deletes)

    def _entry(self, file: IcebergFile, old: ManifestEntry | None = None) -> ManifestEntry:
        if old is None:
            return ManifestEntry.from_args(
                status=ManifestEntryStatus.ADDED, snapshot_id=self.snapshot_id, sequence_number=None, data_file=file
            )
        return ManifestEntry.from_args(
            status=ManifestEntryStatus.EXISTING,
            snapshot_id=old.snapshot_id,
            sequence_number=old.sequence_number,
            file_sequence_number=old.file_sequence_number,
            data_file=file,
        )


def new_files(held: Sequence[Held], before: Before, words: Words) -> list[DataFile]:
    """The files that the last export did not have."""
    return [file for part in held for file in part.files if words.storage.uri(file.path) not in before.entries]
