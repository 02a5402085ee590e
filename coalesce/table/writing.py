"""Rows into a table and out of it: each write is one commit, or nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from coalesce.arguments import check_flag, check_integer, check_settings
from coalesce.errors import InvalidArgument, SchemaError
from coalesce.model.schema import Schema
from coalesce.model.spec import field_text
from coalesce.model.values import FieldValues
from coalesce.predicate.expr import TRUE
from coalesce.predicate.normalize import is_plain
from coalesce.table import removal
from coalesce.table.commit.log import expired
from coalesce.table.commit.transaction import Transaction
from coalesce.table.compat import has_to_be_compatible
from coalesce.table.core import Applies, Core, Where
from coalesce.table.engine import COUNTED, check_layout
from coalesce.table.evolve import replaced
from coalesce.table.new_columns import OVERWRITE, STRICT, check_schema_mode
from coalesce.table.reading import TableReader
from coalesce.table.result import WriteResult
from coalesce.table.tuples import among

# How often a removal is made anew because others, such as a compaction, have moved the rows in question
_ATTEMPTS: Final = 20


class TableWriter(TableReader):
    """A table whose rows can change."""

    def append(
        self, data: object, *, applies: Applies = None, layout: str | None = None, schema_mode: str = STRICT
    ) -> WriteResult:
        """Add rows.

        * `data`: whatever speaks Arrow (of pyarrow, polars, DuckDB, …), a pandas data frame, a list of dicts, an
          iterator of batches, or, if the table was opened with `spark=`, a Spark DataFrame. Streams are written as they
          come. Columns go by name; those that are missing hold their default, or NULL.
        * `applies`: `(application, sequence)`: once a write of the application with this number, or a later one, was
          committed, it is not made again.
        * `layout`: `"known"` lets Spark skip the pass that counts the rows of each logical partition, and go by those
          the table has; otherwise the property `write.layout` says.
        * `schema_mode`: `"strict"`, or `"merge"`: columns that the table lacks are added to it in the same commit,
          and types that are wider are widened. Python's own values, NULLs and empty lists take the type there is. An
          iterator cannot bring columns: its rows are written as they are read.

        Raises `SchemaError` with all that does not fit, and leaves no file; `InvalidArgument` for a stream that was
        read before; `CommitConflict` if the columns have changed meanwhile; `CommitUncertain` if the store does not say
        whether it happened.

        >>> table.append(rows, applies=("nightly", 7)).rows_added
        4
        >>> table.append(rows, applies=("nightly", 7)).committed
        False
        >>> table.append(rows.append_column("note", pa.array(["a", "b", "c", "d"])), schema_mode="merge").version
        3
        >>> table.schema.names
        ('dt', 'app', 'n', 'note')
        """
        check_layout(layout)
        check_schema_mode(schema_mode)
        core = self._core

        def stage(transaction: Transaction) -> None:
            version = core.receiving(transaction, data, schema_mode)
            transaction.add(core.data_files(core.snapshot(layout, version), data), version)

        return core.write("append", applies, stage)

    def delete(self, where: Where, *, applies: Applies = None) -> WriteResult:
        """Remove the rows that match.

        What logical partitions decide goes by metadata alone, whatever else is in their files: the rows are still
        there, but not in the table; `purge` takes them out of the files. What they do not decide is rewritten. The
        property `remove.by` says when: `auto`, `mark` or `rewrite`.

        * `where`: a condition, as for `plan`; None removes every row.
        * `applies`: as for `append`.

        Raises `PredicateError`, `NeedsSpark` for a condition that only Spark can evaluate, `CommitConflict` if rows
        that may match were added meanwhile, or files that hold some are rewritten again and again.

        >>> table.delete("n > 2").rows_removed
        2
        """
        core = self._core

        def stage(transaction: Transaction) -> None:
            predicate = core.bound(where)
            removal.remove(transaction, predicate, core.rewrite, core.judge(predicate))

        return core.write("delete", applies, stage, attempts=_ATTEMPTS)

    def truncate(self, *, applies: Applies = None) -> WriteResult:
        """Remove all rows. Older versions still have them.

        * `applies`: as for `append`.

        Raises `CommitConflict` if rows were added meanwhile.

        >>> table.truncate().rows_removed
        4
        """
        core = self._core

        def stage(transaction: Transaction) -> None:
            removal.remove(transaction, TRUE, core.rewrite)

        return core.write("truncate", applies, stage, attempts=_ATTEMPTS)

    def overwrite(
        self,
        data: object,
        where: Where = None,
        *,
        allow_outside: bool = False,
        applies: Applies = None,
        layout: str | None = None,
        schema_mode: str = STRICT,
    ) -> WriteResult:
        """Replace the rows that match `where` by `data`, in one commit.

        * `data`: as for `append`.
        * `where`: a condition, as for `plan`; without it all rows are replaced.
        * `allow_outside`: take rows of `data`, too, that do not match `where` themselves. They would be added again
          when the same overwrite is repeated, and are refused otherwise.
        * `applies`, `layout`, `schema_mode`: as for `append`; and `"overwrite"`, which replaces the columns, too, by
          those of `data`. The partition fields stay, and older versions are what they were.

        Raises what `append` and `delete` raise.

        >>> result = table.overwrite(rows.filter(pa.compute.field("app") == "tiny"), "app = 'tiny'")
        >>> result.rows_added, result.rows_removed
        (1, 1)
        """
        check_flag(allow_outside, "allow_outside=")
        check_layout(layout)
        core = self._core
        if check_schema_mode(schema_mode, OVERWRITE) == OVERWRITE:
            if where is not None:
                raise InvalidArgument(
                    'with schema_mode="overwrite" all rows are replaced, and the columns with them: leave out where=.'
                )
            return replaced_by(core, data, None, applies, layout)

        def stage(transaction: Transaction) -> None:
            predicate = core.bound(where)
            version = core.receiving(transaction, data, schema_mode)
            # What is TRUE of every value that a column can hold need not be of those that a wider one will.
            within = core.bound(where, version.schema)
            snapshot = core.snapshot(layout, version)
            if not allow_outside and within != TRUE:
                snapshot = replace(snapshot, within=within)
            # What only Spark can judge may turn out to be beyond what there is: then before any row is written.
            if not is_plain(predicate):
                removal.remove(transaction, predicate, core.rewrite, core.judge(predicate))
            transaction.add(core.data_files(snapshot, data), version)
            if is_plain(predicate):
                removal.remove(transaction, predicate, core.rewrite)

        return core.write("overwrite", applies, stage)

    def overwrite_partitions(self, data: object, *, applies: Applies = None, schema_mode: str = STRICT) -> WriteResult:
        """Replace exactly the logical partitions that `data` has rows of, in one commit.

        A logical partition is one of the current partition fields; rows of it that were written under other fields go
        as well. Rows are always counted first: there is no `layout=`.

        * `data`, `applies`, `schema_mode`: as for `append`.

        Raises what `append` and `delete` raise.

        >>> result = table.overwrite_partitions(rows.slice(3))
        >>> result.rows_added, result.rows_removed
        (1, 1)
        """
        check_schema_mode(schema_mode)
        core = self._core

        def stage(transaction: Transaction) -> None:
            version, spec = core.receiving(transaction, data, schema_mode), core.version.spec
            if version.spec.types(version.schema) != spec.types(core.schema):
                raise SchemaError("the rows would widen a partition column; do that first, with widen_column().")
            added = core.data_files(core.snapshot(COUNTED, version), data)
            transaction.add(added, version)
            predicate = among(removal.tuples_in(added, spec), spec, core.schema)
            removal.remove(transaction, predicate, core.rewrite)

        return core.write("overwrite_partitions", applies, stage)

    def drop_partition(
        self, partition: Mapping[str, object] | None = None, /, *, applies: Applies = None, **values: object
    ) -> WriteResult:
        """Remove a logical partition: the rows whose columns have exactly these values (None is NULL).

        Rows that were written under other partition fields go as well.

        * `values`: the value of each column; a partition field that is no column goes by its own name, such as
          `ts_day`. Fewer than all fields remove several logical partitions.
        * `partition`: the same as a dict, or `LogicalPartition.values`, which are those of the fields listed, whatever
          else goes by their names.
        * `applies`: as for `append`.

        Raises `SchemaError` for names and values that are none of the table's, or a name that means several things, as
        after a partition column was dropped and another got its name; and `CommitConflict` as `delete` does.

        >>> table.drop_partition(dt="2026-05-17", app="tiny").rows_removed
        1
        >>> table.drop_partition(table.partitions()[0].values).rows_removed
        2
        """
        by_name = {} if partition is None else check_settings(partition, "the values")
        listed = partition if isinstance(partition, FieldValues) else by_name
        core = self._core

        def stage(transaction: Transaction) -> None:
            removal.remove(transaction, removal.equals(core.version, listed, values), core.rewrite)

        return core.write("drop_partition", applies, stage, attempts=_ATTEMPTS)

    def rollback(self, version: int) -> WriteResult:
        """Make an older version's state the newest: a new version with the old one's columns, fields, rule and files.

        What the result counts is by how much the two versions differ, files too: no manifest is read, so that this is
        also the way out of a version whose manifests are damaged.

        * `version`: the number of the older version.

        Raises `VersionNotFound`, `VersionExpired`, and `CommitConflict` if anything was committed meanwhile.

        >>> _ = table.truncate()
        >>> table.rollback(1).rows_added
        4
        """
        number, core = check_integer(version, "the version"), self._core
        transaction = core.transaction("rollback")
        transaction.exclusive = True
        if transaction.base.has_expired(number):
            raise expired(core.storage.root, number, transaction.base)  # though its file may be there, others may not
        old = core.log.load(number)
        if has_to_be_compatible(transaction.base):
            files = core.at(number).plan(TRUE).files
            core.check_compatible(transaction.base, files, f"version {number} has files that the table cannot have")
        transaction.summary["to_version"] = number
        transaction.change(lambda head: removal.rolled_back(head, old))
        transaction.replace_manifests(old.manifests)
        return core.committed(transaction)


def replaced_by(
    core: Core, data: object, partition_by: Sequence[str] | None, applies: Applies, layout: str | None
) -> WriteResult:
    """Replace all rows and columns by those of `data`, in one commit; without `partition_by` the fields stay."""

    def stage(transaction: Transaction) -> None:
        base, given = transaction.base, core.engines.for_data(data).infer_schema(data)
        # As in a table that a save creates: what rows happen to promise, later ones need not keep.
        columns = Schema(tuple(replace(field, required=False) for field in given))
        fields = partition_by
        if fields is None:
            fields = [field_text(field, base.schema) for field in base.spec.fields]
        version = replaced(base, columns, fields)
        transaction.exclusive = True
        transaction.change(lambda _: version)  # made once: columns get names of their own by chance
        transaction.replace_manifests(())
        transaction.add(core.data_files(core.snapshot(layout, version), data), version)

    return core.write("overwrite", applies, stage)
