"""Where an export to Iceberg stands: the newest metadata file, whoever may have died before the hint was written."""

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.table.snapshots import Snapshot

from coalesce.errors import CorruptMetadata, ExportRefused, FileMissing
from coalesce.interop.export.iceberg.files import METADATA
from coalesce.storage.base import Storage

HINT: Final = f"{METADATA}/version-hint.text"
TABLE_ID: Final = "coalesce.table-id"
VERSION: Final = "coalesce.version"

_METADATA_FILE: Final = re.compile(rf"{METADATA}/v([0-9]+)\.metadata\.json")


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


def version_of(snapshot: Snapshot) -> int | None:
    """The version of ours that a snapshot shows; None if somebody else made it."""
    text = None if snapshot.summary is None else snapshot.summary[VERSION]
    return int(text) if text is not None and str(text).isdigit() else None


def read_state(storage: Storage, table_id: str) -> State:
    """The newest export of a table; refused if it is another table, or somebody has written to it."""
    hint = _hint(storage)
    number = hint if hint is not None and _is_there(storage, hint) else _listed(storage)
    while number and _is_there(storage, number + 1):
        number += 1
    if not number:
        return State(0, None, hint)
    path = metadata_path(number)
    try:
        metadata = TableMetadataUtil.parse_raw(storage.read(path).decode())
    except ValueError as error:
        raise CorruptMetadata(path, f"it is not Iceberg's metadata: {error}.") from error
    state = State(number, metadata, hint)
    if metadata.properties.get(TABLE_ID) != table_id:
        raise ExportRefused(
            f"there is an Iceberg table at {storage.root} already that is no export of this table; export to another "
            "place with location=."
        )
    if state.snapshot is not None and state.version is None:
        raise ExportRefused(
            f"somebody else has written to the Iceberg export at {storage.root}: its snapshot "
            f"{state.snapshot.snapshot_id} is none of ours, and an export would take its rows away. Take them over "
            'into the table if they are wanted; then drop_export("iceberg"), and export again.'
        )
    return state


def _hint(storage: Storage) -> int | None:
    with suppress(FileMissing, ValueError):
        return int(storage.read(HINT).decode("ascii"))
    return None


def _listed(storage: Storage) -> int:
    """The highest number there is, by a listing: the hint is lost, or was never written."""
    found = [_METADATA_FILE.fullmatch(file.path) for file in storage.list(METADATA)]
    return max((int(match[1]) for match in found if match is not None), default=0)


def _is_there(storage: Storage, number: int) -> bool:
    try:
        storage.size(metadata_path(number))
    except FileMissing:
        return False
    return True
