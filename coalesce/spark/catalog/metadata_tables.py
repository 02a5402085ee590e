"""Metadata tables: what a table's metadata says, as rows that SQL can ask, such as `lake.db.events.files`.

A table's directory is no namespace, so no table can have such a name. Rows are made here and handed to Spark as they
are: executors need nothing.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from coalesce.arrow.engine import ArrowEngine
from coalesce.model.spec import field_text
from coalesce.recent import Recent
from coalesce.spark.source.versions import storage_at
from coalesce.table.engine import Engines
from coalesce.table.table import Table

_KEPT: Final = 16 * 1024 * 1024
# From the analysis of a query, which asks for columns, to its plan, which asks for rows.
_listed: Recent[tuple[str, str, str], pa.Table] = Recent(_KEPT, lambda listed: listed.nbytes)


def _tags(table: Table) -> pa.Table:
    tags = sorted(table.state.tags.items())
    schema = pa.schema([("tag", pa.string()), ("version", pa.int64())])
    return pa.Table.from_pylist([{"tag": name, "version": number} for name, number in tags], schema)


def _specs(table: Table) -> pa.Table:
    state = table.state
    rows = [
        {
            "spec_id": spec.spec_id,
            "current": spec.spec_id == state.current_spec_id,
            "fields": [field_text(field, state.schema) for field in spec.fields],
        }
        for spec in state.specs
    ]
    schema = pa.schema([("spec_id", pa.int64()), ("current", pa.bool_()), ("fields", pa.list_(pa.string()))])
    return pa.Table.from_pylist(rows, schema)


_TABLES: Final[dict[str, Callable[[Table], pa.Table]]] = {
    "files": lambda table: table.files().to_arrow(),
    "partitions": lambda table: table.partitions().to_arrow(),
    "history": lambda table: table.history().to_arrow(),
    "tags": _tags,
    "specs": _specs,
}
NAMES: Final = frozenset(_TABLES)


def described(table: Table, what: str, location: str) -> dict[str, object]:
    """A metadata table's columns, and what `rows` has to be asked for."""
    schema = from_arrow_schema(_list(table, what).schema, prefer_timestamp_ntz=True)
    return {"metadata": what, "location": location, "at": table.version, "schema": schema.json()}


def rows(question: Mapping[str, Any], spark: SparkSession, taker: Any) -> str:
    """Hand the rows of a metadata table over."""
    table = Table(storage_at(question["table"], spark), Engines(ArrowEngine())).at(version=question["version"])
    hand_over(_list(table, question["metadata"]), spark, taker)
    return ""


def hand_over(listed: pa.Table, spark: SparkSession, taker: Any) -> None:
    """Give rows to an object of Java's, by way of a local relation of Spark's."""
    schema = from_arrow_schema(listed.schema, prefer_timestamp_ntz=True)
    frame = spark.createDataFrame(listed, schema) if listed.num_rows else spark.createDataFrame([], schema)
    taker.take(frame._jdf)


def _list(table: Table, what: str) -> pa.Table:
    key = (table.location, table.state.commit_id, what)
    listed = _listed.get(key)
    if listed is None:
        listed = _TABLES[what](table)
        _listed.put(key, listed)
    return listed
