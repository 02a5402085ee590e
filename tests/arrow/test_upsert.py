"""Rows that take the place of those with the same keys: against rows in memory, and what is refused."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import given, settings

import coalesce
from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import AmbiguousMatch, InvalidArgument, SchemaError
from coalesce.model.entries import from_files
from coalesce.model.rule import keep_all, small
from coalesce.table.create import create_table
from coalesce.table.engine import REMOVALS, Engines
from coalesce.table.table import Table, core_of
from tests.checker import check_files
from tests.support.examples import examples
from tests.support.lineage import held
from tests.table.stores import MemoryStorage

SCHEMA = pa.schema(
    [
        ("app", pa.string()),
        ("k", pa.int64()),
        ("ts", pa.timestamp("us", "UTC")),
        ("x", pa.float64()),
        ("info", pa.struct([("a", pa.int32()), ("b", pa.string())])),
    ]
)
SPECS: tuple[list[str], ...] = (
    ["app"],
    ["app"],
    ["app", "k"],
    ["day(ts)", "app"],
    ["bucket(2, k)"],
    ["truncate(1, app)"],
    [],
)
APPS = ["A", "a", "", "[#small]", "x%y", None]
KEYS = (["k"], ["app", "k"], ["k", "app"], ["ts", "app", "k"])
NOON = datetime(2026, 5, 17, 12, tzinfo=UTC)

Row = dict[str, Any]


def create(partition_by: list[str], remove_by: str = "mark", *, shares: bool = True) -> Table:
    """An empty table in memory."""
    rule = small("app") if shares and "app" in partition_by else keep_all()
    return create_table(
        MemoryStorage(),
        Engines(ArrowEngine()),
        SCHEMA,
        partition_by=partition_by,
        rule=rule,
        properties={"remove.by": remove_by},
    )


def row_values(nulls: bool) -> st.SearchStrategy[Row]:
    """Rows with few different keys."""
    apps = APPS if nulls else APPS[:-1]
    hours = st.integers(0, 3).map(lambda i: NOON + timedelta(hours=9 * i))
    return st.fixed_dictionaries(
        {
            "app": st.sampled_from(apps),
            "k": (st.none() | st.integers(0, 5)) if nulls else st.integers(0, 5),
            "ts": (st.none() | hours) if nulls else hours,
            "x": st.sampled_from([None, 0.0, -0.0, 1.5, float("nan")]),
            "info": st.none() | st.fixed_dictionaries({"a": st.none() | st.just(1), "b": st.sampled_from(["x", None])}),
        }
    )


@st.composite
def upserts(draw: st.DrawFn) -> tuple[list[str], list[str], list[Row]]:
    """Keys, the columns that rows bring, and the rows, whose keys differ."""
    keys = draw(st.sampled_from(KEYS))
    rows = draw(st.lists(row_values(nulls=False), max_size=6, unique_by=lambda row: tuple(row[k] for k in keys)))
    others = [name for name in SCHEMA.names if name not in keys]
    left_out = draw(st.sets(st.sampled_from([c for c in others if c in ("x", "info")] or others), max_size=2))
    return keys, [name for name in SCHEMA.names if name not in left_out], rows


def text(row: Row) -> str:
    """A row that can be compared: NaN is NaN, 0.0 is not -0.0."""
    return repr([row[name] for name in SCHEMA.names])


@settings(max_examples=examples(60))
@given(st.data(), st.sampled_from(SPECS), st.sampled_from(REMOVALS), st.booleans())
def test_any_upserts_do_what_they_would_to_rows_in_memory(
    data: st.DataObject, spec: list[str], remove_by: str, shares: bool
) -> None:
    """Whatever the keys, specs and dead rows: values, ids, versions and counts; entries say what is in the files."""
    table = create(spec, remove_by, shares=shares)
    for _ in range(data.draw(st.integers(0, 2))):
        rows = data.draw(st.lists(row_values(nulls=True), min_size=1, max_size=10))
        table.append(pa.Table.from_pylist(rows, schema=SCHEMA))
    if data.draw(st.booleans()):
        table.delete("app = 'A'")
    for _ in range(data.draw(st.integers(1, 3))):
        keys, names, rows = data.draw(upserts())
        before, next_id = held(table), table.state.next_row_id
        brought = pa.Table.from_pylist(rows, schema=SCHEMA)
        rows = brought.to_pylist()
        result = table.upsert(brought.select(names), keys)
        new = {tuple(row[k] for k in keys): row for row in rows}
        expected, matched = {}, set()
        for i, (_, row) in before.items():
            key = tuple(row[k] for k in keys)
            expected[i] = row | {n: new[key][n] for n in names} if key in new else row
            matched.update([key] if key in new else [])
        inserted = [
            dict.fromkeys(SCHEMA.names) | {n: row[n] for n in names} for k, row in new.items() if k not in matched
        ]
        changed = {i for i, (_, row) in before.items() if tuple(row[k] for k in keys) in new}
        after = held(table)
        assert {i: text(row) for i, (_, row) in after.items() if i < next_id} == {
            i: text(row) for i, row in expected.items()
        }
        assert Counter(text(row) for i, (_, row) in after.items() if i >= next_id) == Counter(map(text, inserted))
        for i, (version, _) in after.items():
            assert version == (before[i][0] if i < next_id and i not in changed else table.version)
        assert (result.rows_updated, result.rows_added, result.rows_removed) == (len(changed), len(inserted), 0)
        assert Counter(map(text, table.scan().to_arrow().to_pylist())) == Counter(text(r) for _, r in after.values())
        check_files(core_of(table).storage, table.state, table.files())


VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "boolean": (pa.bool_(), [True, False]),
    "int8": (pa.int8(), [-128, 127]),
    "int64": (pa.int64(), [-(2**63), 2**63 - 1]),
    "decimal": (pa.decimal128(38, 3), [Decimal("-1.005"), Decimal(10) ** 34]),
    "date": (pa.date32(), [date(1900, 1, 1), date(9999, 12, 31)]),
    "timestamp": (pa.timestamp("us", "UTC"), [NOON, datetime(1, 1, 1, tzinfo=UTC)]),
    "timestamp without zone": (pa.timestamp("us"), [NOON.replace(tzinfo=None), datetime(1960, 1, 1)]),
    "string": (pa.string(), ["", "e\u0301", "\u00e9"]),
    "binary": (pa.binary(), [b"", b"\xff\x00"]),
}


@pytest.mark.parametrize("kind", VALUES)
def test_keys_of_every_type(tmp_path: Path, kind: str) -> None:
    """Each is found by its value, and no other is."""
    type_, values = VALUES[kind]
    table = coalesce.create(tmp_path / "t", pa.schema([("key", type_), ("n", pa.int64())]))
    table.append(pa.table({"key": pa.array(values, type_), "n": pa.array([0] * len(values), pa.int64())}))
    for number, value in enumerate(values, 1):
        result = table.upsert(pa.table({"key": pa.array([value], type_), "n": pa.array([number], pa.int64())}), ["key"])
        assert (result.rows_updated, result.rows_added) == (1, 0)
    found = {row["key"]: row["n"] for row in table.scan().to_arrow().to_pylist()}
    assert found == {value: number for number, value in enumerate(values, 1)}


def rows_of(*rows: Row) -> pa.Table:
    """Rows of some columns."""
    return pa.Table.from_pylist([*rows])


def test_what_cannot_be_meant_is_refused_and_nothing_is_committed() -> None:
    """NULL and repeated keys, keys that are no columns, not brought, named twice or of a type that has no equals."""
    table = create(["app"])
    table.append(pa.Table.from_pylist([{"app": "A", "k": 1}], schema=SCHEMA))
    with pytest.raises(SchemaError, match="1 rows have no k: NULL is equal to nothing"):
        table.upsert(rows_of({"app": "A", "k": 1}, {"app": "A", "k": None}), ["k"])
    with pytest.raises(AmbiguousMatch, match="keys stand in more than one of the rows, such as app = 'A', k = 1"):
        table.upsert(rows_of({"app": "A", "k": 1}, {"app": "B", "k": 1}, {"app": "A", "k": 1}), ["app", "k"])
    with pytest.raises(SchemaError, match="there is no column 'kk'"):
        table.upsert(rows_of({"app": "A", "k": 1}), ["kk"])
    with pytest.raises(SchemaError, match="lack the key 'ts'"):
        table.upsert(rows_of({"app": "A", "k": 1}), ["k", "ts"])
    with pytest.raises(SchemaError, match="each once"):
        table.upsert(rows_of({"app": "A", "k": 1}), ["k", "K"])
    with pytest.raises(SchemaError, match="by which rows cannot be known"):
        table.upsert(rows_of({"app": "A", "x": 1.0}), ["x"])
    wrong: list[Any] = [[], "k", None]
    for keys in wrong:
        with pytest.raises((SchemaError, InvalidArgument)):
            table.upsert(rows_of({"app": "A", "k": 1}), keys)
    assert table.refresh().version == 1


def test_nothing_to_put_changes_nothing() -> None:
    """No rows are no error."""
    table = create(["app"])
    table.append(pa.Table.from_pylist([{"app": "A", "k": 1}], schema=SCHEMA))
    result = table.upsert(SCHEMA.empty_table(), ["k"])
    assert (result.rows_updated, result.rows_added, result.rows_removed) == (0, 0, 0)
    assert table.count() == 1


def test_more_keys_than_a_predicate_lists() -> None:
    """Thousands of rows, some there and some new, over several files."""
    table = create(["app"])
    for start in range(0, 6_000, 2_000):
        rows = pa.table({"app": [f"a{i % 7}" for i in range(start, start + 2_000)], "k": range(start, start + 2_000)})
        table.append(rows)
    result = table.upsert(pa.table({"app": ["new"] * 5_000, "k": range(1_500, 6_500)}), ["k"])
    assert (result.rows_updated, result.rows_added) == (4_500, 500)
    assert table.count("app = 'new'") == 5_000
    assert sorted(table.scan(columns=["k"]).to_arrow().column("k").to_pylist()) == list(range(6_500))


def test_columns_that_were_renamed_added_and_widened() -> None:
    """Rows of old files are found by the columns of now, and those that do not change keep what they hold."""
    schema = pa.schema([("app", pa.string()), ("k", pa.int32()), ("old", pa.string())])
    table = create_table(MemoryStorage(), Engines(ArrowEngine()), schema, partition_by=["app"], rule=small("app"))
    table.append(pa.table({"app": list("AABBCDEFGH"), "k": range(10), "old": list("qrstuvwxyz")}, schema))
    table.rename_column("old", "kept")
    table.rename_column("k", "id")
    table.rename_column("app", "tenant")
    table.add_column("more", "int", default=5)
    table.widen_column("id", "bigint")
    before = held(table)
    result = table.upsert([{"tenant": "A", "id": 1}, {"tenant": "Z", "id": 2**40, "more": 6}], keys=["id"])
    assert (result.rows_updated, result.rows_added) == (1, 1)
    after = held(table)
    assert {i: after[i] for i in before if i != 1} == {i: before[i] for i in before if i != 1}
    assert after[1] == (table.version, {"tenant": "A", "id": 1, "kept": "r", "more": 5})
    (new,) = (row for i, (_, row) in after.items() if i not in before)
    assert new == {"tenant": "Z", "id": 2**40, "kept": None, "more": 6}
    assert sum(len(f.dead) for f in table.files()) == 1
    check_files(core_of(table).storage, table.state, table.files())


def test_files_whose_tuples_nobody_knows_are_written_again() -> None:
    """As those of a directory that was taken over may be: no tuple is marked in them, no row is lost."""
    table = create(["app"])
    table.append(pa.Table.from_pylist([{"app": a, "k": i} for i, a in enumerate("AABBCC")], schema=SCHEMA))
    (file,) = table.files()
    transaction = core_of(table).transaction("forget")
    unknown = replace(file, tuples=None, tuple_rows=None, complete=False)
    transaction.mend(from_files([unknown], table.state.spec, table.schema))
    core_of(table).commit(transaction)
    before = held(table)
    assert table.upsert([{"app": "B", "k": 3, "x": 9.0}], keys=["app", "k"]).rows_updated == 1
    after = held(table)
    assert {i: row["x"] for i, (_, row) in after.items()} == {i: 9.0 if i == 3 else None for i in before}
    assert file.path not in {f.path for f in table.files()}
    assert not any(f.dead for f in table.files())


def test_columns_that_rows_lack_stay_also_those_that_new_rows_need(tmp_path: Path) -> None:
    """A partition column need not be brought for rows that are there; a new row without it is refused."""
    schema = pa.schema([("id", pa.int64()), ("v", pa.int64()), ("p", pa.string())])
    table = coalesce.create(tmp_path, schema, partition_by=["p"])
    table.append([{"id": 1, "v": 1, "p": "a"}])
    table.upsert([{"id": 1, "v": 22}], keys=["id"])
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "v": 22, "p": "a"}]
    with pytest.raises(SchemaError, match="1 of the rows are new, and a new row needs the column 'p'"):
        table.upsert([{"id": 1, "v": 3}, {"id": 2, "v": 3}], keys=["id"])
    assert table.version == 2
