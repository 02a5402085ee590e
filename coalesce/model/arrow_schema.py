"""The table's types as Arrow types, and back.

Going out, every field carries its id as `PARQUET:field_id`, list elements and map keys and values included, so
that pyarrow writes the ids into a data file's footer. Coming in, whatever Arrow can hold exactly in one of the
model's types is taken as that type (`large_string` as string, `uint8` as int16, a dictionary as its values);
what cannot is refused with the column's name and what to do.
"""

from itertools import count
from typing import Final

import pyarrow as pa
import pyarrow.types as at

from coalesce.errors import SchemaError
from coalesce.model.schema import Schema, with_fresh_ids
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
    DecimalType,
    Field,
    ListType,
    MapType,
    PrimitiveType,
    StructType,
    Type,
)

FIELD_ID: Final = b"PARQUET:field_id"

_TO_ARROW: Final[dict[PrimitiveType, pa.DataType]] = {
    BOOLEAN: pa.bool_(),
    INT8: pa.int8(),
    INT16: pa.int16(),
    INT32: pa.int32(),
    INT64: pa.int64(),
    FLOAT: pa.float32(),
    DOUBLE: pa.float64(),
    STRING: pa.string(),
    BINARY: pa.binary(),
    DATE: pa.date32(),
    TIMESTAMP: pa.timestamp("us", "UTC"),
    TIMESTAMP_NTZ: pa.timestamp("us"),
}

# By type id: parameters (a width, a unit) do not change which of our types it is. Every one is exact but
# nanoseconds and milliseconds-within-a-day, which the cast at writing checks.
_FROM_ARROW: Final[dict[int, PrimitiveType]] = {
    pa.lib.Type_BOOL: BOOLEAN,
    pa.lib.Type_INT8: INT8,
    pa.lib.Type_INT16: INT16,
    pa.lib.Type_INT32: INT32,
    pa.lib.Type_INT64: INT64,
    pa.lib.Type_UINT8: INT16,
    pa.lib.Type_UINT16: INT32,
    pa.lib.Type_UINT32: INT64,
    pa.lib.Type_HALF_FLOAT: FLOAT,
    pa.lib.Type_FLOAT: FLOAT,
    pa.lib.Type_DOUBLE: DOUBLE,
    pa.lib.Type_STRING: STRING,
    pa.lib.Type_LARGE_STRING: STRING,
    pa.lib.Type_STRING_VIEW: STRING,
    pa.lib.Type_BINARY: BINARY,
    pa.lib.Type_LARGE_BINARY: BINARY,
    pa.lib.Type_BINARY_VIEW: BINARY,
    pa.lib.Type_FIXED_SIZE_BINARY: BINARY,
    pa.lib.Type_DATE32: DATE,
    pa.lib.Type_DATE64: DATE,
}


def arrow_schema(schema: Schema, physical: bool = False) -> pa.Schema:
    """The columns as an Arrow schema with field ids; with `physical`, under the names the data files use."""
    return pa.schema([arrow_field(field, physical) for field in schema])


def arrow_field(field: Field, physical: bool = False) -> pa.Field:
    """One column or struct member as an Arrow field that carries its id."""
    return _named(field.physical_name if physical else field.name, field, physical)


def arrow_type(type_: Type, physical: bool = False) -> pa.DataType:
    """The Arrow type that holds exactly the values of `type_`."""
    match type_:
        case DecimalType(precision, scale):
            return pa.decimal128(precision, scale)
        case StructType(fields):
            return pa.struct([arrow_field(field, physical) for field in fields])
        case ListType(element):
            return pa.list_(_named("element", element, physical))
        case MapType(key, value):
            return pa.map_(_named("key", key, physical), _named("value", value, physical))
        case PrimitiveType():
            return _TO_ARROW[type_]


def schema_from_arrow(schema: pa.Schema) -> Schema:
    """The columns of an Arrow schema with fresh ids from 1; ids the Arrow fields may carry are not used."""
    ids = count(1)
    fields = tuple(_field_from_arrow(field.name, field, field.name) for field in schema)
    return Schema(with_fresh_ids(fields, lambda: next(ids)))


def type_from_arrow(data_type: pa.DataType, column: str = "") -> Type:
    """The type that takes the values of an Arrow type. `column` is named in the error if there is none.

    Fields inside a nested type have the id 0 until `with_fresh_ids` numbers them.
    """
    if data_type.id in _FROM_ARROW:
        return _FROM_ARROW[data_type.id]
    if at.is_timestamp(data_type):
        # The zone's name is only how Arrow would print the instant, so it is not kept.
        return TIMESTAMP_NTZ if data_type.tz is None else TIMESTAMP
    if at.is_decimal(data_type):
        return _decimal_from_arrow(data_type, column)
    if at.is_dictionary(data_type) or at.is_run_end_encoded(data_type):
        return type_from_arrow(data_type.value_type, column)
    if at.is_map(data_type):
        key = _field_from_arrow("key", data_type.key_field, f"{column}.key")
        return MapType(key, _field_from_arrow("value", data_type.item_field, f"{column}.value"))
    if at.is_struct(data_type):
        if data_type.num_fields == 0:
            raise _refused(data_type, column, "Parquet cannot store a struct without members; drop it or add one")
        members = [data_type.field(i) for i in range(data_type.num_fields)]
        return StructType(tuple(_field_from_arrow(m.name, m, f"{column}.{m.name}") for m in members))
    if _is_any_list(data_type):
        return ListType(_field_from_arrow("element", data_type.value_field, f"{column}.element"))
    raise _refused(data_type, column, _advice(data_type))


def _named(name: str, field: Field, physical: bool) -> pa.Field:
    metadata = {FIELD_ID: str(field.id).encode()}
    return pa.field(name, arrow_type(field.type, physical), nullable=not field.required, metadata=metadata)


def _field_from_arrow(name: str, field: pa.Field, place: str) -> Field:
    return Field(id=0, name=name, type=type_from_arrow(field.type, place), required=not field.nullable)


def _decimal_from_arrow(data_type: pa.DataType, column: str) -> DecimalType:
    if data_type.precision > 38 or not 0 <= data_type.scale <= data_type.precision:
        raise _refused(data_type, column, "cast it to a decimal128 of at most 38 digits with a scale of 0 or more")
    return DecimalType(data_type.precision, data_type.scale)


def _is_any_list(data_type: pa.DataType) -> bool:
    return bool(
        at.is_list(data_type)
        or at.is_large_list(data_type)
        or at.is_fixed_size_list(data_type)
        or at.is_list_view(data_type)
        or at.is_large_list_view(data_type)
    )


def _advice(data_type: pa.DataType) -> str:
    if isinstance(data_type, pa.BaseExtensionType):
        return f"give its storage, {data_type.storage_type}, instead"
    if at.is_uint64(data_type):
        return "cast it to int64, or to decimal128(20, 0) if it holds more than that"
    if at.is_time(data_type) or at.is_duration(data_type):
        return "cast it to int64, or to string"
    if at.is_null(data_type):
        return "cast it to the type its values should have"
    return "cast it to a type the table can hold, or drop it"


def _refused(data_type: pa.DataType, column: str, advice: str) -> SchemaError:
    subject = f"column {column!r} is Arrow {data_type}" if column else f"the Arrow type is {data_type}"
    return SchemaError(f"{subject}, which a table cannot hold: {advice}.")
