"""Hypothesis strategies for tables with rows, and a way to compare rows bit for bit."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.types as at
from hypothesis import strategies as st

from coalesce.model.arrow_schema import arrow_schema
from coalesce.model.rule import RuleRequest, keep_all, small
from coalesce.model.schema import Schema
from coalesce.model.spec import field_text, parse_partition_fields
from coalesce.model.transforms import Transform, result_type, transform
from coalesce.model.types import AtomicType, Field, ListType, MapType, StructType, Type, is_atomic
from coalesce.model.values import order_key, values_of
from coalesce.model.version import Version
from coalesce.predicate.expr import (
    FALSE,
    NULL,
    TRUE,
    And,
    Bound,
    InRange,
    InSet,
    IsNull,
    Not,
    Opaque,
    Or,
)
from coalesce.predicate.scalar.nodes import Reference
from tests.builders import make_version
from tests.strategies import schemas, values

TRANSFORMS = [transform(t) for t in ("identity", "bucket[3]", "truncate[2]", "year", "month", "day", "hour", "void")]


@dataclass(frozen=True)
class Generated:
    """A version and rows that fit it."""

    version: Version
    rows: pa.Table


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 12) -> Generated:
    """Tables of random columns, partitioned by up to three fields over them, with rows that repeat values often."""
    schema = draw(schemas(max_size=4))
    fields = draw(st.lists(_partition_texts(schema), max_size=3, unique=True)) if _atomic(schema) else []
    parsed = parse_partition_fields(fields, schema)
    names = [f.name.lower() for f in parsed]
    fields = [t for i, t in enumerate(fields) if names[i] not in names[:i]]
    rule: RuleRequest = keep_all()
    some_share = draw(st.booleans())
    if fields and some_share:
        shared = draw(st.sampled_from(parse_partition_fields(fields, schema)))
        rule = small(shared.name, below=draw(st.sampled_from([1, 2**40])))
    target = draw(st.sampled_from(["1", "200", "128MB"]))
    version = make_version(schema, fields, rule, {"write.target-file-bytes": target})
    count = draw(st.integers(0, max_rows))
    columns = [pa.array(draw(_column(f, count)), t.type) for f, t in zip(schema, arrow_schema(schema), strict=True)]
    return Generated(version, pa.Table.from_arrays(columns, schema=arrow_schema(schema)))


def _atomic(schema: Schema) -> list[Field]:
    return [f for f in schema if is_atomic(f.type) and "(" not in f.name and ")" not in f.name]


@st.composite
def _partition_texts(draw: st.DrawFn, schema: Schema) -> str:
    field = draw(st.sampled_from(_atomic(schema)))
    possible = [t for t in TRANSFORMS if _fits(t, field.type)]  # type: ignore[arg-type]
    (parsed,) = parse_partition_fields([field.name], schema)
    chosen = draw(st.sampled_from(possible))
    text = str(chosen)
    kind, _, parameter = text.rstrip("]").partition("[")
    if kind == "identity":
        return field_text(parsed, schema)
    return f"{kind}({parameter}, {field.name})" if parameter else f"{kind}({field.name})"


def _fits(transform_: Transform, type_: AtomicType) -> bool:
    try:
        result_type(transform_, type_)
    except Exception:  # noqa: BLE001 - whatever it says, the pair is not possible
        return False
    return True


def _column(field: Field, count: int) -> st.SearchStrategy[list[object]]:
    """Few distinct values, so that tuples have several rows."""
    some = st.lists(nested_values(field.type, nulls=not field.required), min_size=1, max_size=4)
    return some.flatmap(lambda v: st.lists(st.sampled_from(v), min_size=count, max_size=count))


def nested_values(type_: Type, *, nulls: bool = True) -> st.SearchStrategy[object]:
    """Values of any type, as `pa.array` takes them: in-memory values, dicts, lists and pairs."""
    match type_:
        case StructType(members):
            some: st.SearchStrategy[object] = st.fixed_dictionaries(
                {m.name: nested_values(m.type, nulls=not m.required) for m in members}
            )
        case ListType(element):
            some = st.lists(nested_values(element.type, nulls=not element.required), max_size=3)
        case MapType(key, value):
            pairs = st.tuples(nested_values(key.type, nulls=False), nested_values(value.type, nulls=not value.required))
            some = st.lists(pairs, max_size=3)
        case _:
            return values(type_, nulls=nulls)
    return st.none() | some if nulls else some


@st.composite
def predicates(draw: st.DrawFn, generated: Generated, depth: int = 3) -> Bound:
    """Bound predicates over the table's columns that ask about values it holds, conditions nobody knows among them."""
    if depth > 0 and draw(st.booleans()):
        parts = tuple(draw(st.lists(predicates(generated, depth - 1), min_size=1, max_size=3)))
        joined: list[Bound] = [And(parts), Or(parts), Not(parts[0])]
        return draw(st.sampled_from(joined))
    kind = draw(st.sampled_from(["leaf"] * 8 + ["constant", "opaque"]))
    if kind == "constant":
        return draw(st.sampled_from([TRUE, FALSE, NULL]))
    if kind == "opaque":
        return Opaque("f(x)")
    field = draw(st.sampled_from(generated.version.schema.fields))
    if not is_atomic(field.type):
        return IsNull(Reference(field.id, field.name, field.type))  # type: ignore[arg-type]
    return draw(_leaves(generated, field))


@st.composite
def _leaves(draw: st.DrawFn, generated: Generated, field: Field) -> Bound:
    type_ = generated.version.schema.atomic(field.id)
    assert type_ is not None
    column = Reference(field.id, field.name, type_)
    held = [v for v in values_of(type_, generated.rows.column(field.name)) if v is not None]
    literals = st.sampled_from(held) | values(type_, nulls=False) if held else values(type_, nulls=False)
    kind = draw(st.sampled_from(["null", "set", "range", "range"]))
    if kind == "null":
        return IsNull(column)
    if kind == "set":
        distinct = {order_key(type_, v): v for v in draw(st.lists(literals, max_size=3))}
        return InSet(column, tuple(distinct[k] for k in sorted(distinct)))
    lower, upper = draw(st.none() | literals), draw(st.none() | literals)
    return InRange(column, lower, draw(st.booleans()), upper, draw(st.booleans()))


def plain_rows(table: pa.Table) -> list[str]:
    """Each row as text that tells -0.0 from 0.0, finds NaN equal to itself and knows years beyond 9999."""
    columns = [
        [value for chunk in column.chunks for value in chunk.view(_storage(column.type)).to_pylist()]
        for column in table.columns
    ]
    return [repr(row) for row in zip(*columns, strict=True)]


def _storage(type_: pa.DataType) -> pa.DataType:
    """The same buffers with integers for dates and times, and everything nullable."""
    if at.is_temporal(type_):
        return pa.int32() if type_.bit_width == 32 else pa.int64()
    if at.is_struct(type_):
        return pa.struct([_storage_field(type_.field(i)) for i in range(type_.num_fields)])
    if at.is_map(type_):
        return pa.map_(type_.key_field.with_type(_storage(type_.key_type)), _storage_field(type_.item_field))
    if at.is_list(type_):
        return pa.list_(_storage_field(type_.value_field))
    return type_


def _storage_field(field: pa.Field) -> pa.Field:
    return field.with_type(_storage(field.type)).with_nullable(True)
