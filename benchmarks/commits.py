"""How fast commits are, how fast a table opens however many versions it has, and what a manifest costs.

Commits here stage an entry without writing rows: what is measured is the metadata path, fsyncs included.
"""

import argparse
import multiprocessing
import tempfile
import time
from pathlib import Path

import pyarrow as pa

import coalesce
from benchmarks.harness import Result, median_ms, progress, report, seconds
from coalesce.manifest.manifest_file import decode_manifest, encode_manifest
from coalesce.model.datafile import DataFile
from coalesce.model.entries import from_files
from coalesce.model.rule import Group
from coalesce.table.table import Table, core_of

SCHEMA = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("n", pa.int64())])
OPENED_AT = (10, 1_000, 10_000)


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
    return processes * commits / (time.perf_counter() - start)


def opening(location: str, most: int) -> list[Result]:
    """Open times as the table gets its versions, and how many manifests those leave."""
    table = coalesce.create(location, SCHEMA, partition_by=["dt", "app"], rule=coalesce.small("app"))
    results = []
    start = time.perf_counter()
    for number in range(1, most + 1):
        commit_one(table, number)
        if number in OPENED_AT:
            took = (time.perf_counter() - start) / number
            opened = median_ms(lambda: coalesce.open(location))
            note = f"{len(table.state.manifests)} manifests; {1 / took:,.0f} commits a second so far"
            results.append(Result(f"open at {number:,} versions", opened, "ms", note))
    return results


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
        opened = opening(str(directory / "open"), chosen.versions)
        progress("manifests")
        encoded = manifests(100_000, 20)
    report(
        "commits",
        [
            Result("commits, one process", alone, "/s", "process start included"),
            Result("commits, four processes on one table", four, "/s", f"{four / alone:.2f}x of one"),
            *opened,
            *encoded,
        ],
    )


if __name__ == "__main__":
    main()
