"""A program in which processes remove logical partitions from the same files at once, all of them for real.

It is given a directory, how many processes remove, and how many logical partitions each of them. Others append rows of
apps that nobody removes, and compact, until the last removal is done. It prints, as JSON, what is wrong: in each
version, exactly the removed apps must be gone, and no row of another may be lost, doubled or back.
"""

import json
import os
import random
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from coalesce.errors import CommitConflict
from coalesce.model.rule import small
from coalesce.storage import open_storage
from tests.table.examples import create, events, opened

root, removers, each = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
done = root.with_name("done")


def remove(process: int) -> None:
    """Drop or replace the apps of this process, one by one."""
    table = opened(open_storage(root))
    chosen = random.Random(process)
    for i in range(each):
        app = f"app {process}-{i}"
        if chosen.random() < 0.3:
            while True:  # rows that are written are not written again: here they are
                try:
                    table.overwrite(events(app, [1_000_000 + process * 1_000 + i]), f"app = '{app}'")
                    break
                except CommitConflict:
                    continue
        else:
            table.drop_partition(app=app)


def append(_: int) -> None:
    """Add rows of an app that stays."""
    table = opened(open_storage(root))
    for i in range(10_000):
        if done.exists():
            return
        table.append(events("stays", [2_000_000 + i]))
        time.sleep(0.02)


def compact(_: int) -> None:
    """Merge files, and take dead rows out of them."""
    table = opened(open_storage(root))
    while not done.exists():
        table.compact()
        time.sleep(0.05)


def forked(work: Callable[[int], None], process: int) -> int:
    """A process that does the work; it ends with 0 if all went well."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work(process)
            code = 0
        except BaseException:  # noqa: BLE001 - whatever it was, the program is to say so
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return child


def rows_at(version: int) -> dict[int, str]:
    """The rows of a version, each once."""
    found = opened(open_storage(root)).at(version=version).scan(columns=["id", "app"]).to_arrow()
    rows = dict(zip(found.column("id").to_pylist(), found.column("app").to_pylist(), strict=True))
    assert len(rows) == found.num_rows, f"version {version} has rows twice"
    return rows


def problems() -> list[str]:
    """What is wrong with the versions, each beside the one before it."""
    found, table = [], opened(open_storage(root))
    before = rows_at(1)
    for version in sorted(table.history(), key=lambda v: v.number)[2:]:
        after = rows_at(version.number)
        lost, new = before.items() - after.items(), after.items() - before.items()
        gone = {app for _, app in lost}
        allowed = {"append": (0, 1), "compact": (0, 0), "drop_partition": (1, 0), "overwrite": (1, 1)}
        apps, added = allowed.get(version.operation, (0, 0))
        of_apps = {i for i, app in before.items() if app in gone}
        if len(gone) != apps or len(new) != added or {i for i, _ in lost} != of_apps or "stays" in gone:
            found.append(f"version {version.number} ({version.operation}) lost {sorted(lost)}, got {sorted(new)}")
        before = after
    replaced = {app for i, app in before.items() if 1_000_000 <= i < 2_000_000}
    if {app for app in before.values() if app not in ("stays", *replaced)}:
        found.append(f"not removed: {sorted(set(before.values()))}")
    return found


apps = [f"app {process}-{i}" for process in range(removers) for i in range(each)]
table = create(open_storage(root), small("app"), **{"remove.by": "mark"})
table.append(events([*apps, *apps, "stays"], list(range(2 * len(apps) + 1))))
children = [forked(remove, process) for process in range(removers)]
helpers = [forked(append, 0), forked(compact, 1)]
codes = [os.waitpid(child, 0)[1] for child in children]
done.touch()
codes += [os.waitpid(child, 0)[1] for child in helpers]
marked = sum(v.dead_rows > 0 for v in opened(open_storage(root)).history())
report = {"failed": sum(code != 0 for code in codes), "problems": problems(), "marked": marked}
print(json.dumps(report))  # noqa: T201 - how it talks to the test
