"""A version of a table as a Spark DataFrame."""

from pyspark.sql import DataFrame, SparkSession

from coalesce.plan.report import Report
from coalesce.spark.source import queries, versions
from coalesce.spark.translate.options import VERSION
from coalesce.table.engine import Place


def dataframe(spark: SparkSession, place: Place) -> DataFrame:
    """The rows of the place's version; filters on the frame prune files."""
    # The storage may have settings of its own, which the path alone does not tell.
    versions.remember(place.storage, place.version)
    reader = spark.read.format("coalesce").option(VERSION, place.version.number)
    return reader.load(place.storage.root)


def last_scan(place: Place) -> Report | None:
    """The report of the newest scan of the table that has begun in this process."""
    return queries.last_scan(place.storage.root, place.version.table_id)
