"""Exports after each commit, and what a vacuum leaves to the readers of an export."""

import json
import os
import time
import warnings
from datetime import date
from pathlib import Path

import pytest

import coalesce
from coalesce.errors import CorruptMetadata, InvalidArgument, NotInstalled
from coalesce.table import exports
from tests.interop.export.tables import delta, files, iceberg, ours, rows, shared


def both(table: coalesce.Table) -> tuple[list[int], list[int]]:
    """What readers of either format see."""
    return iceberg(table.location), delta(table.location)


def test_every_commit_is_exported(tmp_path: Path) -> None:
    """Rows, columns, removals: what is committed is what other readers see; the result is that of the commit."""
    table = shared(tmp_path / "t")
    table.set_properties({"export.auto": "iceberg, delta"})
    assert both(table) == (ours(table), ours(table))
    assert table.append(rows(2)).rows_added == 20
    assert both(table) == (ours(table), ours(table))
    result = table.drop_partition(dt=date(2026, 5, 1), app="app-1")
    assert (result.operation, result.rows_removed, result.committed) == ("drop_partition", 5, True)
    assert len(ours(table)) == 35
    assert both(table) == (ours(table), ours(table))
    table.compact()
    table.truncate()
    assert both(table) == ([], [])
    table.set_properties({"export.auto": None})
    table.append(rows(3))
    assert both(table) == ([], [])


def test_an_export_that_fails_is_a_warning(tmp_path: Path) -> None:
    """The commit is made, and says why other readers see an older version."""
    table = shared(tmp_path / "t", **{"export.auto": "delta"})
    table.add_column("country", "string")
    before = delta(table.location)
    with pytest.warns(RuntimeWarning, match=r"version 3 of .* is committed, but it was not exported to delta"):
        table.add_column("zone", "string", default="EU")
    assert table.version == 3
    assert delta(table.location) == before


def test_a_library_that_breaks_cannot_fail_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it raises is a warning."""
    table = shared(tmp_path / "t", **{"export.auto": "iceberg"})

    def breaks(*_: object) -> None:
        raise ZeroDivisionError("in somebody else's code")

    monkeypatch.setattr(exports, "export", breaks)
    with pytest.warns(RuntimeWarning, match="ZeroDivisionError: in somebody else's code"):
        assert table.append(rows(2)).committed


def test_formats_that_there_are(tmp_path: Path) -> None:
    """The property is checked when it is set."""
    table = shared(tmp_path / "t")
    with pytest.raises(InvalidArgument, match=r"the property 'export\.auto' is 'iceberg' or 'delta'"):
        table.set_properties({"export.auto": "iceberg,hudi"})


def test_without_pyiceberg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra: a sentence says what to install."""
    table = shared(tmp_path / "t")

    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name="pyiceberg")

    monkeypatch.setattr("coalesce.table.exports.importlib.import_module", missing)
    with pytest.raises(NotInstalled, match=r"takes PyIceberg; install coalesce-tables\[iceberg\]"):
        table.export_iceberg()


def old(table: coalesce.Table) -> None:
    """Make every file of the table a week old."""
    for path in Path(table.location).rglob("*"):
        if path.is_file():
            os.utime(path, (time.time() - 8 * 86_400,) * 2)


def test_a_vacuum_keeps_what_an_export_names(tmp_path: Path) -> None:
    """While readers of the other format see a version, its files stay, though the version itself has expired."""
    table = shared(tmp_path / "t")
    table.export_iceberg()
    table.export_delta()
    table.overwrite(rows(2))
    table.overwrite(rows(3))
    table.expire("0s", keep_last=1, force=True)
    old(table)
    assert {Path(path).parts[0] for path in table.vacuum().paths} == {"_coalesce", "data"}
    assert len(files(table, "data")) == 2
    assert both(table)[0] == both(table)[1] == sorted(rows(1)["n"].to_pylist())
    table.export_iceberg()
    old(table)
    assert table.vacuum().files == 0
    table.drop_export("delta")
    old(table)
    assert table.vacuum().files == 2  # the file of the first version, and its manifest
    assert iceberg(table.location) == ours(table)
    assert not table.check()


def test_a_record_that_cannot_be_read_stops_a_vacuum(tmp_path: Path) -> None:
    """What an export needs is not known then, so nothing is deleted; the way out is said."""
    table = shared(tmp_path / "t")
    table.export_delta()
    [record] = files(table, "_coalesce/exports")
    place = Path(table.location, record)
    said = json.loads(place.read_text())
    place.write_text("{}")
    with pytest.raises(CorruptMetadata, match="it does not say which files an export needs; delete it"):
        table.vacuum()
    said["manifests"][0]["path"] = "_coalesce/manifests/gone.parquet"
    place.write_text(json.dumps(said))
    with pytest.raises(CorruptMetadata, match="it is missing although an export needs it"):
        table.vacuum()


def test_a_version_that_expires_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files may be gone by then, so the export says that it has to be made again."""
    table = shared(tmp_path / "t")
    other = coalesce.open(table.location)
    real = exports.export

    def slow(*arguments: object) -> object:
        other.overwrite(rows(2))
        other.expire("0s", keep_last=1, force=True)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("coalesce.table.exporting.export", slow)
    with pytest.raises(coalesce.CommitConflict, match="has expired while it was exported; export again"):
        table.export_delta()
    monkeypatch.undo()
    table.export_delta()
    assert delta(table.location) == ours(table)


def test_no_warning_where_all_is_well(tmp_path: Path) -> None:
    """Libraries underneath are not heard of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = shared(tmp_path / "t", **{"export.auto": "iceberg,delta"})
    assert iceberg(table.location) == delta(table.location) == ours(table)
