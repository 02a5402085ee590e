"""A statement that people have put together, in SQL text and values of Python's, as Spark understands it."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from coalesce.arguments import shown
from coalesce.arrow.incoming import incoming_rows, incoming_schema
from coalesce.errors import AmbiguousMatch, InvalidArgument, SchemaError
from coalesce.model.arrow_schema import schema_from_arrow
from coalesce.predicate.names import quoted
from coalesce.spark.jvm.catalyst import has_star
from coalesce.spark.write.revise import Change, Changes
from coalesce.table.statement import Clause, Statement


def changes_of(spark: SparkSession, statement: Statement) -> Changes:
    """The changes of a statement, in which the table goes by `t`, and its source by `s`."""
    source = None if statement.source is None else _frame(spark, statement.source)
    return Changes(
        source=None if source is None else source.alias("s"),
        on=None if source is None else _condition(statement.on),
        matched=tuple(map(_change, statement.matched)),
        not_matched=tuple(map(_change, statement.not_matched)),
        by_source=tuple(map(_change, statement.by_source)),
        shown=lambda frame: frame.alias("t"),
    )


def keyed(spark: SparkSession, data: object, keys: tuple[str, ...]) -> Statement:
    """The statement that puts rows of a frame in the place of those with the same keys."""
    frame = _frame(spark, data)
    names = {name.lower(): name for name in frame.columns}
    missing = [key for key in keys if key.lower() not in names]
    if missing or not keys:
        what = f"the rows lack the key {missing[0]!r}" if missing else "say by which columns rows are known"
        raise SchemaError(f"{what}: upsert(rows, keys=['id']).")
    source = frame.localCheckpoint()
    own = [F.col(quoted(names[key.lower()])) for key in keys]
    nulls = source.filter(" OR ".join(f"{quoted(key)} IS NULL" for key in keys)).count()
    if nulls:
        raise SchemaError(
            f"{nulls:,} rows have a key that is NULL, which is equal to nothing, so they would be added again each "
            "time; append them, or leave them out."
        )
    twice = source.groupBy(*own).count().filter("count > 1").drop("count").first()
    if twice is not None:
        named = ", ".join(f"{key} = {value!r}" for key, value in zip(keys, twice, strict=True))
        raise AmbiguousMatch(f"keys stand in more than one of the rows, such as {named}; which one is meant?")
    values = {quoted(name): F.col(f"s.{quoted(name)}") for name in frame.columns}
    on = " AND ".join(f"t.{quoted(key)} = s.{quoted(names[key.lower()])}" for key in keys)
    return Statement(source=source, on=on, matched=(Clause(None, values),), not_matched=(Clause(None, values),))


def _change(clause: Clause) -> Change:
    condition = None if clause.condition is None else _condition(clause.condition)
    values = clause.values
    return Change(condition, {n: _value(v) for n, v in values.items()} if isinstance(values, Mapping) else values)


def _condition(condition: object) -> Column:
    if isinstance(condition, str | Column):
        return _value(condition)
    raise InvalidArgument(f"a condition is SQL text or a Spark column, not {shown(condition)}.")


def _value(value: Any) -> Column:
    """Text is SQL; a text that is meant as such is written as SQL writes it, in quotes."""
    if not isinstance(value, Column | str):
        return F.lit(value)
    column = F.expr(value) if isinstance(value, str) else value
    if has_star(column):
        raise InvalidArgument(
            f"say whose columns are meant by * in {shown(value)}: t.*, the table's, or s.*, the source's."
        )
    return column


def _frame(spark: SparkSession, data: object) -> DataFrame:
    if isinstance(data, DataFrame):
        return data
    schema = schema_from_arrow(incoming_schema(data))
    tables = list(incoming_rows(data, schema).tables)
    return spark.createDataFrame(pa.concat_tables(tables, promote_options="permissive"))
