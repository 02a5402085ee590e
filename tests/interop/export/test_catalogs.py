"""A catalog's table that somebody else has written to: the export is refused before anything is committed."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.types import StringType

import coalesce
from coalesce.errors import ExportRefused, InvalidArgument
from tests.interop.export.tables import files, ours, rows, shared


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    """A catalog with a namespace."""
    made = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    made.create_namespace("db")
    yield made
    made.close()


def test_rows_that_somebody_else_appended_stay(tmp_path: Path, catalog: SqlCatalog) -> None:
    """Nothing is exported either; what the refusal advises works."""
    table = shared(tmp_path / "t")
    table.export_iceberg(catalog=catalog, identifier="db.t")
    catalog.load_table("db.t").append(rows(7))
    table.append(rows(2))
    before = files(table, "metadata")
    with pytest.raises(ExportRefused, match=r"somebody else has written to the catalog's table 'db\.t'"):
        table.export_iceberg(catalog=catalog, identifier="db.t")
    assert files(table, "metadata") == before
    assert catalog.load_table("db.t").scan().to_arrow().num_rows == 40
    catalog.drop_table("db.t")
    table.export_iceberg(catalog=catalog, identifier="db.t")
    assert sorted(catalog.load_table("db.t").scan().to_arrow().column("n").to_pylist()) == ours(table)


def test_columns_that_somebody_else_added(tmp_path: Path, catalog: SqlCatalog) -> None:
    """Ids of columns and schemas would mean two things."""
    table = shared(tmp_path / "t")
    table.export_iceberg(catalog=catalog, identifier="db.t")
    with catalog.load_table("db.t").update_schema() as update:
        update.add_column("theirs", StringType())
    with pytest.raises(ExportRefused, match="columns that the export has not"):
        table.export_iceberg(catalog=catalog, identifier="db.t")


@pytest.mark.parametrize(("name", "said"), [("nowhere.t", "no namespace for 'nowhere.t'"), ("t", "names no namespace")])
def test_a_namespace_that_is_missing(tmp_path: Path, catalog: SqlCatalog, name: str, said: str) -> None:
    """It is told before anything is exported."""
    table = shared(tmp_path / "t")
    with pytest.raises(InvalidArgument, match=said):
        table.export_iceberg(catalog=catalog, identifier=name)
    assert not files(table, "metadata")
    assert not files(table, "_coalesce/exports")
    table.export_iceberg(catalog=catalog, identifier="db.t")


@pytest.mark.parametrize("times", [1, 2])
def test_an_export_that_was_dropped_since(tmp_path: Path, catalog: SqlCatalog, times: int) -> None:
    """Its numbers begin anew, and the catalog's table is further on, by our metadata at first and then by its own."""
    table = shared(tmp_path / "t")
    for day in range(times):
        table.append(rows(2 + day))
        table.export_iceberg(catalog=catalog, identifier="db.t")
    table.drop_export("iceberg")
    with pytest.raises(ExportRefused, match="the export was dropped since"):
        table.export_iceberg(catalog=catalog, identifier="db.t")
    assert not [name for name in files(table, "metadata") if name.endswith(".avro")]


def test_a_name_with_a_dot_beside_a_struct(tmp_path: Path) -> None:
    """Iceberg knows both by one name."""
    schema = pa.schema([("a.b", pa.int64()), ("a", pa.struct([("b", pa.int64())]))])
    table = coalesce.create(str(tmp_path / "t"), schema)
    with pytest.raises(ExportRefused, match=r"two columns have one name there.*a\.b"):
        table.export_iceberg()
