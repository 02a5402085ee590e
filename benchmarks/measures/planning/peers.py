"""The same rows in four tables: 10 days × 2,000 apps, a commit a day, as daily data arrives.

delta-rs and PyIceberg partition by `dt` and `app` and hold a file for each of the 20,000 logical partitions. Ours is
there twice: once like that, and once with the apps of a day in shared files.
"""

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, LongType, NestedField, StringType

import coalesce
from benchmarks.harness import progress
from benchmarks.measures.planning.planners import DELTA, ICEBERG, OWN, SHARED

APPS, ROWS_PER_PARTITION = 2_000, 5
FIRST_DAY = date(2026, 5, 1)
SCHEMA = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("amount", pa.int64())])


def build(directory: Path, days: int) -> None:
    """Write the four tables."""
    rows = [_rows(FIRST_DAY + timedelta(days=d)) for d in range(days)]
    progress(f"delta-rs writes {days * APPS:,} files")
    for day in rows:
        write_deltalake(str(directory / DELTA), day, partition_by=["dt", "app"], mode="append")
    DeltaTable(str(directory / DELTA)).create_checkpoint()  # it opens twice as fast from one
    progress(f"PyIceberg adds {days * APPS:,} files")
    _build_iceberg(directory / ICEBERG, rows)
    for name, rule in ((OWN, coalesce.keep_all()), (SHARED, coalesce.small("app"))):
        progress(f"coalesce writes the same, {name} files")
        table = coalesce.create(directory / name, SCHEMA, partition_by=["dt", "app"], rule=rule)
        for day in rows:
            table.append(day)


def _rows(day: date) -> pa.Table:
    count = APPS * ROWS_PER_PARTITION
    apps = [f"app-{i // ROWS_PER_PARTITION:05d}" for i in range(count)]
    return pa.table({"dt": [day] * count, "app": apps, "amount": np.arange(count)}, schema=SCHEMA)


def _build_iceberg(directory: Path, rows: list[pa.Table]) -> None:
    """Its own writer takes minutes for so many files, so pyarrow writes them and PyIceberg adds them to the table."""
    directory.mkdir()
    catalog = SqlCatalog("benchmark", uri=f"sqlite:///{directory}/catalog.db", warehouse=f"file://{directory}")
    catalog.create_namespace("benchmark")
    table = catalog.create_table(
        "benchmark.events",
        Schema(
            NestedField(1, "dt", DateType()), NestedField(2, "app", StringType()), NestedField(3, "amount", LongType())
        ),
        partition_spec=PartitionSpec(
            PartitionField(1, 1000, IdentityTransform(), "dt"), PartitionField(2, 1001, IdentityTransform(), "app")
        ),
    )
    for number, day in enumerate(rows):
        inside = directory / "files" / str(number)
        inside.mkdir(parents=True)
        paths = [str(inside / f"{app}.parquet") for app in range(APPS)]
        for app, path in enumerate(paths):
            pq.write_table(day.slice(app * ROWS_PER_PARTITION, ROWS_PER_PARTITION), path)
        table.add_files(paths, check_duplicate_files=False)
    (directory / "newest").write_text(table.metadata_location)
