"""Make a DataFrame fit a table, or say everything that is wrong with it at once, before anything is written.

Names and types are judged from the DataFrame's schema alone. Whether a required column holds NULL only the rows can
say: the conditions for it are handed on, to be counted along with whatever pass over the rows comes first.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it
from pyspark.sql import types as spark

from coalesce.model.schema import Schema
from coalesce.model.spec import Spec
from coalesce.model.types import DecimalType, Field, ListType, MapType, PrimitiveType, StructType, Type
from coalesce.predicate.render import literal_sql
from coalesce.spark.translate.schema import spark_type, type_from_spark
from coalesce.table.match import inside, matched, misfits, refusal


@dataclass(frozen=True)
class Conformed:
    """Rows in the table's types. Column `name_of(field)` holds each field, as a data file would inside.

    `forbidden` are conditions no row may satisfy, with the place that would be NULL although it is required.
    """

    frame: DataFrame
    forbidden: tuple[tuple[str, Column], ...]


def name_of(field: Field) -> str:
    """What a column is called while its rows are on their way: nothing that any name of a user's could collide with."""
    return f"c{field.id}"


def fits(given: spark.StructType, schema: Schema, spec: Spec | None = None) -> list[int | None]:
    """For each field of the table its position among the given ones, or one SchemaError that names all that is wrong.

    With a spec, the rows have to bring the columns that it makes tuples of.
    """
    found, problems = matched(schema.fields, given.names, "", () if spec is None else spec.sources)
    for field, index in zip(schema.fields, found, strict=True):
        if index is not None:
            problems += type_problems(given.fields[index].dataType, field, field.name)
    if problems:
        raise refusal(problems)
    return found


def conform(frame: DataFrame, schema: Schema, spec: Spec | None = None) -> Conformed:
    """The rows in the table's types, or the SchemaError of `fits`."""
    found, given = fits(frame.schema, schema, spec), frame.schema.fields
    frame = frame.toDF(*(f"g{i}" for i in range(len(given))))
    columns: list[Column] = []
    nulls: list[tuple[str, Column]] = []
    for field, index in zip(schema.fields, found, strict=True):
        source = _missing_field(field) if index is None else given[index]
        value = missing(field) if index is None else converted(F.col(f"g{index}"), source.dataType, field.type)
        # By position inside structs, and only where something differs, if no more than a name or an id.
        columns.append(value.cast(spark_type(field.type, physical=True)).alias(name_of(field)))
        nulls += forbidden(F.col(name_of(field)), source.dataType, source.nullable, field, field.name)
    return Conformed(frame.select(*columns), tuple(nulls))


def named(rows: DataFrame, schema: Schema) -> DataFrame:
    """Such rows as a condition speaks of them, by logical names; beside those, in one struct, lies all there is."""
    return rows.select(F.struct("*").alias(whole(schema)), *(F.col(name_of(f)).alias(f.name) for f in schema))


def whole(schema: Schema) -> str:
    """The name of that struct, which no column has."""
    return "_rows" + "_" * max(len(f.name) for f in schema)


# --- names and types ---------------------------------------------------------------------------------------------


def type_problems(given: spark.DataType, field: Field, place: str) -> Iterator[str]:
    """What is wrong with values of a type for a field, at any depth."""
    if isinstance(given, spark.NullType):
        return  # nothing but NULL, which has every type
    match field.type:
        case StructType(members) if isinstance(given, spark.StructType):
            found, problems = matched(members, given.names, place)
            yield from problems
            for member, index in zip(members, found, strict=True):
                if index is not None:
                    yield from type_problems(given.fields[index].dataType, member, inside(place, member.name))
        case ListType(element) if isinstance(given, spark.ArrayType):
            yield from type_problems(given.elementType, element, inside(place, "element"))
        case MapType(key, value) if isinstance(given, spark.MapType):
            yield from type_problems(given.keyType, key, inside(place, "key"))
            yield from type_problems(given.valueType, value, inside(place, "value"))
        case _:
            yield from misfits(lambda: type_from_spark(given, place), place, field)


# --- values ------------------------------------------------------------------------------------------------------


def converted(column: Column, given: spark.DataType, type_: Type) -> Column:
    """The column with the members of its structs as the table has them; a cast by position does what is left."""
    if _same_shape(given, type_):
        return column
    match given, type_:
        case spark.StructType(), StructType(members):
            parts = []
            for number, (member, index) in enumerate(zip(members, _positions(given, members), strict=True)):
                if index is None:
                    part = missing(member).cast(spark_type(member.type, physical=True))
                else:
                    source = given.fields[index]
                    part = converted(column.getField(source.name), source.dataType, member.type)
                parts.append(part.alias(f"m{number}"))
            return F.when(column.isNotNull(), F.struct(*parts))
        case spark.ArrayType(), ListType(element):
            return F.transform(column, lambda x: converted(x, given.elementType, element.type))
        case spark.MapType(), MapType(key, value):
            entries = F.transform(
                F.map_entries(column),
                lambda entry: F.struct(
                    converted(entry.getField("key"), given.keyType, key.type).alias("key"),
                    converted(entry.getField("value"), given.valueType, value.type).alias("value"),
                ),
            )
            return F.map_from_entries(entries)
        case _:
            raise AssertionError(f"{given} was found to fit {type_}")


def missing(field: Field) -> Column:
    """What a column holds that the rows do not bring: its default, or NULL."""
    if field.default is None or not isinstance(field.type, PrimitiveType | DecimalType):
        return F.lit(None)
    return F.expr(literal_sql(field.type, field.default))


def _missing_field(field: Field) -> spark.StructField:
    return spark.StructField("", spark.NullType(), nullable=field.default is None)


def _same_shape(given: spark.DataType, type_: Type) -> bool:
    match given, type_:
        case spark.StructType(), StructType(members):
            in_order = _positions(given, members) == list(range(len(given.fields)))
            return in_order and all(_same_shape(f.dataType, m.type) for f, m in zip(given.fields, members, strict=True))
        case spark.ArrayType(), ListType(element):
            return _same_shape(given.elementType, element.type)
        case spark.MapType(), MapType(key, value):
            return _same_shape(given.keyType, key.type) and _same_shape(given.valueType, value.type)
        case _:
            return True


def _positions(given: spark.StructType, members: Sequence[Field]) -> list[int | None]:
    return matched(members, given.names, "")[0]


# --- required ----------------------------------------------------------------------------------------------------


def forbidden(
    column: Column, given: spark.DataType, nullable: bool, field: Field, place: str
) -> Iterator[tuple[str, Column]]:
    """Where a required field may hold NULL inside something that is not NULL itself, and the condition that it does.

    `column` is converted already; `given` and `nullable` are what the DataFrame's schema promises of it.
    """
    if field.required and nullable:
        yield place, column.isNull()
    match field.type, given:
        case StructType(members), spark.StructType():
            for member, index in zip(members, _positions(given, members), strict=True):
                source = _missing_field(member) if index is None else given.fields[index]
                value = column.getField(member.physical_name)
                name = inside(place, member.name)
                for where, condition in forbidden(value, source.dataType, source.nullable, member, name):
                    yield where, column.isNotNull() & condition
        case ListType(element), spark.ArrayType():
            name = inside(place, "element")
            yield from _in_any(column, given.elementType, given.containsNull, element, name)
        case MapType(key, value_field), spark.MapType():
            keys, values = F.map_keys(column), F.map_values(column)
            yield from _in_any(keys, given.keyType, False, key, inside(place, "key"))
            yield from _in_any(values, given.valueType, given.valueContainsNull, value_field, inside(place, "value"))
        case _:
            return


def _in_any(
    items: Column, given: spark.DataType, nullable: bool, field: Field, place: str
) -> Iterator[tuple[str, Column]]:
    def broken(number: int) -> Callable[[Column], Column]:
        return lambda item: list(forbidden(item, given, nullable, field, place))[number][1]

    # The conditions are made twice: once to know how many there are, once for each with the item's own variable.
    for number, (where, _) in enumerate(list(forbidden(F.lit(None), given, nullable, field, place))):
        yield where, F.exists(items, broken(number))
