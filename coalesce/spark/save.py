"""What `df.write.format("coalesce")`, INSERT INTO and INSERT OVERWRITE mean for a table.

| mode | there is a table | there is none |
|---|---|---|
| append | rows are added | it is created |
| overwrite | all rows are replaced; with `replaceWhere`, those that match; with `partitionOverwriteMode` = `dynamic`, the logical partitions the data has rows of | it is created |
| errorifexists (Spark's default) | refused | it is created |
| ignore | nothing happens | it is created |

Options, without regard to case as all of Spark's: `replaceWhere`; `partitionOverwriteMode` (`static` or `dynamic`; the
session's setting by default); `layout` (`counted` or `known`); for a table that is created `smallColumns` (`app` or
`app,tenant`: the partition fields on which small logical partitions share a physical one), `smallBelow` (`64MB`),
`targetFileSize` (`128MB`); and, for a write to be made once, `txnAppId` with `txnVersion`.
"""  # noqa: E501 - a table

import json
from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import CoalesceError, SpecError, TableExists, TableNotFound
from coalesce.model.rule import SMALL, RuleRequest, parse_bytes, request_of, small
from coalesce.model.spec import field_text
from coalesce.spark.create import COLUMNS, CREATE, LIKE, PROPERTIES
from coalesce.spark.engine import SparkEngine
from coalesce.spark.resolved import storage_at
from coalesce.spark.schema import nullable
from coalesce.table.engine import TARGET_FILE_BYTES, Engine
from coalesce.table.table import Table, create_table

_PARTITION_COLUMNS: Final = "__partition_columns"  # where Spark puts what partitionBy was given
_CLUSTERING_COLUMNS: Final = "__clustering_columns"  # ... and clusterBy
_MODES: Final = {
    "append": "append",
    "overwrite": "overwrite",
    "errorifexists": "error",
    "error": "error",
    "default": "error",
    "ignore": "ignore",
}


def save(
    spark: SparkSession,
    location: str,
    df: DataFrame,
    mode: str = "error",
    options: Mapping[str, str] | None = None,
    partition_by: Sequence[str] | None = None,
) -> None:
    """Save a DataFrame as `df.write.format("coalesce")` does."""
    given = {name.lower(): value for name, value in (options or {}).items()}
    if _CLUSTERING_COLUMNS in given:
        raise SpecError('a coalesce table has no clusterBy: partition by a bucket instead, as in "bucket(16, id)".')
    how = given.get(CREATE)
    if how is not None:
        mode = "error" if how == COLUMNS else how  # Spark says "overwrite" for every table it creates
    wanted = _MODES.get(mode.lower())
    if wanted is None:
        raise CoalesceError(f"there is no mode {mode!r}: it is append, overwrite, errorifexists or ignore.")
    if partition_by is None:
        partition_by = partition_columns(given)
    try:
        table = opened(spark, location)
    except TableNotFound:
        if how == COLUMNS:
            _created(spark, location, df.schema, given, partition_by)
        else:  # nullable, as Spark saves every file: that a column came from `range` is no promise
            created = _created(spark, location, nullable(df.schema), given, partition_by)
            created.append(df, applies=_applies(given))
        return
    if wanted == "error":
        raise TableExists(
            f'there is a coalesce table at {location} already; add to it with mode("append"), or replace its rows '
            'with mode("overwrite").'
        )
    if wanted == "ignore":
        return
    check_same_spec(table, partition_by)
    if wanted == "append":
        table.append(df, applies=_applies(given), layout=given.get("layout"))
    else:
        _overwrite(spark, table, df, given)


def insert(spark: SparkSession, location: str, df: DataFrame, overwrite: bool) -> None:
    """INSERT INTO, or INSERT OVERWRITE, a table that is there. Spark has matched the columns by position already."""
    table = opened(spark, location)
    if len(df.columns) == len(table.schema):
        df = df.toDF(*table.schema.names)
    if overwrite:
        _overwrite(spark, table, df, {})
    else:
        table.append(df)


def _overwrite(spark: SparkSession, table: Table, df: DataFrame, options: Mapping[str, str]) -> None:
    where = options.get("replacewhere")
    chosen = options.get("partitionoverwritemode")
    by_session = str(spark.conf.get("spark.sql.sources.partitionOverwriteMode", "static"))
    dynamic = (by_session if chosen is None else chosen).lower() == "dynamic"
    if where is not None:
        if chosen is not None and dynamic:
            raise CoalesceError("replaceWhere and partitionOverwriteMode = dynamic are two answers; give one.")
        table.overwrite(df, where, layout=options.get("layout"))
    elif dynamic and table.state.spec.fields:
        table.overwrite_partitions(df)
    else:
        table.overwrite(df, layout=options.get("layout"))


def opened(spark: SparkSession, location: str) -> Table:
    """The table there, as a session sees it."""
    case_sensitive = str(spark.conf.get("spark.sql.caseSensitive")).lower() == "true"
    return Table(
        storage_at(location, spark), _engines(spark), time_zone=_time_zone(spark), case_sensitive=case_sensitive
    )


def _engines(spark: SparkSession) -> tuple[Engine, ...]:
    return ArrowEngine(), SparkEngine(spark)


def _time_zone(spark: SparkSession) -> str:
    return str(spark.conf.get("spark.sql.session.timeZone"))


# --- a new table -------------------------------------------------------------------------------------------------


def _created(
    spark: SparkSession, location: str, schema: StructType, options: Mapping[str, str], partition_by: Sequence[str]
) -> Table:
    rule, properties = _rule(options), dict[str, str](json.loads(options.get(PROPERTIES, "{}")))
    if LIKE in options:
        model = opened(spark, options[LIKE]).state
        partition_by = [field_text(f, model.schema) for f in model.spec.fields]
        rule, properties = request_of(model.rule, model.spec), {**model.properties, **properties}
    if "targetfilesize" in options:
        properties[TARGET_FILE_BYTES] = str(parse_bytes(options["targetfilesize"]))
    return create_table(
        storage_at(location, spark),
        _engines(spark),
        schema,
        partition_by=partition_by,
        rule=rule,
        properties=properties,
        time_zone=_time_zone(spark),
    )


def _rule(options: Mapping[str, str]) -> RuleRequest | None:
    if "smallcolumns" not in options:
        if "smallbelow" in options:
            raise SpecError("smallBelow needs smallColumns: the partition fields that may be shared, such as app.")
        return None
    columns = [name.strip() for name in options["smallcolumns"].split(",") if name.strip()]
    below = options.get("smallbelow")
    return small(*columns) if below is None else small(*columns, below=below, group=SMALL)


def partition_columns(options: Mapping[str, str]) -> list[str]:
    """What `partitionBy`, or PARTITIONED BY, was given."""
    given = options.get(_PARTITION_COLUMNS)
    return [] if given is None else [str(name) for name in json.loads(given)]


def check_same_spec(table: Table, partition_by: Sequence[str]) -> None:
    """Refuse a `partitionBy` that says something else than the table does: it would be ignored in silence."""
    if not partition_by:
        return
    own = [field_text(f, table.schema) for f in table.state.spec.fields]
    if [_plain(text) for text in partition_by] != [_plain(text) for text in own]:
        raise SpecError(
            f"the table is partitioned by {', '.join(own) or 'nothing'}, not by {', '.join(partition_by)}; leave "
            "partitionBy out, or change the table with evolve()."
        )


def _plain(text: str) -> str:
    return text.replace(" ", "").replace("`", "").lower()


def _applies(options: Mapping[str, str]) -> tuple[str, int] | None:
    app, number = options.get("txnappid"), options.get("txnversion")
    if app is None and number is None:
        return None
    if app is None or number is None or not number.isdigit():
        raise CoalesceError("a write that is to be made once needs both txnAppId and txnVersion, a number.")
    return app, int(number)
