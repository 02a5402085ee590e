"""Scans and appends without Spark, beside pyarrow's datasets on the same files and delta-rs on the same rows.

Ten days of two thousand apps whose sizes follow Zipf's law, as in `writing`, made with NumPy. The append is measured
against `deltalake.write_deltalake(partition_by=["dt"])`, both zstd level 1; scans against `pyarrow.dataset` over the
files that the append wrote, with the filter that says the same. Each is measured in turns with its peer. We verify page
checksums, which a dataset does not unless it is asked to: the last ratio is to one that does.
"""

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow.dataset import field

import coalesce
from benchmarks.harness import Result, Took, in_turns, median_ms, progress, report
from coalesce.table.table import Table

DAYS, APPS, LATE_APPS = 10, 2_000, 10
_FIRST_DAY = 20_574  # 2026-05-01
_DAY_MICROS = 86_400_000_000
_SMALL_ROWS = 1_000


def events(rows: int) -> pa.Table:
    """Rows like those of `writing.events`: app number k has a share of about 1/k."""
    random = np.random.default_rng(12)
    number = np.exp(random.random(rows) * np.log(APPS + 1)).astype(np.int32) - 1
    day = (np.arange(rows) % DAYS).astype(np.int32)
    text = np.frombuffer(random.bytes(12 * rows).hex().encode(), np.uint8)
    ends = pa.py_buffer(np.arange(0, 24 * rows + 1, 24, dtype=np.int32))
    table = pa.table(
        {
            "id": np.arange(rows),
            "user": random.integers(0, 1_000_000, rows),
            "ts": pa.array(
                (_FIRST_DAY + day.astype(np.int64)) * _DAY_MICROS + random.integers(0, _DAY_MICROS, rows),
                pa.timestamp("us", "UTC"),
            ),
            "kind": pa.array(["view", "click", "buy", "login"]).take(pa.array(random.integers(0, 4, rows))),
            "value": random.random(rows),
            "session": pa.Array.from_buffers(pa.string(), rows, [None, ends, pa.py_buffer(text)]),
            "dt": pa.array(_FIRST_DAY + day, pa.date32()),
            "app": pa.array([f"app-{i:04d}" for i in range(APPS)]).take(pa.array(number)),
        }
    )
    return table.filter(pa.array(~((number >= APPS - LATE_APPS) & (day == 0))))


def new_table(directory: Path, schema: pa.Schema) -> Table:
    """An empty table whose small apps share."""
    shutil.rmtree(directory, ignore_errors=True)
    return coalesce.create(directory, schema, partition_by=["dt", "app"], rule=coalesce.small("app"))


def beside(here: Took, there: Took, name: str) -> str:
    """How the two compare: by the clock, and by what their threads took of the processors."""
    clock, processor = here.clock / there.clock, here.processor / there.processor
    return f"{clock:.2f}x of {name}, {processor:.2f}x by processor time"


def appends(directory: Path, rows: pa.Table, repeats: int) -> list[Result]:
    """Ours and delta-rs's, the same rows; and what a small one costs."""
    import deltalake

    best = deltalake.WriterProperties(compression="ZSTD", compression_level=1)

    def ours() -> None:
        new_table(directory / "ours", rows.schema).append(rows)

    def theirs() -> None:
        shutil.rmtree(directory / "delta", ignore_errors=True)
        deltalake.write_deltalake(str(directory / "delta"), rows, partition_by=["dt"], writer_properties=best)

    here, there = in_turns(repeats, ours, theirs)
    table = coalesce.open(directory / "ours")
    size = sum(file.stat().st_size for file in (directory / "delta").rglob("*.parquet"))
    small = rows.slice(0, _SMALL_ROWS)
    little = new_table(directory / "little", rows.schema)
    return [
        Result("append", here.clock, "s", f"{beside(here, there, 'delta-rs by day')}; {there.clock:.2f} s"),
        Result("bytes written", table.state.bytes / 2**20, "MB", f"delta-rs {size / 2**20:.0f}, not sorted by app"),
        Result(f"append of {_SMALL_ROWS:,} rows", median_ms(lambda: little.append(small)), "ms", "the commit included"),
    ]


def scans(directory: Path, repeats: int) -> list[Result]:
    """One query after the other, ours and pyarrow's."""
    table = coalesce.open(directory / "ours")
    paths = [str(directory / "ours" / file.path) for file in table.files()]
    day = date(2026, 5, 3)
    names = list(table.schema.names)
    queries: list[tuple[str, str | None, ds.Expression | None, Sequence[str]]] = [
        ("one large app, all days", "app = 'app-0003'", field("app") == "app-0003", names),
        ("one small app, all days", "app = 'app-1500'", field("app") == "app-1500", names),
        (
            "point: one app, one day",
            f"dt = DATE '{day}' AND app = 'app-0100'",
            (field("dt") == day) & (field("app") == "app-0100"),
            names,
        ),
        ("all rows, all columns", None, None, names),
        ("all rows, one column", None, None, ["value"]),
        (
            "range of a value, 1 % of the rows",
            "value >= 0.25 AND value < 0.26",
            (field("value") >= 0.25) & (field("value") < 0.26),
            names,
        ),
    ]
    checked = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    dataset = ds.dataset(paths)

    def measured(name: str, where: str | None, expression: ds.Expression | None, columns: Sequence[str]) -> Result:
        def theirs(options: ds.FragmentScanOptions | None) -> pa.Table:
            return dataset.to_table(columns=list(columns), filter=expression, fragment_scan_options=options)

        def ours() -> pa.Table:
            return table.scan(where, columns=columns).to_arrow()

        rows = ours().num_rows
        if rows != theirs(None).num_rows:
            raise AssertionError(f"{name}: not the same rows.")
        here, there, verifying = in_turns(repeats, ours, lambda: theirs(None), lambda: theirs(checked))
        note = f"{beside(here, there, 'pyarrow.dataset')}, {there.clock * 1e3:.0f} ms"
        verified = f"{here.processor / verifying.processor:.2f}x if that verifies"
        return Result(name, here.clock * 1e3, "ms", f"{note}; {verified}; {rows:,} rows")

    return [measured(*query) for query in queries]


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000, help="how many rows (default: 4,000,000)")
    parser.add_argument("--repeats", type=int, default=9, help="of each scan; a third of it for appends")
    parser.add_argument("--quick", action="store_true", help="a million rows, few repeats")
    parser.add_argument("--directory", type=Path, help="where to write (default: a temporary directory)")
    asked = parser.parse_args()
    rows, repeats = (1_000_000, 3) if asked.quick else (asked.rows, asked.repeats)
    directory = Path(tempfile.mkdtemp(prefix="coalesce-arrow-", dir=asked.directory))
    try:
        progress(f"making {rows:,} rows")
        table = events(rows)
        progress("appends")
        appended = appends(directory, table, max(repeats // 3, 1))
        del table
        progress("scans")
        results = [*appended, *scans(directory, repeats)]
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    report("arrow", results)


if __name__ == "__main__":
    main()
