"""Processes that die by SIGKILL in the middle of a commit leave the old table or the new one, and orphans."""

import json
import os
import subprocess
import sys
from pathlib import Path

from coalesce.storage import open_storage
from tests.table.examples import ids, opened

KILLS = 100
ROOT = Path(__file__).parents[2]


def test_a_table_survives_its_writers(tmp_path: Path) -> None:
    """Two hundred kills at every step of a commit: the table always opens, and everything its versions name exists."""
    location = tmp_path / "events"
    program = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("dying.py")), str(location), str(KILLS)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=600,
    )
    assert program.returncode == 0, program.stderr
    report = json.loads(program.stdout)
    assert report["problems"] == [], program.stderr
    assert report["old"] + report["new"] == KILLS
    assert report["old"] > KILLS // 20  # killed before a commit …
    assert report["new"] > KILLS // 20  # … and after one
    storage = open_storage(location)
    table = opened(storage)
    assert table.version == report["versions"]
    assert len(set(ids(table))) == table.version
    named = {path for version in table.history() for path in table.at(version=version.number).plan().paths()}
    there = {file.path for file in storage.list("data")}
    assert named < there  # what is left over is named by no version
    table.append(table.scan().to_arrow().slice(0, 1))
    assert opened(storage).version == report["versions"] + 1
