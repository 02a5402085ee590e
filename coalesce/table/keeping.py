"""Keeping a table in shape: the operations that change how it lies, never which rows it has."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from coalesce.arguments import check_flag, check_integer, check_progress
from coalesce.model.rule import parse_bytes
from coalesce.table.core import Purge, Tend, Where
from coalesce.table.maintain import tags
from coalesce.table.maintain.auto import purge_all, tend
from coalesce.table.maintain.check import check
from coalesce.table.maintain.compact import Compaction, CompactResult, Step, run
from coalesce.table.maintain.deleting import Progress
from coalesce.table.maintain.expire import ExpireResult, expire
from coalesce.table.maintain.findings import Findings
from coalesce.table.maintain.repair import RepairResult, repair
from coalesce.table.maintain.retention import check_age
from coalesce.table.maintain.vacuum import VacuumResult, vacuum
from coalesce.table.maintain.worth import STEP_BYTES, Limits
from coalesce.table.result import WriteResult
from coalesce.table.revising import TableReviser


class TableKeeper(TableReviser):
    """A table that can be kept in shape, and keeps itself so if its properties say so."""

    def _tend(self) -> Tend | None:
        return tend

    def _purge(self) -> Purge | None:
        return purge_all

    def compact(
        self,
        where: Where = None,
        *,
        target: int | str | None = None,
        max_bytes: int | str | None = None,
        dry_run: bool = False,
    ) -> CompactResult:
        """Write files again that had better lie otherwise: the rows stay what they are, and keep their ids.

        That is small files that can be merged; files of older partition fields and rules; files that hold a logical
        partition which has become large, or small, since; files that have rows of the same logical partitions; and
        files with many rows that were removed, or some that were removed long ago (`purge.share`, `purge.age`). Done a
        second time, it finds nothing to do. Others may write meanwhile: what they append is left for the next time,
        what they remove stays removed, and is reported as `skipped`. With `spark=` the work is Spark's, unless it is
        little.

        * `where`: only files that may hold matching rows.
        * `target`: how large files become, if not as large as `write.target-file-bytes` says: `"64MB"`.
        * `max_bytes`: how much is written again at the most; what helps most for its size comes first.
        * `dry_run`: only say what would be done.

        Raises `PredicateError` and `SpecError` for arguments that make no sense.

        >>> _ = table.append(rows)
        >>> result = table.compact()
        >>> result.files_before, result.files_after
        (4, 2)
        >>> table.compact()
        <compact: nothing to do; version 3>
        """
        compaction = self._compaction(where, target, max_bytes)
        return compaction.dry() if check_flag(dry_run, "dry_run=") else run(compaction)

    def compact_steps(
        self,
        where: Where = None,
        *,
        target: int | str | None = None,
        max_bytes: int | str | None = None,
        step_bytes: int | str = STEP_BYTES,
    ) -> Iterator[Step]:
        """Do what `compact` does, one commit for each step that is taken: to show progress, or to stop in between.

        * `where`, `target`, `max_bytes`: as for `compact`.
        * `step_bytes`: about how much one commit writes again, unless files only make sense together.

        Raises what `compact` raises.

        >>> _ = table.set_rule(coalesce.keep_all())
        >>> [(step.files_before, step.files_after, step.bytes_left) for step in table.compact_steps()]
        [(2, 3, 0)]
        """
        return self._compaction(where, target, max_bytes, parse_bytes(step_bytes, least=1)).steps()

    def purge(self, where: Where = None, *, dry_run: bool = False) -> CompactResult:
        """Write every file again that has rows which were removed, without them: now, and not when it is worth it.

        To remove logical partitions from shared files only marks them, and their rows stay in the files until those are
        written again. After a purge no file of the newest version has any; older versions name the old files until
        they expire, and `vacuum` deletes those. The rows that are left stay what they are, and keep their ids.

        * `where`: only files of which removed rows may match, as far as their logical partitions tell.
        * `dry_run`: only say what would be done.

        Raises `PredicateError`.

        >>> _ = table.set_properties({"remove.by": "mark"})
        >>> table.drop_partition(dt=date(2026, 5, 17), app="tiny").files_added
        0
        >>> table.state.rows, table.state.dead_rows
        (3, 1)
        >>> table.purge().reasons
        {'with rows that were removed': 1}
        >>> table.state.rows, table.state.dead_rows
        (3, 0)
        """
        compaction = self._compaction(where, purging=True)
        return compaction.dry() if check_flag(dry_run, "dry_run=") else run(compaction)

    def purge_steps(self, where: Where = None) -> Iterator[Step]:
        """Do what `purge` does, one commit for each step that is taken.

        * `where`: as for `purge`.

        Raises what `purge` raises.

        >>> [step.files_before for step in table.purge_steps()]
        []
        """
        return self._compaction(where, purging=True).steps()

    def _compaction(
        self,
        where: Where,
        target: int | str | None = None,
        max_bytes: int | str | None = None,
        step_bytes: int = STEP_BYTES,
        *,
        purging: bool = False,
    ) -> Compaction:
        core = self._core
        limits = Limits(bytes=step_bytes)
        core.bound(where)  # refused at once, not at the first step
        return Compaction(
            core,
            lambda: core.bound(where),
            target=None if target is None else parse_bytes(target, least=1),
            max_bytes=None if max_bytes is None else parse_bytes(max_bytes),
            limits=limits if core.engines.frames is None else replace(limits, in_memory=step_bytes),
            purging=purging,
        )

    # --- which versions are kept -----------------------------------------------------------------------------------

    def tag(self, name: str, version: int | None = None, *, replace: bool = False) -> WriteResult:
        """Give a version a name, by which it can be opened, and which keeps it from expiring.

        * `name`: up to 255 characters that are not all digits.
        * `version`: the number of the version; without it, the one that this object reads.
        * `replace`: move the tag if it names another version.

        Raises `InvalidArgument` for a name that cannot be, or that another version has, `VersionNotFound`, and
        `VersionExpired` for a version that has expired.

        >>> _ = table.tag("before-the-audit")
        >>> _ = table.truncate()
        >>> coalesce.open("events", version="before-the-audit").count()
        4
        """
        checked, move, core = tags.check_tag(name), check_flag(replace, "replace="), self._core
        number = self.version if version is None else check_integer(version, "the version", least=0)
        transaction = core.transaction(tags.TAG)
        if transaction.base.tags.get(checked) == number:
            return WriteResult(version=self.version, operation=tags.TAG, committed=False)
        transaction.summary.update(tag=checked, to_version=number)
        transaction.retain(lambda head: tags.tagged(head, checked, number, move=move, root=core.storage.root))
        return core.committed(transaction)

    def untag(self, name: str) -> WriteResult:
        """Take a version's name away. If it is older than the versions that are kept, it has expired thereby.

        * `name`: the tag.

        Raises `VersionNotFound` if there is no such tag.

        >>> _ = table.tag("draft")
        >>> _ = table.untag("draft")
        >>> table.tags()
        {}
        """
        checked, core = tags.check_tag(name), self._core
        transaction = core.transaction(tags.UNTAG)
        transaction.summary["tag"] = checked
        transaction.retain(lambda head: tags.untagged(head, checked, root=core.storage.root))
        return core.committed(transaction)

    def tags(self) -> dict[str, int]:
        """The tags that the table has now, each with the number of its version, in the order of the names.

        >>> _ = table.tag("first", version=1)
        >>> table.tags()
        {'first': 1}
        """
        log = self._core.log
        return dict(sorted(log.load(log.newest()).tags.items()))

    def expire(
        self,
        older_than: str | timedelta = "7d",
        *,
        keep_last: int = 10,
        dry_run: bool = False,
        force: bool = False,
        progress: Progress | None = None,
    ) -> ExpireResult:
        """Let old versions go. What only they need stays on the disk until `vacuum` deletes it.

        The newest version stays, and those that have a tag, and the one that was current when `older_than` began, so
        that the table can be opened as of any moment since. Ages are by the store's clock.

        * `older_than`: versions younger than this stay; `"7d"`, `"36h"`, `"90m"`, `"30s"` or a timedelta.
        * `keep_last`: so many stay whatever their age. Commits that only tag or expire are not counted.
        * `dry_run`: only say what would go.
        * `force`: let `older_than` be less than 24 hours. Readers of those versions may fail with `VersionExpired`.
        * `progress`: is called with how many files are deleted, and of how many.

        Raises `InvalidArgument`, and `CorruptMetadata` for a version that cannot be read.

        >>> _ = table.truncate()
        >>> table.expire("0s", keep_last=1, force=True).versions
        (0, 1)
        >>> [(v.number, v.operation) for v in table.history()]
        [(3, 'expire'), (2, 'truncate')]
        """
        return expire(
            self._core,
            check_age(older_than, force),
            check_integer(keep_last, "keep_last=", least=1),
            dry_run=check_flag(dry_run, "dry_run="),
            progress=check_progress(progress),
        )

    def vacuum(
        self,
        older_than: str | timedelta = "7d",
        *,
        dry_run: bool = False,
        force: bool = False,
        progress: Progress | None = None,
    ) -> VacuumResult:
        """Delete files of the table's own that no version needs, neither one that is kept nor a tagged one.

        Those are data files and manifests of expired versions, and what writers left that died. Files that were not
        written by this library are never deleted. If anything that versions name cannot be read, nothing is deleted.

        * `older_than`: files younger than this stay, by the store's clock: a writer may be about to commit them.
        * `dry_run`: only say what would go.
        * `force`: let `older_than` be less than 24 hours. **A write that is under way may lose its files.**
        * `progress`: is called with how many files are deleted, and of how many.

        Raises `InvalidArgument`, and `CorruptMetadata` if metadata is missing or damaged.

        >>> _ = table.truncate()
        >>> _ = table.expire("0s", keep_last=1, force=True)
        >>> table.vacuum("0s", force=True).files
        3
        """
        age, asked = check_age(older_than, force), check_flag(dry_run, "dry_run=")
        return vacuum(self._core, age, dry_run=asked, progress=check_progress(progress))

    def check(self, deep: bool = False, *, progress: Progress | None = None) -> Findings:
        """Look whether the table is sound: what is wrong with it, in all versions that have not expired.

        Every version and manifest is read, and every data file has to be there with its size. Nothing is changed, and
        others may write meanwhile. A sound table has no findings, which is false where a condition is asked for.

        * `deep`: read every data file, too, and compare it with what is said of it: rows, logical partitions, counts,
          statistics, columns. That takes as long as to read the table, in little memory.
        * `progress`: is called with how many files are read, and of how many.

        Raises `StorageError` if the store fails.

        >>> table.check(deep=True)
        [0]
        >>> import os
        >>> os.remove(os.path.join("events", table.files()[0].path))
        >>> [(found.kind, found.versions, found.mendable) for found in table.check()]
        [('missing-file', (1,), False)]
        """
        core = self._core
        asked = check_flag(deep, "deep=")
        inspect, told = core.engines.rows.inspect, check_progress(progress)
        return check(core.storage, inspect, deep=asked, progress=told).findings

    def repair(self, *, dry_run: bool = False, progress: Progress | None = None) -> RepairResult:
        """Mend what can be mended without a doubt, in one commit: no row comes, goes or changes.

        It begins with a deep check. Where the newest version says something of a data file that is not so, and the file
        itself can be read and has the rows it should have, what is said is made anew from the file. What is lost
        (files, manifests, versions) cannot be mended, and is reported. Older versions stay as they are.

        * `dry_run`: only say what would be mended.
        * `progress`: is called with how many files are read, and of how many.

        Raises `StorageError` if the store fails, and `CommitConflict` if others keep rewriting the files in question.

        >>> result = table.repair()
        >>> len(result.mended), len(result.left), result.committed
        (0, 0, False)
        """
        return repair(self._core, dry_run=check_flag(dry_run, "dry_run="), progress=check_progress(progress))
