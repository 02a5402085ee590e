"""Rows of data files as Spark reads them, with what their entries say: which task reads which files is ours to say.

What holds for all rows of a file comes from Spark's reader as a constant of the file, and need not be looked up for
each row by the path of its file. Files whose entries we have need not be listed either. And that tasks can be given
files is what spares a compaction its shuffle, where each new file is made of whole old ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark

from coalesce.arrow.encode import ROW_ID, ROW_VERSION
from coalesce.model.datafile import DataFile
from coalesce.spark.jvm.catalyst import jvm
from coalesce.spark.jvm.java_helpers import helper
from coalesce.spark.jvm.location import spark_uri
from coalesce.spark.translate.schema import physical_schema
from coalesce.spark.write.conform import name_of
from coalesce.table.engine import Snapshot

ROW_INDEX: Final = "row_index"

_SPARKS_ROW_INDEX: Final = "_tmp_metadata_row_index"  # a column of this name its reader makes up
_OPENING: Final = 4 * 1024 * 1024  # to open a file takes as long as to read so many bytes
_MOST_BYTES: Final = 128 * 1024 * 1024  # for one task

Facts = Mapping[str, tuple[spark.DataType, pa.Array]]
"""Columns of which each file has one value: their types, and the values by the file's number."""


def file_rows(
    session: SparkSession,
    snapshot: Snapshot,
    files: Sequence[DataFile],
    facts: Facts,
    tasks: Sequence[Sequence[int]] | None = None,
) -> DataFrame:
    """The rows of files as these hold them, `name_of` each field, with lineage, place in the file, and `facts`.

    Each of `tasks` are the numbers of the files it reads, one after the other. If none are given, all files are dealt
    out evenly, and large ones cut.
    """
    schema = snapshot.version.schema
    added = [spark.StructField(name, spark.LongType()) for name in (ROW_ID, ROW_VERSION, _SPARKS_ROW_INDEX)]
    data = spark.StructType([*physical_schema(schema).fields, *added])
    constants = spark.StructType([spark.StructField(name, type_) for name, (type_, _) in facts.items()])
    names = [*(name_of(f) for f in schema), ROW_ID, ROW_VERSION, ROW_INDEX, *facts]
    fields = zip(names, [*data.fields, *constants.fields], strict=True)
    shown = spark.StructType([spark.StructField(name, field.dataType) for name, field in fields])
    values = session.createDataFrame(pa.table({name: array for name, (_, array) in facts.items()}), constants)
    rows = values._jdf.queryExecution().executedPlan().executeCollect()
    tokens: list[str] = []
    for pieces in _dealt_out(session, files) if tasks is None else [_whole(files, numbers) for numbers in tasks]:
        tokens.append(str(len(pieces)))
        for number, start, length in pieces:
            uri = spark_uri(session, snapshot.storage, files[number].path)
            tokens += [str(number), str(start), str(length), str(files[number].bytes), uri]
    own = session._jsparkSession
    types = [own.parseDataType(type_.json()) for type_ in (data, constants, shown)]
    plan = helper(session.sparkContext._gateway, "FileRows").plan(own, *types, rows, "\0".join(tokens))
    return DataFrame(jvm(session).org.apache.spark.sql.classic.Dataset.ofRows(own, plan), session)


_Piece = tuple[int, int, int]
"""A file's number, and where in it to begin and how many bytes to read: those row groups whose middle lies there."""


def _whole(files: Sequence[DataFile], numbers: Sequence[int]) -> list[_Piece]:
    return [(number, 0, files[number].bytes) for number in numbers]


def _dealt_out(session: SparkSession, files: Sequence[DataFile]) -> Iterator[list[_Piece]]:
    """All of the files as Spark would deal them out: to as many tasks as run at the same time, or more."""
    total = sum(f.bytes + _OPENING for f in files)
    most = min(_MOST_BYTES, max(_OPENING, total // max(session.sparkContext.defaultParallelism, 1)))
    pieces = [
        (number, start, min(most, file.bytes - start))
        for number, file in enumerate(files)
        for start in range(0, max(file.bytes, 1), most)
    ]
    together: list[_Piece] = []
    size = 0
    for piece in sorted(pieces, key=lambda piece: -piece[2]):
        if together and size + piece[2] > most:
            yield together
            together, size = [], 0
        together.append(piece)
        size += piece[2] + _OPENING
    if together:
        yield together
