"""What it costs to change a table's layout, and a partition column's name.

Seven days of 10,000 payments lie by day; then the layout becomes day and eight buckets of the merchant. A Hive-style
directory has to be written again as a whole; a coalesce table takes one commit, and a backfill whenever it suits. Then
a partition column is renamed on a table with 100,000 entries, beside a commit that changes nothing much.
"""

import datetime as dt
import statistics
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

import coalesce
from benchmarks.harness import Result, report, seconds
from coalesce.model.datafile import DataFile
from coalesce.model.transform_arrays import apply_array
from coalesce.model.transforms import Bucket
from coalesce.model.types import STRING
from coalesce.table.table import Table, core_of

DAYS, ROWS, MERCHANTS, BUCKETS = 7, 10_000, 200, 8
SCHEMA = pa.schema([("txn_id", pa.int64()), ("merchant", pa.string()), ("amount", pa.int32()), ("dt", pa.date32())])


def day_of_payments(day: int) -> pa.Table:
    """One day's rows."""
    numbers = np.arange(ROWS)
    return pa.table(
        {
            "txn_id": numbers,
            "merchant": [f"m-{i % MERCHANTS}" for i in numbers],
            "amount": pa.array(100 + (numbers * 7) % 50_000, pa.int32()),
            "dt": [dt.date(2026, 4, 1 + day)] * ROWS,
        },
        schema=SCHEMA,
    )


def hive_rewrite(directory: Path) -> tuple[float, int]:
    """A directory by day, written again by day and bucket: seconds, and files written again."""
    for day in range(DAYS):
        _write_hive(day_of_payments(day), directory / "v1", ["dt"], day)

    def rewrite() -> None:
        old = ds.dataset(
            directory / "v1", partitioning=ds.partitioning(pa.schema([("dt", pa.date32())]), flavor="hive")
        )
        for number, day in enumerate(range(DAYS)):
            rows = old.to_table(filter=ds.field("dt") == dt.date(2026, 4, 1 + day))
            buckets = apply_array(Bucket(BUCKETS), STRING, rows.column("merchant"))
            _write_hive(rows.append_column("bucket", buckets), directory / "v2", ["dt", "bucket"], number)

    took = seconds(rewrite)
    return took, len(list((directory / "v2").rglob("*.parquet")))


def _write_hive(rows: pa.Table, directory: Path, by: list[str], number: int) -> None:
    partitioning = ds.partitioning(pa.schema([rows.schema.field(name) for name in by]), flavor="hive")
    ds.write_dataset(
        rows,
        directory,
        format="parquet",
        partitioning=partitioning,
        basename_template=f"{number}-{{i}}.parquet",
        existing_data_behavior="overwrite_or_ignore",
    )


def our_evolution(directory: Path) -> tuple[float, float, Table]:
    """Four days under `dt`, then three under `dt` and bucket: seconds to evolve, seconds to backfill, the table."""
    table = coalesce.create(directory, SCHEMA, partition_by=["dt"])
    for day in range(4):
        table.append(day_of_payments(day))
    evolve = seconds(lambda: table.evolve(add=f"bucket({BUCKETS}, merchant)"))
    for day in range(4, DAYS):
        table.append(day_of_payments(day))
    return evolve, seconds(lambda: coalesce.open(directory).compact()), table


def rename_at(directory: Path, entries: int) -> tuple[float, float]:
    """Median milliseconds of a commit that sets a property, and of one that renames the partition column."""
    table = coalesce.create(directory, SCHEMA, partition_by=["dt"])
    transaction = core_of(table).transaction("append")
    days = [20_000 + i % 365 for i in range(entries)]
    transaction.add(
        [
            DataFile(
                path=f"data/w/{i:08d}.parquet",
                spec_id=0,
                rows=1000,
                bytes=10**6,
                physical_key=(day,),
                tuples=((day,),),
                tuple_rows=(1000,),
                complete=True,
            )
            for i, day in enumerate(days)
        ]
    )
    core_of(table).commit(transaction)
    plain, renames = [], []
    for i in range(15):
        plain.append(seconds(lambda i=i: table.set_properties({"n": str(i)})))  # type: ignore[misc]
        old, new = ("dt", "event_date") if i % 2 == 0 else ("event_date", "dt")
        renames.append(seconds(lambda old=old, new=new: table.rename_column(old, new)))  # type: ignore[misc]
    return statistics.median(plain) * 1e3, statistics.median(renames) * 1e3


def main() -> None:
    """Run and report."""
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        hive_seconds, hive_files = hive_rewrite(directory / "hive")
        evolve, backfill, table = our_evolution(directory / "ours")
        where = "dt = DATE '2026-04-02' AND merchant = 'm-7'"
        mixed, moved = table.plan(where).file_count, coalesce.open(directory / "ours").plan(where).file_count
        plain, rename = rename_at(directory / "entries", 100_000)
    report(
        "evolution",
        [
            Result("Hive layout: everything written again", hive_seconds * 1e3, "ms", f"{hive_files} files"),
            Result("ours: evolve, one commit", evolve * 1e3, "ms", f"{hive_seconds / evolve:,.0f}x less than Hive's"),
            Result("ours: backfill of four days", backfill * 1e3, "ms", "optional, in steps"),
            Result("files read for one day and merchant, mixed specs", mixed, "files", f"{moved} after the backfill"),
            Result("commit of a property at 100,000 entries", plain, "ms", ""),
            Result("rename of the partition column there", rename, "ms", f"{rename - plain:+.1f} ms"),
        ],
    )


if __name__ == "__main__":
    main()
