"""A table through many lives: compared with rows in memory after every step, and again from every later version."""

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

import coalesce
from coalesce.errors import PredicateError, SchemaError, SpecError
from coalesce.model.version import ICEBERG_COMPAT_V3
from tests.table.story import Story, contents, look_back, twelve_evolutions


def test_twelve_evolutions_in_a_row(tmp_path: Path) -> None:
    """Every kind of change, interleaved with appends and deletes; every version stays as it was, names and all."""
    story = Story(tmp_path)
    twelve_evolutions(story)
    look_back(story)


def test_a_reused_name_never_shows_old_data(tmp_path: Path) -> None:
    """Drop a column, add another of the same name: old rows hold NULL in it, never the old values."""
    schema = pa.schema([("k", pa.int64()), ("v", pa.string())])
    table = coalesce.create(tmp_path, schema)
    table.append(pa.table({"k": [1], "v": ["old"]}))
    table.drop_column("v")
    table.add_column("v", "string")
    table.append(pa.table({"k": [2], "v": ["new"]}))
    assert contents(table) == [{"k": 1, "v": None}, {"k": 2, "v": "new"}]
    assert table.schema.field("v").physical_name != "v"


def test_physical_names_equal_logical_ones_until_the_first_drop_or_rename(tmp_path: Path) -> None:
    """Usage tracking: the flag is set once and never cleared, ids only grow, later columns get unique names."""
    table = coalesce.create(tmp_path, pa.schema([("a", pa.int64()), ("b", pa.int64())]))
    table.add_column("c", "int64")
    assert [f.physical_name for f in table.schema] == ["a", "b", "c"]
    assert table.state.has_dropped_or_renamed is False
    flagged = table.rename_column("a", "x")
    assert flagged.has_dropped_or_renamed
    assert table.schema.field("x").physical_name == "a"
    table.add_column("a", "int64")
    assert table.schema.field("a").physical_name.startswith("a-")
    highest = table.state.max_column_id
    table.drop_column("a")
    table.add_column("s", pa.struct([("inner", pa.list_(pa.int32()))]))
    ids = [f.id for f in table.schema]
    assert len(set(ids)) == len(ids)
    last = table.reorder(["b"])
    assert last.max_column_id == highest + 3
    assert last.has_dropped_or_renamed


def test_each_spec_prunes_its_own_files(tmp_path: Path) -> None:
    """`dt = … AND merchant = …` reads the day's old file and one bucket of the new ones."""
    schema = pa.schema([("dt", pa.date32()), ("merchant", pa.string())])
    table = coalesce.create(tmp_path, schema, partition_by=["dt"])
    days = [dt.date(2026, 4, d) for d in (1, 2)]
    rows = pa.table(
        {"dt": [d for d in days for _ in range(40)], "merchant": [f"m-{i % 40}" for i in range(80)]}, schema=schema
    )
    table.append(rows)
    table.evolve(add="bucket(8, merchant)")
    table.append(rows)
    plan = table.plan("dt = DATE '2026-04-01' AND merchant = 'm-7'")
    assert [sum(f.spec_id == s for f in plan.files) for s in (0, 1)] == [1, 1]
    assert table.count("dt = DATE '2026-04-01' AND merchant = 'm-7'") == 2
    old, new = table.describe_evolution()
    assert (old.current, new.current) == (False, True)
    assert old.files == 2
    assert new.files == 16


def test_a_renamed_partition_column_prunes_under_its_new_name_only(tmp_path: Path) -> None:
    """The new name prunes as the old one did; the old one is unknown, with a hint."""
    schema = pa.schema([("dt", pa.date32()), ("n", pa.int64())])
    table = coalesce.create(tmp_path, schema, partition_by=["dt"])
    table.append(pa.table({"dt": [dt.date(2026, 4, 1), dt.date(2026, 4, 2)], "n": [1, 2]}, schema=schema))
    before = table.state.manifests
    table.rename_column("dt", "event_date")
    assert table.state.manifests == before
    assert table.plan("event_date = DATE '2026-04-01'").file_count == 1
    with pytest.raises(PredicateError, match="dt"):
        table.plan("dt = DATE '2026-04-01'")


def test_what_is_refused_is_refused_with_a_way_out(tmp_path: Path) -> None:
    """A column in use, a narrowing, a last column, an unknown name, a required column with no default."""
    table = coalesce.create(tmp_path, pa.schema([("dt", pa.date32()), ("n", pa.int64())]), partition_by=["dt"])
    with pytest.raises(SchemaError, match=r'evolve\(drop="dt"\)'):
        table.drop_column("dt")
    with pytest.raises(SchemaError, match="cannot become int32"):
        table.widen_column("n", "int32")
    with pytest.raises(SchemaError, match="did you mean 'n'"):
        table.rename_column("nn", "m")
    with pytest.raises(SchemaError, match="required without a default"):
        table.add_column("m", "int64", required=True)
    with pytest.raises(SchemaError, match="differ only in case"):
        table.rename_column("n", "DT")
    with pytest.raises(SpecError, match="not a partition field"):
        table.evolve(drop="n")
    with pytest.raises(SpecError, match="changes nothing"):
        table.evolve()
    assert table.version == 0


def test_replacing_under_iceberg_compatibility(tmp_path: Path) -> None:
    """The same partition names with another type may replace; differently named ones may not."""
    table = coalesce.create(tmp_path, pa.schema([("part_a", pa.int32()), ("n", pa.int64())]), partition_by=["part_a"])
    table.append(pa.table({"part_a": [1], "n": [1]}, schema=pa.schema([("part_a", pa.int32()), ("n", pa.int64())])))
    table.enable_feature(ICEBERG_COMPAT_V3)
    with pytest.raises(SpecError, match="part_b"):
        table.replace_schema(pa.schema([("part_b", pa.int32())]), partition_by=["part_b"])
    table.replace_schema(pa.schema([("part_a", pa.int64()), ("n", pa.int64())]), partition_by=["part_a"])
    assert table.count() == 0
    table.append(pa.table({"part_a": [2**40], "n": [2]}))
    assert contents(table) == [{"part_a": 2**40, "n": 2}]
    assert contents(table.at(version=1)) == [{"part_a": 1, "n": 1}]


def test_an_old_spec_comes_back_under_its_old_id(tmp_path: Path) -> None:
    """Dropping a field and adding it again is the spec the table had before."""
    table = coalesce.create(tmp_path, pa.schema([("a", pa.int64()), ("b", pa.int64())]), partition_by=["a"])
    table.evolve(add="b")
    table.evolve(drop="b")
    assert table.state.current_spec_id == 0
    assert len(table.state.specs) == 2
