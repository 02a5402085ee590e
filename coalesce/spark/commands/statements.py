"""DELETE FROM, UPDATE and MERGE INTO, as Spark has analysed them."""

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession

from coalesce.errors import CoalesceError
from coalesce.predicate.expr import And
from coalesce.predicate.names import dotted
from coalesce.predicate.normalize import is_plain
from coalesce.spark.commands.save import opened
from coalesce.spark.engine import SparkEngine
from coalesce.spark.translate.condition import bound_from
from coalesce.spark.translate.option_names import Given
from coalesce.spark.translate.options import read_options, write_options
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
    bounds = [bound_from(zoned, table.schema) for zoned in json.loads(conditions)]
    told = [bound for bound in bounds if bound is not None and is_plain(bound)]
    if len(told) < len(bounds):
        return False
    table.delete(And(tuple(told)) if told else None)
    return True


def _changes(spark: SparkSession, statement: Any) -> Changes:
    source, on = statement.source(), statement.on()
    described = json.loads(statement.described())
    clauses = {
        kind: tuple(_change(statement, clause) for clause in described[kind])
        for kind in ("matched", "not_matched", "by_source")
    }
    return Changes(
        source=None if source is None else DataFrame(source, spark),
        on=None if on is None else Column(on),
        **clauses,
        shown=lambda frame: DataFrame(statement.shown(frame._jdf), frame.sparkSession),
        ready=lambda frame: DataFrame(statement.ready(frame._jdf), frame.sparkSession),
        columns=tuple(described["names"]),
        version=statement.version() if described["readsItself"] else None,
    )


def _change(statement: Any, clause: Mapping[str, Any]) -> Change:
    condition = clause["condition"]
    when = None if condition is None else Column(statement.given(condition))
    if "names" not in clause:
        return Change(when, None)
    given: dict[Name, Column] = {}
    for parts, value in zip(clause["names"], clause["values"], strict=True):
        name = tuple(parts)
        if name in given:
            raise CoalesceError(f"column {dotted(name)!r} is assigned two values; assign one.")
        given[name] = Column(statement.given(value))
    return Change(when, given)
