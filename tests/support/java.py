"""Java run in the driver's JVM, for tests that ask Java or Spark's own classes what is right."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def answer(spark: "SparkSession", statements: str, text: str = "") -> str:
    """What Java statements return that are given `text`; one string each way, as each call to the JVM costs time."""
    java: Any = spark.sparkContext._jvm
    gateway: Any = spark.sparkContext._gateway
    script = java.org.codehaus.janino.ScriptEvaluator()
    script.setParentClassLoader(java.java.lang.Thread.currentThread().getContextClassLoader())
    script.setReturnType(java.java.lang.Class.forName("java.lang.String"))
    names, types = gateway.new_array(java.java.lang.String, 1), gateway.new_array(java.java.lang.Class, 1)
    names[0], types[0] = "text", java.java.lang.Class.forName("java.lang.String")
    script.setParameters(names, types)
    script.cook(statements)
    arguments = gateway.new_array(java.java.lang.Object, 1)
    arguments[0] = text
    return str(script.evaluate(arguments))
