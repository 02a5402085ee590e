"""The process of one engine: `python -m benchmarks.child`, which `run` starts. It writes down findings, and no more."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.engines.registry import ENTRIES
from benchmarks.findings import Notebook
from benchmarks.flows import appends, evolution, table
from benchmarks.flows.steps import Steps
from benchmarks.staged import Staged
from benchmarks.turns import Turns
from benchmarks.workload import Size, Workload, load

Part = Callable[[Workload, Size, Staged, Steps], None]
# What each flow does, in which processes.
PARTS: Mapping[str, Mapping[str, Part]] = {
    "table": {"write": table.write, "use": table.use},
    "appends": {"use": appends.use},
    "evolution": {"use": evolution.use},
}


def main() -> int:
    """Run one part of a flow."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("request", help="as JSON: engine, workload, size, part, process, staged, place, notes")
    asked = json.loads(parser.parse_args().request)
    turns = Turns()
    workload, staged = load(asked["workload"]), Staged.load(Path(asked["staged"]))
    engine = ENTRIES[asked["engine"]].load(staged, Path(asked["place"]))
    try:
        part, size = PARTS[workload.flow][asked["part"]], workload.size(asked["size"])
        notes = Notebook(Path(asked["notes"]))
        part(workload, size, staged, Steps(engine, notes, size, turns, asked["process"]))
    finally:
        engine.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
