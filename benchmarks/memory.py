"""The most memory that this process and all it has started hold, while something runs."""

import threading
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psutil

_INTERVAL: Final = 0.05
_FORGET_THE_MOST: Final = "5"  # to Linux, in a process's `clear_refs`


class Peak:
    """`with Peak() as peak: …`, then `peak.bytes`. Pages that processes share count for each.

    It looks every 50 ms. Linux knows the most that each process has held, too, so that what is over sooner is seen.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        for process in _family():
            _forget_the_most(process)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()
        self.bytes = max(self.bytes, sum(map(_most, _family())))

    def _watch(self) -> None:
        while True:
            self.bytes = max(self.bytes, sum(map(_held, _family())))
            if self._done.wait(_INTERVAL):
                return


def _family() -> list[psutil.Process]:
    here = psutil.Process()
    return [here, *here.children(recursive=True)]


def _held(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:  # it has ended meanwhile
        return 0


def _forget_the_most(process: psutil.Process) -> None:
    try:
        Path(f"/proc/{process.pid}/clear_refs").write_text(_FORGET_THE_MOST)
    except OSError:  # another system, or it has ended
        return


def _most(process: psutil.Process) -> int:
    try:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
