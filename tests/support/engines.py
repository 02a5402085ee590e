"""Tables whose Spark does by jobs what it would do in the driver, as there is so little of it in a test."""

from typing import TYPE_CHECKING

from coalesce.arrow.engine import ArrowEngine
from coalesce.table.engine import Engines
from coalesce.table.table import Table, core_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOTHING = -1  # bytes: less than any file has


def by_jobs(table: Table, spark: "SparkSession") -> Table:
    """The table; Spark jobs rewrite its files and read back what was written."""
    from coalesce.spark.engine import SparkEngine

    core_of(table).engines = Engines(ArrowEngine(), SparkEngine(spark, rewrite_here=NOTHING, read_here=NOTHING))
    return table
