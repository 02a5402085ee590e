"""A repair mends what it says it mends, loses no row and no id, and leaves alone what it cannot know."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coalesce
from coalesce.errors import CommitConflict
from coalesce.manifest.paths import LATEST_HINT
from coalesce.model.datafile import DataFile
from coalesce.model.entries import from_files
from coalesce.model.rule import Group
from coalesce.table.commit.changes import Follower, Span
from coalesce.table.commit.transaction import Transaction
from coalesce.table.maintain import kinds
from coalesce.table.table import Table, core_of
from tests.checker import check_files
from tests.support.examples import examples
from tests.table.maintain import planting
from tests.table.maintain.planting import SCHEMA, first, on_disk, plant, rows, sound

Change = Callable[[DataFile], DataFile]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A sound table in version 2."""
    return sound(tmp_path / "t")


def content(table: Table) -> list[str]:
    """The rows as text, in an order of their own."""
    return sorted(map(repr, table.scan().to_arrow().to_pylist()))


def lineage(table: Table) -> list[tuple[str, int | None, int | None, int]]:
    """The files with their row ids, versions and rows."""
    return sorted((f.path, f.first_row_id, f.added_version, f.rows) for f in table.files())


def in_newest(table: Table) -> list[str]:
    """What a deep check finds in the newest version."""
    return planting.kinds([f for f in table.check(deep=True) if table.version in f.versions])


def _tuples(file: DataFile) -> DataFile:
    return replace(file, tuples=((1, "no"),), tuple_rows=(file.rows,))


def _fewer(file: DataFile) -> DataFile:
    assert file.tuples is not None
    assert file.tuple_rows is not None
    return replace(file, tuples=file.tuples[:-1], tuple_rows=(*file.tuple_rows[:-2], (file.tuple_rows[-2] or 0) * 2))


def _counts(file: DataFile) -> DataFile:
    assert file.tuple_rows is not None
    return replace(
        file, tuple_rows=(1, file.rows - 1 - (len(file.tuple_rows) - 2), *([1] * (len(file.tuple_rows) - 2)))
    )


def _order(file: DataFile) -> DataFile:
    assert file.tuples is not None
    return replace(file, tuples=file.tuples[::-1])


def _statistics(column: int, **changed: object) -> Change:
    def change(file: DataFile) -> DataFile:
        said = replace(file.statistics[column], **changed)  # type: ignore[arg-type]
        return replace(file, statistics={**file.statistics, column: said})

    return change


CHANGES: dict[str, Change] = {
    kinds.WRONG_SIZE: lambda file: replace(file, bytes=file.bytes + 7),
    kinds.WRONG_TUPLE: _tuples,
    kinds.MISSING_TUPLE: _fewer,
    kinds.WRONG_COUNT: _counts,
    kinds.WRONG_KEY: lambda file: replace(file, physical_key=(7, Group("[#small]"))),
    kinds.WRONG_ORDER: _order,
    kinds.WRONG_BOUNDS: _statistics(3, lower=5_000, upper=5_001),
    kinds.WRONG_NULL_COUNT: _statistics(3, null_count=1),
    kinds.WRONG_NAN_COUNT: _statistics(4, nan_count=0),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_it_mends_what_it_says_it_mends(table: Table, kind: str) -> None:
    """The newest version says again what is in the files; its rows, their ids and versions are those they were."""
    before, ids = content(table), lineage(table)
    plant(table, first(CHANGES[kind]))
    assert in_newest(table) == [kind]
    result = table.repair()
    assert (planting.kinds(result.mended), planting.kinds(result.left), result.version) == ([kind], [], 4)
    assert in_newest(table) == []
    assert (content(table), lineage(table)) == (before, ids)
    check_files(core_of(table).storage, table.state, table.files())
    summary = table.state.summary
    assert (table.state.operation, summary["files_mended"]) == ("repair", 1)
    assert {summary[f"{what}_{verb}"] for what in ("files", "rows") for verb in ("added", "removed")} == {0}


def test_queries_are_right_again(table: Table) -> None:
    """An entry without a tuple hides rows; once it is mended, they are there."""
    plant(table, first(_tuples))
    assert table.count("app = 'a'") < 10
    table.repair()
    assert table.count("app = 'a'") == 10 == table.scan("app = 'a'").to_arrow().num_rows


def test_older_versions_stay_as_they_are(table: Table) -> None:
    """They cannot change; a check finds there what it found, and says that the newest is not concerned."""
    plant(table, first(_tuples))
    table.repair()
    (found,) = table.check(deep=True)
    assert (found.versions, found.mendable) == ((3,), False)
    assert "The newest version is not concerned" in found.message
    assert "older versions stay as they are" in repr(replace(table.repair(), mended=[found]))  # type: ignore[arg-type]


def test_dry_run_only_says_what_would_be_done(table: Table) -> None:
    """No version is made, and nothing written."""
    plant(table, first(_tuples))
    before = sorted(Path(table.location).rglob("*"))
    result = table.repair(dry_run=True)
    assert (planting.kinds(result.mended), result.committed, result.version) == ([kinds.WRONG_TUPLE], False, 3)
    assert sorted(Path(table.location).rglob("*")) == before
    assert repr(result).startswith("<repair: would mend 1, left 0; version 3")


def test_a_sound_table_is_left_alone(table: Table) -> None:
    """Nothing to mend is no reason for a commit."""
    result = table.repair()
    assert ([*result.mended, *result.left], result.committed, result.version) == ([], False, 2)
    assert table.refresh().version == 2


def test_what_is_lost_stays_lost(table: Table) -> None:
    """Missing, truncated and swapped files are reported, and their entries left as they are; others are mended."""
    plant(table, lambda files: [*files[:3], _tuples(files[3])])
    on_disk(table, 0).unlink()
    path = on_disk(table, 1)
    path.write_bytes(path.read_bytes()[:-9])
    ids = lineage(table)
    result = table.repair()
    assert planting.kinds(result.mended) == [kinds.WRONG_TUPLE]
    assert planting.kinds(result.left) == [kinds.MISSING_FILE, kinds.UNREADABLE_FILE]
    assert in_newest(table) == [kinds.MISSING_FILE, kinds.UNREADABLE_FILE]
    assert lineage(table) == ids


def test_swapped_files_are_not_taken_for_wrong_entries(table: Table) -> None:
    """Entries made anew would give the rows of each the ids of the other."""
    one, other = on_disk(table, 0), on_disk(table, 1)
    data = one.read_bytes(), other.read_bytes()
    one.write_bytes(data[1])
    other.write_bytes(data[0])
    result = table.repair()
    assert (result.mended == [], planting.kinds(result.left)) == (True, [kinds.SWAPPED_FILES])
    assert not result.committed


def test_a_file_that_promises_an_order_it_does_not_have(table: Table) -> None:
    """Its counts become unknown: by them, readers would look for rows where they are not."""
    path = on_disk(table)
    found = pq.ParquetFile(path)
    mixed = found.read().take([7, 0, 6, 1, 5, 2, 4, 3])
    with pq.ParquetWriter(path, mixed.schema, store_schema=False) as writer:
        writer.add_key_value_metadata({"coalesce.tuple_order": "true"})
        writer.write_table(mixed)
    plant(table, first(lambda f: replace(f, bytes=path.stat().st_size)))
    assert in_newest(table) == [kinds.WRONG_ORDER]
    table.repair()
    assert in_newest(table) == []
    assert table.files()[0].tuple_rows is None
    expected = {r["n"] for r in rows(0).to_pylist() if r["app"] == "a"} | {
        r["n"] for r in rows(1_000).to_pylist() if r["app"] == "a"
    }
    assert set(table.scan("app = 'a'").to_arrow().column("n").to_pylist()) == expected


def test_a_key_that_no_value_can_have_becomes_unknown(table: Table) -> None:
    """All apps of a day lie in one file: no one of them is its key."""
    file = table.files()[0]
    plant(table, first(lambda f: replace(f, physical_key=((f.physical_key or ())[0], "a"))))
    table.repair()
    assert [f.path for f in table.files() if f.physical_key is None] == [file.path]
    assert in_newest(table) == []


def test_the_range_of_a_manifest(table: Table) -> None:
    """Rows that queries did not see are seen again; the manifest is another one with the same entries."""
    ref = planting.manifest(table, list(table.files()))
    assert ref.bounds is not None
    narrow = (replace(ref.bounds[0], upper=ref.bounds[0].lower), *ref.bounds[1:])
    planting.plant_manifests(table, [replace(ref, bounds=narrow)])
    ids = lineage(table)
    result = table.repair()
    assert (planting.kinds(result.mended), result.committed) == ([kinds.WRONG_RANGE], True)
    assert table.count("dt = DATE '2026-05-18'") == 24
    assert (in_newest(table), lineage(table)) == ([], ids)


def test_a_hint_alone_takes_no_commit(table: Table) -> None:
    """It is no part of a version."""
    path = Path(table.location) / LATEST_HINT
    path.write_text("99")
    result = table.repair()
    assert (planting.kinds(result.mended), result.committed) == ([kinds.WRONG_HINT], False)
    assert path.read_text() == "2"


def test_dates_that_have_become_timestamps(tmp_path: Path) -> None:
    """An entry of before, mended after its column was widened, is one of after; its neighbours stay as they were."""
    schema = pa.schema([("d", pa.date32()), ("n", pa.int32())])
    table = coalesce.create(tmp_path / "t", schema, partition_by=["d"])
    table.append(pa.table({"d": [date(2026, 1, d) for d in (1, 2, 3)], "n": [1, 2, 3]}, schema=schema))
    plant(table, first(_statistics(2, lower=2, upper=2)))
    table.widen_column("d", "timestamp_ntz")
    table.widen_column("n", "int64")
    result = table.repair()
    assert planting.kinds(result.mended) == [kinds.WRONG_BOUNDS]
    assert in_newest(table) == []
    assert table.count("d = TIMESTAMP_NTZ '2026-01-01 00:00:00' AND n = 1") == 1
    assert table.count("d >= TIMESTAMP_NTZ '2026-01-02 00:00:00'") == 2
    assert sorted(table.scan().to_arrow().column("n").to_pylist()) == [1, 2, 3]


def test_columns_of_old_fields_that_are_gone(tmp_path: Path) -> None:
    """A file of a spec whose column was dropped still has the column: its entry can be made anew."""
    table = coalesce.create(tmp_path / "t", SCHEMA, partition_by=["app"])
    table.append(rows(0))
    table.evolve(drop="app", add="dt")
    plant_old = core_of(table)
    transaction = plant_old.transaction("planted")
    file = table.files()[0]
    transaction.remove([file])
    transaction.add([replace(file, statistics={**file.statistics, 3: replace(file.statistics[3], lower=99)})])
    plant_old.commit(transaction)
    table.drop_column("app")
    before = content(table)
    assert planting.kinds(table.repair().mended) == [kinds.WRONG_BOUNDS]
    assert (in_newest(table), content(table)) == ([], before)


# --- others at work ----------------------------------------------------------------------------------------------


def mending(table: Table, file: DataFile) -> Transaction:
    """A repair that has staged the entry and is about to commit."""
    begun = core_of(table).transaction("repair")
    begun.mend(from_files([file], table.state.spec, table.schema))
    return begun


def test_it_goes_on_from_what_others_append(table: Table) -> None:
    """An append in between is no conflict: both are there."""
    file = table.files()[0]
    begun = mending(table, replace(file, statistics={}))
    coalesce.open(table.location).append(rows(5_000))
    core_of(table).commit(begun)
    assert (table.version, table.count()) == (4, 60)
    (mended,) = [f for f in table.files() if f.path == file.path]
    assert mended == replace(file, statistics={})
    assert table.check(deep=True) == []


def test_it_gives_way_to_a_rewrite(table: Table) -> None:
    """A file that was rewritten has no entry to be mended, and its rows are not brought back; nor is it deleted."""
    begun = mending(table, table.files()[0])
    coalesce.open(table.location).delete("n = 3")
    with pytest.raises(CommitConflict, match="removed or rewritten"):
        core_of(table).committed(begun)
    assert table.refresh().count() == 39
    assert table.check(deep=True) == []  # older versions have the file that the repair was about


def test_a_rewrite_while_it_reads(table: Table) -> None:
    """What was found and is gone when it is to be mended is no matter any more; what is still there is mended."""
    gone = table.files()[0].path
    plant(table, lambda files: [_statistics(3, lower=99)(files[0]), *files[1:3], _tuples(files[3])])
    other = coalesce.open(table.location)

    def meanwhile(done: int, total: int) -> None:
        if done == total and other.version == 3:
            other.drop_partition(dt=date(2026, 5, 17))

    result = table.repair(progress=meanwhile)
    assert planting.kinds(result.mended) == [kinds.WRONG_TUPLE]
    assert [f.where for f in result.left] == [gone]
    assert (table.version, table.count(), in_newest(table)) == (5, 24, [])


def test_one_of_two_repairs(table: Table) -> None:
    """Two that find the same both end well, and the table is as if one had been made."""
    plant(table, first(_tuples))
    other = coalesce.open(table.location)
    told: list[int] = []

    def meanwhile(done: int, total: int) -> None:
        if done == total and not told:
            told.append(done)
            assert other.repair().committed

    table.repair(progress=meanwhile)
    assert (in_newest(table), table.count("app = 'a'")) == ([], 10)


def test_a_stream_takes_nothing_for_new(table: Table) -> None:
    """What was mended came in when it did."""
    plant(table, first(_tuples))
    table.repair()
    table.append(rows(9_000))
    core = core_of(table)
    follower = Follower(core.log.load, core.manifests)
    assert follower.next(3, 5) == Span(3, 5)
    assert {f.added_version for f in table.files() if (f.added_version or 0) > 3} == {5}


# --- any of it ---------------------------------------------------------------------------------------------------


@settings(max_examples=examples(15))
@given(planted=st.lists(st.tuples(st.sampled_from(sorted(CHANGES)), st.integers(0, 3)), min_size=1, max_size=5))
def test_whatever_entries_say_a_repair_makes_it_right(
    planted: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Several things wrong with several entries: after the repair none is, and the rows and their ids are the same."""
    table = sound(tmp_path_factory.mktemp("repaired") / "t")
    before, ids = content(table), lineage(table)

    def change(files: list[DataFile]) -> list[DataFile]:
        # Those that change tuples need them as they were, and are made once for each file.
        for kind, number in {(k, n) for k, n in planted if k not in TUPLES} | {
            (k, n) for n, k in {n: k for k, n in planted if k in TUPLES}.items()
        }:
            files[number] = CHANGES[kind](files[number])
        return files

    plant(table, change)
    assert in_newest(table)
    assert table.repair().left == []
    assert (in_newest(table), content(table), lineage(table)) == ([], before, ids)
    check_files(core_of(table).storage, table.state, table.files())


TUPLES = {kinds.WRONG_TUPLE, kinds.MISSING_TUPLE, kinds.WRONG_COUNT, kinds.WRONG_ORDER}
