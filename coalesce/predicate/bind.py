"""From names and typed literals to column ids and values of the columns' own types.

Names resolve as Spark resolves them. A literal becomes what Spark 4, in ANSI mode, would compare the column with, said
in the column's own type (`coercion.py` finds the common type, `own_type.py` the place of the literal in the column's).
Where that is no range of the column's values, the condition is computed (`scalar/`); where that is not certain to be
what Spark makes of it, and wherever Spark would refuse, it becomes Opaque: the file is kept, and Spark has the last
word.
"""

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby, pairwise
from typing import Final, NoReturn, assert_never, cast

from coalesce.errors import PredicateError
from coalesce.model.conversions import integer_range
from coalesce.model.schema import Schema, did_you_mean
from coalesce.model.types import (
    BOOLEAN,
    FLOATING,
    INT64,
    INTEGRAL_BITS,
    STRING,
    AtomicType,
    Field,
    Value,
    is_atomic,
)
from coalesce.model.values import values_of
from coalesce.predicate import render
from coalesce.predicate.coercion import cast_value, common_type
from coalesce.predicate.expr import (
    FALSE,
    NULL,
    And,
    Bound,
    Calculation,
    Column,
    Comparison,
    Computed,
    Condition,
    Constant,
    Expr,
    InSet,
    IsNull,
    Literal,
    Membership,
    Mistake,
    NanTest,
    Not,
    NullTest,
    Opaque,
    Operand,
    Operator,
    Or,
    Prefix,
    Truth,
    Written,
)
from coalesce.predicate.mistakes import mistake_in, unknown_name, unquoted_date
from coalesce.predicate.names import parts_of
from coalesce.predicate.own_type import cutter, ordinal_range, widens
from coalesce.predicate.ranges import Ranges, with_prefix
from coalesce.predicate.scalar.catalogue import bind_operand
from coalesce.predicate.scalar.evaluate import evaluate
from coalesce.predicate.scalar.evaluated import spread
from coalesce.predicate.scalar.nodes import Call, Fixed, Reference, references
from coalesce.predicate.tree import join, rewrite

# Spark takes these for columns if there are such columns, and else calls the function of that name.
_FUNCTIONS_WITHOUT_PARENTHESES: Final = frozenset({
    "current_catalog", "current_database", "current_date", "current_schema", "current_time", "current_timestamp",
    "current_user", "localtimestamp", "session_user", "user",
})  # fmt: skip


_COMPARISONS: Final = frozenset(operator.value for operator in Operator)
_EQUALITIES: Final = frozenset({Operator.EQ, Operator.NE, Operator.NULL_SAFE_EQ})


def bind(
    expr: Expr,
    schema: Schema,
    *,
    case_sensitive: bool = False,
    time_zone: str = "UTC",
    text: str | None = None,
) -> Bound:
    """`expr` about the columns of `schema`. `text` is the predicate's own, so that an error can point into it."""
    binder = _Binder(schema, case_sensitive, time_zone, text)
    return cast(Bound, rewrite(expr, binder.leaf, text=text))


@dataclass(frozen=True, slots=True)
class _Target:
    """A column found, and how a literal of some type finds its place among the column's values."""

    reference: Reference
    type: AtomicType  # what it is compared as: its own type, or the last it is cast to
    casts: tuple[AtomicType, ...]


@dataclass(frozen=True, slots=True)
class _Binder:
    schema: Schema
    case_sensitive: bool
    time_zone: str
    text: str | None

    def leaf(self, expr: Expr) -> Bound:
        """One leaf, bound."""
        match expr:
            case Comparison() | Membership() | NullTest() | NanTest() | Prefix() | Truth():
                if isinstance(expr, NullTest) and not expr.column.casts:
                    found = self._field(expr.column.parts, expr.column.position)
                    if found is not None:  # of whatever type: NULL is the one thing a struct, list or map can be asked
                        return IsNull(Reference(found.id, found.name, cast(AtomicType, found.type)))
                target = self._target(expr.column)
                bound = None if target is None else self._bound(expr, target)
                return self._not_plain(expr) if bound is None else bound
            case Condition(value, text, otherwise):
                mistake = self._mistake(otherwise)
                bound = None if mistake is not None else self._computed(value, text)
                return self._kept(otherwise) if bound is None else bound
            case Opaque():
                return self._kept(expr)
            case _:  # bound before, or a constant
                assert not isinstance(expr, And | Or | Not)
                return expr

    def _bound(self, leaf: Written, target: _Target) -> Bound | None:
        column = target.reference
        match leaf:
            case NullTest():
                return IsNull(column)
            case Comparison(_, operator, literal):
                return self._comparison(target, operator, literal)
            case Membership(_, literals):
                return self._membership(target, literals)
            case NanTest():
                if column.type not in FLOATING:
                    return None
                return And((Not(IsNull(column)), InSet(column, (math.nan,))))
            case Prefix(_, prefix, whole=whole):
                if column.type != STRING or target.casts:
                    return None
                return InSet(column, (prefix,)) if whole else with_prefix(column, prefix)
            case Truth():
                return InSet(column, (True,)) if column.type == BOOLEAN and not target.casts else None
            case _:
                assert_never(leaf)

    # --- values that are computed -----------------------------------------------------------------------------------

    def _computed(self, value: Operand, text: str) -> Bound | None:
        """A condition on values, or None if one of them has no meaning here."""
        bound = bind_operand(value, self._reference, self.time_zone)
        match bound:
            case Fixed(outcome, type_) if type_ == BOOLEAN:
                assert outcome is None or isinstance(outcome, bool)
                return Constant(outcome)
            case Reference(type=type_) if type_ == BOOLEAN:
                return InSet(bound, (True,))
            case Call(operator, (Reference() as column, Fixed(fixed, type_))) if (
                operator in _COMPARISONS and type_ == column.type and fixed is not None
            ):
                ranges = self._ranges(_Target(column, column.type, ()), column.type)
                return None if ranges is None else ranges.compared(Operator(operator), fixed)
            case Call(type=type_) if type_ == BOOLEAN:
                return Computed(bound, text) if next(references(bound), None) is not None else folded(bound)
        return None

    def _reference(self, column: Column) -> Reference | None:
        field = self._field(column.parts, column.position)
        if field is None or not is_atomic(field.type):
            return None
        return Reference(field.id, field.name, cast(AtomicType, field.type))

    # --- literals -----------------------------------------------------------------------------------------------

    def _comparison(self, target: _Target, operator: Operator, literal: Literal) -> Bound | None:
        common = target.type if literal.type is None else common_type(target.type, literal.type)
        if common is None:
            return None
        if literal.value is None:
            return IsNull(target.reference) if operator is Operator.NULL_SAFE_EQ else NULL
        assert literal.type is not None
        value = cast_value(literal.value, literal.type, common, self.time_zone)
        ranges = self._ranges(target, common)
        if value is None or ranges is None or _is_constant_to_spark(target.type, operator, literal):
            return None
        return ranges.compared(operator, value)

    def _membership(self, target: _Target, literals: tuple[Literal, ...]) -> Bound | None:
        if not literals:
            return FALSE  # of an empty list Spark says FALSE, of NULL too
        common = self._common_type(target.type, literals)
        if common is None:
            return None
        ranges = self._ranges(target, common)
        if ranges is None:
            return None
        values: list[Value] = []
        for literal in literals:
            if literal.value is None:
                continue
            assert literal.type is not None
            value = cast_value(literal.value, literal.type, common, self.time_zone)
            if value is None:
                return None
            values.append(value)
        found = ranges.equal_to_any(values)
        if len(values) < len(literals):
            if values and target.reference.type in FLOATING:
                return None  # of NaN, Spark says NULL to a short list with NULL in it, and FALSE to a long one
            found.append(NULL)
        return cast(Bound, join(Or, found))

    def _common_type(self, type_: AtomicType, literals: tuple[Literal, ...]) -> AtomicType | None:
        """The type a whole list is compared in: of all, one after the other. The order matters, as it does in Spark:
        a bigint IN ('1', 1.5) is compared as decimal, IN (1.5, '1') as double.
        """
        common: AtomicType | None = type_
        for literal_type, _ in groupby(literal.type for literal in literals):
            if literal_type is not None and common is not None:
                common = common_type(common, literal_type)
        return common

    def _ranges(self, target: _Target, common: AtomicType) -> Ranges | None:
        column = target.reference
        casts = (*target.casts, common)
        if all(type_ == column.type for type_ in casts) and ordinal_range(column.type) is None:
            return Ranges(column, None)
        cut = cutter(column.type, casts, self.time_zone)
        return None if cut is None else Ranges(column, cut)

    # --- names --------------------------------------------------------------------------------------------------

    def _target(self, column: Column) -> _Target | None:
        """The column a name means, or None if that is no column of an atomic type, or its casts are not exact."""
        field = self._field(column.parts, column.position)
        if field is None or not is_atomic(field.type):
            return None
        own = cast(AtomicType, field.type)
        chain = (own, *column.casts)
        if not all(widens(a, b, self.time_zone) for a, b in pairwise(chain)):
            return None
        return _Target(Reference(field.id, field.name, own), chain[-1], column.casts)

    def _field(self, parts: tuple[str, ...], position: int | None) -> Field | None:
        """The field a dotted name means; None for what lies inside a column, or could."""
        found = self._find(parts[-1])
        if any(self._is_nested(part) for part in parts[:-1]):
            return None
        if found is None and parts[-1].lower() not in _FUNCTIONS_WITHOUT_PARENTHESES:
            self._unknown(parts[-1], position)
        return found

    def _find(self, name: str) -> Field | None:
        return self.schema.find(name, case_sensitive=self.case_sensitive)

    def _is_nested(self, name: str) -> bool:
        field = self._find(name)
        return field is not None and not is_atomic(field.type)

    def _unknown(self, name: str, position: int | None) -> NoReturn:
        if position is None and self.text is not None:
            place = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.text)
            position = None if place is None else place.start()
        raise PredicateError(unknown_name(name, self.schema.names, may_be_text=False), self.text, position)

    def _misnamed(self, names: tuple[Column, ...]) -> Mistake | None:
        """The first operand that is a name and no column's. One that is nearly a column's is refused even to Spark."""
        for place, column in enumerate(names):
            name = column.parts[-1]
            if self._find(name) is not None or name.lower() in _FUNCTIONS_WITHOUT_PARENTHESES:
                continue
            if any(self._is_nested(part) for part in column.parts[:-1]):
                continue
            reason = unknown_name(name, self.schema.names, may_be_text=place > 0 and len(column.parts) == 1)
            if did_you_mean(name, self.schema.names).endswith("?"):
                raise PredicateError(reason, self.text, column.position)
            return Mistake(reason, column.position)
        return None

    # --- what stays as it is --------------------------------------------------------------------------------------

    def _not_plain(self, leaf: Written) -> Bound:
        """A condition on one column that is no range of its values: computed, or kept."""
        field = self._field(leaf.column.parts, leaf.column.position)
        ids = self._inside_ids(leaf.column.parts) if field is None else frozenset({field.id})
        text = render.written_sql(leaf)
        mistake = None if field is None else mistake_in(leaf, field)
        computed = None if mistake is not None else self._computed(calculation_of(leaf), text)
        return Opaque(text, ids, mistake=mistake) if computed is None else computed

    def _kept(self, opaque: Opaque) -> Opaque:
        mistake = self._mistake(opaque)
        if mistake is not None:
            return Opaque(opaque.text, mistake=mistake, hint=opaque.hint)
        return Opaque(opaque.text, self._ids(opaque.columns), hint=opaque.hint)

    def _mistake(self, opaque: Opaque) -> Mistake | None:
        misnamed = self._misnamed(opaque.names)
        return unquoted_date(opaque, self._find) if misnamed is None else misnamed

    def _ids(self, names: frozenset[str] | frozenset[int] | None) -> frozenset[int] | None:
        if names is None:
            return None
        ids: set[int] = set()
        in_order: list[str | int] = sorted(names, key=str)  # so that the same name is refused every time
        for name in in_order:
            if isinstance(name, int):
                ids.add(name)
                continue
            parts = parts_of(name)
            if parts is None:
                return None
            if self._find(parts[-1]) is None and not did_you_mean(parts[-1], self.schema.names).endswith("?"):
                return None  # no column is called anything like it: it may name a unit, a collation, a function
            field = self._field(parts, None)
            inside = self._inside_ids(parts) if field is None else frozenset({field.id})
            if inside is None:
                return None
            ids |= inside
        return frozenset(ids)

    def _inside_ids(self, parts: tuple[str, ...]) -> frozenset[int] | None:
        """The columns that a name may lie inside of: all that its parts name. None if it names none."""
        fields = [self._find(part) for part in parts]
        return frozenset(f.id for f in fields if f is not None) or None


def _is_constant_to_spark(type_: AtomicType, operator: Operator, literal: Literal) -> bool:
    """Whether Spark may answer TRUE or FALSE without looking, so that NULL < 1e20BD is TRUE.

    It does so when an integer is compared with a decimal literal that is beyond every bigint.
    """
    if type_ not in INTEGRAL_BITS or not isinstance(literal.value, Decimal) or operator in _EQUALITIES:
        return False
    least, greatest = integer_range(INT64)
    return not least <= literal.value <= greatest


def folded(value: Call) -> Constant | None:
    """A condition without columns, or None if it is not certain what Spark says to it."""
    found = evaluate(value, {}, 1)
    if found.unsure is not None:
        return None
    (outcome,) = values_of(BOOLEAN, spread(found.values, 1))
    assert outcome is None or isinstance(outcome, bool)
    return Constant(outcome)


def calculation_of(leaf: Written) -> Operand:
    """A condition on a column as a value that is computed."""
    match leaf:
        case Comparison(column, operator, literal):
            return Calculation(operator.value, (column, literal))
        case Membership(column, literals):
            return Calculation("in", (column, *literals))
        case NullTest(column):
            return Calculation("isnull", (column,))
        case NanTest(column):
            return Calculation("isnan", (column,))
        case Prefix(column, prefix, whole=whole):
            return Calculation("like" if whole else "startswith", (column, Literal(prefix, STRING)))
        case Truth(column):
            return column
        case _:
            assert_never(leaf)
