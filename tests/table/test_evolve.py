"""A table through many lives: compared with rows in memory after every step, and again from every later version."""

import datetime as dt
from pathlib import Path

import numpy as np
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
    assert [v.has_dropped_or_renamed for v in table.history()] == [False, False]
    table.rename_column("a", "x")
    assert table.state.has_dropped_or_renamed
    assert table.schema.field("x").physical_name == "a"
    table.add_column("a", "int64")
    assert table.schema.field("a").physical_name.startswith("a-")
    highest = table.state.max_column_id
    table.drop_column("a")
    table.add_column("s", pa.struct([("inner", pa.list_(pa.int32()))]))
    ids = [f.id for f in table.schema]
    assert len(set(ids)) == len(ids)
    table.reorder(["b"])
    assert table.state.max_column_id == highest + 3
    assert table.state.has_dropped_or_renamed


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


def test_the_name_of_a_partition_column_that_is_gone_can_be_taken(tmp_path: Path) -> None:
    """By another partition column of the same files: its values are listed under it, and the old ones beside them."""
    table = coalesce.create(tmp_path, pa.schema([("a", pa.string()), ("b", pa.int64())]), partition_by=["a", "b"])
    table.append([{"a": "x", "b": 1}])
    table.evolve(drop="a")
    table.drop_column("a")
    table.rename_column("b", "a")
    table.append([{"a": 2}])
    gone = next(f for f in table.state.spec_by_id(0).fields if f.name != "a")
    assert gone.name == f"a_{gone.field_id}"
    assert [p.values for p in coalesce.open(tmp_path).partitions()] == [{gone.name: "x", "a": 1}, {"a": 2}]
    assert table.count("a = 1") == table.plan("a = 1").file_count == 1
    table.add_column("n", "int64")
    table.evolve(add="bucket(4, n)")
    with pytest.raises(SchemaError, match="there is a partition field 'n_bucket'; choose another name for 'a'"):
        table.rename_column("a", "n_bucket")


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


def test_a_flag_may_be_numpys(tmp_path: Path) -> None:
    """`required=` is what a comparison of arrays gives, too; the version file has Python's."""
    table = coalesce.create(tmp_path / "t", pa.schema([("n", pa.int64())]))
    table.add_column("m", "int64", default=0, required=np.bool_(True))  # type: ignore[arg-type]
    assert coalesce.open(tmp_path / "t").schema.field("m").required is True


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


def test_columns_that_are_called_like_transforms(tmp_path: Path) -> None:
    """What names a column partitions by that column, not by a transform that reads the same; of two, neither counts."""
    odd = pa.table({"amount (eur)": [1, 2, 2], "day(ts)": [7, 7, 8], "n": [1, 2, 3]})
    table = coalesce.create(tmp_path / "one", odd.schema, partition_by=["amount (eur)", "day(ts)"])
    table.append(odd)
    assert [f.name for f in table.state.spec.fields] == ["amount (eur)", "day(ts)"]
    table.overwrite_partitions(odd.slice(2))
    assert (len(table.partitions()), table.count("`amount (eur)` = 2 AND `day(ts)` = 7")) == (3, 1)
    both = odd.append_column("ts", pa.array([dt.datetime(2026, 5, 1)] * 3, pa.timestamp("us")))
    with pytest.raises(SpecError, match="name of a column, and a transform of the column 'ts'"):
        coalesce.create(tmp_path / "two", both.schema, partition_by=["day(ts)"])
    quoted = coalesce.create(tmp_path / "two", both.schema, partition_by=["`day(ts)`"])
    assert [f.name for f in quoted.state.spec.fields] == ["day(ts)"]


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


def test_a_default_of_zero_or_nothing_reaches_another_process(tmp_path: Path) -> None:
    """0, 0.0, '', False and an empty binary are what old rows hold, also to one who only has the version file."""
    defaults: dict[str, tuple[str, object]] = {
        "i": ("int64", 0),
        "d": ("double", 0.0),
        "s": ("string", ""),
        "b": ("boolean", False),
        "y": ("binary", b""),
    }
    table = coalesce.create(tmp_path, pa.schema([("k", pa.int64())]))
    table.append(pa.table({"k": [1]}))
    for name, (type_, default) in defaults.items():
        table.add_column(name, type_, default=default, required=name == "i")
    expected = {"k": 1, **{name: default for name, (_, default) in defaults.items()}}
    opened = coalesce.open(tmp_path)
    assert opened.scan().to_arrow().to_pylist() == [expected]
    assert opened.count("i = 0 AND d = 0 AND s = '' AND NOT b") == 1
    opened.rename_column("k", "key")  # another version file, written from the one that was read
    assert coalesce.open(tmp_path).scan(columns=list(defaults)).to_arrow().to_pylist() == [
        {name: default for name, (_, default) in defaults.items()}
    ]


def test_buckets_of_an_old_spec_still_count_when_a_type_is_widened(tmp_path: Path) -> None:
    """Files of a spec the table no longer writes are judged by their buckets all the same.

    A date's buckets are not its timestamp's, so the date has to stay one; an integer's are those of the wider integer.
    """
    schema = pa.schema([("d", pa.date32()), ("i", pa.int32())])
    table = coalesce.create(tmp_path, schema, partition_by=["bucket(16, d)", "bucket(16, i)"])
    days = [dt.date(2026, 4, d) for d in range(1, 29)]
    rows = pa.table({"d": days, "i": range(-14, 14)}, schema=schema)
    table.append(rows)
    table.evolve(drop=["bucket(16, d)", "bucket(16, i)"])
    with pytest.raises(SchemaError, match=r"in buckets by its day \(bucket\(16, d\)\).* has to stay a date"):
        table.widen_column("d", "timestamp_ntz")
    table.widen_column("i", "int64")
    for day, i in zip(days, range(-14, 14), strict=True):
        assert contents(table, f"d = DATE '{day}'") == contents(table, f"i = {i}") == [{"d": day, "i": i}]


def test_columns_are_renamed_whatever_case_they_are_asked_for_in(tmp_path: Path) -> None:
    """Names are found as Spark finds them; the new one may be the old one in another case, and partitions follow it."""
    schema = pa.schema([("Dt", pa.date32()), ("Info", pa.struct([("Code", pa.int64())])), ("n", pa.int64())])
    table = coalesce.create(tmp_path, schema, partition_by=["dt"])
    day = dt.date(2026, 4, 1)
    table.append(pa.table({"Dt": [day], "Info": [{"Code": 1}], "n": [2]}, schema=schema))
    table.rename_column("N", "Count")
    table.rename_column("info.CODE", "id")
    table.rename_column("DT", "day")
    table.rename_column("count", "count")  # is called Count
    assert contents(table) == [{"day": day, "Info": {"id": 1}, "count": 2}]
    assert [f.name for f in table.state.spec.fields] == ["day"]
    assert table.plan("DAY = DATE '2026-04-02'").file_count == 0
    with pytest.raises(SchemaError, match="is called 'count' already"):
        table.rename_column("COUNT", "count")


def test_a_date_that_becomes_a_timestamp_stays_where_it_was(tmp_path: Path) -> None:
    """Its default, its tuples and the bounds of manifests are days; all of them are midnights afterwards."""
    table = coalesce.create(tmp_path, pa.schema([("d", pa.date32()), ("n", pa.int64())]), partition_by=["d"])
    for day in (1, 2):
        table.append(pa.table({"d": [dt.date(2026, 4, day)], "n": [day]}))
    table.add_column("e", "date", default=dt.date(2026, 5, 17))
    table.widen_column("d", "timestamp_ntz")
    table.widen_column("e", "timestamp_ntz")
    midnight = "TIMESTAMP_NTZ '2026-04-01 00:00:00'"
    expected = [{"d": dt.datetime(2026, 4, 1), "n": 1, "e": dt.datetime(2026, 5, 17)}]
    assert contents(table, f"d = {midnight}") == contents(coalesce.open(tmp_path), f"d = {midnight}") == expected
    assert table.plan(f"d = {midnight}").file_count == 1
    assert table.count("e = DATE '2026-05-17'") == 2


def test_a_schema_that_is_replaced_leaves_no_name_to_be_used_again(tmp_path: Path) -> None:
    """A column that stays itself keeps its physical name; one of another type has a name no file has used."""
    table = coalesce.create(tmp_path, pa.schema([("k", pa.int64()), ("v", pa.string())]))
    old = table.state
    table.replace_schema(pa.schema([("k", pa.int64()), ("v", pa.int64())]))
    new = table.state
    assert new.schema.field("k") == old.schema.field("k")
    assert new.schema.field("v").physical_name.startswith("v-")
    assert new.has_dropped_or_renamed
    table.add_column("w", "int64")
    assert table.schema.field("w").physical_name.startswith("w-")
