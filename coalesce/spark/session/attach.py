"""Make the source `coalesce` known to a Spark session, however it was started."""

import warnings
from typing import TYPE_CHECKING, Any

from coalesce.arguments import check_session
from coalesce.errors import SparkUnavailable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def attach(spark: "SparkSession") -> "SparkSession":
    """The same session, in which `format("coalesce")` and `USING coalesce` now work. Harmless if they did before.

    A session whose JVM this process can reach gets the native source, a Spark Connect session the portable one. So
    does a Spark that the native source's classes do not fit, with a warning.

    Raises `InvalidArgument` for what is no session.

    >>> coalesce.attach(spark).read.format("coalesce").load("events").count()
    4
    """
    check_session(spark, "what is attached")
    if is_connect(spark):
        _register_portable(spark)
        return spark
    from coalesce.spark.session.native import connect

    try:
        connect(spark)
    except SparkUnavailable as error:
        warnings.warn(f"{error} Tables are read through Python instead, which is slower.", RuntimeWarning, stacklevel=2)
        _register_portable(spark)
    return spark


def is_connect(spark: Any) -> bool:
    """Whether the session talks to a Spark Connect server, and so has no JVM here."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _register_portable(spark: "SparkSession") -> None:
    from coalesce.spark.connect.source import PortableSource

    spark.dataSource.register(PortableSource)
