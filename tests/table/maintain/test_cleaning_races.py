"""Writers, readers, tags, expiry and vacuum at once, in processes of their own; and processes that are killed.

`COALESCE_RACE` multiplies the number of rounds, for a longer look than every test run can afford.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from coalesce.storage import open_storage
from tests.table.examples import ids, opened

SCALE = int(os.environ.get("COALESCE_RACE", "1"))
ROUNDS, KILLS = 8, 10
ROOT = Path(__file__).parents[3]


def run(program: str, *arguments: object) -> str:
    """What one of the programs beside this file prints."""
    ran = subprocess.run(
        [sys.executable, str(Path(__file__).with_name(program)), *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=300 + 60 * SCALE,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_nothing_that_a_version_needs_is_ever_gone(tmp_path: Path) -> None:
    """Every row of every retained version can be read all along; what has expired says so."""
    location = tmp_path / "events"
    answers = json.loads(run("cleaning.py", location, ROUNDS * SCALE))
    assert [answer["error"] for answer in answers if "error" in answer] == []
    (one, _), (two, _), (reads, _), (tagged, _), (expired, deleted) = (answer["ok"] for answer in answers)
    storage = open_storage(location)
    table = opened(storage)
    assert ids(table) == [*one, *two]
    assert reads > 0
    assert tagged > 0
    assert expired > ROUNDS
    assert deleted > ROUNDS
    for version in table.history():
        assert len(ids(table.at(version=version.number))) == version.rows


def test_a_table_survives_those_who_clean_it(tmp_path: Path) -> None:
    """Killed at every step of an expiry and a vacuum: all versions that are kept can be read, and the next goes on."""
    location = tmp_path / "events"
    report = json.loads(run("killed.py", location, KILLS * SCALE))
    assert report["problems"] == []
    assert report["killed"] > KILLS // 2
    assert report["finished"] == 0
    storage = open_storage(location)
    table = opened(storage)
    assert [version.number for version in table.history()] == report["versions"]
    named = {path for number in report["versions"] for path in table.at(version=number).plan().paths()}
    assert {file.path for file in storage.sweep("data")} == named  # nothing is left of those who died
    assert table.append(table.scan().to_arrow().slice(0, 1)).version == report["versions"][0] + 1
