"""Deleting what no snapshot of an export needs any more. Data files are the table's: they are never touched here."""

import re
import time
from contextlib import suppress
from typing import Final

from pyiceberg.manifest import ManifestContent, read_manifest_list
from pyiceberg.table.metadata import TableMetadata

from coalesce.errors import StorageError
from coalesce.interop.export.iceberg.files import METADATA
from coalesce.interop.export.iceberg.state import HINT, metadata_path
from coalesce.interop.export.iceberg.stored import StorageIO
from coalesce.storage.base import Storage

_DAY_MS: Final = 24 * 60 * 60 * 1000
_METADATA_FILES: Final = 20  # of these stay
# What exports write; a catalog's files, which lie beside them, have other names.
_OWN: Final = re.compile(
    rf"""{METADATA}/(?:
        [0-9A-Za-z][0-9A-Za-z_-]*\.[0-9a-f]{{12}}\.(?:data|deletes)\.avro
      | removed-[0-9a-f]{{32}}\.avro
      | snap-[0-9]+-[0-9a-f]{{12}}\.avro
      | deletes/[0-9a-f]{{32}}\.parquet
      | v[0-9]+\.metadata\.json
    )""",
    re.VERBOSE,
)


def clean(files: StorageIO, metadata: TableMetadata, number: int) -> None:
    """Delete metadata that is older than a day and that no snapshot names; what fails is left for the next time."""
    with suppress(StorageError):
        needed = {metadata_path(n) for n in range(max(1, number - _METADATA_FILES), number + 1)}
        for snapshot in metadata.snapshots:
            needed.add(files.path_of(snapshot.manifest_list))
            for manifest in read_manifest_list(files.new_input(snapshot.manifest_list)):
                needed.add(files.path_of(manifest.manifest_path))
                if manifest.content == ManifestContent.DELETES:
                    entries = manifest.fetch_manifest_entry(files)
                    needed.update(files.path_of(entry.data_file.file_path) for entry in entries)
        before = time.time_ns() // 1_000_000 - _DAY_MS
        for file in files.storage.list(METADATA):
            if file.modified_ms < before and file.path not in needed and _OWN.fullmatch(file.path):
                files.storage.delete(file.path)


def drop_all(storage: Storage) -> int:
    """Delete everything that exports have written, the hint first: from then on nobody finds the rest."""
    found = [file.path for file in storage.list(METADATA) if _OWN.fullmatch(file.path)]
    storage.delete(HINT)
    newest_first = sorted(found, key=lambda path: not path.endswith(".metadata.json"))
    for path in newest_first:
        storage.delete(path)
    return len(found)
