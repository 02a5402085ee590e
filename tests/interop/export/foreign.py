"""Data files that others have made, in a table of ours."""

from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import coalesce
from coalesce.model.datafile import DataFile
from coalesce.table.table import core_of

UUID = "0be5649b-9abe-4519-8964-578636f3453b"
SCHEMA = pa.schema(
    [("dt", pa.date32()), ("at", pa.timestamp("us", "UTC")), ("tags", pa.list_(pa.map_(pa.string(), pa.int64())))]
)


def create(place: Path) -> coalesce.Table:
    """A table with a day and nested columns, and a row of it."""
    table = coalesce.create(str(place), SCHEMA, partition_by=["dt"])
    table.append(pa.Table.from_pylist([row(1)], SCHEMA))
    return table


def row(day: int) -> dict[str, object]:
    """A row of a day."""
    return {"dt": date(2026, 5, day), "at": datetime(2026, 5, day), "tags": [[("a", day)]]}


def add_foreign(table: coalesce.Table, *, hive: bool) -> str:
    """Add a file that another writer has made: without ids, with old timestamps, without the day if it is Hive's."""
    path = "theirs/part-0.parquet"
    rows = pa.Table.from_pylist([row(2)], SCHEMA)
    target = Path(table.location, path)
    target.parent.mkdir(exist_ok=True)
    pq.write_table(rows.drop_columns(["dt"]) if hive else rows, target, use_deprecated_int96_timestamps=True)
    core = core_of(table)
    transaction = core.transaction("adopt")
    file = DataFile(path=path, spec_id=0, rows=1, bytes=target.stat().st_size, tuples=((20575,),), tuple_rows=(1,))
    transaction.add([replace(file, complete=True)])
    core.commit(transaction)
    return path


def as_spark_writes(table: coalesce.Table) -> str:
    """Add a file as Spark's writer makes it, under its name for it: columns have ids, what is in lists has none."""
    path = f"data/{'0' * 32}/part-00000-{UUID}.c000.parquet"
    target = Path(table.location, path)
    target.parent.mkdir()
    tags = pa.field("tags", SCHEMA.field("tags").type)
    fields = [SCHEMA.field("at"), tags, SCHEMA.field("dt")]
    ids = {"dt": "1", "at": "2", "tags": "3"}
    numbered = pa.schema([f.with_metadata({"PARQUET:field_id": ids[f.name]}) for f in fields])
    pq.write_table(pa.Table.from_pylist([row(2)], SCHEMA).select(["at", "tags", "dt"]).cast(numbered), target)
    core = core_of(table)
    transaction = core.transaction("append")
    file = DataFile(path=path, spec_id=0, rows=1, bytes=target.stat().st_size, tuples=((20575,),), tuple_rows=(1,))
    transaction.add([replace(file, complete=True)])
    core.commit(transaction)
    return path
