"""What `Warehouse.java` asks of a catalog: which tables and namespaces there are, and to make, change and drop them.

An answer is a JSON object. That something is not there, or is there already, is an answer as well: Spark has errors of
its own for it, which IF EXISTS and IF NOT EXISTS rely on.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pyspark.sql import SparkSession

from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import InvalidArgument, TableExists, TableNotFound
from coalesce.spark.catalog import metadata_tables, procedures
from coalesce.spark.catalog.alter import alter
from coalesce.spark.catalog.directories import Kind
from coalesce.spark.catalog.new_tables import columns_of, options_of
from coalesce.spark.catalog.warehouse import NotThere, Taken, Warehouse, answered, directory_of, made_directory
from coalesce.spark.commands.create import described
from coalesce.spark.commands.save import created
from coalesce.spark.jvm.hadoop import Hadoop
from coalesce.spark.source.queries import describe
from coalesce.spark.source.versions import recall, remember, storage_at
from coalesce.spark.translate.options import read_options
from coalesce.storage.base import Storage
from coalesce.table.engine import Engines
from coalesce.table.table import Table

Question = Mapping[str, Any]
Answer = dict[str, object]


def answer(question: Question, spark: SparkSession) -> str:
    """The answer to one question."""
    warehouse = Warehouse(question["catalog"], question.get("warehouse", ""))
    return answered(lambda: _ANSWERS[question["verb"]](question, warehouse, spark))


def _open(question: Question, warehouse: Warehouse, spark: SparkSession) -> Answer:
    """The warehouse itself, when its catalog is loaded."""
    del warehouse
    location = question["location"]
    if location is None:
        name = question["catalog"]
        raise InvalidArgument(f"the catalog {name} has no warehouse: set spark.sql.catalog.{name}.warehouse.")
    if Hadoop(spark).default_scheme() not in (None, "file"):
        raise InvalidArgument(
            f"the warehouse of a catalog is a directory on this machine, and {location} lies on the session's default "
            "file system, which is another one."
        )
    return {"warehouse": made_directory(directory_of(location))}


# --- tables ------------------------------------------------------------------------------------------------------


def _load(question: Question, warehouse: Warehouse, spark: SparkSession) -> Answer:
    """A table, or what its metadata says; at a version, if one is named."""
    parts = question["name"]
    found = warehouse.find(parts)
    if found is not None and found[1] is Kind.TABLE:
        storage = storage_at(found[0], spark)
        seen = question.get("seen", {}).get(found[0])
        if seen is None or _travels(question):
            table = _opened(question, storage)
        else:  # the query has looked it up before, by another name: it reads one version, whatever was committed since
            number, key = seen
            table = Table(storage, Engines(ArrowEngine()), version=recall(key, found[0], number).version)
        # What is named by a tag or a time is read at the version that it means now, through the whole query.
        version = str(table.version) if _travels(question) else None
        remembered = remember(storage, table.state)
        return {
            **described(table),
            "location": found[0],
            "properties": dict(table.state.properties),
            "version": version,
            "newest": table.version if version is None else None,
            "key": remembered.key,
            "reads": describe(found[0], remembered, spark) if question.get("reads") and version is None else None,
        }
    if _is_metadata(parts, warehouse):
        place = warehouse.table(parts[:-1])
        return metadata_tables.described(_opened(question, storage_at(place, spark)), parts[-1], place)
    raise NotThere(Kind.TABLE)


def _is_metadata(parts: Sequence[str], warehouse: Warehouse) -> bool:
    """Whether a name is that of a metadata table: one of a few, behind that of a table."""
    above = warehouse.find(parts[:-1])
    return above is not None and above[1] is Kind.TABLE and parts[-1] in metadata_tables.NAMES


def _opened(question: Question, storage: Storage) -> Table:
    try:
        table = Table(storage, Engines(ArrowEngine()))
    except TableNotFound:  # dropped meanwhile, or not made yet
        raise NotThere(Kind.TABLE) from None
    if question.get("version") is not None:
        return table.at(version=read_options({"version": question["version"]}).version)
    if question.get("micros") is not None:
        return table.at(as_of=datetime.fromtimestamp(0, UTC) + timedelta(microseconds=question["micros"]))
    return table


def _travels(question: Question) -> bool:
    return question.get("version") is not None or question.get("micros") is not None


def _tables(question: Question, warehouse: Warehouse, spark: SparkSession) -> Answer:
    del spark
    return {"names": warehouse.inside(question["name"], Kind.TABLE)}


def _check(question: Question, warehouse: Warehouse, spark: SparkSession) -> Answer:
    """Whether a table can be made of what is said, before the rows of a query are computed for it."""
    del spark
    options_of(question, warehouse.catalog)
    warehouse.check_free(question["name"])
    return {}


def _create(question: Question, warehouse: Warehouse, spark: SparkSession) -> Answer:
    options = options_of(question, warehouse.catalog)
    try:
        with warehouse.claimed(question["name"]) as place:
            created(spark, place, columns_of(question), options)
    except TableExists:
        raise Taken(Kind.TABLE) from None
    return {}


def _alter(question: Question, warehouse: Warehouse, spark: SparkSession) -> Answer:
    table = _opened(question, storage_at(warehouse.table(question["name"]), spark))
    alter(table, question["changes"], warehouse.named(question["name"]))
    return {}


def _drop(question: Question, warehouse: Warehouse, spark: SparkSession) -> Answer:
    del spark
    if _is_metadata(question["name"], warehouse):
        raise InvalidArgument(
            f"{warehouse.named(question['name'])} shows what is so of a table, and goes with the table only."
        )
    return {"dropped": warehouse.drop_table(question["name"])}


# --- namespaces --------------------------------------------------------------------------------------------------


def _namespaces(question: Question, warehouse: Warehouse, spark: SparkSession) -> Answer:
    del spark
    return {"names": warehouse.inside(question["name"], Kind.NAMESPACE)}


def _namespace(question: Question, warehouse: Warehouse, spark: SparkSession) -> Answer:
    del spark
    return {"location": warehouse.namespace(question["name"])}


def _create_namespace(question: Question, warehouse: Warehouse, spark: SparkSession) -> Answer:
    del spark
    said = sorted(set(question["properties"]) - {"owner"})
    if said:
        raise InvalidArgument(
            f"a namespace of the catalog {warehouse.catalog} is a directory of its warehouse and has no "
            f"{', '.join(said)}: leave out COMMENT, LOCATION and DBPROPERTIES."
        )
    warehouse.create_namespace(question["name"])
    return {}


def _drop_namespace(question: Question, warehouse: Warehouse, spark: SparkSession) -> Answer:
    del spark
    return {"dropped": warehouse.drop_namespace(question["name"], cascade=question["cascade"])}


def _procedures(question: Question, warehouse: Warehouse, spark: SparkSession) -> Answer:
    del question, warehouse, spark
    return procedures.described()


_ANSWERS: Final[dict[str, Callable[[Question, Warehouse, SparkSession], Answer]]] = {
    "open": _open,
    "load": _load,
    "tables": _tables,
    "check": _check,
    "create": _create,
    "alter": _alter,
    "drop": _drop,
    "namespaces": _namespaces,
    "namespace": _namespace,
    "create namespace": _create_namespace,
    "drop namespace": _drop_namespace,
    "procedures": _procedures,
}
