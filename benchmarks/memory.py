"""The most memory that this process and all it has started hold at once, while something runs."""

import threading
from types import TracebackType
from typing import Final, Self

import psutil

_INTERVAL: Final = 0.05


class Peak:
    """Looks every 50 ms: `with Peak() as peak: …`, then `peak.bytes`. Pages that processes share count for each."""

    def __init__(self) -> None:
        self.bytes = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        here = psutil.Process()
        while True:
            self.bytes = max(self.bytes, _held(here))
            if self._done.wait(_INTERVAL):
                return


def _held(process: psutil.Process) -> int:
    total = 0
    for one in [process, *process.children(recursive=True)]:
        try:
            total += one.memory_info().rss
        except psutil.Error:  # it has ended meanwhile
            continue
    return total
