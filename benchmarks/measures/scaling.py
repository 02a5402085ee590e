"""How metadata, memory and plans grow: to a hundred million references from files to logical partitions.

The tables of `planning`, of which only the entries exist, ten times as large from one to the next. What the largest is
expected to take is said beforehand, from a straight line through the two before it, and printed beside what it took.
`docs/scaling.md` reads the figures.
"""

import argparse
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Final

import coalesce
from benchmarks.harness import Result, progress, report, seconds
from benchmarks.measures.planning import synthetic
from benchmarks.measures.planning.measure import in_fresh_process
from coalesce.table.table import core_of

SIZES: Final = (100_000, 1_000_000, 10_000_000)
_COLD_RUNS = 5
_COMMITS = 5


@dataclass(frozen=True, slots=True)
class Figure:
    """What was seen of one table."""

    value: float
    unit: str
    note: str = ""


def figures(location: Path, files: int) -> dict[str, Figure]:
    """Everything that is measured of a table of so many files."""
    day = synthetic.middle_day(files)
    of_app = "app = 'app-01234'"
    point = {"point": f"dt = DATE '{day}' AND {of_app}"}
    everywhere = {"everywhere": of_app}
    manifests = [f.stat().st_size for f in (location / "_coalesce" / "manifests").iterdir()]
    newest = max((location / "_coalesce" / "versions").rglob("*.json"), key=lambda file: file.stat().st_mtime)
    progress(f"{files:,} files: plans")
    cold = [in_fresh_process("coalesce", location, point, warm=False) for _ in range(_COLD_RUNS)]
    warm = in_fresh_process("coalesce", location, point, warm=True)
    first = in_fresh_process("coalesce", location, everywhere, warm=False)
    again = in_fresh_process("coalesce", location, everywhere, warm=True)
    progress(f"{files:,} files: commits")
    commits = _commits(location, files)
    return {
        "bytes of manifests": Figure(sum(manifests) / 1e6, "MB", f"{len(manifests):,} manifests"),
        "bytes of the newest version file": Figure(newest.stat().st_size / 1e6, "MB"),
        "point, cold": Figure(median(run.ms["point"] for run in cold), "ms", f"{cold[0].files['point']} files"),
        "point, cold, memory": Figure(median(run.peak_mb for run in cold), "MB"),
        "point, warm": Figure(warm.ms["point"], "ms"),
        "one app on every day, cold": Figure(first.ms["everywhere"], "ms", f"{first.files['everywhere']:,} files"),
        "one app on every day, warm": Figure(again.ms["everywhere"], "ms"),
        "every manifest in use, memory": Figure(again.peak_mb, "MB"),
        "commit of one more day": Figure(commits, "ms", f"{synthetic.FILES_PER_DAY:,} files of it"),
    }


def _commits(location: Path, files: int) -> float:
    """The median of a few commits, each of a day that is not there yet."""
    table = coalesce.open(location)
    core = core_of(table)
    after = synthetic.FIRST_DAY + timedelta(days=files // synthetic.FILES_PER_DAY)
    took = []
    for number in range(_COMMITS):
        entries = synthetic.entries(table.state, after + timedelta(days=number))
        transaction = core.transaction("append")
        transaction.add_entries(entries)
        took.append(seconds(lambda begun=transaction: core.commit(begun)))  # type: ignore[misc]
    return median(took) * 1e3


def expected(seen: Mapping[int, Mapping[str, Figure]], name: str, files: int) -> float:
    """What a straight line through the two tables before says of a table of so many files."""
    smaller, larger = sorted(seen)[-2:]
    low, high = seen[smaller][name].value, seen[larger][name].value
    return high + (high - low) / (larger - smaller) * (files - larger)


def main() -> None:
    """Build, measure, report."""
    options = argparse.ArgumentParser(prog="python -m benchmarks scaling", description=__doc__)
    options.add_argument("--quick", action="store_true", help="a tenth of everything")
    options.add_argument("--directory", type=Path, help="build the tables here, and use those that are here already")
    chosen = options.parse_args()
    seen: dict[int, dict[str, Figure]] = {}
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as temporary:
        directory = chosen.directory or Path(temporary)
        for files in (size // 10 if chosen.quick else size for size in SIZES):
            location = directory / f"files-{files}"
            building = 0.0
            if not location.exists():
                building = seconds(lambda at=location, count=files: synthetic.build(str(at), count))  # type: ignore[misc]
            found = figures(location, files)
            for name, figure in found.items():
                foretold = f"{expected(seen, name, files):,.1f} by the line" if len(seen) > 1 else ""
                note = "; ".join(part for part in (figure.note, foretold) if part)
                results.append(Result(f"{files:,} files: {name}", figure.value, figure.unit, note))
            results.append(Result(f"{files:,} files: building", building, "s", "0 if they were there"))
            seen[files] = found
    report("scaling", results)


if __name__ == "__main__":
    main()
