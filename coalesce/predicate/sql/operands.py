"""What the operands of a SQL condition amount to: a comparison, a range, a prefix, a test, or nothing that is known."""

from collections.abc import Callable
from typing import Final

from coalesce.model.types import BOOLEAN
from coalesce.model.values import order_key
from coalesce.predicate.expr import (
    And,
    Column,
    Comparison,
    Constant,
    Expr,
    Literal,
    NanTest,
    NullTest,
    Operator,
    Prefix,
    Truth,
)
from coalesce.predicate.tree import negation

Operand = Column | Literal


def alone(operand: Operand, text: str) -> Expr | None:
    """An operand that stands alone as a condition."""
    if isinstance(operand, Column):
        return Truth(operand, text)
    if operand.type is None or operand.type == BOOLEAN:
        assert operand.value is None or isinstance(operand.value, bool)
        return Constant(operand.value)
    return None


def compared(left: Operand, operator: Operator, right: Operand, text: str) -> Expr | None:
    """A comparison with the column on the left; of two columns nothing can be said."""
    match left, right:
        case Column(), Literal():
            return Comparison(left, operator, right, text)
        case Literal(), Column():
            return Comparison(right, operator.mirrored, left, text)
        case Literal(), Literal() if left.type is not None and left.type == right.type:
            return _folded(left, operator, right)
    return None


def _folded(left: Literal, operator: Operator, right: Literal) -> Expr:
    """A comparison of two literals of one type, such as 1 = 1."""
    if left.value is None or right.value is None:
        return Constant(left.value is right.value if operator is Operator.NULL_SAFE_EQ else None)
    assert left.type is not None
    one, other = order_key(left.type, left.value), order_key(left.type, right.value)
    outcomes = {
        Operator.EQ: one == other,
        Operator.NULL_SAFE_EQ: one == other,
        Operator.NE: one != other,
        Operator.LT: one < other,
        Operator.LE: one <= other,
        Operator.GT: one > other,
        Operator.GE: one >= other,
    }
    return Constant(outcomes[operator])


def between(operand: Operand, low: Operand, high: Operand, text: str) -> Expr | None:
    """`operand >= low AND operand <= high`: Spark converts for each of the two on its own."""
    lower = compared(operand, Operator.GE, low, text)
    upper = compared(operand, Operator.LE, high, text)
    return None if lower is None or upper is None else And((lower, upper))


def like(column: Column, pattern: Literal, text: str) -> Expr | None:
    """A prefix, or a whole text; with _, an escape, or a % anywhere but at the end it is neither."""
    if not isinstance(pattern.value, str):
        return None
    fixed = pattern.value.removesuffix("%")
    if any(special in fixed for special in "%_\\"):
        return None
    return Prefix(column, fixed, text, whole=fixed == pattern.value)


def _starts_with(arguments: list[Operand], text: str) -> Expr | None:
    match arguments:
        case [Column() as column, Literal(str() as prefix)]:
            return Prefix(column, prefix, text)
    return None


def _is_null(arguments: list[Operand], _: str) -> Expr | None:
    match arguments:
        case [Column() as column]:
            return NullTest(column)
    return None


def _is_not_null(arguments: list[Operand], text: str) -> Expr | None:
    test = _is_null(arguments, text)
    return None if test is None else negation(test)


def _is_nan(arguments: list[Operand], text: str) -> Expr | None:
    match arguments:
        case [Column() as column]:
            return NanTest(column, text)
    return None


def _between(arguments: list[Operand], text: str) -> Expr | None:
    match arguments:
        case [operand, low, high]:
            return between(operand, low, high, text)
    return None


TESTS: Final[dict[str, Callable[[list[Operand], str], Expr | None]]] = {
    "STARTSWITH": _starts_with,
    "ISNULL": _is_null,
    "ISNOTNULL": _is_not_null,
    "ISNAN": _is_nan,
    "BETWEEN": _between,
}
