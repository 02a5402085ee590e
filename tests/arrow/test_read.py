import itertools
import math
import tempfile
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from coalesce.arrow.column_places import field_id
from coalesce.arrow.read import open_file
from coalesce.arrow.write import write
from coalesce.errors import CorruptMetadata, FileMissing, StorageError, TableNotFound
from coalesce.model.arrow_schema import schema_from_arrow
from coalesce.model.datafile import DataFile
from coalesce.model.rule import Group, PhysicalKey, small
from coalesce.model.schema import Schema
from coalesce.model.spec import LogicalTuple
from coalesce.model.types import DOUBLE, INT64, STRING, DecimalType, Field, ListType, StructType, Type
from coalesce.model.version import Version
from coalesce.storage.local import LocalStorage
from coalesce.table.commit.log import Log
from tests.arrow.generated import Generated, plain_rows, tables
from tests.builders import make_snapshot, make_version


def read(directory: Path, entry: DataFile, version: Version) -> pa.Table:
    """All columns of all row groups."""
    with open_file(LocalStorage(directory), entry, version) as file:
        return file.read(version.schema.fields, range(len(file.group_rows)))


def adopted(
    directory: Path,
    rows: pa.Table,
    tuples: tuple[LogicalTuple, ...] | None = None,
    physical_key: PhysicalKey | None = None,
    **options: object,
) -> DataFile:
    """A file as another writer leaves it, without field ids, and an entry for it."""
    pq.write_table(rows, directory / "other.parquet", **options)
    return DataFile(
        path="other.parquet",
        spec_id=0,
        rows=rows.num_rows,
        bytes=(directory / "other.parquet").stat().st_size,
        tuples=tuples,
        complete=tuples is not None,
        physical_key=physical_key,
    )


@given(tables())
def test_what_was_written_is_read_back(generated: Generated) -> None:
    """Every type, nested ones and awkward values included, bit for bit."""
    with tempfile.TemporaryDirectory() as directory:
        files = write(make_snapshot(Path(directory), generated.version), generated.rows)
        found = [row for f in files for row in plain_rows(read(Path(directory), f, generated.version))]
        assert sorted(found) == sorted(plain_rows(generated.rows))


# --- columns that changed since ----------------------------------------------------------------------------------


def test_columns_are_found_by_id(tmp_path: Path) -> None:
    """After renames, re-ordering, and a new column under a dropped one's name, ids tell which is which."""
    rows = pa.table({"a": [1], "b": [2], "s": [{"x": 3, "y": "q"}]})
    version = make_version(rows.schema)
    (entry,) = write(make_snapshot(tmp_path, version), rows)
    _, b, s = version.schema.fields
    assert isinstance(s.type, StructType)
    x, y = s.type.fields
    members = StructType((replace(y, name="x"), replace(x, name="y")))
    now = Schema(
        (
            replace(s, name="t", type=members),
            replace(b, name="a"),
            Field(id=99, name="b", type=STRING, physical_name="col-99"),
        )
    )
    found = read(tmp_path, entry, replace(version, schema=now))
    assert found.to_pylist() == [{"t": {"x": "q", "y": 3}, "a": 2, "b": None}]


def test_a_wide_file_is_looked_through_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its columns are not gone through for each of its columns, which would be a million steps for a thousand."""
    rows = pa.table({f"c{n}": [n] for n in range(1_000)})
    version = make_version(rows.schema)
    (entry,) = write(make_snapshot(tmp_path, version), rows)
    looked = itertools.count()

    def counted(field: pa.Field) -> int | None:
        next(looked)
        return field_id(field)

    monkeypatch.setattr("coalesce.arrow.column_places.field_id", counted)
    assert read(tmp_path, entry, version).to_pylist() == rows.to_pylist()
    assert next(looked) < 5_000


def test_of_columns_of_one_name_the_exact_one_and_the_first_count(tmp_path: Path) -> None:
    """In a file of another writer, whose names may differ in nothing but case."""
    schema = schema_from_arrow(pa.schema([("b", pa.int64()), ("C", pa.int64())]))
    rows = pa.table([[1], [2], [3], [4]], names=["B", "b", "c", "c"])
    assert read(tmp_path, adopted(tmp_path, rows), make_version(schema)).to_pylist() == [{"b": 2, "C": 3}]


def test_columns_added_later_hold_their_default(tmp_path: Path) -> None:
    """At the top and inside structs in lists; NULL where there is no default."""
    rows = pa.table({"l": pa.array([[{"x": 1}], None], pa.list_(pa.struct([("x", pa.int64())])))})
    version = make_version(rows.schema)
    (entry,) = write(make_snapshot(tmp_path, version), rows)
    (field,) = version.schema.fields
    assert isinstance(field.type, ListType)
    element = field.type.element
    assert isinstance(element.type, StructType)
    more = StructType((*element.type.fields, Field(id=50, name="y", type=STRING, default="new")))
    now = Schema(
        (
            replace(field, type=ListType(replace(element, type=more))),
            Field(id=51, name="n", type=INT64, default=7),
            Field(id=52, name="m", type=ListType(Field(id=53, name="element", type=STRING))),
        )
    )
    assert read(tmp_path, entry, replace(version, schema=now)).to_pylist() == [
        {"l": [{"x": 1, "y": "new"}], "n": 7, "m": None},
        {"l": None, "n": 7, "m": None},
    ]


def test_widened_columns_are_cast(tmp_path: Path) -> None:
    """Files written before a column was widened are read in its type of now."""
    rows = pa.table(
        {
            "i": pa.array([1, None], pa.int32()),
            "f": pa.array([0.5, math.inf], pa.float32()),
            "d": pa.array([Decimal("1.25"), None], pa.decimal128(5, 2)),
            "n": pa.array([1, 2], pa.int8()),
        }
    )
    version = make_version(rows.schema)
    (entry,) = write(make_snapshot(tmp_path, version), rows)
    types: list[Type] = [INT64, DOUBLE, DecimalType(12, 4), DecimalType(10, 1)]
    now = Schema(tuple(replace(f, type=t) for f, t in zip(version.schema, types, strict=True)))
    assert read(tmp_path, entry, replace(version, schema=now)).to_pydict() == {
        "i": [1, None],
        "f": [0.5, math.inf],
        "d": [Decimal("1.2500"), None],
        "n": [Decimal("1.0"), Decimal("2.0")],
    }


def test_a_widened_partition_column_comes_from_the_tuple(tmp_path: Path) -> None:
    """The value the entry keeps is taken in the column's type of now."""
    rows = pa.table({"i": pa.array([5, 5], pa.int32())})
    version = make_version(rows.schema, ["i"])
    (entry,) = write(make_snapshot(tmp_path, version), rows)
    now = replace(version, schema=Schema((replace(version.schema.fields[0], type=INT64),)))
    found = read(tmp_path, entry, now)
    assert found.schema.field("i").type == pa.int64()
    assert found.to_pydict() == {"i": [5, 5]}


# --- files of other writers --------------------------------------------------------------------------------------


def test_files_without_ids_are_read_by_physical_name(tmp_path: Path) -> None:
    """Exactly, or without regard to case as Hive writes them; inside structs too."""
    rows = pa.table({"App": ["a"], "n": [1], "s": [{"X": 1}], "extra": [0]})
    members = pa.struct([("x", pa.int64())])
    schema = schema_from_arrow(pa.schema([("app", pa.string()), ("n", pa.int64()), ("s", members)]))
    renamed = Schema((schema.fields[0], replace(schema.fields[1], name="count", physical_name="n"), schema.fields[2]))
    found = read(tmp_path, adopted(tmp_path, rows), make_version(renamed))
    assert found.to_pylist() == [{"app": "a", "count": 1, "s": {"x": 1}}]


@pytest.mark.parametrize("value", ["A", "", None, "__HIVE_DEFAULT_PARTITION__", "[#small]"])
def test_partition_columns_of_a_hive_directory_come_from_the_entry(tmp_path: Path, value: str | None) -> None:
    """A file that lacks them is filled from its single tuple; NULL is a value as well."""
    version = make_version(pa.schema([("n", pa.int64()), ("dt", pa.date32()), ("app", pa.string())]), ["dt", "app"])
    entry = adopted(tmp_path, pa.table({"n": [1, 2]}), ((20_000, value),))
    assert read(tmp_path, entry, version).to_pydict() == {
        "n": [1, 2],
        "dt": [date(2024, 10, 4)] * 2,
        "app": [value] * 2,
    }


def test_partition_columns_from_the_physical_key(tmp_path: Path) -> None:
    """Where the tuples are unknown, a physical key says what every row holds, but a group does not."""
    version = make_version(pa.schema([("n", pa.int64()), ("app", pa.string())]), ["app"], small("app"))
    rows = pa.table({"n": [1]})
    assert read(tmp_path, adopted(tmp_path, rows, None, ("A",)), version).to_pylist() == [{"n": 1, "app": "A"}]
    for entry in (
        adopted(tmp_path, rows, None, (Group("[#small]"),)),
        adopted(tmp_path, rows, (("A",), ("B",))),
        adopted(tmp_path, rows),
    ):
        with pytest.raises(CorruptMetadata, match="lacks the partition column 'app', and its entry does not say"):
            read(tmp_path, entry, version)


def test_a_list_of_one_tuple_that_is_not_complete_says_nothing(tmp_path: Path) -> None:
    """Other rows may have other tuples: the file's own column is read, and where it has none, nobody knows."""
    version = make_version(pa.schema([("app", pa.string())]), ["app"])
    there = adopted(tmp_path, pa.table({"app": ["A", "B"]}), (("A",),))
    for entry in (replace(there, complete=False), replace(there, tuple_rows=(1,))):
        assert read(tmp_path, entry, version).to_pydict() == {"app": ["A", "B"]}
    absent = adopted(tmp_path, pa.table({"n": [1, 2]}), (("A",),))
    with pytest.raises(CorruptMetadata, match="lacks the partition column 'app'"):
        read(tmp_path, replace(absent, complete=False), version)


def test_a_name_is_nothing_where_there_are_ids(tmp_path: Path) -> None:
    """A column of the wanted name and another id is another column, at the top and inside a struct."""
    numbered = {
        name: pa.field(name, pa.int64(), metadata={"PARQUET:field_id": str(id_)})
        for name, id_ in (("a", 7), ("b", 1), ("x", 8), ("y", 4))
    }
    members = pa.struct([numbered["x"], numbered["y"]])
    schema = pa.schema([numbered["a"], numbered["b"], pa.field("s", members, metadata={"PARQUET:field_id": "3"})])
    entry = adopted(tmp_path, pa.table({"a": [1], "b": [2], "s": [{"x": 3, "y": 4}]}, schema=schema))
    inner = StructType((Field(id=4, name="x", type=INT64), Field(id=5, name="y", type=INT64)))
    wanted = Schema(
        (
            Field(id=1, name="a", type=INT64),
            Field(id=2, name="b", type=INT64, default=9),
            Field(id=3, name="s", type=inner),
        )
    )
    assert read(tmp_path, entry, make_version(wanted)).to_pylist() == [{"a": 2, "b": 9, "s": {"x": 4, "y": None}}]


def test_where_both_have_a_value_the_entry_is_the_truth(tmp_path: Path) -> None:
    """A Hive file that carries the column too may be wrong about it; its directory is what was pruned by."""
    version = make_version(pa.schema([("app", pa.string())]), ["app"])
    entry = adopted(tmp_path, pa.table({"app": ["x"]}), (("A",),))
    assert read(tmp_path, entry, version).to_pydict() == {"app": ["A"]}


def test_a_float_keeps_its_bits_in_spite_of_its_tuple(tmp_path: Path) -> None:
    """The tuple of -0.0 is 0.0; the row is still -0.0."""
    rows = pa.table({"x": [-0.0]})
    version = make_version(rows.schema, ["x"])
    (entry,) = write(make_snapshot(tmp_path, version), rows)
    assert math.copysign(1, read(tmp_path, entry, version).column("x")[0].as_py()) == -1


def test_foreign_encodings(tmp_path: Path) -> None:
    """Old 12-byte timestamps, dictionaries and large strings that the footer asks pyarrow for."""
    rows = pa.table(
        {
            "t": pa.array([datetime(1500, 1, 1), datetime(3000, 1, 1)], pa.timestamp("us")),
            "s": pa.array(["a", "b"], pa.large_string()),
            "d": pa.array(["a", "a"]).dictionary_encode(),
        }
    )
    version = make_version(pa.schema([("t", pa.timestamp("us", "UTC")), ("s", pa.string()), ("d", pa.string())]))
    entry = adopted(tmp_path, rows, use_deprecated_int96_timestamps=True)
    assert read(tmp_path, entry, version).to_pydict() == {
        "t": [datetime(1500, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)],
        "s": ["a", "b"],
        "d": ["a", "a"],
    }


def test_names_with_dots(tmp_path: Path) -> None:
    """A column `a.b` and a struct `a` with a member `b` are different columns."""
    rows = pa.table({"a.b": [1], "a": [{"b": 2}]})
    version = make_version(rows.schema)
    (entry,) = write(make_snapshot(tmp_path, version), rows)
    with open_file(LocalStorage(tmp_path), entry, version) as file:
        assert file.read([version.schema.field("a.b")], [0]).to_pydict() == {"a.b": [1]}
        assert file.read([version.schema.field("a")], [0]).to_pydict() == {"a": [{"b": 2}]}


def test_no_columns_at_all(tmp_path: Path) -> None:
    """Rows without columns still have a number."""
    rows = pa.table({"n": np.arange(5)})
    version = make_version(rows.schema)
    (entry,) = write(make_snapshot(tmp_path, version), rows)
    with open_file(LocalStorage(tmp_path), entry, version) as file:
        assert file.read([], [0]).num_rows == 5


# --- damage ------------------------------------------------------------------------------------------------------


def test_damaged_and_missing_files(tmp_path: Path) -> None:
    """A file that is cut short, is not Parquet, has other rows or is gone: an error that names it."""
    rows = pa.table({"n": [1, 2, 3]})
    version = make_version(rows.schema)
    entry = adopted(tmp_path, rows)
    with pytest.raises(CorruptMetadata, match=r"other\.parquet: the file has 3 rows, and its entry says 4"):
        read(tmp_path, replace(entry, rows=4), version)
    path = tmp_path / entry.path
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(StorageError, match=r"'other\.parquet' cannot be read as Parquet"):
        read(tmp_path, entry, version)
    path.write_bytes(b"")
    with pytest.raises(StorageError, match=r"'other\.parquet' cannot be read as Parquet"):
        read(tmp_path, entry, version)
    path.unlink()
    with pytest.raises(TableNotFound, match="was dropped or moved away"):  # nor is there a version that names it
        read(tmp_path, entry, version)
    Log(LocalStorage(tmp_path)).create(version)
    with pytest.raises(FileMissing, match=r"other\.parquet"):
        read(tmp_path, entry, version)


def test_damaged_pages(tmp_path: Path) -> None:
    """Bytes that changed inside a column are an error, never rows."""
    rows = pa.table({"n": np.random.default_rng(1).integers(0, 2**60, 10_000)})
    version = make_version(rows.schema)
    (entry,) = write(make_snapshot(tmp_path, version), rows)
    path = tmp_path / entry.path
    data = bytearray(path.read_bytes())
    data[100:200] = bytes(100)
    path.write_bytes(data)
    with pytest.raises(StorageError, match="cannot be read as Parquet"):
        read(tmp_path, entry, version)
