"""Single rows of a table changed: by an expression, by the rows of a source, by keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from coalesce.arguments import check_settings
from coalesce.errors import InvalidArgument, NeedsSpark
from coalesce.table.commit.conflicts import FilesGone, RowsAdded
from coalesce.table.commit.transaction import Transaction
from coalesce.table.core import Applies, Core
from coalesce.table.engine import FrameEngine, Revision
from coalesce.table.result import WriteResult
from coalesce.table.revision import revise
from coalesce.table.statement import Clause, Star, Statement
from coalesce.table.writing import TableWriter

_ATTEMPTS = 20  # how often a change is found anew because others have changed, or added, rows that it concerns


def revised(core: Core, operation: str, revision: Revision, applies: Applies = None) -> WriteResult:
    """Commit a change of single rows; it is found anew if others were faster, and then sees what they did."""

    def stage(transaction: Transaction) -> None:
        revise(transaction, core.snapshot(), revision)

    return core.write(operation, applies, stage, attempts=_ATTEMPTS, again=(FilesGone, RowsAdded))


def _frames(core: Core) -> FrameEngine:
    if core.engines.frames is None:
        raise NeedsSpark(
            "update() and merge() take expressions that Spark evaluates: open the table with spark=…, or use upsert()."
        )
    return core.engines.frames


class TableReviser(TableWriter):
    """A table whose single rows can change."""

    def update(
        self, assignments: Mapping[str, object], where: object = None, *, applies: Applies = None
    ) -> WriteResult:
        """Give columns of the rows that match other values, in one commit. It takes Spark.

        Of a file that logical partitions share, only those of the rows are written again. Rows keep their ids.

        * `assignments`: a dict of columns and their new values: SQL text such as `"amount * 2"`, a Spark column, or any
          other value as it is. All are computed from the row as it was.
        * `where`: a condition as SQL text, or a Spark column; None changes every row.
        * `applies`: as for `append`.

        Raises `NeedsSpark` for a table opened without `spark=`, `SchemaError` for values that do not fit, and
        `CommitConflict` if others change the same rows again and again.

        >>> table = coalesce.open("events", spark=spark)
        >>> table.update({"n": "n * 10"}, "app = 'web'").rows_updated
        3
        """
        values = check_settings(assignments, "the assignments")
        if not values:
            raise InvalidArgument('say which columns change, and to what: update({"amount": "amount * 2"}, where=…).')
        statement = Statement(by_source=(Clause(where, values),))
        return revised(self._core, "update", _frames(self._core).revision(statement), applies)

    def merge(self, source: object, on: object) -> "Merge":
        """Begin to merge the rows of a source into the table; add clauses to it, and `execute()`. It takes Spark.

        * `source`: a Spark DataFrame, or whatever else `append` takes. In the clauses its columns are `s.…`, those of
          the table `t.…`.
        * `on`: the condition under which two rows match, as SQL text or a Spark column.

        Raises `NeedsSpark` for a table opened without `spark=`.

        >>> table = coalesce.open("events", spark=spark)
        >>> new = spark.sql("SELECT DATE '2026-05-17' AS dt, 'tiny' AS app, 40 AS n")
        >>> merge = table.merge(new, "t.dt = s.dt AND t.app = s.app")
        >>> merge.when_matched_update({"n": "t.n + s.n"}).when_not_matched_insert().execute().rows_updated
        1
        """
        _frames(self._core)
        return Merge(self._core, Statement(source=source, on=on))

    def upsert(self, data: object, keys: Sequence[str], *, applies: Applies = None) -> WriteResult:
        """Put rows in the place of those that have the same keys, and add the others, in one commit. No JVM is needed.

        * `data`: as for `append`. Columns that it lacks stay as they are in rows that are there. It is held in memory,
          unless it is a Spark DataFrame.
        * `keys`: the columns by which rows are known. NULL is refused in them, and so are rows with the same keys.
        * `applies`: as for `append`.

        Raises `AmbiguousMatch` if two rows of `data` have the same keys, `SchemaError` for what does not fit, and
        `CommitConflict` if others change the same rows again and again.

        >>> result = table.upsert([{"dt": "2026-05-17", "app": "tiny", "n": 9}], keys=["dt", "app"])
        >>> result.rows_updated, result.rows_added
        (1, 0)
        """
        engines = self._core.engines
        return revised(self._core, "upsert", engines.for_data(data).upsert(data, keys), applies)


@dataclass(frozen=True, repr=False)
class Merge:
    """A merge into a table that is being put together: each clause gives a new one, and `execute()` carries it out.

    Of the clauses of a kind, the first whose condition holds is carried out. In conditions and values, which are SQL
    text or Spark columns, `t` is the table and `s` the source.

    >>> merge = coalesce.open("events", spark=spark).merge(spark.range(3), "t.n = s.id")
    >>> merge.when_matched_delete("t.app = 'web'").execute().rows_removed
    2
    """

    _core: Core
    _statement: Statement

    def when_matched_update(self, values: Mapping[str, object] | None = None, condition: object = None) -> "Merge":
        """Rows that a row of the source matches get other values.

        * `values`: a dict of columns and their values; without it, those of the source's columns of the same names.
        * `condition`: only rows on which it is TRUE.
        """
        return self._with("matched", Clause(condition, _checked(values)))

    def when_matched_delete(self, condition: object = None) -> "Merge":
        """Rows that a row of the source matches go; with a `condition`, those on which it is TRUE."""
        return self._with("matched", Clause(condition, None))

    def when_not_matched_insert(self, values: Mapping[str, object] | None = None, condition: object = None) -> "Merge":
        """Rows of the source that match none of the table come in.

        * `values`: a dict of columns and their values, as far as they have any; without it, the source's.
        * `condition`: only rows on which it is TRUE.
        """
        return self._with("not_matched", Clause(condition, _checked(values)))

    def when_not_matched_by_source_update(self, values: Mapping[str, object], condition: object = None) -> "Merge":
        """Rows that no row of the source matches get other values; `values` and `condition` as above."""
        if values is None:
            raise InvalidArgument("rows that no row of the source matches need values of their own: give a dict.")
        return self._with("by_source", Clause(condition, _checked(values)))

    def when_not_matched_by_source_delete(self, condition: object = None) -> "Merge":
        """Rows that no row of the source matches go; with a `condition`, those on which it is TRUE."""
        return self._with("by_source", Clause(condition, None))

    def execute(self, *, applies: Applies = None) -> WriteResult:
        """Carry it out, in one commit.

        * `applies`: as for `append`.

        Raises `AmbiguousMatch` if several rows of the source would change one row of the table, and `CommitConflict`
        if others change the same rows again and again.
        """
        statement = self._statement
        if not (statement.matched or statement.not_matched or statement.by_source):
            raise InvalidArgument("a merge without clauses does nothing; say what happens when_matched_…() or not.")
        for clauses in (statement.matched, statement.not_matched, statement.by_source):
            if any(clause.condition is None for clause in clauses[:-1]):
                raise InvalidArgument(
                    "a clause without a condition takes every row, so no other one of its kind can come after it."
                )
        return revised(self._core, "merge", _frames(self._core).revision(statement), applies)

    def _with(self, kind: str, clause: Clause) -> "Merge":
        clauses = (*getattr(self._statement, kind), clause)
        return Merge(self._core, replace(self._statement, **{kind: clauses}))

    def __repr__(self) -> str:
        counts = {
            "matched": self._statement.matched,
            "not matched": self._statement.not_matched,
            "not matched by source": self._statement.by_source,
        }
        clauses = ", ".join(f"{kind}: {len(clauses)}" for kind, clauses in counts.items() if clauses)
        return f"<merge, not carried out yet; clauses: {clauses or 'none'}>"


def _checked(values: Mapping[str, object] | None) -> Mapping[str, object] | Star:
    if values is None:
        return Star.ALL
    checked = check_settings(values, "the values")
    if not checked:
        raise InvalidArgument("a clause that sets nothing does nothing; leave the values out to take the source's.")
    return checked
