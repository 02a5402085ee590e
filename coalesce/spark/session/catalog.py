"""A catalog of coalesce tables, made known to a live session."""

import os
import re
from typing import TYPE_CHECKING, Any, Final

from coalesce.arguments import check_text, shown
from coalesce.errors import InvalidArgument
from coalesce.spark.catalog.warehouse import directory_of, made_directory
from coalesce.spark.jvm.unseen import unseen

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLASS: Final = "coalesce.spark.Warehouse"

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
_OF_SPARK: Final = ("spark_catalog", "system", "session")


def register(spark: "SparkSession", catalog: object, warehouse: str | os.PathLike[str]) -> None:
    """Let a session know a catalog by its name; refused if it knows another one by that name already."""
    name = check_text(catalog, "catalog=")
    if _NAME.fullmatch(name) is None or name.lower() in _OF_SPARK:
        raise InvalidArgument(f"{shown(name)} cannot be the name of a catalog; take letters and digits, such as lake.")
    root = directory_of(warehouse)
    setting = f"spark.sql.catalog.{name}"
    known, place = spark.conf.get(setting, None), spark.conf.get(f"{setting}.warehouse", None)
    if known is not None and (known != CLASS or place is None or directory_of(place) != root):
        what = known if known != CLASS else f"the one of the warehouse {place}"
        raise InvalidArgument(f"this session has a catalog {name} already, {what}; choose another name.")
    made_directory(root)
    java: Any = spark._jsparkSession
    if known is None:
        spark.sparkContext._jvm.coalesce.spark.Warehouse.forget(java, name)  # type: ignore[union-attr]  # it is attached
    spark.conf.set(setting, CLASS)
    spark.conf.set(f"{setting}.warehouse", root)
    with unseen():
        jvm: Any = spark.sparkContext._jvm
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(java)  # whose settings say what a catalog is
        loaded = java.sessionState().catalogManager().catalog(name)
    if loaded.getClass().getName() != CLASS or loaded.root() != root:
        for each in (setting, f"{setting}.warehouse"):
            spark.conf.unset(each)
        raise InvalidArgument(
            f"this session has used a catalog {name} of another kind or warehouse, and Spark keeps it as long as the "
            "session lives; choose another name."
        )
