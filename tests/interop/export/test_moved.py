"""A table that was moved or copied: Iceberg's metadata has addresses of files, so the next export begins anew."""

import shutil
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

import coalesce
from coalesce.errors import CorruptMetadata, ExportRefused
from tests.interop.export.tables import delta, files, iceberg, ours, rows, shared


@pytest.mark.parametrize("how", [shutil.move, shutil.copytree])
@pytest.mark.parametrize("more", [False, True])
def test_the_next_export_of_a_moved_table(tmp_path: Path, how: object, more: bool) -> None:
    """Readers of the new place see its files, dead rows left out, whether or not there is something new."""
    old = shared(tmp_path / "old")
    old.delete("app = 'app-1'")  # which is a file of positions
    old.export_iceberg()
    old.export_delta(dead_rows="mark")
    how(tmp_path / "old", tmp_path / "new")  # type: ignore[operator]
    table = coalesce.open(tmp_path / "new")
    if more:
        table.append(rows(2))
    result = table.export_iceberg()
    assert (result.written, result.files_added, result.number) == (True, 1 + more, 2)
    assert iceberg(table.location) == ours(table)
    table.export_delta(dead_rows="mark")  # whose paths are relative
    assert delta(table.location) == ours(table)
    assert not table.export_iceberg().written
    table.append(rows(3))
    table.export_iceberg()
    assert iceberg(table.location) == ours(table)
    if (tmp_path / "old").exists():
        assert iceberg(tmp_path / "old") == ours(coalesce.open(tmp_path / "old"))
    table.drop_export("iceberg")
    assert files(table, "metadata") == set()  # those of the old place, too


def test_metadata_elsewhere(tmp_path: Path) -> None:
    """It stays where it is, and the table is moved; or the other way round."""
    shared(tmp_path / "old").export_iceberg(location=tmp_path / "metadata of it")
    (tmp_path / "old").rename(tmp_path / "new")
    table = coalesce.open(tmp_path / "new")
    assert table.export_iceberg(location=tmp_path / "metadata of it").written
    assert iceberg(tmp_path / "metadata of it") == ours(table)
    (tmp_path / "metadata of it").rename(tmp_path / "moved")
    assert table.export_iceberg(location=tmp_path / "moved").written
    assert iceberg(tmp_path / "moved") == ours(table)
    assert not table.export_iceberg(location=tmp_path / "moved").written


def test_a_catalog_that_knows_the_old_place(tmp_path: Path) -> None:
    """Its table leads to where nothing is: refused, with the way out."""
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    shared(tmp_path / "old").export_iceberg(catalog=catalog, identifier="db.t")
    shutil.copytree(tmp_path / "old", tmp_path / "new")
    table = coalesce.open(tmp_path / "new")
    with pytest.raises(ExportRefused, match="or the table was moved; then drop it from the catalog"):
        table.export_iceberg(catalog=catalog, identifier="db.t")
    catalog.drop_table("db.t")
    table.export_iceberg(catalog=catalog, identifier="db.t")
    assert sorted(catalog.load_table("db.t").scan().to_arrow().column("n").to_pylist()) == ours(table)
    catalog.close()


def test_a_file_of_the_export_that_is_missing(tmp_path: Path) -> None:
    """It is told, and the way out works."""
    table = shared(tmp_path / "t")
    table.export_iceberg()
    next(Path(table.location, "metadata").glob("snap-*.avro")).unlink()
    table.append(rows(2))
    with pytest.raises(CorruptMetadata, match=r"snap-.*is missing although the export needs it; drop_export"):
        table.export_iceberg()
    table.drop_export("iceberg")
    table.export_iceberg()
    assert iceberg(table.location) == ours(table)
