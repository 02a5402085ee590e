"""What the benchmarks share: timing, a table of results for people, and the same as JSON for programs.

Times on a busy machine are noisy, so what counts are ratios inside one run; every result can say what it is compared
with. Nothing here asserts anything.
"""

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Result:
    """One measured figure and, in words, what it means beside the others."""

    name: str
    value: float
    unit: str
    note: str = ""


def seconds(work: Callable[[], object]) -> float:
    """How long `work` takes, once."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class Took:
    """What some work took: seconds by the clock, and of processor time, which is less noisy on a busy machine."""

    clock: float
    processor: float


def timed(work: Callable[[], object]) -> Took:
    """What `work` takes, once."""
    before = time.process_time()
    clock = seconds(work)
    return Took(clock, time.process_time() - before)


def in_turns(repeats: int, *works: Callable[[], object]) -> list[Took]:
    """The medians of each, measured one after the other again and again; the first round does not count."""
    rounds = [[timed(work) for work in works] for _ in range(repeats + 1)][1:]
    return [
        Took(statistics.median(t.clock for t in took), statistics.median(t.processor for t in took))
        for took in zip(*rounds, strict=True)
    ]


def least(takes: Iterable[Took]) -> Took:
    """The least of several, each by itself: what the work takes where nothing else is in its way."""
    all_of_them = list(takes)
    return Took(min(t.clock for t in all_of_them), min(t.processor for t in all_of_them))


def median_ms(work: Callable[[], object], repeats: int = 15) -> float:
    """The median of several runs, in milliseconds."""
    return statistics.median(seconds(work) for _ in range(repeats)) * 1e3


def progress(text: str) -> None:
    """Say on stderr what is being done: some of it takes minutes."""
    print(f"… {text}", file=sys.stderr, flush=True)


def report(name: str, results: Sequence[Result]) -> None:
    """Print the results and keep them in `benchmarks/results/<name>.json`."""
    print(table(name, results))
    RESULTS.mkdir(exist_ok=True)
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "load": round(os.getloadavg()[0], 1)}
    document = {"benchmark": name, "machine": machine, "results": [asdict(r) for r in results]}
    (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def table(name: str, results: Sequence[Result]) -> str:
    """The results as aligned text."""
    width = max(len(r.name) for r in results)
    figures = [f"{r.value:,.0f}" if r.value >= 100 else f"{r.value:,.2f}" for r in results]
    figure_width = max(map(len, figures))
    unit_width = max(len(r.unit) for r in results)
    lines = [
        f"  {r.name.ljust(width)}  {figure.rjust(figure_width)} {r.unit.ljust(unit_width)}  {r.note}".rstrip()
        for r, figure in zip(results, figures, strict=True)
    ]
    return "\n".join([name, *lines])
