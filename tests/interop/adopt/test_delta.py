"""Delta tables, from their logs: the same rows as their own reader gives."""

import json
import string
import struct
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import coalesce
from coalesce.errors import CoalesceError, NotInstalled, SchemaError, UnsupportedFeature
from tests.interop.adopt.lakes import digest, rows_of

ROWS = pa.table(
    {
        "app": ["a", "b", "x/y", None, "é %"],
        "dt": [date(2026, 5, 1)] * 4 + [date(2026, 5, 2)],
        "n": [1, 2, 3, 4, 5],
        "f": [1.0, float("nan"), 2.0, 3.0, None],
        "s": ["x" * 40, "é", "c", "d", None],
        "ts": pa.array([1, 2, 3, 4, 1_234_567], pa.timestamp("us", "UTC")),
        "st": [{"a": 1, "l": [{"q": 1}]}] * 5,
    }
)


@pytest.fixture
def delta(tmp_path: Path) -> str:
    """A table of two commits, partitioned by day and app."""
    write_deltalake(tmp_path, ROWS, partition_by=["dt", "app"])
    write_deltalake(tmp_path, ROWS.slice(0, 2), mode="append")
    return str(tmp_path)


def theirs(location: str) -> list[str]:
    """The rows as delta-rs reads them."""
    return rows_of(DeltaTable(location).to_pyarrow_table().select(ROWS.column_names))


def ours(table: coalesce.Table) -> list[str]:
    """The rows as the table has them."""
    return rows_of(table.scan().to_arrow().select(ROWS.column_names))


def test_the_same_rows(delta: str) -> None:
    """With the log's partition values and statistics, and without writing anything beside `_coalesce`."""
    before = digest(Path(delta))
    done = coalesce.adopt(delta, rule=coalesce.small("app"))
    table = done.table
    assert (done.source, done.state, done.files_added, done.rows_added, done.unknown) == ("delta", "version 1", 7, 7, 0)
    assert digest(Path(delta)) == before
    assert ours(table) == theirs(delta)
    assert {p.values["app"] for p in table.partitions()} == {"a", "b", "x/y", None, "é %"}
    assert len(table.files("n = 3")) == 1
    assert len(table.files("app = 'x/y'")) == 1
    assert len(table.files("s = 'zzz'")) == 2  # the greatest of a long text is cut, so that nothing is known of it
    moment = datetime.fromtimestamp(1.234567, UTC)
    assert table.scan(coalesce.col("ts") == moment).to_arrow().num_rows == 1
    assert list(table.check(deep=True)) == []
    table.compact()
    assert len(table.files()) == 2
    assert ours(table) == theirs(delta)


def test_again(delta: str) -> None:
    """What came and went in the log since; but not what the table has written again itself."""
    coalesce.adopt(delta)
    DeltaTable(delta).delete("n = 1")
    write_deltalake(delta, ROWS.slice(2, 1).append_column("more", pa.array(["m"])), mode="append", schema_mode="merge")
    done = coalesce.adopt(delta)
    assert (done.files_added, done.files_removed, done.state) == (1, 2, "version 3")
    assert done.table.count("more = 'm'") == 1
    assert ours(done.table) == theirs(delta)
    assert not coalesce.adopt(delta).committed
    done.table.set_rule(coalesce.small("app"))
    done.table.compact()
    assert not coalesce.adopt(delta).committed
    DeltaTable(delta).delete("n = 2")
    with pytest.raises(CoalesceError, match="written again or removed since are gone"):
        coalesce.adopt(delta)


def test_what_is_refused(delta: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a reason: columns that the log says itself, features that nobody knows, and a library that is missing."""
    with pytest.raises(SchemaError, match="schema= is for Parquet directories"):
        coalesce.adopt(delta, schema=ROWS.schema)
    other = tmp_path_factory.mktemp("other")
    write_deltalake(other, ROWS)
    log = other / "_delta_log/00000000000000000000.json"
    protocol = protocol_with("variantType")
    lines = [protocol if '"protocol"' in line else line for line in log.read_text().splitlines()]
    log.write_text("\n".join(lines))
    with pytest.raises(UnsupportedFeature, match="variantType"):
        coalesce.adopt(other)
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "deltalake", None)
        with pytest.raises(NotInstalled, match=r"is a Delta table.*pip install"):
            coalesce.adopt(delta)
    (Path(delta) / "_delta_log/00000000000000000000.json").write_text("not json")
    with pytest.raises(UnsupportedFeature, match="cannot be read"):
        coalesce.adopt(delta)


def protocol_with(feature: str) -> str:
    """The line of a log that demands a feature of readers and writers."""
    demands = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [feature], "writerFeatures": [feature]}
    return json.dumps({"protocol": demands})


def vector_of(one: int, other: int) -> str:
    """A deletion vector of two rows as a log holds it: a magic number, a bitmap of a container, in Z85."""
    data = struct.pack("<IQI", 1681511377, 1, 0) + struct.pack("<IIHHIHH", 12346, 1, 0, 1, 16, one, other)
    digits = string.digits + string.ascii_lowercase + string.ascii_uppercase + ".-:+=^!/*?&<>()[]{}@%$#"
    numbers = struct.unpack(f">{len(data) // 4}I", data)
    return "".join(digits[number // 85**place % 85] for number in numbers for place in (4, 3, 2, 1, 0))


def test_deletion_vectors_and_files_elsewhere(tmp_path: Path) -> None:
    """Rows that a vector deletes would come back; what lies outside of the directory cannot be named."""
    write_deltalake(tmp_path / "t", ROWS.select(["n"]))
    log = tmp_path / "t/_delta_log/00000000000000000000.json"
    text = log.read_text()
    (path,) = [p.name for p in (tmp_path / "t").glob("*.parquet")]
    log.write_text(text.replace(f'"path":"{path}"', f'"path":"file://{tmp_path}/t/{path}"'))
    with pytest.raises(UnsupportedFeature, match="lie elsewhere"):
        coalesce.adopt(tmp_path / "t")
    lines = [protocol_with("deletionVectors") if '"protocol"' in line else line for line in text.splitlines()]
    log.write_text("\n".join(lines))
    assert coalesce.adopt(tmp_path / "t").rows_added == 5  # the feature is on, and nothing was deleted by it
    vector = json.dumps(
        {"storageType": "i", "pathOrInlineDv": vector_of(1, 3), "sizeInBytes": 36, "cardinality": 2},
        separators=(",", ":"),
    )
    log.write_text("\n".join(line.replace('{"add":{', f'{{"add":{{"deletionVector":{vector},') for line in lines))
    (tmp_path / "t/_coalesce/versions").rename(tmp_path / "t/_coalesce/gone")
    with pytest.raises(UnsupportedFeature, match="deleted by vectors"):
        coalesce.adopt(tmp_path / "t")


@pytest.mark.parametrize("mode", ["name", "id"])
def test_mapped_columns(tmp_path: Path, mode: str) -> None:
    """A column has the id and the physical name that the log gives it, and is called as it is called now."""
    write_deltalake(tmp_path, ROWS.select(["n", "app"]), partition_by=["app"])
    log = tmp_path / "_delta_log/00000000000000000000.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "protocol" in action:
            action["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}
        if "metaData" in action:
            schema = json.loads(action["metaData"]["schemaString"])
            for number, field in enumerate(schema["fields"]):
                field["metadata"] = {
                    "delta.columnMapping.id": 10 + number,
                    "delta.columnMapping.physicalName": field["name"],
                }
                field["name"] = {"n": "number", "app": "application"}[field["name"]]
            action["metaData"] |= {
                "schemaString": json.dumps(schema),
                "partitionColumns": ["application"],
                "configuration": {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "20"},
            }
    log.write_text("\n".join(map(json.dumps, actions)))
    table = coalesce.adopt(tmp_path).table
    named = [(f.name, f.id, f.physical_name) for f in table.schema]
    assert named == [("number", 10, "n"), ("application", 11, "app")]
    assert rows_of(table.scan().to_arrow()) == rows_of(
        ROWS.select(["n", "app"]).rename_columns(["number", "application"])
    )
    assert len(table.files("number = 3")) == len(table.files("application = 'x/y'")) == 1
    table.rename_column("number", "n2")
    assert not coalesce.adopt(tmp_path).committed
