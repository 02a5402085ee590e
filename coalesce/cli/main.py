"""Where the command `coalesce` starts: before anything that takes time is imported, Ctrl-C is prepared for."""

import signal
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 1 if it failed, 2 if the command line is wrong.

    Most verbs only read, so Ctrl-C may end them at once, as it ends `cat`; during half a second of imports, and inside
    a library's threads, Python would answer it with a stack trace. A verb that writes takes it back before it begins.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # ignored under nohup, or handled by the caller
        return _run(argv)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        return _run(argv)
    finally:
        signal.signal(signal.SIGINT, before)


def _run(argv: Sequence[str] | None) -> int:
    try:
        from coalesce.cli.command import run  # here, because of what it imports
    except ImportError as broken:  # another distribution's files among ours, or a dependency that is gone
        sys.stderr.write(f"coalesce: {broken}\n")
        return 1
    return run(argv)
