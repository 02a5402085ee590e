"""A table's columns and partition fields in Iceberg's words: with the same ids, so that names may change."""

from collections.abc import Sequence
from typing import Final

from pyiceberg.partitioning import PartitionField as IcebergField
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.schema import index_by_name
from pyiceberg.transforms import parse_transform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
)
from pyiceberg.types import DecimalType as IcebergDecimal
from pyiceberg.types import ListType as IcebergList
from pyiceberg.types import MapType as IcebergMap
from pyiceberg.types import StructType as IcebergStruct

from coalesce.model.schema import Schema
from coalesce.model.spec import PartitionField
from coalesce.model.transforms import Identity
from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    FLOATING,
    INT8,
    INT16,
    INT32,
    INT64,
    INTEGRAL_BITS,
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

_TYPES: Final[dict[PrimitiveType, type[IcebergType]]] = {
    BOOLEAN: BooleanType,
    INT8: IntegerType,
    INT16: IntegerType,
    INT32: IntegerType,
    INT64: LongType,
    FLOAT: FloatType,
    DOUBLE: DoubleType,
    STRING: StringType,
    BINARY: BinaryType,
    DATE: DateType,
    TIMESTAMP: TimestamptzType,
    TIMESTAMP_NTZ: TimestampType,
}


def iceberg_schema(schema: Schema, schema_id: int) -> IcebergSchema:
    """The columns, with their ids."""
    return IcebergSchema(*(_field(f) for f in schema), schema_id=schema_id)


def names_twice(schema: Schema) -> list[str]:
    """Why Iceberg cannot have the columns, if it cannot: there, `a.b` is also the member `b` of a struct `a`."""
    try:
        index_by_name(iceberg_schema(schema, 0))
    except ValueError as error:
        return [f"two columns have one name there, where a dot leads into a struct ({error}); rename one."]
    return []


def _field(field: Field) -> NestedField:
    type_ = iceberg_type(field.type)
    return NestedField(field.id, field.name, type_, required=field.required, doc=field.comment)


def iceberg_type(type_: Type) -> IcebergType:
    """The type that reads what files hold of one of ours; there are no integers of fewer than 32 bits."""
    match type_:
        case DecimalType(precision, scale):
            return IcebergDecimal(precision, scale)
        case StructType(fields):
            return IcebergStruct(*(_field(f) for f in fields))
        case ListType(element):
            return IcebergList(element.id, iceberg_type(element.type), element_required=element.required)
        case MapType(key, value):
            return IcebergMap(
                key.id, iceberg_type(key.type), value.id, iceberg_type(value.type), value_required=value.required
            )
        case PrimitiveType():
            return _TYPES[type_]()


def widens(stored: Type, wanted: Type) -> bool:
    """Whether a reader of Iceberg v2 finds values of one type in a column of the other. A date stays a date."""
    if stored in INTEGRAL_BITS and wanted in INTEGRAL_BITS:
        return INTEGRAL_BITS[stored] <= INTEGRAL_BITS[wanted]
    if isinstance(stored, DecimalType) and isinstance(wanted, DecimalType):
        return stored.scale == wanted.scale and stored.precision <= wanted.precision
    return (stored, wanted) == (FLOAT, DOUBLE)


def can_partition(field: PartitionField, schema: Schema) -> bool:
    """Whether a field may be one of Iceberg's. Zero's two signs are one tuple of ours, and there they are two."""
    type_ = schema.atomic(field.source_id)
    return type_ is not None and type_ not in FLOATING


def partition_spec(fields: Sequence[PartitionField], schema: Schema, spec_id: int) -> PartitionSpec:
    """A spec of these fields, with their ids."""
    return PartitionSpec(
        *(IcebergField(f.source_id, f.field_id, parse_transform(str(f.transform)), _name(f, schema)) for f in fields),
        spec_id=spec_id,
    )


def _name(field: PartitionField, schema: Schema) -> str:
    """Its name; only a field that is the column itself may have the name of a column."""
    other = schema.find(field.name)
    if other is None or (other.id == field.source_id and isinstance(field.transform, Identity)):
        return field.name
    return f"{field.name}_{field.field_id}"
