"""What is really in the files of a write: read back from the files, never taken from the intention.

Sizes, rows, bounds and NULL counts come from the footers. The logical tuples of a file come from there too if the
footer shows that each partition column has one value; those of all other files, and what Parquet cannot say of
floating-point columns, come from one Spark job that reads just those columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from coalesce.arrow.tuples import can_compute
from coalesce.errors import StorageError
from coalesce.model.datafile import ColumnStatistics
from coalesce.model.schema import Schema
from coalesce.model.spec import LogicalTuple, Spec
from coalesce.model.transforms import Identity
from coalesce.model.types import FLOATING, Field
from coalesce.model.values import values_of
from coalesce.predicate.names import quoted
from coalesce.spark.footers import Footer, constants, footer_statistics, read_footers
from coalesce.spark.schema import physical_schema
from coalesce.spark.transforms import components
from coalesce.table.layout import one_nan, spark_order


@dataclass(frozen=True, slots=True)
class Found:
    """A file of the write: `path` is relative to the write's directory, `tuples` are in Spark's order.

    `tuples` is None where the schema no longer has the columns they are made of.
    """

    path: str
    bytes: int
    rows: int
    tuples: tuple[LogicalTuple, ...] | None
    tuple_rows: tuple[int, ...] | None
    statistics: Mapping[int, ColumnStatistics]


def read_back(session: SparkSession, directory: str, spec: Spec, schema: Schema) -> list[Found]:
    """Every file with rows below `directory`, in the order of their paths."""
    footers = sorted((f for f in read_footers(session, directory) if f.rows), key=lambda f: f.uri)
    known = can_compute(spec, schema)
    floats = [f for f in schema if f.type in FLOATING]
    single = {f.uri: _single_tuple(f, spec, schema) if known else None for f in footers}
    unclear = [f.uri for f in footers if floats or (known and single[f.uri] is None)]
    read = _read(session, directory, unclear, spec if known else Spec(spec.spec_id, ()), schema, floats)
    found = []
    for footer in footers:
        path = _below(directory, footer.uri)
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
                statistics=footer_statistics(footer, schema) | contents.statistics,
            )
        )
    return found


def _single_tuple(footer: Footer, spec: Spec, schema: Schema) -> LogicalTuple | None:
    """The one tuple of the file, if its footer shows that there is only one."""
    if not all(isinstance(f.transform, Identity) for f in spec.fields):
        return None
    values = constants(footer, schema, [f.source_id for f in spec.fields])
    return None if values is None else tuple(values)


# --- by reading columns ------------------------------------------------------------------------------------------


@dataclass
class _Contents:
    """What was read of one file: tuples in order with their rows, statistics of floating-point columns."""

    tuples: list[LogicalTuple] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    statistics: dict[int, ColumnStatistics] = field(default_factory=dict)


def _read(
    session: SparkSession, directory: str, uris: Sequence[str], spec: Spec, schema: Schema, floats: Sequence[Field]
) -> dict[str, _Contents]:
    """The contents of files, by their paths below the write's directory."""
    if not uris:
        return {}
    sources = {f.source_id for f in spec.fields} | {f.id for f in floats}
    reader = session.read.schema(physical_schema(f for f in schema if f.id in sources))
    frame = reader.option("__globPaths__", "false").parquet(*uris)  # an option of Spark's: the paths are literal
    counted = (
        frame.groupBy(
            frame.metadataColumn("_metadata")["file_path"].alias("file"),
            *components(session, spec, schema, lambda f: F.col(quoted(f.physical_name))),
        )
        .agg(F.count(F.lit(1)).alias("rows"), *(measure for f in floats for measure in _measures(f)))
        .toArrow()
    )
    paths = [_below(directory, unquote(uri)) for uri in counted.column("file").to_pylist()]
    types = spec.types(schema)
    values = [values_of(type_, counted.column(f"t{i}")) for i, type_ in enumerate(types)]
    tuples: list[LogicalTuple] = list(zip(*values, strict=True)) if values else [()] * len(paths)
    rows = counted.column("rows").to_pylist()
    contents: dict[str, _Contents] = {path: _Contents() for path in paths}
    for index in spark_order(tuples, types):
        contents[paths[index]].tuples.append(one_nan(tuples[index]))
        contents[paths[index]].counts.append(rows[index])
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


def _below(directory: str, uri: str) -> str:
    """The path of a file relative to its write's directory, whose last segment no other path has in it."""
    return uri.partition(f"/{directory.rpartition('/')[2]}/")[2]
