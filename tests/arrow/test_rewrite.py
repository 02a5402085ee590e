import tempfile
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalesce
from coalesce.arrow import encode
from coalesce.arrow.rewrite import rewrite
from coalesce.arrow.scan import ArrowScan
from coalesce.arrow.write import write
from coalesce.errors import NeedsSpark
from coalesce.model.datafile import DataFile
from coalesce.model.rule import Group, KeepAll, small
from coalesce.model.schema import Schema
from coalesce.model.spec import Spec, parse_partition_fields
from coalesce.predicate.expr import FALSE, TRUE
from coalesce.storage.local import LocalStorage
from coalesce.table.engine import Rewritten, Snapshot
from tests.arrow.generated import plain_rows, predicates, tables
from tests.arrow.test_scan import matching_rows
from tests.builders import bound, make_plan_over, make_snapshot, make_version
from tests.checker import check_files

ROWS = pa.table({"app": ["a", "a", "b", None, "", "[#small]", "c"], "n": range(7)})


def all_of(rewritten: Rewritten) -> list[DataFile]:
    """The files that stand for those that were to be rewritten."""
    return [*rewritten.added, *rewritten.untouched]


def written(directory: Path) -> tuple[Snapshot, DataFile]:
    """`ROWS` in one shared file that a commit has given row ids from 100 and version 3."""
    snapshot = make_snapshot(directory, make_version(ROWS.schema, ["app"], small("app")))
    (file,) = write(snapshot, ROWS)
    return snapshot, replace(file, first_row_id=100, added_version=3)


def stored(directory: Path, file: DataFile) -> pa.Table:
    """The file's columns as they are."""
    return pq.read_table(directory / file.path, partitioning=None)


@given(st.data())
def test_what_is_left_is_what_did_not_match(data: st.DataObject) -> None:
    """For any table and predicate, the new files hold exactly the other rows, and their entries are right."""
    generated = data.draw(tables())
    predicate = data.draw(predicates(generated))
    with tempfile.TemporaryDirectory() as directory:
        snapshot = make_snapshot(Path(directory), generated.version)
        files = write(snapshot, generated.rows)
        try:
            left = all_of(rewrite(snapshot, files, predicate))
        except NeedsSpark:
            assert "Opaque" in str(predicate)
            assert {f.path for f in snapshot.storage.list("")} == {f.path for f in files}
            return
        check_files(snapshot.storage, generated.version, left)
        assert len(left) <= len(files)
        found = ArrowScan(snapshot, make_plan_over(generated.version, left)).to_arrow()
        dropped = matching_rows(generated, predicate, None)
        assert sorted(plain_rows(found) + dropped) == sorted(plain_rows(generated.rows))


@pytest.mark.parametrize("app", ["a", "b", None, "", "[#small]"])
def test_one_logical_partition_goes_and_the_others_stay(tmp_path: Path, app: str | None) -> None:
    """Out of a shared file: NULL, the empty string and `[#small]` each by itself, the other rows as they were."""
    snapshot, file = written(tmp_path)
    condition = "app IS NULL" if app is None else f"app = '{app}'"
    (left,) = rewrite(snapshot, [file], bound(snapshot.version, condition)).added
    assert left.tuples == tuple(t for t in file.tuples or () if t != (app,))
    assert left.physical_key == (Group("[#small]"),)
    assert (left.spec_id, left.rule_id, left.complete) == (file.spec_id, file.rule_id, True)
    check_files(snapshot.storage, snapshot.version, [left])
    before = [row for row in stored(tmp_path, file).to_pylist() if row["app"] != app]
    assert stored(tmp_path, left).select(["n", "app"]).to_pylist() == before


def test_rows_keep_their_ids_and_versions(tmp_path: Path) -> None:
    """They are materialized with the rows, and survive a second rewrite under another first row id."""
    snapshot, file = written(tmp_path)
    first = {row["n"]: 100 + i for i, row in enumerate(stored(tmp_path, file).to_pylist())}
    (once,) = rewrite(snapshot, [file], bound(snapshot.version, "app = 'a'")).added
    assert once.first_row_id is None
    (twice,) = rewrite(
        snapshot, [replace(once, first_row_id=500, added_version=4)], bound(snapshot.version, "app IS NULL")
    ).added
    for left in (once, twice):
        rows = stored(tmp_path, left).to_pylist()
        assert {row["n"]: row["_row_id"] for row in rows} == {row["n"]: first[row["n"]] for row in rows}
        assert {row["_row_commit_version"] for row in rows} == {3}
    assert stored(tmp_path, twice).num_rows == 4


def test_rows_that_never_had_ids_get_none(tmp_path: Path) -> None:
    """A file whose first row id is unknown has nothing to keep; its rows get ids at the commit."""
    snapshot, file = written(tmp_path)
    (left,) = rewrite(
        snapshot, [replace(file, first_row_id=None, added_version=None)], bound(snapshot.version, "n = 0")
    ).added
    assert stored(tmp_path, left).column_names == ["n", "app"]


def test_lineage_is_no_column_of_the_table(tmp_path: Path) -> None:
    """A scan of a rewritten file shows the table's columns only."""
    snapshot, file = written(tmp_path)
    left = rewrite(snapshot, [file], bound(snapshot.version, "n = 0")).added
    assert ArrowScan(snapshot, make_plan_over(snapshot.version, left)).to_arrow().column_names == ["app", "n"]


def test_nothing_left_is_no_file(tmp_path: Path) -> None:
    """A file all of whose rows go is not replaced; one of which none go stays."""
    snapshot, file = written(tmp_path)
    assert rewrite(snapshot, [file], TRUE) == Rewritten([], [])
    assert len(snapshot.storage.list("")) == 1
    assert rewrite(snapshot, [file], FALSE) == Rewritten([], [file])
    assert rewrite(snapshot, [], TRUE) == Rewritten([], [])


def test_rows_on_which_the_condition_is_null_stay(tmp_path: Path) -> None:
    """Only TRUE deletes: `app <> 'a'` is NULL where app is."""
    snapshot, file = written(tmp_path)
    (left,) = rewrite(snapshot, [file], bound(snapshot.version, "app <> 'a'")).added
    assert left.tuples == ((None,), ("a",))


def test_each_file_stays_under_its_own_spec_and_rule(tmp_path: Path) -> None:
    """Rewriting is not compacting: an old file keeps its old layout."""
    snapshot, old = written(tmp_path)
    version = snapshot.version
    spec = Spec(1, parse_partition_fields(["bucket(2, n)"], version.schema, version.spec.fields))
    now = replace(
        version, specs=(*version.specs, spec), current_spec_id=1, rules=(*version.rules, KeepAll(1)), current_rule_id=1
    )
    snapshot = replace(snapshot, version=now)
    new = write(snapshot, ROWS)
    left = all_of(rewrite(snapshot, [old, *new], bound(now, "n = 3")))
    assert [(f.spec_id, f.rule_id) for f in left] == [(0, 0), *[(1, 1)] * len(new)]
    check_files(snapshot.storage, now, left)


def test_adopted_partition_columns_are_materialized(tmp_path: Path) -> None:
    """A Hive-style file gets its partition columns when it is written again."""
    version = make_version(pa.schema([("n", pa.int64()), ("app", pa.string())]), ["app"])
    pq.write_table(pa.table({"n": [1, 2]}), tmp_path / "f.parquet")
    file = DataFile(path="f.parquet", spec_id=0, rows=2, bytes=1000, tuples=(("A",),), complete=True)
    snapshot = make_snapshot(tmp_path, version)
    (left,) = rewrite(snapshot, [file], bound(version, "n = 1 OR n = 7")).added
    assert stored(tmp_path, left).to_pylist() == [{"n": 2, "app": "A"}]
    assert (left.tuples, left.tuple_rows, left.rule_id, left.physical_key) == ((("A",),), (1,), None, None)


def test_a_spec_whose_column_was_dropped(tmp_path: Path) -> None:
    """The rows are kept; tuples that can't be computed any more are unknown."""
    snapshot, file = written(tmp_path)
    left_columns = Schema(tuple(f for f in snapshot.version.schema if f.name != "app"))
    snapshot = replace(snapshot, version=replace(snapshot.version, schema=left_columns))
    (left,) = rewrite(snapshot, [file], bound(snapshot.version, "n = 3")).added
    assert (left.tuples, left.complete, left.rows) == (None, False, 6)


def test_a_physical_key_does_not_outlive_its_spec(tmp_path: Path) -> None:
    """Rows that have to change to the current spec, for a column of theirs is gone, lie wherever they lie."""
    table = coalesce.create(
        tmp_path, pa.schema([("app", pa.string()), ("s", pa.string()), ("n", pa.int64())]), partition_by=["app"]
    )
    table.append(pa.table({"app": ["a", "a", "a"], "s": ["x", "y", "z"], "n": [1, 2, 3]}))
    table.evolve(replace={"app": "s"})
    table.drop_column("app")
    table.delete("n = 3")
    (left,) = table.files()
    assert (left.spec_id, left.physical_key, left.tuples) == (1, None, (("x",), ("y",)))
    assert table.scan("s = 'y'").to_arrow().to_pylist() == [{"s": "y", "n": 2}]


def test_tuple_order_is_claimed_only_if_it_holds(tmp_path: Path) -> None:
    """Rows keep their order in a rewrite, so an unsorted file stays one."""
    version = make_version(ROWS.schema, ["app"], small("app"))
    mixed = pa.table({"n": [1, 2, 3, 7], "app": ["b", "a", "b", "a"]})
    pq.write_table(mixed, tmp_path / "f.parquet")
    file = DataFile(path="f.parquet", spec_id=0, rows=4, bytes=1000)
    snapshot = make_snapshot(tmp_path, version)
    (left,) = rewrite(snapshot, [file], bound(version, "n = 7")).added
    assert encode.TUPLE_ORDER not in (pq.read_metadata(tmp_path / left.path).metadata or {})
    assert (left.tuples, left.tuple_rows) == ((("b",), ("a",)), (2, 1))
    (left,) = rewrite(snapshot, [file], bound(version, "n = 1 OR n = 7")).added
    assert encode.TUPLE_ORDER in pq.read_metadata(tmp_path / left.path).metadata


def test_what_only_spark_knows(tmp_path: Path) -> None:
    """A condition that has to be evaluated on some row is refused, and nothing is written."""
    snapshot, file = written(tmp_path)
    with pytest.raises(NeedsSpark, match="soundex"):
        rewrite(snapshot, [file], bound(snapshot.version, "soundex(app) = 'A'"))
    assert len(LocalStorage(tmp_path).list("")) == 1
