"""Settings of a Spark session, changed for a while."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIME_ZONE = "spark.sql.session.timeZone"
CASE_SENSITIVE = "spark.sql.caseSensitive"
OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"

# What metadata could answer, rows answer.
COUNTED_BY_READING = {"spark.sql.optimizer.excludedRules": "coalesce.spark.MetadataCounts"}

# For many queries on few rows: to compile a query takes longer than to interpret it, to plan it twice likewise.
INTERPRETED = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
# To be set when Spark starts: PySpark does not look up, for each operation on a column, which line asks for it.
WITHOUT_CALL_SITES = {"spark.python.sql.dataFrameDebugging.enabled": "false"}

# Likewise: what runs for minutes, most of it once, is compiled quickly, not well.
_QUICKLY = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
COMPILED_QUICKLY = {"spark.driver.extraJavaOptions": _QUICKLY, "spark.executor.extraJavaOptions": _QUICKLY}


@contextmanager
def changed(spark: "SparkSession", settings: Mapping[str, str]) -> Iterator[None]:
    """The session with these settings; what was not set before is not set after, either."""
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            spark.conf.unset(name) if old is None else spark.conf.set(name, old)
