"""CREATE TABLE … USING coalesce with columns: it makes the table, or finds one that has just these columns."""

import json
from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from coalesce.errors import TableExists, TableNotFound
from coalesce.spark.resolved import resolve
from coalesce.spark.schema import spark_schema


def create_if_absent(spark: SparkSession, location: str, columns: str, options: Mapping[str, str]) -> None:
    """Make the table that CREATE TABLE describes, unless it is there; one with other columns is an error."""
    wanted = StructType.fromJson(json.loads(columns))
    try:
        there = spark_schema(resolve(location, spark).version.schema)
    except TableNotFound:
        from coalesce.spark.save import save

        save(spark, location, spark.createDataFrame([], wanted), mode="ignore", options=options, catalog=True)
        return
    if _described(wanted) != _described(there):
        raise TableExists(
            f"there is a coalesce table at {location} already, with the columns {_listed(there)}; "
            "leave the columns out of CREATE TABLE to use it."
        )


def _described(schema: StructType) -> list[tuple[str, str]]:
    return [(field.name.lower(), field.dataType.simpleString()) for field in schema.fields]


def _listed(schema: StructType) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in _described(schema))
