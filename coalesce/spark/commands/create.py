"""CREATE TABLE … USING coalesce with columns: it makes the table, or finds one that is just like that."""

import json
from dataclasses import replace

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import TableExists, TableNotFound
from coalesce.model.schema import Schema
from coalesce.model.spec import PartitionField, field_text
from coalesce.predicate.names import quoted
from coalesce.spark.commands.save import check_same_table, save
from coalesce.spark.source.versions import storage_at
from coalesce.spark.translate.option_names import Given
from coalesce.spark.translate.options import read_options, write_options
from coalesce.spark.translate.schema import spark_schema
from coalesce.table.engine import Engines
from coalesce.table.table import Table


def create_if_absent(spark: SparkSession, location: str, wanted: str, options: Given) -> None:
    """Make the table that CREATE TABLE describes, unless it is there; one that is different is an error."""
    schema, given = StructType.fromJson(json.loads(wanted)), write_options(options, overwrite=False, catalog=True)
    try:
        there = Table(storage_at(location, spark), Engines(ArrowEngine()))
    except TableNotFound:
        save(spark, location, spark.createDataFrame([], schema), options=options, catalog=True)
        return
    own, last = spark_schema(there.schema), {name.lower() for name in given.partition_by or ()}
    # Spark has put the columns of PARTITIONED BY last. The table keeps its order.
    if sorted(_described(schema), key=lambda c: c[0] in last) != sorted(_described(own), key=lambda c: c[0] in last):
        raise TableExists(
            f"there is a coalesce table at {location} already, with the columns {_listed(own)}; "
            "leave the columns out of CREATE TABLE to use it."
        )
    check_same_table(there, given)


def columns(spark: SparkSession, location: str, options: Given, time_zone: str) -> str:
    """The columns and partition fields of a table, as it has them now or at the version the options name."""
    given = read_options(options, catalog=True)
    table = Table(storage_at(location, spark), Engines(ArrowEngine()))
    if not given.follows:
        table = table.at(version=given.version, as_of=given.moment(time_zone))
    return json.dumps(described(table))


def described(table: Table) -> dict[str, object]:
    """The columns, as Spark's JSON has them, and the partition fields of a table at its version."""
    fields = [field_sql(f, table.schema) for f in table.state.spec.fields]
    return {"schema": spark_schema(table.schema).json(), "fields": fields}


def field_sql(field: PartitionField, schema: Schema) -> str:
    """A partition field as PARTITIONED BY takes it: `field_text`, with the column quoted if it has to be."""
    source = schema.by_id(field.source_id)
    return field_text(field, schema if source is None else Schema((replace(source, name=quoted(source.name)),)))


def _described(schema: StructType) -> list[tuple[str, str]]:
    return [(field.name.lower(), field.dataType.simpleString()) for field in schema.fields]


def _listed(schema: StructType) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in _described(schema))
