"""A check finds what is wrong with a table, says so by its kind, and finds nothing on a table that is sound."""

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, run_state_machine_as_test

import coalesce
from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import CoalesceError, InvalidArgument, TableNotFound
from coalesce.manifest import manifest_file
from coalesce.manifest.paths import DATA, LATEST_HINT, version_path
from coalesce.manifest.version_file import encode_version
from coalesce.model.datafile import ColumnStatistics, DataFile
from coalesce.model.version import FieldBounds
from coalesce.storage.base import Listing
from coalesce.storage.local import LocalStorage
from coalesce.table.engine import Engines
from coalesce.table.maintain import kinds
from coalesce.table.maintain.findings import findings, ranges
from coalesce.table.table import Table, core_of
from tests.support.examples import examples
from tests.table.examples import add_files, create
from tests.table.maintain import planting
from tests.table.maintain.planting import first, on_disk, plant, rows, sound
from tests.table.operations import LogicalOperations

GOLDEN = sorted(path.parent for path in (Path(__file__).parents[3] / "manifests" / "golden").glob("v*/*/expected.json"))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A sound table of two versions with rows."""
    return sound(tmp_path / "t")


def only(table: Table, kind: str, *, deep: bool = True) -> coalesce.Finding:
    """The one finding in the newest version, which is of this kind."""
    found = [f for f in table.check(deep) if table.version in f.versions]
    assert planting.kinds(found) == [kind], found
    return found[0]


# --- sound tables ------------------------------------------------------------------------------------------------


def test_a_sound_table_has_no_findings(table: Table) -> None:
    """Nothing is found, shallow or deep, and what is found is false where a condition is asked for."""
    assert not table.check()
    assert not table.check(deep=True)
    assert table.check().to_arrow().column_names == ["kind", "where", "versions", "message", "mendable"]


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_golden_tables_are_sound(golden: Path) -> None:
    """Tables of earlier releases have no findings; but of `missing`, two entries say of themselves what cannot be."""
    table = coalesce.open(golden / "table")
    assert not table.check()
    contradictions = [kinds.MISSING_TUPLE, kinds.WRONG_COUNT] if golden.name == "missing" else []
    assert planting.kinds(table.check(deep=True)) == contradictions


def test_what_evolved_is_sound(tmp_path: Path) -> None:
    """Columns renamed, dropped, widened, added again under an old name; fields that came and went; a rollback."""
    schema = pa.schema([("d", pa.date32()), ("k", pa.int8()), ("f", pa.float32()), ("s", pa.string())])
    table = coalesce.create(tmp_path / "t", schema, partition_by=["d", "truncate(10, k)"])
    values: dict[str, list[object]] = {
        "d": [date(2026, 1, 1), None, date(1969, 12, 31)],
        "k": [-128, 5, None],
        "f": [1.5, float("nan"), -0.0],
        "s": ["x" * 50, None, "é"],
    }
    table.append(pa.table(values, schema=schema))
    table.widen_column("d", "timestamp_ntz")
    table.widen_column("k", "int64")
    table.widen_column("f", "double")
    table.append(pa.table({**values, "d": [datetime(2026, 1, 1, 12), None, datetime(1, 1, 1)], "k": [2**40, -128, 0]}))
    table.rename_column("s", "t")
    table.add_column("s", "int64", default=7)
    table.delete("k = 5")
    table.evolve(add="bucket(4, t)", drop="d")
    table.append(pa.table({"k": [1], "t": ["new"], "s": [3]}))
    assert table.compact().files_after > 0
    table.drop_column("d")
    table.drop_column("f")
    table.overwrite(pa.table({"k": [0], "t": ["z"], "s": [None]}, schema=None), "k = 0", allow_outside=True)
    table.rollback(1)
    table.append(pa.table(values, schema=schema))
    assert table.check() == []
    assert table.check(deep=True) == []


def test_files_that_were_adopted_are_sound(table: Table) -> None:
    """A file outside of `data/`, without ids and without its partition columns, is what its entry says."""
    root = Path(table.location)
    (root / "old" / "dt=2026-05-19").mkdir(parents=True)
    path = root / "old" / "dt=2026-05-19" / "part.parquet"
    pq.write_table(pa.table({"n": [1, 2], "X": [0.5, None], "more": ["a", "b"]}), path)
    day, core = 20_592, core_of(table)
    entry = DataFile(
        path="old/dt=2026-05-19/part.parquet",
        spec_id=0,
        rows=2,
        bytes=path.stat().st_size,
        physical_key=(day, "hive"),
        tuples=((day, "hive"),),
        tuple_rows=(2,),
        complete=True,
        statistics={3: ColumnStatistics(lower=1, upper=2, null_count=0)},
    )
    transaction = core.transaction("adopt")
    transaction.add([entry])
    core.commit(transaction)
    assert table.check(deep=True) == []
    path.unlink()
    assert only(table, kinds.MISSING_FILE).where == entry.path


def operations() -> st.SearchStrategy[list[str]]:
    """Names of what may happen to a table."""
    names = ["append", "delete", "overwrite", "partitions", "drop", "rule", "spec", "widen", "rename", "column"]
    more = ["append", "compact", "rollback", "expire", "mark", "mark", "purge"]
    return st.lists(st.sampled_from([*names, *more]), max_size=8)


def apply(table: Table, operation: str, number: int) -> None:
    """Do one of them."""
    match operation:
        case "append":
            table.append(_as_now(table, rows(100 * number)))
        case "delete":
            table.delete(f"n > {50 * number} OR app = 'b'")
        case "overwrite":
            table.overwrite(_as_now(table, rows(100 * number, [17])), "dt = DATE '2026-05-17'")
        case "partitions":
            table.overwrite_partitions(_as_now(table, rows(100 * number).slice(number, 3)))
        case "drop":
            table.drop_partition(dt=date(2026, 5, 18))
        case "rule":
            table.set_rule(coalesce.small("dt") if number % 2 else coalesce.keep_all())
        case "spec":
            fields = {f.name for f in table.state.spec.fields}
            table.evolve(drop="n_bucket") if "n_bucket" in fields else table.evolve(add="bucket(3, n)")
        case "widen" if table.schema.field("k").type == pa.int32():
            table.widen_column("k", "int64")
        case "rename":
            table.rename_column(table.schema.fields[-1].name, f"renamed_{number}")
        case "column":
            table.add_column(f"more_{number}", "int32", default=number)
        case "mark":
            table.drop_partition(app=planting.APPS[number % 4])
        case "purge":
            table.purge()
        case "compact":
            table.compact()
        case "rollback":
            table.rollback(table.version // 2 if table.state.retained_from == 0 else table.version)
        case "expire":
            table.expire("0s", keep_last=3, force=True)


def _as_now(table: Table, made: pa.Table) -> pa.Table:
    return made.select([name for name in made.column_names if table.schema.find(name) is not None])


@settings(max_examples=examples(12))
@given(operations=operations())
def test_whatever_happens_to_a_table_it_stays_sound(
    operations: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Random lives have no findings, shallow or deep, whatever the operations were."""
    table = sound(tmp_path_factory.mktemp("life") / "t")
    table.add_column("k", "int32", default=1)
    for number, operation in enumerate(operations):
        if operation in ("rename", "widen") and table.schema.find("k") is None:
            continue
        apply(table, operation, number)
    assert table.check() == []
    assert table.check(deep=True) == []


# --- the twelve --------------------------------------------------------------------------------------------------


def test_a_missing_file(table: Table) -> None:
    """It is named, with the versions that need it, and the version to go back to."""
    path = table.files("dt = DATE '2026-05-18' AND n >= 1000")[0].path
    (Path(table.location) / path).unlink()
    for deep in (False, True):
        found = only(table, kinds.MISSING_FILE, deep=deep)
        assert (found.where, found.versions, found.mendable) == (path, (2,), False)
        assert "rollback(1), to the newest version that is whole, with 20 rows" in found.message


def test_a_wrong_size(table: Table) -> None:
    """Shallow, the footer of the file tells that the entry can be mended."""
    plant(table, first(lambda f: replace(f, bytes=f.bytes + 1)))
    for deep in (False, True):
        found = only(table, kinds.WRONG_SIZE, deep=deep)
        assert found.mendable
        assert found.versions == (3,)


def _wrong_tuple(file: DataFile) -> DataFile:
    assert file.tuples is not None
    return replace(file, tuples=((file.tuples[0][0], "zzz"), *file.tuples[1:]))


def _missing_tuple(file: DataFile) -> DataFile:
    assert file.tuples is not None
    assert file.tuple_rows is not None
    counts = [count or 0 for count in file.tuple_rows]
    return replace(file, tuples=file.tuples[1:], tuple_rows=(counts[0] + counts[1], *counts[2:]))


def _wrong_count(file: DataFile) -> DataFile:
    assert file.tuple_rows is not None
    counts = [count or 0 for count in file.tuple_rows]
    return replace(file, tuple_rows=(counts[0] + 1, counts[1] - 1, *counts[2:]))


def _contradiction(file: DataFile) -> DataFile:
    assert file.tuples is not None
    return replace(file, tuple_rows=(99,) * len(file.tuples))


def _statistics(**changed: object) -> Callable[[DataFile], DataFile]:
    def change(file: DataFile) -> DataFile:
        column = 4 if "nan_count" in changed else 3
        said = replace(file.statistics[column], **changed)  # type: ignore[arg-type]
        return replace(file, statistics={**file.statistics, column: said})

    return change


def _wrong_key(file: DataFile) -> DataFile:
    assert file.physical_key is not None
    return replace(file, physical_key=(1, file.physical_key[1]))


def _wrong_order(file: DataFile) -> DataFile:
    assert file.tuples is not None
    assert file.tuple_rows is not None
    return replace(file, tuples=file.tuples[::-1], tuple_rows=file.tuple_rows[::-1])


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        (kinds.WRONG_TUPLE, _wrong_tuple, "the file has no row of (dt = 2026-05-17, app = 'zzz')"),
        (kinds.MISSING_TUPLE, _missing_tuple, "the file has rows of (dt = 2026-05-17, app = NULL)"),
        (kinds.WRONG_COUNT, _wrong_count, "the file has 2 rows of (dt = 2026-05-17, app = NULL), and its entry says 3"),
        (kinds.WRONG_COUNT, _contradiction, "and its entry says 99"),
        (kinds.WRONG_BOUNDS, _statistics(lower=1), "of the column 'n', the least value is 0, and its entry says 1"),
        (kinds.WRONG_BOUNDS, _statistics(upper=6), "of the column 'n', the greatest value is 7, and its entry says 6"),
        (kinds.WRONG_NULL_COUNT, _statistics(null_count=1), "0 values are NULL, and its entry says 1"),
        (kinds.WRONG_NAN_COUNT, _statistics(nan_count=0), "2 values are NaN, and its entry says 0"),
        (kinds.WRONG_KEY, _wrong_key, "dt is 1970-01-02 in every row, and in one it is 2026-05-17"),
        (kinds.WRONG_ORDER, _wrong_order, "in the order of its entry's tuples"),
    ],
)
def test_an_entry_that_says_otherwise(
    table: Table, kind: str, change: Callable[[DataFile], DataFile], said: str
) -> None:
    """Only a deep check finds it, by its kind and no other, in the version that has it; it can be mended."""
    plant(table, first(change))
    assert table.check() == []
    found = only(table, kind)
    assert (found.versions, found.mendable) == ((3,), True)
    assert said in found.message


def test_swapped_files(table: Table) -> None:
    """Two files, each in the place of the other, are told as that, and not as ten differences."""
    one, other = on_disk(table, 0), on_disk(table, 2)
    _swap(one, other)
    for deep in (False, True):
        found = table.check(deep)
        assert planting.kinds(found) == [kinds.SWAPPED_FILES]
        assert sorted(f.where for f in found) == sorted(table.files()[i].path for i in (0, 2))
        assert not any(f.mendable for f in found)
    _swap(one, other)
    assert table.check(deep=True) == []


def _swap(one: Path, other: Path) -> None:
    aside = one.with_suffix(".aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def test_a_truncated_file(table: Table) -> None:
    """It is not taken for a wrong entry: what is gone nobody can read."""
    path = on_disk(table)
    path.write_bytes(path.read_bytes()[:-20])
    for deep in (False, True):
        assert not only(table, kinds.UNREADABLE_FILE, deep=deep).mendable


def test_a_damaged_page(table: Table) -> None:
    """A flipped byte inside a page has the right size and a readable footer; its checksum tells."""
    path = on_disk(table)
    data = bytearray(path.read_bytes())
    data[pq.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset + 40] ^= 0xFF
    path.write_bytes(data)
    assert table.check() == []
    only(table, kinds.UNREADABLE_FILE)


@pytest.mark.parametrize(
    ("id_of", "said"),
    [
        (lambda i: i + 50, "has the id 53, which is none of the table's"),
        (lambda i: {3: 2, 2: 3}.get(i, i), "has the id of 'app' and is int64"),
    ],
)
def test_foreign_field_ids(table: Table, id_of: Callable[[int], int], said: str) -> None:
    """Ids that the table never gave out, or those of columns of other types; nothing of it can be mended."""
    planting.with_ids(on_disk(table), id_of)
    plant(table, first(lambda f: replace(f, bytes=on_disk(table).stat().st_size)))
    found = only(table, kinds.FOREIGN_COLUMNS)
    assert said in found.message
    assert not found.mendable


def test_a_path_in_two_manifests(table: Table) -> None:
    """Its rows would be read twice."""
    files = list(table.files())
    manifests = [planting.manifest(table, files), planting.manifest(table, files[1:2])]
    planting.plant_manifests(table, manifests)
    for deep in (False, True):
        found = only(table, kinds.DUPLICATE_PATH, deep=deep)
        assert (found.where, found.versions) == (files[1].path, (3,))


def test_a_path_twice_in_one_manifest(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers refuse such a manifest; the check says why."""
    with monkeypatch.context() as patched:
        patched.setattr(manifest_file, "check_paths", lambda *_: None)
        plant(table, lambda files: [*files, files[0]])
    found = only(table, kinds.DUPLICATE_PATH)
    assert found.where == table.state.manifests[0].path


def test_a_row_id_overlap(table: Table) -> None:
    """Two rows would have one id."""
    plant(table, lambda files: [replace(files[0], first_row_id=files[1].first_row_id), *files[1:]])
    for deep in (False, True):
        found = only(table, kinds.ROW_ID_OVERLAP, deep=deep)
        assert "rows of the file have the ids 8 to 15" in found.message


def test_rows_that_keep_their_ids_do_not_overlap(table: Table) -> None:
    """A rewritten file has the ids of its rows in a column: nobody has those of its range."""
    table.delete("n = 3 OR n = 1003")
    moved = [f.path for f in table.files() if f.added_version == 3]
    files = sorted(table.files(), key=lambda f: f.path not in moved)

    def overlapping(_: list[DataFile]) -> list[DataFile]:
        return [replace(files[0], first_row_id=files[-1].first_row_id), *files[1:]]

    plant(table, overlapping)
    assert table.check() == []


def test_a_flipped_byte_in_a_manifest(table: Table) -> None:
    """It is damaged, and all versions that name it are named."""
    path = Path(table.location) / core_of(table).log.load(1).manifests[0].path
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    for deep in (False, True):
        found = only(table, kinds.DAMAGED_MANIFEST, deep=deep)
        assert found.versions == (1, 2)
        assert not found.mendable


# --- and others --------------------------------------------------------------------------------------------------


def test_row_ids_that_were_not_given_out(table: Table) -> None:
    """The next append would give them to other rows."""
    plant(table, lambda files: [replace(files[0], first_row_id=10_000), *files[1:]])
    assert "up to 10,007, and ids were given out up to 39 only" in only(table, kinds.ROW_ID_BEYOND).message


def test_another_number_of_rows(table: Table) -> None:
    """An entry of fewer rows than its file has cannot be mended: which ids the others have, nobody knows."""
    plant(table, first(lambda f: replace(f, rows=f.rows - 1)))
    assert not only(table, kinds.WRONG_ROWS).mendable


def test_null_in_a_required_column(tmp_path: Path) -> None:
    """Rows that another program wrote without looking."""
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), ("n", pa.int64())])
    table = coalesce.create(tmp_path / "t", schema)
    table.append(pa.table({"k": [1, 2], "n": [3, 4]}, schema=schema))
    found = pq.ParquetFile(on_disk(table))
    fields = [f.with_nullable(True) for f in found.schema_arrow]
    ids = pa.array([1, None])
    pq.write_table(
        pa.table([ids, found.read().column(1)], schema=pa.schema(fields)), on_disk(table), store_schema=False
    )
    assert "the required column 'k' is NULL in 1 rows" in " ".join(f.message for f in table.check(deep=True))


def test_a_range_that_is_too_narrow(table: Table) -> None:
    """Queries would leave out the manifest by it."""
    ref = planting.manifest(table, list(table.files()))
    assert ref.bounds is not None
    narrow: tuple[FieldBounds, ...] = (replace(ref.bounds[0], upper=ref.bounds[0].lower), *ref.bounds[1:])
    planting.plant_manifests(table, [replace(ref, bounds=narrow)])
    assert table.count("dt = DATE '2026-05-18'") == 0
    assert only(table, kinds.WRONG_RANGE, deep=False).mendable


def test_a_damaged_version_keeps_nobody_from_the_others(table: Table) -> None:
    """The rest of the table is looked at all the same."""
    path = Path(table.location) / version_path(1)
    path.write_bytes(path.read_bytes().replace(b'"append"', b'"appenD"'))
    on_disk(table, 0).unlink()
    found = table.check()
    assert [(f.kind, f.versions) for f in found] == [(kinds.DAMAGED_VERSION, (1,)), (kinds.MISSING_FILE, (2,))]


def test_a_missing_version(table: Table) -> None:
    """Between others that are there, one must not be missing."""
    (Path(table.location) / version_path(1)).unlink()
    assert [(f.kind, f.versions) for f in table.check()] == [(kinds.MISSING_VERSION, (1,))]


def test_a_history_that_was_replaced(table: Table) -> None:
    """A version that follows another one than the one before it, at an earlier time."""
    version = replace(table.state, parent_commit_id="another", timestamp_ms=1)
    (Path(table.location) / version_path(2)).write_bytes(encode_version(version))
    found = table.check()
    assert planting.kinds(found) == [kinds.BROKEN_HISTORY]
    assert len(found) == 2


@pytest.mark.parametrize("hint", ["77", "seven"])
def test_a_hint_that_names_no_version(table: Table, hint: str) -> None:
    """A lost or a late hint is as it may be, one that names nothing is not."""
    path = Path(table.location) / LATEST_HINT
    path.write_text("1")
    assert table.check() == []
    path.write_text(hint)
    assert only(table, kinds.WRONG_HINT).mendable
    path.unlink()
    assert table.check() == []


def test_versions_that_have_expired_are_not_looked_at(table: Table) -> None:
    """Nor are their files, unless a tag keeps them."""
    table.tag("kept", version=1)
    table.truncate()
    table.expire("0s", keep_last=1, force=True)
    assert table.check(deep=True) == []
    gone = table.at(version=1).files()[0].path
    (Path(table.location) / gone).unlink()
    assert [(f.kind, f.versions) for f in table.check()] == [(kinds.MISSING_FILE, (1,))]


def test_links_are_followed_as_readers_do(table: Table) -> None:
    """A file that a listing does not show is looked up before it is said to be missing."""
    path = on_disk(table)
    aside = path.with_suffix(".elsewhere")
    path.rename(aside)
    os.symlink(aside, path)
    assert table.check(deep=True) == []


class Counting(LocalStorage):
    """Counts what is asked of it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.asked: list[tuple[str, str]] = []

    def read(self, path: str) -> bytes:
        """Note it, and read."""
        self.asked.append(("read", path))
        return super().read(path)

    def size(self, path: str) -> int:
        """Note it, and look."""
        self.asked.append(("size", path))
        return super().size(path)

    def list(self, prefix: str, start_after: str | None = None) -> Listing:
        """Note it, and list."""
        self.asked.append(("list", prefix))
        return super().list(prefix, start_after)


def test_nothing_is_asked_of_the_store_twice(tmp_path: Path) -> None:
    """Each manifest is read once, whatever versions name it, and files are looked up in one listing."""
    storage = Counting(tmp_path)
    table = create(storage)
    for number in range(30):
        add_files(table, [f"app-{number}", "web"])
    for path in table.plan().paths():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(b"." * 100)
    storage.asked.clear()
    assert table.check() == []
    manifests = [path for verb, path in storage.asked if verb == "read" and "/manifests/" in path]
    assert len(manifests) == len(set(manifests)) >= 30
    assert sum(verb == "list" and path == "data" for verb, path in storage.asked) == 1
    assert not any(verb == "size" for verb, _ in storage.asked)


def test_a_check_changes_nothing(table: Table) -> None:
    """A table that nobody may write to can be checked, also one that was opened at a version."""
    before = {p: p.read_bytes() for p in Path(table.location).rglob("*") if p.is_file()}
    assert table.at(version=1).check(deep=True) == []
    assert {p: p.read_bytes() for p in Path(table.location).rglob("*") if p.is_file()} == before


def test_dates_that_became_timestamps_in_a_version_that_has_expired(tmp_path: Path) -> None:
    """Entries made before it hold days, whether the versions in which the column was a date are kept or not."""
    days = pa.table({"d": pa.array([date(2026, 5, 17), None, date(1969, 12, 31)]), "n": [1, 2, 3]})
    table = coalesce.create(tmp_path / "t", days.schema, partition_by=["d"])
    table.append(days)
    table.widen_column("d", "timestamp_ntz")
    table.append([{"d": datetime(2026, 5, 17, 8), "n": 4}])
    table.expire("0s", keep_last=1, force=True)
    assert not table.check(deep=True)


def test_integers_that_became_wider_in_a_version_that_has_expired(tmp_path: Path) -> None:
    """Near the least integer, truncate depends on the width, and tuples were made in the old one."""
    numbers = pa.table({"k": pa.array([-(2**31), 7], pa.int32())})
    table = coalesce.create(tmp_path / "t", numbers.schema, partition_by=["truncate(10, k)"])
    table.append(numbers)
    table.widen_column("k", "int64")
    assert not table.check(deep=True)
    table.expire("0s", keep_last=1, force=True)
    assert not table.check(deep=True)


def test_a_column_that_came_and_went_in_versions_that_have_expired(tmp_path: Path) -> None:
    """Files still have it. That the first version has a tag does not say that all after it are known."""
    table = coalesce.create(tmp_path / "t", pa.schema([("n", pa.int64())]))
    table.tag("first", version=0)
    table.add_column("c", "int64")
    table.append([{"n": 1, "c": 2}])
    table.drop_column("c")
    table.append([{"n": 3}])
    assert not table.check(deep=True)
    table.expire("0s", keep_last=1, force=True)
    assert not table.check(deep=True)


def test_a_damaged_name_of_a_column_is_a_finding(table: Table) -> None:
    """It is not even a text any more, wherever in the footer it stands."""
    path = table.files()[0].path
    file = Path(table.location) / path
    name = pq.read_schema(file).names[-1].encode()
    data = file.read_bytes()
    file.write_bytes(data.replace(name, name[:-1] + b"\xf0"))
    assert data != file.read_bytes()
    assert only(table, kinds.UNREADABLE_FILE).where == path
    with pytest.raises(CoalesceError, match="cannot be read"):
        table.scan().to_arrow()


def test_a_version_that_a_listing_has_missed_is_looked_up(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that is read while versions are created may show a later one and not an earlier."""
    storage = core_of(table).storage
    listing = type(storage).list

    def late(self: LocalStorage, prefix: str, start_after: str | None = None) -> Listing:
        return [file for file in listing(self, prefix, start_after) if file.path != version_path(1)]

    monkeypatch.setattr(type(storage), "list", late)
    assert not table.check()
    os.remove(os.path.join(storage.uri(""), version_path(1)))
    assert [(f.kind, f.versions) for f in table.check()] == [(kinds.MISSING_VERSION, (1,))]


def test_a_hint_whose_version_expires_meanwhile_is_not_wrong(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was read before, and there is another one by now."""
    storage = core_of(table).storage
    hints = [b"77"]
    read = type(storage).read

    def moving(self: LocalStorage, path: str) -> bytes:
        return hints.pop() if path == LATEST_HINT and hints else read(self, path)

    monkeypatch.setattr(type(storage), "read", moving)
    assert not table.check()


def test_a_table_that_is_gone_is_not_sound(table: Table) -> None:
    """Nothing is wrong with no versions at all, but neither is there a table."""
    shutil.rmtree(table.location)
    for deep in (False, True):
        with pytest.raises(TableNotFound):
            table.check(deep)


@pytest.mark.parametrize("progress", [5, "yes", True])
def test_progress_has_to_be_a_function(table: Table, progress: object) -> None:
    """Of everything that tells how far it is; said before it begins."""
    for keep in (table.check, table.repair, table.expire, table.vacuum):
        with pytest.raises(InvalidArgument, match="progress= is a function"):
            keep(progress=progress)  # type: ignore[arg-type]


def test_progress_is_told(table: Table) -> None:
    """Up to the number of files there are."""
    told: list[tuple[int, int]] = []
    table.check(deep=True, progress=lambda done, total: told.append((done, total)))
    assert told == [(n, 4) for n in range(1, 5)]


def test_a_finding_for_people() -> None:
    """Versions in a row are told as such, and a listing turns into a data frame."""
    assert ranges((1, 2, 3, 5, 7, 8)) == "versions 1 to 3, 5 and 7 to 8"
    assert ranges((4,)) == "version 4"
    finding = coalesce.Finding(kind=kinds.MISSING_FILE, where="data/a", versions=(1, 2), message="It is gone.")
    assert repr(finding) == "<missing-file in versions 1 to 2: It is gone.>"
    assert findings([finding]).to_pandas().versions[0].tolist() == [1, 2]


def test_a_copy_is_another_table(table: Table, tmp_path: Path) -> None:
    """What is remembered of one place is not believed of another."""
    assert table.check(deep=True) == []
    shutil.copytree(table.location, tmp_path / "copy")
    copy = coalesce.open(tmp_path / "copy")
    on_disk(copy).unlink()
    assert only(copy, kinds.MISSING_FILE).where == copy.files()[0].path
    assert table.check() == []


class Meanwhile(LocalStorage):
    """Lets something happen just before the data files are listed."""

    happens: Callable[[], None] | None = None

    def list(self, prefix: str, start_after: str | None = None) -> Listing:
        """Let it happen, once, and list."""
        if prefix == DATA and self.happens is not None:
            happens, self.happens = self.happens, None
            happens()
        return super().list(prefix, start_after)


def test_what_expires_meanwhile_is_not_missed(table: Table) -> None:
    """Versions and files that are let go while a check is under way are no findings."""
    table.overwrite(rows(2_000))
    storage = Meanwhile(Path(table.location))

    def vacuumed() -> None:
        table.expire("0s", keep_last=1, force=True)
        assert table.vacuum("0s", force=True).files > 0

    storage.happens = vacuumed
    assert Table(storage, Engines(ArrowEngine())).check(deep=True) == []
    assert storage.happens is None


class Sound(LogicalOperations):
    """Any sequence of operations, and after each the table is sound."""

    @invariant()
    def is_sound(self) -> None:
        """In every version, shallow and deep."""
        if hasattr(self, "table"):
            assert self.table.check() == []
            assert self.table.check(deep=True) == []


def test_any_sequence_of_operations_leaves_a_sound_table() -> None:
    """Specs, rules and logical partitions of every kind, against the second opinion and the check."""
    run_state_machine_as_test(Sound, settings=settings(max_examples=examples(4), stateful_step_count=8, deadline=None))


def test_a_deep_check_of_many_logical_partitions_is_linear(tmp_path: Path) -> None:
    """Of one file with 20,000 of them, a third dead: looked up one by one in a list, they would take half a minute."""
    count = 20_000
    schema = pa.schema([("app", pa.string()), ("n", pa.int64())])
    rule, by = coalesce.small("app"), {"remove.by": "mark"}
    table = coalesce.create(tmp_path / "many", schema, partition_by=["app"], rule=rule, properties=by)
    table.append(pa.table({"app": [f"app-{i:06}" for i in range(count)], "n": range(count)}))
    gone = [f"app-{i:06}" for i in range(0, count, 3)]
    table.delete(coalesce.col("app").isin(gone))
    assert table.state.dead_rows == len(gone)
    started = time.process_time()
    assert list(table.check(deep=True)) == []
    assert time.process_time() - started < 5
