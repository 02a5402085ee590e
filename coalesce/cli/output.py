"""Standard output and standard error as they are: of any encoding, full, closed, or with no reader left."""

import codecs
import io
import os
import sys
from typing import TextIO

from coalesce.errors import StorageError

# What we write that an ASCII terminal has other signs for.
_PLAIN = {"…": "...", "–": "-", "→": "->", "×": "x", "±": "+-"}
_ESCAPE = "coalesce.escape"


class ReaderGone(Exception):
    """`coalesce partitions events | head`: the reader has what it wanted."""


def prepare() -> None:
    """Let no character be a reason to fail: what a stream's encoding does not have is escaped."""
    codecs.register_error(_ESCAPE, _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ESCAPE)


def shows(text: str) -> bool:
    """Whether standard output can show the text as it is."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def tell(text: str = "", *, end: str = "\n") -> None:
    """Write to standard output, at once; an answer that did not arrive is a failure, or `ReaderGone`."""
    out: TextIO | None = sys.stdout  # None if it was closed when Python started
    if out is None:
        raise StorageError("could not write to standard output: it is closed.")
    try:
        out.write(text + end)
        out.flush()
    except OSError as error:
        _abandon(out)
        if isinstance(error, BrokenPipeError):
            raise ReaderGone from error
        raise StorageError(f"could not write to standard output: {error.strerror}.") from error


def complain(text: str) -> None:
    """Write a message to standard error. If that is not possible, there is no one left to tell."""
    err: TextIO | None = sys.stderr
    if err is None:
        return
    try:
        err.write(f"{text}\n")
        err.flush()
    except OSError:
        _abandon(err)


def _abandon(stream: TextIO) -> None:
    """Let what is left in the stream's buffer go nowhere: Python would try again at exit, and complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return "".join(_PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in letters), error.end
