"""`python -m benchmarks planning`: build the tables, measure each question in a process of its own, and report."""

import argparse
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from statistics import median

import benchmarks.measures.planning
from benchmarks.harness import RESULTS, Result, progress, report
from benchmarks.measures.planning import peers, synthetic
from benchmarks.measures.planning.measure import cold, in_fresh_process
from benchmarks.measures.planning.picture import draw
from benchmarks.measures.planning.planners import CONTESTANTS, PLANNERS, POINT


@dataclass(frozen=True, slots=True)
class Question:
    """A predicate to plan, and how long it may take if a limit is set."""

    where: str
    at_most_ms: float | None = None


def questions(day: date) -> dict[str, Question]:
    """What the large table is asked."""
    some = ", ".join(f"'app-{i * 37 % synthetic.APPS:05d}'" for i in range(100))
    days = ", ".join(f"DATE '{day + timedelta(days=i - 50)}'" for i in range(100))
    on_day, of_app = f"dt = DATE '{day}'", "app = 'app-01234'"
    return {
        "point: one day, one app": Question(f"{on_day} AND {of_app}", 2),
        "IN: one day, 100 apps": Question(f"{on_day} AND app IN ({some})", 10),
        "IN: 100 days, one app": Question(f"dt IN ({days}) AND {of_app}"),
        "IN: every day, 100 apps": Question(f"app IN ({some})"),
        "range: one day": Question(f"dt >= DATE '{day}' AND dt < DATE '{day + timedelta(days=1)}'", 10),
        "OR across both columns": Question(f"{on_day} OR {of_app}", 50),
        "one app, every day": Question(of_app),
        "prefix of ten apps, every day": Question("app LIKE 'app-0123%'"),
        "statistics of a third column": Question("amount > 1990"),
        "function: one app in small letters": Question("lower(app) = 'app-01234'", 50),
        "functions of both columns": Question(f"year(dt) = {day.year} AND upper(app) LIKE 'APP-0123_'"),
        "point and statistics": Question(f"{on_day} AND {of_app} AND amount > 1500"),
    }


def large(location: Path, files: int) -> list[Result]:
    """The large table: every question warm, the point cold, and the memory all of it takes."""
    asked = questions(synthetic.middle_day(files))
    point = next(iter(asked))
    progress("warm plans")
    warm = in_fresh_process("coalesce", location, {name: q.where for name, q in asked.items()}, warm=True)
    results = [
        Result(f"warm {name}", warm.ms[name], "ms", _note(f"{warm.files[name]:,} files", question.at_most_ms))
        for name, question in asked.items()
    ]
    progress("cold plans")
    cold_ms, fastest, seen = cold("coalesce", location, asked[point].where)
    sizes = {f.name: f.stat().st_size for f in (location / "_coalesce" / "manifests").iterdir()}
    read = {name: size for name, size in seen.read.items() if Path(name).name in sizes}
    what = (
        f"fastest {fastest:.0f}; read {len(read)} of {len(sizes)} manifests, {_megabytes(sum(read.values()))} of "
        f"{_megabytes(sum(sizes.values()))}, and {_megabytes(sum(seen.read.values()) - sum(read.values()))} of versions"
    )
    assert seen.imported == 0, "imports ran while the clock did"
    results.append(Result(f"cold {point}", cold_ms, "ms", _note(what, 150)))
    results.append(Result("peak memory, cold point", seen.peak_mb, "MB"))
    results.append(Result("peak memory, every manifest in use", warm.peak_mb, "MB", "to be under 2,048"))
    return results


def growth(location: Callable[[int], Path], most: int) -> list[Result]:
    """The point predicate on smaller tables of the same kind, and the picture of it."""
    warm_ms: dict[int, float] = {}
    cold_ms: dict[int, float] = {}
    for files in (n for n in (10_000, 100_000, 1_000_000) if n <= most):
        progress(f"growth: {files:,} files")
        where = next(iter(questions(synthetic.middle_day(files)).values())).where
        runs = [in_fresh_process("coalesce", location(files), {"point": where}, warm=True) for _ in range(3)]
        warm_ms[files] = median(run.ms["point"] for run in runs)
        cold_ms[files] = cold("coalesce", location(files), where)[0]
    RESULTS.mkdir(exist_ok=True)
    draw(RESULTS / "planning-growth.png", warm_ms, cold_ms)
    return [*_grown("warm", warm_ms), *_grown("cold", cold_ms)]


def _grown(kind: str, ms: Mapping[int, float]) -> list[Result]:
    least = ms[min(ms)]
    return [
        Result(f"{kind} point at {files:,} files", took, "ms", f"{took / least:.2f}× of the smallest; to be under 3×")
        for files, took in ms.items()
    ]


def beside_peers(directory: Path) -> list[Result]:
    """One logical partition of the same many: every contestant, warm and cold."""
    results = []
    for kind, measured in (("warm", _warm), ("cold", _cold)):
        progress(f"everyone {kind}")
        ms = {name: measured(planner, directory / table) for name, (planner, table) in CONTESTANTS.items()}
        ours = max(took for name, took in ms.items() if name.startswith("coalesce"))
        for name, took in ms.items():
            compared = "" if name.startswith("coalesce") else f"{took / ours:,.1f}× the slower of ours"
            results.append(Result(f"{kind} {name}", took, "ms", _note(compared, None, TARGETS.get((kind, name)))))
    return results


# How many times as long as ours they are expected to take at least.
TARGETS = {("warm", "PyIceberg"): 100, ("warm", "delta-rs"): 10, ("cold", "delta-rs"): 5}


def _warm(planner: str, location: Path) -> float:
    return in_fresh_process(planner, location, {"point": POINT}, warm=True).ms["point"]


def _cold(planner: str, location: Path) -> float:
    return cold(planner, location, POINT)[0]


def _note(text: str, at_most_ms: float | None, at_least_times: float | None = None) -> str:
    target = "" if at_most_ms is None else f"to be at most {at_most_ms:g} ms"
    target = target if at_least_times is None else f"to be at least {at_least_times:g}×"
    return "; ".join(part for part in (text, target) if part)


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.2f} MB"


def main() -> None:
    """Build, measure, report."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks planning", description=benchmarks.measures.planning.__doc__
    )
    options.add_argument("--files", type=int, default=1_000_000, help="files of the large table (1,000,000)")
    options.add_argument("--quick", action="store_true", help="a tenth of the files and half of the peers' days")
    options.add_argument("--directory", type=Path, help="build the tables here, and use those that are here already")
    chosen = options.parse_args()
    files, days = (chosen.files // 10, 5) if chosen.quick else (chosen.files, 10)
    with tempfile.TemporaryDirectory() as temporary:
        directory = chosen.directory or Path(temporary)

        def built(count: int) -> Path:
            location = directory / f"files-{count}"
            if not location.exists():
                synthetic.build(str(location), count)
            return location

        beside = directory / f"peers-{days}"
        if not beside.exists():
            beside.mkdir(parents=True)
            peers.build(beside, days)
        results = [*large(built(files), files), *growth(built, files), *beside_peers(beside)]
    report("planning", results)
    print(f"\nThe last {len(CONTESTANTS) * 2}: {days} days × {peers.APPS:,} apps, planned by")
    for name, planner in PLANNERS.items():
        print(f"  {name}: {(planner.__doc__ or '').strip()}")


if __name__ == "__main__":
    main()
