"""Predicates in Python: `(col("app").lower() == "a") & col("dt").between(date(2026, 5, 1), date(2026, 5, 31))`.

A term is a column or what is computed from it, by the functions of SQL under their own names (`scalar/catalogue.py`).
Comparing terms makes predicates. Values get the types that PySpark's `lit` gives them. Only a datetime without a zone
differs: it is a wall clock, read in the session's time zone where the column is a timestamp, just as text would be.
"""

from collections.abc import Iterable, Set
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, NoReturn

from coalesce.arguments import check_text, is_series, shown
from coalesce.errors import PredicateError, SchemaError
from coalesce.model.conversions import integer_range
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
    atomic_type,
)
from coalesce.model.values import from_python, plain
from coalesce.predicate.expr import (
    FALSE,
    And,
    Calculation,
    Column,
    Comparison,
    Condition,
    Expr,
    Literal,
    Membership,
    NanTest,
    Not,
    NullTest,
    Opaque,
    Operand,
    Operator,
    Prefix,
)
from coalesce.predicate.mistakes import unknown_function
from coalesce.predicate.names import dotted, parts_of
from coalesce.predicate.render import operand_sql
from coalesce.predicate.scalar.catalogue import columns_in, depth_of, is_known
from coalesce.predicate.scalar.nodes import Interval
from coalesce.predicate.sql.literals import type_of_decimal
from coalesce.predicate.sql.typenames import named_type
from coalesce.predicate.tree import MAX_DEPTH

PythonLiteral = str | int | float | Decimal | bool | bytes | date | datetime | None


def col(name: str) -> "Term":
    """The column called `name`, to compare and to compute with: a predicate without SQL text.

    Terms are compared with `==`, `!=`, `<`, `<=`, `>`, `>=`, `between`, `isin`, `is_null`, `like` and others, and what
    comes of it is combined with `&`, `|` and `~`. They are computed with by `+`, `-`, `*`, `/`, `%`, by methods such as
    `lower()`, `cast("bigint")` and `year()`, and by `call("greatest", …)` with every other function there is. Dots and
    back-quotes in the name mean what they mean in SQL.

    Raises `PredicateError` for what is no name; for a column that is not there, when the predicate is used.

    >>> table.count((coalesce.col("app") == "web") & (coalesce.col("dt") <= date(2026, 5, 17)))
    2
    >>> table.count((coalesce.col("app").upper() == "WEB") & (coalesce.col("n") % 2 == 0))
    2
    """
    parts = parts_of(check_text(name, "the name of a column"))
    if parts is None:
        raise PredicateError(f"{name!r} is not a column's name; put a name with dots or quotes in `back-quotes`.")
    return Term(Column(parts))


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
class Term:
    """A column, or what is computed from it, waiting to be compared."""

    operand: Column | Calculation

    # --- comparisons ----------------------------------------------------------------------------------------------

    def __eq__(self, other: "Comparable") -> Expr:  # type: ignore[override]
        return self._compared(Operator.EQ, other)

    def __ne__(self, other: "Comparable") -> Expr:  # type: ignore[override]
        return self._compared(Operator.NE, other)

    def __lt__(self, other: "Comparable") -> Expr:
        return self._compared(Operator.LT, other)

    def __le__(self, other: "Comparable") -> Expr:
        return self._compared(Operator.LE, other)

    def __gt__(self, other: "Comparable") -> Expr:
        return self._compared(Operator.GT, other)

    def __ge__(self, other: "Comparable") -> Expr:
        return self._compared(Operator.GE, other)

    if not TYPE_CHECKING:
        __hash__ = None  # a term in a set would be found by whatever == makes of it

    def __bool__(self) -> bool:
        raise PredicateError("a column has no truth value: compare it, as in col('flag') == True.")

    def _no_condition(self, *_: object) -> NoReturn:
        raise PredicateError("a column alone is no condition: compare it, as in col('flag') == True.")

    __and__ = __rand__ = __or__ = __ror__ = __invert__ = _no_condition

    def eq_null_safe(self, other: "Comparable") -> Expr:
        """`<=>`: equal, or both NULL."""
        return self._compared(Operator.NULL_SAFE_EQ, other)

    def isin(self, *values: "Comparable | Iterable[Comparable]") -> Expr:
        """One of these values, given one by one or as one list."""
        given: Iterable[object] = values
        if len(values) == 1 and (is_series(values[0]) or isinstance(values[0], Set)):
            given = values[0]
        listed = tuple(_operand(value) for value in given)
        if not listed:
            return FALSE  # of an empty list Spark says FALSE, of NULL too
        literals = tuple(value for value in listed if isinstance(value, Literal))
        if isinstance(self.operand, Column) and len(literals) == len(listed):
            return Membership(self.operand, literals)
        return condition("in", self.operand, *listed)

    def between(self, low: "Comparable", high: "Comparable") -> And[Expr]:
        """From `low` to `high`, both included."""
        return And((self >= low, self <= high))

    def is_null(self) -> Expr:
        """Is NULL."""
        return NullTest(self.operand) if isinstance(self.operand, Column) else condition("isnull", self.operand)

    def is_not_null(self) -> Not[Expr]:
        """Is not NULL."""
        return Not(self.is_null())

    def is_nan(self) -> Expr:
        """Is NaN."""
        return NanTest(self.operand) if isinstance(self.operand, Column) else condition("isnan", self.operand)

    def startswith(self, prefix: "str | Term") -> Expr:
        """Starts with this text."""
        if isinstance(prefix, Term) or not isinstance(self.operand, Column):
            return condition("startswith", self.operand, _text(prefix, "the beginning of a text"))
        return Prefix(self.operand, check_text(prefix, "the beginning of a text"))

    def endswith(self, suffix: "str | Term") -> Expr:
        """Ends with this text."""
        return condition("endswith", self.operand, _text(suffix, "the end of a text"))

    def contains(self, part: "str | Term") -> Expr:
        """Has this text in it."""
        return condition("contains", self.operand, _text(part, "a part of a text"))

    def like(self, pattern: str, escape: str | None = None) -> Expr:
        """`LIKE`: % stands for any text and _ for any character, unless `escape` (a backslash) stands before it."""
        return condition("like", self.operand, literal(check_text(pattern, "a pattern")), *_escape(escape))

    def ilike(self, pattern: str, escape: str | None = None) -> Expr:
        """The same, whether letters are small or capital."""
        return condition("ilike", self.operand, literal(check_text(pattern, "a pattern")), *_escape(escape))

    def rlike(self, pattern: str) -> Expr:
        """Has something in it that matches a regular expression."""
        return condition("rlike", self.operand, literal(check_text(pattern, "a regular expression")))

    def _compared(self, operator: Operator, other: object) -> Expr:
        right = _operand(other)
        if isinstance(right, Literal) and right.value is None and operator is not Operator.NULL_SAFE_EQ:
            raise PredicateError(f"nothing {operator.value} NULL, not even NULL; use is_null() or eq_null_safe(None).")
        if isinstance(self.operand, Column) and isinstance(right, Literal):
            return Comparison(self.operand, operator, right)
        return condition(operator.value, self.operand, right)

    # --- what is computed -----------------------------------------------------------------------------------------

    def call(self, function: str, *others: "Comparable") -> "Term":
        """A function of SQL by its name, with this as its first argument: `col("a").call("greatest", col("b"), 0)`."""
        name = check_text(function, "the name of a function").lower()
        if not is_known(name):
            raise PredicateError(unknown_function(name))
        return Term(Calculation(name, (self.operand, *(_operand(other) for other in others))))

    def __add__(self, other: "Comparable") -> "Term":
        return _calculated("+", self, other)

    def __radd__(self, other: "Comparable") -> "Term":
        return _calculated("+", other, self)

    def __sub__(self, other: "Comparable") -> "Term":
        return _calculated("-", self, other)

    def __rsub__(self, other: "Comparable") -> "Term":
        return _calculated("-", other, self)

    def __mul__(self, other: "Comparable") -> "Term":
        return _calculated("*", self, other)

    def __rmul__(self, other: "Comparable") -> "Term":
        return _calculated("*", other, self)

    def __truediv__(self, other: "Comparable") -> "Term":
        return _calculated("/", self, other)

    def __rtruediv__(self, other: "Comparable") -> "Term":
        return _calculated("/", other, self)

    def __mod__(self, other: "Comparable") -> "Term":
        return _calculated("%", self, other)

    def __rmod__(self, other: "Comparable") -> "Term":
        return _calculated("%", other, self)

    def __neg__(self) -> "Term":
        return self.call("negative")

    def _no_floor(self, *_: object) -> NoReturn:
        raise PredicateError(
            "// rounds down in Python, DIV towards zero in SQL; say call('div', …) or (a / b).floor()."
        )

    __floordiv__ = __rfloordiv__ = _no_floor

    def cast(self, type_: str) -> "Term":
        """`CAST`: the value as another type, by its name in SQL or here, such as "bigint" or "int64"."""
        return Term(Calculation("cast", (self.operand,), _type_named(type_)))

    def try_cast(self, type_: str) -> "Term":
        """The same, and NULL where the value is none of the type."""
        return Term(Calculation("try_cast", (self.operand,), _type_named(type_)))

    def coalesce(self, *others: "Comparable") -> "Term":
        """This, or where it is NULL the first of the others that is not."""
        return self.call("coalesce", *others)

    def lower(self) -> "Term":
        """In small letters."""
        return self.call("lower")

    def upper(self) -> "Term":
        """In capital letters."""
        return self.call("upper")

    def trim(self) -> "Term":
        """Without blanks at both ends."""
        return self.call("trim")

    def length(self) -> "Term":
        """How many characters a text has."""
        return self.call("length")

    def substring(self, start: int, length: int | None = None) -> "Term":
        """A part of a text from a place, the first of which is 1."""
        return self.call("substring", start) if length is None else self.call("substring", start, length)

    def abs(self) -> "Term":
        """Without its sign."""
        return self.call("abs")

    def round(self, digits: int = 0) -> "Term":
        """Rounded, half up, to so many digits after the point."""
        return self.call("round", digits)

    def floor(self) -> "Term":
        """Rounded down."""
        return self.call("floor")

    def ceil(self) -> "Term":
        """Rounded up."""
        return self.call("ceil")

    def year(self) -> "Term":
        """The year of a date or a timestamp."""
        return self.call("year")

    def month(self) -> "Term":
        """The month of a date or a timestamp, 1 to 12."""
        return self.call("month")

    def day(self) -> "Term":
        """The day of the month."""
        return self.call("day")

    def hour(self) -> "Term":
        """The hour of a timestamp in the session's time zone."""
        return self.call("hour")

    def date_trunc(self, unit: str) -> "Term":
        """The beginning of the year, month, week, day or hour that a timestamp lies in."""
        return Term(Calculation("date_trunc", (literal(check_text(unit, "a unit")), self.operand)))

    def date_add(self, days: "Comparable") -> "Term":
        """So many days later."""
        return self.call("date_add", days)

    def datediff(self, start: "Comparable") -> "Term":
        """How many days a date lies after `start`."""
        return self.call("datediff", start)


Comparable = PythonLiteral | timedelta | Term


def condition(function: str, *operands: Operand) -> Condition:
    """A condition that is computed from operands."""
    value = Calculation(function, operands)
    if depth_of(value) > MAX_DEPTH:
        raise PredicateError(
            f"a value is computed in more than {MAX_DEPTH} steps, one of the other; write a shorter one."
        )
    text = operand_sql(value)
    return Condition(value, text, Opaque(text, frozenset(dotted(column.parts) for column in columns_in(value))))


def _calculated(operator: str, *operands: object) -> Term:
    return Term(Calculation(operator, tuple(_operand(operand) for operand in operands)))


def _operand(value: object) -> Operand:
    if isinstance(value, Term):
        return value.operand
    if isinstance(value, timedelta):
        return Interval(0, value.days, value.seconds * 1_000_000 + value.microseconds)
    return literal(value)


def _text(value: object, what: str) -> Operand:
    return value.operand if isinstance(value, Term) else literal(check_text(value, what))


def _escape(escape: str | None) -> tuple[Operand, ...]:
    return () if escape is None else (literal(check_text(escape, "an escape")),)


def _type_named(name: str) -> AtomicType:
    given = check_text(name, "the name of a type")
    type_ = named_type(given)
    if type_ is not None:
        return type_
    try:
        return atomic_type(given)
    except SchemaError as error:
        raise PredicateError(str(error)) from None
