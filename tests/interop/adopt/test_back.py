"""Files that come back, or are replaced: rows that the table has removed or written again do not come in again."""

import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import coalesce
from coalesce.errors import CoalesceError
from coalesce.interop.adopt import ledger
from tests.interop.adopt.lakes import lay

BOTH = pa.table({"app": ["a", "a", "b"], "n": [1, 2, 3]})


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A file of two apps, adopted; the rows of one are removed, and lie in it still."""
    lay(tmp_path / "lake", {"one/x.parquet": BOTH})
    table = coalesce.adopt(tmp_path / "lake", partition_by=["app"], scan=True, properties={"remove.by": "mark"}).table
    assert table.delete("app = 'a'").rows_removed == 2
    assert [f.dead_rows for f in table.files()] == [2]
    return tmp_path / "lake"


def test_a_file_with_removed_rows_that_was_gone(lake: Path, tmp_path: Path) -> None:
    """Its removed rows stay removed; it is left out, with the reason, however many adoptions there were meanwhile."""
    (lake / "one").rename(tmp_path / "away")
    done = coalesce.adopt(lake)
    assert (done.files_removed, done.rows_removed, done.table.count()) == (1, 1, 0)
    lay(lake, {"two/y.parquet": BOTH.slice(2)})
    assert coalesce.adopt(lake).files_added == 1
    (tmp_path / "away").rename(lake / "one")
    for more in (False, True, False):  # also when something else is committed
        if more:
            lay(lake, {"two/z.parquet": pa.table({"app": ["c"], "n": [4]})})
        done = coalesce.adopt(lake, scan=True)
        assert (done.committed, done.files_added, done.passed_over) == (more, int(more), 0)
        assert [(f.path, "the table had removed rows of it" in f.reason) for f in done.left_out] == [
            ("one/x.parquet", True)
        ]
        assert done.table.count("app = 'a'") == 0
    shutil.copy(lake / "one/x.parquet", lake / "two/under another name.parquet")
    assert coalesce.adopt(lake, scan=True).table.count("app = 'a'") == 2  # as the reason says


def test_its_rows_under_another_name(lake: Path) -> None:
    """A file in the place of one with removed rows may hold these: refused, until it lies in a directory of its own."""
    (lake / "one/x.parquet").rename(lake / "one/y.parquet")
    with pytest.raises(CoalesceError, match=r"or removed since are gone.*one/x\.parquet.*directory of their own"):
        coalesce.adopt(lake)
    assert coalesce.open(lake).count("app = 'a'") == 0
    (lake / "one/y.parquet").rename(lake / "away")
    coalesce.adopt(lake)
    (lake / "away").rename(lake / "one/y.parquet")  # and later just so
    with pytest.raises(CoalesceError, match=r"or removed since are gone.*one/x\.parquet"):
        coalesce.adopt(lake)
    lay(lake, {"one/more/y.parquet": BOTH})
    (lake / "one/y.parquet").unlink()
    assert coalesce.adopt(lake, scan=True).table.count() == 3


def test_another_file_under_its_name(lake: Path) -> None:
    """It is refused as a changed one, although it was gone for a while."""
    (lake / "one/x.parquet").unlink()
    assert coalesce.adopt(lake).files_removed == 1
    lay(lake, {"one/x.parquet": BOTH.slice(0, 2)})
    with pytest.raises(CoalesceError, match=r"were changed since they were adopted.*one/x\.parquet"):
        coalesce.adopt(lake)


def _same_size(path: Path, rows: pa.Table) -> None:
    """Another file in the place of one, of as many bytes."""
    size = path.stat().st_size
    pq.write_table(rows, path)
    assert path.stat().st_size == size


def test_a_file_of_equal_size_in_the_place_of_one_that_was_let_go(tmp_path: Path) -> None:
    """Its rows would be missed in silence; its footer tells that it is another."""
    lay(tmp_path, {"app=a/x.parquet": pa.table({"n": [1, 2]}), "app=b/x.parquet": pa.table({"n": [1, 2]})})
    coalesce.adopt(tmp_path, rule=coalesce.small("app")).table.compact()
    os.utime(tmp_path / "app=b/x.parquet", (1, 1))
    assert coalesce.adopt(tmp_path).passed_over == 2  # another time, the same file
    _same_size(tmp_path / "app=a/x.parquet", pa.table({"n": [7, 8]}))
    os.utime(tmp_path / "app=a/x.parquet", (2, 2))
    with pytest.raises(CoalesceError, match=r"were changed since they were adopted.*app=a/x\.parquet"):
        coalesce.adopt(tmp_path)


def test_a_file_of_equal_size_in_the_place_of_one_without_statistics(tmp_path: Path) -> None:
    """An entry that says nothing of values does not tell two files apart; their footers do."""
    path = lay(tmp_path, {"x.parquet": pa.table({"n": ["ab", "ab"]})}, write_statistics=False) / "x.parquet"
    coalesce.adopt(tmp_path)
    size = path.stat().st_size
    for rows in (["abab", ""], ["c", "abc"]):
        pq.write_table(pa.table({"n": rows}), path, write_statistics=False, use_dictionary=False)
        if path.stat().st_size == size:
            break
    path.write_bytes(path.read_bytes())
    os.utime(path, (1, 1))
    with pytest.raises(CoalesceError, match="were changed since they were adopted"):
        coalesce.adopt(tmp_path)


def test_a_list_of_an_earlier_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no footers; the list is read, and a file of another size is still noticed."""
    with monkeypatch.context() as earlier:
        earlier.setattr(ledger, "_COLUMNS", pa.schema(list(ledger._COLUMNS)[:3]))
        lay(tmp_path, {"app=a/x.parquet": pa.table({"n": [1, 2]})})
        coalesce.adopt(tmp_path).table.compact()
    lay(tmp_path, {"app=b/x.parquet": pa.table({"n": [3]})})
    assert coalesce.adopt(tmp_path).files_added == 1
    lay(tmp_path, {"app=a/x.parquet": pa.table({"n": [1, 2, 3]})})
    with pytest.raises(CoalesceError, match="were changed since they were adopted"):
        coalesce.adopt(tmp_path)
