"""Iceberg tables, from their metadata: the same rows as PyIceberg gives."""

import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.transforms import DayTransform, IdentityTransform, TruncateTransform
from pyiceberg.typedef import Record
from pyiceberg.types import StringType, TimeType

import coalesce
from coalesce.errors import NotInstalled, UnsupportedFeature
from tests.interop.adopt.lakes import digest, rows_of

ROWS = pa.table(
    {
        "app": ["a", "b", "x/y", None, ""],
        "dt": [date(2026, 5, 1)] * 4 + [date(2026, 5, 2)],
        "n": [1, 2, 3, 4, 5],
        "f": [1.0, float("nan"), 2.0, 3.0, None],
        "s": ["x" * 40, "é", "c", "d", None],
        "ts": pa.array([1, 2, 3, 4, 1_234_567], pa.timestamp("us", "UTC")),
        "st": [{"a": 1, "l": [{"q": 1}]}] * 5,
    }
)


@pytest.fixture
def iceberg(tmp_path: Path) -> Table:
    """A table partitioned by app and day, then by day only, with a commit each."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", ROWS.schema)
    with table.update_spec() as spec:
        spec.add_field("app", IdentityTransform())
        spec.add_field("dt", IdentityTransform())
    table.append(ROWS)
    with table.update_spec() as spec:
        spec.remove_field("app")
    table.append(ROWS.slice(0, 2))
    return table


def place(table: Table) -> Path:
    """The directory of a table."""
    return Path(table.location().removeprefix("file://"))


def same(table: coalesce.Table, iceberg: Table) -> bool:
    """Whether both have the same rows, under the names that they have now."""
    there = iceberg.scan().to_arrow()
    return rows_of(table.scan().to_arrow().select(there.column_names)) == rows_of(there)


def test_the_same_rows(iceberg: Table) -> None:
    """With its ids, its specs, its partition values and its statistics."""
    before = digest(place(iceberg))
    done = coalesce.adopt(place(iceberg))
    table = done.table
    assert (done.source, done.files_added, done.rows_added, done.unknown) == ("iceberg", 6, 7, 0)
    assert digest(place(iceberg)) == before
    assert same(table, iceberg)
    assert [(f.name, f.id) for f in table.schema] == [(f.name, f.field_id) for f in iceberg.schema().fields]
    assert [f.name for f in table.state.spec.fields] == ["dt"]
    assert table.count("app = 'a'") == 2
    assert len(table.files("app = 'x/y'")) == 1
    assert len(table.files("n = 3")) == 1
    assert table.scan("f > 100").to_arrow().num_rows == 2  # NaN is above everything
    assert list(table.check(deep=True)) == []
    table.evolve(add="app")
    table.set_rule(coalesce.small("app"))
    table.compact()
    assert same(table, iceberg)
    assert len(table.files()) == 2


def test_again_and_by_its_metadata_file(iceberg: Table) -> None:
    """Snapshots since; columns that were added; and a place that is named by the file that a catalog knows."""
    location = iceberg.metadata_location.removeprefix("file://")
    assert coalesce.adopt(location).files_added == 6
    with iceberg.update_schema() as schema:
        schema.add_column("more", StringType())
    iceberg.append(ROWS.slice(2, 1).append_column("more", pa.array(["m"])))
    iceberg.delete("app = 'b'")
    done = coalesce.adopt(place(iceberg))
    assert done.files_added == 2
    assert same(done.table, iceberg)
    assert done.table.count("more = 'm'") == 1
    assert not coalesce.adopt(place(iceberg)).committed


def test_renamed_columns(iceberg: Table) -> None:
    """What all files call a column is its physical name; where they do not agree, nobody could read all of them."""
    with iceberg.update_schema() as schema:
        schema.rename_column("s", "subject")
    done = coalesce.adopt(place(iceberg))
    assert same(done.table, iceberg)
    assert done.table.schema.field("subject").physical_name == "s"
    iceberg.append(ROWS.slice(2, 1).rename_columns(["app", "dt", "n", "f", "subject", "ts", "st"]))
    with pytest.raises(UnsupportedFeature, match="'subject' has the id 5"):
        coalesce.adopt(place(iceberg))


def test_transforms(tmp_path: Path) -> None:
    """Files in days and of truncated texts are pruned as Iceberg prunes them."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", pa.schema([("ts", pa.timestamp("us", "UTC")), ("s", pa.string())]))
    with table.update_spec() as spec:
        spec.add_field("ts", DayTransform(), "day")
        spec.add_field("s", TruncateTransform(2), "begin")
    for day in (1, 2, 3):
        add(
            table,
            pa.table({"ts": pa.array([day * 86_400_000_000 + 5], pa.timestamp("us", "UTC")), "s": [f"text{day}"]}),
            Record(day, "te"),
        )
    adopted = coalesce.adopt(place(table)).table
    assert same(adopted, table)
    where = coalesce.col("ts") == datetime(1970, 1, 3, 0, 0, 0, 5, tzinfo=UTC)
    assert len(adopted.files(where)) == adopted.scan(where).to_arrow().num_rows == 1
    assert len(adopted.files("s LIKE 'zz%'")) == 0
    assert list(adopted.check(deep=True)) == []


def add(
    table: Table, rows: pa.Table, partition: Record, content: DataFileContent = DataFileContent.DATA, **others: Any
) -> None:
    """Commit a file with what is known of it, without the library that computes transforms."""
    path = place(table) / f"data/{len(list(place(table).rglob('*.parquet')))}.parquet"
    path.parent.mkdir(exist_ok=True)
    ids = {f.name: str(f.field_id) for f in table.schema().fields}
    fields = [f.with_metadata({"PARQUET:field_id": ids.get(f.name, "2147483546")}) for f in rows.schema]
    pq.write_table(rows.cast(pa.schema(fields)), path)
    file = DataFile.from_args(
        content=content,
        file_path=f"file://{path}",
        file_format=FileFormat.PARQUET,
        partition=partition,
        record_count=rows.num_rows,
        file_size_in_bytes=path.stat().st_size,
        **others,
    )
    file.spec_id = table.metadata.default_spec_id
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(file)


def test_what_is_refused(iceberg: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that delete files delete, types that nobody here has, a newest version that only a catalog knows."""
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "pyiceberg.table", None)
        with pytest.raises(NotInstalled, match=r"is an Iceberg table.*pip install"):
            coalesce.adopt(place(iceberg))
    newest = max((place(iceberg) / "metadata").glob("*.metadata.json"))
    other = newest.with_name(newest.name[:6] + "0" * 8 + newest.name[14:])
    other.write_bytes(newest.read_bytes())
    with pytest.raises(UnsupportedFeature, match="only its catalog knows"):
        coalesce.adopt(place(iceberg))
    other.unlink()
    with iceberg.update_schema() as schema:
        schema.add_column("t", TimeType())
    with pytest.raises(UnsupportedFeature, match="column 't' is time"):
        coalesce.adopt(place(iceberg))
    with iceberg.update_schema() as schema:
        schema.delete_column("t")
    assert coalesce.adopt(place(iceberg)).files_added == 6


def test_delete_files_are_refused(iceberg: Table) -> None:
    """Their rows would come back."""
    deletes = pa.table({"file_path": ["x"], "pos": [0]})
    add(
        iceberg,
        deletes,
        Record(date(2026, 5, 1).toordinal() - date(1970, 1, 1).toordinal()),
        DataFileContent.POSITION_DELETES,
    )
    with pytest.raises(UnsupportedFeature, match="deleted by 1 delete files"):
        coalesce.adopt(place(iceberg))
