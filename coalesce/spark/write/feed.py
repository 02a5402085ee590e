"""The changes of a table's rows as a frame: executors read the parts of files that came and went, and compare ids.

Versions are taken together, however many: those that only added rows, those that only removed some, and those that did
both, whose rows may be the same ones, moved or changed.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from coalesce.arrow.encode import ROW_ID, ROW_VERSION
from coalesce.model.types import Field
from coalesce.spark.jvm.catalyst import own_session
from coalesce.spark.translate.schema import nullable, spark_type
from coalesce.spark.write.conform import name_of
from coalesce.spark.write.rewrite import EVERY_ROW, FILE, rows_with
from coalesce.spark.write.writer import SETTINGS
from coalesce.table.engine import Part, Snapshot, Step
from coalesce.table.feed import (
    CHANGE_TYPE,
    COMMIT_TIMESTAMP,
    COMMIT_VERSION,
    DELETE,
    INSERT,
    POSTIMAGE,
    PREIMAGE,
)

_NUMBER: Final = "step"


def changed_rows(spark: SparkSession, snapshot: Snapshot, steps: Sequence[Step]) -> DataFrame:
    """The changes that versions made, with the columns of the snapshot's; nothing is read yet."""
    session = own_session(spark, SETTINGS | EVERY_ROW)
    schema = snapshot.version.schema
    columns = [F.col(name_of(f)) for f in schema]
    frames = []
    for parts, kind in (([(s, p) for s in steps if not s.removed for p in s.added], INSERT),
                        ([(s, p) for s in steps if not s.added for p in s.removed], DELETE)):  # fmt: skip
        if parts:
            rows = _rows(session, snapshot, parts)
            frames.append(rows.select(*columns, F.lit(kind).alias(CHANGE_TYPE), F.col(_NUMBER)))
    both = [s for s in steps if s.removed and s.added]
    if both:
        gone = _rows(session, snapshot, [(s, p) for s in both for p in s.removed])
        came = _rows(session, snapshot, [(s, p) for s in both for p in s.added])
        frames.append(_compared(gone, came, list(schema)))
    if not frames:
        fields = [f"{name_of(f)} {spark_type(f.type).simpleString()}" for f in schema]
        empty = ", ".join([*fields, f"{CHANGE_TYPE} string", f"{_NUMBER} bigint"])
        frames.append(session.createDataFrame([], empty))
    times = pa.table(
        {
            "number": pa.array([s.number for s in steps], pa.int64()),
            COMMIT_TIMESTAMP: pa.array([s.timestamp_ms * 1000 for s in steps], pa.timestamp("us", "UTC")),
        }
    )
    found = reduce(DataFrame.unionByName, frames)
    dated = found.join(F.broadcast(session.createDataFrame(times)), F.col(_NUMBER) == F.col("number"))
    return dated.select(
        *(_named(f) for f in schema), F.col(CHANGE_TYPE), F.col(_NUMBER).alias(COMMIT_VERSION), F.col(COMMIT_TIMESTAMP)
    )


def _named(field: Field) -> Column:
    """A column under its own name, with the names of its members, and nothing in it promised not to be NULL."""
    return F.col(name_of(field)).cast(nullable(spark_type(field.type))).alias(field.name)


def _rows(session: SparkSession, snapshot: Snapshot, parts: Sequence[tuple[Step, Part]]) -> DataFrame:
    """The rows of parts, with their ids and versions, and the number of the version that brought or removed them."""
    rows = rows_with(session, snapshot, [part.file for _, part in parts], [part.tuples for _, part in parts])
    numbers = pa.table(
        {
            "part": pa.array(range(len(parts)), pa.int32()),
            _NUMBER: pa.array([step.number for step, _ in parts], pa.int64()),
        }
    )
    return rows.join(F.broadcast(session.createDataFrame(numbers)), F.col(FILE) == F.col("part"))


def _compared(gone: DataFrame, came: DataFrame, fields: list[Field]) -> DataFrame:
    """Of rows that went and rows that came with one version: which are the same, and whether they changed."""
    names = [name_of(f) for f in fields]
    before = gone.select(*(F.col(n).alias(f"b{n}") for n in (*names, ROW_ID, ROW_VERSION, _NUMBER)))
    after = came.select(*(F.col(n).alias(f"a{n}") for n in (*names, ROW_ID, ROW_VERSION, _NUMBER)))
    same = (F.col(f"b{ROW_ID}") == F.col(f"a{ROW_ID}")) & (F.col(f"b{_NUMBER}") == F.col(f"a{_NUMBER}"))
    joined = before.join(after, same, "full")
    no_before, no_after = F.col(f"b{_NUMBER}").isNull(), F.col(f"a{_NUMBER}").isNull()

    def change(kind: str, side: str) -> Column:
        values = [F.col(f"{side}{name}").alias(name) for name in names]
        return F.struct(*values, F.lit(kind).alias(CHANGE_TYPE), F.col(f"{side}{_NUMBER}").alias(_NUMBER))

    moved = F.col(f"b{ROW_VERSION}").eqNullSafe(F.col(f"a{ROW_VERSION}"))
    changes = (
        F.when(no_before, F.array(change(INSERT, "a")))
        .when(no_after, F.array(change(DELETE, "b")))
        .when(~moved, F.array(change(PREIMAGE, "b"), change(POSTIMAGE, "a")))
    )
    return joined.select(F.explode(changes).alias("change")).select("change.*")
