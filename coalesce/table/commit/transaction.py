"""A transaction: changes staged against one version, then committed as the next, or not at all.

Nothing is visible before the version file exists. Everything written before that (data files, manifests) is named by
no version until then, so a transaction that dies anywhere leaves the table as it was, plus orphans.
"""

import random
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from coalesce.errors import CoalesceError, CommitConflict, InvalidArgument, NothingWritten, SchemaError
from coalesce.model.columns import numbers
from coalesce.model.entries import Entries, concatenate
from coalesce.model.marking import marked
from coalesce.model.version import ManifestRef, Version, with_dead_tuples
from coalesce.plan.index import ManifestIndex
from coalesce.plan.planner import Judge, PlannedManifest, plan_manifest
from coalesce.table.commit import conflicts, marks
from coalesce.table.commit.log import Log
from coalesce.table.commit.manifests import AT_ONCE, Manifests, Written, refs
from coalesce.table.commit.merge import due
from coalesce.table.commit.staged import Staged
from coalesce.table.result import WriteResult

_FIRST_WAIT = 0.005
_LONGEST_WAIT = 0.5
_HELD_BYTES: Final = 64 * 1024 * 1024  # of manifests that are written, to be held when they are committed


@dataclass
class Transaction(Staged):
    """What is staged, and how it becomes the next version of the table that `log` and `manifests` are of."""

    log: Log = field(kw_only=True)
    manifests: Manifests = field(kw_only=True)
    _written: Written = field(default_factory=list)
    _merged: dict[frozenset[str], Written] = field(default_factory=dict)
    _filtered: dict[str, Written] = field(default_factory=dict)
    _begun: list[str] = field(default_factory=list)  # every manifest that was sent off, stored or not
    _held: int = 0
    _may_be_committed: bool = False

    def commit(self) -> Version:
        """Create the next version, re-basing on whatever was committed meanwhile.

        Returns the version that holds the change: the one created here, or the newest if `applies` says that it
        was committed before.
        """
        if self._may_be_committed:  # its files would be in the table twice
            raise InvalidArgument(
                f"this transaction was committed, or may have been, as commit_id {self.commit_id}: look for it in "
                "history(), and begin another one with transaction()."
            )
        self.base.check_writable()
        if (replaced := self._replaced) and self._replacement is None:
            conflicts.check_in_base(replaced, self.base, self.manifests)
        self._written = [one for stored in self._stored(self._by_spec()) for one in stored]
        for attempt in range(self.attempts):
            head = self.log.head()
            conflicts.check_same_table(self.base, head)
            if self._is_in(head):
                self.abandon()
                return head
            if head.commit_id != self.base.commit_id:
                self._check_conflicts(head)
            version = self._next(head, self._written)
            if self._created(version):
                self._delete({*self._begun}.difference(ref.path for ref in version.manifests))
                self.manifests.superseded(head, version)
                self.manifests.hold(self._all_written(), version)
                return version
            time.sleep(random.uniform(0, min(_LONGEST_WAIT, _FIRST_WAIT * 2**attempt)))
        raise CommitConflict(
            f"{self.attempts} attempts to commit {self.operation!r} were each overtaken by another writer; try again."
        )

    def abandon(self) -> None:
        """Delete what was written for a commit that will not be made: data files and manifests.

        Nothing is deleted once the version file was sent off and not surely refused: it may be there,
        or still be under way, and names these files.
        """
        if self._may_be_committed:
            return
        self._delete([path for entries in self._added for path in entries.core.column("path").to_pylist()])
        self._delete(self._begun)

    def _created(self, version: Version) -> bool:
        """Whether the version was created; while that is unknown, what it names has to stay."""
        self._may_be_committed = True
        try:
            created = self.log.create(version)
        except (SchemaError, NothingWritten):  # it could not have been read back, or stored: it was not sent off
            self._may_be_committed = False
            raise
        self._may_be_committed = created
        return created

    def _delete(self, paths: Iterable[str]) -> None:
        """Delete what no version names."""
        for path in paths:
            with suppress(CoalesceError):  # an orphan; the first failure is what to report
                self.manifests.storage.delete(path)

    def _stored(self, all_entries: Sequence[Entries]) -> list[Written]:
        """Each of some entries in manifests of their own. Of the first ones it stays known here what is in them."""
        stored = self.manifests.write_all(all_entries, self._begun)
        for written in stored:
            for i, (path, encoded) in enumerate(written):
                self._held += encoded.core_bytes
                if self._held > _HELD_BYTES:
                    written[i] = path, encoded.without_core()
        return stored

    def _all_written(self) -> Written:
        return [one for some in (self._written, *self._merged.values(), *self._filtered.values()) for one in some]

    def _check_conflicts(self, head: Version) -> None:
        head.check_writable()
        if self.exclusive:
            raise CommitConflict(
                f"version {head.number} was committed while {self.operation!r} was under way; try again."
            )
        if self._change is not None:
            conflicts.check_metadata_unchanged(self.base, head)
        if self._added or self._adopted:
            conflicts.check_rows_fit(self.base, head)
        if replaced := self._replaced:
            conflicts.check_files_there(replaced, self._copied.union(self._mended), self.base, head, self.manifests)
        if self._marked and self.matching is not None:
            conflicts.check_told(self.matching, self.base, head)
        if self._moved:
            conflicts.check_same_tuples(self.base, head)
        if self.matching is not None:
            conflicts.check_no_matching_rows(self.matching, self.base, head, self.manifests)

    def _next(self, head: Version, written: Written) -> Version:
        number = head.number + 1
        kept = self._without_removed(head)
        added, next_row_id = refs(written, number, head.next_row_id)
        applied = dict(head.applied)
        if self.applies is not None:
            applied[self.applies[0]] = self.applies[1]
        changed = head if self._change is None else self._change(head)
        if self._retention is not None:
            changed = self._retention(changed)
        manifests = tuple(self._merge(head, [*kept, *added]))
        return replace(
            with_dead_tuples(changed, any(ref.dead_rows for ref in manifests)),
            number=number,
            commit_id=self.commit_id,
            parent_commit_id=head.commit_id,
            timestamp_ms=max(time.time_ns() // 1_000_000, head.timestamp_ms + 1),
            operation=self.operation,
            summary={**self._counts(head, kept, added), **self.summary},
            manifests=manifests,
            next_row_id=max(next_row_id, changed.next_row_id),
            applied=applied,
        )

    def _counts(self, head: Version, kept: Sequence[ManifestRef], added: Sequence[ManifestRef]) -> dict[str, int | str]:
        """What came and what went; a row in a new file that was in an old one did neither."""
        counts: dict[str, int | str] = {}
        for what in ("files", "rows", "bytes"):
            came = sum(getattr(ref, what) for ref in added)
            went = getattr(head, what) - sum(getattr(ref, what) for ref in kept)
            if self._replacement is not None:
                # By how much the versions differ. Which files both have is not looked up: a rollback may be the way
                # out of a version whose manifests are damaged.
                came, went = came + max(0, -went), max(0, went)
            elif what == "rows":
                came, went = came - self.rewritten, went - self.rewritten
            elif went < 0:  # an entry that was made anew knows better how large its file is
                came, went = came - went, 0
            counts |= {f"{what}_added": came, f"{what}_removed": went}
        return {**counts, "rows_rewritten": self.rewritten} if self.rewritten else counts

    def result(self, version: Version) -> WriteResult:
        """What was done, now that `version` holds it: another commit's if this one was made before."""
        committed = version.commit_id == self.commit_id
        counts = version.summary if committed else {}
        return WriteResult(
            version=version.number,
            operation=self.operation,
            rows_added=int(counts.get("rows_added", 0)),
            rows_removed=int(counts.get("rows_removed", 0)),
            rows_updated=int(counts.get("rows_updated", 0)),
            files_added=int(counts.get("files_added", 0)),
            files_removed=int(counts.get("files_removed", 0)),
            seconds=time.perf_counter() - self.began,
            committed=committed,
        )

    def _without_removed(self, head: Version) -> list[ManifestRef]:
        """The manifests of `head`, written again where they name files that are removed, or have another entry now."""
        if self._replacement is not None:
            return list(self._replacement)
        replaced = self._replaced
        if not replaced:
            return list(head.manifests)
        changed: dict[str, Entries] = {}
        written: list[ManifestRef] = []
        for ref, index in zip(head.manifests, self.manifests.load_all(head.manifests, head), strict=True):
            paths = index.entries.core.column("path").to_pylist()
            if replaced.isdisjoint(paths):
                continue
            written.append(ref)
            if ref.path not in self._filtered:
                mended = self._mended_of([path for path in paths if path not in self._removed])
                left = self._left_of(ref, index, paths, head)
                parts = [*([left] if len(left) else []), *mended]
                if parts:
                    changed[ref.path] = parts[0] if len(parts) == 1 else concatenate(parts)
                else:
                    self._filtered[ref.path] = []
            if len(changed) == AT_ONCE:
                self._filter(changed)
        self._filter(changed)
        again = {ref.path: self._materialized(self._filtered[ref.path], [ref]) for ref in written}
        return [kept for ref in head.manifests for kept in again.get(ref.path, [ref])]

    def _filter(self, changed: dict[str, Entries]) -> None:
        """Store what is left of manifests, and let go of it here."""
        self._filtered |= zip(changed, self._stored([*changed.values()]), strict=True)
        changed.clear()

    def _left_of(self, ref: ManifestRef, index: ManifestIndex, paths: Sequence[str], head: Version) -> Entries:
        """The entries of a manifest that stay, with the tuples dead that were marked or moved."""
        entries = index.entries
        gone = np.array([path in self._removed or path in self._mended for path in paths], np.bool_)
        to_mark = np.array([path in self._marked for path in paths], np.bool_)
        to_move = np.array([path in self._moved for path in paths], np.bool_)
        if to_mark.any() or to_move.any():
            dying = marks.none_of(index)
            if to_move.any():
                dying |= marks.moved(index, to_move, self._moved, self.base, head)
            if to_mark.any():
                dying |= marks.matching(self._planned(ref, index, head).only(to_mark), to_mark, self.base)
            entries = marked(entries, dying, self.since)
            gone |= (to_mark | to_move) & (numbers(entries.core.column("rows")) == 0)
        return entries.take(np.flatnonzero(~gone)) if gone.any() else entries

    def _planned(self, ref: ManifestRef, index: ManifestIndex, head: Version) -> PlannedManifest:
        """Which tuples of a manifest `matching` is TRUE on, by what the columns are in `head`."""
        known = self._plans.get(ref.path)
        if known is not None and head.schema == self.base.schema:
            return known
        assert self.matching is not None
        judge = Judge(self.matching, head.schema, self.opaque)
        return plan_manifest(judge, ref, head.spec_by_id(ref.spec_id), index)

    def _merge(self, head: Version, all_refs: list[ManifestRef]) -> list[ManifestRef]:
        """Merge manifests where enough have gathered; entries added here wait for the next commit."""
        settled = [r for r in all_refs if r.added_version <= head.number]
        crowd = due(settled)
        if not crowd:
            return all_refs
        key = frozenset(r.path for r in crowd)
        if key not in self._merged:
            parts = [index.entries for index in self.manifests.load_all(crowd, head, keep=False)]
            (self._merged[key],) = self._stored([concatenate(parts)])
        rest = [r for r in all_refs if r.path not in key]
        return [*self._materialized(self._merged[key], crowd), *rest]

    def _materialized(self, written: Written, origins: Sequence[ManifestRef]) -> list[ManifestRef]:
        """Pointers to rewritten manifests, whose entries carry versions and row ids of their own."""
        return refs(written, max(r.added_version for r in origins), min(r.first_row_id for r in origins))[0]
