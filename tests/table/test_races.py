"""Many processes append to one table at once: nothing is lost, nothing is there twice, every version is whole.

`COALESCE_RACE` multiplies the number of appends, for a longer look than every test run can afford.
"""

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from coalesce.storage import Storage, open_storage
from tests.s3 import S3Location
from tests.table.examples import create, ids, opened

SCALE = int(os.environ.get("COALESCE_RACE", "1"))
ROOT = Path(__file__).parents[2]


def race(location: str, options: dict[str, str], processes: int, appends: int) -> list[list[int]]:
    """For each process, the versions it was told it had committed."""
    program = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("race.py")), json.dumps([location, options, processes, appends])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_PROXY": "127.0.0.1"},
    )
    assert program.stdin is not None
    assert program.stdout is not None
    assert program.stdout.readline() == "ready\n"
    output, errors = program.communicate("go\n", timeout=300 * SCALE)
    assert program.returncode == 0, errors
    answers: list[list[int]] = json.loads(output)
    assert all(answers), errors
    return answers


def check(storage: Storage, committed: list[list[int]], processes: int, appends: int) -> None:
    """Everything that was appended is there once, and in the version its process was told of."""
    total = processes * appends
    numbers = [n for versions in committed for n in versions]
    assert sorted(numbers) == list(range(1, total + 1))
    assert all(versions == sorted(versions) for versions in committed)
    newest = opened(storage)
    assert newest.version == total
    expected = [1000 * process + i for process in range(processes) for i in range(appends)]
    assert ids(newest) == expected  # this reads every data file there is
    assert ids(newest, "app = 'app 0'") == expected[: 2 * appends]
    history = newest.history()[::-1]
    assert [v.operation for v in history] == ["create"] + ["append"] * total
    assert all(v.parent_commit_id == before.commit_id for before, v in pairwise(history))
    assert len({v.commit_id for v in history}) == total + 1
    files: set[str] = set()
    for number in range(total + 1):
        version = newest.at(version=number)
        found = set(version.plan().paths())
        assert len(found) == version.count() == number
        assert files < found or number == 0  # nothing that was there is gone: so all of them were read above
        files = found
    assert len(newest.state.manifests) < 100
    ranges = sorted((f.first_row_id or 0, f.rows) for f in newest.files())
    assert ranges == [(first, 1) for first in range(total)]


def test_eight_processes_on_a_local_disk(tmp_path: Path) -> None:
    """Eight that append fifty times each make four hundred versions."""
    appends = 20 * SCALE
    storage = open_storage(tmp_path / "events")
    create(storage)
    check(storage, race(str(tmp_path / "events"), {}, 8, appends), 8, appends)


def test_four_processes_on_s3(s3_location: S3Location) -> None:
    """Four that append twenty-five times each, with `If-None-Match` deciding who was first."""
    appends = 10 * SCALE
    storage = open_storage(s3_location.location, options=s3_location.options)
    create(storage)
    check(storage, race(s3_location.location, s3_location.options, 4, appends), 4, appends)
