"""What came into a table between versions: each new file once, whatever else happens to the table."""

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import coalesce
from coalesce.errors import CoalesceError, VersionNotFound
from coalesce.manifest.paths import version_path
from coalesce.table.commit.changes import Follower, Span, lost_rows
from coalesce.table.engine import REMOVALS
from coalesce.table.table import Table, core_of
from tests.support.examples import examples

SCHEMA = pa.schema([("app", pa.string()), ("k", pa.int64())])
STEPS = [
    "append",
    "append",
    "append",
    "two files",
    "delete",
    "overwrite",
    "compact",
    "property",
    "rollback",
    "truncate",
]


def make_table(path: Path) -> Table:
    """An empty table."""
    return coalesce.create(path, SCHEMA, partition_by=["app"], rule=coalesce.small("app"))


def rows(*keys: int) -> pa.Table:
    """One row for each key."""
    return pa.table({"app": [f"app{k % 3}" for k in keys], "k": list(keys)}, schema=SCHEMA)


def take(table: Table, step: str, number: int) -> None:
    """Do one thing to the table."""
    match step:
        case "append" | "two files":
            table.append(rows(*range(number * 10, number * 10 + (1 if step == "append" else 5))))
        case "delete":
            table.delete(f"app = 'app{number % 3}'")
        case "overwrite":
            table.overwrite_partitions(rows(number * 10))
        case "compact":
            table.set_rule(coalesce.keep_all() if number % 2 else coalesce.small("app"))
            table.compact()
        case "property":
            table.set_properties({"owner": str(number)})
        case "rollback":
            table.rollback(number // 2 % (table.version + 1))
        case "truncate":
            table.truncate()


def follower(table: Table, *, skip_changes: bool = False) -> Follower:
    """What goes through the table's versions."""
    return Follower(core_of(table).log.load, core_of(table).manifests, skip_changes)


def files_of(table: Table, arrivals: Span) -> list[str]:
    """The files that came in, as a reader of the stream finds them."""
    found = table.at(version=arrivals.until).files()
    return [f.path for f in found if f.added_version is not None and f.added_version > arrivals.since]


@given(st.lists(st.sampled_from(STEPS), max_size=14), st.integers(1, 4), st.integers(0, 3), st.sampled_from(REMOVALS))
@settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))
def test_each_new_file_comes_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], max_files: int, begin: int, remove_by: str
) -> None:
    """In steps of any size, a stream has exactly the files of the versions that only added files, in their order."""
    table = make_table(tmp_path_factory.mktemp("t") / "t")
    table.set_properties({"remove.by": remove_by})
    for number, step in enumerate(steps):
        take(table, step, number)
    versions = table.history()[::-1]
    begin = min(begin, table.version)
    expected = []
    for old, new in pairwise(versions):
        before, after = ({f.path: f for f in table.at(version=v.number).files()} for v in (old, new))
        then, there = ({p: frozenset(d.place for d in f.dead) for p, f in files.items()} for files in (before, after))
        lost = {path: there.get(path) for path, dead in then.items() if there.get(path) != dead}
        assert lost_rows(old, new, core_of(table).manifests) == lost
        if new.number > begin and not lost:
            expected.append({path for path, file in after.items() if file.added_version == new.number})
    came: list[set[str]] = []
    position = begin
    while position < table.version:
        arrivals = follower(table, skip_changes=True).next(position, table.version, max_files)
        assert position < arrivals.until <= table.version
        assert position <= arrivals.since <= arrivals.until
        came.append(set(files_of(table, arrivals)))
        position = arrivals.until
    assert [f for some in came for f in sorted(some)] == [f for some in _grouped(expected, came) for f in sorted(some)]


def _grouped(expected: list[set[str]], came: list[set[str]]) -> list[set[str]]:
    """The expected files, those together that came together."""
    left = list(expected)
    groups = []
    for some in came:
        group: set[str] = set()
        while left and left[0] <= some:
            group |= left.pop(0)
        groups.append(group)
    return [*groups, *left]


def test_a_version_is_not_divided(tmp_path: Path) -> None:
    """A limit ends a batch between versions; one version that is larger is a batch."""
    table = coalesce.create(tmp_path / "t", SCHEMA, partition_by=["app"])
    for keys in [(0,), (1, 2, 3), (4,), (5,), (6,)]:
        table.append(rows(*keys))
    ends = []
    position = 0
    while position < table.version:
        position = follower(table).next(position, table.version, 2).until
        ends.append(position)
    assert ends == [1, 2, 4, 5]


def test_rows_that_went_are_an_error(tmp_path: Path) -> None:
    """What came before is had first; then the stream says which version changed rows, and what to do."""
    table = make_table(tmp_path / "t")
    table.append(rows(1, 2, 3))
    table.delete("k = 2")
    table.append(rows(4))
    assert follower(table).next(0, 3) == Span(0, 1)
    with pytest.raises(CoalesceError, match=r"version 2 \(delete\) removed or replaced rows.*skipChanges"):
        follower(table).next(1, 3)
    assert follower(table, skip_changes=True).next(1, 3) == Span(2, 3)


def test_compaction_brings_nothing(tmp_path: Path) -> None:
    """Rows in other files are no new rows."""
    table = make_table(tmp_path / "t")
    table.append(rows(1, 2, 3))
    table.set_rule(coalesce.keep_all())
    table.compact()
    assert follower(table).next(0, 3) == Span(0, 2)
    arrivals = follower(table).next(2, 3)
    assert arrivals == Span(3, 3)
    assert files_of(table, arrivals) == []


def test_a_version_that_has_expired(tmp_path: Path) -> None:
    """A stream that has fallen behind is told so."""
    table = make_table(tmp_path / "t")
    table.append(rows(1))
    table.append(rows(2))
    (tmp_path / "t" / version_path(0)).unlink()
    fresh = coalesce.open(tmp_path / "t")
    with pytest.raises(VersionNotFound, match="no version 0"):
        follower(fresh).next(0, 2)
