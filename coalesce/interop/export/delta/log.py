"""Delta's log of an export: read back to where it stands, and continued by creating its next file, if it is absent."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Final

from coalesce.errors import CorruptMetadata, ExportRefused, FileMissing
from coalesce.interop.export.delta.actions import Action
from coalesce.interop.export.delta.checkpoints import checkpoint_path, read_checkpoint
from coalesce.storage.base import Storage

LOG: Final = "_delta_log"
LAST_CHECKPOINT: Final = f"{LOG}/_last_checkpoint"
FEATURE: Final = "coalesceExport"  # of writers; whoever does not know it may read, and neither write nor vacuum
TABLE_ID: Final = "coalesce.tableId"
ENGINE: Final = "coalesce"

_ACTION: Final = (dict, type(None))
# What actions have; that which may be missing may be None.
_LIST, _OBJECT, _INTEGER = (list, NoneType), (dict, NoneType), (int, NoneType)
_MEMBERS: Final[Mapping[str, Mapping[str, type | tuple[type, ...]]]] = {
    "add": {"path": str, "size": int, "partitionValues": dict, "deletionVector": _OBJECT},
    "remove": {"path": str, "deletionTimestamp": _INTEGER, "deletionVector": _OBJECT},
    "protocol": {"minReaderVersion": int, "minWriterVersion": int, "readerFeatures": _LIST, "writerFeatures": _LIST},
    "metaData": {"schemaString": str, "partitionColumns": list, "configuration": _OBJECT, "createdTime": _INTEGER},
    "txn": {"appId": str, "version": int},
}
_NO_ACTION: Final = (KeyError, TypeError, ValueError, AttributeError)  # what a thing raises that is no action
_LACKING: Final = "an action lacks something, or holds what it cannot"
_AGAIN: Final = "drop_export('delta'), and export again"
_COMMIT: Final = re.compile(rf"{LOG}/([0-9]{{20}})\.json")
_NUMBERED: Final = re.compile(rf"{LOG}/([0-9]{{20}})\.(json|checkpoint\.parquet)")
_OWN: Final = re.compile(rf"{LOG}/(?:[0-9]{{20}}\.json|[0-9]{{20}}\.checkpoint\.parquet|_last_checkpoint)")


def commit_path(number: int) -> str:
    """The file whose creation is the commit of a Delta version."""
    return f"{LOG}/{number:020d}.json"


@dataclass
class State:
    """What the log says up to its version `number`, which is -1 if there is none."""

    number: int = -1
    protocol: Action | None = None
    metadata: Action | None = None
    version: int | None = None  # of ours, that readers see
    high_water_mark: int | None = None
    adds: dict[str, Action] = field(default_factory=dict)
    removes: dict[str, Action] = field(default_factory=dict)  # by path and vector

    def apply(self, line: Mapping[str, Any], application: str) -> None:
        """Take one action in; KeyError, TypeError or ValueError if it is not what an action of its kind is."""
        _check_members(line)
        if (add := line.get("add")) is not None:
            self.adds[add["path"]] = add
            self.removes.pop(_key(add), None)
        elif (gone := line.get("remove")) is not None:
            there = self.adds.get(gone["path"])
            if there is not None and _key(there) == _key(gone):
                del self.adds[gone["path"]]
            self.removes[_key(gone)] = gone
        elif line.get("protocol") is not None:
            self.protocol = line["protocol"]
        elif line.get("metaData") is not None:
            self.metadata = line["metaData"]
        elif (txn := line.get("txn")) is not None and txn["appId"] == application:
            self.version = txn["version"]
        elif (domain := line.get("domainMetadata")) is not None and domain["domain"] == "delta.rowTracking":
            self.high_water_mark = json.loads(domain["configuration"])["rowIdHighWaterMark"]


def _check_members(line: Mapping[str, Any]) -> None:
    for kind, action in line.items():
        for name, type_ in _MEMBERS.get(kind, {}).items() if action is not None else ():
            if not isinstance(action.get(name), type_):
                raise TypeError(name)


def application_of(table_id: str) -> str:
    """What exports of a table are known by in the log, with the number of the version as theirs."""
    return f"coalesce-{table_id}"


def read_log(storage: Storage, table_id: str) -> State:
    """Where the export stands; refused if it is another table's log, or somebody has written to it."""
    state, application = State(), application_of(table_id)
    checkpoint = _last_checkpoint(storage)
    if checkpoint is not None:
        _apply_checkpoint(storage, checkpoint, state, application)
        state.number = checkpoint
    after = None if checkpoint is None else commit_path(checkpoint)
    numbers = [int(m[1]) for f in storage.list(LOG, after) if (m := _COMMIT.fullmatch(f.path)) is not None]
    for number in numbers:
        if number != state.number + 1:
            raise CorruptMetadata(commit_path(state.number + 1), f"it is missing; {_AGAIN}.")
        _read_commit(storage, number, state, application)
        state.number = number
    if state.number >= 0:
        _check_own(storage, state, table_id)
    return state


def _apply_checkpoint(storage: Storage, number: int, state: State, application: str) -> None:
    try:
        for action in read_checkpoint(storage, number):
            state.apply(action, application)
    except _NO_ACTION as error:
        raise CorruptMetadata(
            checkpoint_path(number), f"it is not a checkpoint of Delta's log: {_LACKING}; {_AGAIN}."
        ) from error


def _read_commit(storage: Storage, number: int, state: State, application: str) -> None:
    path = commit_path(number)
    try:
        lines = [json.loads(line) for line in storage.read(path).splitlines() if line.strip()]
    except ValueError as error:
        raise CorruptMetadata(path, f"it is not a file of Delta's log: {error}; {_AGAIN}.") from error
    if not all(isinstance(line, dict) and all(isinstance(a, _ACTION) for a in line.values()) for line in lines):
        raise CorruptMetadata(path, f"it is not a file of Delta's log: a line of it is no action; {_AGAIN}.")
    told = [line["commitInfo"] for line in lines if line.get("commitInfo") is not None]
    if state.number >= 0 and not any(str(info.get("engineInfo", "")).startswith(ENGINE) for info in told):
        raise ExportRefused(
            f"somebody else has written to the Delta export at {storage.root}: {path} is none of ours. Take the rows "
            'over into the table if they are wanted; then drop_export("delta"), and export again.'
        )
    try:
        for line in lines:
            state.apply(line, application)
    except _NO_ACTION as error:
        raise CorruptMetadata(path, f"it is not a file of Delta's log: {_LACKING}; {_AGAIN}.") from error


def _check_own(storage: Storage, state: State, table_id: str) -> None:
    features = (state.protocol or {}).get("writerFeatures") or []
    configuration = (state.metadata or {}).get("configuration") or {}
    if FEATURE not in features or configuration.get(TABLE_ID) != table_id:
        raise ExportRefused(
            f"there is a Delta table at {storage.root} already that is no export of this table, and its log has to lie "
            "there; adopt that table, or export another one."
        )


def _last_checkpoint(storage: Storage) -> int | None:
    """The newest checkpoint, by the file that names it; without that, all of the log is read."""
    try:
        number = int(json.loads(storage.read(LAST_CHECKPOINT))["version"])
        storage.size(checkpoint_path(number))
    except (FileMissing, ValueError, KeyError, TypeError):
        return None
    return number


def encoded(actions: Iterable[tuple[str, Action]]) -> bytes:
    """Actions as a file of the log: one a line."""
    lines = [json.dumps({name: action}, separators=(",", ":"), ensure_ascii=False) for name, action in actions]
    return ("\n".join(lines) + "\n").encode()


def drop_log(storage: Storage, table_id: str) -> int:
    """Delete the log, what names its checkpoint first and the oldest commits last: it is never half a table.

    It need not be whole for that, nor nobody else's on top: whose it is, the first metadata in it says.
    """
    found: Sequence[str] = [file.path for file in storage.list(LOG) if _OWN.fullmatch(file.path)]
    if not found:
        return 0
    if _first_table_id(storage, found) != table_id:
        raise ExportRefused(
            f"nothing in {LOG} at {storage.root} says that it is an export of this table, so nothing was deleted. If "
            "it is a damaged one, move that directory away, and export again: else it is no export of this table."
        )
    storage.delete(LAST_CHECKPOINT)
    for path in sorted(found, reverse=True):
        storage.delete(path)
    return len(found)


def _first_table_id(storage: Storage, paths: Sequence[str]) -> str | None:
    """The table that a log says it is an export of, by its first file with metadata that can be read."""
    for path in sorted(paths):
        match = _NUMBERED.fullmatch(path)
        if match is None:
            continue
        state = State()
        with suppress(CorruptMetadata, FileMissing):
            if match[2] == "json":
                _read_commit(storage, int(match[1]), state, "")
            else:
                _apply_checkpoint(storage, int(match[1]), state, "")
        if state.metadata is not None:
            configuration = state.metadata.get("configuration")
            return configuration.get(TABLE_ID) if isinstance(configuration, dict) else None
    return None


def _key(action: Mapping[str, Any]) -> str:
    vector = action.get("deletionVector")
    return action["path"] if vector is None else f"{action['path']}\0{vector['storageType']}{vector['pathOrInlineDv']}"
