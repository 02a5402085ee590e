"""What can be asked of a table at one version: plans, rows, counts, values, history."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Self

from coalesce.arguments import check_integer, check_moment, check_text, check_texts, shown
from coalesce.errors import InvalidArgument, NeedsSpark, SchemaError, VersionExpired
from coalesce.model.datafile import DataFile
from coalesce.model.schema import Schema
from coalesce.model.types import Field, is_atomic
from coalesce.model.values import to_python
from coalesce.model.version import Version
from coalesce.plan.plan import Plan
from coalesce.plan.report import Report
from coalesce.storage.base import Storage
from coalesce.table.commit.log import Log
from coalesce.table.commit.manifests import Manifests
from coalesce.table.core import Core, Purge, Tend, Where
from coalesce.table.engine import Engines, Rows, Scan
from coalesce.table.feed import feed_of
from coalesce.table.from_metadata import (
    LogicalPartition,
    components_of,
    count_rows,
    distinct_values,
    extreme_value,
    list_partitions,
)
from coalesce.table.listing import Listing, file_listing, partition_listing, version_listing
from coalesce.table.maintain.tags import check_tag


class TableReader:
    """A table at one version, to be asked."""

    _core: Core

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
        known = Log(storage) if log is None else log
        self._core = Core(
            storage,
            engines,
            known,
            Manifests(storage),
            known.load(known.newest()) if version is None else version,
            pinned,
            time_zone=time_zone,
            case_sensitive=case_sensitive,
            tend=self._tend(),
            purge=self._purge(),
        )

    def _tend(self) -> Tend | None:
        """What looks after the table when rows have been written."""
        return None

    def _purge(self) -> Purge | None:
        """What writes files again without the rows that were removed from them."""
        return None

    # --- what it is ----------------------------------------------------------------------------------------------

    @property
    def location(self) -> str:
        """Where the table lies, as it was given.

        >>> table.location
        'events'
        """
        return self._core.storage.root

    @property
    def version(self) -> int:
        """The number of the version that this object reads.

        >>> table.version
        1
        """
        return self._core.version.number

    @property
    def schema(self) -> Schema:
        """The columns.

        >>> table.schema
        <schema: dt date, app string, n int64>
        >>> table.schema.names
        ('dt', 'app', 'n')
        """
        return self._core.schema

    @property
    def state(self) -> Version:
        """Everything that the version says: columns, partition fields, rules, properties, counts.

        >>> table.state.rows, table.state.files, table.state.operation
        (4, 2, 'append')
        """
        return self._core.version

    def refresh(self) -> Self:
        """Move on to the newest version, in place, and return this object. One opened at a version stays there.

        A write does that by itself. Raises `TableNotFound` if the table is gone.

        >>> other = coalesce.open("events")
        >>> _ = table.append(rows)
        >>> other.count(), other.refresh().count()
        (4, 8)
        """
        self._core.refresh()
        return self

    def at(self, *, version: int | str | None = None, as_of: datetime | None = None) -> Self:
        """The table as it was. The result stays there and is read-only.

        * `version`: at the version of this number, or of this tag.
        * `as_of`: at this moment; one without a time zone is UTC.

        Raises `VersionNotFound` if there is none, `VersionExpired` if there was one, and `InvalidArgument` unless one
        of the two is given.

        >>> table.at(version=0).count()
        0
        """
        check_when(version, as_of)
        if (version is None) == (as_of is None):
            raise InvalidArgument("say either version= or as_of=.")
        core = self._core
        number = core.number_of(version) if version is not None else core.number_at(as_of)  # type: ignore[arg-type]
        return self._of(core.at(int(number)))

    def history(self, limit: int | None = None) -> Listing[Version]:
        """The versions still there, newest first; of a table opened at a version, up to that one.

        * `limit`: no more than so many.

        Raises `InvalidArgument` for what is no number.

        >>> [(v.number, v.operation) for v in table.history()]
        [(1, 'append'), (0, 'create')]
        >>> table.history().to_arrow().select(["version", "rows_added"]).to_pylist()
        [{'version': 1, 'rows_added': 4}, {'version': 0, 'rows_added': None}]
        """
        most = None if limit is None else check_integer(limit, "the number of versions", least=0)
        core = self._core
        if most is not None:
            return version_listing(core.log.last(most, self.version if core.pinned else None))
        while True:
            numbers = [n for n in reversed(core.log.numbers()) if not core.pinned or n <= self.version]
            with suppress(VersionExpired):  # while it was looked at: those that are left are listed again
                return version_listing(core.log.load_all(numbers))

    # --- reading -------------------------------------------------------------------------------------------------

    def plan(self, where: Where = None) -> Plan:
        """Which files a query has to read, and why. Reads metadata only.

        * `where`: a condition as SQL text, or one made with `coalesce.col`; all rows without it.

        Raises `PredicateError` for a condition that does not parse or names no column.

        >>> plan = table.plan("dt = DATE '2026-05-17' AND app = 'tiny'")
        >>> plan.file_count, plan.rows
        (1, 3)
        """
        return self._core.plan(self._core.bound(where))

    def scan(self, where: Where = None, columns: Sequence[str] | None = None) -> Scan:
        """The matching rows, to be read without Spark, and by whatever takes a stream of Arrow's.

        * `where`: as for `plan`.
        * `columns`: the names of the columns to read; all of them without it.

        Raises `PredicateError`, `SchemaError` for an unknown column, and, when it is read, `NeedsSpark` for a condition
        that only Spark can evaluate.

        >>> table.scan("app = 'tiny'", columns=["n"]).to_arrow().to_pylist()
        [{'n': 3}]
        """
        names = None if columns is None else check_texts(columns, "the columns", "columns={}")
        for name in names or ():
            self.schema.field(name)
        return self._core.engines.rows.scan(self._core.snapshot(), self.plan(where), names)

    def changes(self, starting: int | str, ending: int | str | None = None) -> Rows:
        """The rows that versions added, removed and updated.

        Beside the table's columns they have `_change_type`, `_commit_version` and `_commit_timestamp`.
        A change is an `insert`, a `delete`, or an `update_preimage` and an `update_postimage`, the row before and
        after. Rows that only lie elsewhere, as after a compaction, have not changed. Nothing is read before the result
        is.

        * `starting`, `ending`: the first and the last version whose changes are wanted, by number or tag; without the
          last, up to the one that this object reads. The version after the last one has no changes yet, so who asks
          for those after the last that was seen gets no rows until there are some.

        Raises `VersionNotFound`, and `VersionExpired` if what a version changed is not known any more.

        >>> _ = table.upsert([{"dt": "2026-05-17", "app": "tiny", "n": 9}], keys=["dt", "app"])
        >>> changes = table.changes(2).to_arrow()
        >>> changes.select(["n", "_change_type", "_commit_version"]).to_pylist()[1]
        {'n': 9, '_change_type': 'update_postimage', '_commit_version': 2}
        """
        core = self._core
        check_version(starting, "starting=")
        last = core.version.number if ending is None else core.number_of(check_version(ending, "ending="))
        feed = feed_of(core.log, core.manifests, core.number_of(starting), last)
        return core.engines.rows.changes(core.storage, feed.version, feed.steps)

    def read(self, *, version: int | str | None = None, as_of: datetime | None = None) -> Any:
        """The rows as a Spark DataFrame that prunes by itself. It stays at its version, whatever is committed later.

        * `version`, `as_of`: those of an older version, as for `at`.

        Raises `NeedsSpark` unless the table was opened with `spark=`.

        >>> coalesce.open("events", spark=spark).read().where("app = 'tiny'").select("n").collect()
        [Row(n=3)]
        """
        table = self if version is None and as_of is None else self.at(version=version, as_of=as_of)
        return self._core.engines.needed_frames.dataframe(table._core.snapshot())

    def last_scan(self) -> Report | None:
        """What the last scan of this table by Spark, in this process, has read and why; None if there was none.

        Raises `NeedsSpark` unless the table was opened with `spark=`.

        >>> t = coalesce.open("events", spark=spark)
        >>> t.read().where("dt = DATE '2026-05-18'").select("n").collect()
        [Row(n=4)]
        >>> [(stage.name, stage.files) for stage in t.last_scan().stages][-1]
        ('statistics', 1)
        """
        return self._core.engines.needed_frames.last_scan(self._core.snapshot())

    def count(self, where: Where = None) -> int:
        """How many rows match: from metadata where it is exact, from the rows of the other files.

        * `where`: as for `plan`.

        Raises `PredicateError`, and `NeedsSpark` for a condition that only Spark can evaluate if there is none.

        >>> table.count("app = 'web'")
        3
        """
        core = self._core
        try:
            return count_rows(self.plan(where), lambda plan: core.engines.rows.scan(core.snapshot(), plan, []))
        except NeedsSpark:
            if not isinstance(where, str) or core.engines.frames is None:
                raise
            return int(self.read().where(where).count())

    def distinct(self, column: str, where: Where = None) -> list[object]:
        """The distinct values of a column in the matching rows, NULL first; of a partition column from metadata alone.

        * `column`: its name. `where`: as for `plan`.

        Raises `SchemaError` for a column that is not there or has no single values, `PredicateError`, `NeedsSpark`.

        >>> table.distinct("app")
        ['tiny', 'web']
        """
        field = self._atomic_column(column)
        found = distinct_values(self.plan(where), field, self._scan_of(field))
        return [to_python(field.type, v) for v in found]  # type: ignore[arg-type]

    def min(self, column: str, where: Where = None) -> object:
        """The smallest value of a column in the matching rows, NULL aside; reads only files that could hold it.

        Arguments and errors are those of `distinct`.

        >>> table.min("dt", "app = 'web'")
        datetime.date(2026, 5, 17)
        """
        return self._extreme(column, where, greatest=False)

    def max(self, column: str, where: Where = None) -> object:
        """The greatest value of a column in the matching rows, NULL aside; NaN is the greatest, as in Spark.

        Arguments and errors are those of `distinct`.

        >>> table.max("n", "app = 'tiny'")
        3
        """
        return self._extreme(column, where, greatest=True)

    def partitions(self, where: Where = None) -> Listing[LogicalPartition]:
        """The logical partitions that may hold matching rows, in order, with files, rows and bytes. Metadata only.

        * `where`: as for `plan`.

        Raises `PredicateError`.

        >>> [(p.values, p.rows) for p in table.partitions("dt = DATE '2026-05-17'")]
        [({'dt': datetime.date(2026, 5, 17), 'app': 'tiny'}, 1), ({'dt': datetime.date(2026, 5, 17), 'app': 'web'}, 2)]
        """
        plan = self.plan(where)
        return partition_listing(list_partitions(plan), components_of(plan))

    def files(self, where: Where = None) -> Listing[DataFile]:
        """The data files that may hold matching rows, and what is known of each. Metadata only.

        * `where`: as for `plan`.

        Raises `PredicateError`.

        >>> [(f.rows, len(f.partitions)) for f in table.files("dt = DATE '2026-05-17'")]
        [(3, 2)]
        """
        plan = self.plan(where)
        return file_listing(plan.files, components_of(plan))

    def __repr__(self) -> str:
        return f"<coalesce table {self.location} at version {self.version}>"

    def _of(self, core: Core) -> Self:
        """Another object of the same kind."""
        made = type(self).__new__(type(self))
        made._core = core
        return made

    def _extreme(self, column: str, where: Where, *, greatest: bool) -> object:
        field = self._atomic_column(column)
        found = extreme_value(self.plan(where), field, self._scan_of(field), greatest=greatest)
        return to_python(field.type, found)  # type: ignore[arg-type]

    def _atomic_column(self, name: str) -> Field:
        field = self.schema.field(check_text(name, "the name of a column"))
        if not is_atomic(field.type):
            raise SchemaError(f"column {field.name!r} is {field.type} and has no single values to compare.")
        return field

    def _scan_of(self, field: Field) -> Callable[[Plan], Scan]:
        core = self._core
        return lambda plan: core.engines.rows.scan(core.snapshot(), plan, [field.name])


def check_version(version: object, what: str) -> int | str:
    """The number of a version, or a tag, if that is what it can be."""
    if not isinstance(version, str):
        return check_integer(version, what)
    if version.isdecimal():
        raise InvalidArgument(
            f"{what} is a whole number or the name of a tag, and {shown(version)} is neither; write "
            f"{int(version)} for the number."
        )
    return check_tag(version)


def check_when(version: object, as_of: object) -> None:
    """Whether these can say which version is meant."""
    if version is not None:
        check_version(version, "version=")
    if as_of is not None:
        check_moment(as_of, "as_of=")
