"""A version of a table as a Spark DataFrame."""

from pyspark.sql import DataFrame, SparkSession

from coalesce.plan.report import Report
from coalesce.spark.source import queries, versions
from coalesce.spark.translate.option_names import VERSION
from coalesce.storage.resolve import is_relative
from coalesce.table.engine import Snapshot


def dataframe(spark: SparkSession, snapshot: Snapshot) -> DataFrame:
    """The rows of the snapshot; filters on the frame prune files."""
    # The storage may have settings of its own, which the path alone does not tell.
    versions.remember(snapshot.storage, snapshot.version)
    reader = spark.read.format("coalesce").option(VERSION, snapshot.version.number)
    storage = snapshot.storage
    return reader.load(storage.uri("") if is_relative(storage.root) else storage.root)


def last_scan(spark: SparkSession, snapshot: Snapshot) -> Report | None:
    """The report of the newest scan of the table that has begun in this process."""
    return queries.last_scan(spark, snapshot.storage.uri(""), snapshot.version.table_id)
