"""Keeping a table in shape: the operations that change how it lies, never which rows it has."""

from collections.abc import Iterator, Sequence
from functools import partial

from coalesce.arguments import check_integer
from coalesce.model.datafile import DataFile
from coalesce.table.commit.changes import COMPACT
from coalesce.table.commit.transaction import Transaction
from coalesce.table.core import Where
from coalesce.table.maintain.compact import STEP_BYTES, Step, first_step, not_current
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
