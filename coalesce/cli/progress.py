"""How far a long job is: one line on standard error that is written over, if somebody is looking at a terminal."""

import sys
import time
from types import TracebackType
from typing import Final, Self, TextIO

from coalesce.cli.text import number

_BAR: Final = 30  # columns
_EVERY: Final = 0.1  # seconds


class Progress:
    """To be called with how much is done, and of how much. Used in a `with`, it leaves no trace of itself.

    >>> with Progress("files deleted") as progress:
    ...     progress(1, 2)
    """

    def __init__(self, unit: str, stream: TextIO | None = None) -> None:
        self._unit = unit
        self._stream: TextIO | None = sys.stderr if stream is None else stream  # None if it was closed
        self._shown = ""
        self._last = 0.0

    def __call__(self, done: int, total: int) -> None:
        """Show it, unless that was done a moment ago."""
        now = time.monotonic()
        if now - self._last >= _EVERY or done == total:
            self._last = now
            filled = _BAR * done // total if total > 0 else _BAR
            share = f"{100 * done // total if total > 0 else 100:3d}%"
            self._write(
                f"{share} [{'#' * filled}{'.' * (_BAR - filled)}] {number(done)} of {number(total)} {self._unit}"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._write("")

    def _write(self, text: str) -> None:
        stream = self._stream
        try:
            if stream is None or not stream.isatty():
                return
            stream.write(f"\r{text}{' ' * (len(self._shown) - len(text))}{'' if text else chr(13)}")
            stream.flush()
        except (OSError, ValueError):  # nobody can see it
            self._stream = None
        self._shown = text
