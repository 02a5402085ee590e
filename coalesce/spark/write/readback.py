"""What is really in the files of a write: read back from the files, never taken from the intention.

Sizes, rows, bounds and NULL counts come from the footers. The logical tuples of a file come from there too if the
footer shows that each partition column has one value. Those of the other files are read from their partition columns,
which in sorted files are so short that the driver has them sooner than a Spark job would begin; if they are long, or
can only be reached through Hadoop, a job reads them. Floating-point columns in which there may be NaN are read along.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from coalesce.arrow.read import open_file
from coalesce.arrow.statistics import column_statistics
from coalesce.arrow.tuples import can_compute, tuples_of
from coalesce.errors import StorageError
from coalesce.model.datafile import ColumnStatistics, DataFile
from coalesce.model.schema import Schema
from coalesce.model.spec import LogicalTuple, Spec
from coalesce.model.transforms import Identity
from coalesce.model.types import Field
from coalesce.model.values import values_of
from coalesce.predicate.names import quoted
from coalesce.spark.jvm.hadoop import HadoopStorage
from coalesce.spark.jvm.location import spark_uri
from coalesce.spark.translate.schema import physical_schema
from coalesce.spark.translate.transforms import components
from coalesce.spark.write.footers import Footer, constants, footer_statistics, may_have_nan, read_footers
from coalesce.spark.write.here import HERE
from coalesce.table.engine import Snapshot
from coalesce.table.layout import may_be_nan, one_nan, spark_order

# What the driver reads itself: no more rows than these, however few bytes they take.
_HERE_ROWS: Final = 50_000_000
_READERS: Final = 4  # files at once


@dataclass(frozen=True, slots=True)
class Found:
    """A file of the write: `path` is relative to the write's directory, `tuples` are in Spark's order.

    `tuples` is None where the schema no longer has the columns they are made of. `ordered` says that the rows were seen
    to lie in the order of the tuples.
    """

    path: str
    bytes: int
    rows: int
    tuples: tuple[LogicalTuple, ...] | None
    tuple_rows: tuple[int, ...] | None
    statistics: Mapping[int, ColumnStatistics]
    ordered: bool


def read_back(
    session: SparkSession, snapshot: Snapshot, directory: str, spec: Spec, here_bytes: int = HERE.read
) -> list[Found]:
    """Every file with rows below `directory`, written under `spec`, in the order of the tasks that wrote them.

    Up to `here_bytes` of the columns in question are read by the driver, more by a job.
    """
    schema = snapshot.version.schema
    location = spark_uri(session, snapshot.storage, directory)
    footers = sorted((f for f in read_footers(session, location) if f.rows), key=_in_task_order)
    known = can_compute(spec, schema)
    comparable = known and not may_be_nan(spec.types(schema))
    single = {f.uri: _single_tuple(f, spec, schema) if known else None for f in footers}
    floats = [field for field in schema if any(may_have_nan(footer, field) for footer in footers)]
    unclear = [
        footer
        for footer in footers
        if (known and single[footer.uri] is None) or any(may_have_nan(footer, f) for f in floats)
    ]
    asked = _Asked(spec if known else Spec(spec.spec_id, ()), schema, floats)
    if isinstance(snapshot.storage, HadoopStorage) or not asked.is_little(unclear, here_bytes):
        read = _read_by_job(session, location, unclear, asked)
    else:
        read = _read_here(snapshot, directory, location, unclear, asked)
    found = []
    for footer in footers:
        path = _below(location, footer.uri)
        contents = read.get(path, _Contents())
        one = single[footer.uri]
        tuples, counts = ([one], [footer.rows]) if one is not None else (contents.tuples, contents.counts)
        if known and sum(counts) != footer.rows:
            raise StorageError(f"{footer.uri} has {footer.rows} rows, and {sum(counts)} were read back; write again.")
        found.append(
            Found(
                path=path,
                bytes=footer.bytes,
                rows=footer.rows,
                tuples=tuple(tuples) if known else None,
                tuple_rows=tuple(counts) if known else None,
                statistics=contents.statistics | footer_statistics(footer, schema),
                ordered=comparable and (one is not None or contents.ordered),
            )
        )
    return found


def _in_task_order(footer: Footer) -> tuple[str, str]:
    return footer.uri.rpartition("/")[2], footer.uri  # Spark calls a file `part-00017-…`


def _single_tuple(footer: Footer, spec: Spec, schema: Schema) -> LogicalTuple | None:
    """The one tuple of the file, if its footer shows that there is only one."""
    if not all(isinstance(f.transform, Identity) for f in spec.fields):
        return None
    values = constants(footer, schema, [f.source_id for f in spec.fields])
    return None if values is None else tuple(values)


# --- by reading columns ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is to be read: the tuples of a spec, and statistics of floating-point columns."""

    spec: Spec
    schema: Schema
    floats: Sequence[Field]

    @property
    def fields(self) -> list[Field]:
        """The columns it takes."""
        sources = {f.source_id for f in self.spec.fields} | {f.id for f in self.floats}
        return [f for f in self.schema if f.id in sources]

    def is_little(self, footers: Sequence[Footer], here_bytes: int) -> bool:
        """Whether the driver had better read it itself."""
        chunks = (footer.columns.get(f.physical_name) for footer in footers for f in self.fields)
        length = sum(chunk.length for chunk in chunks if chunk is not None)
        return length <= here_bytes and sum(footer.rows for footer in footers) <= _HERE_ROWS


@dataclass
class _Contents:
    """What was read of one file: tuples in order with their rows, statistics of floating-point columns.

    `ordered` if the rows lie in the order of the tuples.
    """

    tuples: list[LogicalTuple] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    statistics: dict[int, ColumnStatistics] = field(default_factory=dict)
    ordered: bool = False


def _read_here(
    snapshot: Snapshot, directory: str, location: str, footers: Sequence[Footer], asked: _Asked
) -> dict[str, _Contents]:
    """The contents of files, by their paths below the write's directory, read by pyarrow."""
    types = asked.spec.types(asked.schema)

    def read(footer: Footer) -> tuple[str, _Contents]:
        path = _below(location, footer.uri)
        entry = DataFile(path=f"{directory}/{path}", spec_id=asked.spec.spec_id, rows=footer.rows, bytes=footer.bytes)
        with open_file(snapshot.storage, entry, snapshot.version) as file:
            rows = file.read(asked.fields, range(len(file.group_rows)))
        tuples = tuples_of(rows, asked.spec, asked.schema)
        order = spark_order(tuples.distinct, types)
        statistics = {f.id: column_statistics(f.type, rows.column(f.name)) for f in asked.floats}  # type: ignore[arg-type]
        ordered = tuples.in_runs and order == list(range(len(order)))
        return path, _Contents(
            [tuples.distinct[i] for i in order], [tuples.counts[i] for i in order], statistics, ordered
        )

    with ThreadPoolExecutor(_READERS) as pool:
        return dict(pool.map(read, footers))


def _read_by_job(
    session: SparkSession, location: str, footers: Sequence[Footer], asked: _Asked
) -> dict[str, _Contents]:
    """The same, read by one Spark job."""
    if not footers:
        return {}
    spec, schema, floats = asked.spec, asked.schema, asked.floats
    reader = session.read.schema(physical_schema(asked.fields))
    # An option of Spark's own: the paths are literal.
    reader = reader.option("datetimeRebaseMode", "CORRECTED").option("int96RebaseMode", "CORRECTED")
    frame = reader.option("__globPaths__", "false").parquet(*(f.uri for f in footers))
    row = frame.metadataColumn("_metadata")["row_index"]
    counted = (
        frame.groupBy(
            frame.metadataColumn("_metadata")["file_path"].alias("file"),
            *components(session, spec, schema, lambda f: F.col(quoted(f.physical_name))),
        )
        .agg(
            F.count(F.lit(1)).alias("rows"),
            F.min(row).alias("first"),
            F.max(row).alias("last"),
            *(measure for f in floats for measure in _measures(f)),
        )
        .toArrow()
    )
    paths = [_below(location, unquote(uri)) for uri in counted.column("file").to_pylist()]
    types = spec.types(schema)
    values = [values_of(type_, counted.column(f"t{i}")) for i, type_ in enumerate(types)]
    tuples: list[LogicalTuple] = list(zip(*values, strict=True)) if values else [()] * len(paths)
    rows, first, last = (counted.column(name).to_pylist() for name in ("rows", "first", "last"))
    contents = {path: _Contents(ordered=True) for path in paths}  # until it shows that they are not
    until = dict.fromkeys(paths, 0)
    for index in spark_order(tuples, types):
        path = paths[index]
        begin, until[path] = until[path], until[path] + rows[index]
        held = contents[path]
        held.ordered &= (first[index], last[index]) == (begin, until[path] - 1)
        held.tuples.append(one_nan(tuples[index]))
        held.counts.append(rows[index])
    if floats:
        for path, statistics in _float_statistics(counted.set_column(0, "file", pa.array(paths)), floats).items():
            contents[path].statistics = statistics
    return contents


def _measures(field_: Field) -> list[Column]:
    """What to know of a floating-point column in one group of rows."""
    value = F.col(quoted(field_.physical_name))
    number = F.when(~F.isnan(value), value)
    return [
        F.min(number).alias(f"lower_{field_.id}"),
        F.max(number).alias(f"upper_{field_.id}"),
        F.count_if(value.isNull()).alias(f"nulls_{field_.id}"),
        F.count_if(F.isnan(value)).alias(f"nans_{field_.id}"),
    ]


def _float_statistics(counted: pa.Table, floats: Sequence[Field]) -> dict[str, dict[int, ColumnStatistics]]:
    """The measures of all groups of a file taken together, by file and column."""
    how = {"lower": "min", "upper": "max", "nulls": "sum", "nans": "sum"}
    wanted = [(f"{measure}_{f.id}", function) for f in floats for measure, function in how.items()]
    by_file = counted.group_by("file").aggregate(wanted).to_pydict()
    return {
        path: {
            f.id: ColumnStatistics(
                lower=by_file[f"lower_{f.id}_min"][i],
                upper=by_file[f"upper_{f.id}_max"][i],
                null_count=by_file[f"nulls_{f.id}_sum"][i],
                nan_count=by_file[f"nans_{f.id}_sum"][i],
            )
            for f in floats
        }
        for i, path in enumerate(by_file["file"])
    }


def _below(location: str, uri: str) -> str:
    """The path of a file relative to its write's directory, whose last segment no other path has in it."""
    return uri.partition(f"/{location.rpartition('/')[2]}/")[2]
