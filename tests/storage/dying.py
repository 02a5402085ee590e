"""A program that dies by SIGKILL inside `put_if_absent`, at each step of it in turn.

For every system call of `put_if_absent` that changes a directory or syncs, and for both sides of it, a forked child
writes to a root of its own and kills itself there. The roots are named after the step.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from coalesce.storage.local import LocalStorage

DATA = b"0123456789" * 100_000
STEPS = ["mkdir", "fsync", "link", "unlink"]


def killing(call: Callable[..., Any], countdown: int, *, before: bool) -> Callable[..., Any]:
    """`call`, except that the process dies before or after the `countdown`-th time."""
    left = countdown

    def replacement(*args: Any, **kwargs: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0 and before:
            os.kill(os.getpid(), signal.SIGKILL)
        result = call(*args, **kwargs)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return replacement


def die_at(root: str, step: str, countdown: int, *, before: bool) -> bool:
    """Whether a child died at the step; if it did not, there is no such step any more."""
    child = os.fork()
    if child == 0:
        setattr(os, step, killing(getattr(os, step), countdown, before=before))
        LocalStorage(root).put_if_absent("a/b/file", DATA)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def die_while_writing(root: str) -> None:
    """A child that dies when half of the bytes are in the temporary file."""
    child = os.fork()
    if child == 0:
        storage = LocalStorage(root)
        storage._make_directory(f"{root}/a/b")

        def lose_half_and_die(descriptor: int) -> None:
            os.ftruncate(descriptor, len(DATA) // 2)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(os, "fsync", lose_half_and_die)  # noqa: B010 - the type checker would not have it assigned
        storage.put_if_absent("a/b/file", DATA)
    os.waitpid(child, 0)


top = sys.argv[1]
for step in STEPS:
    for before in (True, False):
        countdown = 1
        while die_at(f"{top}/{step}-{countdown}-{'before' if before else 'after'}", step, countdown, before=before):
            countdown += 1
die_while_writing(f"{top}/half-written")
