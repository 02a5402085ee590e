"""Two processes that share the tests: each takes the next file that the other has not taken.

A plugin of pytest, loaded by `python -m tests`. One process alone has the Spark session that tests share; it runs those
tests first and then helps with the others, from the end of the list. The other begins with tests that start a JVM of
their own, which take longest.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

TURNS: Final = "COALESCE_TURNS"  # the directory in which files are claimed
SHARED: Final = "COALESCE_HAS_SESSION"  # set for the process that has the shared session


@dataclass(frozen=True)
class Turn:
    """The tests of one file that go together: those that share the session, or the others."""

    name: str
    shared: bool
    starts_spark: bool
    items: tuple[pytest.Item, ...]


@dataclass(frozen=True)
class Turns:
    """What is left to take, and by whom."""

    directory: Path
    has_session: bool

    def taken(self, items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
        """The tests of this process, in order; a file is claimed when the one before it is at its last test."""
        for turn in self.ordered(items):
            try:
                (self.directory / turn.name).touch(exist_ok=False)
            except FileExistsError:
                continue
            yield from turn.items

    def ordered(self, items: Sequence[pytest.Item]) -> list[Turn]:
        """All files that this process may take, in the order it would like them."""
        by_file: dict[tuple[Path, bool], list[pytest.Item]] = {}
        for item in items:
            by_file.setdefault((item.path, item.get_closest_marker("shared") is not None), []).append(item)
        turns = [_turn(*key, of_file) for key, of_file in by_file.items()]
        shared = [turn for turn in turns if turn.shared]
        others = sorted((turn for turn in turns if not turn.shared), key=lambda turn: not turn.starts_spark)
        return [*shared, *reversed(others)] if self.has_session else others


def _turn(path: Path, shared: bool, items: list[pytest.Item]) -> Turn:
    return Turn(
        name=str(path).replace(os.sep, "|") + ("" if shared else "|others"),
        shared=shared,
        starts_spark=any(item.get_closest_marker("spark") for item in items),
        items=tuple(items),
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """As pytest's own loop, over the tests that this process takes."""
    directory = os.environ.get(TURNS)
    if directory is None or session.config.option.collectonly:
        return None
    if session.testsfailed and not session.config.option.continue_on_collection_errors:
        raise session.Interrupted(f"{session.testsfailed} errors during collection")
    taken = Turns(Path(directory), SHARED in os.environ).taken(session.items)
    item = next(taken, None)
    while item is not None:
        following = next(taken, None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        item = following
    return True
