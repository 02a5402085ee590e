"""Adopting again: what is new comes in, what is gone goes, in one commit; what the table has let go of stays out."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import coalesce
from coalesce.errors import CoalesceError, CorruptMetadata, FileMissing, InvalidArgument, SchemaError, TableNotFound
from tests.interop.adopt import killed
from tests.interop.adopt.lakes import digest, lay, rows_of

TWO = pa.table({"n": [1, 2]})


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Three apps of two rows, adopted."""
    lay(tmp_path, {f"app={a}/x.parquet": TWO for a in "abc"})
    coalesce.adopt(tmp_path, rule=coalesce.small("app"))
    return tmp_path


def test_one_commit_says_what_changed(lake: Path) -> None:
    """Files that are new, and those that vanished; older versions still name the latter."""
    lay(lake, {"app=d/x.parquet": pa.table({"n": [5], "m": ["new"]}), "app=a/y.parquet": TWO})
    (lake / "app=b/x.parquet").unlink()
    done = coalesce.adopt(lake)
    assert (done.version, done.files_added, done.files_removed, done.rows_added, done.rows_removed) == (1, 2, 1, 3, 2)
    assert done.committed
    assert {p.values["app"]: p.rows for p in done.table.partitions()} == {"a": 4, "c": 2, "d": 1}
    assert done.table.scan("app = 'd'").to_arrow().to_pylist() == [{"n": 5, "app": "d", "m": "new"}]
    assert [v.operation for v in done.table.history()] == ["adopt", "adopt"]
    with pytest.raises(FileMissing, match=r"app=b/x\.parquet"):  # nobody has the rows that went
        done.table.changes(1).to_arrow()
    again = coalesce.adopt(lake)
    assert (again.committed, again.version, again.files_added) == (False, 1, 0)


def test_what_was_let_go_of_is_not_new(lake: Path) -> None:
    """After a compaction, a deletion, an expiry and a vacuum, the old files lie there, and are not taken in again."""
    table = coalesce.open(lake)
    table.delete("app = 'a'")
    table.compact()
    assert len(table.files()) == 1
    table.expire("0s", keep_last=1, force=True)
    table.vacuum("0s", force=True)
    assert (lake / "app=a/x.parquet").exists()
    before = rows_of(table.scan().to_arrow())
    done = coalesce.adopt(lake)
    assert (done.committed, done.passed_over) == (False, 3)
    os.utime(lake / "app=b/x.parquet", (1, 1))
    assert (coalesce.adopt(lake).committed, table.refresh().count()) == (False, 4)
    lay(lake, {"app=a/new.parquet": pa.table({"n": [7]})})
    done = coalesce.adopt(lake)
    assert (done.files_added, done.passed_over) == (1, 3)
    assert rows_of(done.table.scan("n < 7").to_arrow()) == before
    table.refresh()
    table.expire("0s", keep_last=1, force=True)
    assert [p for p in table.vacuum("0s", force=True).paths if "adopted" in p]  # the list that no version needs
    assert coalesce.adopt(lake).passed_over == 3


def test_old_files_may_be_cleaned_up(lake: Path) -> None:
    """Of what was compacted nobody needs the old files; but new ones in their place could be their rows again."""
    coalesce.open(lake).compact()
    (lake / "app=a/x.parquet").unlink()
    assert not coalesce.adopt(lake).committed
    (lake / "app=b/x.parquet").unlink()
    lay(lake, {"app=b/other.parquet": TWO, "app=e/x.parquet": TWO})
    with pytest.raises(CoalesceError, match=r"written again or removed since are gone.*app=b/x\.parquet"):
        coalesce.adopt(lake)
    (lake / "app=b/other.parquet").unlink()
    done = coalesce.adopt(lake)
    assert (done.files_added, done.files_removed) == (1, 0)
    assert done.table.count() == 8


def test_what_was_let_go_of_may_vanish_and_come_back(tmp_path: Path) -> None:
    """Its rows are in files of the table's own, and do not come in a second time."""
    lay(tmp_path, {"lake/dt=1/f.parquet": pa.table({"n": [1]}), "lake/dt=1/g.parquet": pa.table({"n": [2]})})
    lake = tmp_path / "lake"
    coalesce.adopt(lake).table.compact()
    (lake / "dt=1").rename(tmp_path / "away")
    for day in (2, 3):  # one adoption after another remembers it
        lay(lake, {f"dt={day}/h.parquet": pa.table({"n": [day]})})
        assert coalesce.adopt(lake).files_added == 1
    (tmp_path / "away").rename(lake / "dt=1")
    done = coalesce.adopt(lake)
    assert (done.committed, done.passed_over, done.table.count()) == (False, 2, 4)


def test_changed_files_are_refused(lake: Path) -> None:
    """What the table says of a file has to stay true; a copy of the same bytes is no change."""
    data = (lake / "app=a/x.parquet").read_bytes()
    (lake / "app=a/x.parquet").write_bytes(data)
    assert not coalesce.adopt(lake).committed
    pq.write_table(pa.table({"n": [3, 4]}), lake / "app=a/x.parquet")
    with pytest.raises(CoalesceError, match=r"1 files were changed since they were adopted.*app=a/x\.parquet"):
        coalesce.adopt(lake)
    (lake / "app=a/x.parquet").write_bytes(data)
    assert not coalesce.adopt(lake).committed


def test_columns_of_new_files(lake: Path) -> None:
    """Wider types and new columns; but none that the table has dropped, and no other type."""
    lay(lake, {"app=a/y.parquet": pa.table({"n": [2.5]})})
    with pytest.raises(SchemaError, match=r"'n' is int64 in the table, and new files hold double.*app=a/y\.parquet"):
        coalesce.adopt(lake)
    lay(lake, {"app=a/y.parquet": pa.table({"n": [3], "extra": ["e"]})})
    table = coalesce.adopt(lake).table
    assert table.count("extra = 'e'") == 1
    table.drop_column("extra")
    table.rename_column("n", "number")
    lay(lake, {"app=a/z.parquet": pa.table({"n": [4], "extra": ["f"]})})
    done = coalesce.adopt(lake)
    assert done.ignored_columns == ("extra",)
    assert done.table.scan("number = 4").to_arrow().to_pylist() == [{"number": 4, "app": "a"}]


def test_arguments_of_the_first_time(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What the table is like, it knows; and a table that was created is not adopted."""
    with pytest.raises(InvalidArgument, match=r"leave partition_by=, rule= out"):
        coalesce.adopt(lake, rule=coalesce.small("app"), partition_by=["app"])
    other = tmp_path_factory.mktemp("other")
    coalesce.create(other, TWO.schema)
    lay(other, {"x.parquet": TWO})
    with pytest.raises(InvalidArgument, match="was created, not adopted"):
        coalesce.adopt(other)
    with pytest.raises(InvalidArgument, match=r"there is no property 'adopted\.files'"):
        coalesce.open(lake).set_properties({"adopted.files": "mine"})


def test_the_list_of_files_is_covered_by_a_digest(lake: Path) -> None:
    """A damaged list is an error that names it, not other rows."""
    (ledger,) = (lake / "_coalesce/adopted").iterdir()
    data = ledger.read_bytes()
    ledger.write_bytes(data[:-1] + b"!")
    with pytest.raises(CorruptMetadata, match="list of adopted files is damaged"):
        coalesce.adopt(lake)
    ledger.unlink()
    with pytest.raises(CorruptMetadata, match="list of adopted files is missing"):
        coalesce.adopt(lake)


def test_two_at_once(tmp_path: Path) -> None:
    """Whoever comes first makes the table; nobody's files are in it twice, the first time and again."""
    lay(tmp_path, {f"app={a}/x.parquet": TWO for a in range(40)})
    barrier = Barrier(4)

    def adopt(_: int) -> coalesce.AdoptResult:
        barrier.wait()
        return coalesce.adopt(tmp_path)

    with ThreadPoolExecutor(4) as pool:
        first = list(pool.map(adopt, range(4)))
        assert sorted(r.committed for r in first) == [False, False, False, True]
        lay(tmp_path, {f"app={a}/y.parquet": TWO for a in range(40)})
        second = list(pool.map(adopt, range(4)))
    assert sorted(r.committed for r in second) == [False, False, False, True]
    table = coalesce.open(tmp_path)
    assert (table.version, table.count(), len(table.files())) == (1, 160, 80)
    assert list(table.check()) == []
    assert len(list((tmp_path / "_coalesce/adopted").iterdir())) == 2


def test_while_others_write(lake: Path) -> None:
    """A compaction that comes in between is not undone, and nothing is there twice."""
    lay(lake, {f"app={a}/y.parquet": TWO for a in "abc"})
    with ThreadPoolExecutor(2) as pool:
        both = pool.submit(coalesce.open(lake).compact), pool.submit(coalesce.adopt, lake)
        for done in both:
            done.result()
    table = coalesce.open(lake)
    assert table.count() == 12
    assert list(table.check(deep=True)) == []


@pytest.mark.parametrize("number", [1, 2, 3])
def test_killed_half_way(tmp_path: Path, number: int) -> None:
    """There is no table, nothing outside of `_coalesce` has changed, and the next one succeeds."""
    lay(tmp_path, {f"app={a}/x.parquet": TWO for a in "abc"})
    before = digest(tmp_path)
    command = [sys.executable, killed.__file__, str(tmp_path), str(number)]
    assert subprocess.run(command, cwd=Path(__file__).parents[3]).returncode == -9
    assert digest(tmp_path) == before
    with pytest.raises(TableNotFound):
        coalesce.open(tmp_path)
    assert coalesce.adopt(tmp_path).rows_added == 6
    assert coalesce.open(tmp_path).version == 0
