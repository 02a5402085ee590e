"""Several objects of one table, each with work begun at some version, against a model: the set of rows of each one."""

from collections.abc import Callable
from dataclasses import dataclass, field

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from coalesce.errors import CommitConflict
from coalesce.model.rule import RuleRequest, group, keep_all, small
from coalesce.table import removal
from coalesce.table.commit.transaction import Transaction
from coalesce.table.engine import MARK, REMOVALS
from coalesce.table.table import Table, core_of
from tests.support.examples import examples
from tests.table.examples import create, events, opened
from tests.table.stores import MemoryStorage

APPS = ["A", "B", ""]
RULES: list[RuleRequest] = [keep_all(), small("app"), group("app", {"[#few]": ["A", "B"]})]

Rows = frozenset[tuple[int, str]]


@dataclass
class Begun:
    """Work that is staged: who does it, at which version it began, and what it means for a set of rows."""

    table: Table
    transaction: Transaction
    kind: str
    base: int
    adds: Rows = frozenset()
    deletes: frozenset[str] = frozenset()
    target: int = 0
    applies: tuple[str, int] | None = None


@dataclass
class Committed:
    """One version of the model: the rows, and what made it."""

    rows: Rows
    kind: str
    apps: frozenset[str] = field(default_factory=frozenset)


Beginning = Callable[["ConcurrentTransactions"], Begun]


def appends() -> st.SearchStrategy[Beginning]:
    """Appends of rows of some apps, perhaps with a sequence."""
    apps = st.lists(st.sampled_from(APPS), min_size=1, max_size=4)
    applies = st.none() | st.tuples(st.sampled_from(["one job", "another"]), st.integers(0, 3))
    return st.builds(lambda who, a, s: lambda machine: machine.append(who, a, s), st.integers(0, 2), apps, applies)


def deletes() -> st.SearchStrategy[Beginning]:
    """Deletes of one or two apps."""
    apps = st.frozensets(st.sampled_from(APPS), min_size=1, max_size=2)
    return st.builds(lambda who, a: lambda machine: machine.delete(who, a), st.integers(0, 2), apps)


def rollbacks() -> st.SearchStrategy[Beginning]:
    """Rollbacks by a few versions."""
    return st.builds(lambda who, n: lambda machine: machine.rollback(who, n), st.integers(0, 2), st.integers(0, 5))


BEGINNINGS = st.one_of(appends(), deletes(), deletes(), rollbacks())


class ConcurrentTransactions(RuleBasedStateMachine):
    """Begin, commit and read in any order.

    A commit that succeeds must leave exactly what its operation makes of the rows before it, as if the two had come
    one after the other; one that is refused must have had a reason, and must leave everything as it was.
    """

    begun = Bundle("begun")

    @initialize(rule=st.sampled_from(RULES), remove_by=st.sampled_from(REMOVALS))
    def create(self, rule: RuleRequest, remove_by: str) -> None:
        """A table with a row of each app, in shared files or not, and three objects of it."""
        self.storage = MemoryStorage()
        self.remove_by = remove_by
        self.tables = [
            create(self.storage, rule, **{"remove.by": remove_by}),
            opened(self.storage),
            opened(self.storage),
        ]
        self.model = [Committed(frozenset(), "create")]
        self.applied: dict[str, int] = {}
        self.next_id = 0
        self.commit(self.append(0, APPS))

    # --- beginning -----------------------------------------------------------------------------------------------

    def _begin(self, who: int, kind: str, applies: tuple[str, int] | None = None) -> Begun:
        table = self.tables[who]
        transaction = core_of(table).transaction(kind, applies=applies)
        return Begun(table, transaction, kind, table.version, applies=applies)

    def append(self, who: int, apps: list[str], applies: tuple[str, int] | None = None) -> Begun:
        """Write data files."""
        work = self._begin(who, "append", applies)
        ids = list(range(self.next_id, self.next_id + len(apps)))
        self.next_id += len(apps)
        work.transaction.add(core_of(work.table).engines.rows.write(core_of(work.table).snapshot(), events(apps, ids)))
        work.adds = frozenset(zip(ids, apps, strict=True))
        return work

    def delete(self, who: int, apps: frozenset[str]) -> Begun:
        """Rewrite the files that hold these apps' rows and others."""
        work = self._begin(who, "delete")
        snapshot, listed = core_of(work.table).snapshot(), ", ".join(f"'{app}'" for app in sorted(apps))
        predicate = core_of(work.table).bound(f"app IN ({listed})")
        engine = core_of(work.table).engines.rows
        removal.remove(work.transaction, predicate, lambda files, drop: engine.rewrite(snapshot, files, drop))
        work.deletes = apps
        return work

    def rollback(self, who: int, back: int) -> Begun:
        """As `Table.rollback` does it, up to the commit."""
        work = self._begin(who, "rollback")
        work.target = max(0, work.base - back)
        old = core_of(work.table).log.load(work.target)
        work.transaction.exclusive = True
        work.transaction.change(lambda head: removal.rolled_back(head, old))
        work.transaction.replace_manifests(old.manifests)
        return work

    @rule(target=begun, begin=BEGINNINGS)
    def begin(self, begin: Beginning) -> Begun:
        """Begin something, to be committed much later or never."""
        return begin(self)

    # --- committing ----------------------------------------------------------------------------------------------

    @rule(beginnings=st.lists(BEGINNINGS, min_size=2, max_size=3))
    def race(self, beginnings: list[Beginning]) -> None:
        """Begin several things at one version, and commit them one after the other."""
        for work in [begin(self) for begin in beginnings]:
            self.commit(work)

    @rule(work=consumes(begun))
    def commit(self, work: Begun) -> None:
        """Commit what was begun, whatever has happened since."""
        since = self.model[work.base + 1 :]
        done_before = work.applies is not None and self.applied.get(work.applies[0], -1) >= work.applies[1]
        try:
            version = core_of(work.table).commit(work.transaction)
        except CommitConflict:
            assert self._is_justified(work, since), f"{work.kind} begun at {work.base} conflicts with nothing"
            return
        if done_before:
            assert version.number == len(self.model) - 1
            return
        assert version.number == len(self.model)
        head = self.model[-1].rows
        apps = frozenset(app for _, app in work.adds) | work.deletes
        match work.kind:
            case "append":
                rows = head | work.adds
            case "delete":
                rows = frozenset(row for row in head if row[1] not in work.deletes)
            case _:
                rows = self.model[work.target].rows
                assert not since
        if work.applies is not None:
            self.applied[work.applies[0]] = work.applies[1]
        self.model.append(Committed(rows, work.kind, apps))

    def _is_justified(self, work: Begun, since: list[Committed]) -> bool:
        match work.kind:
            case "append":
                return False
            case "delete":
                # Files are shared, so any removal that rewrites may have touched the same ones, and one that marks
                # tuples only if they are the same; of appends, only the same apps'.
                others = ("rollback",) if self.remove_by == MARK else ("delete", "rollback")
                return any(c.kind in others or (c.apps & work.deletes) for c in since)
            case _:
                return bool(since)

    @rule(who=st.integers(0, 2), new=st.sampled_from(RULES))
    def set_rule(self, who: int, new: RuleRequest) -> None:
        """Another rule: no row changes, and nobody else's work is disturbed but a rollback's."""
        self.tables[who].set_rule(new)
        self.model.append(Committed(self.model[-1].rows, "set_rule"))

    # --- reading -------------------------------------------------------------------------------------------------

    @rule(who=st.integers(0, 2), at=st.floats(0, 1))
    def read_any_version(self, who: int, at: float) -> None:
        """Every version ever committed has the rows it always had."""
        number = round(at * (len(self.model) - 1))
        assert rows_of(self.tables[who].at(version=number)) == self.model[number].rows

    @rule(who=st.integers(0, 2), app=st.sampled_from(APPS))
    def read_one_app(self, who: int, app: str) -> None:
        """An object reads the version it is at, whichever files the app's rows are in."""
        table = self.tables[who]
        there = {row for row in self.model[table.version].rows if row[1] == app}
        assert rows_of(table, f"app = '{app}'") == there
        assert table.count(f"app = '{app}'") == len(there)

    @invariant()
    def the_newest_version_is_the_model_s(self) -> None:
        """By number and by rows, counted from metadata."""
        if hasattr(self, "model"):
            newest = opened(self.storage)
            assert newest.version == len(self.model) - 1
            assert newest.count() == len(self.model[-1].rows)

    def teardown(self) -> None:
        """In the end: the rows, and row ids that no two rows share."""
        if not hasattr(self, "model"):
            return
        newest = opened(self.storage)
        assert rows_of(newest) == self.model[-1].rows
        ends = 0
        for file in sorted(newest.files(), key=lambda f: f.first_row_id or 0):
            assert file.first_row_id is not None
            assert file.first_row_id >= ends
            ends = file.first_row_id + file.physical_rows
        assert ends <= newest.state.next_row_id


def rows_of(table: Table, where: str | None = None) -> Rows:
    """The rows, read from the data files; each once."""
    read = table.scan(where, columns=["id", "app"]).to_arrow()
    listed = list(zip(read.column("id").to_pylist(), read.column("app").to_pylist(), strict=True))
    assert len(set(listed)) == len(listed)
    return frozenset(listed)


TestConcurrentTransactions = ConcurrentTransactions.TestCase
TestConcurrentTransactions.settings = settings(max_examples=examples(10), stateful_step_count=20, deadline=None)
