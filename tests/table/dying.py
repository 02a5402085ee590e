"""A program that is killed, again and again, while it appends to a table on disk, and looks at the table each time.

It is given a directory and how many times. Every round forks a child that appends rows, which dies by SIGKILL: in odd
rounds at a step of its own (the first system call that touches the disk, the second, …), in even ones after a random
few milliseconds. Then another child opens the table as any reader would and checks all of it. This process itself
never starts a thread, so that forking it is sound. It prints, as JSON, what it saw.
"""

import itertools
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from coalesce.arrow.read import open_file
from coalesce.storage import open_storage
from coalesce.table.commit.manifests import ManifestCache, Manifests
from coalesce.table.table import core_of
from tests.table.examples import create, events, opened

STEPS = ["open", "mkdir", "fsync", "link", "unlink", "replace"]
DISK_CALLS = 50  # about as many as one append makes

location, rounds = sys.argv[1], int(sys.argv[2])
chosen = random.Random(2026)


def forked(work: Callable[[], object]) -> tuple[int, int]:
    """The process of a child that does the work, and a pipe with what it returned, as JSON."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.write(writing, json.dumps(work()).encode())
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(writing)
    return child, reading


def die_at(countdown: int) -> None:
    """Have this process die at the `countdown`-th system call that touches the disk: before it or after it."""
    left = itertools.count(countdown, -1)

    def killing(call: Callable[..., Any]) -> Callable[..., Any]:
        def replacement(*args: Any, **kwargs: Any) -> Any:
            before = next(left)
            if before == 1 and countdown % 2:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                return call(*args, **kwargs)
            finally:
                if before == 1:
                    os.kill(os.getpid(), signal.SIGKILL)

        return replacement

    for step in STEPS:
        setattr(os, step, killing(getattr(os, step)))


def append_and_die(round_: int, countdown: int | None) -> None:
    """Append rows whose ids tell the round and their place in it, until killed."""
    if countdown is not None:
        die_at(countdown)
    table = opened(open_storage(location))
    for i in itertools.count():
        table.append(events("A", [round_ * 1000 + i]))


def look(known: int, checked: list[str]) -> tuple[int, int, list[int], list[str]]:
    """The newest version, all its rows, the ids of the rows that are new, and the manifests that all versions name.

    Everything that the versions after `known` name must be there and be whole; manifests in `checked` have been before.
    """
    table = opened(open_storage(location))
    manifests = Manifests(core_of(table).storage, ManifestCache())
    named, ids = set(checked), []
    for number in range(known + 1, table.version + 1):
        version = core_of(table).log.load(number)
        for ref in version.manifests:
            if ref.path in named:
                assert core_of(table).storage.size(ref.path) == ref.length
                continue
            named.add(ref.path)
            for entry in manifests.load(ref, version).entries.files():
                assert core_of(table).storage.size(entry.path) == entry.bytes
                if entry.added_version == number:
                    with open_file(core_of(table).storage, entry, version) as file:
                        rows = file.read(table.schema.fields, range(len(file.group_rows)))
                    ids += rows.column("id").to_pylist()
    return table.version, table.state.rows, ids, sorted(named)


def killed(round_: int) -> bool:
    """Whether a child that appends died by a kill: at a step of its own in odd rounds, at any moment in even ones."""
    countdown = 1 + round_ // 2 % DISK_CALLS if round_ % 2 else None
    child, pipe = forked(partial(append_and_die, round_, countdown))
    if countdown is None:
        time.sleep(chosen.uniform(0, 0.06))
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(pipe)
    return os.WIFSIGNALED(status)


create(open_storage(location))
pa.array(np.zeros(1))  # the first of these imports pandas, if that is there; once here, not in every child
pa.set_cpu_count(1)
known, manifests_checked = 0, list[str]()
report: dict[str, Any] = {"old": 0, "new": 0, "problems": []}
for round_ in range(1, rounds + 1):
    if not killed(round_):
        report["problems"].append(f"round {round_}: the writer ended by itself")
    looker, pipe = forked(partial(look, known, manifests_checked))
    with os.fdopen(pipe) as answer:
        text = answer.read()
    os.waitpid(looker, 0)
    if not text:
        report["problems"].append(f"round {round_}: the table does not open, or something it names is not there")
        break
    newest, total, new_ids, manifests_checked = json.loads(text)
    if new_ids != [round_ * 1000 + i for i in range(newest - known)] or total != newest:
        report["problems"].append(f"round {round_}: versions {known} to {newest} added {new_ids}, of {total} rows")
    report["old" if newest == known else "new"] += 1
    known = newest
report["versions"] = known
print(json.dumps(report))  # noqa: T201 - how it talks to the test
