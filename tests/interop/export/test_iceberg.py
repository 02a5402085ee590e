"""Exports to Iceberg: what PyIceberg sees, what is written, and what happens if somebody dies or interferes."""

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable
from pyiceberg.table.snapshots import Operation
from pyiceberg.types import DateType, IntegerType, LongType, StringType

import coalesce
from coalesce.errors import ExportRefused, InvalidArgument
from coalesce.interop.export.iceberg import exporter
from coalesce.storage.local import LocalStorage
from coalesce.table.maintain.exported import keep
from tests.interop.export import foreign
from tests.interop.export.tables import SCHEMA, files, iceberg, ours, rows, shared


def test_a_first_export_is_read_by_its_path(tmp_path: Path) -> None:
    """Columns have our ids, the day is a partition field as all files have one, and apps that share a file are not."""
    table = shared(tmp_path / "t")
    result = table.export_iceberg()
    found = StaticTable.from_metadata(table.location)
    assert iceberg(table.location) == ours(table)
    assert [(f.field_id, f.name, f.field_type) for f in found.schema().fields] == [
        (1, "dt", DateType()),
        (2, "app", StringType()),
        (3, "n", LongType()),
    ]
    assert (result.partitioned_by, result.files, result.number) == (("dt",), 1, 1)
    assert [f.name for f in found.spec().fields] == ["dt"]
    assert found.properties["gc.enabled"] == "false"
    assert Path(table.location, "metadata", "version-hint.text").read_text() == "1"


def test_bounds_counts_and_places_of_row_groups_are_told(tmp_path: Path) -> None:
    """Files are pruned by columns that are no partition fields, and can be split."""
    table = shared(tmp_path / "t")
    table.append(rows(1, apps=9).slice(20))
    table.export_iceberg()
    found = StaticTable.from_metadata(table.location)
    assert len(list(found.scan().plan_files())) == 2
    assert len(list(found.scan("n > 500").plan_files())) == 1
    assert len(list(found.scan("n is null").plan_files())) == 0
    [task] = found.scan("app = 'app-0'").plan_files()
    assert task.file.split_offsets == [4]
    assert task.file.null_value_counts == {1: 0, 2: 0, 3: 0}


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    """An append writes a manifest of its own; an export of the same version writes nothing."""
    table = shared(tmp_path / "t")
    table.export_iceberg()
    before = files(table, "metadata")
    assert not table.export_iceberg().written
    assert files(table, "metadata") == before
    table.append(rows(2))
    result = table.export_iceberg()
    new = files(table, "metadata") - before
    assert (result.files_added, result.files_removed, result.number) == (1, 0, 2)
    assert sorted(Path(name).suffixes[-2:] for name in new) == [[".avro"], [".data", ".avro"], [".metadata", ".json"]]
    assert iceberg(table.location) == ours(table)


def test_files_that_go_are_listed_as_deleted(tmp_path: Path) -> None:
    """What was exported before is not there any more, and its snapshot says so; older snapshots still show it."""
    table = shared(tmp_path / "t")
    table.export_iceberg()
    table.overwrite(rows(3))
    result = table.export_iceberg()
    found = StaticTable.from_metadata(table.location)
    snapshot = found.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    assert (result.files_added, result.files_removed) == (1, 1)
    assert (snapshot.summary["deleted-data-files"], snapshot.summary.operation) == ("1", Operation.OVERWRITE)
    assert snapshot.parent_snapshot_id is not None
    assert found.scan(snapshot_id=snapshot.parent_snapshot_id).to_arrow().num_rows == 20


def test_dead_rows_are_position_deletes(tmp_path: Path) -> None:
    """Removed partitions that still lie in a shared file are not shown, and more of them later are not either."""
    table = shared(tmp_path / "t")
    table.export_iceberg()
    for app, left in (("app-1", 15), ("app-3", 10)):
        table.drop_partition(dt=date(2026, 5, 1), app=app)
        result = table.export_iceberg()
        assert (result.dead_files, result.files_added, result.files_removed) == (1, 0, 0)
        assert iceberg(table.location) == ours(table)
        assert len(ours(table)) == left
    table.purge()
    assert table.export_iceberg().dead_files == 0
    assert iceberg(table.location) == ours(table)


def test_dead_rows_can_be_refused_or_purged(tmp_path: Path) -> None:
    """Who wants no delete files gets a reason, or files that were written again."""
    table = shared(tmp_path / "t")
    table.drop_partition(dt=date(2026, 5, 1), app="app-1")
    with pytest.raises(ExportRefused, match="5 removed rows lie in its files"):
        table.export_iceberg(dead_rows="refuse")
    assert not Path(table.location, "metadata").exists()
    assert table.export_iceberg(dead_rows="purge").dead_files == 0
    assert table.state.dead_rows == 0
    assert iceberg(table.location) == ours(table)


def test_columns_that_were_renamed_dropped_and_widened(tmp_path: Path) -> None:
    """Columns are found by their ids; a name that is used again does not show another column's values."""
    table = coalesce.create(str(tmp_path / "t"), pa.schema([("k", pa.int32()), ("a", pa.string()), ("b", pa.int8())]))
    table.append(pa.table({"k": pa.array([1], pa.int32()), "a": ["x"], "b": pa.array([7], pa.int8())}))
    table.export_iceberg()
    table.rename_column("a", "text")
    table.drop_column("b")
    table.add_column("b", "string")
    table.widen_column("k", "int64")
    table.append(pa.table({"k": [2**40], "text": ["y"], "b": ["new"]}))
    table.export_iceberg()
    found = StaticTable.from_metadata(table.location)
    assert sorted(found.scan().to_arrow().to_pylist(), key=lambda row: int(row["k"])) == [
        {"k": 1, "text": "x", "b": None},
        {"k": 2**40, "text": "y", "b": "new"},
    ]
    assert found.scan("k > 5").to_arrow().num_rows == 1
    assert [s.find_type("k") for s in found.schemas().values()] == [IntegerType(), LongType()]


def test_partition_fields_that_change(tmp_path: Path) -> None:
    """Old manifests keep the spec they have; once its column is gone, they are written again without it."""
    table = coalesce.create(str(tmp_path / "t"), SCHEMA, partition_by=["dt", "app"])
    table.append(rows(1))
    assert table.export_iceberg().partitioned_by == ("dt", "app")
    table.evolve(drop="app", add="bucket(4, n)")
    table.append(rows(2))
    assert table.export_iceberg().partitioned_by == ("dt",)
    found = StaticTable.from_metadata(table.location)
    assert len(list(found.scan("app = 'app-1' and dt = '2026-05-01'").plan_files())) == 1
    table.drop_column("app")
    table.export_iceberg()
    found = StaticTable.from_metadata(table.location)
    assert [[f.name for f in spec.fields] for spec in found.specs().values()] == [["dt"]]
    assert len(found.snapshots()) == 1
    assert iceberg(table.location) == ours(table)


def test_transforms_are_icebergs_own(tmp_path: Path) -> None:
    """A bucket, a truncated text and a day of ours are the partition values that PyIceberg computes."""
    schema = pa.schema([("at", pa.timestamp("us", "UTC")), ("zip", pa.string()), ("n", pa.int64())])
    table = coalesce.create(str(tmp_path / "t"), schema, partition_by=["day(at)", "truncate(2, zip)", "bucket(4, n)"])
    made = [{"at": f"2026-05-0{1 + i % 3}T23:59:59Z", "zip": f"{89 + i % 4}07{i}", "n": i} for i in range(20)]
    data = pa.table({"at": pa.array([m["at"] for m in made]).cast(pa.timestamp("us", "UTC")),
                     "zip": [m["zip"] for m in made], "n": [m["n"] for m in made]})  # fmt: skip
    table.append(data)
    assert table.export_iceberg().partitioned_by == ("at_day", "zip_trunc", "n_bucket")
    found = StaticTable.from_metadata(table.location)
    for i in range(20):
        assert found.scan(f"n = {i}").to_arrow().num_rows == 1
        assert found.scan(f"zip = '{made[i]['zip']}'").to_arrow().num_rows == 1
    assert found.scan("at < '2026-05-02T00:00:00+00:00'").to_arrow().num_rows == 7


def test_what_readers_would_get_wrong_is_refused(tmp_path: Path) -> None:
    """Rows that hold a default, and dates that became timestamps: every reason at once, and nothing is written."""
    table = coalesce.create(str(tmp_path / "t"), pa.schema([("d", pa.date32()), ("n", pa.int64())]))
    table.append([{"d": date(2026, 5, 1), "n": 1}])
    table.add_column("country", "string", default="DE")
    table.widen_column("d", "timestamp_ntz")
    with pytest.raises(ExportRefused) as refused:
        table.export_iceberg()
    text = str(refused.value)
    assert "column 'country' has the default 'DE', which other readers do not know, for the rows of data/" in text
    assert "column 'd' is timestamp_ntz and stored as date32[day] in data/" in text
    assert not Path(table.location, "metadata").exists()
    table.overwrite(table.scan().to_arrow())
    table.export_iceberg()
    table.add_column("zone", "string", default="EU")  # files that were exported before do not have it
    with pytest.raises(ExportRefused, match="column 'zone' has the default 'EU'"):
        table.export_iceberg()
    assert StaticTable.from_metadata(table.location).scan().to_arrow().column("country").to_pylist() == ["DE"]


def test_bounds_that_engines_read_differently_are_left_out(tmp_path: Path) -> None:
    """NaN is above everything here, and nowhere elsewhere; zero's signs are two values to some."""
    table = coalesce.create(str(tmp_path / "t"), pa.schema([("f", pa.float64())]))
    table.append(pa.table({"f": [0.0, float("nan")]}))
    table.append(pa.table({"f": [-0.0, 1.0]}))
    table.export_iceberg()
    tasks = {t.file.nan_value_counts[1]: t.file for t in StaticTable.from_metadata(table.location).scan().plan_files()}
    assert not tasks[1].upper_bounds
    assert tasks[0].lower_bounds[1] == b"\0\0\0\0\0\0\0\x80"
    assert tasks[1].lower_bounds[1] == b"\0\0\0\0\0\0\0\x80"


def test_elements_without_ids_are_refused(tmp_path: Path) -> None:
    """Spark's writer gives them none, and Iceberg's reader for Spark then fails; Delta goes by names."""
    table = foreign.create(tmp_path / "t")
    foreign.as_spark_writes(table)
    reason = "column 'tags' has elements, keys or values without ids, as Spark writes them, in data/0000"
    with pytest.raises(ExportRefused, match=reason):
        table.export_iceberg()
    table.export_delta()
    found = DeltaTable(table.location).to_pyarrow_table().to_pylist()
    assert sorted((row["dt"].day, row["tags"]) for row in found) == [(1, [[("a", 1)]]), (2, [[("a", 2)]])]
    table.overwrite(table.scan().to_arrow())
    table.export_iceberg()
    assert StaticTable.from_metadata(table.location).scan().to_arrow().num_rows == 2


class Dies(Exception):
    """The machine stops."""


def test_a_crash_before_the_hint_is_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The metadata file is the commit: whoever comes next sees it, and writes the hint that is missing."""
    table = shared(tmp_path / "t")
    table.export_iceberg()
    table.append(rows(2))
    real = LocalStorage.put

    def dies(self: LocalStorage, path: str, data: bytes) -> None:
        if path.endswith("version-hint.text"):
            raise Dies
        real(self, path, data)

    monkeypatch.setattr(LocalStorage, "put", dies)
    with pytest.raises(Dies):
        table.export_iceberg()
    monkeypatch.setattr(LocalStorage, "put", real)
    hint = Path(table.location, "metadata", "version-hint.text")
    assert hint.read_text() == "1"
    result = table.export_iceberg()
    assert (result.written, result.number, hint.read_text()) == (False, 2, "2")
    assert iceberg(table.location) == ours(table)


def test_a_crash_before_the_commit_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Manifests without metadata are nothing: the next export writes its own, and readers never saw anything else."""
    table = shared(tmp_path / "t")
    table.export_iceberg()
    before = iceberg(table.location)
    table.append(rows(2))

    def dies(*_: Any) -> None:
        raise Dies

    monkeypatch.setattr(exporter, "keep", dies)
    with pytest.raises(Dies):
        table.export_iceberg()
    monkeypatch.undo()
    assert iceberg(table.location) == before
    assert table.export_iceberg().files_added == 1
    assert iceberg(table.location) == ours(table)


def test_two_exports_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The slower one finds that its number is taken, looks again, and has nothing left to do."""
    table = shared(tmp_path / "t")
    table.export_iceberg()
    table.append(rows(2))
    other = coalesce.open(table.location)
    done: list[bool] = []

    def overtaken(*arguments: Any) -> None:
        if not done:
            done.append(True)
            other.export_iceberg()
        keep(*arguments)

    monkeypatch.setattr(exporter, "keep", overtaken)
    assert not table.export_iceberg().written
    assert iceberg(table.location) == ours(table)
    assert len(StaticTable.from_metadata(table.location).snapshots()) == 2


def test_another_table_is_not_overwritten(tmp_path: Path) -> None:
    """Metadata of somebody else's stays, and so does a snapshot that somebody else has put on top of ours."""
    table = shared(tmp_path / "t")
    table.export_iceberg()
    other = shared(tmp_path / "other")
    with pytest.raises(ExportRefused, match="is no export of this table"):
        other.export_iceberg(location=table.location)
    metadata = Path(table.location, "metadata", "v1.metadata.json")
    metadata.write_text(metadata.read_text().replace('"coalesce.version"', '"somebody.else"'))
    table.append(rows(2))
    with pytest.raises(ExportRefused, match="somebody else has written"):
        table.export_iceberg()


def test_metadata_may_lie_elsewhere(tmp_path: Path) -> None:
    """At another location, the data files stay in the table, and nothing is written beside them."""
    table = shared(tmp_path / "t")
    result = table.export_iceberg(location=str(tmp_path / "elsewhere"))
    assert result.location == str(tmp_path / "elsewhere")
    assert iceberg(tmp_path / "elsewhere") == ours(table)
    assert not Path(table.location, "metadata").exists()


def test_a_catalogs_table_follows(tmp_path: Path) -> None:
    """It is registered first, and gets the same snapshots, columns and fields from then on."""
    table = shared(tmp_path / "t")
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    with pytest.raises(InvalidArgument, match=r"no namespace for 'db\.events'"):
        table.export_iceberg(catalog=catalog, identifier="db.events")
    catalog.create_namespace("db")
    table.export_iceberg(catalog=catalog, identifier="db.events")
    table.rename_column("app", "program")
    table.append(rows(2).rename_columns(["dt", "program", "n"]))
    table.export_iceberg()
    table.append(rows(3).rename_columns(["dt", "program", "n"]))
    table.export_iceberg(catalog=catalog, identifier="db.events")
    found = catalog.load_table("db.events")
    assert sorted(found.scan().to_arrow().column("n").to_pylist()) == ours(table)
    assert found.schema().column_names == ["dt", "program", "n"]
    with pytest.raises(ExportRefused, match="no export of this table"):
        shared(tmp_path / "other").export_iceberg(catalog=catalog, identifier="db.events")
    catalog.close()


def test_an_export_that_is_dropped_is_gone(tmp_path: Path) -> None:
    """Its metadata is deleted, and the table is as it was."""
    table = shared(tmp_path / "t")
    table.export_iceberg()
    assert table.drop_export("iceberg") == 3
    assert files(table, "metadata") == set()
    assert files(table, "_coalesce/exports") == set()
    assert table.export_iceberg().number == 1


def test_old_snapshots_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Metadata does not grow for ever: only so many snapshots stay, and files that none of them names are deleted."""
    monkeypatch.setattr("coalesce.interop.export.iceberg.metadata._SNAPSHOTS", 2)
    monkeypatch.setattr("coalesce.interop.export.iceberg.cleaning._DAY_MS", -10_000)
    monkeypatch.setattr("coalesce.interop.export.iceberg.cleaning._METADATA_FILES", 1)
    table = shared(tmp_path / "t")
    for day in range(2, 7):
        table.overwrite(rows(day))
        table.export_iceberg()
    found = StaticTable.from_metadata(table.location)
    assert len(found.snapshots()) == 2
    assert all(found.scan(snapshot_id=s.snapshot_id).to_arrow().num_rows == 20 for s in found.snapshots())
    assert len([name for name in files(table, "metadata") if name.endswith(".metadata.json")]) == 2
    assert len([name for name in files(table, "metadata") if ".data.avro" in name]) == 2
