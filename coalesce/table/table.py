"""A table: what users hold in their hands.

The object follows the table's newest version: its own commits at once, those of others with `refresh()` or with the
next write. One opened at a version or a time stays there and refuses writes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from coalesce.arguments import check_flag, check_integer, check_kind, check_settings, check_text, check_texts
from coalesce.errors import CoalesceError, SchemaError
from coalesce.model.datafile import DataFile
from coalesce.model.rule import RuleRequest, resolve
from coalesce.model.schema import Schema
from coalesce.model.version import Version
from coalesce.predicate.expr import TRUE, Bound
from coalesce.predicate.normalize import has_opaque
from coalesce.table import evolve, removal
from coalesce.table.commit.changes import COMPACT
from coalesce.table.commit.transaction import Transaction
from coalesce.table.compact import STEP_BYTES, Step, first_step, not_current
from coalesce.table.engine import COUNTED, Rewritten, Snapshot, check_layout
from coalesce.table.generations import Generation, generations
from coalesce.table.newcolumns import STRICT, change_to, check_schema_mode, merged
from coalesce.table.properties import asked_by, changed
from coalesce.table.reading import TableReader, Where
from coalesce.table.result import WriteResult
from coalesce.table.tuples import among
from coalesce.table.written import WrittenFiles

# What a write is known by that is to be made once: an application, and the number of its write.
Applies = tuple[str, int] | None


class Table(TableReader):
    """A table that can be asked, written to and changed."""

    # --- writing -------------------------------------------------------------------------------------------------

    def append(
        self, data: object, *, applies: Applies = None, layout: str | None = None, schema_mode: str = STRICT
    ) -> WriteResult:
        """Add rows. With `applies=(application, sequence)`, a write that was committed before is not made again.

        `layout="known"` lets Spark skip the pass that counts the rows of each logical partition, and go by those the
        table has; otherwise the property `write.layout` says.
        """
        check_layout(layout)
        check_schema_mode(schema_mode)

        def stage(transaction: Transaction) -> None:
            version = self._receiving(transaction, data, schema_mode)
            transaction.add(self._data_files(self._snapshot_of(version, layout), data), version.schema)

        return self._write("append", applies, stage)

    def delete(self, where: Where, *, applies: Applies = None) -> WriteResult:
        """Remove the rows that match; whole files go by metadata, shared ones are rewritten without them."""

        def stage(transaction: Transaction) -> None:
            removal.remove(transaction, self.bound(where), self._rewrite)

        return self._write("delete", applies, stage)

    def truncate(self, *, applies: Applies = None) -> WriteResult:
        """Remove all rows."""

        def stage(transaction: Transaction) -> None:
            removal.remove(transaction, TRUE, self._rewrite)

        return self._write("truncate", applies, stage)

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
        """Replace the rows that match `where` (all of them by default) by `data`, in one commit.

        Rows of `data` that do not match `where` themselves are refused, unless `allow_outside`: they would be added
        again when the same overwrite is repeated.
        """
        check_flag(allow_outside, "allow_outside=")
        check_layout(layout)
        check_schema_mode(schema_mode)

        def stage(transaction: Transaction) -> None:
            predicate = self.bound(where)
            version = self._receiving(transaction, data, schema_mode)
            snapshot = self._snapshot_of(version, layout)
            if not allow_outside and predicate != TRUE:
                snapshot = replace(snapshot, within=self._bound_to(version.schema, where))
            # What only Spark can judge may turn out to be beyond what there is: then before any row is written.
            if has_opaque(predicate):
                removal.remove(transaction, predicate, self._rewrite)
            transaction.add(self._data_files(snapshot, data), version.schema)
            if not has_opaque(predicate):
                removal.remove(transaction, predicate, self._rewrite)

        return self._write("overwrite", applies, stage)

    def overwrite_partitions(self, data: object, *, applies: Applies = None, schema_mode: str = STRICT) -> WriteResult:
        """Replace exactly the logical partitions that `data` has rows of, in one commit.

        A logical partition is one of the current spec; rows of it that were written under another spec go as well.
        """
        check_schema_mode(schema_mode)

        def stage(transaction: Transaction) -> None:
            version, spec = self._receiving(transaction, data, schema_mode), self._version.spec
            if version.spec.types(version.schema) != spec.types(self.schema):
                raise SchemaError("the rows would widen a partition column; do that first, with widen_column().")
            added = self._data_files(self._snapshot_of(version, COUNTED), data)
            transaction.add(added, version.schema)
            predicate = among(removal.tuples_in(added, spec), spec, self.schema)
            removal.remove(transaction, predicate, self._rewrite)

        return self._write("overwrite_partitions", applies, stage)

    def drop_partition(
        self, partition: Mapping[str, object] | None = None, /, *, applies: Applies = None, **values: object
    ) -> WriteResult:
        """Remove a logical partition: the rows whose columns have exactly these values (None is NULL).

        A partition field that is no column goes by its own name: `drop_partition(ts_day="2026-05-17")`. A dict does as
        well, such as `LogicalPartition.values`.
        """
        named = {**({} if partition is None else check_settings(partition, "the values")), **values}

        def stage(transaction: Transaction) -> None:
            removal.remove(transaction, removal.equals(self._version, named), self._rewrite)

        return self._write("drop_partition", applies, stage)

    def rollback(self, version: int) -> WriteResult:
        """Make an older version's state the newest: a new version with the old one's schema and files."""
        number = check_integer(version, "the version")
        transaction = self.transaction("rollback")
        transaction.exclusive = True
        old = self.log.load(number)
        transaction.summary["to_version"] = number
        transaction.change(lambda head: removal.rolled_back(head, old))
        transaction.replace_manifests(old.manifests)
        return self._committed(transaction)

    # --- changing what it is -------------------------------------------------------------------------------------

    def set_rule(self, rule: RuleRequest) -> WriteResult:
        """Route new rows by another rule. Files already written stay where they are and are still found."""

        def change(head: Version) -> Version:
            resolved = resolve(rule, max(r.rule_id for r in head.rules) + 1, head.spec, head.schema)
            properties = {**head.properties, **asked_by(rule)}
            return replace(head, rules=(*head.rules, resolved), current_rule_id=resolved.rule_id, properties=properties)

        return self._change("set_rule", change)

    def set_properties(self, properties: Mapping[str, str | None]) -> WriteResult:
        """Set properties; None takes one away."""
        return self._change(
            "set_properties", lambda head: replace(head, properties=changed(head.properties, properties))
        )

    def evolve(
        self, *, add: evolve.Texts = (), drop: evolve.Texts = (), replace: Mapping[str, str] | None = None
    ) -> WriteResult:
        """Partition new rows otherwise: `evolve(add="bucket(64, merchant)", drop="region")`. No file is touched."""
        added, dropped = evolve.texts(add), evolve.texts(drop)  # an iterator, too, is read once and not at each attempt
        return self._change("evolve", lambda head: evolve.evolve_spec(head, added, dropped, replace))

    def add_column(
        self,
        name: str,
        type_: object,
        *,
        after: str | None = None,
        first: bool = False,
        default: object = None,
        required: bool = False,
    ) -> WriteResult:
        """Add a column; rows already there hold `default` in it, or NULL. `a.b` adds a member to a struct."""
        return self._change(
            "add_column",
            lambda head: evolve.add_column(
                head, name, type_, after=after, first=first, default=default, required=required
            ),
        )

    def drop_column(self, name: str) -> WriteResult:
        """Drop a column; a later one of the same name never shows its values."""
        return self._change("drop_column", lambda head: evolve.drop_column(head, name))

    def rename_column(self, name: str, new_name: str) -> WriteResult:
        """Rename a column, a partition column too: one commit, and nothing else is written."""
        return self._change("rename_column", lambda head: evolve.rename_column(head, name, new_name))

    def reorder(self, names: Sequence[str]) -> WriteResult:
        """Put these columns first, in this order."""
        first = check_texts(names, "the columns", "reorder({})")
        return self._change("reorder", lambda head: evolve.reorder(head, first))

    def widen_column(self, name: str, type_: object) -> WriteResult:
        """Give a column a type that holds every value of the old one: `int32` → `int64`, `float` → `double`, …"""
        return self._change("widen_column", lambda head: evolve.widen_column(head, name, type_))

    def enable_feature(self, feature: str) -> WriteResult:
        """Turn a writer feature on, such as `icebergCompatV3`."""
        return self._change("enable_feature", lambda head: evolve.enable_feature(head, feature))

    def replace_schema(self, schema: object, *, partition_by: Sequence[str] = ()) -> WriteResult:
        """Begin again, empty, with another schema and spec; older versions keep their rows."""
        columns = schema if isinstance(schema, Schema) else self.engines.for_data(schema).infer_schema(schema)
        fields = check_texts(partition_by, "the partition fields", "{}")
        transaction = self.transaction("replace")
        transaction.exclusive = True
        transaction.change(lambda head: evolve.replaced(head, columns, fields))
        transaction.replace_manifests(())
        return self._committed(transaction)

    def compact(self, where: Where = None, *, step_bytes: int = STEP_BYTES) -> Iterator[Step]:
        """Move files of older specs and rules to the current ones: one commit for each step that is taken.

        `for step in table.compact(): …` shows progress and may stop at any time; `list(table.compact())` does it all.
        """
        self.bound(where)
        return self._steps(where, check_integer(step_bytes, "step_bytes=", least=1))

    def _steps(self, where: Where, step_bytes: int) -> Iterator[Step]:
        while True:
            # Between two steps anything may happen to the table: each is planned from the version it builds on.
            transaction = self.transaction(COMPACT)
            left = not_current(self.plan(where))
            batch = first_step(left, step_bytes)
            if not batch:
                return
            result = self._committed(transaction, partial(self._move, batch))
            moved = sum(f.bytes for f in batch)
            yield Step(
                version=result.version,
                files_before=len(batch),
                files_after=result.files_added,
                bytes_moved=moved,
                bytes_left=sum(f.bytes for f in left) - moved,
            )

    def _move(self, files: Sequence[DataFile], transaction: Transaction) -> None:
        moved = self.engines.rows.compact(self.snapshot(), files)
        transaction.add(moved)
        transaction.remove(files)
        transaction.rewritten = sum(f.rows for f in moved)

    def describe_evolution(self) -> list[Generation]:
        """Which files are in which spec and rule, what compact() would move, and how well each prunes."""
        return generations(self.plan())

    def _change(self, operation: str, change: Callable[[Version], Version]) -> WriteResult:
        transaction = self.transaction(operation)
        transaction.change(change)
        return self._committed(transaction)

    # --- transactions --------------------------------------------------------------------------------------------

    def transaction(self, operation: str, *, applies: Applies = None) -> Transaction:
        """Begin to stage changes against the newest version."""
        if self._pinned:
            raise CoalesceError(f"this table was opened at version {self.version} and is read-only; open it afresh.")
        self.refresh()
        self._version.check_writable()
        named = check_text(operation, "the name of an operation")
        return Transaction(self.log, self.manifests, self._version, named, applies=applies)

    def _write(self, operation: str, applies: Applies, stage: Callable[[Transaction], None]) -> WriteResult:
        """Stage a change of rows and commit it, unless that was done before."""
        return self._committed(self.transaction(operation, applies=applies), stage)

    def _receiving(self, transaction: Transaction, data: object, schema_mode: str) -> Version:
        """The version that rows are written for: the newest, and with `merge` the columns that they bring."""
        base = transaction.base
        if schema_mode == STRICT:
            return base
        version = merged(base, self.engines.for_data(data).infer_schema(data))
        if version.schema != base.schema:
            transaction.change(change_to(version, base))
        return version

    def _committed(self, transaction: Transaction, stage: Callable[[Transaction], None] | None = None) -> WriteResult:
        """Stage what is still to be staged, and commit; if that fails, nothing is left behind."""
        try:
            if not transaction.was_applied:
                if stage is not None:
                    stage(transaction)
                self.commit(transaction)
        except BaseException:
            transaction.abandon()
            raise
        return transaction.result(self._version)

    def commit(self, transaction: Transaction) -> Version:
        """Commit, and move on to the version that holds the change."""
        check_kind(transaction, Transaction, "a transaction of this table; begin one with transaction()")
        self._version = transaction.commit()
        return self._version

    def _data_files(self, snapshot: Snapshot, data: object) -> list[DataFile]:
        """Rows as data files, or the data files that workers have made of them."""
        if isinstance(data, WrittenFiles):
            return data.take(snapshot.version)
        return self.engines.for_data(data).write(snapshot, data)

    def _rewrite(self, files: Sequence[DataFile], drop: Bound) -> Rewritten:
        """Shared files written again by Spark if there is one, since it can evaluate any predicate."""
        return self.engines.widest.rewrite(self.snapshot(), files, drop)
