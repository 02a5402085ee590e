"""What a table says of itself, from metadata alone."""

from pathlib import Path

import pyarrow as pa

import coalesce

SCHEMA = pa.schema([("app", pa.string()), ("k", pa.int64())])


def test_how_much_is_live_and_how_much_is_dead(tmp_path: Path) -> None:
    """Rows, bytes, and of the bytes about those of dead rows; none of it after a purge, and none before a removal."""
    table = coalesce.create(
        tmp_path / "t",
        SCHEMA,
        partition_by=["app"],
        rule=coalesce.small("app", below="64MB"),
        properties={"remove.by": "mark"},
    )
    table.append(pa.table({"app": ["A", "A", "B", "C"] * 25, "k": range(100)}, SCHEMA))
    before = table.describe()
    assert (before.rows, before.dead_rows, before.dead_bytes) == (100, 0, 0)
    assert "removed" not in str(before)
    table.drop_partition(app="A")
    described = table.describe()
    assert (described.version, described.operation) == (table.version, "drop_partition")
    assert (described.rows, described.dead_rows, described.files) == (50, 50, 1)
    assert described.dead_bytes == described.bytes // 2
    assert "removed         50 rows that still lie in files, about" in str(described)
    assert table.at(version=before.version).describe() == before
    table.purge()
    assert (table.describe().dead_rows, table.describe().dead_bytes) == (0, 0)


def test_what_it_is(tmp_path: Path) -> None:
    """Columns, fields, rule, properties, and that there were other rules; also without rows or fields."""
    table = coalesce.create(tmp_path / "t", SCHEMA)
    assert "partitioned by  nothing" in str(table.describe())
    assert table.describe().partition_by == ()
    table.set_properties({"owner": "the team"})
    table.set_rule(coalesce.keep_all())
    described = table.describe()
    assert (described.rule, described.rules, described.properties) == ("keep_all()", 2, {"owner": "the team"})
    assert described.schema == table.schema
    assert described.location == table.location
    shown = str(described)
    assert "rule            keep_all()  (1 earlier rule)" in shown
    assert "property        owner = the team" in shown
    assert [line.split()[:3] for line in shown.splitlines()[-2:]] == [["1", "app", "string"], ["2", "k", "int64"]]
