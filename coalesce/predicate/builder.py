"""Predicates in Python: `(col("app") == "A") & col("dt").between(date(2026, 5, 1), date(2026, 5, 31))`.

Values get the types that PySpark's `lit` gives them. Only a datetime without a zone differs: it is a wall clock, read
in the session's time zone where the column is a timestamp, just as text would be.
"""

from collections.abc import Iterable, Set
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, NoReturn

from coalesce.arguments import check_text, is_series, shown
from coalesce.errors import PredicateError, SchemaError
from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT32,
    INT64,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
)
from coalesce.model.values import from_python, integer_range, plain
from coalesce.predicate.expr import (
    And,
    Column,
    Comparison,
    Expr,
    Literal,
    Membership,
    NanTest,
    Not,
    NullTest,
    Operator,
    Prefix,
)
from coalesce.predicate.names import parts_of
from coalesce.predicate.sql.literals import type_of_decimal

PythonLiteral = str | int | float | Decimal | bool | bytes | date | datetime | None


def col(name: str) -> "ColumnTerm":
    """The column called `name`, to compare with Python values: a predicate without SQL text.

    Terms are compared with `==`, `!=`, `<`, `<=`, `>`, `>=`, `between`, `isin`, `is_null` and the like, and combined
    with `&`, `|` and `~`. Dots and back-quotes in the name mean what they mean in SQL.

    Raises `PredicateError` for what is no name; for a column that is not there, when the predicate is used.

    >>> table.count((coalesce.col("app") == "web") & (coalesce.col("dt") <= date(2026, 5, 17)))
    2
    """
    parts = parts_of(check_text(name, "the name of a column"))
    if parts is None:
        raise PredicateError(f"{name!r} is not a column's name; put a name with dots or quotes in `back-quotes`.")
    return ColumnTerm(Column(parts))


def literal(value: object) -> Literal:
    """A Python value as a literal."""
    try:
        value = plain(value)
    except SchemaError as error:
        raise PredicateError(str(error)) from None
    if isinstance(value, bytearray | memoryview):
        value = bytes(value)
    if value is None:
        return Literal(None, None)
    type_ = _type_of(value)
    if type_ is None:
        raise PredicateError(f"{shown(value)} ({type(value).__name__}) cannot be compared with a column.")
    try:
        return Literal(from_python(type_, value), type_)
    except SchemaError as error:
        raise PredicateError(str(error)) from None


def _type_of(value: object) -> AtomicType | None:
    match value:
        case bool():
            return BOOLEAN
        case int():
            for type_ in (INT32, INT64):
                least, greatest = integer_range(type_)
                if least <= value <= greatest:
                    return type_
            return type_of_decimal(Decimal(value))
        case float():
            return DOUBLE
        case Decimal():
            return type_of_decimal(value)
        case str():
            return STRING
        case bytes():
            return BINARY
        case datetime():
            return TIMESTAMP_NTZ if value.utcoffset() is None else TIMESTAMP
        case date():
            return DATE
        case _:
            return None


# Comparing makes a predicate instead of an answer, so == cannot be trusted to tell terms apart: eq=False.
@dataclass(frozen=True, slots=True, eq=False)
class ColumnTerm:
    """A column waiting to be compared."""

    column: Column

    def __eq__(self, other: PythonLiteral) -> Comparison:  # type: ignore[override]
        return self._compared(Operator.EQ, other)

    def __ne__(self, other: PythonLiteral) -> Comparison:  # type: ignore[override]
        return self._compared(Operator.NE, other)

    def __lt__(self, other: PythonLiteral) -> Comparison:
        return self._compared(Operator.LT, other)

    def __le__(self, other: PythonLiteral) -> Comparison:
        return self._compared(Operator.LE, other)

    def __gt__(self, other: PythonLiteral) -> Comparison:
        return self._compared(Operator.GT, other)

    def __ge__(self, other: PythonLiteral) -> Comparison:
        return self._compared(Operator.GE, other)

    if not TYPE_CHECKING:
        __hash__ = None  # a term in a set would be found by whatever == makes of it

    def __bool__(self) -> bool:
        raise PredicateError("a column has no truth value: compare it, as in col('flag') == True.")

    def _no_condition(self, *_: object) -> NoReturn:
        raise PredicateError("a column alone is no condition: compare it, as in col('flag') == True.")

    def _no_number(self, *_: object) -> NoReturn:
        raise PredicateError("columns are compared here, not computed with; write the condition as SQL text for Spark.")

    __and__ = __rand__ = __or__ = __ror__ = __invert__ = _no_condition
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _no_number
    __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __neg__ = _no_number

    def eq_null_safe(self, other: PythonLiteral) -> Comparison:
        """`<=>`: equal, or both NULL."""
        return self._compared(Operator.NULL_SAFE_EQ, other)

    def isin(self, *values: PythonLiteral | Iterable[PythonLiteral]) -> Membership:
        """One of these values, given one by one or as one list."""
        given: Iterable[object] = values
        if len(values) == 1 and (is_series(values[0]) or isinstance(values[0], Set)):
            given = values[0]
        return Membership(self.column, tuple(_operand(value) for value in given))

    def between(self, low: PythonLiteral, high: PythonLiteral) -> And[Expr]:
        """From `low` to `high`, both included."""
        return And((self >= low, self <= high))

    def startswith(self, prefix: str) -> Prefix:
        """Starts with this text."""
        return Prefix(self.column, check_text(prefix, "the beginning of a text"))

    def is_null(self) -> NullTest:
        """Is NULL."""
        return NullTest(self.column)

    def is_not_null(self) -> Not[Expr]:
        """Is not NULL."""
        return Not(NullTest(self.column))

    def is_nan(self) -> NanTest:
        """Is NaN."""
        return NanTest(self.column)

    def _compared(self, operator: Operator, other: object) -> Comparison:
        right = _operand(other)
        if right.value is None and operator is not Operator.NULL_SAFE_EQ:
            raise PredicateError(f"nothing {operator.value} NULL, not even NULL; use is_null() or eq_null_safe(None).")
        return Comparison(self.column, operator, right)


def _operand(value: object) -> Literal:
    if isinstance(value, ColumnTerm):
        raise PredicateError(
            "two columns cannot be compared here; write the condition as SQL text, which Spark will judge row by row."
        )
    return literal(value)
