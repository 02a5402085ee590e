"""Compaction that is killed, again and again, while others append and delete: no row is lost, doubled or brought back.

`COALESCE_RACE` multiplies the number of files; with 20, there are twenty thousand of them and twenty kills.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

import coalesce
from coalesce.arrow.read import open_file
from coalesce.plan.plan import Plan
from coalesce.storage import open_storage
from coalesce.table.table import Table, core_of
from tests.checker import check_files
from tests.table.examples import create, events, opened

SCALE = int(os.environ.get("COALESCE_RACE", "1"))
FILES, KILLS = 500 if SCALE == 1 else 1000 * SCALE, min(20, 4 + SCALE)
ROOT = Path(__file__).parents[3]
APPENDED = 10**9

Ids = npt.NDArray[np.int64]


def start(*arguments: object) -> subprocess.Popen[bytes]:
    """Start one of those who work."""
    program = Path(__file__).with_name("at_work.py")
    process = subprocess.Popen(
        [sys.executable, str(program), *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def stop(process: subprocess.Popen[bytes]) -> str:
    """Kill it; what it said if it had ended by itself, and not well."""
    ended = process.poll()
    process.send_signal(signal.SIGKILL)
    said = process.communicate()[1].decode()
    return "" if ended in (None, 0) else said


def wait_for_a_compaction(location: Path) -> None:
    """Until one has been committed."""
    until = time.monotonic() + 120
    while not any(version.operation == "compact" for version in opened(open_storage(location)).history()):
        assert time.monotonic() < until, "no compaction in two minutes"
        time.sleep(0.2)


class History:
    """What each version has done to the ids; every data file is read once."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._read: dict[str, Ids] = {}

    def check(self) -> dict[str, int]:
        """Every version against the one before it; how many there were of each operation."""
        seen: dict[str, int] = {}
        before: set[str] = set()
        for version in self.table.history()[::-1]:
            after = self._files(self.table.at(version=version.number).plan())
            removed, added = self._ids(before - after), self._ids(after - before)
            match version.operation:
                case "compact":
                    assert np.array_equal(removed, added), version
                case "append":
                    assert len(removed) == 0, version
                case "delete":
                    gone = np.setdiff1d(removed, added)
                    assert len(gone) == len(removed) - len(added), version
                    assert len(np.setdiff1d(added, removed)) == 0, version
                    assert len(np.unique(gone // 300)) <= 1, version
            seen[version.operation] = seen.get(version.operation, 0) + 1
            before = after
        everything = self._ids(before)
        assert len(np.unique(everything)) == len(everything)
        return seen

    def _files(self, plan: Plan) -> set[str]:
        """The files of a version, of which those that are new are read."""
        core = core_of(self.table)
        paths: set[str] = set()
        for manifest in plan.manifests:
            here = manifest.index.paths(manifest.files)
            here = [_held(path, n) for path, n in zip(here, manifest.index.rows[manifest.files], strict=True)]
            new = np.array([place for place, held in enumerate(here) if held not in self._read], np.int64)
            for file in manifest.index.entries.files(manifest.files[new], columns=()):
                with open_file(core.storage, file, core.version) as stored:
                    rows = stored.read([core.schema.field("id")], range(len(stored.group_rows)))
                self._read[_held(file.path, file.rows)] = rows.column("id").to_numpy()
            paths.update(here)
        return paths

    def _ids(self, paths: set[str]) -> Ids:
        """The ids in some files, sorted."""
        return np.sort(np.concatenate([np.empty(0, np.int64), *(self._read[path] for path in paths)]))


def _held(path: str, rows: int) -> str:
    """What a file holds in a version: fewer rows than before, if some of them are dead."""
    return f"{path} {rows}"


def test_compaction_among_writers_survives_its_death(tmp_path: Path) -> None:
    """Thousands of tiny files: after any number of kills every version holds exactly what its operation says."""
    location = tmp_path / "events"
    rows = 10 * FILES
    table = create(open_storage(location), coalesce.small("app"), **{"write.target-file-bytes": "10"})
    table.append(events([f"app-{i % 7}" for i in range(rows)], range(rows)))
    table.set_properties({"write.target-file-bytes": "1MB"})
    tiny = table.state.files
    assert tiny > FILES / 2

    others = [start("append", location, APPENDED), start("delete", location, 300, rows)]
    chosen = random.Random(20)
    errors = ""
    try:
        for _ in range(KILLS):
            compacting = start("compact", location, 40_000)
            time.sleep(chosen.uniform(0.05, 1.5 + SCALE / 4))
            errors += stop(compacting)
        compacting = start("compact", location, 40_000)
        wait_for_a_compaction(location)  # on a busy machine, none of those may have come so far
        errors += stop(compacting)
    finally:
        errors += "".join(map(stop, others))
    assert errors == ""

    table = opened(open_storage(location))
    seen = History(table).check()
    assert seen["compact"] >= 1, seen
    assert seen["append"] > 2, seen
    assert seen["delete"] > 2, seen
    result = table.compact()
    assert result.skipped == ()
    assert table.state.files < tiny / 20
    assert table.compact().files_before == 0
    History(table).check()
    check_files(core_of(table).storage, table.state, table.files())
