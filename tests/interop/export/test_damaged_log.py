"""A log of Delta that is damaged, or that somebody else went on with: it is told, and the way out works."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coalesce.errors import CorruptMetadata, ExportRefused
from coalesce.interop.export.delta import exporter
from coalesce.table.table import Table
from tests.interop.export.tables import delta, ours, rows, shared

_FOREIGN = '{"commitInfo":{"engineInfo":"somebody else"}}'
_OURS = '{"commitInfo":{"engineInfo":"coalesce"}}'


def _twice(place: Path) -> tuple[Table, Path]:
    """A table that was exported twice, and its log."""
    table = shared(place)
    table.export_delta()
    table.append(rows(2))
    table.export_delta()
    return table, Path(table.location, "_delta_log")


def _drop_and_export(table: Table) -> None:
    assert table.drop_export("delta") > 0
    table.export_delta()
    assert delta(table.location) == ours(table)


@pytest.mark.parametrize(
    "line", ["[1]", "3", "null", '{"add":{}}', '{"add":[]}', '{"txn":3}', '{"remove":{"path":[]}}', "{", "\xff"]
)
def test_a_line_that_is_no_action(tmp_path: Path, line: str) -> None:
    """Whatever it is, it is told by the file's name, and the export can be dropped and made again."""
    table, log = _twice(tmp_path / "t")
    (log / f"{1:020d}.json").write_text(f"{_OURS}\n{line}\n")
    with pytest.raises(CorruptMetadata, match=f"{1:020d}.json.*drop_export"):
        table.export_delta()
    _drop_and_export(table)


def _with_checkpoint(place: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Table, Path]:
    """A table whose last export wrote a checkpoint, and that."""
    monkeypatch.setattr(exporter, "_CHECKPOINT_EVERY", 1)
    table, log = _twice(place)
    monkeypatch.undo()
    table.append(rows(3))
    return table, log / f"{1:020d}.checkpoint.parquet"


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row["add"].update(path=None),
        lambda row: row["add"].update(partitionValues=None),
        lambda row: row["metaData"].update(schemaString="{"),
        lambda row: row["metaData"].update(schemaString=None),
        lambda row: row["metaData"].update(partitionColumns=["nowhere"]),
        lambda row: row["protocol"].update(minReaderVersion=None),
        lambda row: row["txn"].update(version=None),
    ],
)
def test_a_checkpoint_that_holds_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[dict[str, Any]], None]
) -> None:
    """It is Parquet, and no checkpoint: told, and the export can be dropped and made again."""
    table, checkpoint = _with_checkpoint(tmp_path / "t", monkeypatch)
    held = pq.read_table(checkpoint)
    damaged = held.to_pylist()
    for row in damaged:
        with suppress(AttributeError):  # of another kind
            change(row)
    pq.write_table(pa.Table.from_pylist(damaged, held.schema), checkpoint)
    with pytest.raises(CorruptMetadata, match=r"drop_export\('delta'\)"):
        table.export_delta()
    _drop_and_export(table)


@pytest.mark.parametrize("data", [b"", b"PAR1", pa.table({"add": [3], "txn": ["x"]})])
def test_a_checkpoint_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes | pa.Table) -> None:
    """No Parquet, or of other columns."""
    table, checkpoint = _with_checkpoint(tmp_path / "t", monkeypatch)
    if isinstance(data, bytes):
        checkpoint.write_bytes(data)
    else:
        pq.write_table(data, checkpoint)
    with pytest.raises(CorruptMetadata, match=r"checkpoint\.parquet.*drop_export\('delta'\)"):
        table.export_delta()
    _drop_and_export(table)


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"manifests":[{"path":1,"length":2,"digest":"","files":0}]}', '{"manifests":3}']
)
def test_a_record_of_what_an_export_needs(tmp_path: Path, text: str) -> None:
    """A vacuum says which file it is; an export looks at everything instead, and writes it anew."""
    table = shared(tmp_path / "t")
    table.export_delta()
    table.append(rows(2))
    (record,) = Path(table.location, "_coalesce/exports/delta").iterdir()
    record.write_text(text)
    with pytest.raises(CorruptMetadata, match=rf"{record.name}.*delete it, and export again"):
        table.vacuum(dry_run=True)
    assert table.export_delta().files_added == 1
    assert delta(table.location) == ours(table)
    table.vacuum(dry_run=True)


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    """What goes on after a gap is no log, and can be dropped."""
    table, log = _twice(tmp_path / "t")
    (log / f"{1:020d}.json").rename(log / f"{2:020d}.json")
    with pytest.raises(CorruptMetadata, match="is missing"):
        table.export_delta()
    _drop_and_export(table)


def test_somebody_elses_commit(tmp_path: Path) -> None:
    """It is refused, and the export can be dropped once its rows are not wanted."""
    table, log = _twice(tmp_path / "t")
    (log / f"{2:020d}.json").write_text(f"{_FOREIGN}\n")
    with pytest.raises(ExportRefused, match="somebody else has written"):
        table.export_delta()
    _drop_and_export(table)


def test_a_log_that_does_not_say_whose_it_is(tmp_path: Path) -> None:
    """It is left as it is."""
    table = shared(tmp_path / "t")
    first = Path(table.location, "_delta_log", f"{0:020d}.json")
    first.parent.mkdir()
    first.write_text("[1]")
    with pytest.raises(ExportRefused, match="move that directory away"):
        table.drop_export("delta")
    assert first.read_text() == "[1]"
