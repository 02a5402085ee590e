"""Adopting what is there: one commit that names files of others, and moves, changes or deletes none of them.

The first adoption creates version 0 with all of its files, so that one that is stopped half way leaves no table.
Another one compares what is there with what was there, and with what the table still has of it.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from posixpath import dirname
from typing import Final

from coalesce.errors import CoalesceError, CommitConflict, InvalidArgument, NothingWritten, SchemaError, TableNotFound
from coalesce.interop.adopt.ledger import read_ledger, source_of, write_ledger
from coalesce.interop.adopt.new_version import OPERATION
from coalesce.interop.adopt.own_names import check_names, left_by_nobody
from coalesce.interop.adopt.result import AdoptResult
from coalesce.interop.adopt.survey import PARQUET, Asked, LeftOut, Seen, Survey, some
from coalesce.model.datafile import DataFile
from coalesce.model.entries import Entries, from_files
from coalesce.model.version import MATERIALIZE_PARTITION_COLUMNS, Version
from coalesce.predicate.expr import TRUE
from coalesce.storage.base import Storage
from coalesce.table.commit.log import Log
from coalesce.table.commit.manifests import Manifests, refs
from coalesce.table.table import Table, core_of

# What a source has now: of the files that were not known before, or are others now, the entries.
Look = Callable[[Asked, Version | None, Mapping[str, Seen]], Survey]

_ATTEMPTS: Final = 5  # each begun anew because others have changed what it went by


@dataclass(frozen=True, slots=True)
class Adoption:
    """A place, what to look at it with, and how to open the table that is there, or will be."""

    storage: Storage
    look: Look
    asked: Asked
    opened: Callable[[], Table]
    given: frozenset[str] = frozenset()  # arguments that only a first adoption can take

    def run(self) -> AdoptResult:
        """Adopt, for the first time or again."""
        began = time.perf_counter()
        for attempt in range(_ATTEMPTS):
            try:
                done = self._again() if is_table(self.storage) else self._first()
            except CommitConflict:
                if attempt == _ATTEMPTS - 1:
                    raise
                continue
            if done is not None:
                return replace(done, seconds=time.perf_counter() - began)
        raise CommitConflict(f"others adopted {self.storage.root} at the same time, again and again; try again.")

    def _first(self) -> AdoptResult | None:
        """Version 0, with everything that is there; None if there is a table by now."""
        survey = self.look(self.asked, None, {})
        check_names(self.storage.root, survey.listed)
        begun: list[str] = []
        try:
            version = self._written(survey, begun)
        except BaseException:
            self._delete(begun)
            raise
        try:
            created = Log(self.storage).create(version)
        except (SchemaError, NothingWritten):  # it was not sent off; after anything else it may be, and names these
            self._delete(begun)
            raise
        if not created:
            self._delete(begun)
            return None
        return _told(self.opened(), survey, survey.files, (), 0)

    def _written(self, survey: Survey, begun: list[str]) -> Version:
        """The first version, with manifests that are stored."""
        path, properties = write_ledger(self.storage, survey.kind, survey.listed)
        begun.append(path)
        manifests = Manifests(self.storage)
        written = [w for entries in _by_spec(survey.files, survey.version) for w in manifests.write(entries, begun)]
        pointers, next_row_id = refs(written, 0, 0)
        counts = {"files_added": len(survey.files), "rows_added": sum(f.rows for f in survey.files)}
        return replace(
            _featured(survey.version, survey),
            properties={**survey.version.properties, **properties},
            manifests=tuple(pointers),
            next_row_id=next_row_id,
            summary={**counts, "bytes_added": sum(f.bytes for f in survey.files), "source": survey.kind},
        )

    def _again(self) -> AdoptResult:
        table = self.opened()
        core = core_of(table)
        transaction = core.transaction(OPERATION)
        base = transaction.base
        kind = source_of(base)
        if kind is None:
            raise InvalidArgument(
                f"the table at {self.storage.root} was created, not adopted: append() rows to it, or adopt "
                "another place."
            )
        if self.given:
            raise InvalidArgument(
                f"the table at {self.storage.root} was adopted before, and has its columns, partition fields, rule and "
                f"properties: leave {', '.join(sorted(self.given))} out, and change the table itself if you want "
                "others."
            )
        known = read_ledger(self.storage, base)
        survey = self.look(self.asked, base, known)
        if survey.kind != kind:
            raise InvalidArgument(
                f"the table at {self.storage.root} was adopted from {kind}, and what is there now is {survey.kind}."
            )
        check_names(self.storage.root, survey.listed.keys() - known.keys())
        files = core.plan(TRUE).files
        held = {f.path: f for f in files if f.path in known}
        new = _new(survey, known, held)
        vanished = [file for path, file in held.items() if path not in survey.listed]
        passed = [path for path in survey.listed if path in known and path not in held]
        back = [path for path in passed if known[path].dead_rows]
        _check_replaced(survey, known, held, new)
        strangers = left_by_nobody(core, base, survey.own, {f.path for f in files})
        survey = replace(survey, left_out=(*survey.left_out, *map(_is_back, back), *strangers))
        let_go = len(passed) - len(back)
        if not new and not vanished:
            return replace(_told(table, survey, (), (), let_go), committed=False)
        path, properties = write_ledger(self.storage, kind, _remembered(survey, known, held))
        try:
            for entries in _by_spec(new, survey.version):
                transaction.adopt_entries(entries)
            transaction.remove(vanished)
            transaction.change(lambda head: _changed(head, survey, properties))
            core.committed(transaction)
        except CommitConflict:  # after anything else it may have been committed
            self._delete([path])
            raise
        return _told(table, survey, new, vanished, let_go)

    def _delete(self, paths: Iterable[str]) -> None:
        for path in paths:
            with suppress(CoalesceError):  # no version names it
                self.storage.delete(path)


def is_table(storage: Storage) -> bool:
    """Whether a table of ours lies there."""
    try:
        Log(storage).newest()
    except TableNotFound:
        return False
    return True


def _by_spec(files: Sequence[DataFile], version: Version) -> list[Entries]:
    ids = dict.fromkeys(f.spec_id for f in files)
    return [from_files([f for f in files if f.spec_id == i], version.spec_by_id(i), version.schema) for i in ids]


def _featured(version: Version, survey: Survey) -> Version:
    """Without the promise that every file holds its partition columns, if one does not."""
    if survey.materialized:
        return version
    return replace(version, writer_features=version.writer_features - {MATERIALIZE_PARTITION_COLUMNS})


def _changed(head: Version, survey: Survey, properties: Mapping[str, str]) -> Version:
    wanted = survey.version
    changed = replace(head, schema=wanted.schema, max_column_id=wanted.max_column_id, specs=wanted.specs)
    return replace(_featured(changed, survey), properties={**head.properties, **properties})


# --- what came and what went ---------------------------------------------------------------------------------------


def _new(survey: Survey, known: Mapping[str, Seen], held: Mapping[str, DataFile]) -> list[DataFile]:
    """The files that nobody knew. One that is another now than when it was adopted is refused."""
    again = [(f, survey.listed[f.path], known[f.path]) for f in survey.files if f.path in known]
    changed = [f.path for f, now, seen in again if not _is_same(f, now, seen, held.get(f.path))]
    if changed:
        raise CoalesceError(
            f"{len(changed):,} files were changed since they were adopted, and what the table says of them is not true "
            f"any more: {some(changed)}. Put them back, and give new rows a file of a new name."
        )
    return [f for f in survey.files if f.path not in known]


def _is_same(file: DataFile, now: Seen, seen: Seen, held: DataFile | None) -> bool:
    """Whether a file of another time holds what it held: its footer tells.

    Where that was not written down, as earlier releases did not, its entry does, or, if it was let go of, its size.
    """
    if file.bytes != seen.bytes:
        return False
    if now.footer is not None and seen.footer is not None:
        return now.footer == seen.footer
    return held is None or (file.rows, dict(file.statistics)) == (held.physical_rows, dict(held.statistics))


def _check_replaced(
    survey: Survey, known: Mapping[str, Seen], held: Mapping[str, DataFile], new: Sequence[DataFile]
) -> None:
    """Refuse new files that may hold rows that the table has written again, and so would have twice, or has removed."""
    changed = {path for path in known if path not in held or held[path].dead_rows}
    gone = [path for path in known if path in changed and path not in survey.listed]
    if survey.kind == PARQUET:  # somebody may have cleaned up; but not where new files lie now
        places = {dirname(file.path) for file in new}
        gone = [path for path in gone if dirname(path) in places]
    if gone:
        way_out = "move the new files to a directory of their own below it" if survey.kind == PARQUET else ""
        raise CoalesceError(
            "files whose rows the table has written again or removed since are gone from where it was adopted: "
            f"{some(gone)}. Whether these rows are to go, or are in the files that are new, nothing says. Put them "
            f"back; or overwrite() or delete() the rows in the table and {way_out or 'go on without the other one'}; "
            "or adopt anew elsewhere."
        )


def _is_back(path: str) -> LeftOut:
    return LeftOut(
        path,
        "it was gone, and is back, and the table had removed rows of it; under another name, all of its rows come in",
    )


def _remembered(survey: Survey, known: Mapping[str, Seen], held: Mapping[str, DataFile]) -> dict[str, Seen]:
    """What the next adoption has to know: what is there, and what is gone and may come back with rows that must not."""
    gone = {path: seen for path, seen in known.items() if path not in survey.listed and path not in held}
    gone |= {
        path: replace(known[path], dead_rows=file.dead_rows)
        for path, file in held.items()
        if path not in survey.listed and file.dead_rows
    }
    there = {
        path: replace(seen, dead_rows=known[path].dead_rows) if path in known else seen
        for path, seen in survey.listed.items()
    }
    return gone | there


def _told(
    table: Table, survey: Survey, new: Sequence[DataFile], vanished: Sequence[DataFile], passed: int
) -> AdoptResult:
    return AdoptResult(
        table=table,
        source=survey.kind,
        version=table.version,
        files_added=len(new),
        files_removed=len(vanished),
        rows_added=sum(f.rows for f in new),
        rows_removed=sum(f.rows for f in vanished),
        bytes_added=sum(f.bytes for f in new),
        unknown=sum(not f.trusted for f in new),
        left_out=tuple(survey.left_out),
        passed_over=passed,
        ignored_columns=tuple(survey.ignored_columns),
        state=survey.state,
    )
