"""Of several processes that create one file at the same moment, exactly one is told that it did."""

import json
import subprocess
import sys
from pathlib import Path

from coalesce.storage import open_storage
from tests.s3 import S3Location

PROCESSES = 8


def race(location: str, options: dict[str, str], names: list[str]) -> dict[str, list[str]]:
    """Which processes (`'0'` to `'7'`) said they had created each name."""
    running = [
        subprocess.Popen(
            [
                sys.executable,
                str(Path(__file__).with_name("racing.py")),
                json.dumps([location, options, str(n), names]),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
            env={"PYTHONPATH": str(Path(__file__).parents[2])},
        )
        for n in range(PROCESSES)
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    winners: dict[str, list[str]] = {name: [] for name in names}
    for n, process in enumerate(running):
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0
        for name in json.loads(output):
            winners[name].append(str(n))
    return winners


def test_one_process_wins_each_name_on_a_local_disk(tmp_path: Path) -> None:
    """Every name has one creator, the file holds that creator's bytes, and no temporary file stays behind."""
    names = [f"_coalesce/versions/{n:020}.json" for n in range(60)]
    winners = race(str(tmp_path), {}, names)
    storage = open_storage(tmp_path)
    assert {name: len(said) for name, said in winners.items()} == dict.fromkeys(names, 1)
    assert all(storage.read(name) == said[0].encode() * 1000 for name, said in winners.items())
    assert sorted(file.name for file in (tmp_path / "_coalesce/versions").iterdir()) == [n[19:] for n in names]


def test_one_process_wins_each_name_on_s3(s3_location: S3Location) -> None:
    """The same on an object store that honours `If-None-Match`."""
    names = [f"_coalesce/versions/{n:020}.json" for n in range(15)]
    winners = race(s3_location.location, s3_location.options, names)
    storage = open_storage(s3_location.location, options=s3_location.options)
    assert {name: len(said) for name, said in winners.items()} == dict.fromkeys(names, 1)
    assert all(storage.read(name) == said[0].encode() * 1000 for name, said in winners.items())
