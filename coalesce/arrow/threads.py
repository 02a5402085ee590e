"""Threads that work on several files at the same time, kept from one scan or write to the next.

To start a thread is cheap, but Arrow's allocator gives each one memory of its own, which comes from the system page by
page and is lost with the thread: with new ones every time, a scan of a few small files takes half as long again.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Final, TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")

# Idle ones, by how many threads each has. Whoever takes one has it alone, so nobody waits for another's files, nor for
# himself if files are read to write others. Lists and dictionaries need no lock for what is done with these.
_kept: dict[int, list[ThreadPoolExecutor]] = {}
_KEPT: Final = 2  # of each number of threads

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kept.clear)  # a forked process has the pools, but not their threads


def each(work: Callable[[Item], Done], items: Sequence[Item], threads: int) -> list[Done]:
    """What `work` gives for each item, in order; so many at a time.

    After a failure no other item is begun, and when it is raised none is being worked on.
    """
    if len(items) < 2:
        return [work(item) for item in items]
    idle = _kept.setdefault(threads, [])
    try:
        pool = idle.pop()
    except IndexError:
        pool = ThreadPoolExecutor(threads, thread_name_prefix="coalesce")
    failed: list[BaseException] = []

    def unless_failed(item: Item) -> Done:
        if failed:
            raise CancelledError
        try:
            return work(item)
        except BaseException as error:
            failed.append(error)
            raise

    try:
        done = list(pool.map(unless_failed, items))
    except CancelledError:  # of an item that was taken before the one that failed, and begun after it
        pool.shutdown(cancel_futures=True)
        raise failed[0] from None
    except BaseException:
        pool.shutdown(cancel_futures=True)
        raise
    if len(idle) < _KEPT:
        idle.append(pool)
    else:
        pool.shutdown()
    return done
