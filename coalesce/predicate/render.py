"""Expressions as SQL: for people in reports, and for Spark where it has to judge what is left.

Literals carry their types (`5L`, `DATE '…'`), and timestamps their zone, so the text means the same in any session
and to `sql.parse`.
"""

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Final, assert_never

import numpy as np

from coalesce.model.types import (
    DATE,
    FLOAT,
    INT8,
    INT16,
    INT64,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
    DecimalType,
    Value,
)
from coalesce.model.values import display
from coalesce.predicate.expr import (
    And,
    Bound,
    Calculation,
    Column,
    Comparison,
    Computed,
    Constant,
    InBuckets,
    InRange,
    InSet,
    IsNull,
    Literal,
    Membership,
    NanTest,
    Not,
    NullTest,
    Opaque,
    Operand,
    Or,
    Prefix,
    Truth,
    Written,
)
from coalesce.predicate.names import dotted, quoted
from coalesce.predicate.scalar.nodes import Interval, Reference

_CONSTANTS: Final = {True: "true", False: "false", None: "CAST(NULL AS BOOLEAN)"}
_INTEGER_SUFFIXES: Final[dict[AtomicType, str]] = {INT8: "Y", INT16: "S", INT64: "L"}
_INFIX: Final = frozenset({
    "+", "-", "*", "/", "%", "div", "||", "=", "<>", "<", "<=", ">", ">=", "<=>", "like", "ilike", "rlike",
})  # fmt: skip
_TEMPORAL_WORDS: Final[dict[AtomicType, str]] = {
    DATE: "DATE",
    TIMESTAMP: "TIMESTAMP",
    TIMESTAMP_NTZ: "TIMESTAMP_NTZ",
}
_SQL_TYPES: Final = {
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INT",
    "int64": "BIGINT",
}


def to_sql(expr: Bound, *, longest_list: int | None = None) -> str:
    """The predicate as Spark SQL. With `longest_list`, longer lists are cut short: for eyes only."""
    match expr:
        case And(parts):
            return " AND ".join(_inside(part, longest_list) for part in parts)
        case Or(parts):
            return " OR ".join(_inside(part, longest_list) for part in parts)
        case Constant(value):
            return _CONSTANTS[value]
        case Opaque(text) | Computed(text=text):
            return text
        case IsNull(column):
            return f"{quoted(column.name)} IS NULL"
        case InSet():
            return _in_set(expr, longest_list, negated=False)
        case InRange():
            return _in_range(expr)
        case InBuckets(column, transform, buckets):
            listed = ", ".join(map(str, buckets[:longest_list]))
            return f"bucket({transform.count}, {quoted(column.name)}) IN ({listed})"
        case Not(IsNull(column)):
            return f"{quoted(column.name)} IS NOT NULL"
        case Not(InSet() as leaf):
            return _in_set(leaf, longest_list, negated=True)
        case Not(part):
            return f"NOT ({to_sql(part, longest_list=longest_list)})"
        case _:
            assert_never(expr)


def literal_sql(type_: AtomicType, value: Value) -> str:
    """A value as a literal of exactly this type."""
    match value:
        case None:
            return f"CAST(NULL AS {sql_type(type_)})"
        case float():
            if not math.isfinite(value):
                return f"CAST('{display(type_, value)}' AS {sql_type(type_)})"
            return f"CAST('{np.float32(value)!s}' AS FLOAT)" if type_ == FLOAT else f"{value!r}D"
        case Decimal():
            return f"{value:f}BD"
        case int() if type_ in _TEMPORAL_WORDS:
            return f"{_TEMPORAL_WORDS[type_]} '{display(type_, value)}'"
        case _:
            return display(type_, value) + _INTEGER_SUFFIXES.get(type_, "")


def sql_type(type_: AtomicType) -> str:
    """A type's name in Spark SQL."""
    if isinstance(type_, DecimalType):
        return f"DECIMAL({type_.precision},{type_.scale})"
    return _SQL_TYPES.get(type_.name, type_.name.upper())


def written_sql(leaf: Written) -> str:
    """A condition as written, before it is bound: what its Opaque would say."""
    name = column_sql(leaf.column)
    match leaf:
        case NullTest():
            return f"{name} IS NULL"
        case Comparison(_, operator, literal, text):
            return text or f"{name} {operator.value} {_written_literal(literal)}"
        case Membership(_, literals, text):
            return text or f"{name} IN ({', '.join(_written_literal(literal) for literal in literals)})"
        case NanTest(_, text):
            return text or f"isnan({name})"
        case Prefix(_, prefix, text, whole):
            start = display(STRING, prefix)
            return text or (f"{name} = {start}" if whole else f"startswith({name}, {start})")
        case Truth(_, text):
            return text or name
        case _:
            assert_never(leaf)


def column_sql(column: Column) -> str:
    """A column as written, with its casts."""
    text = dotted(column.parts)
    for type_ in column.casts:
        text = f"CAST({text} AS {sql_type(type_)})"
    return text


def operand_sql(operand: Operand) -> str:
    """A value as written, with parentheses wherever they could matter."""
    match operand:
        case Column():
            return column_sql(operand)
        case Literal():
            return _written_literal(operand)
        case Interval(months, days, micros):
            parts = ((months, "MONTHS"), (days, "DAYS"), (micros, "MICROSECONDS"))
            return "INTERVAL " + (" ".join(f"'{count}' {unit}" for count, unit in parts if count) or "'0' DAYS")
        case Calculation("cast" | "try_cast" as function, (argument,), type_) if type_ is not None:
            return f"{function.upper()}({operand_sql(argument)} AS {sql_type(type_)})"
        case Calculation(function, arguments):
            return _calculation_sql(function, [operand_sql(argument) for argument in arguments])


def _calculation_sql(function: str, arguments: list[str]) -> str:
    match function, arguments:
        case "like" | "ilike", [value, pattern, escape]:
            return f"({value} {function.upper()} {pattern} ESCAPE {escape})"
        case _, [left, right] if function in _INFIX:
            return f"({left} {function.upper()} {right})"
        case "and" | "or", parts:
            return "(" + f" {function.upper()} ".join(parts) + ")"
        case "not", [part]:
            return f"(NOT {part})"
        case "negative", [part]:
            return f"(- {part})"
        case "isnull", [part]:
            return f"({part} IS NULL)"
        case "in", [value, *listed]:
            return f"({value} IN ({', '.join(listed)}))"
        case "case", [*branches, default]:
            pairs = zip(branches[::2], branches[1::2], strict=True)
            return "CASE " + " ".join(f"WHEN {c} THEN {v}" for c, v in pairs) + f" ELSE {default} END"
        case _:
            return f"{function}({', '.join(arguments)})"


def _written_literal(literal: Literal) -> str:
    return "NULL" if literal.type is None else literal_sql(literal.type, literal.value)


def _inside(part: Bound, longest_list: int | None) -> str:
    text = to_sql(part, longest_list=longest_list)
    two_ends = isinstance(part, InRange) and part.lower is not None and part.upper is not None
    return f"({text})" if two_ends or isinstance(part, And | Or | Opaque | Computed) else text


def _in_set(leaf: InSet, longest_list: int | None, *, negated: bool) -> str:
    name, type_ = quoted(leaf.column.name), leaf.column.type
    match leaf.values:
        case ():
            # Never true, and NULL where the column is: NaN equals itself here.
            return f"{name} {'=' if negated else '<>'} {name}"
        case (value,):
            return f"{name} {'<>' if negated else '='} {literal_sql(type_, value)}"
        case values:
            return f"{name} {'NOT IN' if negated else 'IN'} ({_listed(type_, values, longest_list)})"


def _listed(type_: AtomicType, values: Sequence[Value], longest_list: int | None) -> str:
    if longest_list is None or len(values) <= longest_list:
        return ", ".join(literal_sql(type_, v) for v in values)
    shown = ", ".join(literal_sql(type_, v) for v in values[:longest_list])
    return f"{shown}, … {len(values) - longest_list:,} more"


def _in_range(leaf: InRange) -> str:
    name = quoted(leaf.column.name)
    ends = []
    if leaf.lower is not None:
        ends.append(f"{name} {'>=' if leaf.lower_inclusive else '>'} {_end(leaf.column, leaf.lower)}")
    if leaf.upper is not None:
        ends.append(f"{name} {'<=' if leaf.upper_inclusive else '<'} {_end(leaf.column, leaf.upper)}")
    return " AND ".join(ends) or f"{name} = {name}"


def _end(column: Reference, value: Value) -> str:
    return literal_sql(column.type, value)
