"""How fast commits are, however many versions there are; how fast a table opens and tells its history; what files cost.

Most commits here stage an entry without writing rows: what is measured is the metadata path, fsyncs included.
"""

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from collections import Counter
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pyarrow as pa

import coalesce
from benchmarks.harness import Result, median_ms, progress, report, seconds
from coalesce.errors import CoalesceError
from coalesce.manifest.manifest_file import decode_manifest, encode_manifest
from coalesce.manifest.paths import version_path
from coalesce.manifest.version_file import decode_version, encode_version
from coalesce.model.datafile import DataFile
from coalesce.model.entries import from_files
from coalesce.model.rule import Group
from coalesce.table.table import Table, core_of

SCHEMA = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("n", pa.int64())])
OPENED_AT = (10, 1_000, 5_000, 10_000)
_LATELY = 200  # commits whose median is the time of one


def entry(number: int, tuples: int = 1) -> DataFile:
    """An entry like those of shared files: one day, some apps."""
    day = 20_000 + number % 400
    return DataFile(
        path=f"data/w/{number:08d}.parquet",
        spec_id=0,
        rows=tuples * 100,
        bytes=10**6,
        rule_id=0,
        physical_key=(day, Group("[#small]")),
        tuples=tuple((day, f"app-{(number * 7 + j) % 5_000:05d}") for j in range(tuples)),
        tuple_rows=(100,) * tuples,
        complete=True,
    )


def commit_one(table: Table, number: int) -> None:
    """One commit of one entry."""
    transaction = core_of(table).transaction("append")
    transaction.add([entry(number)])
    core_of(table).commit(transaction)


def commit_many(location: str, first: int, count: int) -> None:
    """What each racing process does."""
    table = coalesce.open(location)
    for number in range(first, first + count):
        commit_one(table, number)


def racing(location: str, processes: int, commits: int) -> float:
    """Commits per second of several processes on one table."""
    coalesce.create(location, SCHEMA, partition_by=["dt", "app"], rule=coalesce.small("app"))
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=commit_many, args=(location, i * commits, commits)) for i in range(processes)]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    failed = sum(worker.exitcode != 0 for worker in workers)
    assert not failed, f"{failed} of {processes} processes failed"
    return processes * commits / (time.perf_counter() - start)


def opening(location: str, most: int) -> list[Result]:
    """Times of commits and of opening as the table gets its versions, and what was written of metadata for each."""
    table = coalesce.create(location, SCHEMA, partition_by=["dt", "app"], rule=coalesce.small("app"))
    results = []
    took: list[float] = []
    for number in range(1, most + 1):
        took.append(seconds(lambda number=number: commit_one(table, number)))  # type: ignore[misc]
        if number in OPENED_AT:
            commit = statistics.median(took[-_LATELY:]) * 1e3
            written = sum(f.stat().st_size for f in (Path(location) / "_coalesce").rglob("*") if f.is_file())
            note = f"{written / number / 1024:.1f} KB of metadata written for each so far"
            results.append(Result(f"commit at {number:,} versions", commit, "ms", note))
            opened = median_ms(lambda: coalesce.open(location))
            note = f"{len(table.state.manifests)} manifests"
            results.append(Result(f"open at {number:,} versions", opened, "ms", note))
    return results


def history(location: str) -> list[Result]:
    """All versions of a table, and the last twenty."""
    numbers = len(os.listdir(f"{location}/_coalesce/versions"))
    whole = seconds(lambda: coalesce.open(location).history())
    some = median_ms(lambda: coalesce.open(location).history(20))
    return [
        Result(f"history of {numbers:,} versions", whole, "s", f"{whole / numbers * 1e3:.2f} ms each"),
        Result("history, the last 20 of them", some, "ms", "opening included"),
    ]


def one_append(location: str) -> list[Result]:
    """An append of a thousand rows, and what it asks of the disk."""
    table = coalesce.create(location, SCHEMA, partition_by=["dt", "app"], rule=coalesce.small("app"))
    apps = [f"app-{n % 20:05d}" for n in range(1_000)]
    rows = pa.table({"dt": pa.array([20_000] * 1_000, pa.date32()), "app": apps, "n": range(1_000)}, schema=SCHEMA)
    for _ in range(20):
        table.append(rows)
    took = median_ms(lambda: table.append(rows), 50)
    calls: Counter[str] = Counter()

    def counted(name: str) -> AbstractContextManager[object]:
        original = getattr(os, name)

        def call(*arguments: object, **named: object) -> object:
            calls[name] += 1
            return original(*arguments, **named)

        return mock.patch.object(os, name, call)

    with counted("fsync"), counted("scandir"), counted("stat"), counted("link"), counted("mkdir"):
        table.append(rows)
    asked = ", ".join(f"{count} {name}" for name, count in calls.most_common())
    return [Result("append of 1,000 rows", took, "ms", asked)]


def version_files(location: str) -> list[Result]:
    """What a version's file costs where it is large: 2,000 columns, or 10,000 applications that write once."""
    wide = coalesce.create(f"{location}/wide", pa.schema([(f"c{n}", pa.int64()) for n in range(2_000)]))
    many = coalesce.create(f"{location}/applied", SCHEMA)
    applied = replace(many.state, applied={f"application-{n}": n for n in range(10_000)})
    results = []
    for name, version in (("2,000 columns", wide.state), ("10,000 applications", applied)):
        data = encode_version(version)
        results.append(Result(f"encode a version of {name}", median_ms(lambda v=version: encode_version(v)), "ms"))  # type: ignore[misc]
        took = median_ms(lambda v=version, d=data: decode_version(d, v.number))  # type: ignore[misc]
        results.append(Result(f"decode a version of {name}", took, "ms", f"{len(data) / 1024:,.0f} KB"))
    took = median_ms(lambda: wide.set_properties({"a": "b"}))
    return [*results, Result("a change of properties, 2,000 columns", took, "ms", "the whole commit")]


def name_taken(location: str) -> list[Result]:
    """How long it takes to say that a directory has the name of the next version."""
    table = coalesce.create(location, SCHEMA)
    (Path(location) / version_path(1)).mkdir()
    with suppress(CoalesceError):
        start = time.perf_counter()
        table.set_properties({"a": "b"})
    return [
        Result("a directory named like the next version", (time.perf_counter() - start) * 1e3, "ms", "to the error")
    ]


def manifests(entries: int, tuples: int) -> list[Result]:
    """Encoding and decoding one manifest with as many entries."""
    table = coalesce.create(tempfile.mkdtemp(), SCHEMA, partition_by=["dt", "app"])
    spec, files = table.state.spec, [entry(i, tuples) for i in range(entries)]
    columns = from_files(files, spec, table.schema)
    encoded = encode_manifest(columns)
    ref = encoded.ref("_coalesce/manifests/benchmark.parquet", 1, 0)
    size = f"{entries:,} entries × {tuples} tuples, {len(encoded.data) / 2**20:.1f} MB"
    return [
        Result("entries to columns", seconds(lambda: from_files(files, spec, table.schema)) * 1e3, "ms", size),
        Result("encode a manifest", seconds(lambda: encode_manifest(columns)) * 1e3, "ms", size),
        Result("decode a manifest", median_ms(lambda: decode_manifest(encoded.data, ref, spec), 3), "ms", size),
    ]


def main() -> None:
    """Run and report."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--versions", type=int, default=10_000, help="how many versions to open at, in the end")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        progress("commits of one process and of four")
        alone, four = racing(str(directory / "one"), 1, 100), racing(str(directory / "four"), 4, 50)
        progress(f"{chosen.versions:,} commits, opening the table on the way")
        opened = opening(str(directory / "open"), chosen.versions) + history(str(directory / "open"))
        progress("an append, large versions, a name that is taken")
        others = (
            one_append(str(directory / "append")) + version_files(str(directory)) + name_taken(str(directory / "x"))
        )
        progress("manifests")
        encoded = manifests(100_000, 20)
    report(
        "commits",
        [
            Result("commits, one process", alone, "/s", "process start included"),
            Result("commits, four processes on one table", four, "/s", f"{four / alone:.2f}x of one"),
            *opened,
            *others,
            *encoded,
        ],
    )


if __name__ == "__main__":
    main()
