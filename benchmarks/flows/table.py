"""A table is written, asked, changed, compacted, renamed and laid out otherwise. In several processes: what is planned
cold must not be in the memory of the process that wrote it.
"""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from benchmarks.engines.engine import Engine, NotOffered
from benchmarks.findings import MEMORY
from benchmarks.flows.steps import Steps, rotating, seconds
from benchmarks.memory import Peak
from benchmarks.staged import Staged, Target
from benchmarks.workload import Query, Size, Workload

MAIN: Final = "main"
_PLANS: Final = 7
_LOOKS: Final = (6, 12)  # rounds of queries after changes: asked often before, but not of files that were changed
_AGAIN: Final = ", asked before"
_LIKE_IT: Final = tuple(f"again_{number}" for number in range(12))
_AGGREGATES: Final = (
    ("count", None), ("sum", "id"), ("sum", "member"),
    ("max", "value"), ("min", "kind"), ("max", "kind"), ("max", "session"), ("min", "ts"), ("max", "ts"),
)  # fmt: skip
CHECKED: Final = Query(name="checked", aggregates=_AGGREGATES)
EVERYTHING: Final = Query(name="everything", aggregates=_AGGREGATES, by="app")


class Often(NamedTuple):
    """How often something is done: `most` times in so many `seconds`; `few` times, unless these take `far_too_many`."""

    most: int
    seconds: float
    few: int
    far_too_many: float

    def goes_on(self, number: int, spent: float) -> bool:
        """Whether it is done once more, after so many times that took so many seconds."""
        return number < self.most and (spent < self.seconds or (number < self.few and spent < self.far_too_many))


WARM: Final = Often(5, 8.0, 2, 30.0)  # so long does a JVM compile
WRITES: Final = Often(len(_LIKE_IT), 10.0, 3, 60.0)  # and the table that is used


def write(_: Workload, size: Size, staged: Staged, steps: Steps) -> None:
    """The first process: the table, and others like it."""
    engine, notes = steps.engine, steps.notes
    notes.versions(engine.versions())
    engine.create("warm_write", staged.warm)
    steps.turns.step()
    spent = 0.0
    for number in range(WARM.most):
        if WARM.goes_on(number, spent):
            spent += seconds(partial(engine.create, f"warm_{number}", staged.source))
    spent = 0.0
    # The table that is used is the last: by then everyone has written as much.
    for number, name in enumerate([*_LIKE_IT, MAIN]):
        if name != MAIN and not WRITES.goes_on(number, spent):
            continue
        steps.turns.step()
        with Peak() if "memory" in size.measures else nullcontext() as peak:
            took = seconds(partial(engine.create, name, staged.source))
        spent += took
        notes.figure("write", took, "s")
        if peak is not None:
            notes.figure(f"write: {MEMORY}", peak.bytes / 2**20, "MB")
        (steps.engine.place / f"{name}.written").touch()
    steps.footprint()


def use(workload: Workload, size: Size, staged: Staged, steps: Steps) -> None:
    """The other process, or several: everything else."""
    engine = steps.engine
    queries = [query.filled(staged.values) for query in workload.asked(size)]
    steps.turns.step()
    _warm_up(engine, size, staged, queries, steps.process)
    engine.open(_used(steps))
    warm = _plans(engine, staged, "again" in size.measures) if "plan" in size.measures else {}
    if "queries" in size.measures:
        asked = {query.name: staged.asks(query) for query in workload.asked(size)}
        if "again" in size.measures:
            asked[f"{queries[0].name}{_AGAIN}"] = queries[:1]
        steps.queries(asked, beside=warm)
    else:
        steps.in_turns(warm, _PLANS)
    if "plan" in size.measures:
        _plan_cold(steps, staged)
    history = _History(steps)
    if _change(steps, size, staged, history) and "queries" in size.measures:
        _look(steps, staged, workload.asked(size), ", after changes")
    if "compact" in size.measures:
        _compact(steps, staged, workload.asked(size), history)
    if "append" in size.measures:
        sources = [staged.change("merge-day", number) for number in range(size.repeats + 1)]
        done = steps.each("append of 1,000 rows", [partial(engine.append, source) for source in sources])
        history.goes_on("append", done)
    if "rename" in size.measures:
        _rename(steps, queries)
    if "spec" in size.measures:
        _change_spec(steps, staged)


def _used(steps: Steps) -> str:
    """The table that is used; each process has one that no other has changed."""
    name = _LIKE_IT[-steps.process] if steps.process else MAIN
    if not (steps.engine.place / f"{name}.written").exists():
        raise ValueError(f"there is no table for process {steps.process + 1}: writing takes too long to be repeated")
    return name


def _warm_up(engine: Engine, size: Size, staged: Staged, queries: list[Query], process: int) -> None:
    """All that will be measured, once, on a few rows: no engine's classes are loaded while the clock runs."""
    engine.create(f"warm_use_{process}", staged.warm)
    first = {kind: targets[0] for kind, targets in staged.changes.items()}
    first["merge-day"] = first["merge"]
    works: list[Callable[[], object]] = [partial(engine.plan, first["update"].where)]
    works += [partial(engine.query, query) for query in queries]
    changes = _changes(engine, staged).items()
    works += [partial(change, 0, first[kind]) for kind, (_, change) in changes if kind in size.measures]
    append = partial(engine.append, staged.warm)
    later: dict[str, list[Callable[[], object]]] = {
        "compact": [append, engine.compact, engine.footprint],
        "append": [append],
        "rename": [partial(engine.rename, "app", "tenant"), partial(engine.rename, "tenant", "app")],
        "spec": [partial(engine.change_spec, "kind"), append],
    }
    works += [work for kind, several in later.items() if kind in size.measures for work in several]
    for work in works:
        try:
            work()
        except NotOffered:
            continue
        except Exception:  # noqa: BLE001 - it will fail again where it is measured, and be told there
            continue


def _plan_cold(steps: Steps, staged: Staged) -> None:
    """The tables that are like it, which this process has not seen yet: from opening one to its first plan."""

    def first(name: str) -> None:
        steps.engine.open(name)
        steps.engine.plan(planned)

    used, planned = _used(steps), _planned(staged.values)
    steps.engine.prepare(planned)
    others = [name for name in _LIKE_IT if name != used and (steps.engine.place / f"{name}.written").exists()]
    steps.each("plan, cold", [partial(first, name) for name in others], unmeasured=0)
    steps.engine.open(used)


def _plans(engine: Engine, staged: Staged, again: bool) -> dict[str, Callable[[], object]]:
    """Plans of conditions that nobody has asked before and, where that is asked for, of one that was."""
    forms = list(dict.fromkeys(_planned(values) for values in (staged.values, *staged.others)))
    for form in forms:
        engine.prepare(form)
    known: dict[str, Callable[[], object]] = {f"plan, warm{_AGAIN}": partial(engine.plan, forms[0])} if again else {}
    return {"plan, warm": rotating(engine.plan, forms), **known}


def _planned(values: Mapping[str, str]) -> str:
    return "dt = {day} AND app = {small}".format_map(dict(values))


class _History:
    """What has become of a table. Whoever did the same with it has the same rows, all of them."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._done: list[str] = []

    def goes_on(self, kind: str, times: int) -> None:
        """Something was done so often; the rows afterwards are written down, and nothing is timed."""
        if times:
            self._done.append(kind if times == 1 else f"{kind} ×{times}")
            self._steps.check(replace(EVERYTHING, name=f"everything after {', '.join(self._done)}"))


def _change(steps: Steps, size: Size, staged: Staged, history: _History) -> bool:
    """Changes of each kind, every one on a tenant or rows of its own, and what is there afterwards.

    Whether there was any.
    """
    changed = False
    for kind, (name, change) in _changes(steps.engine, staged).items():
        if kind in size.measures:
            targets = staged.changes.get(kind, staged.changes["merge"])
            done = steps.each(name, [partial(change, i, target) for i, target in enumerate(targets)])
            if done > 1:
                apps = ", ".join(f"'{target.app}'" for target in targets[:2])
                where = staged.values["merged"] if kind == "merge-day" else f"app IN ({apps})"
                steps.check(replace(CHECKED, name=f"after {name}", where=where))
                if kind == "merge-day":
                    steps.check(replace(CHECKED, name=f"rows it updates, after {name}", where=staged.values["updated"]))
            history.goes_on(kind, done)
            changed = changed or done > 0
    return changed


def _changes(engine: Engine, staged: Staged) -> dict[str, tuple[str, Callable[[int, Target], object]]]:
    """What each kind of change is called, and how the engine does it."""
    return {
        "overwrite": ("overwrite one small partition", lambda i, t: engine.overwrite(staged.change("overwrite", i), t)),
        "delete-tenant": ("delete one tenant everywhere", lambda _, t: engine.delete_tenant(t.app)),
        "merge": ("MERGE of 1,000 rows of a tenant", lambda i, _: engine.merge(staged.change("merge", i))),
        "merge-day": ("MERGE of 1,000 rows of a day", lambda i, _: engine.merge(staged.change("merge-day", i))),
        "update": (
            "UPDATE of half a tenant's day",
            lambda _, t: engine.update("value", "value + 1", f"{t.where} AND member < 500000"),
        ),
        "delete-rows": (
            "DELETE of a third of a tenant's day",
            lambda _, t: engine.delete(f"{t.where} AND member < 333333"),
        ),
    }


def _compact(steps: Steps, staged: Staged, queries: list[Query], history: _History) -> None:
    if steps.once("compaction", steps.engine.compact, "s"):
        history.goes_on("compaction", 1)
        steps.footprint(", compacted")
        _look(steps, staged, queries, ", compacted")


def _look(steps: Steps, staged: Staged, queries: list[Query], after: str) -> None:
    """What has been put off when rows were changed is paid for here: the first query again, and one of everything."""
    looked = [queries[0], *(query for query in queries[1:] if query.where is None and query.by is not None)]
    own = [f"{query.name}{after}" for query in looked if query.where is None]
    steps.queries({f"{query.name}{after}": staged.asks(query) for query in looked}, rounds=_LOOKS, own=own, again=1)


def _rename(steps: Steps, queries: list[Query]) -> None:
    """There and back, so that the table is as before; in between, the new name is asked for once."""
    engine = steps.engine
    for number in range(steps.repeats + 1):
        if not steps.once("rename of a partition column", partial(engine.rename, "app", "tenant")):
            return
        if number == 0:
            point = queries[0]
            steps.check(replace(point, name="after the rename", where=(point.where or "").replace("app =", "tenant =")))
        if not steps.once("rename of a partition column", partial(engine.rename, "tenant", "app")):
            return


def _change_spec(steps: Steps, staged: Staged) -> None:
    """Of two tables that are like it, then of the table itself."""
    engine, used = steps.engine, _used(steps)
    for name in [*_LIKE_IT[2 * steps.process :][:2], used]:
        if not (engine.place / f"{name}.written").exists():
            continue
        engine.open(name)
        if not steps.once("change of layout", partial(engine.change_spec, "kind")):
            engine.open(used)
            return
    if steps.once("append after it", partial(engine.append, staged.change("merge-day", 1))):
        steps.check(replace(CHECKED, name="after the change of layout", where=staged.changes["overwrite"][0].where))
