"""Deleting what no snapshot of an export needs any more. Data files are the table's: they are never touched here.

An adopted file may have any name, also one that a file of position deletes could have. So those go by what our own
metadata says of them, and what nothing names is left where it is.
"""

import re
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from pyiceberg.manifest import ManifestContent
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot

from coalesce.errors import CoalesceError
from coalesce.interop.export.iceberg.files import METADATA
from coalesce.interop.export.iceberg.reading import entries_of, manifests_of
from coalesce.interop.export.iceberg.state import (
    HINT,
    State,
    is_own,
    metadata_path,
    numbers_of,
    read_metadata,
    version_of,
)
from coalesce.interop.export.iceberg.stored import StorageIO
from coalesce.storage.base import Storage

_DAY_MS: Final = 24 * 60 * 60 * 1000
_METADATA_FILES: Final = 20  # of these stay
# What exports write; a catalog's files, which lie beside them, have other names.
_AVRO: Final = re.compile(
    rf"""{METADATA}/(?:
        [0-9A-Za-z][0-9A-Za-z_-]*\.[0-9a-f]{{12}}\.(?:data|deletes)\.avro
      | removed-[0-9a-f]{{32}}\.avro
      | snap-[0-9]+-[0-9a-f]{{12}}\.avro
    )""",
    re.VERBOSE,
)
_DELETES: Final = re.compile(rf"{METADATA}/deletes/[0-9a-f]{{32}}\.parquet")


def clean(files: StorageIO, metadata: TableMetadata, number: int, table_id: str) -> None:
    """Delete metadata that is older than a day and that no snapshot names; what fails is left for the next time."""
    with suppress(CoalesceError):
        storage = files.storage
        needed = {metadata_path(n) for n in range(max(1, number - _METADATA_FILES), number + 1)}
        for snapshot in metadata.snapshots:
            needed |= _named_by(files, snapshot)
        before = time.time_ns() // 1_000_000 - _DAY_MS
        old = {f.path for f in storage.list(METADATA) if f.modified_ms < before and f.path not in needed}
        unnamed = [path for path in old if _DELETES.fullmatch(path)]
        deletes = _deletes_of(storage, _own_metadata(storage, table_id)) if unnamed else set()
        late = [path for n in numbers_of(storage) if (path := metadata_path(n)) in old]
        _delete(storage, [path for path in unnamed if path in deletes])
        _delete(storage, [path for path in old if _AVRO.fullmatch(path)])
        _delete(storage, [path for path in late if is_own(storage, path, table_id)])


def drop_all(storage: Storage, state: State, table_id: str) -> int:
    """Delete everything that exports have written, the hint first: from then on nobody finds the rest.

    The oldest metadata goes last: by it, whoever dies on the way can go on.
    """
    own = _own_metadata(storage, table_id)
    deletes = _deletes_of(storage, own)
    found = [file.path for file in storage.list(METADATA)]
    if own and state.hint is not None and (metadata_path(state.hint) in own or metadata_path(state.hint) not in found):
        storage.delete(HINT)
    gone = [path for path in found if path in deletes]
    gone += [path for path in found if _AVRO.fullmatch(path)]
    gone += reversed(own)
    _delete(storage, gone)
    return len(gone)


def _own_metadata(storage: Storage, table_id: str) -> list[str]:
    """The metadata files of this table's exports, oldest first."""
    return [p for n in sorted(numbers_of(storage)) if is_own(storage, p := metadata_path(n), table_id)]


def _deletes_of(storage: Storage, own: Iterable[str]) -> set[str]:
    """The files of position deletes that our snapshots name. What cannot be read names nothing: its files stay."""
    seen: dict[int, tuple[Snapshot, StorageIO]] = {}
    for path in own:
        metadata = read_metadata(storage, path)
        files = StorageIO(storage, metadata.location)
        seen.update((snapshot.snapshot_id, (snapshot, files)) for snapshot in metadata.snapshots)
    found: set[str] = set()
    for snapshot, files in seen.values():
        if version_of(snapshot) is not None:
            with suppress(CoalesceError):
                found |= _named_by(files, snapshot)
    return {path for path in found if _DELETES.fullmatch(path)}


def _named_by(files: StorageIO, snapshot: Snapshot) -> set[str]:
    """The list of a snapshot, its manifests, and their files of deletes."""
    found = {files.path_of(snapshot.manifest_list)}
    for manifest in manifests_of(files, snapshot):
        found.add(files.path_of(manifest.manifest_path))
        if manifest.content == ManifestContent.DELETES:
            found.update(files.path_of(entry.data_file.file_path) for entry in entries_of(files, manifest))
    return found


def _delete(storage: Storage, paths: Iterable[str]) -> None:
    for path in paths:
        storage.delete(path)
