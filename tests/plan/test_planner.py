"""The planner against brute force: never too few files, and where the metadata is exact, never too many.

Tables are made the way users make them (appends under changing rules and specs), then damaged the way the world
damages them (entries that lost their tuples, counts, statistics or physical key). Predicates are random trees over all
columns, with conditions mixed in that the language cannot state.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

import coalesce
from coalesce.model.arrow_schema import arrow_schema
from coalesce.model.datafile import ColumnStatistics, DataFile
from coalesce.model.entries import Entries
from coalesce.model.rule import RuleRequest
from coalesce.model.schema import Schema
from coalesce.model.spec import Spec, parse_partition_fields
from coalesce.model.transforms import Identity
from coalesce.model.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT8,
    INT64,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
    DecimalType,
    Field,
    Value,
    is_atomic,
)
from coalesce.model.values import column_of, from_python, order_key, to_python, values_of
from coalesce.model.version import Version
from coalesce.plan.plan import Plan, make_plan
from coalesce.plan.planner import kept_manifests
from coalesce.predicate.expr import And, Bound, InRange, InSet, IsNull, Not, Opaque, Or
from coalesce.predicate.normalize import normalize
from coalesce.predicate.scalar.nodes import Reference
from coalesce.table.table import Table, core_of
from tests import strategies
from tests.builders import bound
from tests.fast import FAST
from tests.predicate.reference import outcome
from tests.support.examples import examples

PARTITION_TYPES: list[AtomicType] = [
    BOOLEAN, INT8, INT64, FLOAT, DOUBLE, STRING, DATE, TIMESTAMP, TIMESTAMP_NTZ, DecimalType(9, 2), DecimalType(25, 3),
]  # fmt: skip
TRANSFORMS = {
    STRING: ["{c}", "bucket(3, {c})", "truncate(1, {c})"],
    DATE: ["{c}", "year({c})", "month({c})", "bucket(3, {c})"],
    TIMESTAMP: ["{c}", "day({c})", "hour({c})"],
    TIMESTAMP_NTZ: ["{c}", "month({c})"],
    INT64: ["{c}", "bucket(2, {c})", "truncate(10, {c})"],
    INT8: ["{c}", "truncate(7, {c})"],
    DecimalType(9, 2): ["{c}", "truncate(50, {c})"],
}
Row = dict[int, Value]
Draw = Callable[[st.SearchStrategy[Any]], Any]


@dataclass
class World:
    """A table and what should be in it: every row, by the file that holds it."""

    table: Table
    pools: dict[int, list[Value]]

    def rows_by_file(self) -> dict[str, list[Row]]:
        """The rows of every file, read by plain pyarrow."""
        found = {}
        for file in self.table.files():
            rows = pq.read_table(pa.BufferReader(core_of(self.table).storage.read(file.path)))
            columns = {f.id: values_of(f.type, rows.column(f.physical_name)) for f in self.table.schema}  # type: ignore[arg-type]
            found[file.path] = [{i: column[n] for i, column in columns.items()} for n in range(rows.num_rows)]
        return found


@st.composite
def worlds(draw: st.DrawFn, directory: Path, *, exact: bool) -> World:
    """A random history; `exact` ones keep to identity fields, one spec and whole metadata."""
    types = [draw(st.sampled_from(PARTITION_TYPES)), draw(st.sampled_from(PARTITION_TYPES)), INT64, DOUBLE, STRING]
    schema = Schema(tuple(Field(id=i, name=f"c{i}", type=t) for i, t in enumerate(types, start=1)))
    pools = {f.id: draw(st.lists(strategies.values(f.type), min_size=1, max_size=4)) for f in schema}  # type: ignore[arg-type]
    table = coalesce.create(directory, schema, partition_by=_fields(draw, schema, exact))
    for _ in range(draw(st.integers(1, 4))):
        step = draw(st.sampled_from(["append", "append", "rule"] + ([] if exact else ["spec"])))
        if step == "rule" and table.state.spec.fields:
            table.set_rule(_rule(draw, schema, pools, table.state.spec))
        elif step == "spec":
            _change_spec(table, _fields(draw, schema, exact))
        _append(draw, table, pools)
    if not exact and draw(st.booleans()):
        _lose_metadata(draw, table)
    return World(table, pools)


def _fields(draw: st.DrawFn, schema: Schema, exact: bool) -> list[str]:
    sources = draw(st.lists(st.sampled_from(["c1", "c2"]), unique=True, min_size=1 if exact else 0, max_size=2))
    return [
        c if exact else draw(st.sampled_from(TRANSFORMS.get(schema.field(c).type, ["{c}"]))).format(c=c)
        for c in sources
    ]


def _rule(draw: st.DrawFn, schema: Schema, pools: dict[int, list[Value]], spec: Spec) -> RuleRequest:
    fields = [f for f in spec.fields if isinstance(f.transform, Identity)]
    if not fields:
        return coalesce.keep_all()
    field = draw(st.sampled_from(fields))
    if draw(st.booleans()):
        return coalesce.small(field.name, below=10**9)
    type_ = schema.by_id(field.source_id).type  # type: ignore[union-attr]
    members = {order_key(type_, v): v for v in pools[field.source_id] if v is not None}  # type: ignore[arg-type]
    return coalesce.group(field.name, {"[#small]": [to_python(type_, v) for v in members.values()]})  # type: ignore[arg-type]


def _append(draw: st.DrawFn, table: Table, pools: dict[int, list[Value]]) -> None:
    count = draw(st.integers(1, 8))
    columns = [column_of(f.type, [draw(st.sampled_from(pools[f.id])) for _ in range(count)]) for f in table.schema]  # type: ignore[arg-type]
    table.append(pa.table(columns, schema=arrow_schema(table.schema)))


def _change_spec(table: Table, fields: Sequence[str]) -> None:
    transaction = core_of(table).transaction("evolve")

    def change(head: Version) -> Version:
        parsed = parse_partition_fields(fields, head.schema, head.partition_fields)
        spec = Spec(max(s.spec_id for s in head.specs) + 1, parsed)
        rule = replace(head.rules[0], rule_id=max(r.rule_id for r in head.rules) + 1)
        return replace(
            head,
            specs=(*head.specs, spec),
            current_spec_id=spec.spec_id,
            rules=(*head.rules, rule),
            current_rule_id=rule.rule_id,
        )

    transaction.change(change)
    core_of(table).commit(transaction)


def _lose_metadata(draw: st.DrawFn, table: Table) -> None:
    """Some entries forget something: what is missing must never prune."""
    transaction = core_of(table).transaction("lose")
    for file in table.files():
        loss = draw(st.sampled_from(["some", "empty", "tuples", "complete", "counts", "statistics", "key", "nothing"]))
        if loss != "nothing":
            transaction.remove([file])
            transaction.add([_without(file, loss)])
    core_of(table).commit(transaction)


def _without(file: DataFile, loss: str) -> DataFile:
    match loss:
        case "tuples":
            return replace(file, tuples=None, tuple_rows=None)
        case "complete":
            return replace(file, complete=False)
        case "counts":
            return replace(file, tuple_rows=None)
        case "statistics":
            return replace(file, statistics={})
        case "key":
            return replace(file, physical_key=None)
        case "empty":
            return replace(file, tuples=(), tuple_rows=())
        case _:  # a list that lost a tuple but still claims to be complete: the counts give it away
            return replace(
                file, tuples=file.tuples and file.tuples[1:], tuple_rows=file.tuple_rows and file.tuple_rows[1:]
            )


@st.composite
def predicates(draw: st.DrawFn, world: World, columns: Sequence[int], *, opaque: bool, depth: int = 5) -> Bound:
    """A random tree of at most `depth` over the columns, its literals mostly among the values there are."""
    kind = draw(st.sampled_from(["leaf", "leaf", "and", "or", "not"])) if depth else "leaf"
    if kind in ("and", "or"):
        inner = predicates(world, columns, opaque=opaque, depth=depth - 1)
        parts = tuple(draw(st.lists(inner, min_size=1, max_size=3)))
        return And(parts) if kind == "and" else Or(parts)
    if kind == "not":
        return Not(draw(predicates(world, columns, opaque=opaque, depth=depth - 1)))
    if opaque and draw(st.integers(0, 4)) == 0:
        return Opaque(draw(st.sampled_from(["f(x)", "g(x)"])))
    field = world.table.schema.by_id(draw(st.sampled_from(columns)))
    assert field is not None
    column = Reference(field.id, field.name, field.type)  # type: ignore[arg-type]
    known = [v for v in world.pools[field.id] if v is not None]
    literals = strategies.values(column.type, nulls=False)
    literals = st.sampled_from(known) | literals if known else literals
    match draw(st.sampled_from(["null", "set", "set", "range"])):
        case "null":
            return IsNull(column)
        case "set":
            distinct = {order_key(column.type, v): v for v in draw(st.lists(literals, max_size=3))}
            return InSet(column, tuple(distinct[k] for k in sorted(distinct)))
        case _:
            ends = st.none() | literals
            return InRange(column, draw(ends), draw(st.booleans()), draw(ends), draw(st.booleans()))


def matching_files(rows: dict[str, list[Row]], predicate: Bound, opaque: dict[str, bool | None]) -> set[str]:
    """The files that hold a row on which the predicate is TRUE."""
    return {path for path, inside in rows.items() if any(outcome(predicate, row, opaque) is True for row in inside)}


def plan(table: Table, predicate: Bound) -> Plan:
    """A plan of a predicate that is bound already."""
    return make_plan(
        table.state, normalize(predicate), lambda refs: core_of(table).manifests.load_all(refs, table.state)
    )


@settings(max_examples=examples(40))
@given(st.data())
def test_no_file_with_a_match_is_ever_pruned(data: st.DataObject) -> None:
    """Whatever the history, the damage and the predicate, and whatever its opaque conditions turn out to be."""
    with TemporaryDirectory(dir=FAST) as directory:
        world = data.draw(worlds(Path(directory), exact=False))
        rows = world.rows_by_file()
        for _ in range(4):
            predicate = data.draw(predicates(world, (1, 2, 3, 4, 5), opaque=True))
            opaque = data.draw(
                st.fixed_dictionaries({k: st.sampled_from([True, False, None]) for k in ("f(x)", "g(x)")})
            )
            found = plan(world.table, predicate)
            kept = set(found.paths())
            assert matching_files(rows, predicate, opaque) <= kept
            assert kept == {f.path for f in found.files}
            assert len(kept) == found.file_count
            # A conjunct that is called satisfied is TRUE on every row of the file.
            for conjunct, done in zip(found.conjuncts, found.satisfied, strict=True):
                for file, sure in zip(found.files, done, strict=True):
                    assert not sure or all(outcome(conjunct, row, opaque) is True for row in rows[file.path])
            found.explain()


@settings(max_examples=examples(20))
@given(st.data())
def test_statistics_that_contradict_the_tuples_prune_nothing(data: st.DataObject) -> None:
    """Whatever statistics say of a partition column, its tuples know better: rows and counts are brute force's."""
    with TemporaryDirectory(dir=FAST) as directory:
        world = data.draw(worlds(Path(directory), exact=True))
        _contradict(data.draw, world)
        rows = world.rows_by_file()
        for _ in range(4):
            predicate = data.draw(predicates(world, (1, 2, 3, 4), opaque=False))
            assert matching_files(rows, predicate, {}) <= set(plan(world.table, predicate).paths())
            matches = [row for inside in rows.values() for row in inside if outcome(predicate, row, {}) is True]
            assert world.table.count(predicate) == world.table.scan(predicate).to_arrow().num_rows == len(matches)


def _contradict(draw: Draw, world: World) -> None:
    """Statistics of partition columns that may have nothing to do with what is in the files."""
    table = world.table
    transaction = core_of(table).transaction("contradict")
    for file in table.files():
        statistics = dict(file.statistics)
        for field in table.state.spec_by_id(file.spec_id).fields:
            values = st.sampled_from(world.pools[field.source_id])
            statistics[field.source_id] = ColumnStatistics(
                lower=draw(values), upper=draw(values), null_count=draw(st.integers(0, file.rows)), nan_count=0
            )
        transaction.remove([file])
        transaction.add([replace(file, statistics=statistics)])
    core_of(table).commit(transaction)


@settings(max_examples=examples(15))
@given(st.data())
def test_rows_and_counts_equal_brute_force(data: st.DataObject) -> None:
    """Scanning and counting give exactly the rows on which the predicate is TRUE, metadata or none."""
    with TemporaryDirectory(dir=FAST) as directory:
        world = data.draw(worlds(Path(directory), exact=False))
        everything = [row for inside in world.rows_by_file().values() for row in inside]
        names = {f.name: f for f in world.table.schema}
        for _ in range(3):
            predicate = data.draw(predicates(world, (1, 2, 3, 4, 5), opaque=False))
            expected = [row for row in everything if outcome(predicate, row, {}) is True]
            scanned = world.table.scan(predicate).to_arrow()
            columns = {f.id: values_of(f.type, scanned.column(name)) for name, f in names.items()}  # type: ignore[arg-type]
            actual = [{i: c[n] for i, c in columns.items()} for n in range(scanned.num_rows)]
            assert sorted(map(repr, actual)) == sorted(map(repr, expected))
            assert world.table.count(predicate) == len(expected)
            for field in names.values():
                _check_answers(world.table, field, predicate, [row[field.id] for row in expected])


def _check_answers(table: Table, field: Field, predicate: Bound, values: list[Value]) -> None:
    """Distinct values, the smallest and the greatest, as Spark orders and equates them."""
    type_ = field.type
    assert is_atomic(type_)

    def key(value: object) -> object:
        return None if value is None else order_key(type_, from_python(type_, value))  # type: ignore[arg-type]

    keys = {order_key(type_, v) for v in values if v is not None}  # type: ignore[arg-type]
    distinct = [key(v) for v in table.distinct(field.name, predicate)]
    assert distinct == [*([None] if None in values else []), *sorted(keys)]
    assert key(table.min(field.name, predicate)) == (min(keys) if keys else None)
    assert key(table.max(field.name, predicate)) == (max(keys) if keys else None)


@settings(max_examples=examples(40))
@given(st.data())
def test_whole_metadata_prunes_exactly(data: st.DataObject) -> None:
    """One spec of plain columns and nothing lost: a file is kept if and only if it holds a matching row."""
    with TemporaryDirectory(dir=FAST) as directory:
        world = data.draw(worlds(Path(directory), exact=True))
        rows = world.rows_by_file()
        partitioned = [f.source_id for f in world.table.state.spec.fields]
        for _ in range(4):
            predicate = data.draw(predicates(world, partitioned, opaque=False))
            assert set(plan(world.table, predicate).paths()) == matching_files(rows, predicate, {})


@pytest.mark.parametrize("app", ["A", "B", "C", "D", "E"])
def test_rules_change_and_every_layout_is_found(tmp_path: Path, app: str) -> None:
    """A, B, C share; later A, D, E do: B's old rows are found in the shared file, D's in its old directory."""
    schema = pa.schema([("app", pa.string()), ("n", pa.int64())])
    table = coalesce.create(
        tmp_path, schema, partition_by=["app"], rule=coalesce.group("app", {"[#small]": ["A", "B", "C"]})
    )
    table.append(pa.table({"app": list("ABCDE"), "n": [1, 2, 3, 4, 5]}, schema=schema))
    table.set_rule(coalesce.group("app", {"[#small]": ["A", "D", "E"]}))
    table.append(pa.table({"app": list("ABCDE"), "n": [6, 7, 8, 9, 10]}, schema=schema))
    found = table.scan(f"app = '{app}'")
    assert found.plan.file_count == 2
    first = "ABCDE".index(app) + 1
    assert sorted(found.to_arrow().column("n").to_pylist()) == [first, first + 5]


def test_the_same_version_with_wider_columns(tmp_path: Path) -> None:
    """A stream reads an older version with the types of a later one; bounds of manifests are judged by those."""
    table = coalesce.create(tmp_path / "t", pa.schema([("day", pa.date32())]), partition_by=["day"])
    for day in (1, 2):
        table.append(pa.table({"day": [date(2026, 5, day)]}))
    narrow = table.state
    table.widen_column("day", "timestamp_ntz")
    wide = replace(narrow, schema=table.state.schema)
    for version in (narrow, wide, narrow):
        kept = kept_manifests(version, bound(version, "day = DATE '2026-05-01'"))
        assert [ref.added_version for ref in kept] == [1]


def test_a_scan_loads_the_statistics_that_it_asks_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a table of many columns the others are not even read; the entries are the same otherwise."""
    rows = pa.table({"app": ["a", "b"], **{f"n{i}": [i, i + 1] for i in range(20)}})
    coalesce.create(tmp_path / "t", rows.schema, partition_by=["app"], rule=coalesce.small("app")).append(rows)
    everything = coalesce.open(tmp_path / "t").plan("n7 = 7").files
    loaded: list[str] = []
    original = Entries.statistic

    def statistic(self: Entries, name: str) -> pa.Array | None:
        loaded.append(name)
        return original(self, name)

    monkeypatch.setattr(Entries, "statistic", statistic)
    monkeypatch.setattr(Entries, "_all_statistics", None)
    table = coalesce.open(tmp_path / "t")
    assert table.scan("n7 = 7", columns=["app"]).to_arrow().to_pydict() == {"app": ["a"]}
    asked = table.schema.field("n7").id
    assert {name.rpartition("_")[2] for name in loaded} == {str(asked)}
    some = {asked: everything[0].statistics[asked]}
    assert table.plan("n7 = 7").files_to_scan == (replace(everything[0], statistics=some),)
