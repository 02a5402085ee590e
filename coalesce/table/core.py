"""What a table is made of, behind what users see of it.

A `Table` promises its public members and nothing else. Sources, commands and tests of ours need more: where its bytes
are, how a predicate is bound, a transaction. All of it is here, behind one door (`core_of` in `table.py`), so that
nothing becomes part of the promise because some module needed it.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from coalesce.arguments import check_kind, check_text, shown
from coalesce.errors import CoalesceError, CommitConflict, PredicateError, VersionExpired, VersionNotFound
from coalesce.model.datafile import DataFile
from coalesce.model.rule import PhysicalKey
from coalesce.model.schema import Schema
from coalesce.model.version import ICEBERG_COMPAT_V3, Version
from coalesce.plan.plan import Plan, make_plan
from coalesce.plan.planner import JudgeOpaque
from coalesce.predicate.bind import bind
from coalesce.predicate.expr import TRUE, Bound, Combinable, Expr
from coalesce.predicate.mistakes import refuse, refuse_qualified
from coalesce.predicate.normalize import is_plain, normalize
from coalesce.predicate.sql.parse import parse
from coalesce.storage.base import Storage
from coalesce.table.commit.conflicts import FilesGone
from coalesce.table.commit.log import Log
from coalesce.table.commit.manifests import Manifests
from coalesce.table.commit.transaction import Transaction
from coalesce.table.compat import check_compatible, has_to_be_compatible, to_look_at
from coalesce.table.engine import Engines, Rewritten, Snapshot, check_layout
from coalesce.table.exports import ExportSource, automatic, export_after_commit
from coalesce.table.maintain.tags import no_tag
from coalesce.table.new_columns import STRICT, change_to, merged
from coalesce.table.result import WriteResult
from coalesce.table.sizes import measured
from coalesce.table.written import WrittenFiles

Where = str | Expr | None

# What a write is known by that is to be made once: an application, and the number of its write.
Applies = tuple[str, int] | None

Stage = Callable[[Transaction], None]

# Looks after a table when a write has put files into some physical partitions.
Tend = Callable[["Core", Collection[PhysicalKey]], None]

# Writes files again without the rows that were removed from them.
Purge = Callable[["Core"], None]


@dataclass(eq=False)
class Core:
    """A table at `version`, and whatever reads it, writes it and commits; `pinned` stays there and refuses writes.

    `tend` is called after each write of rows, and `purge` before an export that cannot tell of dead rows.
    """

    storage: Storage
    engines: Engines
    log: Log
    manifests: Manifests
    version: Version
    pinned: bool = False
    time_zone: str = "UTC"
    case_sensitive: bool = False
    tend: Tend | None = None
    purge: Purge | None = None
    exporting: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        """To be sent elsewhere: without a Spark session, and without what is remembered of versions and manifests."""
        engines = Engines(self.engines.rows)
        rest = (self.pinned, self.time_zone, self.case_sensitive, self.tend, self.purge)
        return _received, (self.storage, engines, self.version, *rest)

    # --- which version -------------------------------------------------------------------------------------------

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self.version.schema

    def refresh(self) -> None:
        """Move on to the newest version, unless pinned."""
        if not self.pinned:
            before, self.version = self.version, self.log.load(self.log.newest())
            if before.commit_id != self.version.commit_id:
                self.manifests.superseded(before, self.version)

    def at(self, number: int) -> "Core":
        """The table as it was at a version, to stay there."""
        newest = None if self.pinned else self.version  # as far as it is known here
        return replace(self, version=self.log.retained(number, newest), pinned=True)

    def number_of(self, version: int | str) -> int:
        """The number of a version, which may be given by a tag."""
        if not isinstance(version, str):
            return version
        tags = self.log.load(self.log.newest()).tags
        if version not in tags:
            raise no_tag(version, tags, self.storage.root)
        return tags[version]

    def number_at(self, moment: datetime) -> int:
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
        found = numbers[low - 1]
        if low < len(numbers) and numbers[low] != found + 1:  # kept by a tag, and those after it are gone
            raise VersionExpired(
                f"the version of {moment} has expired: it may have been any of those between version {found} and "
                f"version {numbers[low]}."
            )
        return found

    # --- reading -------------------------------------------------------------------------------------------------

    def bound(self, where: Where, schema: Schema | None = None) -> Bound:
        """A predicate, bound to this version's columns, or to those of `schema`."""
        if where is None:
            return TRUE
        if not isinstance(where, str | Combinable):
            raise PredicateError(f"{shown(where)} is not a predicate; write SQL text, or compare a coalesce.col(…).")
        columns = self.schema if schema is None else schema
        text = where if isinstance(where, str) else None
        expr = parse(where, time_zone=self.time_zone) if isinstance(where, str) else where
        refuse_qualified(expr, columns, text)
        bound = bind(expr, columns, case_sensitive=self.case_sensitive, time_zone=self.time_zone, text=text)
        if self.engines.frames is None:
            refuse(bound, text)
        return normalize(bound)

    def plan(self, predicate: Bound) -> Plan:
        """The files of the version that may hold a row on which the predicate is TRUE."""
        return make_plan(self.version, predicate, partial(self.manifests.load_all, version=self.version))

    def snapshot(self, layout: str | None = None, version: Version | None = None) -> Snapshot:
        """The table at its version, or at one that it is to have, as engines see it."""
        check_layout(layout)
        seen = self.version if version is None else version
        load = partial(self.manifests.load_all, version=seen)
        return Snapshot(storage=self.storage, version=seen, measure=partial(measured, seen, load), layout=layout)

    # --- writing -------------------------------------------------------------------------------------------------

    def transaction(self, operation: str, *, applies: Applies = None) -> Transaction:
        """Begin to stage changes against the newest version."""
        self.check_follows()
        self.refresh()
        self.version.check_writable()
        named = check_text(operation, "the name of an operation")
        return Transaction(self.version, named, applies=applies, log=self.log, manifests=self.manifests)

    def check_follows(self) -> None:
        """Refuse to change a table that was opened at a version."""
        if self.pinned:
            raise CoalesceError(
                f"this table was opened at version {self.version.number} and is read-only; open it afresh."
            )

    def commit(self, transaction: Transaction) -> Version:
        """Commit, and move on to the version that holds the change, or past it if an export has to purge files."""
        check_kind(transaction, Transaction, "a transaction of this table; begin one with transaction()")
        if has_to_be_compatible(transaction.base):
            added = to_look_at(transaction.base, transaction.added_files())
            self.check_compatible(transaction.base, added, "files do not fit the table")
        committed = self.version = transaction.commit()
        if not self.exporting and automatic(committed.properties) and committed.commit_id == transaction.commit_id:
            self.exporting = True  # a purge commits, too
            try:
                export_after_commit(self.export_source)
            finally:
                self.exporting = False
        return committed

    def check_compatible(self, version: Version, files: Iterable[DataFile], what: str) -> None:
        """Refuse files that `icebergCompatV3` excludes, by their footers; `what` begins the sentence."""
        look = partial(self.engines.rows.unfit_for_iceberg, self.storage, version)
        check_compatible(version, files, look, f"{what} with {ICEBERG_COMPAT_V3}")

    def export_source(self) -> ExportSource:
        """This version, to be written down in the words of another format."""
        version = self.version
        return ExportSource(
            storage=self.storage,
            version=version,
            load=partial(self.manifests.load_all, version=version),
            newest=lambda: Log(self.storage).surely_newest(),
            purge=self._purge,
        )

    def _purge(self) -> None:
        if self.purge is not None:
            self.purge(self)

    def write(
        self,
        operation: str,
        applies: Applies,
        stage: Stage,
        *,
        attempts: int = 1,
        again: tuple[type[CommitConflict], ...] = (FilesGone,),
    ) -> WriteResult:
        """Stage a change of rows and commit it, unless that was done before.

        One that needs no rows from outside can be staged again if others have moved the files that it went by, as a
        compaction does, or for another reason that is named: so many `attempts`.
        """
        for attempt in range(attempts):
            transaction = self.transaction(operation, applies=applies)
            try:
                result = self.committed(transaction, stage)
                break
            except again:
                if attempt == attempts - 1:
                    raise
        if self.tend is not None and result.committed:
            self.tend(self, transaction.touched)
        return result

    def change(self, operation: str, change: Callable[[Version], Version]) -> WriteResult:
        """Commit a change of metadata."""
        transaction = self.transaction(operation)
        transaction.change(change)
        return self.committed(transaction)

    def committed(self, transaction: Transaction, stage: Stage | None = None) -> WriteResult:
        """Stage what is still to be staged, and commit; if that fails, nothing is left behind."""
        version = self.version
        try:
            if not transaction.was_applied:
                if stage is not None:
                    stage(transaction)
                version = self.commit(transaction)
        except BaseException:
            transaction.abandon()
            raise
        return transaction.result(version)

    def receiving(self, transaction: Transaction, data: object, schema_mode: str) -> Version:
        """The version that rows are written for: the newest, and with `merge` the columns that they bring."""
        base = transaction.base
        if schema_mode == STRICT:
            return base
        version = merged(base, self.engines.for_data(data).infer_schema(data, base.schema))
        if version.schema != base.schema:
            transaction.change(change_to(version, base))
        return version

    def data_files(self, snapshot: Snapshot, data: object) -> list[DataFile]:
        """Rows as data files, or the data files that workers have made of them."""
        if isinstance(data, WrittenFiles):
            return data.take(snapshot.version)
        return self.engines.for_data(data).write(snapshot, data)

    def judge(self, predicate: Bound) -> JudgeOpaque | None:
        """What judges the conditions of a predicate on tuples that only an engine of frames understands."""
        frames = self.engines.frames
        return frames.judge(self.snapshot()) if frames is not None and not is_plain(predicate) else None

    def rewrite(self, files: Sequence[DataFile], drop: Bound) -> Rewritten:
        """Shared files written again by Spark if there is one, since it can evaluate any predicate."""
        return self.engines.widest.rewrite(self.snapshot(), files, drop)


def _received(
    storage: Storage,
    engines: Engines,
    version: Version,
    pinned: bool,
    time_zone: str,
    case_sensitive: bool,
    tend: Tend | None,
    purge: Purge | None,
) -> Core:
    log, manifests = Log(storage), Manifests(storage)
    return Core(storage, engines, log, manifests, version, pinned, time_zone, case_sensitive, tend, purge)
