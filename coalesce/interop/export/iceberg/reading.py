"""Reading back what exports have written: what PyIceberg says of a damaged file becomes `CorruptMetadata`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyiceberg.manifest import ManifestEntry, ManifestFile, read_manifest_list
from pyiceberg.table.snapshots import Snapshot

from coalesce.errors import CoalesceError, CorruptMetadata, FileMissing
from coalesce.interop.export.iceberg.stored import StorageIO

_AGAIN: Final = "drop_export('iceberg'), and export again"


def manifests_of(files: StorageIO, snapshot: Snapshot) -> list[ManifestFile]:
    """The manifests of a snapshot."""
    with _damage_is_told(snapshot.manifest_list):
        return list(read_manifest_list(files.new_input(snapshot.manifest_list)))


def entries_of(files: StorageIO, manifest: ManifestFile, *, discard_deleted: bool = False) -> list[ManifestEntry]:
    """The entries of a manifest."""
    with _damage_is_told(manifest.manifest_path):
        return manifest.fetch_manifest_entry(files, discard_deleted=discard_deleted)


@contextmanager
def _damage_is_told(address: str) -> Iterator[None]:
    try:
        yield
    except FileMissing as error:
        raise CorruptMetadata(address, f"it is missing although the export needs it; {_AGAIN}.") from error
    except (CoalesceError, OSError):
        raise
    except Exception as error:
        said = f"it is not a readable file of Iceberg ({type(error).__name__}); {_AGAIN}."
        raise CorruptMetadata(address, said) from error
