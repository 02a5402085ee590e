"""The filters that Spark's Python data sources are offered, as expressions.

They are told apart by class name, not by class: this package works without PySpark. A filter this release does not
know is Opaque, so a newer Spark may offer what it likes.
"""

from collections.abc import Iterable
from typing import Final

from coalesce.errors import PredicateError
from coalesce.predicate.builder import literal
from coalesce.predicate.expr import And, Column, Comparison, Expr, Membership, NullTest, Opaque, Operator, Prefix
from coalesce.predicate.tree import join, negation

_COMPARISONS: Final = {
    "EqualTo": Operator.EQ,
    "EqualNullSafe": Operator.NULL_SAFE_EQ,
    "GreaterThan": Operator.GT,
    "GreaterThanOrEqual": Operator.GE,
    "LessThan": Operator.LT,
    "LessThanOrEqual": Operator.LE,
}


def from_filters(filters: Iterable[object]) -> Expr:
    """All of the filters, as Spark means a list of them."""
    return join(And, [from_filter(f) for f in filters])


def from_filter(given: object) -> Expr:
    """One `pyspark.sql.datasource.Filter`, as written; what is not understood is Opaque."""
    negated = False
    while type(given).__name__ == "Not" and hasattr(given, "child"):
        given = given.child
        negated = not negated
    understood = _understood(given)
    return negation(understood) if negated else understood


def _understood(given: object) -> Expr:
    name = type(given).__name__
    path = getattr(given, "attribute", None)
    if not isinstance(path, tuple) or not path or not all(isinstance(part, str) for part in path):
        return Opaque(repr(given))
    column = Column(path)
    value: object = getattr(given, "value", None)
    try:
        if name in _COMPARISONS:
            return Comparison(column, _COMPARISONS[name], literal(value))
        if name == "In" and isinstance(value, tuple | list):
            return Membership(column, tuple(literal(v) for v in value))
    except PredicateError:
        return Opaque(repr(given))  # a value of a type this release does not know
    match name:
        case "IsNull":
            return NullTest(column)
        case "IsNotNull":
            return negation(NullTest(column))
        case "StringStartsWith" if isinstance(value, str):
            return Prefix(column, value)
        case _:
            return Opaque(repr(given))
