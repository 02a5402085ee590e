"""A program that is killed, again and again, while it expires versions and vacuums, and looks at the table each time.

It is given a directory and how many times. In each round a child appends some rows, tags a version, deletes rows, lets
a month pass, and then expires and vacuums, until it dies by SIGKILL at a step of its own: the first system call that
takes a name away or makes one, the second, and so on. Another child then opens the table as any reader would and reads
every version there is. This process itself never starts a thread, so that forking it is sound. It prints, as JSON,
what it saw.
"""

import itertools
import json
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from coalesce.storage import open_storage
from tests.table.examples import create, events, ids, opened
from tests.table.maintain.aging import age_on_disk

STEPS = ["unlink", "link", "replace"]

root, rounds = Path(sys.argv[1]), int(sys.argv[2])


def forked(work: Callable[[], object]) -> tuple[int, str]:
    """How a child ended that does the work, and what it returned, as JSON."""
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
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    return os.waitpid(child, 0)[1], said


def die_at(countdown: int) -> None:
    """Have this process die at the `countdown`-th such call: before it or after it."""
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


def work(round_: int) -> list[int]:
    """Make history, so that there is something to expire; what the newest version holds then."""
    table = opened(open_storage(root))
    for i in range(4):
        table.append(events("A", [round_ * 10 + i]))
    table.delete(f"id = {round_ * 10 + 1}")
    table.tag(f"round {round_}", version=table.version - 2)
    if round_ % 3 == 0:
        table.untag(f"round {round_ - 2}")
    age_on_disk(root)
    return ids(table)


def clean(countdown: int) -> None:
    """Expire and vacuum until killed, or done."""
    die_at(countdown)
    table = opened(open_storage(root))
    table.expire(keep_last=2)
    table.vacuum()


def look() -> list[list[int]]:
    """Every version there is, read as a whole, and the rows of the newest."""
    table = opened(open_storage(root))
    listed = table.history()
    for version in listed:
        assert len(ids(table.at(version=version.number))) == version.rows
    for name, number in table.tags().items():
        assert table.at(version=name).version == number
    return [ids(table), [version.number for version in listed]]


os.fsync = lambda fd: None  # noqa: ARG005 - the machine itself does not crash here
create(open_storage(root))
pa.array(np.zeros(1))  # the first of these imports pandas, if that is there; once here, not in every child
pa.set_cpu_count(1)
report: dict[str, Any] = {"killed": 0, "done": 0, "problems": []}
for round_ in range(1, rounds + 1):
    expected = forked(partial(work, round_))[1]
    report["killed" if os.WIFSIGNALED(forked(partial(clean, 1 + 2 * round_))[0]) else "done"] += 1
    seen = forked(look)[1]
    if not seen or not expected or json.loads(seen)[0] != json.loads(expected):
        report["problems"].append(f"round {round_}: {seen or 'it does not open'}, not {expected or 'written to'}")
        break
report["finished"] = forked(partial(clean, 10**9))[0]
report["versions"] = json.loads(forked(look)[1])[1]
print(json.dumps(report))  # noqa: T201 - how it talks to the test
