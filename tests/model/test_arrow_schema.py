import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from coalesce.errors import SchemaError
from coalesce.model.arrow_schema import FIELD_ID, arrow_schema, arrow_type, schema_from_arrow, type_from_arrow
from coalesce.model.schema import Schema, all_fields
from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
    DecimalType,
    Field,
    ListType,
    MapType,
    StructType,
)
from tests.strategies import atomic_types, schemas
from tests.support.examples import examples

DEEP = Schema(
    (
        Field(id=1, name="id", type=INT64, required=True),
        Field(
            id=2,
            name="orders",
            physical_name="c-2",
            type=ListType(
                Field(
                    id=3,
                    name="element",
                    required=True,
                    type=StructType(
                        (
                            Field(id=4, name="sku", physical_name="c-4", type=STRING, required=True),
                            Field(
                                id=5,
                                name="prices",
                                type=MapType(
                                    Field(id=6, name="key", type=STRING, required=True),
                                    Field(
                                        id=7,
                                        name="value",
                                        type=ListType(Field(id=8, name="element", type=DecimalType(38, 10))),
                                    ),
                                ),
                            ),
                        )
                    ),
                )
            ),
        ),
    )
)


def arrow_ids(fields: list[pa.Field]) -> list[int]:
    """The ids the fields carry, nested ones too, parents first."""
    found = []
    for field in fields:
        found.append(int(field.metadata[FIELD_ID]))
        if pa.types.is_map(field.type):
            found += arrow_ids([field.type.key_field, field.type.item_field])
        else:
            found += arrow_ids([field.type.field(i) for i in range(field.type.num_fields)])
    return found


@given(schemas())
@settings(max_examples=examples(60))
def test_schemas_round_trip(schema: Schema) -> None:
    """Any schema with fresh ids, however nested, comes back equal: names, types, ids, nullability."""
    assert schema_from_arrow(arrow_schema(schema)) == schema


@given(schemas())
def test_every_level_carries_its_id(schema: Schema) -> None:
    """List elements, map keys and map values have a field id too: without it they are lost after a rename."""
    assert arrow_ids(list(arrow_schema(schema))) == [field.id for field in all_fields(schema.fields)]


@given(schemas())
@settings(max_examples=examples(30))
def test_ids_reach_the_parquet_footer(schema: Schema) -> None:
    """A file written with the schema, read back, has the same ids at every level."""
    target = io.BytesIO()
    pq.write_table(arrow_schema(schema).empty_table(), target, store_schema=False)
    read = pq.read_schema(io.BytesIO(target.getvalue()))
    assert arrow_ids(list(read)) == [field.id for field in all_fields(schema.fields)]


@given(atomic_types())
def test_atomic_types_round_trip(type_: AtomicType) -> None:
    """Each type has one Arrow type of its own."""
    assert type_from_arrow(arrow_type(type_)) == type_


def test_physical_names_are_used_at_every_level() -> None:
    """Data files use physical names inside structs as well; the logical schema shows none of them."""
    physical = arrow_schema(DEEP, physical=True)
    logical = arrow_schema(DEEP)
    assert physical.names == ["id", "c-2"]
    assert [f.name for f in physical.field("c-2").type.value_type] == ["c-4", "prices"]
    assert logical.names == ["id", "orders"]
    assert [f.name for f in logical.field("orders").type.value_type] == ["sku", "prices"]
    assert arrow_ids(list(physical)) == arrow_ids(list(logical)) == list(range(1, 9))


def test_physical_names_are_used_inside_map_keys_and_values() -> None:
    """A struct in a map is stored under its members' physical names too."""
    member = StructType((Field(id=0, name="now", physical_name="then", type=INT8),))
    key = Field(id=0, name="key", type=member, required=True)
    physical = arrow_type(MapType(key, Field(id=0, name="value", type=member)), physical=True)
    assert [f.name for f in (*physical.key_type, *physical.item_type)] == ["then", "then"]


def test_required_is_the_opposite_of_nullable_at_every_level() -> None:
    """A required column, element or member is not nullable in Arrow."""
    orders = arrow_schema(DEEP).field("orders")
    assert not arrow_schema(DEEP).field("id").nullable
    assert orders.nullable
    assert not orders.type.value_field.nullable
    assert not orders.type.value_type.field("sku").nullable
    assert orders.type.value_type.field("prices").nullable


def test_fresh_ids_number_siblings_before_what_is_inside() -> None:
    """Iceberg's numbering, whatever ids the Arrow schema came with."""
    schema = schema_from_arrow(arrow_schema(DEEP))
    assert [field.id for field in schema] == [1, 2]
    assert sorted(field.id for field in all_fields(schema.fields)) == list(range(1, 9))


@pytest.mark.parametrize(
    ("data_type", "expected"),
    [
        (pa.large_string(), STRING),
        (pa.string_view(), STRING),
        (pa.dictionary(pa.int32(), pa.large_string()), STRING),
        (pa.run_end_encoded(pa.int32(), pa.int8()), INT8),
        (pa.large_binary(), BINARY),
        (pa.binary_view(), BINARY),
        (pa.binary(16), BINARY),
        (pa.uint8(), INT16),
        (pa.uint16(), INT32),
        (pa.uint32(), INT64),
        (pa.float16(), FLOAT),
        (pa.float64(), DOUBLE),
        (pa.bool_(), BOOLEAN),
        (pa.date64(), DATE),
        (pa.timestamp("s"), TIMESTAMP_NTZ),
        (pa.timestamp("ms", "Europe/Paris"), TIMESTAMP),
        (pa.timestamp("us", "UTC"), TIMESTAMP),
        (pa.timestamp("ns"), TIMESTAMP_NTZ),
        (pa.decimal256(38, 2), DecimalType(38, 2)),
    ],
)
def test_other_arrow_types_are_taken_as_the_type_that_holds_them(data_type: pa.DataType, expected: AtomicType) -> None:
    """What Arrow has several layouts for is one type here."""
    assert type_from_arrow(data_type) == expected


@pytest.mark.parametrize(
    "data_type",
    [pa.large_list(pa.int8()), pa.list_(pa.int8(), 3), pa.list_view(pa.int8()), pa.large_list_view(pa.int8())],
)
def test_every_kind_of_list_is_a_list(data_type: pa.DataType) -> None:
    """Fixed-size, large and view lists hold the same values."""
    assert type_from_arrow(data_type) == ListType(Field(id=0, name="element", type=INT8))


@pytest.mark.parametrize(
    ("data_type", "advice"),
    [
        (pa.uint64(), "int64"),
        (pa.time64("us"), "int64"),
        (pa.duration("s"), "int64"),
        (pa.null(), "the type its values should have"),
        (pa.decimal256(50, 2), "decimal128"),
        (pa.decimal128(5, -2), "decimal128"),
        (pa.sparse_union([pa.field("a", pa.int8())]), "drop it"),
        (pa.struct([]), "without members"),
        (pa.uuid(), "storage"),
        (pa.month_day_nano_interval(), "drop it"),
    ],
)
def test_types_no_table_can_hold_are_refused_with_advice(data_type: pa.DataType, advice: str) -> None:
    """The message names the column down to the member, its Arrow type, and what to do."""
    schema = pa.schema([pa.field("a", pa.struct([pa.field("b", pa.list_(data_type))]))])
    with pytest.raises(SchemaError) as caught:
        schema_from_arrow(schema)
    message = str(caught.value)
    assert "column 'a.b.element'" in message
    assert str(data_type) in message
    assert advice in message


def test_names_that_differ_only_in_case_are_refused() -> None:
    """Spark could not tell them apart, so no table starts with them."""
    with pytest.raises(SchemaError, match="differ only in case"):
        schema_from_arrow(pa.schema([("a", pa.int8()), ("A", pa.int8())]))
