import os
import sys
import time
from multiprocessing import get_context
from threading import Barrier, Event, get_ident

import pytest

from coalesce.arrow import threads
from coalesce.arrow.threads import each


def test_the_answers_come_in_order_and_at_the_same_time() -> None:
    """Items that wait for each other are all worked on, and each answer stands where its item did."""
    meeting = Barrier(3, timeout=60)

    def work(item: int) -> int:
        meeting.wait()
        return item * 10

    assert each(work, [3, 1, 2], 3) == [30, 10, 20]


def test_threads_are_used_again() -> None:
    """A second round starts no threads, and one file needs none at all."""
    meeting = Barrier(2, timeout=60)

    def who(_: int) -> int:
        meeting.wait()
        return get_ident()

    assert set(each(who, range(2), 2)) == set(each(who, range(2), 2))
    assert each(lambda _: get_ident(), [1], 2) == [get_ident()]


def test_work_inside_of_work() -> None:
    """Whoever works in one of the threads may have work of his own done by others."""

    def outer(item: int) -> list[int]:
        return each(lambda inner: 10 * item + inner, range(3), 2)

    assert each(outer, range(4), 2) == [[10 * i, 10 * i + 1, 10 * i + 2] for i in range(4)]


def test_after_a_failure_nothing_goes_on() -> None:
    """When the error arrives, what had begun has ended, and the rest was not begun; the next round is as any other."""
    failed, ended = Event(), []

    def work(item: int) -> int:
        if item == 0:
            failed.set()
            raise ValueError("no")
        failed.wait(60)
        time.sleep(0.001)
        ended.append(item)
        return item

    with pytest.raises(ValueError, match="no"):
        each(work, range(1_000), 2)
    seen = list(ended)
    assert len(seen) < 100
    assert each(lambda item: item, range(5), 2) == [0, 1, 2, 3, 4]
    assert ended == seen


def test_the_error_is_that_of_the_work() -> None:
    """Also if a thread that has taken an item earlier comes to it after another one has failed."""

    def work(item: int) -> int:
        if item >= 40:
            raise OSError("no")
        return item

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(200):
            with pytest.raises(OSError, match="no"):
                each(work, range(60), 8)
    finally:
        sys.setswitchinterval(interval)


def _in_child() -> None:
    os._exit(0 if each(lambda item: item + 1, range(4), 2) == [1, 2, 3, 4] else 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_starts_threads_of_its_own() -> None:
    """The pools of the process it was forked from have no threads there, and would be waited for without end."""
    each(lambda item: item, range(4), 2)
    assert threads._kept
    child = get_context("fork").Process(target=_in_child)
    child.start()
    child.join(60)
    ended = child.exitcode
    child.kill()
    assert ended == 0
