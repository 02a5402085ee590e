"""Exports after commits: a commit that was made never raises for its export."""

import logging
import warnings
from pathlib import Path

import pytest

from coalesce.errors import StorageError
from coalesce.table.exports import ExportSource, export_after_commit
from tests.interop.export.tables import ours, rows, shared


def test_where_warnings_are_errors_the_commit_stands(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged why others see an older version."""
    table = shared(tmp_path / "t", **{"export.auto": "iceberg"})
    Path(table.location, "metadata", "v1.metadata.json").write_text("{}")
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("error")
        table.append(rows(2))
    assert len(ours(table)) == 40
    assert "is committed, but it was not exported to iceberg" in caplog.text


def test_a_version_that_cannot_be_read_again(tmp_path: Path) -> None:
    """Not even finding what to export fails a commit."""

    def source() -> ExportSource:
        raise StorageError(f"{tmp_path} cannot be read.")

    with pytest.warns(RuntimeWarning, match="is committed, but it was not exported"):
        export_after_commit(source)
