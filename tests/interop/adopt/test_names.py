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
    """Whatever it is called: the list of adopted files says that it belongs to others."""
    write = run.write_ledger
    monkeypatch.setattr(run, "write_ledger", lambda s, k, files: write(s, k, {**files, OURS: files["x.parquet"]}))
    lay(tmp_path, {"x.parquet": ROW, "y.parquet": ROW})
    table = coalesce.adopt(tmp_path).table
    other = OURS.replace("00000", "00001")
    lay(tmp_path, {OURS: ROW, other: ROW})
    table.compact()
    table.expire("0s", keep_last=1, force=True)
    assert other in table.vacuum("0s", force=True).paths
    assert (tmp_path / OURS).exists()
    (ledger,) = (tmp_path / "_coalesce/adopted").iterdir()
    ledger.write_bytes(ledger.read_bytes()[:-1])
    with pytest.raises(CorruptMetadata, match="list of adopted files is damaged"):
        table.vacuum("0s", force=True)
