"""Adopted files that are called as our own writers call theirs: refused, and never deleted by a clean-up."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import coalesce
from coalesce.errors import CorruptMetadata, UnsupportedFeature
from coalesce.interop.adopt import run
from tests.interop.adopt.lakes import digest, lay

ROW = pa.table({"n": [1]})
OURS = f"data/{'0123456789abcdef' * 2}/00000.parquet"


def test_files_called_as_our_own_are_refused(tmp_path: Path) -> None:
    """A table whose metadata is gone, by the directory and by its Delta log; nothing is left behind."""
    table = coalesce.create(tmp_path, ROW.schema)
    table.append(ROW)
    table.append(ROW)
    shutil.rmtree(tmp_path / "_coalesce")
    before = digest(tmp_path)
    with pytest.raises(UnsupportedFeature, match=r"files of a coalesce table.*data/.*\.parquet.*move the files"):
        coalesce.adopt(tmp_path)
    assert digest(tmp_path) == before
    assert not (tmp_path / "_coalesce").exists()


def test_files_called_as_our_own_are_refused_in_a_delta_table(tmp_path: Path) -> None:
    """Its log names them, the first time and again."""
    table = coalesce.create(tmp_path, ROW.schema)
    table.append(ROW)
    table.export_delta()
    shutil.rmtree(tmp_path / "_coalesce")
    with pytest.raises(UnsupportedFeature, match=r"files of a coalesce table.*data/.*\.parquet"):
        coalesce.adopt(tmp_path)
    assert not (tmp_path / "_coalesce").exists()


def test_vacuum_leaves_alone_what_was_adopted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is called, as in a table that was adopted before such names were refused."""
    monkeypatch.setattr(run, "check_names", lambda *_: None)
    table = coalesce.create(tmp_path, ROW.schema)
    table.append(ROW)
    table.append(ROW)
    table.export_delta()
    shutil.rmtree(tmp_path / "_coalesce")
    table = coalesce.adopt(tmp_path).table
    adopted = [tmp_path / file.path for file in table.files()]
    lay(tmp_path, {OURS: ROW})
    table.compact()
    table.expire("0s", keep_last=1, force=True)
    assert OURS in table.vacuum("0s", force=True).paths  # which a dead writer of the table may have left
    assert len(adopted) == 2
    assert all(file.exists() for file in adopted)
    (ledger,) = (tmp_path / "_coalesce/adopted").iterdir()
    ledger.write_bytes(ledger.read_bytes()[:-1])
    with pytest.raises(CorruptMetadata, match="list of adopted files is damaged"):
        table.vacuum("0s", force=True)


def test_files_called_as_our_own_are_told_of_later(tmp_path: Path) -> None:
    """They are not taken in, and a vacuum would delete them: the result says so. The table's own are not told of."""
    lay(tmp_path, {f"app={a}/x.parquet": ROW for a in "ab"})
    table = coalesce.adopt(tmp_path, rule=coalesce.small("app")).table
    table.append([{"n": 2, "app": "a"}])
    table.compact()  # which leaves a file of the table's own to an older version
    assert coalesce.adopt(tmp_path).left_out == ()
    lay(tmp_path, {OURS: ROW, f"{OURS[:-13]}/_SUCCESS": ROW})
    done = coalesce.adopt(tmp_path)
    assert (done.committed, [file.path for file in done.left_out]) == (False, [OURS])
    assert "a vacuum would delete it" in done.left_out[0].reason
    lay(tmp_path, {"app=c/x.parquet": ROW})
    done = coalesce.adopt(tmp_path)
    assert (done.files_added, [file.path for file in done.left_out]) == (1, [OURS])
    (manifest, *_) = sorted((tmp_path / "_coalesce/manifests").iterdir(), key=lambda path: path.stat().st_mtime)
    manifest.write_bytes(b"")
    assert "check() says why" in coalesce.adopt(tmp_path).left_out[0].reason


def test_what_an_export_says_of_dead_rows_is_no_data(tmp_path: Path) -> None:
    """It lies below the root as Parquet, beside the metadata of Iceberg, when the directory is adopted again."""
    lay(tmp_path, {f"app={a}/x.parquet": ROW for a in "ab"})
    table = coalesce.adopt(tmp_path, rule=coalesce.small("app")).table
    table.compact()
    table.set_properties({"remove.by": "mark"})
    table.delete("app = 'a'")
    table.export_iceberg()
    (positions,) = (tmp_path / "metadata/deletes").iterdir()
    lay(tmp_path, {"app=c/x.parquet": ROW})
    done = coalesce.adopt(tmp_path)
    assert (done.files_added, done.table.count(), done.table.schema.names) == (1, 2, ("n", "app"))
    reasons = {file.path: file.reason for file in done.left_out}
    assert "which rows are dead" in reasons[f"metadata/deletes/{positions.name}"]
