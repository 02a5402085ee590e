"""Keeping a table in shape: the operations that change how it lies, never which rows it has."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial

from coalesce.arguments import check_flag, check_integer
from coalesce.model.datafile import DataFile
from coalesce.table.commit.changes import COMPACT
from coalesce.table.commit.transaction import Transaction
from coalesce.table.core import Where
from coalesce.table.maintain import tags
from coalesce.table.maintain.compact import STEP_BYTES, Step, first_step, not_current
from coalesce.table.maintain.deleting import Progress
from coalesce.table.maintain.expire import ExpireResult, expire
from coalesce.table.maintain.retention import check_age
from coalesce.table.maintain.vacuum import VacuumResult, vacuum
from coalesce.table.result import WriteResult
from coalesce.table.writing import TableWriter


class TableKeeper(TableWriter):
    """A table that can be kept in shape."""

    def compact(self, where: Where = None, *, step_bytes: int = STEP_BYTES) -> Iterator[Step]:
        """Move files of older partition fields and rules to the current ones: one commit for each step that is taken.

        `for step in table.compact(): …` shows progress and may stop at any time; `list(table.compact())` does it all.

        * `where`: only files that may hold matching rows.
        * `step_bytes`: about how much one commit moves.

        Raises `PredicateError` at once, and `CommitConflict` in a step whose files were rewritten meanwhile.

        >>> _ = table.set_rule(coalesce.keep_all())
        >>> [(step.files_before, step.files_after, step.bytes_left) for step in table.compact()]
        [(2, 3, 0)]
        """
        self._core.bound(where)
        return self._steps(where, check_integer(step_bytes, "step_bytes=", least=1))

    def _steps(self, where: Where, step_bytes: int) -> Iterator[Step]:
        while True:
            # Between two steps anything may happen to the table: each is planned from the version it builds on.
            transaction = self._core.transaction(COMPACT)
            left = not_current(self.plan(where))
            batch = first_step(left, step_bytes)
            if not batch:
                return
            result = self._core.committed(transaction, partial(self._move, batch))
            moved = sum(f.bytes for f in batch)
            yield Step(
                version=result.version,
                files_before=len(batch),
                files_after=result.files_added,
                bytes_moved=moved,
                bytes_left=sum(f.bytes for f in left) - moved,
            )

    def _move(self, files: Sequence[DataFile], transaction: Transaction) -> None:
        moved = self._core.engines.rows.compact(self._core.snapshot(), files)
        transaction.add(moved)
        transaction.remove(files)
        transaction.rewritten = sum(f.rows for f in moved)

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
            progress=progress,
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
        return vacuum(self._core, age, dry_run=asked, progress=progress)
