"""Processes that take turns: one works, the others wait, so that what disturbs the machine disturbs all of them alike.

A process asks for its next turn by a line, in a pipe, with the number of the step that it has come to, and waits for a
line in another. Whoever hands out turns gives them to those that are furthest behind, one after the other. It needs
nothing but Python, since some engines live in an environment of their own.

Whoever waits is stopped, with his JVM. What he has put off, such as to compile what he has run, he does in his own next
turn, and not in that of whoever comes behind him, who was found to be slowed down by half.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final, Self

_PIPES: Final = "COALESCE_BENCHMARKS_TURNS"
_GUARD: Final = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    groups ^= {int(line)}
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
"""


class Turns:
    """The end of a process that works. Without anybody who hands out turns, it is always its turn."""

    def __init__(self) -> None:
        self._step = 0
        text = os.environ.pop(_PIPES, None)
        self._pipes: tuple[int, int] | None = None
        if text is not None:
            asking, granted = json.loads(text)
            for pipe in (asking, granted):  # what this process starts, such as a JVM, is not to keep them open
                os.set_inheritable(pipe, False)
            self._pipes = asking, granted

    def step(self) -> None:
        """Wait until everybody has come to this step, and for the turn."""
        self._step += 1
        self.next()

    def next(self) -> None:
        """Let the others have their turns, and wait for the next one."""
        if self._pipes is not None:
            asking, granted = self._pipes
            os.write(asking, b"%d\n" % self._step)
            if not os.read(granted, 1):
                raise SystemExit("nobody hands out turns any more")


class Guard:
    """A process that ends groups of others when this one is gone, also if it was killed: stopped, they would stay."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", _GUARD]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def mind(self, group: int) -> None:
        """From now on or, if it is said again, no more."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{group}\n")
        self._process.stdin.flush()


class Worker:
    """A process that is started at its first turn; it ends by itself, or when all its turns together took too long."""

    def __init__(self, command: Sequence[str], *, directory: Path, log: Path, seconds: float) -> None:
        self.step = 0
        self.failed: str | None = None
        self._command, self._directory, self._log, self._left = command, directory, log, seconds
        self._limit = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._asked = self._grants = -1

    def turn(self, guard: Guard) -> bool:
        """One turn; whether the process wants another. Until then it is stopped."""
        begun = time.monotonic()
        if self._process is None:
            self._process = self._start()
            guard.mind(self._process.pid)
        else:
            self._signal(signal.SIGCONT)
            with suppress(BrokenPipeError):  # it was killed while it waited; what it asked for last ends below
                os.write(self._grants, b"\n")
        ready, _, _ = select.select([self._asked], [], [], max(0.0, self._left))
        self._left -= time.monotonic() - begun
        if not ready:
            self.failed = f"not finished in {self._limit / 60:.0f} minutes"
            return False
        asked = os.read(self._asked, 100)
        if asked:
            self._signal(signal.SIGSTOP)
            self.step = int(asked)
            return True
        code = self._process.wait()
        if code != 0:
            lines = [line for line in self._log.read_text().splitlines() if line.strip() and not line.startswith(" ")]
            self.failed = f"failed: {lines[-1] if lines else f'exit code {code}'}"[:300]
        return False

    def end(self, guard: Guard) -> None:
        """The process and its JVM, if they still run: they have a session of their own."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._process.wait()
            guard.mind(self._process.pid)
            for pipe in (self._asked, self._grants):
                os.close(pipe)
            self._process = None

    def _signal(self, number: int) -> None:
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def _start(self) -> subprocess.Popen[bytes]:
        self._asked, asking = os.pipe()
        granted, self._grants = os.pipe()
        environment = {**os.environ, _PIPES: json.dumps([asking, granted])}
        with self._log.open("a") as output:
            process = subprocess.Popen(
                self._command,
                cwd=self._directory,
                env=environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
                pass_fds=(asking, granted),
            )
        for pipe in (asking, granted):
            os.close(pipe)
        return process


def hand_out(workers: Mapping[str, Worker]) -> dict[str, str]:
    """Let them take turns until all have ended, each time beginning with another; what went wrong, by name."""
    working = list(workers.values())
    with Guard() as guard:
        try:
            for number in count():
                if not working:
                    break
                step = min(worker.step for worker in working)
                behind = [worker for worker in working if worker.step == step]
                first = number % len(behind)
                for worker in [*behind[first:], *behind[:first]]:
                    if not worker.turn(guard):
                        worker.end(guard)
                        working.remove(worker)
        finally:
            for worker in workers.values():
                worker.end(guard)
    return {name: worker.failed for name, worker in workers.items() if worker.failed is not None}
