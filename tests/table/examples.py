"""Small tables and rows for the tests of commits."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from itertools import count
from typing import Any

import pyarrow as pa

from coalesce.arrow.engine import ArrowEngine
from coalesce.manifest.paths import version_path
from coalesce.manifest.version_file import encode_version
from coalesce.model.datafile import DataFile
from coalesce.model.rule import RuleRequest
from coalesce.model.version import Version
from coalesce.storage.base import Storage
from coalesce.table import removal
from coalesce.table.commit.log import Log
from coalesce.table.commit.manifests import ManifestCache, Manifests
from coalesce.table.commit.transaction import Transaction
from coalesce.table.create import create_table
from coalesce.table.engine import Engines
from coalesce.table.table import Table, core_of

SCHEMA = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("id", pa.int64())])
DAY = date(2026, 5, 17)

_unique = count()


def create(storage: Storage, rule: RuleRequest | None = None, **properties: str) -> Table:
    """A new table of events, partitioned by day and app."""
    engines = Engines(ArrowEngine())
    return create_table(storage, engines, SCHEMA, partition_by=["dt", "app"], rule=rule, properties=properties)


def opened(storage: Storage) -> Table:
    """The table as another process would open it: with nothing in memory of what was committed here."""
    table = Table(storage, Engines(ArrowEngine()))
    core_of(table).manifests = Manifests(storage, ManifestCache())
    return table


def events(apps: str | Sequence[str], ids: Iterable[int]) -> pa.Table:
    """Rows of one day: one for each id, all of one app or each of its own."""
    listed = list(ids)
    named = [apps] * len(listed) if isinstance(apps, str) else list(apps)
    return pa.table({"dt": [DAY] * len(listed), "app": named, "id": listed}, schema=SCHEMA)


def ids(table: Table, where: str | None = None) -> list[int]:
    """The ids of the rows, sorted: read from the data files."""
    found: list[int] = table.scan(where, columns=["id"]).to_arrow().column("id").to_pylist()
    return sorted(found)


def named_files(table: Table, apps: Sequence[str], rows: int = 1) -> list[DataFile]:
    """Entries of data files that are not there, for tests that never look into one: one file an app."""
    return [
        DataFile(
            path=f"data/made-up/{next(_unique)}.parquet",
            spec_id=table.state.current_spec_id,
            rows=rows,
            bytes=100 * rows,
            rule_id=0,
            physical_key=(20_590, app),
            tuples=((20_590, app),),
            tuple_rows=(rows,),
            complete=True,
        )
        for app in apps
    ]


def add_files(table: Table, apps: Sequence[str], rows: int = 1, **options: Any) -> Version:
    """Commit such entries."""
    transaction = core_of(table).transaction("append", **options)
    transaction.add(named_files(table, apps, rows))
    return core_of(table).commit(transaction)


def grow(storage: Storage, versions: int, start: int = 0) -> None:
    """Give a table empty versions up to number `versions`, almost a second apart, without really committing them."""
    version = Log(storage).load(start)
    for number in range(start + 1, versions + 1):
        version = replace(
            version,
            number=number,
            commit_id=f"{number:032x}",
            parent_commit_id=version.commit_id,
            timestamp_ms=version.timestamp_ms + 997,
            operation="append",
        )
        storage.put_if_absent(version_path(number), encode_version(version))


def begun_append(table: Table, rows: pa.Table) -> Transaction:
    """An append with its data files written and its commit still to come."""
    begun = core_of(table).transaction("append")
    begun.add(core_of(table).engines.rows.write(core_of(table).snapshot(), rows))
    return begun


def begun_delete(table: Table, where: str) -> Transaction:
    """A delete with the shared files rewritten and its commit still to come."""
    begun = core_of(table).transaction("delete")
    snapshot, rows = core_of(table).snapshot(), core_of(table).engines.rows
    removal.remove(begun, core_of(table).bound(where), lambda files, drop: rows.rewrite(snapshot, files, drop))
    return begun
