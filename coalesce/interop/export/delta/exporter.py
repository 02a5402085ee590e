"""A version as a version of a Delta table over the same data files.

Creating the next file of the log is the commit, and nothing else is written before but which files the export needs.
What changed is told by manifests: those that the last export had are not looked at again.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from coalesce.interop.export.attempts import check_still_kept, dead_rows_in_the_way, until_done
from coalesce.interop.export.delta import columns
from coalesce.interop.export.delta.actions import Action, Words, can_be_text, encoded_path, remove
from coalesce.interop.export.delta.checkpoints import write_checkpoint
from coalesce.interop.export.delta.log import (
    ENGINE,
    LAST_CHECKPOINT,
    State,
    application_of,
    commit_path,
    drop_log,
    encoded,
    read_log,
)
from coalesce.interop.export.delta.protocol import Terms, check_features, high_water_mark, terms_of
from coalesce.interop.export.entries import constant_fields, held_by
from coalesce.interop.export.footers import read_footers
from coalesce.interop.export.refusals import refuse, sentences, unreadable_columns
from coalesce.manifest.manifest_file import manifest_paths
from coalesce.model.arrow_schema import type_from_arrow
from coalesce.model.datafile import DataFile
from coalesce.model.schema import all_fields
from coalesce.model.spec import PartitionField
from coalesce.model.types import Type
from coalesce.model.version import ManifestRef, Version
from coalesce.storage.base import Storage
from coalesce.table.exports import DELTA, ExportOptions, ExportResult, ExportSource
from coalesce.table.maintain.exported import keep, kept_of, record_of, release

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_RECORD: Final = record_of(DELTA, None)
_CHECKPOINT_EVERY: Final = 10  # versions of the log
_MANY_ACTIONS: Final = 5_000  # that are read faster out of a checkpoint
_TOMBSTONES_MS: Final = 7 * 24 * 60 * 60 * 1000  # as long as Delta keeps them in checkpoints


class DeltaExporter:
    """See `Exporter`."""

    def export(self, source: ExportSource, options: ExportOptions) -> ExportResult:
        """Write what changed since the last export, atomically."""
        began = time.perf_counter()
        version, root = source.version, source.storage.root
        reasons = [*check_features(version, options.features), *dead_rows_in_the_way(source, options)]
        if reasons:
            refuse(DELTA, root, reasons)
        return until_done(
            lambda: _Attempt(source, options, read_log(source.storage, version.table_id)).run(began), root
        )

    def drop(self, storage: Storage, table_id: str) -> int:
        """Delete what exports have written."""
        return drop_log(storage, table_id)


@dataclass
class _Change:
    """What readers will see otherwise than now."""

    added: list[Action]
    removed: list[Action]
    narrow: dict[int, Type]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """An export on top of the one that is there."""

    source: ExportSource
    options: ExportOptions
    state: State

    @property
    def version(self) -> Version:
        return self.source.version

    def run(self, began: float) -> ExportResult | None:
        """What was exported; None if another export was faster."""
        version, state = self.version, self.state
        if state.version is not None and state.version > version.number:
            return self._result(state.number, (), None, began)
        fields = self._fields()
        before = terms_of(state)
        tracked = self.options.features or before.features
        words = Words(version, fields, self.source.storage, "rowTracking" in tracked or "icebergCompatV3" in tracked)
        anew = before.partition_columns != self._partition_columns(fields) or words.row_tracking != before.row_tracking
        change = self._change(words, everything=anew)
        terms = Terms.of(version, self._partition_columns(fields), self.options.features, change.narrow, before)
        same = terms.protocol == state.protocol and terms.metadata_says(state.metadata)
        if not change and same:
            return self._result(state.number, fields, None, began)
        number = state.number + 1
        keep(self.source.storage, _RECORD, version)
        actions = [*self._head(terms), *(("remove", a) for a in change.removed), *(("add", a) for a in change.added)]
        if not self.source.storage.put_if_absent(commit_path(number), encoded(actions)):
            return None
        for name, action in actions:
            state.apply({name: action}, application_of(version.table_id))
        state.number = number
        release(self.source.storage, _RECORD, before=version.number)
        if number and (number % _CHECKPOINT_EVERY == 0 or len(actions) > _MANY_ACTIONS):
            write_checkpoint(self.source.storage, number, self._everything(), LAST_CHECKPOINT)
        check_still_kept(self.source)
        return self._result(number, fields, change, began)

    def _fields(self) -> tuple[PartitionField, ...]:
        """What Delta's table is partitioned by; once a field could not be told there, it does not come back."""
        version = self.version
        if not self.options.partitioned:
            return ()
        found = constant_fields(
            version, allowed=lambda f: columns.can_partition(f, version.schema) and self._is_text(f)
        )
        if self.state.metadata is None:
            return found
        known = terms_of(self.state).partition_columns or ()
        before = {f.id for f in version.schema if f.physical_name in known or f.name in known}
        return tuple(f for f in found if f.source_id in before)

    def _is_text(self, field: PartitionField) -> bool:
        """Whether all values of a field can be told by texts; bounds tell, since '' is the least of all texts."""
        type_ = self.version.schema.atomic(field.source_id)
        bounds = [b for ref in self.version.manifests for b in ref.bounds or () if b.field_id == field.field_id]
        assert type_ is not None
        return all(can_be_text(type_, b.lower) and can_be_text(type_, b.upper) for b in bounds)

    def _partition_columns(self, fields: Sequence[PartitionField]) -> tuple[str, ...]:
        by_id = {f.id: f.physical_name for f in self.version.schema}
        return tuple(by_id[f.source_id] for f in fields)

    def _change(self, words: Words, *, everything: bool) -> _Change:
        """What came and what went, by the manifests that the last export did not have, and those that are gone."""
        version, state = self.version, self.state
        same_rows = version.operation == "compact" and state.version == version.number - 1
        exported: Sequence[ManifestRef] = []
        if state.version is not None and not everything:
            exported = kept_of(self.source.storage, _RECORD, state.version) or []
        known = {ref.path for ref in exported}
        todo = [ref for ref in version.manifests if ref.path not in known]
        files = [file for held in held_by(self.source, todo) for file in held.files]
        paths = {encoded_path(file.path) for file in files}
        gone = self._no_longer(exported, paths)
        new = [f for f in files if encoded_path(f.path) not in state.adds]
        if everything or columns.has_to_look_again(terms_of(state).schema, version.schema):
            new = [file for held in held_by(self.source, version.manifests) for file in held.files]
        narrow = self._look_at(new, words)
        now = version.timestamp_ms
        removed = [remove(path, state.adds[path], now, data_change=not same_rows) for path in gone]
        added = []
        for file in files:
            old = state.adds.get(encoded_path(file.path))
            new_vector = words.vector(file) if file.dead_rows else None
            if old is not None and old.get("deletionVector") != new_vector:
                removed.append(remove(old["path"], old, now, data_change=True))
            elif old is not None and not everything:
                continue
            # What is told anew of a file that readers have already changes no rows.
            added.append(words.add(file, data_change=not same_rows and (old is None or not everything)))
        return _Change(added, removed, narrow)

    def _no_longer(self, exported: Sequence[ManifestRef], paths: set[str]) -> list[str]:
        """The files of the last export that are gone: of manifests that are, if it is known which it had."""
        adds = self.state.adds
        if not exported:
            return [path for path in adds if path not in paths]
        still = {ref.path for ref in self.version.manifests}
        lost = [ref for ref in exported if ref.path not in still]
        found = [encoded_path(f) for ref in lost for f in _paths(self.source, ref)]
        return [path for path in found if path in adds and path not in paths]

    def _look_at(self, files: Sequence[DataFile], words: Words) -> dict[int, Type]:
        """What new files have of columns that were widened, if readers find in them what they should."""
        version, storage = self.version, self.source.storage
        footers = read_footers(storage, version, files)
        told = {f.source_id for f in words.fields}
        reasons = unreadable_columns(version, files, footers, told, columns.widens, by_ids=False)
        odd = [f.path for f in files if not f.path.isprintable() and _CONTROL.search(f.path)]
        reasons += sentences(("delta-rs does not open files with control characters in their names:", p) for p in odd)
        if reasons:
            refuse(DELTA, storage.root, reasons)
        types = {f.id: f.type for f in all_fields(version.schema.fields)}
        narrow: dict[int, Type] = {}
        for footer in footers:
            for column_id, stored in footer.types.items():
                wanted = types[column_id]
                if columns.is_widened(stored, wanted):
                    narrow[column_id] = type_from_arrow(stored)
        return narrow

    def _head(self, terms: Terms) -> list[tuple[str, Action]]:
        """What comes before files: what was done, by whom, and what changes of the table itself."""
        version, state = self.version, self.state
        found: list[tuple[str, Action]] = [
            (
                "commitInfo",
                {
                    "timestamp": version.timestamp_ms,
                    "operation": "EXPORT",
                    "operationParameters": {"version": str(version.number), "operation": version.operation},
                    "engineInfo": ENGINE,
                    "isBlindAppend": False,
                },
            )
        ]
        if terms.protocol != state.protocol:
            found.append(("protocol", terms.protocol))
        if not terms.metadata_says(state.metadata):
            found.append(("metaData", terms.metadata(version, state.metadata)))
        found.append(("txn", _txn(version)))
        if terms.row_tracking:
            found.append(("domainMetadata", high_water_mark(version.next_row_id - 1)))
        return found

    def _everything(self) -> list[tuple[str, Action]]:
        """What a checkpoint has."""
        state, oldest = self.state, self.version.timestamp_ms - _TOMBSTONES_MS
        assert state.protocol is not None
        assert state.metadata is not None
        found = [("protocol", state.protocol), ("metaData", state.metadata), ("txn", _txn(self.version))]
        if state.high_water_mark is not None:
            found.append(("domainMetadata", high_water_mark(state.high_water_mark)))
        found += [("remove", gone) for gone in state.removes.values() if (gone.get("deletionTimestamp") or 0) > oldest]
        return [*found, *(("add", add) for add in state.adds.values())]

    def _result(
        self, number: int, fields: Sequence[PartitionField], change: _Change | None, began: float
    ) -> ExportResult:
        seen = self.state.version if self.state.version is not None else 0
        return ExportResult(
            format=DELTA,
            location=self.source.storage.root,
            version=max(self.version.number, seen),
            number=number,
            files=len(self.state.adds),
            files_added=0
            if change is None
            else len({a["path"] for a in change.added} - {r["path"] for r in change.removed}),
            files_removed=0
            if change is None
            else len({r["path"] for r in change.removed} - {a["path"] for a in change.added}),
            dead_files=sum("deletionVector" in add for add in self.state.adds.values()),
            partitioned_by=tuple(f.name for f in fields),
            written=change is not None,
            seconds=time.perf_counter() - began,
        )


def _txn(version: Version) -> Action:
    return {
        "appId": application_of(version.table_id),
        "version": version.number,
        "lastUpdated": version.timestamp_ms,
    }


def _paths(source: ExportSource, ref: ManifestRef) -> Sequence[str]:
    return manifest_paths(source.storage.read(ref.path), ref)


EXPORTER: Final = DeltaExporter()
