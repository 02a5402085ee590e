"""What `df.write.format("coalesce")`, INSERT INTO and INSERT OVERWRITE mean for a table.

| mode | there is a table | there is none |
|---|---|---|
| append | rows are added | it is created |
| overwrite | all rows are replaced; with `overwriteSchema`, the columns too; with `replaceWhere`, those that match; with `partitionOverwriteMode` = `dynamic`, the logical partitions the data has rows of | it is created |
| errorifexists (Spark's default) | refused | it is created |
| ignore | nothing happens | it is created |

Which options there are, and what each may say, is in `option_names.py` and `options.py`. `partitionOverwriteMode` is the session's unless
given. What is said of a table that is created (`partitionBy`, `smallColumns`, `smallBelow`, `targetFileSize`) may be
said again of one that is there, if it is so.
"""  # noqa: E501 - a table

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import CoalesceError, CommitUncertain, SpecError, TableExists, TableNotFound
from coalesce.manifest.paths import LATEST_HINT, version_path
from coalesce.model.rule import DEFAULT_BELOW, RuleRequest, parse_bytes, request_of, resolve, small
from coalesce.model.spec import field_text
from coalesce.spark.engine import SparkEngine
from coalesce.spark.source.versions import storage_at
from coalesce.spark.translate.option_names import COLUMNS, CREATE, Given
from coalesce.spark.translate.options import WriteOptions, write_options
from coalesce.spark.translate.schema import nullable
from coalesce.table.commit.log import Log
from coalesce.table.create import create_table
from coalesce.table.engine import TARGET_FILE_BYTES, Engines
from coalesce.table.new_columns import OVERWRITE
from coalesce.table.table import Table, core_of
from coalesce.table.writing import replaced_by

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
    options: Given | None = None,
    partition_by: Sequence[str] | None = None,
    *,
    catalog: bool = False,
) -> None:
    """Save a DataFrame as `df.write.format("coalesce")` does; or, for the `catalog`, as `saveAsTable` does."""
    how = (options or {}).get(CREATE)
    if how is not None:
        mode = "error" if how == COLUMNS else how  # Spark says "overwrite" for every table it creates
    wanted = _MODES.get(mode.lower())
    if wanted is None:
        raise CoalesceError(f"there is no mode {mode!r}: it is append, overwrite, errorifexists or ignore.")
    given = write_options(options or {}, overwrite=wanted == "overwrite", catalog=catalog)
    if partition_by is not None:
        given = replace(given, partition_by=tuple(partition_by))
    try:
        table = opened(spark, location, given)
    except TableNotFound:
        if how == COLUMNS:
            created(spark, location, df.schema, given)
        else:
            create_with(spark, location, df, given)
        return
    if wanted == "error":
        raise TableExists(
            f'there is a coalesce table at {location} already; add to it with mode("append"), or replace its rows '
            'with mode("overwrite").'
        )
    if wanted == "ignore":
        return
    # The catalog hands over what the table was created with, and it may have changed since.
    if (not catalog or how is not None) and given.schema_mode != OVERWRITE:
        check_same_table(table, given)
    _write(spark, table, df, given, overwrite=wanted == "overwrite")


def insert(spark: SparkSession, location: str, df: DataFrame, overwrite: bool, options: Given | None = None) -> None:
    """INSERT INTO, or INSERT OVERWRITE, a table that is there. Spark has matched the columns by position already."""
    given = write_options(options or {}, overwrite=overwrite, catalog=True)
    table = opened(spark, location, given)
    if len(df.columns) == len(table.schema):
        df = df.toDF(*table.schema.names)
    _write(spark, table, df, given, overwrite=overwrite)


def _write(spark: SparkSession, table: Table, df: DataFrame, options: WriteOptions, *, overwrite: bool) -> None:
    if not overwrite:
        table.append(df, applies=options.applies, layout=options.layout, schema_mode=options.schema_mode)
        return
    if options.schema_mode == OVERWRITE:
        replaced_by(core_of(table), df, options.partition_by, options.applies, options.layout)
        return
    by_session = str(spark.conf.get("spark.sql.sources.partitionOverwriteMode", "static"))
    if options.replaces_partitions(by_session) and table.state.spec.fields:
        table.overwrite_partitions(df, applies=options.applies, schema_mode=options.schema_mode)
    else:
        table.overwrite(
            df,
            options.replace_where,
            allow_outside=options.allow_outside,
            applies=options.applies,
            layout=options.layout,
            schema_mode=options.schema_mode,
        )


def opened(spark: SparkSession, location: str, options: WriteOptions) -> Table:
    """The table there, as a session sees it."""
    case_sensitive = str(spark.conf.get("spark.sql.caseSensitive")).lower() == "true"
    return Table(
        storage_at(location, spark),
        _engines(spark),
        time_zone=_time_zone(spark, options),
        case_sensitive=case_sensitive,
    )


def _engines(spark: SparkSession) -> Engines:
    return Engines(ArrowEngine(), SparkEngine(spark))


def _time_zone(spark: SparkSession, options: WriteOptions) -> str:
    return str(spark.conf.get("spark.sql.session.timeZone")) if options.time_zone is None else options.time_zone


# --- a new table -------------------------------------------------------------------------------------------------


def create_with(spark: SparkSession, location: str, df: DataFrame, options: WriteOptions) -> None:
    """A new table with these rows; none, if they cannot be written."""
    # Nullable, as Spark saves every file: that a column came from `range` is no promise.
    table = created(spark, location, nullable(df.schema), options)
    with _gone_if_it_fails(table):
        _write(spark, table, df, options, overwrite=options.replace_where is not None)


def created(spark: SparkSession, location: str, schema: StructType, options: WriteOptions) -> Table:
    """A new, empty table, as the options describe it."""
    size, rule, partition_by, properties = options.target_file_size, rule_of(options), options.partition_by, {}
    if options.like is not None:
        model = opened(spark, options.like, options).state
        partition_by = tuple(field_text(f, model.schema) for f in model.spec.fields)
        rule, properties = request_of(model.rule, model.spec), dict(model.properties)
    if size is not None:
        properties[TARGET_FILE_BYTES] = str(parse_bytes(size))
    return create_table(
        storage_at(location, spark),
        _engines(spark),
        schema,
        partition_by=partition_by or (),
        rule=rule,
        properties={**properties, **options.properties},
        time_zone=_time_zone(spark, options),
    )


@contextmanager
def _gone_if_it_fails(table: Table) -> Iterator[None]:
    """Take a table away that was created for a write, if the write fails and no other has been made meanwhile.

    Left behind, it would make the same write fail once more, because there is a table already.
    """
    try:
        yield
    except CommitUncertain:
        raise
    except BaseException:
        with suppress(CoalesceError):
            if Log(core_of(table).storage).newest() == 0:
                core_of(table).storage.delete(version_path(0))
                core_of(table).storage.delete(LATEST_HINT)
        raise


def rule_of(options: WriteOptions) -> RuleRequest | None:
    """The rule that the options ask for, if they do."""
    if options.small_columns is None:
        return None
    return small(*options.small_columns, below=DEFAULT_BELOW if options.small_below is None else options.small_below)


# --- a table that is there ---------------------------------------------------------------------------------------


def check_same_table(table: Table, options: WriteOptions) -> None:
    """Refuse what says something else of the table than is so: it would be ignored in silence."""
    version = table.state
    own = [field_text(f, table.schema) for f in version.spec.fields]
    named = options.partition_by
    if named and [_plain(text) for text in named] != [_plain(text) for text in own]:
        raise SpecError(
            f"the table is partitioned by {', '.join(own) or 'nothing'}, not by {', '.join(named)}; leave "
            "partitionBy out, or change the table with evolve()."
        )
    rule, size = rule_of(options), options.target_file_size
    if rule is not None and resolve(rule, version.rule.rule_id, version.spec, version.schema) != version.rule:
        raise SpecError(
            "the table has another rule than smallColumns and smallBelow say; leave them out, or change the table with "
            "set_rule()."
        )
    if size is not None and parse_bytes(size) != core_of(table).snapshot().target_file_bytes:
        raise SpecError(
            f"files of the table become {core_of(table).snapshot().target_file_bytes:,} bytes large, not {size}; leave "
            f"targetFileSize out, or change the table's property {TARGET_FILE_BYTES} with set_properties()."
        )


def _plain(text: str) -> str:
    return text.replace(" ", "").replace("`", "").lower()
