"""A log of Delta that is damaged, or that somebody else went on with: it is told, and the way out works."""

from pathlib import Path

import pytest

from coalesce.errors import CorruptMetadata, ExportRefused
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
