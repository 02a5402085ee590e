"""Tables whose Spark does by jobs what it would do in the driver, as there is so little of it in a test."""

from typing import TYPE_CHECKING

from coalesce.arrow.engine import ArrowEngine
from coalesce.table.engine import Engines
from coalesce.table.table import Table, core_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOTHING = -1  # bytes: less than any file has


def by_jobs(table: Table, spark: "SparkSession") -> Table:
    """The table; Spark jobs write its rows, rewrite its files and read back what was written."""
    from coalesce.spark.engine import SparkEngine
    from coalesce.spark.write.here import Here

    nothing = Here(write=NOTHING, rewrite=NOTHING, read=NOTHING)
    core_of(table).engines = Engines(ArrowEngine(), SparkEngine(spark, here=nothing))
    return table
