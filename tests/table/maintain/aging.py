"""Tables whose files have grown old, for the tests of what expires and what is deleted."""

import os
from collections.abc import Callable
from pathlib import Path

from coalesce.storage.base import Storage
from coalesce.table.table import Table
from tests.table.examples import create, events
from tests.table.stores import MemoryStorage

DAY_MS = 24 * 60 * 60 * 1000
LONG_AGO = 30  # days


def age(storage: MemoryStorage, days: float = LONG_AGO, only: Callable[[str], bool] = lambda _: True) -> None:
    """Let files be older, by the clock of the store."""
    for path in storage.modified:
        if only(path):
            storage.modified[path] -= int(days * DAY_MS)


def age_on_disk(root: Path, days: float = LONG_AGO, only: Callable[[str], bool] = lambda _: True) -> None:
    """The same for a table on this machine; others may delete files meanwhile."""
    for path in root.rglob("*"):
        if only(path.relative_to(root).as_posix()):
            try:
                status = path.stat(follow_symlinks=False)
                then = status.st_mtime - days * 24 * 60 * 60
                os.utime(path, (then, then), follow_symlinks=False)
            except FileNotFoundError:
                continue


def grown(storage: Storage, appends: int) -> Table:
    """A table with a row for each append: version n has the rows 1 to n."""
    table = create(storage)
    for i in range(1, appends + 1):
        table.append(events("A", [i]))
    return table


def numbers(table: Table) -> list[int]:
    """The versions that are there, oldest first."""
    return [version.number for version in reversed(table.history())]


def tree(root: Path) -> set[str]:
    """Every file below a directory, links too."""
    return {p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_symlink() or p.is_file()}
