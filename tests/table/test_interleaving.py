"""Operations that others interrupt between any two requests to the store, against rows in memory.

Whatever came in between, every version holds what its operation makes of the version before it, as if they had come one
after the other; an operation that is refused has left nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import hypothesis.strategies as st
from hypothesis import example, given, settings

from coalesce.errors import CommitConflict, SpecError
from coalesce.model.rule import RuleRequest, group, keep_all, small
from coalesce.model.spec import Spec
from coalesce.model.transforms import Bucket, apply
from coalesce.model.types import INT64
from coalesce.table.engine import AUTO, REMOVALS
from coalesce.table.table import Table
from tests.support.examples import examples
from tests.table.examples import create, events, opened
from tests.table.stores import MemoryStorage

APPS = ["A", "B", "", "C"]
RULES: list[RuleRequest] = [keep_all(), small("app"), group("app", {"[#few]": ["A", "B"]})]
BUCKET = "bucket(3, id)"
KINDS = [
    *("append", "append", "delete", "delete below", "overwrite", "overwrite_partitions", "drop_partition"),
    *("set_rule", "evolve", "compact", "rollback", "upsert", "upsert"),
]

Rows = frozenset[tuple[int, str]]
Effect = Callable[[list[Rows]], Rows]  # from the rows of all versions before to those of this one


@dataclass(frozen=True)
class Step:
    """An operation on some apps, and what interrupts it: before which of its requests, counted from 1."""

    kind: str
    apps: tuple[str, ...] = ("A",)
    number: int = 0
    interruptions: tuple[tuple[int, "Step"], ...] = ()


def steps(depth: int) -> st.SearchStrategy[Step]:
    """Steps that are interrupted by others, which are interrupted in turn."""
    inner = st.tuples(st.integers(1, 24), steps(depth - 1)) if depth else st.nothing()
    return st.builds(
        Step,
        st.sampled_from(KINDS),
        st.lists(st.sampled_from(APPS), min_size=1, max_size=3).map(tuple),
        st.integers(0, 5),
        st.lists(inner, max_size=2 if depth else 0, unique_by=lambda pair: pair[0]).map(tuple),
    )


@dataclass
class Frame:
    """An operation under way: how many requests it has made, what is still to interrupt it, the ids of its new rows."""

    pending: dict[int, Step]
    requests: int = 0
    ids: set[int] = field(default_factory=set)


class Interleaved(MemoryStorage):
    """A store whose requests let others work first."""

    def __init__(self, run: Callable[[Step], None]) -> None:
        super().__init__()
        self.run = run
        self.frames: list[Frame] = []

    def _called(self, method: str, path: str) -> None:
        super()._called(method, path)
        with self._lock:
            if not self.frames:
                return
            frame = self.frames[-1]
            frame.requests += 1
            due = frame.pending.pop(frame.requests, None)
        if due is not None:
            self.run(due)


@dataclass
class World:
    """A table, an object of it for each depth of interruption, and what each version has done."""

    storage: Interleaved = field(init=False)
    tables: list[Table] = field(init=False)
    effects: dict[int, Effect] = field(default_factory=dict)
    next_id: int = 0
    remove_by: str = AUTO

    def __post_init__(self) -> None:
        self.storage = Interleaved(self.run)
        first = create(self.storage, small("app"), **{"remove.by": self.remove_by})
        self.tables = [first, *(opened(self.storage) for _ in range(3))]

    def run(self, step: Step) -> None:
        """Perform a step, with all that interrupts it."""
        table = self.tables[len(self.storage.frames)]
        self.storage.frames.append(Frame(dict(step.interruptions)))
        try:
            self.perform(table, step)
        except CommitConflict:
            assert step.kind != "append"  # nobody changes the columns here
        except SpecError:
            assert step.kind == "evolve"  # another has added or dropped the field meanwhile
        finally:
            self.storage.frames.pop()

    def fresh(self, apps: tuple[str, ...]) -> list[tuple[int, str]]:
        """New rows, one for each app."""
        self.next_id += len(apps)
        rows = list(zip(range(self.next_id - len(apps), self.next_id), apps, strict=True))
        self.storage.frames[-1].ids.update(i for i, _ in rows)
        return rows

    def under_way(self) -> set[int]:
        """The ids of rows that interrupted operations will bring: no upsert finds them, nor do they find its rows."""
        return set().union(*(frame.ids for frame in self.storage.frames))

    def perform(self, table: Table, step: Step) -> None:
        """The operation, and what it means for the rows of the version it makes."""
        apps = step.apps
        match step.kind:
            case "append":
                rows = self.fresh(apps)
                result = table.append(events([a for _, a in rows], [i for i, _ in rows]))
                self.effects[result.version] = lambda past: past[-1].union(rows)
            case "delete":
                result = table.delete(f"app IN ({', '.join(repr(a) for a in apps)})")
                self.effects[result.version] = lambda past: without(past[-1], apps)
            case "delete below":
                bound = step.number * 2
                result = table.delete(f"id < {bound}")
                self.effects[result.version] = lambda past: frozenset(r for r in past[-1] if r[0] >= bound)
            case "overwrite":
                rows = self.fresh(apps[:1] * 2)
                result = table.overwrite(events(apps[0], [i for i, _ in rows]), f"app = '{apps[0]}'")
                self.effects[result.version] = lambda past: without(past[-1], apps[:1]).union(rows)
            case "overwrite_partitions":
                rows = self.fresh(apps)
                result = table.overwrite_partitions(events([a for _, a in rows], [i for i, _ in rows]))
                # Partitions of the spec it has seen, which may not be the newest one any more.
                (spec_id,) = {f.spec_id for f in table.files(f"id = {rows[-1][0]}")}
                bucketed = has_bucket(table.state.spec_by_id(spec_id))
                gone = {partition(row, bucketed) for row in rows}
                self.effects[result.version] = lambda past: frozenset(
                    row for row in past[-1] if partition(row, bucketed) not in gone
                ).union(rows)
            case "upsert":
                chosen = {(step.number * 2 + place) % (self.next_id + 1): app for place, app in enumerate(apps)}
                taken = self.under_way()
                by_id = {i: app for i, app in chosen.items() if i not in taken} or dict(self.fresh(apps))
                self.next_id = max(self.next_id, max(by_id) + 1)
                result = table.upsert(events(list(by_id.values()), list(by_id)), ["id"])
                self.effects[result.version] = lambda past: frozenset(
                    row for row in past[-1] if row[0] not in by_id
                ).union(by_id.items())
            case "drop_partition":
                result = table.drop_partition(app=apps[0])
                self.effects[result.version] = lambda past: without(past[-1], apps[:1])
            case "set_rule":
                self.effects[table.set_rule(RULES[step.number % 3]).version] = unchanged
            case "evolve":
                dropped = has_bucket(table.refresh().state.spec)
                result = table.evolve(drop=BUCKET) if dropped else table.evolve(add=BUCKET)
                self.effects[result.version] = unchanged
            case "compact":
                for done in table.compact_steps(step_bytes=1):
                    if done.files_before:  # it has not given way
                        self.effects[done.version] = unchanged
            case "rollback":
                target = max(0, table.refresh().version - step.number)
                self.effects[table.rollback(target).version] = lambda past: past[target]

    def check(self) -> None:
        """Every version is what its operation made of the one before, and nothing is left behind."""
        table = opened(self.storage)
        past: list[Rows] = [frozenset()]
        assert sorted(self.effects) == list(range(1, table.version + 1))
        for number in range(1, table.version + 1):
            past.append(self.effects[number](past))
            then = table.at(version=number)
            read = then.scan(columns=["id", "app"]).to_arrow()
            rows = list(zip(read.column("id").to_pylist(), read.column("app").to_pylist(), strict=True))
            assert len(set(rows)) == len(rows), then.state.operation
            assert frozenset(rows) == past[-1], then.state.operation
            assert then.count() == len(rows)
        named = {f.path for n in range(table.version + 1) for f in table.at(version=n).files()}
        assert {f.path for f in self.storage.list("data")} == named


def without(rows: Rows, apps: tuple[str, ...]) -> Rows:
    """The rows of other apps."""
    return frozenset(row for row in rows if row[1] not in apps)


def unchanged(past: list[Rows]) -> Rows:
    """The rows of the version before."""
    return past[-1]


def has_bucket(spec: Spec) -> bool:
    """Whether the spec is the one that `evolve` turns on and off."""
    return any(isinstance(f.transform, Bucket) for f in spec.fields)


def partition(row: tuple[int, str], bucketed: bool) -> tuple[object, ...]:
    """The logical partition of a row."""
    return (row[1], apply(Bucket(3), INT64, row[0])) if bucketed else (row[1],)


APPENDED = Step("append", ("A", "B", ""))


@settings(max_examples=examples(25))
@given(st.lists(steps(2), min_size=1, max_size=4), st.sampled_from(REMOVALS))
@example([Step("delete", interruptions=tuple((n, Step("append", ("B", "C"))) for n in range(1, 24, 3)))], "auto")
@example(
    [Step("overwrite", interruptions=((n, Step("set_rule", number=2)), (n + 1, APPENDED))) for n in range(1, 12)],
    "auto",
)
@example(
    [Step("set_rule"), Step("compact", interruptions=tuple((n, Step("delete", ("B",))) for n in (6, 9, 14)))], "auto"
)
@example([Step("overwrite_partitions", ("A", "B"), interruptions=((n, Step("evolve")),)) for n in range(1, 12)], "auto")
@example([Step("upsert", ("A", "C"), interruptions=((n, Step("upsert", ("B", "A"))),)) for n in range(1, 24)], "mark")
@example([Step("upsert", ("A", "B"), 1, ((n, Step("compact")), (n + 2, APPENDED))) for n in range(1, 20, 2)], "auto")
@example([Step("upsert", ("B",), 1, ((n, Step("rollback", number=n % 3)),)) for n in range(1, 16)], "mark")
@example([Step("rollback", number=1, interruptions=((n, APPENDED),)) for n in range(1, 9)], "auto")
@example([Step("append", ("A", "A"), interruptions=((1, Step("upsert", number=2)),))], "auto")
def test_every_version_is_what_its_operation_made_of_the_one_before(begun: list[Step], remove_by: str) -> None:
    """Operations of several objects of one table, one inside the other, in any place."""
    world = World(remove_by=remove_by)
    for step in (APPENDED, *begun):
        world.run(step)
    world.check()
