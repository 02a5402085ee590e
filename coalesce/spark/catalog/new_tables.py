"""What CREATE TABLE, CREATE TABLE AS SELECT and REPLACE TABLE say of a table of a warehouse.

Spark hands over one map: TBLPROPERTIES, OPTIONS (twice, once with a prefix), COMMENT, LOCATION, USING and what it adds
of its own. What cannot be kept is refused.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql.types import StructType

from coalesce.errors import InvalidArgument
from coalesce.spark.translate.option_names import PARTITION_COLUMNS, PROPERTIES
from coalesce.spark.translate.options import WriteOptions, write_options
from coalesce.table.properties import check_properties

PARTITIONED_BY: Final = "coalesce.partitioned-by"  # where `Parser.java` puts transforms, as JSON
_OPTION: Final = "option."
_OPTIONS: Final = ("smallColumns", "smallBelow", "targetFileSize")  # those that say how a table is to be made
_OF_SPARK: Final = ("provider", "owner", "is_managed_location", "table_type", "external", "location", "collation")


def columns_of(question: Mapping[str, Any]) -> StructType:
    """The columns that a statement names."""
    return StructType.fromJson(json.loads(question["schema"]))


def options_of(question: Mapping[str, Any], catalog: str) -> WriteOptions:
    """All else that a statement says of the table it makes."""
    given = dict(question["properties"])
    provider = given.get("provider", "coalesce")
    # saveAsTable names a source always: the session's, if it was given none.
    if provider.lower() != "coalesce" and provider.lower() != question.get("default"):
        raise InvalidArgument(
            f"the tables of the catalog {catalog} are coalesce tables: leave out USING {provider}, or create the table "
            "in spark_catalog."
        )
    if "location" in given or "external" in given:
        raise InvalidArgument(
            f"a table of the catalog {catalog} lies in its warehouse, under its name: leave out LOCATION. A table that "
            "lies elsewhere is named by CREATE TABLE spark_catalog.default.events USING coalesce LOCATION '…'."
        )
    if "collation" in given:  # Spark 4.1 and later
        raise InvalidArgument("a coalesce table compares texts by their bytes: leave out DEFAULT COLLATION.")
    options, saves = saved_with(question), question.get("keeps", False)
    for name in options:
        if not saves and name.lower() not in (known.lower() for known in _OPTIONS):
            raise InvalidArgument(
                f"the option {name} is none that a table of the catalog {catalog} is made with: those are "
                f"{', '.join(_OPTIONS)}."
            )
    fields = json.loads(given[PARTITIONED_BY]) if PARTITIONED_BY in given else question["fields"]
    own = {
        name: value
        for name, value in given.items()
        if name not in (*_OF_SPARK, PARTITIONED_BY) and not name.startswith(_OPTION) and options.get(name) != value
    }
    check_properties(own)  # before a query is run
    said = {**options, PARTITION_COLUMNS: json.dumps(fields)}
    if saves:  # its options are those of a write
        return write_options(said, overwrite=question["how"] == "replace")
    return write_options({**said, PROPERTIES: json.dumps(own)}, overwrite=False, catalog=True)


def saved_with(question: Mapping[str, Any]) -> dict[str, str]:
    """The options that a table is made, or saved, with."""
    given: Mapping[str, str] = question["properties"]
    written: Mapping[str, str] = question.get("options", {})
    own = {name.removeprefix(_OPTION): value for name, value in given.items() if name.startswith(_OPTION)}
    return {**own, **written}
