"""Make the source `coalesce` known to a Spark session, however it was started."""

import os
import warnings
from typing import TYPE_CHECKING, Any

from coalesce.arguments import check_session
from coalesce.errors import InvalidArgument, SparkUnavailable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def attach(
    spark: "SparkSession", *, catalog: str | None = None, warehouse: str | os.PathLike[str] | None = None
) -> "SparkSession":
    """The same session, in which `format("coalesce")` and `USING coalesce` now work. Harmless if they did before.

    A session whose JVM this process can reach gets the native source, a Spark Connect session the portable one. So
    does a Spark that the native source's classes do not fit, with a warning.

    * `catalog`: the name of a catalog, such as `"lake"`, that this session is to have: `SELECT … FROM lake.db.events`.
      It belongs to the session, as a setting does; `newSession()` does not have it.
    * `warehouse`: the directory that the catalog's namespaces and tables lie in; it is made if it is not there.

    Raises `InvalidArgument` for what is no session, for a catalog without a warehouse, for a name that another catalog
    has, and for a catalog in a session of Spark Connect.

    >>> coalesce.attach(spark).read.format("coalesce").load("events").count()
    4
    >>> _ = coalesce.attach(spark, catalog="lake", warehouse="warehouse")
    >>> _ = spark.sql("CREATE NAMESPACE lake.db")
    >>> _ = spark.sql("CREATE TABLE lake.db.apps (app STRING, n BIGINT) PARTITIONED BY (app)")
    >>> spark.table("lake.db.apps").columns
    ['app', 'n']
    """
    check_session(spark, "what is attached")
    if (catalog is None) != (warehouse is None):
        raise InvalidArgument('a catalog has a name and a warehouse: attach(spark, catalog="lake", warehouse="/data").')
    if is_connect(spark):
        if catalog is not None:
            raise InvalidArgument(
                "a session of Spark Connect cannot be given a catalog from here: its driver is another process. Attach "
                "it there, or read tables by their paths."
            )
        _register_portable(spark)
        return spark
    from coalesce.spark.session.native import connect

    try:
        connect(spark)
        if catalog is not None and warehouse is not None:
            from coalesce.spark.session.catalog import register

            register(spark, catalog, warehouse)
    except SparkUnavailable as error:
        if catalog is not None:
            raise
        warnings.warn(f"{error} Tables are read through Python instead, which is slower.", RuntimeWarning, stacklevel=2)
        _register_portable(spark)
    return spark


def is_connect(spark: Any) -> bool:
    """Whether the session talks to a Spark Connect server, and so has no JVM here."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def _register_portable(spark: "SparkSession") -> None:
    from coalesce.spark.connect.source import PortableSource

    spark.dataSource.register(PortableSource)
