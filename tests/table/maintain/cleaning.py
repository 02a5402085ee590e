"""A program in which processes write to, read, tag and clean one table at once, all of them for real.

It is given, as JSON, a directory and how many rounds. A round lets a month pass for everything that is committed, but
for the last three versions: their files and those that they name are made older, as nobody waits for a month. What
writers have under way stays young, as it would be. Then versions expire and files are vacuumed, by what the library
does unless told otherwise. It prints, as JSON, what each process saw, and every error that nobody should see.
"""

import json
import os
import random
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from coalesce.errors import CommitConflict, VersionExpired
from coalesce.manifest.paths import new_write_directory, version_path
from coalesce.storage import open_storage
from coalesce.table.commit.manifests import ManifestCache, Manifests
from coalesce.table.table import Table, core_of
from tests.table.examples import create, events, ids, opened

root, rounds = Path(sys.argv[1]), int(sys.argv[2])
stop = root.with_name("stop")
MONTH = 30 * 24 * 60 * 60


def table() -> Table:
    """The table as a process of its own sees it, with nothing remembered."""
    found = opened(open_storage(root))
    core_of(found).manifests = Manifests(core_of(found).storage, ManifestCache())
    return found


def write(process: int) -> object:
    """Append, and delete what was appended; rows of other processes are left alone.

    Now and then all of it goes, so that the table stays small: a round goes through all files that there are.
    """
    mine, there, conflicts, handle = 1_000_000 * process, set[int](), 0, table()
    chosen = random.Random(process)
    while not stop.exists():
        mine += 1
        handle.append(events(f"app {process}", [mine]))
        there.add(mine)
        if chosen.random() < 0.3 or len(there) > 60:
            gone = set(there) if len(there) > 60 else {i for i in there if i % 3 == 0}
            try:
                handle.delete(_among(gone))
            except (CommitConflict, VersionExpired):
                conflicts += 1
            else:
                there -= gone
        if chosen.random() < 0.1:
            handle = table()
    return [sorted(there), conflicts]


def _among(gone: set[int]) -> str:
    return f"id IN ({', '.join(map(str, gone))})" if gone else "id = -1"


def read(process: int) -> object:
    """Open any version there is, and read all of it: every row, or that the version has expired."""
    chosen, read_, expired = random.Random(process), 0, 0
    while not stop.exists():
        try:
            found = table()
            if chosen.random() < 0.7:
                found = found.at(version=chosen.choice([v.number for v in found.history()]))
            rows = ids(found)
            assert len(rows) == len(set(rows)) == found.state.rows
            read_ += 1
        except VersionExpired:
            expired += 1
    return [read_, expired]


def tag(process: int) -> object:
    """Tag a version, look at it again and again, and let it go."""
    chosen, tagged, refused = random.Random(process), 0, 0
    while not stop.exists():
        handle, name = table(), f"tag {process} {tagged}"
        try:
            number = chosen.choice([v.number for v in handle.history(4)])
            rows = ids(handle.at(version=number))
            handle.tag(name, number)
        except VersionExpired:
            refused += 1
            continue
        for _ in range(3):
            time.sleep(chosen.random() * 0.1)
            assert ids(table().at(version=name)) == rows
        handle.untag(name)
        tagged += 1
    return [tagged, refused]


def clean(process: int) -> object:
    """Let a month pass, expire, vacuum; leave orphans that are to go, and look whether they are gone."""
    del process
    expired, deleted, handle = 0, 0, table()
    for _ in range(rounds):
        orphan = root / new_write_directory() / "00000.parquet"
        orphan.parent.mkdir(parents=True)
        orphan.write_bytes(b"half of it")
        _old(orphan)
        _month_passes()
        expired += len(handle.expire(keep_last=2).versions)
        deleted += handle.vacuum().files
        assert not orphan.exists()
        time.sleep(0.05)
    return [expired, deleted]


def _month_passes() -> None:
    handle = table()
    versions = list(handle.history())[3:]
    for version in versions:
        try:
            paths = handle.at(version=version.number).plan().paths()
        except VersionExpired:
            continue
        for path in (version_path(version.number), *(ref.path for ref in version.manifests), *paths):
            _old(root / path)


def _old(path: Path) -> None:
    then = time.time() - MONTH
    try:
        os.utime(path, (then, then))
    except FileNotFoundError:
        return


def forked(work: Callable[[int], object], process: int) -> tuple[int, int]:
    """A child that works, and a pipe with what it says."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said: object = {"ok": work(process)}
        except BaseException:  # noqa: BLE001 - all of it is to be told
            said = {"error": f"{work.__name__}: {traceback.format_exc()}"}
        with os.fdopen(writing, "w") as pipe:
            json.dump(said, pipe)
        os._exit(0)
    os.close(writing)
    return child, reading


os.fsync = lambda fd: None  # noqa: ARG005 - the machine itself does not crash here
pa.array(np.zeros(1))  # the first of these imports pandas, if that is there; once here, not in every process
pa.set_cpu_count(1)
create(open_storage(root))
works = [write, write, read, tag]
children = [forked(work, process) for process, work in enumerate(works, 1)]
cleaner, said = forked(clean, 9)
os.waitpid(cleaner, 0)
stop.touch()
answers = []
for child, pipe in [*children, (None, said)]:
    with os.fdopen(pipe) as answer:
        answers.append(json.loads(answer.read()))
    if child is not None:
        os.waitpid(child, 0)
print(json.dumps(answers))  # noqa: T201 - how it talks to the test
