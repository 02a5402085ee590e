"""Columns that come with rows are added with them, or not at all."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import coalesce
from coalesce.errors import CommitConflict, InvalidArgument, SchemaError
from coalesce.manifest.paths import VERSIONS
from tests.table.examples import create, events, ids, opened
from tests.table.stores import InterruptedStorage


def rows(table: coalesce.Table) -> list[dict[str, Any]]:
    """Every row, in the order of its key."""
    found: list[dict[str, Any]] = table.scan().to_arrow().sort_by("k").to_pylist()
    return found


@pytest.fixture
def table(tmp_path: Path) -> coalesce.Table:
    """A key and a small number, partitioned by app."""
    schema = pa.schema([("k", pa.int32()), ("app", pa.string()), ("st", pa.struct([("a", pa.int64())]))])
    made = coalesce.create(tmp_path, schema, partition_by=["app"], rule=coalesce.small("app"))
    made.append(pa.table({"k": [1], "app": ["A"], "st": [{"a": 1}]}, schema=schema))
    return made


NEW = pa.table({"k": pa.array([2], pa.int64()), "app": ["B"], "note": ["x"], "st": [{"a": 2, "b": 0.5}]})


def test_new_columns_come_in_one_version_with_the_rows(table: coalesce.Table) -> None:
    """Top-level ones, members of structs, and wider types; older rows hold NULL."""
    result = table.append(NEW, schema_mode="merge")
    assert (result.version, result.operation, result.rows_added) == (2, "append", 1)
    assert [(f.name, str(f.type)) for f in table.schema] == [
        ("k", "int64"), ("app", "string"), ("st", "struct<a: int64, b: double>"), ("note", "string")
    ]  # fmt: skip
    assert rows(coalesce.open(table.location)) == [
        {"k": 1, "app": "A", "st": {"a": 1, "b": None}, "note": None},
        {"k": 2, "app": "B", "st": {"a": 2, "b": 0.5}, "note": "x"},
    ]
    assert table.count("note = 'x' AND k < 3000000000") == 1
    assert table.schema.names == table.refresh().schema.names
    assert len(table.at(version=1).schema) == 3


def test_rows_that_fit_change_nothing(table: coalesce.Table) -> None:
    """Columns that are missing, narrower or in another order are no news: appends do not stand in each other's way."""
    before = table.schema
    other = coalesce.open(table.location)
    table.append(pa.table({"app": ["B"], "k": pa.array([2], pa.int8())}), schema_mode="merge")
    other.append(pa.table({"app": ["B"], "k": pa.array([3], pa.int8())}), schema_mode="merge")
    assert (other.schema, other.count()) == (before, 3)


def test_strict_is_the_default_and_a_misspelt_mode_is_refused(table: coalesce.Table) -> None:
    """Nothing is written by either."""
    with pytest.raises(SchemaError, match="no column 'note' in the table"):
        table.append(NEW)
    with pytest.raises(InvalidArgument, match="schema_mode= is 'strict' or 'merge', not 'merged'"):
        table.append(NEW, schema_mode="merged")
    assert table.refresh().version == 1


def test_a_write_that_fails_leaves_no_column(table: coalesce.Table) -> None:
    """The rows bring a new column, and a type that cannot be: neither comes in, and no file stays."""
    before = {str(p) for p in Path(table.location).rglob("*")}
    with pytest.raises(SchemaError, match="column 'app' is int64"):
        table.append(pa.table({"k": [2], "app": [7], "note": ["x"]}), schema_mode="merge")
    assert table.refresh().schema.names == ("k", "app", "st")
    assert {str(p) for p in Path(table.location).rglob("*")} == before


def test_overwrites_merge_too(table: coalesce.Table) -> None:
    """By predicate, where a literal is one of the wider type, and by logical partition."""
    large = pa.table({"k": [3_000_000_000], "app": ["A"], "note": ["large"]})
    for bound in (2_000_000_000, 2_500_000_000):  # the latter is above all that the narrower column can hold
        with pytest.raises(SchemaError, match="1 row does not match"):
            table.overwrite(large, f"k < {bound}", schema_mode="merge")
    result = table.overwrite(large, "k >= 1", schema_mode="merge")
    assert (result.rows_added, result.rows_removed) == (1, 1)
    assert [(r["k"], r["note"]) for r in rows(table)] == [(3_000_000_000, "large")]
    table.overwrite_partitions(pa.table({"k": [5], "app": ["A"], "more": [True]}), schema_mode="merge")
    assert [(r["k"], r["note"], r["more"]) for r in rows(table)] == [(5, None, True)]


def test_a_file_that_is_rewritten_beside_wider_rows_keeps_its_values(tmp_path: Path) -> None:
    """A date becomes a timestamp; what is written again was written as a date, and its bounds say so."""
    schema = pa.schema([("app", pa.string()), ("d", pa.date32())])
    table = coalesce.create(tmp_path, schema, partition_by=["app"], rule=coalesce.small("app"))
    table.append(pa.table({"app": ["A", "B"], "d": [date(2026, 5, 17)] * 2}))
    late = pa.table({"app": ["A"], "d": pa.array([datetime(2026, 5, 18, 12)], pa.timestamp("us"))})
    table.overwrite(late, "app = 'A'", schema_mode="merge")
    found = table.scan("d < TIMESTAMP_NTZ '2026-05-18 00:00:00'").to_arrow().to_pylist()
    assert found == [{"app": "B", "d": datetime(2026, 5, 17)}]
    assert table.max("d") == datetime(2026, 5, 18, 12)


def test_a_partition_column_is_widened_by_appends_alone(tmp_path: Path) -> None:
    """Which logical partitions rows of the wider type stand for is not said under the narrower one."""
    table = coalesce.create(tmp_path, pa.schema([("d", pa.date32()), ("n", pa.int64())]), partition_by=["d"])
    table.append(pa.table({"d": [date(2026, 5, 17)], "n": [1]}))
    wide = pa.table({"d": pa.array([datetime(2026, 5, 17), datetime(2026, 5, 18)], pa.timestamp("us")), "n": [2, 3]})
    with pytest.raises(SchemaError, match=r"widen a partition column.*widen_column"):
        table.overwrite_partitions(wide, schema_mode="merge")
    table.append(wide, schema_mode="merge")
    assert [(p.values["d"], p.rows) for p in table.partitions()] == [
        (datetime(2026, 5, 17), 2),
        (datetime(2026, 5, 18), 1),
    ]
    assert table.count("d = DATE '2026-05-17'") == 2


def test_what_says_no_type_takes_the_one_there_is(table: coalesce.Table) -> None:
    """A column of NULLs, and Python's own numbers, do not widen anything; a new column of NULLs has no type to take."""
    table.append(pa.table({"k": pa.nulls(1), "app": ["B"], "note": ["x"]}), schema_mode="merge")
    table.append([{"k": 2, "app": "C", "more": 0.5}], schema_mode="merge")
    assert [str(f.type) for f in table.schema] == ["int32", "string", "struct<a: int64>", "string", "double"]
    assert table.count("more = 0.5 AND k = 2") == 1
    with pytest.raises(SchemaError, match="'empty'"):
        table.append(pa.table({"app": ["B"], "empty": pa.nulls(1)}), schema_mode="merge")


NARROW = pa.schema(
    [
        *(("n", pa.int32()), ("f", pa.float32()), ("d", pa.date32())),
        *(("l", pa.list_(pa.int32())), ("s", pa.struct([("a", pa.int32())]))),
    ]
)


def test_python_values_never_widen(tmp_path: Path) -> None:
    """They have no width, at any depth; only what is new is inferred, also beside members that there are."""
    table = coalesce.create(tmp_path, NARROW, partition_by=["n"])
    row = {"n": 5, "f": 0.5, "d": datetime(2020, 1, 1), "l": [1], "s": {"a": 1}}
    table.append([row], schema_mode="merge")
    table.overwrite_partitions([row | {"q": "x"}], schema_mode="merge")
    assert [str(f.type) for f in table.schema] == [
        "int32",
        "float",
        "date",
        "list<int32>",
        "struct<a: int32>",
        "string",
    ]
    table.append([{"n": 6, "S": {"a": None, "b": 2}}], schema_mode="merge")
    assert str(table.schema.field("s").type) == "struct<a: int32, b: int64>"
    assert table.scan("n = 6").to_arrow().to_pylist()[0]["s"] == {"a": None, "b": 2}


@pytest.mark.parametrize(
    "column",
    [("n", None), ("l", []), ("s", {"a": None}), ("s", None)],
    ids=["NULL", "an empty list", "a struct of NULL", "a struct that is NULL"],
)
def test_a_column_that_says_no_type_is_taken(tmp_path: Path, column: tuple[str, object]) -> None:
    """From dicts, Arrow, pandas and polars: what `strict` takes, `merge` takes, and changes nothing."""
    table = coalesce.create(tmp_path, NARROW)
    name, value = column
    held = pa.table({name: pa.array([value])})
    for rows in ([{name: value}], held, held.to_pandas(), pl.DataFrame(held), [held, {name: value}]):
        table.append(rows, schema_mode="merge")
    assert table.scan().to_arrow().column(name).to_pylist() == [value] * 6
    assert table.version == 5
    assert table.schema == table.at(version=0).schema


def test_every_item_of_a_list_brings_its_columns(table: coalesce.Table) -> None:
    """The second batch, and a dict among batches; what fits in no one type is refused."""
    batches = [pa.record_batch({"app": ["B"]}), pa.record_batch({"app": ["B"], "x": [1]}), {"app": "B", "y": "why"}]
    assert table.append(batches, schema_mode="merge").rows_added == 3
    assert [(f.name, str(f.type)) for f in table.schema][3:] == [("y", "string"), ("x", "int64")]
    with pytest.raises(SchemaError, match=r"no schema fits all of the rows: .*z"):
        table.append([pa.record_batch({"app": ["B"], "z": ["a"]}), {"app": "B", "z": 1}], schema_mode="merge")
    with pytest.raises(SchemaError, match="4 is none of these"):
        table.append([pa.record_batch({"app": ["B"]}), 4], schema_mode="merge")


def test_an_iterator_brings_no_columns(table: coalesce.Table) -> None:
    """Its rows are written as they are read, so its columns would be known too late: the sentence says what helps."""
    rows = ({"app": "B", "x": i} for i in range(3))
    with pytest.raises(
        SchemaError, match=r"a generator brings shows only when.*give a list.*or call add_column\(\) first"
    ):
        table.append(rows, schema_mode="merge")
    assert len(list(rows)) == 3


def note(text: str, id_: int) -> pa.Table:
    """An event with a note, which the table has no column for."""
    return events("A", [id_]).append_column("note", pa.array([text]))


@pytest.mark.parametrize("meanwhile", ["brings the same column", "adds a column and drops it again"])
def test_two_that_bring_columns_at_once_conflict(meanwhile: str) -> None:
    """Rows are written under ids that only one of the columns can have; the other is repeated, and fits."""
    storage = InterruptedStorage(lambda request: request.startswith(f"put_if_absent {VERSIONS}"))
    one = create(storage)
    one.append(events("A", [1]))
    other = opened(storage)

    def interrupt() -> None:
        if meanwhile == "brings the same column":
            other.append(note("theirs", 2), schema_mode="merge")
        else:
            other.add_column("x", "int64")
            other.drop_column("x")

    storage.interruptions = [interrupt]
    with pytest.raises(CommitConflict, match=r"the schema|columns were added since"):
        one.append(note("ours", 3), schema_mode="merge")
    one.append(note("ours", 3), schema_mode="merge")
    assert ids(one, "note = 'ours'") == [3]
    assert ids(one, "note IS NULL") == [1]


def test_an_append_that_fits_is_carried_over_new_columns() -> None:
    """Rows without the new column hold NULL in it, as all rows do that were written before."""
    storage = InterruptedStorage(lambda request: request.startswith(f"put_if_absent {VERSIONS}"))
    one = create(storage)
    other = opened(storage)
    storage.interruptions = [lambda: other.append(note("theirs", 2), schema_mode="merge")]
    one.append(events("A", [3]), schema_mode="merge")
    assert ids(one, "note IS NULL") == [3]
