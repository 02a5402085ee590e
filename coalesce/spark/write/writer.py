"""Write a DataFrame as data files: count, lay out, shuffle once, let Spark write Parquet, read back what came out.

A little is collected instead, and written by the driver (`few.py`). Everything else happens in a copy of the user's
session, so that the settings a data file needs stay in it. The files go into a directory that this write owns: a task
that is tried again, or a job that dies, leaves files there that no version names, and a job that fails takes the
directory away.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from coalesce.arrow.encode import ROW_ID, ROW_VERSION, SHARED_ROW_GROUP_BYTES
from coalesce.arrow.write import bytes_per_row_of
from coalesce.arrow.write import write as write_arrow
from coalesce.manifest.paths import new_write_directory
from coalesce.model.datafile import DataFile
from coalesce.model.rule import PhysicalKey, route
from coalesce.model.schema import ROW_ID_FIELD, ROW_VERSION_FIELD, Schema
from coalesce.model.spec import LogicalTuple, Spec, file_order
from coalesce.model.values import values_of
from coalesce.spark.jvm.catalyst import hadoop_configuration, in_session, jvm, own_session, size_estimate
from coalesce.spark.jvm.collected import collected
from coalesce.spark.jvm.location import spark_uri
from coalesce.spark.translate.schema import FIELD_ID, nullable, spark_type
from coalesce.spark.translate.transforms import components
from coalesce.spark.write.assign import RANK, TASK, Layout, assigned, directory_columns, tuple_hash
from coalesce.spark.write.conform import Conformed, conform, fits, name_of
from coalesce.spark.write.few import FewRows, has_wide, narrow_rows, row_width
from coalesce.spark.write.footers import BOUND_BYTES
from coalesce.spark.write.here import HERE, Here
from coalesce.spark.write.readback import Found, read_back
from coalesce.spark.write.report import WriteReport
from coalesce.spark.write.row_checks import Checks
from coalesce.storage.base import Storage
from coalesce.table.engine import Snapshot
from coalesce.table.layout import Known, PlannedFile, listing, one_nan, plan_files

SETTINGS: Final = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.fieldId.write.enabled": "true",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.sources.partitionOverwriteMode": "static",
    # More than none: then Spark does not sort each task's rows by directory, of which a task has only one.
    "spark.sql.maxConcurrentOutputFileWriters": "16",
}

LINEAGE_IDS: Final = {ROW_ID: ROW_ID_FIELD, ROW_VERSION: ROW_VERSION_FIELD}

_ROW_GROUP_BYTES: Final = SHARED_ROW_GROUP_BYTES
_SAMPLE_ROWS: Final = 8_192
_SAMPLE_BYTES: Final = 32 * 1024 * 1024
_FEW_ROWS: Final = 100
_MOST_SPARE: Final = 10_000


def write(snapshot: Snapshot, frame: DataFrame, report: WriteReport, here: Here = HERE) -> list[DataFile]:
    """Write the rows under the current spec and rule; nothing is committed, and a failure leaves no file."""
    version = snapshot.version
    fits(frame.schema, version.schema, version.spec)
    few = FewRows(snapshot, frame, here.write)
    with report.stage("collect"):
        all_rows = few.at_first()
    if all_rows is not None:
        return _written_here(snapshot, all_rows, report)
    session = own_session(frame.sparkSession, SETTINGS)
    rows = conform(in_session(frame, session), version.schema, version.spec)
    return write_conformed(session, snapshot, rows, report, here, few)


def write_conformed(
    session: SparkSession,
    snapshot: Snapshot,
    rows: Conformed,
    report: WriteReport,
    here: Here = HERE,
    few: FewRows | None = None,
) -> list[DataFile]:
    """Write rows that fit the table already; if they have columns of `LINEAGE`, these are written too.

    If they are counted first and turn out to be `few`, the driver writes them.
    """
    with report.stage("count"):
        layout = _layout_by_history(session, rows, snapshot, here)
        measured = few is not None and few.is_open
        counted = _counted(session, rows, snapshot, measured=measured) if layout is None else None
    if counted is not None:
        with report.stage("collect"):
            all_rows = None if few is None else few.counted(sum(counted.rows), counted.width)
        if all_rows is not None:
            return _written_here(snapshot, all_rows, report)
        with report.stage("count"):
            layout = _layout_by_count(rows, snapshot, counted, None if few is None else few.sample)
    assert layout is not None
    return write_laid_out(session, snapshot, rows, layout, report, here)


def write_laid_out(
    session: SparkSession, snapshot: Snapshot, rows: Conformed, layout: Layout, report: WriteReport, here: Here = HERE
) -> list[DataFile]:
    """Write rows that fit the table into the files that were planned for them.

    Rows that have a `TASK` are in it already.
    """
    version, spec, schema = snapshot.version, snapshot.version.spec, snapshot.version.schema
    if not layout.tasks:
        return []
    sent = assigned(session, rows.frame, layout, spec, schema)
    if TASK not in rows.frame.columns:
        sent = sent.repartitionById(layout.tasks, TASK)
    own = components(session, spec, schema, lambda f: F.col(name_of(f))) if layout.spare > 1 else []
    columns = file_columns(rows.frame, schema, spec)
    directories = directory_columns(session, layout, version.rule, spec, schema)
    ready = sent.sortWithinPartitions(F.col(RANK), *own).select(*columns, *directories)
    with owned_directory(session, snapshot.storage) as directory:
        with report.stage("write"):
            write_parquet(ready, spark_uri(session, snapshot.storage, directory), ready.columns[len(columns) :])
        with report.stage("read back"):
            found = read_back(session, snapshot, directory, spec, here.read)
            tidy(snapshot.storage, directory, found)
        planned = {one_nan(layout.tuples[s.index]): f.physical_key for f in layout.files for s in f.slices}
        return [_planned_entry(f, directory, snapshot, planned) for f in found]


def _written_here(snapshot: Snapshot, rows: pa.Table, report: WriteReport) -> list[DataFile]:
    with report.stage("write"):
        return write_arrow(snapshot, rows)


def file_columns(frame: DataFrame, schema: Schema, spec: Spec) -> list[Column]:
    """The columns as a data file has them: physical names and ids, those of the spec's tuples last, then lineage."""
    columns = [F.col(name_of(f)).alias(f.physical_name, metadata={FIELD_ID: f.id}) for f in file_order(schema, spec)]
    for name, id_ in LINEAGE_IDS.items():
        if name in frame.columns:
            columns.append(F.col(name).alias(name, metadata={FIELD_ID: id_}))
    return columns


def _planned_entry(
    found: Found, directory: str, snapshot: Snapshot, planned: Mapping[LogicalTuple, PhysicalKey]
) -> DataFile:
    """The entry of a file. Its physical key is the one all of its tuples were sent to, if they were sent to one."""
    version = snapshot.version
    keys = {planned[t] if t in planned else route(version.rule, version.spec, t) for t in found.tuples or ()}
    key = keys.pop() if len(keys) == 1 else None
    return entry(found, directory, version.current_spec_id, version.current_rule_id, key)


def entry(found: Found, directory: str, spec_id: int, rule_id: int | None, key: PhysicalKey | None) -> DataFile:
    """The entry of a file that was read back."""
    return listing(
        DataFile(
            path=f"{directory}/{found.path}",
            spec_id=spec_id,
            rows=found.rows,
            bytes=found.bytes,
            rule_id=rule_id,
            physical_key=key,
            statistics=found.statistics,
        ),
        found.tuples,
        found.tuple_rows,
        ordered=found.ordered,
    )


# --- layout ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Counted:
    """How many rows there are of each tuple, the tuples' hashes, and what all rows take in memory, if it was asked."""

    tuples: list[LogicalTuple]
    rows: list[int]
    hashes: list[int]
    width: int | None


def _counted(session: SparkSession, rows: Conformed, snapshot: Snapshot, *, measured: bool) -> _Counted:
    """Count the rows of each tuple, in one pass that also looks for rows that may not be."""
    spec, schema = snapshot.version.spec, snapshot.version.schema
    keys = components(session, spec, schema, lambda f: F.col(name_of(f)))
    checks = Checks(session, rows, snapshot)
    forbidden = [column.alias(f"n{i}") for i, column in enumerate(checks.counts)]
    width = [F.sum(F.expr(row_width(rows.frame))).alias("width")] if measured else []
    by_tuple = checks.frame.groupBy(*keys).agg(F.count(F.lit(1)).alias("rows"), *forbidden, *width)
    counted = by_tuple.select("*", tuple_hash(spec).alias("hash")).toArrow()
    checks.refuse([sum(counted.column(f"n{i}").to_pylist()) for i in range(len(forbidden))])
    counts = counted.column("rows").to_pylist()
    values = [values_of(type_, counted.column(f"t{i}")) for i, type_ in enumerate(spec.types(schema))]
    tuples: list[LogicalTuple] = list(zip(*values, strict=True)) if values else [()] * len(counts)
    taken = sum(counted.column("width").to_pylist()) if measured else None
    return _Counted(tuples, counts, counted.column("hash").to_pylist(), taken)


def _layout_by_count(rows: Conformed, snapshot: Snapshot, counted: _Counted, sample: pa.Table | None) -> Layout:
    """Lay the counted rows out; if it is to be seen how large they are, by the `sample`, or one that is taken now."""
    if not any(counted.rows):
        return Layout(tuples=(), files=(), spare=0)
    known = snapshot.known(counted.tuples)
    bytes_per_row = snapshot.bytes_per_row
    if bytes_per_row is None:
        # A few rows are one small file for each physical key, however wide they may be: that is worth no other pass.
        few = sum(counted.rows) <= _FEW_ROWS
        if not few and sample is None:
            sample = _sample(rows, snapshot.version.schema)
        bytes_per_row = 1.0 if sample is None else bytes_per_row_of(sample, snapshot.version)
    # One task is spare: a DataFrame that is not the same each time it is computed may come up with other tuples now.
    files = _files(snapshot, counted.tuples, counted.rows, bytes_per_row, known)
    return Layout(tuples=counted.tuples, files=files, spare=1, hashes=counted.hashes)


def _layout_by_history(session: SparkSession, rows: Conformed, snapshot: Snapshot, here: Here) -> Layout | None:
    """Take it that the rows are spread over tuples as the table's are; None if that is not wanted or not possible.

    How many rows there will be is Spark's estimate; if it is so little that the driver may write it, they are better
    counted. A tuple the table does not have is small.
    """
    history = None if snapshot.counts_first else snapshot.bytes_per_row
    expected = None if history is None else size_estimate(rows.frame._jdf.queryExecution().optimizedPlan())
    if history is None or expected is None or expected <= here.write:
        return None
    checks = Checks(session, rows, snapshot)
    if checks.counts:
        checks.refuse(list(checks.frame.agg(*checks.counts).first() or ()))
    known = snapshot.known(None)
    sizes = known.sizes or {}
    total = sum(sizes.values())
    scale = expected / history / total if total else 0.0
    tuples = list(sizes)
    counts = [max(1, round(sizes[t] * scale)) for t in tuples]
    spare = max(1, min(_MOST_SPARE, round(expected / snapshot.target_file_bytes)))
    return Layout(tuples=tuples, files=_files(snapshot, tuples, counts, history, known), spare=spare)


def _files(
    snapshot: Snapshot, tuples: Sequence[LogicalTuple], counts: Sequence[int], bytes_per_row: float, known: Known
) -> list[PlannedFile]:
    return plan_files(
        tuples,
        counts,
        bytes_per_row=bytes_per_row,
        target=snapshot.target_file_bytes,
        rule=snapshot.version.rule,
        spec=snapshot.version.spec,
        schema=snapshot.version.schema,
        known=known,
    )


def _sample(rows: Conformed, schema: Schema) -> pa.Table:
    """A few rows under their logical names; fewer if they are so wide that the driver may not have room for them."""
    some = rows.frame.limit(_SAMPLE_ROWS).select(
        *(F.col(name_of(f)).cast(nullable(spark_type(f.type))).alias(name_of(f)) for f in schema)
    )
    sampled = collected(narrow_rows(some, _SAMPLE_BYTES // _SAMPLE_ROWS))
    if not has_wide(sampled):
        return pa.Table.from_arrays(sampled.columns[:-1], schema.names)
    widest = some.selectExpr(f"max({row_width(some)})").first()
    room = _SAMPLE_BYTES // max(1, (widest[0] if widest is not None else None) or 1)
    return collected(some.limit(max(1, min(_SAMPLE_ROWS, room)))).rename_columns(schema.names)


# --- files -------------------------------------------------------------------------------------------------------


def write_parquet(frame: DataFrame, directory: str, directory_columns: Sequence[str]) -> None:
    """Let Spark write Parquet, a file for each task, below a directory that no other write uses."""
    options = {
        "compression": "zstd",
        "parquet.compression.codec.zstd.level": "1",  # as pyarrow has it; higher ones cost more than they save
        "maxRecordsPerFile": "0",
        "coalesce.writer": "true",  # `PlainWrites.java` lets no other write put files into a table
        "parquet.block.size": str(_ROW_GROUP_BYTES),
        "parquet.statistics.truncate.length": str(BOUND_BYTES),
        "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
        # Renamed once, not twice. Half a job's files may become visible; they are not looked at before it is done.
        "mapreduce.fileoutputcommitter.algorithm.version": "2",
    }
    writer = frame.write.mode("append").options(**options)
    if directory_columns:
        writer = writer.partitionBy(*directory_columns)
    writer.parquet(directory)


@contextmanager
def owned_directory(session: SparkSession, storage: Storage) -> Iterator[str]:
    """A new directory for one write, relative to the table; if the write fails, it is taken away and its jobs ended."""
    directory = new_write_directory()
    context = session.sparkContext
    tag = f"coalesce-{directory.rpartition('/')[2]}"
    context.addJobTag(tag)
    try:
        yield directory
    except BaseException:
        with suppress(Exception):  # the first failure is what to report, and orphans do no harm
            context.cancelJobsWithTag(tag)
            path = jvm(session).org.apache.hadoop.fs.Path(spark_uri(session, storage, directory))
            path.getFileSystem(hadoop_configuration(session)).delete(path, True)
        raise
    finally:
        context.removeJobTag(tag)


def tidy(storage: Storage, directory: str, found: Sequence[Found]) -> None:
    """Delete what else lies in a write's directory: Hadoop's checksums, a file without rows that Spark may leave."""
    kept = {f"{directory}/{file.path}" for file in found}
    for stored in storage.list(directory):
        if stored.path not in kept:
            storage.delete(stored.path)
