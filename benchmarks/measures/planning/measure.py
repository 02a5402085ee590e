"""One measurement in a process of its own: `python -m benchmarks.measures.planning.measure '{"kind": …}'` prints JSON.

*Cold* is the first plan of a fresh process: imports are over, and the clock runs from opening the table to the plan.
Nothing is cached but what the operating system keeps of the files, which it does for every contestant. *Warm* is the
median of many plans on a table that is open and has answered the question before.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.measures.planning.planners import PLANNERS, Coalesce

_ROOT = Path(__file__).parents[3]
_COLD_RUNS = 9


@dataclass(frozen=True, slots=True)
class Measured:
    """What one process saw: milliseconds and files by question, its peak memory, and the files of the table it read.

    `imported` counts the modules that came in while the clock ran: imports are meant to be over by then.
    """

    ms: Mapping[str, float]
    files: Mapping[str, int]
    peak_mb: float
    read: Mapping[str, int] = field(default_factory=dict)
    imported: int = 0


def in_fresh_process(planner: str, location: Path, questions: Mapping[str, str], *, warm: bool) -> Measured:
    """Measure there and bring the figures back."""
    request = {"planner": planner, "location": str(location), "questions": dict(questions), "warm": warm}
    command = [sys.executable, "-m", __name__, json.dumps(request)]
    answer = subprocess.run(command, cwd=_ROOT, check=True, capture_output=True, text=True, env=dict(os.environ))
    return Measured(**json.loads(answer.stdout))


def cold(planner: str, location: Path, where: str) -> tuple[float, float, Measured]:
    """The median and the least over several fresh processes, and what the last of them saw."""
    runs = [in_fresh_process(planner, location, {"point": where}, warm=False) for _ in range(_COLD_RUNS)]
    took = [run.ms["point"] for run in runs]
    return median(took), min(took), runs[-1]


def _measure(name: str, location: str, questions: Mapping[str, str], warm: bool) -> Measured:
    planner = PLANNERS[name]()
    modules = len(sys.modules)
    ms: dict[str, float] = {}
    files: dict[str, int] = {}
    start = perf_counter()
    table = planner.open(location)
    for question, where in questions.items():
        files[question] = planner.plan(table, where)
        ms[question] = (perf_counter() - start) * 1e3
        if warm:
            ms[question] = _median_ms(lambda asked=where: planner.plan(table, asked))  # type: ignore[misc]
        start = perf_counter()
    return Measured(
        ms=ms,
        files=files,
        peak_mb=_peak_mb(),
        read=planner.read if isinstance(planner, Coalesce) else {},
        imported=len(sys.modules) - modules,
    )


def _peak_mb() -> float:
    """The most memory this process has had; what `getrusage` says includes the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _median_ms(work: Callable[[], object], enough_seconds: float = 1.0) -> float:
    """The median of as many runs as fit into a second, of three at least."""
    took: list[float] = []
    while len(took) < 3 or (sum(took) < enough_seconds and len(took) < 500):
        start = perf_counter()
        work()
        took.append(perf_counter() - start)
    return median(took) * 1e3


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    print(json.dumps(asdict(_measure(asked["planner"], asked["location"], asked["questions"], asked["warm"]))))
