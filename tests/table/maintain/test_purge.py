"""Dead rows leave the files: when it is worth it, when it is time, when it is asked for; and never anything else."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coalesce
from coalesce.arrow.engine import ArrowEngine
from coalesce.arrow.read import open_file
from coalesce.errors import InvalidArgument, PredicateError
from coalesce.model.datafile import DataFile
from coalesce.table.commit.changes import Follower
from coalesce.table.commit.manifests import Manifests
from coalesce.table.engine import Engines, Snapshot
from coalesce.table.layout import Arrangement
from coalesce.table.maintain.worth import DEAD, OLD
from coalesce.table.table import Table, core_of
from tests.checker import check_files
from tests.support.examples import examples
from tests.table.examples import DAY, create, events, ids, opened
from tests.table.maintain.aging import age_on_disk
from tests.table.stores import MemoryStorage

APPS = "ABCDE"
MONTH = 30 * 24 * 60 * 60 * 1000


Properties = Mapping[str, str]


def shared(each: int = 4, days: Sequence[date] = (DAY,), properties: Properties = MappingProxyType({})) -> Table:
    """A file for each day in which five apps share; removing one of them leaves its rows there."""
    table = create(MemoryStorage(), coalesce.small("app", below="1GB"))
    table.set_properties({"remove.by": "mark", **properties})
    for number, day in enumerate(days):
        first = 100 * number
        rows = events([app for app in APPS for _ in range(each)], range(first, first + each * len(APPS)))
        table.append(rows.set_column(0, "dt", pa.array([day] * len(rows), pa.date32())))
    return table


def marked(properties: Properties = MappingProxyType({})) -> Table:
    """The same with a fifth of it dead."""
    table = shared(properties=properties)
    table.drop_partition(app="B")
    assert table.state.dead_rows == 4
    return table


def lineage(table: Table) -> dict[int, tuple[int, int]]:
    """The id and the version of every row, by its number."""
    found: dict[int, tuple[int, int]] = {}
    for entry in table.files():
        with open_file(core_of(table).storage, entry, table.state) as file:
            rows, own = file.read([table.schema.field("id")], range(len(file.group_rows))), file.lineage()
            assert own is not None
            pairs = zip(*(column.to_pylist() for column in own.columns), strict=True)
            found |= zip(rows.column("id").to_pylist(), pairs, strict=True)
    return found


def is_clean(table: Table) -> bool:
    """Whether no entry has dead rows, and every entry says of its file what is so."""
    check_files(core_of(table).storage, table.state, table.files())
    dead = [file for file in table.files() if file.dead]
    assert (table.state.dead_rows == 0) == (not dead) == ("deadTuples" not in table.state.reader_features)
    return not dead


# --- compaction ----------------------------------------------------------------------------------------------------


def test_compaction_writes_files_again_that_are_too_dead() -> None:
    """One file, nothing to merge it with: a fifth of it is dead, and it is written again. Once."""
    table = marked()
    before = lineage(table)
    dry = table.compact(dry_run=True)
    assert (dry.files_before, dry.reasons, dry.rows) == (1, {DEAD: 1}, 16)
    assert dry.bytes_written < dry.bytes_moved
    done = table.compact()
    assert (done.files_before, done.files_after, done.rows, done.reasons) == (1, 1, 16, {DEAD: 1})
    assert table.state.operation == "compact"
    assert table.state.summary["rows_purged"] == 4
    assert (table.state.summary["rows_added"], table.state.summary["rows_removed"]) == (0, 0)
    assert is_clean(table)
    assert lineage(table) == before
    assert table.compact().files_before == 0
    assert table.compact(dry_run=True).files_before == 0


def test_a_little_that_is_dead_stays() -> None:
    """A tenth of a file may be dead, or as much as the table says."""
    table = marked({"purge.share": "0.2"})
    assert table.compact().files_before == 0
    table.set_properties({"purge.share": "0.19"})
    assert table.compact().files_before == 1
    exactly = shared(2, properties={"purge.share": "0"})
    assert exactly.compact().files_before == 0
    exactly.drop_partition(app="A")
    assert exactly.compact().reasons == {DEAD: 1}


def test_what_was_removed_long_ago_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little it is; and never, if the table does not say after how long."""
    table = marked({"purge.share": "1"})
    now = table.state.timestamp_ms
    for days, found in ((29, 0), (31, 1)):
        table.set_properties({"purge.age": "30d"})
        with monkeypatch.context() as patched:
            patched.setattr(
                "coalesce.table.maintain.compact.time.time_ns", lambda d=days: (now + d * MONTH // 30) * 10**6
            )
            assert table.compact(dry_run=True).files_before == found
            table.set_properties({"purge.age": None})
            assert table.compact(dry_run=True).files_before == 0
    table.set_properties({"purge.age": "0s"})
    monkeypatch.setattr("coalesce.table.maintain.compact.time.time_ns", lambda: (now + MONTH) * 10**6)
    assert table.compact().reasons == {DEAD: 1}
    assert is_clean(table)


def test_the_oldest_of_a_file_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tuple that was removed since does not make the other younger."""
    table = marked({"purge.share": "1", "purge.age": "30d"})
    now = table.state.timestamp_ms
    later = core_of(table).transaction
    monkeypatch.setattr(core_of(table), "transaction", lambda *a, **k: replace(later(*a, **k), since=now + MONTH))
    table.drop_partition(app="C")
    (file,) = table.files()
    assert sorted(dead.since > now + MONTH // 2 for dead in file.dead) == [False, True]
    monkeypatch.undo()
    monkeypatch.setattr("coalesce.table.maintain.compact.time.time_ns", lambda: (now + MONTH + 10_000) * 10**6)
    assert table.compact(dry_run=True).reasons == {DEAD: 1}


def test_dead_rows_do_not_make_a_file_large() -> None:
    """Two files that are large only by what is dead in them are small ones, and become one."""
    table = shared(200, properties={"purge.share": "1"})
    table.append(events("E", range(1_000, 1_200)))
    target = max(file.bytes for file in table.files())
    assert table.compact(target=target, dry_run=True).files_before == 0
    for app in "ABC":
        table.drop_partition(app=app)
    done = table.compact(target=target)
    assert (done.files_before, done.files_after) == (2, 1)
    assert is_clean(table)


def test_dead_rows_weigh_nothing_when_a_tuple_is_measured() -> None:
    """What is dead does not let a logical partition seem larger than it is, nor smaller rows seem wide."""
    table = shared(3_000, properties={"purge.share": "1"})
    (before,) = table.files()
    limit = before.bytes // 4  # each of the five apps has a fifth
    table.set_rule(coalesce.small("app", below=limit))
    table.compact()
    for app in "AB":
        table.drop_partition(app=app)
    assert table.compact(dry_run=True).files_before == 0


def test_files_of_older_fields_leave_their_dead_behind() -> None:
    """They move to the fields of now, without what was removed."""
    table = marked()
    before = lineage(table)
    table.evolve(add="bucket(2, id)")
    assert table.compact().reasons == {OLD: 1}
    assert is_clean(table)
    assert lineage(table) == before


def test_room_and_steps_are_kept_to() -> None:
    """A file is taken if there is room for it, and the rest is told; a step is a commit."""
    days = [date(2026, 5, 10 + n) for n in range(4)]
    table = shared(4, days)
    table.drop_partition(app="D")
    (one, *_), total = table.files(), table.state.bytes
    none = table.compact(max_bytes=one.bytes - 100)
    assert (none.files_before, none.bytes_left) == (0, total)
    some = table.compact(max_bytes=one.bytes * 2 + 200)
    assert (some.files_before, some.bytes_left > 0) == (2, True)
    steps = [(step.files_before, step.bytes_left) for step in table.compact_steps(step_bytes=1)]
    assert [files for files, _ in steps] == [1, 1]
    assert steps[-1][1] == 0
    assert is_clean(table)
    assert ids(table) == [n for day in range(4) for n in range(100 * day, 100 * day + 20) if not 12 <= n % 100 < 16]


def test_many_physical_partitions_are_purged_in_one_commit() -> None:
    """A tenant that goes from every day is no commit for each day."""
    table = shared(4, [date(2026, 5, n) for n in range(1, 13)])
    table.drop_partition(app="A")
    done = table.compact()
    assert (done.files_before, done.files_after, done.steps) == (12, 12, 1)
    assert is_clean(table)


class Overtaken(ArrowEngine):
    """Another writer removes an app while its rows are written again."""

    def compact(
        self, snapshot: Snapshot, files: Sequence[DataFile], arrangement: Arrangement | None = None
    ) -> list[DataFile]:
        """As ever, but slower than the other."""
        opened(snapshot.storage).drop_partition(app="E")
        return super().compact(snapshot, files, arrangement)


@pytest.mark.parametrize("verb", ["compact", "purge"])
def test_what_is_marked_meanwhile_stays_dead(verb: str) -> None:
    """The step gives way, the file is named, and the next run does it."""
    table = marked()
    overtaken = Table(core_of(table).storage, Engines(Overtaken()))
    result = getattr(overtaken, verb)()
    assert (result.files_before, result.skipped) == (0, (table.files()[0].path,))
    table.refresh()
    assert ids(table) == [*range(4), *range(8, 16)]
    assert getattr(table, verb)().files_before == 1
    assert ids(table) == [*range(4), *range(8, 16)]
    assert is_clean(table)


def test_as_many_rows_are_not_the_same_rows() -> None:
    """Meanwhile the table is rolled back, and as many rows of another app removed: it is that one that stays dead."""
    table = marked()

    class RolledBack(ArrowEngine):
        """Another writer takes its removal back and makes another while rows are written again, once."""

        def compact(
            self, snapshot: Snapshot, files: Sequence[DataFile], arrangement: Arrangement | None = None
        ) -> list[DataFile]:
            """As ever, but slower than the other."""
            other = opened(snapshot.storage)
            if other.version == snapshot.version.number == 3:
                other.rollback(2)
                other.drop_partition(app="C")
            return super().compact(snapshot, files, arrangement)

    result = Table(core_of(table).storage, Engines(RolledBack())).purge()
    assert len(result.skipped) == 1
    assert ids(table.refresh()) == [*range(8), *range(12, 20)]
    table.purge()
    assert ids(table) == [*range(8), *range(12, 20)]


# --- purge ---------------------------------------------------------------------------------------------------------


def test_a_purge_takes_every_file_with_dead_rows_and_no_other() -> None:
    """However little is dead, and however well the others could be merged."""
    days = [date(2026, 5, 10 + n) for n in range(3)]
    table = shared(4, days, {"purge.share": "1"})
    table.append(events("A", [900]))
    table.append(events("A", [901]))
    table.drop_partition(dt=days[0], app="A")
    table.drop_partition(dt=days[2], app="E")
    before, others = lineage(table), {f.path for f in table.files() if not f.dead}
    dry = table.purge(dry_run=True)
    assert (dry.files_before, dry.reasons, dry.dry_run) == (2, {DEAD: 2}, True)
    assert table.state.dead_rows == 8
    done = table.purge()
    assert (done.files_before, done.files_after, done.rows, done.reasons) == (2, 2, 32, {DEAD: 2})
    assert is_clean(table)
    assert others < {f.path for f in table.files()}
    assert lineage(table) == before
    assert table.state.summary["rows_purged"] == 8
    assert repr(table.purge()).startswith("<compact: nothing to do")
    assert [step.files_before for step in table.purge_steps()] == []


@pytest.mark.parametrize(
    ("where", "files"),
    [
        ("app = 'A'", 1),
        ("app = 'B'", 0),  # nobody has removed one
        (f"dt = DATE '{date(2026, 5, 12)}'", 1),
        ("dt >= DATE '2026-05-10'", 2),
        ("app IN ('A', 'E') AND id = 7", 2),  # of the dead it is not known
        ("app = 'C' AND id = 7", 0),
        ("app IS NULL", 0),
        ("id = 7", 2),
    ],
)
def test_a_purge_of_some_goes_by_what_is_dead(where: str, files: int) -> None:
    """Not by what is alive in the same file."""
    days = [date(2026, 5, 10 + n) for n in range(3)]
    table = shared(4, days)
    table.drop_partition(dt=days[0], app="A")
    table.drop_partition(dt=days[2], app="E")
    assert table.purge(where, dry_run=True).files_before == files
    done = table.purge(where)
    assert (done.files_before, sum(bool(f.dead) for f in table.files())) == (files, 2 - files)
    assert len(ids(table)) == 52


def test_a_purge_asks_old_files_by_their_own_fields(tmp_path: Path) -> None:
    """Also by a column that has become wider, and by one that is no field any more."""
    schema = pa.schema([("d", pa.date32()), ("k", pa.int32()), ("n", pa.int64())])
    made = coalesce.create(tmp_path / "t", schema, partition_by=["d", "k"], rule=coalesce.small("k", below="1GB"))
    made.set_properties({"remove.by": "mark"})
    days = [date(2026, 1, 1), date(2026, 1, 2)]
    made.append([{"d": d, "k": k, "n": 10 * k + i} for d in days for k in range(3) for i in range(3)])
    made.delete("k = 1 AND d = DATE '2026-01-02'")
    made.widen_column("d", "timestamp_ntz")
    made.widen_column("k", "int64")
    made.evolve(drop="k")
    assert made.purge("k = 2", dry_run=True).files_before == 0
    assert made.purge("d < TIMESTAMP_NTZ '2026-01-02 00:00:00'", dry_run=True).files_before == 0
    assert made.purge("k = 1 AND d = TIMESTAMP_NTZ '2026-01-02 00:00:00'").reasons == {DEAD: 1}
    assert made.state.dead_rows == 0
    assert made.count() == made.scan().to_arrow().num_rows == 15


def test_a_column_can_be_dropped_after_a_purge() -> None:
    """What tells the dead of a file is needed until they are gone; the error says so."""
    table = marked()
    table.evolve(drop="app")
    with pytest.raises(coalesce.CoalesceError, match=r"call purge\(\) first"):
        table.drop_column("app")
    table.purge()
    table.drop_column("app")
    assert table.count() == 16


def test_streams_pass_over_a_purge() -> None:
    """It brings no new rows, and takes none."""
    table = marked()
    start = table.version
    table.purge()
    table.append(events("A", [99]))
    core = core_of(table)
    follower = Follower(core.log.load, Manifests(core.storage))
    span = follower.next(start, table.version)
    assert (span.since, span.until) == (start + 1, table.version)


def test_wrong_arguments_are_refused() -> None:
    """Before anything is done."""
    table = marked()
    with pytest.raises(PredicateError):
        table.purge("nothing = 1")
    with pytest.raises(InvalidArgument):
        table.purge(dry_run=1)  # type: ignore[arg-type]
    with pytest.raises(coalesce.CoalesceError, match="read-only"):
        table.at(version=1).purge()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("purge.share", text) for text in ("", "2", "-0.1", "10%", "nan", "1.01", "0,1", "1e-3")),
        *(("purge.age", text) for text in ("", "30", "a month", "-1d")),
        ("purge.shares", "0.1"),
    ],
)
def test_properties_are_checked_when_they_are_set(name: str, text: str) -> None:
    """And not at the next compaction."""
    with pytest.raises(InvalidArgument, match=name.removesuffix("s")):
        create(MemoryStorage()).set_properties({name: text})


# --- gone ----------------------------------------------------------------------------------------------------------


def test_removal_becomes_physical(tmp_path: Path) -> None:
    """Purge, expire, vacuum: then the text of a tenant is in no file below the table; before that it is."""
    root = tmp_path / "t"
    schema = pa.schema([("app", pa.string()), ("text", pa.string())])
    table = coalesce.create(root, schema, partition_by=["app"], rule=coalesce.small("app", below="1GB"))
    table.set_properties({"remove.by": "mark"})
    table.append([{"app": f"tenant-{n}", "text": f"secret-{n}-{i}"} for n in range(3) for i in range(5)])
    table.drop_partition(app="tenant-1")
    first = {f.path for f in table.files()}
    assert holding(root, b"secret-1-")

    def clean() -> None:
        table.expire("0s", keep_last=1, force=True)
        age_on_disk(root)
        table.vacuum()

    clean()
    assert {f.path for f in table.files()} == first, "a version that is kept names it"
    assert holding(root, b"secret-1-")
    assert table.count() == 10
    assert table.purge("app = 'tenant-1'").files_before == 1
    assert holding(root, b"secret-1-"), "as an older version names the old file"
    clean()
    assert not holding(root, b"secret-1-")
    assert not holding(root, b"tenant-1")
    assert table.scan().to_arrow().num_rows == 10
    assert table.check(deep=True) == []


def holding(root: Path, text: bytes) -> list[str]:
    """The files below a directory that have some bytes in them, in a column or a statistic."""
    found = []
    for path in root.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if text in data or (data[:4] == b"PAR1" and text.decode() in str(pa.parquet.read_table(path).to_pylist())):
                found.append(path.name)
    return found


# --- any history ---------------------------------------------------------------------------------------------------

_APPEND, _DROP, _COMPACT, _PURGE, _RULE, _BACK = "append", "drop", "compact", "purge", "rule", "back"


@settings(max_examples=examples(15), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([_APPEND, _DROP, _DROP, _COMPACT, _PURGE, _RULE, _BACK]), st.integers(0, 4)),
        min_size=3,
        max_size=12,
    )
)
def test_whatever_happens_rows_stay_what_they_are(story: list[tuple[str, int]]) -> None:
    """Against a plain dictionary: the rows, their ids and versions; and after a purge nothing is dead."""
    table = shared(3)
    known = {table.version: lineage(table)}
    for what, number in story:
        now = dict(known[max(known)])
        if what == _APPEND:
            table.append(events(list(APPS), range(1_000 * len(known), 1_000 * len(known) + 5)))
            now |= {n: pair for n, pair in lineage(table).items() if n not in now}
        elif what == _DROP:
            gone = ids(table, f"app = '{APPS[number]}'")
            table.drop_partition(app=APPS[number])
            now = {n: pair for n, pair in now.items() if n not in gone}
        elif what == _COMPACT:
            table.compact()
            assert table.compact().files_before == 0
        elif what == _PURGE:
            table.purge()
            assert is_clean(table)
        elif what == _RULE:
            table.set_rule(coalesce.small("app", below=("1", "1KB", "1GB")[number % 3]))
        else:
            version = sorted(known)[number % len(known)]
            table.rollback(version)
            now = known[version]
        assert lineage(table) == now, what
        assert table.count() == len(now)
        known[table.version] = now
