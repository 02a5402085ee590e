"""How old is old: durations as people write them, and the store's own clock.

What expires and what is deleted is decided by the times that the store gives files, and by no clock of a writer's or
of this machine's: they may be wrong, each in its own way.
"""

import re
from datetime import timedelta
from typing import Final
from uuid import uuid4

from coalesce.arguments import check_flag, shown
from coalesce.errors import InvalidArgument, StorageError
from coalesce.manifest.paths import CLOCK
from coalesce.storage.base import Storage

# No writer takes so long from its first file to its commit, and no reader from opening a table to its last file.
FLOOR: Final = timedelta(hours=24)

_DURATION: Final = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([dhms])\s*", re.ASCII)
_UNITS: Final = {"d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1), "s": timedelta(seconds=1)}
_MILLISECOND: Final = timedelta(milliseconds=1)


def check_age(value: object, force: object) -> timedelta:
    """`older_than=` as a duration, and not less than the floor unless `force`."""
    age = _given(value)
    if not check_flag(force, "force=") and age < FLOOR:
        raise InvalidArgument(
            f"older_than= is 24 hours at the least, not {shown(value)}: writers that have begun and readers that are "
            "at work would lose what they need. If there surely are none, say force=True."
        )
    return age


def _given(value: object) -> timedelta:
    if isinstance(value, timedelta):
        if value < timedelta(0):
            raise InvalidArgument(f"older_than= is a length of time, 0 or more, not {shown(value)}.")
        return value
    return duration(value, "older_than=", or_else=", or a timedelta")


def duration(value: object, what: str, or_else: str = "") -> timedelta:
    """A length of time as people write it; `what` it is, and what else it may be, is said where it is none."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise InvalidArgument(
            f'{what} is a length of time such as "7d", "36h", "90m" or "30s"{or_else}, not {shown(value)}.'
        )
    try:
        return float(match[1]) * _UNITS[match[2]]
    except OverflowError:
        raise InvalidArgument(f"{what} is longer than there have been calendars: {shown(value)}.") from None


def moment_before(storage: Storage, age: timedelta) -> int:
    """The moment that is so long ago, by the store's own clock, in milliseconds since 1970.

    The clock is read off a file that is put there and deleted again.
    """
    path = f"{CLOCK}/{uuid4().hex}"
    storage.put(path, b"?")  # not empty: some stores take that for a directory
    try:
        probe = next((file for file in storage.list(CLOCK) if file.path == path), None)
    finally:
        storage.delete(path)
    if probe is None:
        raise StorageError(f"could not learn the time in {storage.root}: a file that was just written is not listed.")
    return probe.modified_ms - age // _MILLISECOND
