"""Tables of others become ours in place: 20,000 tiny directories, a Delta and an Iceberg table; is advice right?

Each is advised on, adopted, asked, compacted as was advised, and exported. Before the compaction nothing may have been
written outside of `_coalesce`; it is looked at byte by byte. The estimate of files stands beside what came of it.
"""

import argparse
import hashlib
import tempfile
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import coalesce
from benchmarks.harness import Result, progress, report, seconds

FIRST = date(2026, 5, 1)
TARGET = "512KB"  # small, as the data is, so that there are several files to foresee
_ASKED = "dt = DATE '2026-05-01' AND app = 'app-0017'"


def rows(day: int, apps: int) -> pa.Table:
    """A day of events: a handful for most apps, some more for the first."""
    random = np.random.default_rng(day)
    counts = 5 + (2_000 / np.arange(1, apps + 1)).astype(int)
    app = np.repeat(np.char.add("app-", np.char.zfill(np.arange(apps).astype(str), 4)), counts)
    return pa.table(
        {
            "app": app,
            "id": random.integers(0, 1 << 40, len(app)),
            "kind": np.char.add("kind ", random.integers(0, 20, len(app)).astype(str)),
            "value": random.random(len(app)),
        }
    )


def hive(place: Path, days: int, apps: int) -> None:
    """A directory for each day and app, as `partitionBy` would leave it."""
    for day in range(days):
        made = rows(day, apps)
        names, firsts = np.unique(np.asarray(made["app"]), return_index=True)
        for name, first, end in zip(names, firsts, [*firsts[1:], made.num_rows], strict=True):
            directory = place / f"dt={FIRST + timedelta(day)}" / f"app={name}"
            directory.mkdir(parents=True)
            pq.write_table(made.slice(first, end - first).drop_columns(["app"]), directory / "part-0.parquet")


def _with_day(day: int, apps: int) -> pa.Table:
    made = rows(day, apps)
    return made.add_column(0, "dt", pa.array([FIRST + timedelta(day)] * made.num_rows))


def delta(place: Path, days: int, apps: int) -> None:
    """A Delta table, partitioned by both columns."""
    from deltalake import write_deltalake

    for day in range(days):
        write_deltalake(place, _with_day(day, apps), mode="append", partition_by=["dt", "app"])


def iceberg(place: Path, days: int, apps: int) -> None:
    """An Iceberg table, partitioned by both columns; PyIceberg takes long to write one with many partitions."""
    from pyiceberg.catalog.memory import InMemoryCatalog
    from pyiceberg.transforms import IdentityTransform

    catalog = InMemoryCatalog("lake", warehouse=f"file://{place.parent}")
    catalog.create_namespace("db")
    table = catalog.create_table("db.events", _with_day(0, 1).schema, location=f"file://{place}")
    with table.update_spec() as spec:
        for name in ("dt", "app"):
            spec.add_field(name, IdentityTransform(), name)
    for day in range(days):
        table.append(_with_day(day, apps))


def digests(place: Path) -> dict[str, str]:
    """Every file that is not our metadata, and what is in it."""
    return {
        str(path.relative_to(place)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in place.rglob("*")
        if path.is_file() and "_coalesce" not in path.relative_to(place).parts
    }


def life(name: str, place: Path, make: Callable[[Path, int, int], None], days: int, apps: int) -> list[Result]:
    """Advised, adopted, asked, adopted again, compacted, exported."""
    progress(f"{name}: {days} days of {apps:,} apps")
    wrote = seconds(lambda: make(place, days, apps))
    expected = sum(rows(day, apps).num_rows for day in range(days))
    before = digests(place)
    progress(f"{len(before):,} files in {wrote:.0f} s")
    advices: list[coalesce.Advice] = []
    took = {"advise": seconds(lambda: advices.append(coalesce.advise(place, target=TARGET)))}
    advice = advices[0]
    rule = coalesce.small(*advice.share, below=advice.below, target=advice.target) if advice.share else None
    took["adopt"] = seconds(lambda: coalesce.adopt(place, rule=rule, properties={"write.target-file-bytes": TARGET}))
    took["adopt again, nothing new"] = seconds(lambda: coalesce.adopt(place))
    table = coalesce.open(place)
    took["a point query, cold"] = seconds(lambda: table.scan(_ASKED).to_arrow())
    small = table.count(_ASKED)
    assert digests(place) == before, f"{name}: something was written outside of _coalesce"
    assert table.count() == expected
    files = len(table.files())
    took["compact"] = seconds(table.compact)
    after = len(table.files())
    assert (table.count(), table.scan(_ASKED).to_arrow().num_rows) == (expected, small)
    assert digests(place).items() >= before.items(), f"{name}: a file of others was changed or deleted"
    if name != "Iceberg":
        took["export to Iceberg"] = seconds(table.export_iceberg)
    if name != "Delta":
        took["export to Delta"] = seconds(table.export_delta)
    ratio = advice.after.files / after
    note = f"{advice.after.files} estimated, {after} made of {files:,}; between {advice.files_between}"
    found = [Result(f"{name}, {files:,} files: {step}", value * 1e3, "ms") for step, value in took.items()]
    return [*found, Result(f"{name}: files estimated, of those made", ratio, "x", note)]


def main() -> None:
    """Make them, adopt them, report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks adopting", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the days")
    asked = parser.parse_args()
    days = 1 if asked.quick else 10
    with tempfile.TemporaryDirectory(prefix="coalesce-adopting-") as temporary:
        place = Path(temporary)
        results = life("directories", place / "hive", hive, days, 2_000)
        results += life("Delta", place / "delta", delta, days, 2_000)
        results += life("Iceberg", place / "iceberg", iceberg, min(days, 2), 500)
    report("adopting", results)


if __name__ == "__main__":
    main()
