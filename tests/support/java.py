"""Java run in the driver's JVM, for tests that ask Java or Spark's own classes what is right."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def answer(spark: "SparkSession", statements: str, text: str = "") -> str:
    """What Java statements return that are given `text`; one string each way, as each call to the JVM costs time."""
    from coalesce.spark.catalyst import compiled, evaluate

    script = compiled(spark, statements, "java.lang.String", {"text": "java.lang.String"})
    return str(evaluate(spark, script, text))
