"""Programs that work on one table at the same time, for as long as they are let: `at_work.py ROLE LOCATION …`.

Each says "ready" when all is imported.

* `compact`: compacts in small steps, again and again; it is the one that gets killed.
* `append`: appends ten rows at a time, with ids from a number on.
* `delete`: deletes ranges of ids, one after the other.
"""

import itertools
import sys
from collections.abc import Callable

from coalesce.errors import CommitConflict
from coalesce.storage import open_storage
from tests.table.examples import events, opened


def compact(location: str, step_bytes: str) -> None:
    """Compact for ever."""
    table = opened(open_storage(location))
    while True:
        for _ in table.compact_steps(step_bytes=int(step_bytes)):
            pass


def append(location: str, first: str) -> None:
    """Append for ever."""
    table = opened(open_storage(location))
    for number in itertools.count(int(first), 10):
        table.append(events([f"app-{i % 7}" for i in range(10)], range(number, number + 10)))


def delete(location: str, size: str, most: str) -> None:
    """Delete the ids of one range after the other, up to one that is not there."""
    table = opened(open_storage(location))
    for start in range(0, int(most), int(size)):
        while True:
            try:
                table.delete(f"id >= {start} AND id < {start + int(size) // 3}")
                break
            except CommitConflict:
                continue


ROLES: dict[str, Callable[..., None]] = {"compact": compact, "append": append, "delete": delete}

if __name__ == "__main__":
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    ROLES[sys.argv[1]](*sys.argv[2:])
