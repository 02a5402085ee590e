"""`icebergCompatV3`: what a table must be to have it, and what its writers must not do afterwards."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coalesce.errors import SchemaError, SpecError
from coalesce.model.schema import Schema
from coalesce.model.version import (
    COLUMN_MAPPING_USAGE_TRACKING,
    ICEBERG_COMPAT_V3,
    MATERIALIZE_PARTITION_COLUMNS,
    Version,
)
from coalesce.table.table import core_of
from tests.interop.export.foreign import SCHEMA, add_foreign, as_spark_writes, create, row


def test_what_spark_leaves_without_ids_is_refused(tmp_path: Path) -> None:
    """Its writer gives elements, keys and values none; without the feature the file is a good one."""
    table = create(tmp_path / "t")
    as_spark_writes(table)
    assert table.count() == 2
    reason = "elements, keys or values in the column 'tags' have no ids, as Spark gives them none, in data/0000"
    with pytest.raises(SchemaError, match=reason):
        table.enable_feature(ICEBERG_COMPAT_V3)
    other = create(tmp_path / "other")
    other.enable_feature(ICEBERG_COMPAT_V3)
    with pytest.raises(SchemaError, match=reason):
        as_spark_writes(other)


def test_a_table_of_our_own_writers_has_all_it_takes(tmp_path: Path) -> None:
    """Ids for everything, partition columns in the files, timestamps of 64 bits, rows in every entry."""
    table = create(tmp_path / "t")
    table.enable_feature(ICEBERG_COMPAT_V3)
    table.append(pa.Table.from_pylist([row(2)], SCHEMA))
    table.compact()
    stored = pq.read_schema(Path(table.location, table.files()[0].path))
    assert stored.names == ["at", "tags", "dt"]
    element = stored.field("tags").type.value_field
    ids = [f.metadata[b"PARQUET:field_id"] for f in (element, element.type.key_field, element.type.item_field)]
    assert ids == [b"4", b"5", b"6"]


def test_row_ids_have_the_reserved_ids(tmp_path: Path) -> None:
    """Rows that were moved keep their ids and versions, in the columns that the proposal names by number."""
    table = create(tmp_path / "t")
    table.enable_feature(ICEBERG_COMPAT_V3)
    table.append(pa.Table.from_pylist([row(1)], SCHEMA))
    table.compact()
    stored = pq.read_schema(Path(table.location, table.files()[0].path))
    lineage = {f.name: f.metadata[b"PARQUET:field_id"] for f in stored if f.name.startswith("_row")}
    assert lineage == {"_row_id": b"2147483540", "_row_commit_version": b"2147483539"}


def test_every_violation_is_listed(tmp_path: Path) -> None:
    """Of a table that others have written files of, and one that has promised less; nothing is turned on."""
    table = create(tmp_path / "t")
    add_foreign(table, hive=True)
    core = core_of(table)
    core.change(
        "test", lambda head: replace(head, writer_features=head.writer_features - {MATERIALIZE_PARTITION_COLUMNS})
    )
    with pytest.raises(SchemaError) as refused:
        table.enable_feature(ICEBERG_COMPAT_V3)
    text = str(refused.value)
    for reason in (
        "it takes materializePartitionColumns, which the table has not",
        "columns have no ids (column mapping) in theirs/part-0.parquet",
        "timestamps are stored in 12 bytes (INT96), not as int64, in theirs/part-0.parquet",
        "the partition column 'dt' is not in the file, but only told by its entry, in theirs/part-0.parquet",
    ):
        assert reason in text
    assert ICEBERG_COMPAT_V3 not in table.state.writer_features


def test_writers_that_break_it_are_refused(tmp_path: Path) -> None:
    """A file of another writer that does not fit is not committed, and stays where it is."""
    table = create(tmp_path / "t")
    table.enable_feature(ICEBERG_COMPAT_V3)
    with pytest.raises(SchemaError, match="files do not fit the table with icebergCompatV3, and nothing was committed"):
        add_foreign(table, hive=False)
    assert table.count() == 1
    assert Path(table.location, "theirs", "part-0.parquet").exists()


def test_a_rollback_does_not_bring_back_what_breaks_it(tmp_path: Path) -> None:
    """Files that were there before the feature was turned on are looked at then."""
    table = create(tmp_path / "t")
    add_foreign(table, hive=False)
    table.delete("dt = DATE '2026-05-02'")
    table.enable_feature(ICEBERG_COMPAT_V3)
    with pytest.raises(SchemaError, match="version 2 has files that the table cannot have with icebergCompatV3"):
        table.rollback(2)
    assert table.rollback(1).committed


def test_the_first_and_second_version_of_it_are_no_features(tmp_path: Path) -> None:
    """They exclude each other, and only the third can be turned on."""
    table = create(tmp_path / "t")
    for name in ("icebergCompatV1", "icebergCompatV2"):
        with pytest.raises(SchemaError, match=f"there is no feature '{name}'"):
            table.enable_feature(name)


def test_a_replacement_keeps_the_names_of_partition_fields(tmp_path: Path) -> None:
    """Other types may come under the same names; other names may not."""
    table = create(tmp_path / "t")
    table.enable_feature(ICEBERG_COMPAT_V3)
    with pytest.raises(SpecError, match="cannot be replaced by one partitioned by day"):
        table.replace_schema(pa.schema([("day", pa.int32())]), partition_by=["day"])
    with pytest.raises(SpecError, match="cannot be replaced by one partitioned by nothing"):
        table.replace_schema(pa.schema([("dt", pa.int32())]))
    table.replace_schema(pa.schema([("dt", pa.int64())]), partition_by=["dt"])
    assert table.schema.names == ("dt",)


def test_usage_tracking_that_is_turned_on_late_assumes_the_worst(tmp_path: Path) -> None:
    """A table whose columns are mapped may have dropped or renamed some before anybody kept track."""
    table = create(tmp_path / "t")

    def untracked(head: Version, physical_name: str) -> Version:
        first, *others = head.schema.fields
        return replace(
            head,
            schema=Schema((replace(first, physical_name=physical_name), *others)),
            writer_features=head.writer_features - {COLUMN_MAPPING_USAGE_TRACKING},
        )

    for physical_name, expected in (("dt", False), ("col-1", True)):
        core_of(table).change("test", partial(untracked, physical_name=physical_name))
        table.enable_feature(COLUMN_MAPPING_USAGE_TRACKING)
        assert table.state.has_dropped_or_renamed is expected
