"""Adopted files in an export to Iceberg: PyIceberg reads what the table has, or it is refused with the reason."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder
from pyiceberg.table import StaticTable

import coalesce
from coalesce.errors import CorruptMetadata, ExportRefused
from coalesce.interop.export.iceberg.state import LOCATION
from coalesce.table.table import Table
from tests.interop.adopt.lakes import lay, rows_of

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def theirs(table: Table) -> list[str]:
    """The rows by PyIceberg."""
    return rows_of(StaticTable.from_metadata(table.location).scan().to_arrow())


def ours(table: Table) -> list[str]:
    """The rows by our own reader."""
    return rows_of(table.scan().to_arrow())


def test_columns_that_the_table_lacks(tmp_path: Path) -> None:
    """Left out when it was adopted, found by a later adoption, or dropped: files without ids have them still."""
    deep = pa.array([{"deep": [[("a", 1)]]}], pa.struct([("deep", pa.list_(pa.map_(pa.string(), pa.int64())))]))
    wide = pa.table({"n": [1], "place": [{"city": "Ulm", "code": 1}], "extra": deep})
    lay(tmp_path, {"a.parquet": wide, "b.parquet": wide.drop_columns(["extra"])})
    table = coalesce.adopt(tmp_path, schema=wide.drop_columns(["extra"]).schema).table
    table.export_iceberg()
    assert theirs(table) == ours(table) != []
    table.drop_column("place.code")
    table.rename_column("place.city", "town")
    lay(tmp_path, {"c.parquet": wide.append_column("later", pa.array(["x"]))})
    table = coalesce.adopt(tmp_path).table
    assert "later" not in table.schema.names
    table.export_iceberg()
    assert theirs(table) == ours(table)
    table.drop_column("place")
    table.add_column("place", "string")  # of the old name, and another column
    table.append([{"n": 2, "place": "Oslo"}])
    table.export_iceberg()
    assert theirs(table) == ours(table)
    assert len(ours(table)) == 4
    assert not table.export_iceberg().written


@pytest.mark.parametrize(
    ("value", "type_", "said"),
    [
        (NOON, pa.timestamp("us", "Europe/Berlin"), r"timestamp\[us, tz=Europe/Berlin\]"),
        (b"abc", pa.binary(3), r"fixed_size_binary\[3\]"),
        ("x", pa.dictionary(pa.int32(), pa.string()), "dictionary<values=string"),
        (["x"], pa.list_(pa.dictionary(pa.int32(), pa.string())), "'v.element' is string and stored as dictionary"),
        ("x", pa.string_view(), "string_view"),
        (1, pa.decimal256(10, 2), r"PyIceberg fails \(.*decimal256\(10, 2\)\) on the columns of"),
    ],
)
def test_types_that_pyiceberg_does_not_read(tmp_path: Path, value: Any, type_: pa.DataType, said: str) -> None:
    """Refused with the column and the file; once that is written again, the export is right."""
    lay(tmp_path, {"odd.parquet": pa.table({"n": [1], "v": pa.array([value], type_)})})
    table = coalesce.adopt(tmp_path).table
    with pytest.raises(ExportRefused, match=rf"(?s){said}.*odd\.parquet.*write them again"):
        table.export_iceberg()
    assert not (tmp_path / "metadata").exists()
    table.overwrite(table.scan().to_arrow())
    table.append(table.scan().to_arrow())
    table.export_iceberg()
    assert theirs(table) == ours(table)


def test_a_type_of_a_column_that_the_table_lacks(tmp_path: Path) -> None:
    """PyIceberg fails on the file all the same."""
    rows = pa.table({"n": [1], "v": pa.array([1], pa.decimal256(10, 2))})
    lay(tmp_path, {"odd.parquet": rows})
    table = coalesce.adopt(tmp_path, schema=rows.select(["n"]).schema).table
    with pytest.raises(ExportRefused, match=r"PyIceberg fails \(.*decimal256.*odd\.parquet"):
        table.export_iceberg()


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(
    ("moment", "is_read"), [("1677-10-01", True), ("2262-04-01", True), ("1500-01-01", False), ("2262-05-01", False)]
)
def test_timestamps_of_twelve_bytes(tmp_path: Path, moment: str, is_read: bool, nested: bool) -> None:
    """Those that nanoseconds reach are read as they are; of others PyIceberg would show wrong ones."""
    at = datetime.fromisoformat(moment)
    old = pa.timestamp("us")
    column = pa.array([[{"at": at}], []], pa.list_(pa.struct([("at", old)]))) if nested else pa.array([at, None], old)
    lay(tmp_path, {"x.parquet": pa.table({"n": [1, 2], "v": column})}, use_deprecated_int96_timestamps=True)
    table = coalesce.adopt(tmp_path).table
    if not is_read:
        with pytest.raises(ExportRefused, match=r"column 'v.*12-byte timestamps outside of the years.*x\.parquet"):
            table.export_iceberg()
        table.overwrite(table.scan().to_arrow())
    table.export_iceberg()
    assert theirs(table) == ours(table)


@pytest.mark.parametrize("statistics", [True, False])
def test_a_column_of_directories_that_lies_in_the_files_too(tmp_path: Path, statistics: bool) -> None:
    """With other values there, PyIceberg would show these, and Delta's readers if it is no partition column."""
    agrees = pa.table({"app": ["a", "a"], "n": [1, 2]})
    lay(tmp_path, {"app=a/x.parquet": agrees}, write_statistics=statistics)
    table = coalesce.adopt(tmp_path).table
    table.export_iceberg()
    assert theirs(table) == ours(table)
    lay(tmp_path, {"app=b/x.parquet": agrees}, write_statistics=statistics)
    table = coalesce.adopt(tmp_path).table
    assert table.count("app = 'b'") == 2
    with pytest.raises(ExportRefused, match=r"'app' has other values in its rows than .*app=b/x\.parquet"):
        table.export_iceberg()
    with pytest.raises(ExportRefused, match=r"'app' has other values in its rows than .*app=b/x\.parquet"):
        table.export_delta(partitioned=False)
    table.export_delta()
    found = QueryBuilder().register("t", DeltaTable(table.location)).execute("SELECT * FROM t").read_all()
    assert rows_of(pa.table(found)) == ours(table)


@pytest.mark.parametrize("inside", [False, True])
def test_a_partition_column_of_delta_that_is_one_no_more(tmp_path: Path, inside: bool) -> None:
    """What its partition values told is in no file, or another value is: exported files are looked at again."""
    lay(tmp_path, {"app=a/x.parquet": pa.table({"n": [1], **({"app": ["other"]} if inside else {})})})
    table = coalesce.adopt(tmp_path, rule=coalesce.small("app")).table
    assert table.export_delta().partitioned_by == ("app",)
    table.append([{"n": 2, "app": "b"}, {"n": 3, "app": "c"}])  # which share a file
    with pytest.raises(ExportRefused, match=r"'app' (is not in, but only told|has other values)"):
        table.export_delta()


def test_control_characters_in_names(tmp_path: Path) -> None:
    """delta-rs fails on them, so that is refused; Iceberg's readers do not."""
    lay(tmp_path, {"app=a\nb/x.parquet": pa.table({"n": [1]})})
    table = coalesce.adopt(tmp_path).table
    with pytest.raises(ExportRefused, match="control characters in their names: app=a"):
        table.export_delta()
    table.export_iceberg()
    assert theirs(table) == ours(table)


def test_an_export_of_an_earlier_release(tmp_path: Path) -> None:
    """It did not look at everything: the next export does, once."""
    lay(tmp_path, {"a.parquet": pa.table({"n": [1], "extra": [1]})})
    table = coalesce.adopt(tmp_path, schema=pa.schema([("n", pa.int64())])).table
    table.export_iceberg()
    metadata = tmp_path / "metadata/v1.metadata.json"
    document = json.loads(metadata.read_text())
    document["properties"].pop(LOCATION)
    document["properties"]["schema.name-mapping.default"] = '[{"field-id":1,"names":["n"]}]'
    metadata.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="extra"):
        theirs(table)
    assert table.export_iceberg().written
    assert theirs(table) == ours(table)
    assert not table.export_iceberg().written
    document["properties"]["schema.name-mapping.default"] = "[3]"
    (tmp_path / "metadata/v2.metadata.json").write_text(json.dumps(document))
    with pytest.raises(CorruptMetadata, match=r"name-mapping\.default is damaged; drop_export"):
        table.export_iceberg()
