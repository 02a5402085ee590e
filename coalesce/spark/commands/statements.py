"""DELETE FROM, UPDATE and MERGE INTO, as Spark has analysed them."""

from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession

from coalesce.errors import CoalesceError
from coalesce.predicate.expr import And
from coalesce.predicate.names import dotted
from coalesce.predicate.normalize import is_plain
from coalesce.spark.commands.save import opened
from coalesce.spark.engine import SparkEngine
from coalesce.spark.translate.condition import bound_from
from coalesce.spark.translate.options import Given, read_options, write_options
from coalesce.spark.write.assigned import Name
from coalesce.spark.write.revise import Change, Changes
from coalesce.table.revising import revised
from coalesce.table.table import Table, core_of


def run(spark: SparkSession, location: str, statement: Any, options: Given) -> None:
    """Carry out a statement, a `RowStatement` of Java's, on the table at the location."""
    if not read_options(options, catalog=True).follows:
        raise CoalesceError(
            f"{statement.kind().upper()} changes the newest version of a table, and this names an older one: leave "
            "the version out."
        )
    table = opened(spark, location, write_options({}, overwrite=False, catalog=True))
    if not _deleted(table, statement):
        revised(core_of(table), statement.kind(), SparkEngine(spark).revised(_changes(spark, statement)))


def _deleted(table: Table, statement: Any) -> bool:
    """DELETE by conditions that the planner understands: as `Table.delete` does it."""
    conditions = statement.conditions()
    if conditions is None:
        return False
    bounds = [bound_from(zoned, table.schema) for zoned in conditions]
    told = [bound for bound in bounds if bound is not None and is_plain(bound)]
    if len(told) < len(bounds):
        return False
    table.delete(And(tuple(told)) if told else None)
    return True


def _changes(spark: SparkSession, statement: Any) -> Changes:
    source, on = statement.source(), statement.on()
    return Changes(
        source=None if source is None else DataFrame(source, spark),
        on=None if on is None else Column(on),
        matched=_clauses(statement, "matched"),
        not_matched=_clauses(statement, "not_matched"),
        by_source=_clauses(statement, "by_source"),
        shown=lambda frame: DataFrame(statement.shown(frame._jdf), frame.sparkSession),
        ready=lambda frame: DataFrame(statement.ready(frame._jdf), frame.sparkSession),
        columns=tuple(statement.names()),
        version=statement.version() if statement.readsItself() else None,
    )


def _clauses(statement: Any, kind: str) -> tuple[Change, ...]:
    return tuple(_change(*clause) for clause in statement.clauses(kind))


def _change(condition: Any, names: Any, values: Any) -> Change:
    when = None if condition is None else Column(condition)
    if names is None:
        return Change(when, None)
    given: dict[Name, Column] = {}
    for parts, value in zip(names, values, strict=True):
        name = tuple(parts)
        if name in given:
            raise CoalesceError(f"column {dotted(name)!r} is assigned two values; assign one.")
        given[name] = Column(value)
    return Change(when, given)
