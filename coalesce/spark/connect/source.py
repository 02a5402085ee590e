"""The source `coalesce` in pure Python, for sessions whose JVM is out of reach: Spark Connect.

It reads and writes through the Arrow engine, in Spark's Python workers, which need this package installed. Unlike the
native source it gets no filters from Spark, and that is on purpose. A Python data source can ask for them, but Spark
keeps what one query pushed down on the source object that other queries of the same DataFrame share: after
`df.filter("k = 1").collect()`, `df.count()` would count one row. Nothing on this side can notice. So conditions that
shall prune are said where they cannot leak, as options of the read:

    spark.read.format("coalesce").option("where", "dt = DATE '2026-05-17'").option("columns", "app, k").load(path)

Which options there are is in `option_names.py`. Those that configure an object store are called `storage.<name>`. Rows
are written to a table that is there already.

Where Spark asks this source what to read and to write, no session is in sight; in a task its settings are. So tasks say
what the session says of overwriting, and a condition that means something else in each time zone is judged in tasks
alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from coalesce.arrow.conform import conform
from coalesce.arrow.engine import ArrowEngine
from coalesce.arrow.row_filter import is_true
from coalesce.errors import CoalesceError, CommitConflict, TableNotFound
from coalesce.manifest.paths import new_write_directory
from coalesce.model.datafile import DataFile
from coalesce.model.types import Field
from coalesce.predicate.expr import Bound
from coalesce.spark.translate.option_names import Source, location
from coalesce.spark.translate.options import ReadOptions, WriteOptions, read_options, write_options
from coalesce.spark.translate.schema import check_given_columns, spark_schema
from coalesce.storage import open_storage
from coalesce.table.commit.changes import only_in
from coalesce.table.commit.log import Log
from coalesce.table.commit.manifests import Manifests
from coalesce.table.engine import Engines, Snapshot
from coalesce.table.match import outside, refusal
from coalesce.table.table import Table, core_of
from coalesce.table.written import WrittenFiles

_TASK_BYTES: Final = 64 * 1024 * 1024  # files are read together up to this size


class PortableSource(DataSource):
    """`format("coalesce")` where there is no JVM to put the native source into."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = dict(options)
        self._version: int | None = None

    @classmethod
    def name(cls) -> str:
        """What it is called in `format(…)`."""
        return "coalesce"

    def schema(self) -> StructType:
        """The columns that are asked for. Spark asks before it reads, and then reads the same version."""
        options = read_options(self._given(), Source.PORTABLE)
        return spark_schema(_fields(self._table(options), options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """What reads the version that `schema` was asked of."""
        options = read_options(self._given(), Source.PORTABLE)
        table = self._table(options)
        fields = _fields(table, options)
        check_given_columns(schema, spark_schema(fields))
        return PortableReader(core_of(table).snapshot(), options, [f.name for f in fields], schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """What writes rows and commits them once."""
        options = write_options(self._given(), Source.PORTABLE, overwrite=overwrite)
        path = location(self.options)
        try:
            table = Table(open_storage(path, options=options.storage), Engines(ArrowEngine()))
        except TableNotFound:
            raise TableNotFound(
                f"there is no coalesce table at {path}, and a source in Python makes none: do so with "
                "coalesce.create(path, df.schema, partition_by=…, rule=…, spark=spark)."
            ) from None
        check_columns(core_of(table).snapshot(), schema)
        return PortableWriter(core_of(table).snapshot(), overwrite, options)

    def _given(self) -> Mapping[str, str]:
        """The options, unless the catalog asks, where Spark does not tell a source in Python where a table lies."""
        if "provider" in self.options or not self.options:
            raise CoalesceError(
                "a table of the catalog does not work through a source in Python, which is not told where it lies: "
                "read it with load(path), and write to it with save(path)."
            )
        return self.options

    def _table(self, options: ReadOptions) -> Table:
        table = Table(open_storage(location(self.options), options=options.storage), Engines(ArrowEngine()))
        known = options.follows or self._version is not None  # a tag may be moved between two questions
        number, as_of = (self._version, None) if known else (options.version, options.moment(None))
        table = table if number is None and as_of is None else table.at(version=number, as_of=as_of)
        self._version = table.version  # Spark keeps this object between its two questions
        return table


def _fields(table: Table, options: ReadOptions) -> Sequence[Field]:
    if options.columns is None:
        return table.schema.fields
    return [table.schema.field(name) for name in options.columns]


# --- the session, as tasks see it --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """What the session says; None where it says nothing and Spark's own default holds, which is not known here."""

    time_zone: str | None = None
    overwrite_mode: str | None = None
    case_sensitive: bool = False

    @staticmethod
    def of_task() -> "Settings":
        """The settings of the session that the task at hand works for; Spark sends them along with a query."""
        task = TaskContext.get()
        if task is None:
            return Settings()
        return Settings(
            task.getLocalProperty("spark.sql.session.timeZone"),
            task.getLocalProperty("spark.sql.sources.partitionOverwriteMode"),
            (task.getLocalProperty("spark.sql.caseSensitive") or "").lower() == "true",
        )


def _table_as(snapshot: Snapshot, time_zone: str, case_sensitive: bool) -> Table:
    return Table(
        snapshot.storage,
        Engines(ArrowEngine()),
        version=snapshot.version,
        pinned=True,
        time_zone=time_zone,
        case_sensitive=case_sensitive,
    )


def _same_everywhere(snapshot: Snapshot, where: str | None) -> bool:
    """Whether a condition means the same in every time zone."""
    west, east = (core_of(_table_as(snapshot, zone, False)).bound(where) for zone in ("UTC", "+14:00"))
    return west == east


def _zone(snapshot: Snapshot, where: str | None, given: str | None, session: str | None) -> str:
    """The time zone in which a condition is meant."""
    zone = given if given is not None else session
    if zone is None and not _same_everywhere(snapshot, where):
        raise CoalesceError(
            f"{where} has a time without a zone, and the session says none: set spark.sql.session.timeZone, or give "
            "the option timeZone."
        )
    return "UTC" if zone is None else zone


# --- reading -----------------------------------------------------------------------------------------------------


class Files(InputPartition):
    """The files that one task reads, by path."""

    def __init__(self, paths: frozenset[str]) -> None:
        super().__init__(None)
        self.paths = paths


class PortableReader(DataSourceReader):
    """Reads one version. It has no `pushFilters`: Spark refuses a reader that has it unless its setting is on."""

    def __init__(self, snapshot: Snapshot, options: ReadOptions, columns: Sequence[str], schema: StructType) -> None:
        self.snapshot = Snapshot(storage=snapshot.storage, version=snapshot.version)
        self.options = options
        self.columns = columns
        self.schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        """The files of the plan, small ones together; all files, if only a task can tell what the condition means."""
        where, zone = self.options.where, self.options.time_zone
        unclear = zone is None and not _same_everywhere(self.snapshot, where)
        plan = _table_as(self.snapshot, zone or "UTC", False).plan(None if unclear else where)
        tasks: list[list[str]] = []
        room = 0
        for file in plan.files:
            if file.bytes > room or not tasks:
                tasks.append([])
                room = _TASK_BYTES
            tasks[-1].append(file.path)
            room -= file.bytes
        return [Files(frozenset(paths)) for paths in tasks] or [Files(frozenset())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The matching rows of a task's files."""
        assert isinstance(partition, Files)
        wanted = pa.array(sorted(partition.paths), pa.string())
        settings, where = Settings.of_task(), self.options.where
        zone = _zone(self.snapshot, where, self.options.time_zone, settings.time_zone)
        whole = _table_as(self.snapshot, zone, settings.case_sensitive).plan(where)
        plan = whole.only(lambda index: np.asarray(pc.is_in(index.entries.core.column("path"), wanted)))
        scan = ArrowEngine().scan(self.snapshot, plan, self.columns)
        target = _arrow_schema(self.schema)
        for batch in scan.to_batches():
            yield _fitted(batch, target)


def _arrow_schema(schema: StructType) -> pa.Schema:
    """What Spark expects batches to be; since 4.2 exactly."""
    try:
        return to_arrow_schema(schema, timezone="UTC")  # type: ignore[call-arg]  # 4.1 has no zone to choose
    except TypeError:
        return to_arrow_schema(schema)


def _fitted(batch: pa.RecordBatch, target: pa.Schema) -> pa.RecordBatch:
    """Exactly the columns, types and nullability that Spark was told."""
    arrays = []
    for field in target:
        array = batch.column(field.name)
        arrays.append(array if array.type.equals(field.type, check_metadata=True) else array.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=target)


# --- writing -----------------------------------------------------------------------------------------------------


@dataclass
class Written(WriterCommitMessage):
    """What a task has written, files that no version names yet; and what it has seen."""

    files: list[DataFile]
    settings: Settings
    outside: int = 0  # rows that do not match `replaceWhere`
    example: dict[str, object] | None = None


class PortableWriter(DataSourceArrowWriter):
    """Each task writes files of its rows; the driver commits all of them at once."""

    def __init__(self, snapshot: Snapshot, overwrite: bool, options: WriteOptions) -> None:
        self.snapshot = Snapshot(storage=snapshot.storage, version=snapshot.version, below=new_write_directory())
        self.overwrite = overwrite
        self.options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's rows; none if some of them may not be."""
        settings = Settings.of_task()
        if self.options.replace_where is None or self.options.allow_outside:
            return Written(write_batches(self.snapshot, iterator), settings)
        found = list(iterator)
        if found:
            schema = self.snapshot.version.schema
            rows = conform(pa.Table.from_batches(found), schema)
            positions = np.flatnonzero(~is_true(self._meant(settings), rows, schema))
            if len(positions):
                (example,) = rows.slice(positions[0], 1).to_pylist()
                return Written([], settings, len(positions), example)
        return Written(write_batches(self.snapshot, iter(found)), settings)

    def commit(self, messages: list[Any]) -> None:
        """Commit what all tasks have written, and delete it if the write was made before."""
        written = [message for message in messages if isinstance(message, Written)]
        settings = written[0].settings if written else Settings()
        options, written_files = self.options, WrittenFiles(_files(messages), self.snapshot.version)
        table = self._table(settings)
        if not self.overwrite:
            table.append(written_files, applies=options.applies)
        elif options.replaces_partitions(settings.overwrite_mode) and table.state.spec.fields:
            table.overwrite_partitions(written_files, applies=options.applies)
        else:
            if core_of(table).bound(options.replace_where) != self._meant(settings):
                raise CommitConflict(
                    f"columns that {options.replace_where} names were changed while the rows were written; repeat the "
                    "operation on the newest version."
                )
            _refuse_outside(table, written, options)
            table.overwrite(written_files, options.replace_where, allow_outside=True, applies=options.applies)
        if not written_files.taken:
            self.abort(messages)

    def abort(self, messages: list[Any]) -> None:
        """Remove what tasks have written, those too that Spark gave up and has no message of.

        Spark asks for it after every failed commit, and one whose answer was lost has happened all the same.
        """
        storage = self.snapshot.storage
        try:
            named = only_in(Log(storage).head(), self.snapshot.version, Manifests(storage))
            written = {f.path for f in _files(messages)} | {f.path for f in storage.list(self.snapshot.below)}
        except CoalesceError:
            return  # it cannot be told, and files that no version names do no harm
        for path in written.difference(named):
            storage.delete(path)

    def _table(self, settings: Settings) -> Table:
        """The table, to be written to in the session's words."""
        zone = self._time_zone(settings)
        return Table(
            self.snapshot.storage, Engines(ArrowEngine()), time_zone=zone, case_sensitive=settings.case_sensitive
        )

    def _meant(self, settings: Settings) -> Bound:
        """What is to be replaced, by the columns of the version that the rows are written for."""
        table = _table_as(self.snapshot, self._time_zone(settings), settings.case_sensitive)
        return core_of(table).bound(self.options.replace_where)

    def _time_zone(self, settings: Settings) -> str:
        return _zone(self.snapshot, self.options.replace_where, self.options.time_zone, settings.time_zone)


def _refuse_outside(table: Table, written: Sequence[Written], options: WriteOptions) -> None:
    """Refuse rows that do not match `replaceWhere`; each task has counted its own."""
    count = sum(message.outside for message in written)
    if count:
        example = next(message.example for message in written if message.outside)
        raise refusal([outside(count, core_of(table).bound(options.replace_where), example)])


def check_columns(snapshot: Snapshot, schema: StructType) -> None:
    """Refuse rows by their columns alone: tasks see nothing of a frame that has none."""
    conform(_arrow_schema(schema).empty_table(), snapshot.version.schema, snapshot.version.spec)


def write_batches(snapshot: Snapshot, batches: Iterator[pa.RecordBatch]) -> list[DataFile]:
    """Write rows with the Arrow engine, as they come; nothing is committed."""
    return ArrowEngine().write(snapshot, batches)


def _files(messages: list[Any]) -> list[DataFile]:
    return [file for message in messages if isinstance(message, Written) for file in message.files]
