"""The table's types as Spark's types, and back.

Going out for data files, fields carry their ids as `parquet.field.id`, which Spark's Parquet writer puts into the
files: columns and members of structs at any depth. For list elements and map keys and values Spark has no place to
say one, so files it writes have none there. Coming in, a type a table cannot hold is refused with the column's name
and what to do.
"""

from collections.abc import Iterable
from itertools import count
from typing import Final, TypeVar, assert_never, cast

from pyspark.sql import types as spark

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
    AtomicType,
    DecimalType,
    Field,
    ListType,
    MapType,
    PrimitiveType,
    StructType,
    Type,
)
from coalesce.predicate.render import literal_sql
from coalesce.table.feed import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION

AnyType = TypeVar("AnyType", bound=spark.DataType)

FIELD_ID: Final = "parquet.field.id"
_DEFAULT: Final = "EXISTS_DEFAULT"  # where Spark's Parquet reader looks for the value of a column that a file lacks
_COMMENT: Final = "comment"  # where Spark keeps a column's comment
_CHAR_OR_VARCHAR: Final = "__CHAR_VARCHAR_TYPE_STRING"  # where Spark keeps the type of a column it reads as STRING

_TO_SPARK: Final[dict[PrimitiveType, spark.DataType]] = {
    BOOLEAN: spark.BooleanType(),
    INT8: spark.ByteType(),
    INT16: spark.ShortType(),
    INT32: spark.IntegerType(),
    INT64: spark.LongType(),
    FLOAT: spark.FloatType(),
    DOUBLE: spark.DoubleType(),
    STRING: spark.StringType(),
    BINARY: spark.BinaryType(),
    DATE: spark.DateType(),
    TIMESTAMP: spark.TimestampType(),
    TIMESTAMP_NTZ: spark.TimestampNTZType(),
}
_FROM_SPARK: Final = {type_: ours for ours, type_ in _TO_SPARK.items()}

# By the beginning of the type's name in Spark: classes for some of them exist in some releases only.
_ADVICE: Final = {
    "char": "declare it as STRING",
    "varchar": "declare it as STRING",
    "interval": "cast it to string, or take its parts out as numbers",
    "variant": "keep it as text, with to_json(…), or take its parts out as columns",
    "string collate": "compare by bytes, with collate(…, 'UTF8_BINARY')",
    "void": "cast it to the type its values should have",
    "time": "cast it to string",
}


# --- from Spark --------------------------------------------------------------------------------------------------


def schema_from_spark(schema: spark.StructType, known: Schema | None = None) -> Schema:
    """The columns of a Spark schema with fresh ids from 1; ids the Spark fields may carry are not used.

    NULLs and empty arrays have every type: columns that do not say theirs are left out where the table has them, among
    the columns `known`.
    """
    ids = count(1)
    said = [f for f in schema.fields if known is None or not _has_null_type(f.dataType) or known.find(f.name) is None]
    return Schema(with_fresh_ids(tuple(_field_from_spark(f, f.name) for f in said), lambda: next(ids)))


def _has_null_type(type_: spark.DataType) -> bool:
    match type_:
        case spark.ArrayType():
            return _has_null_type(type_.elementType)
        case spark.MapType():
            return _has_null_type(type_.keyType) or _has_null_type(type_.valueType)
        case spark.StructType():
            return any(_has_null_type(f.dataType) for f in type_.fields)
        case _:
            return isinstance(type_, spark.NullType)


def type_from_spark(type_: spark.DataType, column: str) -> Type:
    """The type that takes the values of a Spark type; `column` is named in the error if there is none.

    Fields inside a nested type have the id 0 until `with_fresh_ids` numbers them.
    """
    match type_:
        case spark.CharType() | spark.VarcharType():  # kinds of StringType, as Python sees them
            raise _refused(type_.simpleString(), column)
        case spark.DecimalType():
            return DecimalType(type_.precision, type_.scale)
        case spark.StructType():
            if not type_.fields:
                raise SchemaError(
                    f"column {column!r} is a struct without members, which Parquet cannot store; drop it or add one."
                )
            return StructType(tuple(_field_from_spark(f, f"{column}.{f.name}") for f in type_.fields))
        case spark.ArrayType():
            return ListType(_inside("element", type_.elementType, type_.containsNull, column))
        case spark.MapType():
            key = _inside("key", type_.keyType, False, column)
            return MapType(key, _inside("value", type_.valueType, type_.valueContainsNull, column))
        case _ if type_ in _FROM_SPARK:  # a collated string is not equal to the plain one
            return _FROM_SPARK[type_]
        case _:
            raise _refused(type_.simpleString(), column)


def _field_from_spark(field: spark.StructField, place: str) -> Field:
    if _CHAR_OR_VARCHAR in (field.metadata or {}):
        raise _refused(str(field.metadata[_CHAR_OR_VARCHAR]), place)
    comment = (field.metadata or {}).get(_COMMENT)
    return Field(
        id=0,
        name=field.name,
        type=type_from_spark(field.dataType, place),
        required=not field.nullable,
        comment=None if comment is None else str(comment),
    )


def _inside(name: str, type_: spark.DataType, nullable: bool, column: str) -> Field:
    return Field(id=0, name=name, type=type_from_spark(type_, f"{column}.{name}"), required=not nullable)


def _refused(type_: str, column: str) -> SchemaError:
    advice = next((a for start, a in _ADVICE.items() if type_.startswith(start)), "cast it to string, or drop it")
    return SchemaError(f"column {column!r} is Spark's {type_}, which a table cannot hold: {advice}.")


# --- to Spark ----------------------------------------------------------------------------------------------------


def spark_schema(fields: Iterable[Field]) -> spark.StructType:
    """Columns as users see them: logical names, nullable as declared."""
    return spark.StructType(
        [
            spark.StructField(
                f.name, spark_type(f.type), not f.required, None if f.comment is None else {_COMMENT: f.comment}
            )
            for f in fields
        ]
    )


def physical_schema(fields: Iterable[Field]) -> spark.StructType:
    """Columns as data files hold them: physical names with ids and defaults, everything nullable.

    Nullable, because a file may lack a column that was required later, and Spark believes what it is told.
    """
    return spark.StructType([_physical_field(f) for f in fields])


def spark_type(type_: Type, *, physical: bool = False) -> spark.DataType:
    """The Spark type that holds exactly the values of `type_`; with `physical`, as `physical_schema` has it."""
    match type_:
        case DecimalType(precision, scale):
            return spark.DecimalType(precision, scale)
        case StructType(fields):
            return physical_schema(fields) if physical else spark_schema(fields)
        case ListType(element):
            return spark.ArrayType(spark_type(element.type, physical=physical), physical or not element.required)
        case MapType(key, value):
            return spark.MapType(
                spark_type(key.type, physical=physical),
                spark_type(value.type, physical=physical),
                physical or not value.required,
            )
        case PrimitiveType():
            return _TO_SPARK[type_]
        case _:
            assert_never(type_)


def change_schema(schema: Schema) -> spark.StructType:
    """The columns of a table's changes."""
    added = [
        spark.StructField(CHANGE_TYPE, spark.StringType()),
        spark.StructField(COMMIT_VERSION, spark.LongType()),
        spark.StructField(COMMIT_TIMESTAMP, spark.TimestampType()),
    ]
    return spark.StructType([*nullable(spark_schema(schema)).fields, *added])


def nullable(type_: AnyType) -> AnyType:
    """The type with everything in it nullable."""
    relaxed: spark.DataType = type_
    match type_:
        case spark.StructType():
            relaxed = spark.StructType(
                [spark.StructField(f.name, nullable(f.dataType), True, f.metadata) for f in type_.fields]
            )
        case spark.ArrayType():
            relaxed = spark.ArrayType(nullable(type_.elementType), True)
        case spark.MapType():
            relaxed = spark.MapType(nullable(type_.keyType), nullable(type_.valueType), True)
    return cast(AnyType, relaxed)


def without_ids(type_: AnyType) -> AnyType:
    """The type without field ids inside: Spark refuses files that have none, as adopted ones may, if it is told some.

    What a column is called in files is enough to find it.
    """
    bare: spark.DataType = type_
    match type_:
        case spark.StructType():
            bare = spark.StructType(
                [
                    spark.StructField(
                        f.name,
                        without_ids(f.dataType),
                        f.nullable,
                        {name: held for name, held in (f.metadata or {}).items() if name != FIELD_ID},
                    )
                    for f in type_.fields
                ]
            )
        case spark.ArrayType():
            bare = spark.ArrayType(without_ids(type_.elementType), type_.containsNull)
        case spark.MapType():
            bare = spark.MapType(without_ids(type_.keyType), without_ids(type_.valueType), type_.valueContainsNull)
    return cast(AnyType, bare)


def _physical_field(field: Field) -> spark.StructField:
    type_ = spark_type(field.type, physical=True)
    metadata: dict[str, int | str] = {FIELD_ID: field.id}
    if field.default is not None:
        metadata[_DEFAULT] = literal_sql(cast(AtomicType, field.type), field.default)
    return spark.StructField(field.physical_name, type_, True, metadata)


def check_given_columns(given: spark.StructType, own: spark.StructType) -> None:
    """Refuse `read.schema(…)` unless it says what is so."""
    if [_column(f) for f in given.fields] != [_column(f) for f in own.fields]:
        raise SchemaError(
            f"the table has columns of its own ({own.simpleString()}): leave out schema(…), and select from them."
        )


def _column(field: spark.StructField) -> tuple[str, str]:
    return field.name, field.dataType.simpleString()
