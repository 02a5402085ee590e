"""`run`: stage the rows, let each engine work in processes of its own, one after the other, and say what came of it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from benchmarks import peers
from benchmarks.child import PARTS
from benchmarks.engines.registry import ENTRIES, Entry
from benchmarks.findings import Findings
from benchmarks.harness import progress
from benchmarks.machine import machine, now
from benchmarks.outcome import Outcome
from benchmarks.staged import Staged
from benchmarks.staging import stage
from benchmarks.workload import Size, Workload

ROOT: Final = Path(__file__).parents[1]


def run(
    workload: Workload, size: str, entries: Sequence[Entry], *, rounds: int, directory: Path | None, out: Path
) -> Outcome:
    """Every engine, round after round: what disturbs the machine for a while disturbs all of them.

    The outcome is saved after each: a run of hours that is interrupted leaves what it found.
    """
    begun = now()
    found = {entry.name: Findings(unavailable=_unavailable(entry)) for entry in entries}
    for entry in entries:
        if (reason := found[entry.name].unavailable) is not None:
            progress(f"{entry.name} cannot be had: {reason}")

    def outcome(staged: Staged) -> Outcome:
        return Outcome(
            workload=workload.name,
            size=size,
            rows=staged.rows,
            partitions=staged.partitions,
            rounds=rounds,
            machine=machine(),
            begun=begun,
            ended=now(),
            configurations={entry.name: entry.configuration() for entry in entries},
            engines=found,
        )

    with tempfile.TemporaryDirectory(prefix="coalesce-benchmarks-", dir=directory) as temporary:
        kept = Path(temporary) / "staged" if directory is None else directory / f"staged-{workload.name}-{size}"
        progress(f"{workload.name}, {size}: {workload.size(size).rows:,} rows")
        staged = stage(workload, size, kept)
        for number in range(rounds):
            for entry in entries:
                if found[entry.name].unavailable is None:
                    progress(f"round {number + 1} of {rounds}: {entry.name}")
                    _one(workload, size, entry, staged, Path(temporary) / "place", found[entry.name])
                    outcome(staged).save(out)
        last = outcome(staged)
        last.save(out)
        return last


def chosen_by(size: Size, engines: Sequence[str] | None) -> list[str]:
    """The engines that were named; those that the workload names, for all sizes or for this; or all there are."""
    return list(engines or size.engines or ENTRIES)


def _unavailable(entry: Entry) -> str | None:
    reason = entry.unavailable()
    return reason if reason is not None or entry.peer is None else peers.prepare(entry.peer)


def _one(workload: Workload, size: str, entry: Entry, staged: Staged, place: Path, found: Findings) -> None:
    """All parts of the flow by one engine; what it wrote is deleted afterwards."""
    place.mkdir()
    notes = place.parent / "notes.jsonl"
    notes.unlink(missing_ok=True)
    request = {"engine": entry.name, "workload": workload.name, "size": size, "staged": str(staged.directory)}
    request |= {"place": str(place), "notes": str(notes)}
    seconds = workload.size(size).minutes * 60
    for part in PARTS[workload.flow]:
        failed = _child(entry, {**request, "part": part}, seconds)
        if failed is not None:
            found.words[f"the process that is to {part}"] = failed
            progress(f"{entry.name}, {part}: {failed}")
            break
    found.take(notes)
    shutil.rmtree(place, ignore_errors=True)


def _child(entry: Entry, request: dict[str, str], seconds: float) -> str | None:
    """One process, and whatever it starts; what went wrong, if something did."""
    command = [entry.python or sys.executable, "-m", "benchmarks.child", json.dumps(request)]
    log = Path(request["place"]).parent / f"{entry.name}.log"
    with log.open("a") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output, start_new_session=True)
        try:
            code = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            return f"not finished in {seconds / 60:.0f} minutes"
        except BaseException:
            _end(process)
            raise
    if code != 0:
        lines = [line for line in log.read_text().splitlines() if line.strip() and not line.startswith(" ")]
        return f"failed: {lines[-1] if lines else f'exit code {code}'}"[:300]
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """The process and its JVM: they have a session of their own."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
