"""What can be asked of a table at one version: plans, rows, counts, values, history."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Self

from coalesce.arguments import check_integer, check_moment, check_text, check_texts, shown
from coalesce.errors import (
    InvalidArgument,
    NeedsSpark,
    PredicateError,
    SchemaError,
    VersionNotFound,
)
from coalesce.model.datafile import DataFile
from coalesce.model.schema import Schema
from coalesce.model.types import Field, is_atomic
from coalesce.model.values import to_python
from coalesce.model.version import Version
from coalesce.plan.plan import Plan, make_plan
from coalesce.plan.report import Report
from coalesce.predicate.bind import bind
from coalesce.predicate.expr import TRUE, Bound, Combinable, Expr
from coalesce.predicate.mistakes import refuse, refuse_qualified
from coalesce.predicate.normalize import normalize
from coalesce.predicate.sql.parse import parse
from coalesce.storage.base import Storage
from coalesce.table.commit.log import Log
from coalesce.table.commit.manifests import Manifests
from coalesce.table.engine import Engines, Scan, Snapshot, check_layout
from coalesce.table.from_metadata import LogicalPartition, count_rows, distinct_values, extreme_value, list_partitions
from coalesce.table.listing import Listing, file_listing, partition_listing, version_listing
from coalesce.table.sizes import measured

Where = str | Expr | None


class TableReader:
    """A table at one version, with the engines that move its rows."""

    def __init__(
        self,
        storage: Storage,
        engines: Engines,
        *,
        log: Log | None = None,
        version: Version | None = None,
        pinned: bool = False,
        time_zone: str = "UTC",
        case_sensitive: bool = False,
    ) -> None:
        if not hasattr(storage, "put_if_absent"):
            raise InvalidArgument(
                f"a table is opened with coalesce.open({shown(storage)}), or made with coalesce.create()."
            )
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

    def refresh(self) -> Self:
        """Move on to the newest version."""
        if not self._pinned:
            self._version = self.log.load(self.log.newest())
        return self

    def at(self, *, version: int | None = None, as_of: datetime | None = None) -> Self:
        """The table as it was: at a version, or at a moment. The result stays there and is read-only.

        A moment without a time zone is UTC.
        """
        check_when(version, as_of)
        if (version is None) == (as_of is None):
            raise InvalidArgument("say either version= or as_of=.")
        number = int(version) if version is not None else self._number_at(as_of)  # type: ignore[arg-type]
        return type(self)(
            self.storage,
            self.engines,
            log=self.log,
            version=self.log.load(number),
            pinned=True,
            time_zone=self.time_zone,
            case_sensitive=self.case_sensitive,
        )

    def history(self, limit: int | None = None) -> Listing[Version]:
        """The versions still there, newest first; at most `limit` of them. One that is read-only ends with its own."""
        most = None if limit is None else check_integer(limit, "the number of versions", least=0)
        numbers = [n for n in reversed(self.log.numbers()) if not self._pinned or n <= self.version]
        return version_listing(self.log.load(n) for n in numbers[:most])

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
        return self._bound_to(self.schema, where)

    def _bound_to(self, columns: Schema, where: Where) -> Bound:
        if where is None:
            return TRUE
        _check_predicate(where)
        text = where if isinstance(where, str) else None
        expr = parse(where, time_zone=self.time_zone) if isinstance(where, str) else where
        refuse_qualified(expr, columns, text)
        bound = bind(expr, columns, case_sensitive=self.case_sensitive, time_zone=self.time_zone, text=text)
        if self.engines.frames is None:
            refuse(bound, text)
        return normalize(bound)

    def plan(self, where: Where = None) -> Plan:
        """Which files a query has to read, and why."""
        return self._plan(self.bound(where))

    def _plan(self, predicate: Bound) -> Plan:
        version = self._version
        return make_plan(version, predicate, lambda refs: self.manifests.load_all(refs, version))

    def scan(self, where: Where = None, columns: Sequence[str] | None = None) -> Scan:
        """The matching rows, to be read without Spark: `.to_arrow()` or `.to_batches()`."""
        names = None if columns is None else check_texts(columns, "the columns", "columns={}")
        for name in names or ():
            self.schema.field(name)
        return self.engines.rows.scan(self.snapshot(), self.plan(where), names)

    def read(self, *, version: int | None = None, as_of: datetime | None = None) -> Any:
        """The rows as a Spark DataFrame that prunes by itself: this version's, or those of an older one.

        It stays at that version, whatever is committed later.
        """
        table = self if version is None and as_of is None else self.at(version=version, as_of=as_of)
        return self.engines.needed_frames.dataframe(table.snapshot())

    def last_scan(self) -> Report | None:
        """What the last scan of this table by Spark, in this process, has read and why; None if there was none."""
        return self.engines.needed_frames.last_scan(self.snapshot())

    def count(self, where: Where = None) -> int:
        """How many rows match: from metadata where it is exact, from the rows of the other files."""
        try:
            return count_rows(self.plan(where), lambda plan: self.engines.rows.scan(self.snapshot(), plan, []))
        except NeedsSpark:
            if not isinstance(where, str) or self.engines.frames is None:
                raise
            return int(self.read().where(where).count())

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
        field = self.schema.field(check_text(name, "the name of a column"))
        if not is_atomic(field.type):
            raise SchemaError(f"column {field.name!r} is {field.type} and has no single values to compare.")
        return field

    def _scan_of(self, field: Field) -> Callable[[Plan], Scan]:
        return lambda plan: self.engines.rows.scan(self.snapshot(), plan, [field.name])

    def partitions(self, where: Where = None) -> Listing[LogicalPartition]:
        """The logical partitions, with files, rows and bytes, in order."""
        plan = self.plan(where)
        components = {m.spec.spec_id: m.components(self.schema) for m in plan.manifests}
        return partition_listing(list_partitions(plan), components)

    def files(self, where: Where = None) -> Listing[DataFile]:
        """The entries of the data files."""
        return file_listing(self.plan(where).files)

    # --- engines -------------------------------------------------------------------------------------------------

    def snapshot(self, layout: str | None = None) -> Snapshot:
        """This table at its current version, as engines see it."""
        return self._snapshot_of(self._version, layout)

    def _snapshot_of(self, version: Version, layout: str | None) -> Snapshot:
        check_layout(layout)
        load = partial(self.manifests.load_all, version=version)
        return Snapshot(storage=self.storage, version=version, measure=partial(measured, version, load), layout=layout)

    def __repr__(self) -> str:
        return f"<coalesce table {self.location} at version {self.version}>"


def check_when(version: object, as_of: object) -> None:
    """Whether these can say which version is meant."""
    if version is not None:
        check_integer(version, "version=")
    if as_of is not None:
        check_moment(as_of, "as_of=")


def _check_predicate(where: object) -> None:
    if not isinstance(where, str | Combinable):
        raise PredicateError(f"{shown(where)} is not a predicate; write SQL text, or compare a coalesce.col(…).")
