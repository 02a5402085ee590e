"""Where an export to Iceberg stands: the newest metadata file, whoever may have died before the hint was written."""

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pyiceberg.exceptions import ValidationError
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.table.snapshots import Snapshot

from coalesce.errors import CorruptMetadata, ExportRefused, FileMissing
from coalesce.interop.export.iceberg.files import METADATA
from coalesce.storage.base import Storage

HINT: Final = f"{METADATA}/version-hint.text"
TABLE_ID: Final = "coalesce.table-id"
LOCATION: Final = "coalesce.location"  # of the data files
VERSION: Final = "coalesce.version"

_METADATA_FILE: Final = re.compile(rf"{METADATA}/v([0-9]+)\.metadata\.json")
_OTHER_METADATA: Final = re.compile(rf"{METADATA}/(?!v[0-9]+\.metadata\.json$)[^/]+\.metadata\.json(\.gz)?")


def metadata_path(number: int) -> str:
    """The file whose creation is the commit of an export."""
    return f"{METADATA}/v{number}.metadata.json"


@dataclass(frozen=True, slots=True)
class State:
    """The newest export: its `number`, 0 if there is none, and what it says."""

    number: int
    metadata: TableMetadata | None
    hint: int | None

    @property
    def snapshot(self) -> Snapshot | None:
        """What readers see."""
        return None if self.metadata is None else self.metadata.current_snapshot()

    @property
    def version(self) -> int | None:
        """The version of ours that they see."""
        return None if self.snapshot is None else version_of(self.snapshot)

    def was_moved(self, target: str, data: str) -> bool:
        """Whether the metadata, or the data files, were at another address: Iceberg's files name each other so."""
        if self.metadata is None:
            return False
        before = (self.metadata.location, self.metadata.properties.get(LOCATION, data))
        return tuple(map(_bare, before)) != (_bare(target), _bare(data))


def _bare(address: str) -> str:
    return address.rstrip("/")


def version_of(snapshot: Snapshot) -> int | None:
    """The version of ours that a snapshot shows; None if somebody else made it."""
    text = None if snapshot.summary is None else snapshot.summary[VERSION]
    return int(text) if text is not None and str(text).isdigit() else None


def read_state(storage: Storage, table_id: str) -> State:
    """The newest export of a table; refused if it is another table, or somebody has written to it."""
    state = find_state(storage, table_id)
    if state.snapshot is not None and state.version is None:
        raise ExportRefused(
            f"somebody else has written to the Iceberg export at {storage.root}: its snapshot "
            f"{state.snapshot.snapshot_id} is none of ours, and an export would take its rows away. Take them over "
            'into the table if they are wanted; then drop_export("iceberg"), and export again.'
        )
    return state


def find_state(storage: Storage, table_id: str) -> State:
    """The newest export of a table, whoever wrote to it last; refused if it is another table."""
    hint = _hint(storage)
    number = hint if hint is not None and _is_there(storage, hint) else _listed(storage)
    while number and _is_there(storage, number + 1):
        number += 1
    if not number:
        if any(not is_own(storage, path, table_id) for path in _of_catalogs(storage)):
            raise _another_table(storage)
        return State(0, None, hint)
    metadata = read_metadata(storage, metadata_path(number))
    if metadata.properties.get(TABLE_ID) != table_id:
        raise _another_table(storage)
    return State(number, metadata, hint)


def read_metadata(storage: Storage, path: str) -> TableMetadata:
    """What a metadata file says."""
    try:
        return TableMetadataUtil.parse_raw(storage.read(path).decode())
    except (ValueError, ValidationError) as error:
        said = str(error).partition("\n")[0]
        raise CorruptMetadata(path, f"it is not Iceberg's metadata: {said}; move it away, and export again.") from error


def is_own(storage: Storage, path: str, table_id: str) -> bool:
    """Whether a metadata file is one of an export of this table."""
    with suppress(CorruptMetadata, FileMissing):
        return read_metadata(storage, path).properties.get(TABLE_ID) == table_id
    return False


def numbers_of(storage: Storage) -> list[int]:
    """The numbers of the metadata files that have names as ours have."""
    found = [_METADATA_FILE.fullmatch(file.path) for file in storage.list(METADATA)]
    return [int(match[1]) for match in found if match is not None]


def _of_catalogs(storage: Storage) -> list[str]:
    """Metadata files with other names: a catalog has written them, for a table that follows or for another one."""
    return [f.path for f in storage.list(METADATA) if _OTHER_METADATA.fullmatch(f.path)]


def _another_table(storage: Storage) -> ExportRefused:
    return ExportRefused(
        f"there is an Iceberg table at {storage.root} already that is no export of this table; export to another "
        "place with location=."
    )


def _hint(storage: Storage) -> int | None:
    with suppress(FileMissing, ValueError):
        return int(storage.read(HINT).decode("ascii"))
    return None


def _listed(storage: Storage) -> int:
    """The highest number there is, by a listing: the hint is lost, or was never written."""
    return max(numbers_of(storage), default=0)


def _is_there(storage: Storage, number: int) -> bool:
    try:
        storage.size(metadata_path(number))
    except FileMissing:
        return False
    return True
