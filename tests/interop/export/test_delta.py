"""Exports to Delta: what delta-rs sees, what the log says, and what happens if somebody dies or interferes."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from deltalake.exceptions import DeltaError

import coalesce
from coalesce.errors import ExportRefused
from coalesce.interop.export.delta import exporter
from coalesce.interop.export.entries import Held, held_by
from coalesce.model.version import ManifestRef
from coalesce.table.exports import ExportSource
from coalesce.table.maintain.exported import keep
from tests.interop.export.tables import SCHEMA, delta, files, log, ours, rows, shared

WRITERS = ["coalesceExport"]


def actions(table: coalesce.Table, number: int, kind: str) -> list[dict[str, Any]]:
    """The actions of a kind in a file of the log."""
    return [action for name, action in log(table, number) if name == kind]


def test_a_first_export_locks_no_reader_out(tmp_path: Path) -> None:
    """Any reader may open it; paths are escaped once, and the day is a partition column as all files have one."""
    table = shared(tmp_path / "t")
    result = table.export_delta()
    [protocol], [add] = actions(table, 0, "protocol"), actions(table, 0, "add")
    assert protocol == {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": WRITERS}
    assert "/_app=%255B%2523small%255D/" in add["path"]
    assert add["partitionValues"] == {"dt": "2026-05-01"}
    assert (result.partitioned_by, result.files, result.number) == (("dt",), 1, 0)
    found = DeltaTable(table.location)
    assert found.to_pyarrow_table().num_rows == 20
    assert delta(table.location) == ours(table)
    assert found.metadata().partition_columns == ["dt"]


def test_required_columns_are_invariants(tmp_path: Path) -> None:
    """Delta's own readers refuse a log that has columns without NULL and does not list the feature."""
    table = coalesce.create(str(tmp_path / "t"), pa.schema([pa.field("n", pa.int64(), nullable=False)]))
    table.append([{"n": 1}])
    table.export_delta()
    [protocol] = actions(table, 0, "protocol")
    assert protocol == {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [*WRITERS, "invariants"]}
    assert delta(table.location) == [1]


def test_statistics_are_told(tmp_path: Path) -> None:
    """Bounds in the forms that readers expect, rounded away from the rows; what readers disagree on is left out."""
    schema = pa.schema(
        [
            *(("d", pa.date32()), ("t", pa.timestamp("us", "UTC")), ("w", pa.timestamp("us"))),
            *(("m", pa.decimal128(9, 2)), ("f", pa.float64()), ("g", pa.float64()), ("s", pa.string())),
            *(("b", pa.binary()), ("z", pa.bool_())),
        ]
    )
    moment = datetime(2026, 5, 1, 12, 0, 0, 123456, tzinfo=UTC)
    table = coalesce.create(str(tmp_path / "t"), schema)
    one = {"d": date(2026, 5, 1), "t": moment, "w": moment.replace(tzinfo=None), "m": Decimal("1.50"), "f": -0.0}
    table.append(pa.Table.from_pylist([{**one, "g": float("nan"), "s": "ü" * 40, "b": b"x", "z": True}, {}], schema))
    table.export_delta()
    [add] = actions(table, 0, "add")
    told = json.loads(add["stats"], parse_float=str)
    assert told["numRecords"] == 2
    assert told["minValues"] == {
        "d": "2026-05-01",
        "t": "2026-05-01T12:00:00.123Z",
        "w": "2026-05-01T12:00:00.123",
        "m": "1.50",
        "f": "-0.0",
        "s": "ü" * 32,
    }
    assert told["maxValues"]["t"] == "2026-05-01T12:00:00.124Z"
    assert told["maxValues"]["f"] == "0.0"
    assert "g" not in told["maxValues"]
    assert told["nullCount"] == dict.fromkeys("dtwmfgsbz", 1)
    assert actions(table, 0, "protocol")[0]["readerFeatures"] == ["timestampNtz"]


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    """A later file of the log has what came and what went; the same version again writes none."""
    table = shared(tmp_path / "t")
    table.export_delta()
    assert not table.export_delta().written
    table.append(rows(2))
    assert table.export_delta().files_added == 1
    assert [name for name, _ in log(table, 1)] == ["commitInfo", "txn", "add"]
    table.delete("dt = DATE '2026-05-01'")
    assert table.export_delta().files_removed == 1
    assert [name for name, _ in log(table, 2)] == ["commitInfo", "txn", "remove"]
    assert files(table, "_delta_log") == {f"_delta_log/{n:020d}.json" for n in range(3)}
    assert delta(table.location) == ours(table)
    assert len(delta_at(table, 0)) == 20


def delta_at(table: coalesce.Table, number: int) -> list[int]:
    """The rows of an older version of the log."""
    found: list[int] = DeltaTable(table.location, version=number).to_pyarrow_table().column("n").to_pylist()
    return found


def test_manifests_that_did_not_change_are_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a version with several manifests, only the new one is read for the next export."""
    table = shared(tmp_path / "t")
    for day in (2, 3):
        table.append(rows(day))
    table.export_delta()
    table.append(rows(4))
    seen: list[int] = []

    def counted(source: ExportSource, refs: Sequence[ManifestRef]) -> Iterable[Held]:
        seen.append(len(refs))
        return held_by(source, refs)

    monkeypatch.setattr(exporter, "held_by", counted)
    table.export_delta()
    assert seen == [1]
    assert delta(table.location) == ours(table)


def test_a_record_that_is_lost_costs_time_only(tmp_path: Path) -> None:
    """Without what says which manifests were exported, all are compared with the log."""
    table = shared(tmp_path / "t")
    table.export_delta()
    table.overwrite(rows(2))
    for name in files(table, "_coalesce/exports"):
        Path(table.location, name).unlink()
    result = table.export_delta()
    assert (result.files_added, result.files_removed) == (1, 1)
    assert delta(table.location) == ours(table)


def test_dead_rows_are_purged_first(tmp_path: Path) -> None:
    """Nobody is shown a removed row: files that have some are written again before they are exported."""
    table = shared(tmp_path / "t")
    table.drop_partition(dt=date(2026, 5, 1), app="app-1")
    assert table.state.dead_rows == 5
    assert table.export_delta().dead_files == 0
    assert table.state.dead_rows == 0
    assert DeltaTable(table.location).to_pyarrow_table().num_rows == 15


def test_dead_rows_may_be_deletion_vectors(tmp_path: Path) -> None:
    """Readers that know them leave the rows out, more of them later too; the others refuse to read."""
    table = shared(tmp_path / "t")
    table.export_delta()
    for app, left in (("app-1", 15), ("app-3", 10)):
        table.drop_partition(dt=date(2026, 5, 1), app=app)
        result = table.export_delta(dead_rows="mark")
        assert (result.dead_files, result.files_added, result.files_removed) == (1, 0, 0)
        assert delta(table.location) == ours(table)
        assert len(ours(table)) == left
    assert actions(table, 2, "remove")[0]["deletionVector"] == actions(table, 1, "add")[0]["deletionVector"]
    with pytest.raises(DeltaError, match="deletionVectors"):
        DeltaTable(table.location).to_pyarrow_table()
    with pytest.raises(ExportRefused, match="10 removed rows lie in its files"):
        table.export_delta(dead_rows="refuse")
    table.rollback(1)
    table.export_delta(dead_rows="mark")
    assert delta(table.location) == ours(table)


def test_dead_rows_of_a_file_that_says_nothing_of_their_order(tmp_path: Path) -> None:
    """Then the rows themselves are looked at, and the vector has the right ones."""
    table = shared(tmp_path / "t")
    mixed = rows(2).take([i * 7 % 20 for i in range(20)])
    table.append(mixed)
    table.delete("app = 'app-2'")
    table.export_delta(dead_rows="mark")
    assert delta(table.location) == ours(table)
    assert not any(value // 100 == 2 for value in ours(table))


def test_names_that_were_changed_are_mapped(tmp_path: Path) -> None:
    """A renamed column, a dropped one whose name is used again, a name that Delta would refuse: all by mapping."""
    table = shared(tmp_path / "t")
    table.export_delta()
    table.rename_column("app", "the program")
    table.drop_column("n")
    table.add_column("n", "int64")
    table.rename_column("dt", "day")
    table.append(rows(2).rename_columns(["day", "the program", "n"]))
    table.export_delta()
    [protocol], [metadata] = actions(table, 1, "protocol"), actions(table, 1, "metaData")
    assert (protocol["minReaderVersion"], protocol["writerFeatures"]) == (2, ["coalesceExport", "columnMapping"])
    assert metadata["configuration"]["delta.columnMapping.mode"] == "name"
    assert metadata["partitionColumns"] == ["day"]
    assert actions(table, 1, "add")[0]["partitionValues"] == {"dt": "2026-05-02"}
    assert not actions(table, 1, "remove")
    found = QueryBuilder().register("t", DeltaTable(table.location))
    answer = found.execute('SELECT day, "the program", n FROM t WHERE n IS NULL').read_all()
    assert pa.table(answer).num_rows == 20
    assert sorted(pa.table(found.execute("SELECT n FROM t WHERE n IS NOT NULL").read_all())["n"].to_pylist()) == sorted(
        rows(2)["n"].to_pylist()
    )


def test_a_partition_column_that_is_no_more(tmp_path: Path) -> None:
    """Once a file has two values of it, it becomes an ordinary column; every file is told anew, and no rows change."""
    table = coalesce.create(str(tmp_path / "t"), SCHEMA, partition_by=["dt", "app"])
    table.append(rows(1, apps=2))
    assert table.export_delta().partitioned_by == ("dt", "app")
    table.set_rule(coalesce.small("app", below="1MB"))
    table.append(rows(2, apps=2))
    assert table.export_delta().partitioned_by == ("dt",)
    again = [add for add in actions(table, 1, "add") if not add["dataChange"]]
    assert (len(again), len(actions(table, 1, "add")), len(actions(table, 1, "remove"))) == (2, 3, 0)
    assert delta(table.location) == ours(table)


def test_an_empty_text_is_no_partition_value(tmp_path: Path) -> None:
    """Delta takes it for NULL, so a column that has one is no partition column; NULL itself may be one."""
    table = coalesce.create(str(tmp_path / "t"), SCHEMA, partition_by=["app"])
    table.append(pa.Table.from_pylist([{"app": None, "n": 1}, {"app": "x", "n": 2}], SCHEMA))
    assert table.export_delta().partitioned_by == ("app",)
    table.append(pa.Table.from_pylist([{"app": "", "n": 3}], SCHEMA))
    assert table.export_delta().partitioned_by == ()
    found = DeltaTable(table.location).to_pyarrow_table().to_pylist()
    assert sorted((str(row["app"]), row["n"]) for row in found) == [("", 3), ("None", 1), ("x", 2)]


def test_without_partition_columns(tmp_path: Path) -> None:
    """On request there are none, and they do not come back by themselves: bounds tell as much."""
    table = shared(tmp_path / "t")
    assert table.export_delta(partitioned=False).partitioned_by == ()
    table.append(rows(2))
    assert table.export_delta().partitioned_by == ()
    assert "dt" in json.loads(actions(table, 1, "add")[0]["stats"])["minValues"]


def test_a_type_that_was_widened(tmp_path: Path) -> None:
    """The log says which type files have; a reader that does not know of that refuses to read."""
    table = coalesce.create(str(tmp_path / "t"), pa.schema([("n", pa.int32()), ("l", pa.list_(pa.int32()))]))
    table.append(pa.table({"n": pa.array([1], pa.int32()), "l": pa.array([[1]], pa.list_(pa.int32()))}))
    table.export_delta()
    table.widen_column("n", "int64")
    table.export_delta()
    [protocol], [metadata] = actions(table, 1, "protocol"), actions(table, 1, "metaData")
    assert protocol["readerFeatures"] == ["typeWidening"]
    fields = json.loads(metadata["schemaString"])["fields"]
    assert fields[0]["metadata"] == {"delta.typeChanges": [{"fromType": "integer", "toType": "long"}]}
    table.drop_export("delta")
    table.export_delta()
    again = json.loads(actions(table, 0, "metaData")[0]["schemaString"])["fields"]
    assert again == fields


def test_what_readers_would_get_wrong_is_refused(tmp_path: Path) -> None:
    """Rows that hold a default: Delta would show NULL."""
    table = shared(tmp_path / "t")
    table.add_column("country", "string", default="DE")
    with pytest.raises(ExportRefused, match="column 'country' has the default 'DE', which other readers do not know"):
        table.export_delta()
    assert not Path(table.location, "_delta_log").exists()
    table.overwrite(table.scan().to_arrow())
    table.export_delta()
    table.add_column("zone", "string", default="EU")  # files that were exported before do not have it
    with pytest.raises(ExportRefused, match="column 'zone' has the default 'EU'"):
        table.export_delta()


def test_features_by_their_names(tmp_path: Path) -> None:
    """What the proposals ask for is in the protocol, the properties and the actions; row ids are ours."""
    table = shared(tmp_path / "t")
    with pytest.raises(
        ExportRefused, match=r'icebergCompatV3 can only be promised .* enable_feature\("icebergCompatV3"\)'
    ):
        table.export_delta(features=["icebergCompatV3"])
    with pytest.raises(ExportRefused, match="there is no feature 'icebergCompatV2'"):
        table.export_delta(features=["icebergCompatV2"])
    table.enable_feature("icebergCompatV3")
    table.add_column("tags", pa.map_(pa.string(), pa.list_(pa.int64())))
    asked = ["materializePartitionColumns", "columnMappingUsageTracking", "icebergCompatV3"]
    table.export_delta(features=asked)
    [protocol], [metadata], [add] = (actions(table, 0, kind) for kind in ("protocol", "metaData", "add"))
    assert protocol["writerFeatures"] == sorted([*asked, *WRITERS, "columnMapping", "domainMetadata", "rowTracking"])
    assert metadata["configuration"] | {"coalesce.tableId": ""} == {
        "coalesce.tableId": "",
        "delta.columnMapping.hasDroppedOrRenamed": "false",
        "delta.columnMapping.maxColumnId": "7",
        "delta.columnMapping.mode": "name",
        "delta.dataSkippingNumIndexedCols": "-1",
        "delta.enableIcebergCompatV3": "true",
        "delta.enableRowTracking": "true",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row_commit_version",
        "delta.rowTracking.materializedRowIdColumnName": "_row_id",
    }
    assert (add["baseRowId"], add["defaultRowCommitVersion"]) == (0, 1)
    [domain] = actions(table, 0, "domainMetadata")
    assert json.loads(domain["configuration"]) == {"rowIdHighWaterMark": 19}
    tags = json.loads(metadata["schemaString"])["fields"][-1]["metadata"]
    nested = {"tags.key": 5, "tags.value": 6, "tags.value.element": 7}
    assert tags["delta.columnMapping.nested.ids"] == nested
    table.rename_column("n", "number")
    table.export_delta()
    assert actions(table, 1, "metaData")[0]["configuration"]["delta.columnMapping.hasDroppedOrRenamed"] == "true"
    found = QueryBuilder().register("t", DeltaTable(table.location)).execute("SELECT number AS n FROM t").read_all()
    assert sorted(pa.table(found)["n"].to_pylist()) == sorted(table.scan().to_arrow()["number"].to_pylist())


def test_foreign_writers_are_kept_away(tmp_path: Path) -> None:
    """delta-rs may not append, delete, optimize or vacuum: it does not know the feature that is ours."""
    table = shared(tmp_path / "t")
    table.append(rows(1))  # to have two files that an optimization would merge
    table.export_delta()
    table.export_iceberg()  # to have files that a vacuum would take for nobody's
    before = files(table, "")
    found = DeltaTable(table.location)
    for attempt in (
        lambda: write_deltalake(table.location, rows(2), mode="append"),
        lambda: found.delete("n = 3"),
        found.optimize.compact,
        lambda: found.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False, full=True),
    ):
        with pytest.raises(Exception, match="coalesceExport"):
            attempt()
    assert files(table, "") >= before
    assert delta(table.location) == ours(table)


def test_another_table_is_not_overwritten(tmp_path: Path) -> None:
    """A log of somebody else's stays as it is, and so does one that somebody else has gone on with."""
    table = shared(tmp_path / "t")
    write_deltalake(str(tmp_path / "theirs"), rows(1))
    theirs = Path(tmp_path, "theirs", "_delta_log")
    theirs.rename(Path(table.location, "_delta_log"))
    with pytest.raises(ExportRefused, match="is no export of this table"):
        table.export_delta()
    with pytest.raises(ExportRefused, match="is no export of this table"):
        table.drop_export("delta")
    other = shared(tmp_path / "other")
    other.export_delta()
    foreign = '{"commitInfo":{"engineInfo":"somebody else"}}\n'
    Path(other.location, "_delta_log", f"{1:020d}.json").write_text(foreign)
    with pytest.raises(ExportRefused, match="somebody else has written"):
        other.export_delta()


def test_two_exports_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The slower one finds that its number is taken, looks again, and has nothing left to do."""
    table = shared(tmp_path / "t")
    table.export_delta()
    table.append(rows(2))
    other = coalesce.open(table.location)
    done: list[bool] = []

    def overtaken(*arguments: Any) -> None:
        if not done:
            done.append(True)
            other.export_delta()
        keep(*arguments)

    monkeypatch.setattr(exporter, "keep", overtaken)
    assert not table.export_delta().written
    assert files(table, "_delta_log") == {f"_delta_log/{n:020d}.json" for n in range(2)}
    assert delta(table.location) == ours(table)


def test_checkpoints(tmp_path: Path) -> None:
    """Every ten versions of the log there is one; readers and the next export begin with it."""
    table = shared(tmp_path / "t")
    table.export_delta(features=["rowTracking"])
    for day in range(2, 13):
        table.append(rows(day))
        if day == 5:
            table.delete("dt = DATE '2026-05-01'")
        table.export_delta()
    assert f"_delta_log/{10:020d}.checkpoint.parquet" in files(table, "_delta_log")
    for number in range(10):  # as a clean-up of the log would
        Path(table.location, "_delta_log", f"{number:020d}.json").unlink()
    assert delta(table.location) == ours(table)
    table.drop_partition(dt=date(2026, 5, 3), app="app-1")
    result = table.export_delta(dead_rows="mark")
    assert (result.number, result.dead_files) == (12, 1)
    assert delta(table.location) == ours(table)


def test_an_older_table_object_does_not_take_an_export_back(tmp_path: Path) -> None:
    """An export brings readers forward only: who has not seen a later version exports that one."""
    table = shared(tmp_path / "t")
    stale = coalesce.open(table.location)
    table.append(rows(2))
    table.export_delta()
    assert not stale.export_delta().written
    with pytest.raises(coalesce.CoalesceError, match="read-only"):
        coalesce.open(table.location, version=1).export_delta()
    assert delta(table.location) == ours(table)
