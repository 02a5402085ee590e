"""Conditions as engines without SQL take them: the text of a workload's query as an expression of pyarrow's."""

from datetime import date
from functools import cache
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds
import sqlglot
from sqlglot import expressions as sql

from benchmarks.engines.engine import NotOffered, Rows
from benchmarks.workload import Query


@cache
def expression(where: str | None) -> ds.Expression | None:
    """A condition for a dataset; one that was translated is known."""
    return None if where is None else _expression(sqlglot.parse_one(where, read="spark"))


def _expression(node: Any) -> Any:
    match node:
        case sql.And():
            return _expression(node.left) & _expression(node.right)
        case sql.Or():
            return _expression(node.left) | _expression(node.right)
        case sql.Not():
            return ~_expression(node.this)
        case sql.Paren():
            return _expression(node.this)
        case sql.In():
            return _expression(node.this).isin([_value(item) for item in node.expressions])
        case sql.EQ():
            return _expression(node.left) == _value(node.right)
        case sql.GTE():
            return _expression(node.left) >= _value(node.right)
        case sql.LTE():
            return _expression(node.left) <= _value(node.right)
        case sql.Lower():
            return pc.utf8_lower(_expression(node.this))
        case sql.Column():
            return pc.field(node.name)
    raise NotOffered(f"takes no condition such as {node.sql()}")


def _value(node: Any) -> Any:
    """A text, a number, or `DATE '2026-05-01'`."""
    if isinstance(node, sql.Cast):
        return date.fromisoformat(node.this.this)
    assert isinstance(node, sql.Literal)
    return node.this if node.is_string else int(node.this)


def no_join(query: Query) -> None:
    """Say so where a join is asked of an engine that only hands out rows."""
    if query.join:
        raise NotOffered("hands out rows and joins nothing")


def aggregated(query: Query, table: Any) -> Rows:
    """What a query computes, of the rows that match; for engines that hand out rows."""
    if query.by is None:
        return [[_aggregate(table, function, column) for function, column in query.aggregates]]
    wanted = [([], "count_all") if column is None else (column, function) for function, column in query.aggregates]
    grouped = table.group_by(query.by).aggregate(wanted)
    names = ["count_all" if column is None else f"{column}_{function}" for function, column in query.aggregates]
    return list(zip(*(grouped[name].to_pylist() for name in [query.by, *names]), strict=True))


def _aggregate(table: Any, function: str, column: str | None) -> Any:
    if column is None:
        return table.num_rows
    return getattr(pc, function)(table[column]).as_py()
