"""What dropping an export of Iceberg deletes, and what it leaves: only what is ours goes, whatever lies beside it."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import coalesce
from coalesce.errors import CorruptMetadata, ExportRefused
from tests.interop.export.tables import files, iceberg, ours, rows, shared


def _beside(place: str, name: str) -> Path:
    """A file of a user's in the directory of Iceberg's metadata."""
    path = Path(place, "metadata", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows(9), path)
    return path


def test_a_users_file_stays_whatever_its_name_is(tmp_path: Path) -> None:
    """Files of position deletes go, since our manifests name them; one that has such a name and is not ours stays."""
    table = shared(tmp_path / "t")
    table.delete("app = 'app-1'")
    mine = _beside(table.location, f"deletes/{'a' * 32}.parquet")
    table.export_iceberg()
    assert len(files(table, "metadata/deletes")) == 2
    table.drop_export("iceberg")
    assert files(table, "metadata") == {f"metadata/deletes/{mine.name}"}


def test_cleaning_leaves_a_users_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deletes that no snapshot names any more are deleted, and nothing else beside them."""
    monkeypatch.setattr("coalesce.interop.export.iceberg.metadata._SNAPSHOTS", 1)
    monkeypatch.setattr("coalesce.interop.export.iceberg.cleaning._DAY_MS", -10_000)
    monkeypatch.setattr("coalesce.interop.export.iceberg.cleaning._METADATA_FILES", 1)
    table = shared(tmp_path / "t")
    mine = _beside(table.location, f"deletes/{'a' * 32}.parquet")
    table.delete("app = 'app-1'")
    table.export_iceberg()
    table.overwrite(rows(2))
    table.export_iceberg()
    assert files(table, "metadata/deletes") == {f"metadata/deletes/{mine.name}"}
    assert iceberg(table.location) == ours(table)


def test_another_tables_metadata_stays(tmp_path: Path) -> None:
    """A catalog's table has metadata files of other names: there, nothing is exported, and nothing is dropped."""
    table = shared(tmp_path / "t")
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    place = tmp_path / "foreign"
    catalog.create_table("db.foreign", rows(1).schema, location=str(place)).append(rows(1))
    (place / "metadata" / "version-hint.text").write_text("1")
    before = sorted(place.rglob("*"))
    with pytest.raises(ExportRefused, match="is no export of this table"):
        table.export_iceberg(location=place)
    with pytest.raises(ExportRefused, match="is no export of this table"):
        table.drop_export("iceberg", location=place)
    assert sorted(place.rglob("*")) == before
    catalog.close()


def test_a_hint_without_our_metadata_stays(tmp_path: Path) -> None:
    """Somebody else's hint is not deleted where nothing was exported."""
    table = shared(tmp_path / "t")
    hint = tmp_path / "place" / "metadata" / "version-hint.text"
    hint.parent.mkdir(parents=True)
    hint.write_text("7")
    assert table.drop_export("iceberg", location=tmp_path / "place") == 0
    assert hint.read_text() == "7"


def test_an_export_that_somebody_wrote_to_can_be_dropped(tmp_path: Path) -> None:
    """What the refusal advises works."""
    table = shared(tmp_path / "t")
    table.export_iceberg()
    metadata = Path(table.location, "metadata", "v1.metadata.json")
    metadata.write_text(metadata.read_text().replace('"coalesce.version"', '"somebody.else"'))
    table.append(rows(2))
    with pytest.raises(ExportRefused, match="somebody else has written"):
        table.export_iceberg()
    table.drop_export("iceberg")
    table.export_iceberg()
    assert iceberg(table.location) == ours(table)


@pytest.mark.parametrize("text", ["{}", "[]", "3", "x", '{"format-version": 2}'])
def test_metadata_that_is_none_is_told(tmp_path: Path, text: str) -> None:
    """It is damage, told by the file's name, whatever PyIceberg makes of it."""
    table = shared(tmp_path / "t")
    table.export_iceberg()
    Path(table.location, "metadata", "v1.metadata.json").write_text(text)
    with pytest.raises(CorruptMetadata, match=r"v1\.metadata\.json"):
        table.export_iceberg()


@pytest.mark.parametrize("kept", [0, 3, 40, 400])
def test_a_damaged_list_of_manifests_is_told(tmp_path: Path, kept: int) -> None:
    """And the way out that it advises works."""
    table = shared(tmp_path / "t")
    table.export_iceberg()
    [listed] = Path(table.location, "metadata").glob("snap-*.avro")
    listed.write_bytes(listed.read_bytes()[:kept])
    table.append(rows(2))
    with pytest.raises(CorruptMetadata, match=r"snap-.*\.avro"):
        table.export_iceberg()
    table.drop_export("iceberg")
    table.export_iceberg()
    assert iceberg(coalesce.open(table.location).location) == ours(table)
