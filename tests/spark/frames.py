"""Between Arrow tables and Spark DataFrames, for tests that write with Spark and look with pyarrow."""

from typing import TYPE_CHECKING

import pyarrow as pa

from coalesce.model.arrow_schema import schema_from_arrow
from coalesce.model.schema import Schema
from coalesce.table.table import Table, core_of
from tests.arrow.generated import plain_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def frame_of(spark: "SparkSession", rows: pa.Table, schema: Schema | None = None, tasks: int = 2) -> "DataFrame":
    """The rows as a DataFrame of exactly the types the table would give them."""
    from coalesce.spark.translate.schema import spark_schema

    columns = schema_from_arrow(rows.schema) if schema is None else schema
    return spark.createDataFrame(rows, spark_schema(columns)).repartition(tasks)


def content(table: Table, where: str | None = None) -> list[str]:
    """The matching rows, each as text, in no order that the files could have."""
    return sorted(plain_rows(table.scan(where).to_arrow()))


def stored(table: Table) -> set[str]:
    """Every file below the table's data directory."""
    return {file.path for file in core_of(table).storage.list("data")}
