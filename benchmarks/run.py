"""`run`: stage the rows, let every engine work in processes of its own, in turns, and say what came of it."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks import peers
from benchmarks.child import PARTS
from benchmarks.engines.registry import ENTRIES, Entry
from benchmarks.findings import PROCESS, Findings
from benchmarks.harness import progress
from benchmarks.machine import machine, now
from benchmarks.outcome import Outcome
from benchmarks.staged import Staged
from benchmarks.staging import stage
from benchmarks.turns import Worker, hand_out
from benchmarks.workload import Size, Workload

ROOT: Final = Path(__file__).parents[1]
_LEFT_OUT: Final = "it was not asked for in this run"
_MOVED: Final = "unknown: the tree changed while this ran"
_NOT_YET: Final = "the run has not come to it"


def run(
    workload: Workload, size: str, entries: Sequence[Entry], *, rounds: int, directory: Path | None, out: Path
) -> Outcome:
    """Every engine, round after round; those that the size names all at once, the others one after the other.

    The outcome is saved each time, as `….partial`: a run of hours that is interrupted leaves what it found, and the
    outcome of an earlier one.
    """
    begun, here = now(), machine()  # and of which commit: engines begin one by one, and all are to be of the same
    found = {entry.name: Findings(unavailable=_unavailable(entry)) for entry in entries}
    wanted = {entry.name for entry in entries}
    left = {
        name: Findings(unavailable=_LEFT_OUT) for name in chosen_by(workload.size(size), None) if name not in wanted
    }
    partial = out.with_name(f"{out.name}.partial")
    for entry in entries:
        if (reason := found[entry.name].unavailable) is not None:
            progress(f"{entry.name} cannot be had: {reason}")

    ran: set[str] = set()

    def findings(name: str) -> Findings:
        waits = name not in ran and found[name].unavailable is None
        return Findings(unavailable=_NOT_YET) if waits else found[name]

    def outcome(staged: Staged) -> Outcome:
        return Outcome(
            workload=workload.name,
            size=size,
            rows=staged.rows,
            partitions=staged.partitions,
            rounds=rounds,
            machine=here | ({} if machine()["commit"] == here["commit"] else {"commit": _MOVED}),
            begun=begun,
            ended=now(),
            configurations={entry.name: entry.configuration() for entry in entries},
            engines={**{name: findings(name) for name in found}, **left},
        )

    with tempfile.TemporaryDirectory(prefix="coalesce-benchmarks-", dir=directory) as temporary:
        kept = Path(temporary) / "staged" if directory is None else directory / f"staged-{workload.name}-{size}"
        progress(f"{workload.name}, {size}: {workload.size(size).rows:,} rows")
        staged = stage(workload, size, kept)
        there = [entry for entry in entries if found[entry.name].unavailable is None]
        for number in range(rounds):
            for group in groups(there, workload.size(size)):
                progress(f"round {number + 1} of {rounds}: {', '.join(entry.name for entry in group)}")
                ran |= {entry.name for entry in group}
                _in_turns(workload, size, group, staged, Path(temporary) / "place", found)
                outcome(staged).save(partial)
        last = outcome(staged)
        last.save(partial)
        partial.replace(out)
        return last


def chosen_by(size: Size, engines: Sequence[str] | None) -> list[str]:
    """The engines that were named; those that the workload names, for all sizes or for this; or all there are."""
    return list(engines or size.engines or ENTRIES)


def groups(entries: Sequence[Entry], size: Size) -> list[list[Entry]]:
    """Those that take turns, all of a kind at once; then each of the others alone."""
    turns = [entry for entry in entries if size.together is None or entry.name in size.together]
    kinds = [[entry for entry in turns if entry.spark is spark] for spark in (True, False)]
    return [*(kind for kind in kinds if kind), *([entry] for entry in entries if entry not in turns)]


def _unavailable(entry: Entry) -> str | None:
    reason = entry.unavailable()
    return reason if reason is not None or entry.peer is None else peers.prepare(entry.peer)


def _in_turns(
    workload: Workload, size: str, group: Sequence[Entry], staged: Staged, place: Path, found: dict[str, Findings]
) -> None:
    """All parts of the flow by some engines, which take turns; what they wrote is deleted afterwards."""
    going, notes = list(group), {entry.name: place / f"{entry.name}.jsonl" for entry in group}
    try:
        _parts(workload, size, going, staged, place, notes, found)
    finally:
        for name, path in notes.items():
            found[name].take(path)
        shutil.rmtree(place, ignore_errors=True)


def _parts(
    workload: Workload,
    size: str,
    going: list[Entry],
    staged: Staged,
    place: Path,
    notes: dict[str, Path],
    found: dict[str, Findings],
) -> None:
    often = {"use": workload.size(size).processes}
    steps = [(part, process) for part in PARTS[workload.flow] for process in range(often.get(part, 1))]
    for part, process in steps:
        os.sync()  # what others have left to be written is not in the way of whoever waits for a disk
        workers = {}
        for entry in going:
            (place / entry.name).mkdir(parents=True, exist_ok=True)
            request = {
                "engine": entry.name,
                "workload": workload.name,
                "size": size,
                "staged": str(staged.directory),
                "place": str(place / entry.name),
                "notes": str(notes[entry.name]),
                "part": part,
                "process": process,
            }
            workers[entry.name] = Worker(
                [entry.python or sys.executable, "-m", "benchmarks.child", json.dumps(request)],
                directory=ROOT,
                log=place / f"{entry.name}.log",
                seconds=workload.size(size).minutes * 60,
            )
        for name, text in hand_out(workers).items():
            found[name].words[f"{PROCESS} {part}"] = text
            progress(f"{name}, {part}: {text}")
            going = [entry for entry in going if entry.name != name]
