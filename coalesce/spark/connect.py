"""The engine for sessions of Spark Connect: the portable source reads, Arrow in the server's Python workers writes.

Metadata is read and commits are made here, in the client, so the table's location has to mean the same to the client
and to the server's workers.
"""

import pickle
from collections.abc import Iterator
from functools import partial
from typing import Any, assert_never

import pyarrow as pa

from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import SchemaError
from coalesce.model.datafile import DataFile
from coalesce.model.rule import BySize, Groups, KeepAll, Rule
from coalesce.model.schema import Schema
from coalesce.model.transforms import Identity
from coalesce.plan.report import Report
from coalesce.spark.attach import attach
from coalesce.spark.portable import write_batches
from coalesce.spark.schema import schema_from_spark
from coalesce.spark.travel import VERSION
from coalesce.table.engine import Place


class ConnectEngine(ArrowEngine):
    """Takes the DataFrames of a Connect session, and Spark schemas."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark

    def accepts(self, data: object) -> bool:
        """Whether `data` is Spark's."""
        from pyspark.sql import DataFrame
        from pyspark.sql.types import StructType

        return isinstance(data, DataFrame | StructType)

    def infer_schema(self, data: Any) -> Schema:
        """The table schema that fits `data`, with fresh column ids; no row is computed."""
        return schema_from_spark(getattr(data, "schema", data))

    def write(self, place: Place, data: Any) -> list[DataFile]:
        """Write the rows in the server's workers; only the entries of the files come back."""
        if not hasattr(data, "mapInArrow"):
            raise SchemaError(f"a {type(data).__name__} has no rows to write; give a Spark DataFrame.")
        written = _together(data, place).mapInArrow(
            partial(_write, Place(storage=place.storage, version=place.version)), "entries binary"
        )
        return [file for row in written.collect() for file in pickle.loads(row[0])]

    def dataframe(self, place: Place) -> Any:
        """The rows of the version. Filters on it do not prune; `.option("where", …)` of the reader does."""
        reader = attach(self.spark).read.format("coalesce").option(VERSION, place.version.number)
        return reader.load(place.storage.uri(""))

    def last_scan(self, place: Place) -> Report | None:  # noqa: ARG002 - the engine's signature
        """Never known: the server plans."""
        return None


def _together(data: Any, place: Place) -> Any:
    """The rows of a physical partition in one task, so that its logical partitions can share files."""
    version = place.version
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
        case _:
            assert_never(rule)


def _write(place: Place, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs in a worker: writes the rows of its task and yields the entries of the files."""
    entries = pickle.dumps(write_batches(place, batches))
    yield pa.RecordBatch.from_arrays([pa.array([entries], pa.binary())], ["entries"])
