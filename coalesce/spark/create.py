"""CREATE TABLE … USING coalesce with columns: it makes the table, or finds one that is just like that."""

import json
from collections.abc import Mapping
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from coalesce.errors import TableExists, TableNotFound
from coalesce.model.spec import field_text
from coalesce.spark.resolved import storage_at
from coalesce.spark.schema import spark_schema
from coalesce.spark.travel import wanted_version
from coalesce.table.table import Table

CREATE: Final = "coalesce.create"  # the option by which `CreateTables.java` says how a table is to be made:
COLUMNS: Final = "columns"  # ... of the columns given, or otherwise in this save mode
LIKE: Final = "coalesce.like"  # the option that names the table which a new one is to be like
PROPERTIES: Final = "coalesce.properties"  # the option with those of TBLPROPERTIES that are the table's own, as JSON


def create_if_absent(spark: SparkSession, location: str, wanted: str, options: Mapping[str, str]) -> None:
    """Make the table that CREATE TABLE describes, unless it is there; one that is different is an error."""
    from coalesce.spark.save import check_same_spec, partition_columns, save

    schema = StructType.fromJson(json.loads(wanted))
    try:
        there = Table(storage_at(location, spark), ())
    except TableNotFound:
        save(spark, location, spark.createDataFrame([], schema), options=options)
        return
    own, last = spark_schema(there.schema), {name.lower() for name in partition_columns(options)}
    # Spark has put the columns of PARTITIONED BY last. The table keeps its order.
    if sorted(_described(schema), key=lambda c: c[0] in last) != sorted(_described(own), key=lambda c: c[0] in last):
        raise TableExists(
            f"there is a coalesce table at {location} already, with the columns {_listed(own)}; "
            "leave the columns out of CREATE TABLE to use it."
        )
    check_same_spec(there, partition_columns(options))


def columns(spark: SparkSession, location: str, options: Mapping[str, str], time_zone: str) -> str:
    """The columns and partition fields of a table, as it has them now or at the version the options name."""
    number, as_of = wanted_version({name.lower(): value for name, value in options.items()}, time_zone)
    table = Table(storage_at(location, spark), ())
    if number is not None or as_of is not None:
        table = table.at(version=number, as_of=as_of)
    fields = [field_text(f, table.schema) for f in table.state.spec.fields]
    return json.dumps({"schema": spark_schema(table.schema).json(), "fields": fields})


def _described(schema: StructType) -> list[tuple[str, str]]:
    return [(field.name.lower(), field.dataType.simpleString()) for field in schema.fields]


def _listed(schema: StructType) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in _described(schema))
