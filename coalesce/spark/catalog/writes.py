"""Rows that Spark writes to a table of a warehouse: INSERT, `df.writeTo`, CREATE and REPLACE TABLE AS SELECT.

| how | what happens, in one commit |
|---|---|
| append | rows are added |
| overwrite | all rows are replaced, or those that match a condition |
| partitions | the logical partitions are replaced that the data has rows of |
| create | the table is made with the rows |
| replace | the table begins again, with other columns and partition fields; older versions stay |

Rows arrive as Spark has matched them to the table's columns, under their names: by those they are written, as the order
may be another one by now.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from coalesce.errors import InvalidArgument, TableExists
from coalesce.model.entries import from_files
from coalesce.model.rule import parse_bytes, resolve
from coalesce.model.schema import Schema
from coalesce.model.version import Version
from coalesce.spark.catalog.directories import Kind
from coalesce.spark.catalog.new_tables import columns_of, options_of, saved_with
from coalesce.spark.catalog.warehouse import Taken, Warehouse, answered
from coalesce.spark.commands.save import check_same_table, create_with, created, opened, rule_of, save
from coalesce.spark.translate.options import WriteOptions, write_options
from coalesce.spark.translate.schema import nullable
from coalesce.table.commit.transaction import Transaction
from coalesce.table.engine import TARGET_FILE_BYTES
from coalesce.table.evolve import replaced
from coalesce.table.properties import check_properties
from coalesce.table.table import Table, core_of


def write(question: Mapping[str, Any], df: DataFrame) -> None:
    """Write rows into a table that is there."""
    spark, how, where = df.sparkSession, question["how"], question["where"]
    options = write_options(question["options"], overwrite=how != "append")
    table = opened(spark, question["table"], options)
    check_same_table(table, options)
    if options.replace_where is not None:
        if how == "partitions" or where is not None:
            raise InvalidArgument("the statement says which rows are replaced: leave out the option replaceWhere.")
        where = options.replace_where
    if how == "append":
        table.append(df, applies=options.applies, layout=options.layout, schema_mode=options.schema_mode)
    elif how == "partitions" or (options.dynamic and where is None):
        table.overwrite_partitions(df, applies=options.applies, schema_mode=options.schema_mode)
    else:
        table.overwrite(
            df,
            where,
            allow_outside=options.allow_outside,
            applies=options.applies,
            layout=options.layout,
            schema_mode=options.schema_mode,
        )


def stage(question: Mapping[str, Any], spark: SparkSession, df: DataFrame | None) -> str:
    """Make a table, or let one begin again, with the rows of a query or with none; the answer is one of a catalog's."""
    return answered(lambda: _stage(question, spark, df))


def _stage(question: Mapping[str, Any], spark: SparkSession, df: DataFrame | None) -> dict[str, object]:
    warehouse = Warehouse(question["catalog"], question["warehouse"])
    options, parts = options_of(question, warehouse.catalog), question["name"]
    found = warehouse.find(parts)
    if found is not None and found[1] is Kind.TABLE and question["how"] == "replace":
        if question["keeps"] and df is not None:
            # saveAsTable(mode="overwrite") replaces the rows of a table, not the table: as it does in spark_catalog.
            save(spark, found[0], df, "overwrite", saved_with(question), options.partition_by or None)
        else:
            _replace(opened(spark, found[0], options), question, options, df)
        return {}
    try:
        with warehouse.claimed(parts) as place:
            if df is None:
                created(spark, place, columns_of(question), options)
            else:
                create_with(spark, place, df, options)
    except TableExists:
        raise Taken(Kind.TABLE) from None
    return {}


def _replace(table: Table, question: Mapping[str, Any], options: WriteOptions, df: DataFrame | None) -> None:
    core = core_of(table)
    schema = columns_of(question) if df is None else nullable(df.schema)
    transaction = core.transaction("replace")
    transaction.exclusive = True
    version = _renewed(transaction.base, core.engines.for_data(schema).infer_schema(schema), options)
    transaction.change(lambda _: version)  # made once: columns get names of their own by chance
    transaction.replace_manifests(())

    def rows(staged: Transaction) -> None:
        if df is not None:
            files = core.data_files(core.snapshot(options.layout, version), df)
            staged.add_entries(from_files(files, version.spec, version.schema))

    core.committed(transaction, rows)


def _renewed(head: Version, columns: Schema, options: WriteOptions) -> Version:
    """The version with other columns and partition fields, and with a rule and properties where they are given."""
    version = replaced(head, columns, options.partition_by or ())
    rule, properties = rule_of(options), dict(options.properties)
    if options.target_file_size is not None:
        properties[TARGET_FILE_BYTES] = str(parse_bytes(options.target_file_size))
    version = replace(version, properties={**version.properties, **check_properties(properties)})
    if rule is None:
        return version
    resolved = resolve(rule, max(r.rule_id for r in head.rules) + 1, version.spec, version.schema)
    return replace(version, rules=(*version.rules, resolved), current_rule_id=resolved.rule_id)
