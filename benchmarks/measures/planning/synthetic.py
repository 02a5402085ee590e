"""A table of very many files of which only the entries exist, which is all that a plan looks at.

Every day has 2,500 files of ten apps each, and each of the 5,000 apps is in five of them, as if every day had been
written in five goes. 400 days make 1,000,000 files, 2,000,000 logical partitions and 10,000,000 postings.
"""

from datetime import date, timedelta

import numpy as np
import pyarrow as pa

import coalesce
from benchmarks.harness import progress
from coalesce.model.entries import Entries, from_table
from coalesce.model.entry_columns import columns_of
from coalesce.model.version import Version
from coalesce.table.table import core_of

APPS, APPS_PER_FILE, GOES, ROWS_PER_APP = 5_000, 10, 5, 100
FILES_PER_DAY = APPS // APPS_PER_FILE * GOES
FIRST_DAY = date(2025, 1, 1)
DAYS_PER_COMMIT = 40
SCHEMA = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("amount", pa.int64())])


def build(location: str, files: int) -> None:
    """Create the table with `files` files, whole days of them."""
    table = coalesce.create(location, SCHEMA, partition_by=["dt", "app"], rule=coalesce.small("app"))
    days = max(1, files // FILES_PER_DAY)
    for start in range(0, days, DAYS_PER_COMMIT):
        transaction = core_of(table).transaction("append")
        for day in range(start, min(days, start + DAYS_PER_COMMIT)):
            transaction.add_entries(entries(table.state, FIRST_DAY + timedelta(days=day)))
        core_of(table).commit(transaction)
        progress(f"{table.state.files:,} files in {len(table.state.manifests)} manifests")


def middle_day(files: int) -> date:
    """A day in the middle of a table of so many files."""
    return FIRST_DAY + timedelta(days=files // FILES_PER_DAY // 2)


def entries(version: Version, day: date) -> Entries:
    """The entries of one day, column by column: one at a time would take minutes."""
    dt, app = version.spec.fields
    chance = np.random.default_rng(day.toordinal())
    count, postings = FILES_PER_DAY, FILES_PER_DAY * APPS_PER_FILE
    apps = pa.array([f"app-{i:05d}" for i in range(APPS)])
    tuples = pa.StructArray.from_arrays(
        [_repeated(day, postings, pa.date32()), pa.concat_arrays([apps] * GOES), _repeated(ROWS_PER_APP, postings)],
        [f"f{dt.field_id}", f"f{app.field_id}", "rows"],
    )
    offsets = pa.array(np.arange(0, postings + 1, APPS_PER_FILE, dtype=np.int32))
    names = chance.integers(0, 2**62, count).tolist()
    columns = {
        "path": pa.array([f"data/{day:%Y%m%d}/_dt={day}/_app=%5B%23small%5D/{name:016x}.parquet" for name in names]),
        "rows": _repeated(ROWS_PER_APP * APPS_PER_FILE, count),
        "bytes": pa.array(chance.integers(10**6, 2 * 10**7, count)),
        "rule_id": _repeated(0, count, pa.int32()),
        "physical_known": _repeated(True, count, pa.bool_()),
        f"physical_value_{dt.field_id}": _repeated(day, count, pa.date32()),
        f"physical_group_{app.field_id}": _repeated("[#small]", count, pa.string()),
        "tuples": pa.ListArray.from_arrays(offsets, tuples),
        "complete": _repeated(True, count, pa.bool_()),
    }
    known = columns_of(version.spec, version.spec.types(version.schema))
    columns = {name: columns.get(name, pa.nulls(count, type_)) for name, type_ in known.items()}
    amount = version.schema.field("amount").id
    columns[f"lower_{amount}"] = pa.array(chance.integers(0, 1_000, count))
    columns[f"upper_{amount}"] = pa.array(chance.integers(1_000, 2_000, count))
    columns[f"null_count_{amount}"] = _repeated(0, count)
    return from_table(version.spec.spec_id, (dt.field_id, app.field_id), pa.table(columns))


def _repeated(value: object, count: int, type_: pa.DataType | None = None) -> pa.Array:
    return pa.repeat(pa.scalar(value, type_ or pa.int64()), count)
