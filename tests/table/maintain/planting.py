"""Tables with something wrong in them: entries and files changed behind the table's back, all digests right."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

import coalesce
from coalesce.manifest.manifest_file import encode_manifest
from coalesce.manifest.paths import new_manifest_path, version_path
from coalesce.manifest.version_file import encode_version
from coalesce.model.arrow_schema import FIELD_ID
from coalesce.model.datafile import DataFile
from coalesce.model.entries import from_files
from coalesce.model.version import ManifestRef
from coalesce.table.maintain.findings import Finding
from coalesce.table.table import Table, core_of

SCHEMA = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("n", pa.int64()), ("x", pa.float64())])
APPS = ["a", "b", None, ""]


def rows(first: int, days: Sequence[int] = (17, 18)) -> pa.Table:
    """For each day and app as many rows as the day of the month has ones: two or three, with numbers of their own."""
    found = [(date(2026, 5, d), app) for d in days for app in APPS for _ in range(d - 15)]
    return pa.table(
        {
            "dt": [d for d, _ in found],
            "app": [a for _, a in found],
            "n": range(first, first + len(found)),
            "x": [None if n % 5 == 0 else float("nan") if n % 3 == 0 else n / 2 for n in range(len(found))],
        },
        schema=SCHEMA,
    )


def sound(path: Path) -> Table:
    """A table in version 2, with two files in each of two days; every app of a day shares them."""
    table = coalesce.create(path, SCHEMA, partition_by=["dt", "app"], rule=coalesce.small("app"))
    table.append(rows(0))
    table.append(rows(1_000))
    return table


def plant(table: Table, change: Callable[[list[DataFile]], list[DataFile]]) -> Table:
    """Commit the entries as `change` makes them, as a program would that does not look; every digest is right."""
    files = change(list(table.refresh().files()))
    return plant_manifests(table, [manifest(table, files)])


def manifest(table: Table, files: Sequence[DataFile]) -> ManifestRef:
    """A manifest of the current spec with these entries, stored."""
    core = core_of(table)
    encoded = encode_manifest(from_files(files, core.version.spec, core.version.schema))
    path = new_manifest_path()
    core.storage.put_if_absent(path, encoded.data)
    return encoded.ref(path, core.version.number, 0)


def plant_manifests(table: Table, manifests: Sequence[ManifestRef]) -> Table:
    """Commit a version with these manifests."""
    core = core_of(table.refresh())
    version = replace(
        core.version,
        number=core.version.number + 1,
        commit_id=uuid4().hex,
        parent_commit_id=core.version.commit_id,
        timestamp_ms=core.version.timestamp_ms + 1,
        operation="planted",
        manifests=tuple(manifests),
    )
    assert core.storage.put_if_absent(version_path(version.number), encode_version(version))
    return table.refresh()


def first(change: Callable[[DataFile], DataFile]) -> Callable[[list[DataFile]], list[DataFile]]:
    """A change of the first entry."""
    return lambda files: [change(files[0]), *files[1:]]


def on_disk(table: Table, number: int = 0) -> Path:
    """A data file of the newest version."""
    return Path(table.location) / table.files()[number].path


def with_ids(path: Path, id_of: Callable[[int], int]) -> None:
    """Write a data file again with other field ids, and nothing else changed."""
    found = pq.ParquetFile(path)
    fields = [f.with_metadata({FIELD_ID: str(id_of(int(f.metadata[FIELD_ID])))}) for f in found.schema_arrow]
    rows_ = found.read().cast(pa.schema(fields))
    pq.write_table(rows_, path, store_schema=False)


def kinds(found: Sequence[Finding]) -> list[str]:
    """What was found, each kind once."""
    return sorted({finding.kind for finding in found})
