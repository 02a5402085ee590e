from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from coalesce.arrow import encode
from coalesce.arrow.encode import LINEAGE, Target, data_path, encode_file
from coalesce.model.arrow_schema import schema_from_arrow
from coalesce.model.datafile import DataFile
from coalesce.model.rule import Group
from coalesce.model.schema import ROW_ID_FIELD, ROW_VERSION_FIELD, Schema, all_fields
from coalesce.model.spec import Spec, parse_partition_fields
from coalesce.model.types import INT64, Field, ListType, StructType
from coalesce.table.layout import listing
from tests.arrow.generated import Generated, tables


def encoded(
    rows: pa.Table, partition_by: list[str], bytes_per_row: float = 1.0, lineage: pa.Table | None = None
) -> tuple[pq.ParquetFile, DataFile]:
    """The rows as one file, opened, and its entry."""
    schema = schema_from_arrow(rows.schema)
    spec = Spec(0, parse_partition_fields(partition_by, schema))
    target = Target(path="p", spec=spec, rule_id=0, physical_key=None)
    data, entry = encode_file(rows, schema, target, bytes_per_row, lineage)
    return pq.ParquetFile(pa.BufferReader(data)), entry


def field_ids(fields: Iterator[pa.Field]) -> Iterator[int]:
    """The ids of Arrow fields read from a Parquet footer, parents before children."""
    for field in fields:
        yield int(field.metadata[b"PARQUET:field_id"])
        type_ = field.type
        if pa.types.is_map(type_):
            yield from field_ids(iter([type_.key_field, type_.item_field]))
        else:
            yield from field_ids(type_.field(i) for i in range(type_.num_fields))


@given(tables())
def test_field_ids_at_every_level(generated: Generated) -> None:
    """Each column, member, element, key and value has the schema's id in the Parquet schema."""
    if generated.rows.num_rows == 0:
        return
    schema = generated.version.schema
    target = Target(path="p", spec=Spec(0, ()), rule_id=0, physical_key=())
    data, _ = encode_file(generated.rows, schema, target, 1.0)
    stored = pq.read_schema(pa.BufferReader(data))
    assert list(field_ids(iter(stored))) == [f.id for f in all_fields(schema.fields)]


def test_physical_names_at_every_level() -> None:
    """Files use physical names, inside structs too, however deep."""
    inner = pa.struct([("b", pa.int64())])
    rows = pa.table({"a": pa.array([{"l": [{"b": 1}]}], pa.struct([("l", pa.list_(inner))]))})
    member = StructType((Field(id=4, name="b", type=INT64, physical_name="p4"),))
    elements = ListType(Field(id=3, name="element", type=member))
    lists = StructType((Field(id=2, name="l", type=elements, physical_name="p2"),))
    schema = Schema((Field(id=1, name="a", type=lists, physical_name="p1"),))
    data, _ = encode_file(rows, schema, Target(path="p", spec=Spec(0, ()), rule_id=0, physical_key=()), 1.0)
    assert pq.read_table(pa.BufferReader(data)).to_pylist() == [{"p1": {"p2": [{"p4": 1}]}}]


def test_parquet_options() -> None:
    """Zstandard, page indexes, statistics, and 64-bit micros for timestamps."""
    parquet, _ = encoded(pa.table({"t": pa.array([1], pa.timestamp("us", "UTC")), "s": ["a"]}), [])
    for i in range(2):
        chunk = parquet.metadata.row_group(0).column(i)
        assert chunk.compression == "ZSTD"
        assert chunk.has_offset_index
        assert chunk.has_column_index
        assert chunk.statistics.has_min_max
    column = parquet.schema.column(0)
    assert column.physical_type == "INT64"
    assert "microseconds" in str(column.logical_type)
    assert b"ARROW:schema" not in (parquet.metadata.metadata or {})


def test_row_groups_are_cut_between_tuples() -> None:
    """In a shared file no small tuple lies in two row groups, and row groups are of about the same size."""
    apps = np.repeat([f"{i:04}" for i in range(1000)], 100)
    parquet, entry = encoded(pa.table({"app": apps, "n": range(100_000)}), ["app"], bytes_per_row=400.0)
    sizes = row_groups(parquet)
    assert len(sizes) == round(100_000 * 400 / encode.SMALL_ROW_GROUP_BYTES)
    assert all(size % 100 == 0 for size in sizes)
    assert entry.tuple_rows == (100,) * 1000


def row_groups(parquet: pq.ParquetFile) -> list[int]:
    """How many rows each row group has."""
    return [parquet.metadata.row_group(i).num_rows for i in range(parquet.metadata.num_row_groups)]


def test_small_row_groups_are_for_files_that_tuples_share() -> None:
    """What one tuple has alone, or a few have together, is not cut into small pieces: nobody would read less of it."""
    rows = 100_000
    numbers = pa.array(range(rows))
    groups = {
        tuples: len(
            row_groups(encoded(pa.table({"app": np.arange(rows) * tuples // rows, "n": numbers}), ["app"], 400.0)[0])
        )
        for tuples in (1, 2, 20, 1000)
    }
    size = rows * 400
    assert groups == {
        1: round(size / encode.ALONE_ROW_GROUP_BYTES),
        2: round(size / encode.SHARED_ROW_GROUP_BYTES),
        20: 20,
        1000: round(size / encode.SMALL_ROW_GROUP_BYTES),
    }


@given(st.integers(1, 10**8), st.integers(1, 10**5), st.integers(1, 3000), st.floats(1.0, 10**5))
def test_the_footer_stays_small(rows: int, tuples: int, columns: int, bytes_per_row: float) -> None:
    """However many columns there are: but for pieces that are large anyway, there are no more than are read at once."""
    groups = rows / encode.row_group_rows(rows, tuples, columns, bytes_per_row)
    large = max(rows * bytes_per_row / encode.SHARED_ROW_GROUP_BYTES, rows * 1.5 / encode.MAX_ROW_GROUP_ROWS)
    assert groups <= 1.001 * max(large, encode.MOST_SMALL_CHUNKS / columns)
    assert tuples == 1 or groups >= 0.999 * large


def test_a_footer_is_read_at_once() -> None:
    """With so many columns and row groups as are allowed it has no more than 64 KiB, which readers fetch first."""
    apps = [f"app-{i // 20:06}" for i in range(64 * 400)]
    columns = {f"column_{i}": range(i, i + len(apps)) for i in range(7)}
    parquet, _ = encoded(pa.table({**columns, "app": apps}), ["app"], bytes_per_row=encode.SMALL_ROW_GROUP_BYTES / 400)
    assert len(row_groups(parquet)) * 8 == encode.MOST_SMALL_CHUNKS
    assert parquet.metadata.serialized_size < 64 * 1024


def test_row_groups_are_bounded_in_rows() -> None:
    """However small the rows are, a row group does not grow without end."""
    parquet, _ = encoded(pa.table({"n": np.zeros(2_000_000, np.int8)}), [])
    assert max(row_groups(parquet)) <= encode.MAX_ROW_GROUP_ROWS


def test_the_footer_says_whether_rows_lie_in_tuple_order() -> None:
    """Only a file whose tuples lie each in one stretch may be read by the entry's counts."""
    ordered, entry = encoded(pa.table({"app": ["b", "b", "a"]}), ["app"])
    assert ordered.metadata.metadata[encode.TUPLE_ORDER] == b"true"
    assert entry.tuples == (("b",), ("a",))
    mixed, _ = encoded(pa.table({"app": ["b", "a", "b"]}), ["app"])
    assert encode.TUPLE_ORDER not in (mixed.metadata.metadata or {})


def test_more_tuples_than_an_entry_lists() -> None:
    """Past the cap the tuples are unknown; they are never a part of the truth that looks like all of it."""
    file = DataFile(path="f", spec_id=0, rows=3, bytes=1)
    assert listing(file, [("a",), ("b",), ("c",)], [1, 1, 1], most=2) == file
    listed = listing(file, [("a",), ("b",)], [1, 2], most=2)
    assert (listed.tuples, listed.tuple_rows, listed.complete) == ((("a",), ("b",)), (1, 2), True)


def test_a_spec_over_a_dropped_column() -> None:
    """Tuples that can no longer be computed are unknown; so is their directory."""
    rows = pa.table({"app": ["a"], "n": [1]})
    schema = schema_from_arrow(rows.schema)
    spec = Spec(0, parse_partition_fields(["app"], schema))
    left = Schema(schema.fields[1:])
    path = data_path("data/w", 3, spec, left, ("a",))
    assert path == "data/w/00003.parquet"
    _, entry = encode_file(rows.select(["n"]), left, Target(path=path, spec=spec, rule_id=0, physical_key=("a",)), 1.0)
    assert (entry.tuples, entry.complete, entry.rows) == (None, False, 1)


def test_paths() -> None:
    """One directory for each partition field below the write's; none without fields, or if the key is unknown."""
    schema = schema_from_arrow(pa.schema([("app", pa.string())]))
    spec = Spec(0, parse_partition_fields(["app"], schema))
    assert data_path("data/w", 0, spec, schema, (Group("[#small]"),)) == "data/w/_app=%5B%23small%5D/00000.parquet"
    assert data_path("data/w", 12, spec, schema, None) == "data/w/00012.parquet"
    assert data_path("data/w", 12, Spec(0, ()), schema, ()) == "data/w/00012.parquet"


def test_lineage_columns_come_last() -> None:
    """Row ids and versions are columns with reserved ids, behind everything else, without statistics in the entry."""
    lineage = pa.Table.from_arrays([pa.array([7, 8]), pa.array([1, None], pa.int64())], schema=LINEAGE)
    parquet, entry = encoded(pa.table({"app": ["a", "a"], "n": [1, 2]}), ["app"], lineage=lineage)
    assert parquet.schema_arrow.names == ["n", "app", "_row_id", "_row_commit_version"]
    assert list(field_ids(iter(parquet.schema_arrow))) == [2, 1, ROW_ID_FIELD, ROW_VERSION_FIELD]
    assert set(entry.statistics) == {1, 2}
