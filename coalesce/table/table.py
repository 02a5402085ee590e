"""A table: what users hold in their hands.

The object follows the table's newest version: its own commits at once, those of others with `refresh()` or with the
next write. One opened at a version or a time stays there and refuses writes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from numbers import Integral
from typing import Any
from uuid import uuid4

from coalesce.errors import (
    CoalesceError,
    NeedsSpark,
    PredicateError,
    SchemaError,
    TableExists,
    TableNotFound,
    VersionNotFound,
)
from coalesce.model.datafile import DataFile
from coalesce.model.rule import RuleRequest, keep_all, resolve
from coalesce.model.schema import Schema
from coalesce.model.spec import Spec, parse_partition_fields
from coalesce.model.types import Field, is_atomic
from coalesce.model.values import to_python
from coalesce.model.version import Version
from coalesce.plan.plan import Plan, make_plan
from coalesce.plan.report import Report
from coalesce.predicate.bind import bind
from coalesce.predicate.expr import TRUE, Bound, Combinable, Expr
from coalesce.predicate.normalize import normalize
from coalesce.predicate.sql import parse
from coalesce.storage.base import Storage
from coalesce.table import evolve, logical
from coalesce.table.answers import LogicalPartition, count_rows, distinct_values, extreme_value, list_partitions
from coalesce.table.compact import STEP_BYTES, Step, not_current, steps
from coalesce.table.engine import COUNTED, Engine, FrameEngine, Place, Scan
from coalesce.table.layouts import Layout, layouts
from coalesce.table.log import Log
from coalesce.table.manifests import Manifests
from coalesce.table.sizes import measured
from coalesce.table.transaction import Transaction
from coalesce.table.tuples import among

Where = str | Expr | None


class Table:
    """A table at one version, with the engines that move its rows."""

    def __init__(
        self,
        storage: Storage,
        engines: Sequence[Engine],
        *,
        log: Log | None = None,
        version: Version | None = None,
        pinned: bool = False,
        time_zone: str = "UTC",
        case_sensitive: bool = False,
    ) -> None:
        self.storage = storage
        self.engines = engines
        self.log = Log(storage) if log is None else log
        self.manifests = Manifests(storage)
        self.time_zone = time_zone
        self.case_sensitive = case_sensitive
        self._pinned = pinned
        self._version = self.log.load(self.log.newest()) if version is None else version

    # --- what it is ----------------------------------------------------------------------------------------------

    @property
    def location(self) -> str:
        """Where the table lies."""
        return self.storage.root

    @property
    def state(self) -> Version:
        """Everything the current version says."""
        return self._version

    @property
    def version(self) -> int:
        """The number of the version this object reads."""
        return self._version.number

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self._version.schema

    def refresh(self) -> "Table":
        """Move on to the newest version."""
        if not self._pinned:
            self._version = self.log.load(self.log.newest())
        return self

    def at(self, *, version: int | None = None, as_of: datetime | None = None) -> "Table":
        """The table as it was: at a version, or at a moment. The result stays there and is read-only."""
        if (version is None) == (as_of is None):
            raise CoalesceError("say either version= or as_of=.")
        _check_when(version, as_of)
        number = version if version is not None else self._number_at(as_of)  # type: ignore[arg-type]
        return Table(
            self.storage,
            self.engines,
            log=self.log,
            version=self.log.load(number),
            pinned=True,
            time_zone=self.time_zone,
            case_sensitive=self.case_sensitive,
        )

    def history(self, limit: int | None = None) -> list[Version]:
        """The versions still there, newest first."""
        numbers = self.log.numbers()[::-1]
        return [self.log.load(n) for n in numbers[:limit]]

    def _number_at(self, moment: datetime) -> int:
        """The newest version that was committed at or before `moment`, by bisection: versions are in time order."""
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        wanted = (aware - datetime.fromtimestamp(0, UTC)) // timedelta(milliseconds=1)  # a float would miss some
        numbers = self.log.numbers()
        low, high = 0, len(numbers)
        while low < high:
            middle = (low + high) // 2
            if self.log.load(numbers[middle]).timestamp_ms <= wanted:
                low = middle + 1
            else:
                high = middle
        if low == 0:
            raise VersionNotFound(f"the oldest version still there, {numbers[0]}, was committed after {moment}.")
        return numbers[low - 1]

    # --- reading -------------------------------------------------------------------------------------------------

    def bound(self, where: Where) -> Bound:
        """A predicate, bound to this version's columns."""
        if where is None:
            return TRUE
        _check_predicate(where)
        text = where if isinstance(where, str) else None
        expr = parse(where, time_zone=self.time_zone) if isinstance(where, str) else where
        return normalize(
            bind(expr, self.schema, case_sensitive=self.case_sensitive, time_zone=self.time_zone, text=text)
        )

    def plan(self, where: Where = None) -> Plan:
        """Which files a query has to read, and why."""
        return self._plan(self.bound(where))

    def _plan(self, predicate: Bound) -> Plan:
        version = self._version
        return make_plan(version, predicate, lambda ref: self.manifests.load(ref, version))

    def scan(self, where: Where = None, columns: Sequence[str] | None = None) -> Scan:
        """The matching rows, to be read without Spark: `.to_arrow()` or `.to_batches()`."""
        if isinstance(columns, str):
            raise SchemaError(f'the columns are a list: write columns=["{columns}"].')
        return self._rows.scan(self.place(), self.plan(where), columns)

    def read(self, *, version: int | None = None, as_of: datetime | None = None) -> Any:
        """The rows as a Spark DataFrame that prunes by itself: this version's, or those of an older one.

        It stays at that version, whatever is committed later.
        """
        table = self if version is None and as_of is None else self.at(version=version, as_of=as_of)
        return self._frames.dataframe(table.place())

    def last_scan(self) -> Report | None:
        """What the last scan of this table by Spark, in this process, has read and why; None if there was none."""
        return self._frames.last_scan(self.place())

    def count(self, where: Where = None) -> int:
        """How many rows match: from metadata where it is exact, from the rows of the other files."""
        return count_rows(self.plan(where), lambda plan: self._rows.scan(self.place(), plan, []))

    def distinct(self, column: str, where: Where = None) -> list[object]:
        """The distinct values of a column in the matching rows; of a partition column, from metadata alone."""
        field = self._atomic_column(column)
        found = distinct_values(self.plan(where), field, self._scan_of(field))
        return [to_python(field.type, v) for v in found]  # type: ignore[arg-type]

    def min(self, column: str, where: Where = None) -> object:
        """The smallest value of a column in the matching rows, NULL aside; reads only files that could hold it."""
        field = self._atomic_column(column)
        found = extreme_value(self.plan(where), field, self._scan_of(field), greatest=False)
        return to_python(field.type, found)  # type: ignore[arg-type]

    def max(self, column: str, where: Where = None) -> object:
        """The greatest value of a column in the matching rows, NULL aside; NaN is the greatest, as in Spark."""
        field = self._atomic_column(column)
        found = extreme_value(self.plan(where), field, self._scan_of(field), greatest=True)
        return to_python(field.type, found)  # type: ignore[arg-type]

    def _atomic_column(self, name: str) -> Field:
        field = self.schema.field(name)
        if not is_atomic(field.type):
            raise SchemaError(f"column {field.name!r} is {field.type} and has no single values to compare.")
        return field

    def _scan_of(self, field: Field) -> Callable[[Plan], Scan]:
        return lambda plan: self._rows.scan(self.place(), plan, [field.name])

    def partitions(self, where: Where = None) -> list[LogicalPartition]:
        """The logical partitions, with files, rows and bytes, in order."""
        return list_partitions(self.plan(where))

    def files(self, where: Where = None) -> tuple[DataFile, ...]:
        """The entries of the data files."""
        return self.plan(where).files

    # --- writing -------------------------------------------------------------------------------------------------

    def append(self, data: object, *, applies: tuple[str, int] | None = None, layout: str | None = None) -> Version:
        """Add rows. With `applies=(app, sequence)`, a write that was committed before is not done again.

        `layout="known"` lets Spark skip the pass that counts the rows of each logical partition, and go by those the
        table has; otherwise the property `write.layout` says.
        """
        transaction = self.transaction("append", applies=applies)
        if applies is not None and self._version.applied.get(applies[0], -1) >= applies[1]:
            return self._version
        transaction.add(self.engine_for(data).write(self.place(layout), data))
        return self.commit(transaction)

    def delete(self, where: Where) -> Version:
        """Remove the rows that match; whole files go by metadata, shared ones are rewritten without them."""
        transaction = self.transaction("delete")
        logical.remove(transaction, self.bound(where), self._rewrite)
        return self.commit(transaction)

    def truncate(self) -> Version:
        """Remove all rows."""
        return self.delete(None)

    def overwrite(self, data: object, where: Where = None, *, layout: str | None = None) -> Version:
        """Replace the rows that match `where` (all of them by default) by `data`, in one commit."""
        transaction = self.transaction("overwrite")
        predicate = self.bound(where)
        added = self.engine_for(data).write(self.place(layout), data)
        logical.remove(transaction, predicate, self._rewrite)
        transaction.add(added)
        return self.commit(transaction)

    def overwrite_partitions(self, data: object) -> Version:
        """Replace exactly the logical partitions that `data` has rows of, in one commit.

        A logical partition is one of the current spec; rows of it that were written under another spec go as well.
        """
        transaction = self.transaction("overwrite_partitions")
        added = self.engine_for(data).write(self.place(COUNTED), data)
        predicate = among(logical.tuples_in(added), self._version.spec, self.schema)
        logical.remove(transaction, predicate, self._rewrite)
        transaction.add(added)
        return self.commit(transaction)

    def drop_partition(self, **values: object) -> Version:
        """Remove a logical partition: the rows whose columns have exactly these values (None is NULL)."""
        transaction = self.transaction("drop_partition")
        logical.remove(transaction, logical.equals(self.schema, values), self._rewrite)
        return self.commit(transaction)

    def rollback(self, version: int) -> Version:
        """Make an older version's state the newest: a new version with the old one's schema and files."""
        transaction = self.transaction("rollback")
        transaction.exclusive = True
        old = self.log.load(version)
        transaction.summary["to_version"] = version
        transaction.change(lambda head: logical.rolled_back(head, old))
        transaction.replace_manifests(old.manifests)
        return self.commit(transaction)

    # --- changing what it is -------------------------------------------------------------------------------------

    def set_rule(self, rule: RuleRequest) -> Version:
        """Route new rows by another rule. Files already written stay where they are and are still found."""

        def change(head: Version) -> Version:
            resolved = resolve(rule, max(r.rule_id for r in head.rules) + 1, head.spec, head.schema)
            return replace(head, rules=(*head.rules, resolved), current_rule_id=resolved.rule_id)

        return self._change("set_rule", change)

    def set_properties(self, properties: Mapping[str, str | None]) -> Version:
        """Set properties; None takes one away."""

        def change(head: Version) -> Version:
            merged: dict[str, str | None] = {**head.properties, **properties}
            return replace(head, properties={k: v for k, v in merged.items() if v is not None})

        return self._change("set_properties", change)

    def evolve(
        self, *, add: evolve.Texts = (), drop: evolve.Texts = (), replace: Mapping[str, str] | None = None
    ) -> Version:
        """Partition new rows otherwise: `evolve(add="bucket(64, merchant)", drop="region")`. No file is touched."""
        return self._change("evolve", lambda head: evolve.evolve_spec(head, add, drop, replace))

    def add_column(
        self,
        name: str,
        type_: object,
        *,
        after: str | None = None,
        first: bool = False,
        default: object = None,
        required: bool = False,
    ) -> Version:
        """Add a column; rows already there hold `default` in it, or NULL. `a.b` adds a member to a struct."""
        return self._change(
            "add_column",
            lambda head: evolve.add_column(
                head, name, type_, after=after, first=first, default=default, required=required
            ),
        )

    def drop_column(self, name: str) -> Version:
        """Drop a column; a later one of the same name never shows its values."""
        return self._change("drop_column", lambda head: evolve.drop_column(head, name))

    def rename_column(self, name: str, new_name: str) -> Version:
        """Rename a column, a partition column too: one commit, and nothing else is written."""
        return self._change("rename_column", lambda head: evolve.rename_column(head, name, new_name))

    def reorder(self, names: Sequence[str]) -> Version:
        """Put these columns first, in this order."""
        return self._change("reorder", lambda head: evolve.reorder(head, names))

    def widen_column(self, name: str, type_: object) -> Version:
        """Give a column a type that holds every value of the old one: `int32` → `int64`, `float` → `double`, …"""
        return self._change("widen_column", lambda head: evolve.widen_column(head, name, type_))

    def enable_feature(self, feature: str) -> Version:
        """Turn a writer feature on, such as `icebergCompatV3`."""
        return self._change("enable_feature", lambda head: evolve.enable_feature(head, feature))

    def replace_schema(self, schema: object, *, partition_by: Sequence[str] = ()) -> Version:
        """Begin again, empty, with another schema and spec; older versions keep their rows."""
        columns = schema if isinstance(schema, Schema) else self.engine_for(schema).infer_schema(schema)
        transaction = self.transaction("replace")
        transaction.exclusive = True
        transaction.change(lambda head: evolve.replaced(head, columns, partition_by))
        transaction.replace_manifests(())
        return self.commit(transaction)

    def compact(self, where: Where = None, *, step_bytes: int = STEP_BYTES) -> Iterator[Step]:
        """Move files of older specs and rules to the current layout: one commit for each step that is taken.

        `for step in table.compact(): …` shows progress and may stop at any time; `list(table.compact())` does it all.
        """
        left = sum(f.bytes for f in not_current(self.refresh().plan(where)))
        for batch in steps(not_current(self.plan(where)), step_bytes):
            transaction = self.transaction("compact")
            added = self._rows.relayout(self.place(), batch)
            transaction.remove(batch)
            transaction.add(added)
            version = self.commit(transaction)
            moved = sum(f.bytes for f in batch)
            left -= moved
            yield Step(
                version=version.number,
                files_before=len(batch),
                files_after=len(added),
                bytes_moved=moved,
                bytes_left=left,
            )

    def describe_evolution(self) -> list[Layout]:
        """Which files are in which spec and rule, what a backfill would move, and how well each prunes."""
        return layouts(self.plan())

    def _change(self, operation: str, change: Callable[[Version], Version]) -> Version:
        transaction = self.transaction(operation)
        transaction.change(change)
        return self.commit(transaction)

    # --- transactions --------------------------------------------------------------------------------------------

    def transaction(self, operation: str, *, applies: tuple[str, int] | None = None) -> Transaction:
        """Begin to stage changes against the newest version."""
        if self._pinned:
            raise CoalesceError(f"this table was opened at version {self.version} and is read-only; open it afresh.")
        self.refresh()
        self._version.check_writable()
        return Transaction(self.log, self.manifests, self._version, operation, applies=applies)

    def commit(self, transaction: Transaction) -> Version:
        """Commit, and move on to the version that holds the change."""
        self._version = transaction.commit()
        return self._version

    # --- engines -------------------------------------------------------------------------------------------------

    def engine_for(self, data: object) -> Engine:
        """The engine that understands `data`."""
        return _engine_for(self.engines, data)

    @property
    def _frames(self) -> FrameEngine:
        """The engine that reads rows with Spark."""
        for engine in self.engines:
            if isinstance(engine, FrameEngine):
                return engine
        raise NeedsSpark("reading with Spark needs a session: open the table with spark=…, or use scan() without one.")

    @property
    def _rows(self) -> Engine:
        """The engine that reads rows without Spark: always the first."""
        return self.engines[0]

    def _rewrite(self, files: Sequence[DataFile], drop: Bound) -> list[DataFile]:
        """Shared files written again by Spark if there is one, since it can evaluate any predicate."""
        return self.engines[-1].rewrite(self.place(), files, drop)

    def place(self, layout: str | None = None) -> Place:
        """This table at its current version, as engines see it."""
        version = self._version
        load = partial(self.manifests.load, version=version)
        return Place(storage=self.storage, version=version, measure=partial(measured, version, load), layout=layout)

    def __repr__(self) -> str:
        return f"<coalesce table {self.location} at version {self.version}>"


def create_table(
    storage: Storage,
    engines: Sequence[Engine],
    schema: object,
    *,
    partition_by: Sequence[str] = (),
    rule: RuleRequest | None = None,
    properties: Mapping[str, str] | None = None,
    time_zone: str = "UTC",
) -> Table:
    """Create an empty table; TableExists if there is one."""
    columns = schema if isinstance(schema, Schema) else _engine_for(engines, schema).infer_schema(schema)
    spec = Spec(0, parse_partition_fields(partition_by, columns))
    version = Version(
        number=0,
        table_id=uuid4().hex,
        commit_id=uuid4().hex,
        parent_commit_id=None,
        timestamp_ms=int(datetime.now(UTC).timestamp() * 1000),
        operation="create",
        schema=columns,
        specs=(spec,),
        current_spec_id=0,
        rules=(resolve(keep_all() if rule is None else rule, 0, spec, columns),),
        current_rule_id=0,
        properties=dict(properties or {}),
        max_column_id=columns.highest_id,
    )
    log = Log(storage)
    try:
        newest = log.newest()
    except TableNotFound:
        newest = None
    if newest is not None or not log.create(version):
        raise TableExists(f"there is a coalesce table at {storage.root} already; open it with coalesce.open().")
    return Table(storage, engines, log=log, version=version, time_zone=time_zone)


def _engine_for(engines: Sequence[Engine], data: object) -> Engine:
    for engine in engines:
        if engine.accepts(data):
            return engine
    kind = f"{type(data).__module__}.{type(data).__qualname__}".removeprefix("builtins.")
    if kind.startswith("pyspark."):
        hint = "open the table with spark=…"
    else:
        hint = "give a pyarrow table, a pandas data frame, or, to a table opened with spark=…, a Spark DataFrame"
    raise SchemaError(f"a {kind} is neither rows nor a schema that this table can take; {hint}.")


def _check_when(version: object, as_of: object) -> None:
    if version is not None and not isinstance(version, Integral):
        raise CoalesceError(f"version= is a number such as 7, not {version!r:.60}.")
    if as_of is not None and not isinstance(as_of, datetime):
        raise CoalesceError(f"as_of= is a datetime, not {as_of!r:.60}.")


def _check_predicate(where: object) -> None:
    if not isinstance(where, str | Combinable):
        raise PredicateError(f"{where!r:.60} is not a predicate; write SQL text, or compare a coalesce.col(…).")
