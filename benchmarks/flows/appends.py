"""Many small appends to one table: how long each takes, and how files and queries grow; then maintenance, and again.

Twice: on a table that nobody looks after until the end, and on one that is compacted after every fifty appends.
"""

from collections.abc import Mapping
from statistics import median
from typing import Final

from benchmarks.engines.engine import NotOffered
from benchmarks.flows.steps import Steps, seconds
from benchmarks.staged import Staged
from benchmarks.workload import Query, Size, Workload

EVERY: Final = 50
_ROUNDS: Final = (2, 6)  # of queries, which have been asked often before


def use(workload: Workload, size: Size, staged: Staged, steps: Steps) -> None:
    """Append, look, append."""
    engine = steps.engine
    steps.notes.versions(engine.versions())
    queries = {query.name: staged.asks(query) for query in workload.asked(size)}
    engine.create("warm", staged.warm)
    for forms in queries.values():
        engine.query(forms[0])
    for number in range(3):
        engine.append(staged.append(number))
    _grow(steps, staged, queries, "left_alone", "")
    _grow(steps, staged, queries, "maintained", "maintained: ")


def _grow(steps: Steps, staged: Staged, queries: Mapping[str, list[Query]], table: str, prefix: str) -> None:
    engine, notes = steps.engine, steps.notes
    with steps.words_for(f"{prefix}append @{staged.appends}"):
        engine.create(table, staged.source)
        took: list[float] = []
        for number in range(staged.appends):
            if number % EVERY == 0:
                steps.turns.step()
            else:
                steps.turns.next()
            took.append(seconds(lambda: engine.append(staged.append(number))))  # noqa: B023 - called at once
            if (number + 1) % EVERY == 0:
                notes.figure(f"{prefix}append @{number + 1}", median(took) * 1e3, "ms")
                took.clear()
                if prefix and not _maintain(steps, f"{prefix}compaction @{number + 1}"):
                    return
                _look(steps, queries, prefix, f" @{number + 1}")
        if not prefix and _maintain(steps, "compaction at the end"):
            _look(steps, queries, "", ", compacted at the end")


def _maintain(steps: Steps, name: str) -> bool:
    steps.turns.next()
    try:
        took = seconds(steps.engine.compact)
    except NotOffered as reason:
        steps.notes.words(name, str(reason))
        return False
    steps.notes.figure(name, took, "s")
    return True


def _look(steps: Steps, queries: Mapping[str, list[Query]], prefix: str, after: str) -> None:
    found = steps.engine.footprint()
    steps.notes.figure(f"{prefix}files{after}", found.files, "files")
    steps.notes.figure(f"{prefix}metadata{after}", found.metadata_bytes / 1024, "KB")
    steps.queries({f"{prefix}{name}{after}": forms for name, forms in queries.items()}, rounds=_ROUNDS, again=1)
