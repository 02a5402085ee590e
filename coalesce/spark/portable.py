"""The source `coalesce` in pure Python, for sessions whose JVM is out of reach: Spark Connect.

It reads and writes through the Arrow engine, in Spark's Python workers, which need this package installed. Unlike the
native source it gets no filters from Spark, and that is on purpose. A Python data source can ask for them, but Spark
keeps what one query pushed down on the source object that other queries of the same DataFrame share: after
`df.filter("k = 1").collect()`, `df.count()` would count one row. Nothing on this side can notice. So conditions that
shall prune are said where they cannot leak, as options of the read:

    spark.read.format("coalesce").option("where", "dt = DATE '2026-05-17'").option("columns", "app, k").load(path)

`version` and `asOf` choose an older version, `timeZone` says what a time without a zone means (UTC by default). Rows
are written to a table that is there already; `storage.<name>` options configure an object store.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import CoalesceError
from coalesce.model.datafile import DataFile
from coalesce.model.types import Field
from coalesce.plan.plan import Plan
from coalesce.predicate.names import parts_of
from coalesce.spark.schema import spark_schema
from coalesce.spark.staged import StagedEngine, StagedFiles
from coalesce.spark.travel import wanted_version
from coalesce.storage import open_storage
from coalesce.table.engine import Place
from coalesce.table.table import Table

_TASK_BYTES: Final = 64 * 1024 * 1024  # files are read together up to this size
_STORAGE_OPTION: Final = "storage."


class PortableSource(DataSource):
    """`format("coalesce")` where there is no JVM to put the native source into."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = {name.lower(): value for name, value in options.items()}
        self._version: int | None = None

    @classmethod
    def name(cls) -> str:
        """What it is called in `format(…)`."""
        return "coalesce"

    def schema(self) -> StructType:
        """The columns that are asked for. Spark asks before it reads, and then reads the same version."""
        return spark_schema(self._fields(self._table()))

    def reader(self, schema: StructType) -> DataSourceReader:
        """What reads the version that `schema` was asked of."""
        table = self._table()
        columns = [f.name for f in self._fields(table)]
        return PortableReader(table.place(), self.options.get("where"), columns, schema, table.time_zone)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:  # noqa: ARG002 - Spark's signature
        """What writes rows and commits them once."""
        if "version" in self.options or "asof" in self.options:
            raise CoalesceError("writing to a version of the past is not possible: leave out version and asOf.")
        return PortableWriter(self._table().place(), overwrite)

    def _table(self) -> Table:
        path = self.options.get("path")
        if path is None:
            raise CoalesceError("say where the table lies: load(path) or save(path).")
        settings = {
            k.removeprefix(_STORAGE_OPTION): v for k, v in self.options.items() if k.startswith(_STORAGE_OPTION)
        }
        time_zone = self.options.get("timezone", "UTC")
        table = Table(open_storage(path, options=settings), (ArrowEngine(),), time_zone=time_zone)
        number, as_of = wanted_version(self.options, time_zone)
        number = self._version if number is None and as_of is None else number
        table = table if number is None and as_of is None else table.at(version=number, as_of=as_of)
        self._version = table.version  # Spark keeps this object between its two questions
        return table

    def _fields(self, table: Table) -> Sequence[Field]:
        listed = self.options.get("columns")
        if listed is None:
            return table.schema.fields
        return [table.schema.field(_column(text)) for text in listed.split(",")]


def _column(text: str) -> str:
    parts = parts_of(text.strip())
    if parts is None or len(parts) != 1:
        raise CoalesceError(f"the option columns is a list of names such as `app, k`; {text.strip()!r} is none.")
    return parts[0]


# --- reading -----------------------------------------------------------------------------------------------------


class Files(InputPartition):
    """The files that one task reads, by path."""

    def __init__(self, paths: frozenset[str]) -> None:
        super().__init__(None)
        self.paths = paths


class PortableReader(DataSourceReader):
    """Reads one version. It has no `pushFilters`: Spark refuses a reader that has it unless its setting is on."""

    def __init__(
        self, place: Place, where: str | None, columns: Sequence[str], schema: StructType, time_zone: str
    ) -> None:
        self.place = Place(storage=place.storage, version=place.version)
        self.where = where
        self.columns = columns
        self.schema = schema
        self.time_zone = time_zone

    def partitions(self) -> Sequence[InputPartition]:
        """The files of the plan, small ones together."""
        tasks: list[list[str]] = []
        room = 0
        for file in self._plan().files:
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
        plan = self._plan().only(lambda index: np.asarray(pc.is_in(index.entries.core.column("path"), wanted)))
        scan = ArrowEngine().scan(self.place, plan, self.columns)
        target = _arrow_schema(self.schema)
        for batch in scan.to_batches():
            yield _fitted(batch, target)

    def _plan(self) -> Plan:
        table = Table(
            self.place.storage, (ArrowEngine(),), version=self.place.version, pinned=True, time_zone=self.time_zone
        )
        return table.plan(self.where)


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
    """What a task has written: files that no version names yet."""

    files: list[DataFile]


class PortableWriter(DataSourceArrowWriter):
    """Each task writes files of its rows; the driver commits all of them at once."""

    def __init__(self, place: Place, overwrite: bool) -> None:
        self.place = Place(storage=place.storage, version=place.version)
        self.overwrite = overwrite

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's rows."""
        return Written(write_batches(self.place, iterator))

    def commit(self, messages: list[Any]) -> None:
        """Commit what all tasks have written."""
        staged = StagedFiles(_files(messages))
        table = Table(self.place.storage, (StagedEngine(),))
        if self.overwrite:
            table.overwrite(staged)
        else:
            table.append(staged)

    def abort(self, messages: list[Any]) -> None:
        """Remove what the tasks that came to an end have written; the others have cleaned up after themselves."""
        for file in _files(messages):
            self.place.storage.delete(file.path)


def write_batches(place: Place, batches: Iterator[pa.RecordBatch]) -> list[DataFile]:
    """Write rows with the Arrow engine; nothing is committed."""
    found = list(batches)
    return ArrowEngine().write(place, pa.Table.from_batches(found)) if found else []


def _files(messages: list[Any]) -> list[DataFile]:
    return [file for message in messages if isinstance(message, Written) for file in message.files]
