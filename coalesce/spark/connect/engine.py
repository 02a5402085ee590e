"""The engine for sessions of Spark Connect: the portable source reads, Arrow in the server's Python workers writes.

Metadata is read and commits are made here, in the client, so the table's location has to mean the same to the client
and to the server's workers.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, assert_never

import numpy as np
import pyarrow as pa

from coalesce.arrow.conform import conform
from coalesce.arrow.engine import ArrowEngine
from coalesce.arrow.row_filter import is_true
from coalesce.errors import CoalesceError, NeedsSpark, SchemaError
from coalesce.manifest.paths import new_write_directory
from coalesce.model.datafile import DataFile
from coalesce.model.rule import BySize, Groups, KeepAll, Rule, UnknownRule, unknown_kind
from coalesce.model.schema import Schema
from coalesce.model.transforms import Identity
from coalesce.plan.planner import JudgeOpaque
from coalesce.plan.report import Report
from coalesce.predicate.expr import Bound
from coalesce.predicate.normalize import has_opaque
from coalesce.predicate.render import to_sql
from coalesce.spark.connect.source import check_columns, write_batches
from coalesce.spark.translate.option_names import VERSION
from coalesce.spark.translate.schema import schema_from_spark
from coalesce.table.engine import Revision, Snapshot
from coalesce.table.match import outside, refusal
from coalesce.table.statement import Statement


class ConnectEngine(ArrowEngine):
    """Takes the DataFrames of a Connect session, and Spark schemas."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark

    def accepts(self, data: object) -> bool:
        """Whether `data` is Spark's."""
        from pyspark.sql import DataFrame
        from pyspark.sql.types import StructType

        return isinstance(data, DataFrame | StructType)

    def infer_schema(self, data: Any, known: Schema | None = None) -> Schema:
        """The table schema that fits `data`, with fresh column ids; no row is computed."""
        return schema_from_spark(getattr(data, "schema", data), known)

    def write(self, snapshot: Snapshot, data: Any) -> list[DataFile]:
        """Write the rows in the server's workers; only the entries of the files come back."""
        if not hasattr(data, "mapInArrow"):
            raise SchemaError(f"a {type(data).__name__} has no rows to write; give a Spark DataFrame.")
        check_columns(snapshot, data.schema)
        if snapshot.within is not None:
            _refuse_outside(snapshot, data, snapshot.within)
        part = Snapshot(storage=snapshot.storage, version=snapshot.version, below=new_write_directory())
        try:
            rows = _together(data, snapshot).mapInArrow(partial(_write, part), "answer binary").collect()
            return [file for row in rows for file in _answer(row[0])]
        except BaseException:  # what other tasks have written is known nowhere else
            with suppress(CoalesceError):
                for file in snapshot.storage.list(part.below):
                    snapshot.storage.delete(file.path)
            raise

    def dataframe(self, snapshot: Snapshot) -> Any:
        """The rows of the version. Filters on it do not prune; `.option("where", …)` of the reader does."""
        reader = self.spark.read.format("coalesce").option(VERSION, snapshot.version.number)
        return reader.load(snapshot.storage.uri(""))

    def revision(self, statement: Statement) -> Revision:  # noqa: ARG002 - the engine's signature
        """None: where the rows of a frame lie, a client of Spark Connect is not told."""
        raise NeedsSpark(
            "update() and merge() need a Spark session whose driver is in reach, and this one is of Spark Connect: use "
            "upsert(), or a classic session."
        )

    def upsert(self, data: Any, keys: Sequence[str]) -> Revision:
        """Rows of a frame that take the place of those with the same keys; they are collected."""
        return super().upsert(data.toArrow() if hasattr(data, "toArrow") else data, keys)

    def judge(self, snapshot: Snapshot) -> JudgeOpaque | None:  # noqa: ARG002 - the engine's signature
        """None: no Catalyst is in reach."""
        return None

    def last_scan(self, snapshot: Snapshot) -> Report | None:  # noqa: ARG002 - the engine's signature
        """Never known: the server plans."""
        return None


def _refuse_outside(snapshot: Snapshot, data: Any, within: Bound) -> None:
    """Refuse rows on which the predicate is not TRUE: a pass of its own, before any task writes a file."""
    if has_opaque(within):
        raise NeedsSpark(
            f"whether rows match {to_sql(within)} cannot be told in a Spark Connect session; filter them yourself and "
            "allow rows outside (allow_outside=True), or use a session with a driver of its own."
        )
    schema = snapshot.version.schema
    rows = data.mapInArrow(partial(_count_outside, schema, within), "answer binary").collect()
    found = [_answer(row[0]) for row in rows]
    count = sum(number for number, _ in found)
    if count:
        example = next(example for number, example in found if number)
        raise refusal([outside(count, within, example)])


def _answer(sent: bytes) -> Any:
    """What a worker has to say; an error of ours is raised here, where the caller can tell what it is."""
    answer = pickle.loads(sent)
    if isinstance(answer, CoalesceError):
        raise answer
    return answer


def _sent(work: Callable[[], object]) -> pa.RecordBatch:
    """Runs in a worker: what `work` returns, or the error of ours that it ends in, as a batch of one row."""
    try:
        answer = work()
    except CoalesceError as error:
        answer = error
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(answer)], pa.binary())], ["answer"])


def _together(data: Any, snapshot: Snapshot) -> Any:
    """The rows of a physical partition in one task, so that its logical partitions can share files."""
    version = snapshot.version
    kept = [
        field.name
        for partition_field in version.spec.fields
        if isinstance(partition_field.transform, Identity) and not _groups(version.rule, partition_field.field_id)
        if (field := version.schema.by_id(partition_field.source_id)) is not None
    ]
    names = {name.lower(): name for name in data.columns}
    kept = [names[name.lower()] for name in kept if name.lower() in names]
    return data.repartition(*kept) if kept else data


def _groups(rule: Rule, field_id: int) -> bool:
    """Whether a rule may put several values of a field together."""
    match rule:
        case KeepAll():
            return False
        case Groups(_, members, _):
            return field_id in members
        case BySize(_, field_ids):
            return field_id in field_ids
        case UnknownRule():
            raise unknown_kind(rule)
        case _:
            assert_never(rule)


def _count_outside(schema: Schema, within: Bound, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs in a worker: counts the rows of its task that are outside, and yields one of them."""

    def count_them() -> tuple[int, object]:
        count, example = 0, None
        for batch in batches:
            rows = conform(pa.Table.from_batches([batch]), schema)
            found = np.flatnonzero(~is_true(within, rows, schema))
            if len(found) and not count:
                (example,) = rows.slice(found[0], 1).to_pylist()
            count += len(found)
        return count, example

    yield _sent(count_them)


def _write(snapshot: Snapshot, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs in a worker: writes the rows of its task and yields the entries of the files."""
    yield _sent(partial(write_batches, snapshot, batches))
