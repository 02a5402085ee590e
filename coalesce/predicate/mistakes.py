"""Conditions that can hardly be meant: forgotten quotes, a text that is no date, a number for a flag.

To the planner they are Opaque like everything it has no words for, since Spark has the last word on what it takes: a
session may have a variable called `web`. Where there is no Spark, nothing else says what is wrong, so `refuse` does.
Only what Spark, in ANSI mode, refuses or fails on too is called a mistake here; text that it might read by rules of its
own (`' 5 '`, `2026-5-1`) is not.
"""

import re
from collections.abc import Callable
from typing import Final

from coalesce.arguments import suggestion
from coalesce.errors import PredicateError
from coalesce.model.schema import Schema
from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    FLOATING,
    INTEGRAL_BITS,
    STRING,
    TEMPORAL,
    AtomicType,
    DecimalType,
    Field,
    is_atomic,
)
from coalesce.model.values import display
from coalesce.predicate import temporal
from coalesce.predicate.coercion import cast_value, common_type
from coalesce.predicate.expr import (
    And,
    Bound,
    Column,
    Comparison,
    Expr,
    Literal,
    Membership,
    Mistake,
    NanTest,
    NullTest,
    Opaque,
    Or,
    Prefix,
    Truth,
    Written,
)
from coalesce.predicate.expr import Not as Negation
from coalesce.predicate.names import dotted
from coalesce.predicate.scalar.catalogue import names

_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?[dfl]?|[+-]?inf(inity)?|[+-]?nan", re.ASCII | re.IGNORECASE)
_DAY = re.compile(r"[+-]?\d{4,7}(-\d{1,2}(-\d{1,2}([ T].*)?)?)?", re.ASCII | re.DOTALL)
_CLOCK = re.compile(r"T?\d{1,2}:.*", re.ASCII | re.DOTALL)
_BARE_DATE = re.compile(
    r"[\w.`]+\s*(?:<=>|<>|!=|==|<=|>=|=|<|>|(?:NOT\s+)?BETWEEN\s|(?:NOT\s+)?IN\s*\()\s*(\d{4}-\d{1,2}-\d{1,2})(?!\w).*",
    re.ASCII | re.DOTALL | re.IGNORECASE,
)
_FLAGS: Final = frozenset({"t", "true", "y", "yes", "1", "f", "false", "n", "no", "0"})

_FAILS: Final = "Spark, in ANSI mode, would fail on it too."


def refuse(predicate: Bound, text: str | None) -> None:
    """Raise what is wrong with the first condition that is a mistake, if one is; `text` is the predicate's own."""
    todo: list[Expr] = [predicate]
    while todo:
        match todo.pop():
            case And(parts) | Or(parts):
                todo.extend(reversed(parts))
            case Negation(part):
                todo.append(part)
            case Opaque(mistake=Mistake(reason, position)):
                raise PredicateError(reason, text, position)
            case _:
                pass


def refuse_qualified(expr: Expr, schema: Schema, text: str | None) -> None:
    """Refuse `mta.id`, where `meta` is the struct: taken for a column `id` of a table `mta`, it would be another one.

    Spark names a column with its table where there are several; a predicate of people's is about one table.
    """
    todo: list[Expr] = [expr]
    while todo:
        match todo.pop():
            case And(parts) | Or(parts):
                todo.extend(reversed(parts))
            case Negation(part):
                todo.append(part)
            case (Comparison() | Membership() | NullTest() | NanTest() | Prefix() | Truth()) as leaf:
                _check_inside(leaf.column, schema, text)
            case _:
                pass


def _check_inside(column: Column, schema: Schema, text: str | None) -> None:
    """Whether the first part of a dotted name is a column that can have members."""
    outer, *inner = column.parts
    found = schema.find(outer)
    if not inner or (found is not None and not is_atomic(found.type)):
        return
    structs = tuple(field.name for field in schema.fields if not is_atomic(field.type))
    close = suggestion(outer, structs, "")
    rest = close if close.endswith("?") else f"; a column is named without its table: {dotted(column.parts[-1:])}."
    raise PredicateError(f"{outer!r} is no column with a member {'.'.join(inner)!r}{rest}", text, column.position)


def unknown_name(name: str, known: tuple[str, ...], *, may_be_text: bool) -> str:
    """The sentence about a name that no column has; where a value could stand, its quotes may be missing."""
    rest = suggestion(name, known, "the columns")
    if not may_be_text:
        return f"there is no column {name!r}{rest}"
    if rest.endswith("?"):
        return f"there is no column {name!r}{rest[:-1]}, or the text '{name}'?"
    return f"there is no column {name!r}; did you mean the text '{name}'?"


def unknown_function(name: str) -> str:
    """The sentence about a function that is not known here."""
    return f"there is no function {name!r} here{suggestion(name, names(), 'the functions')}"


def unquoted_date(opaque: Opaque, find: Callable[[str], Field | None]) -> Mistake | None:
    """`dt = 2026-05-17` is arithmetic, and what it comes to is no date."""
    match = _BARE_DATE.fullmatch(opaque.text)
    field = find(opaque.names[0].parts[-1]) if match is not None and opaque.names else None
    if match is None or field is None or (field.type not in TEMPORAL and field.type != STRING):
        return None
    start = opaque.names[0].position
    written = f"'{match[1]}'" if field.type == STRING else f"DATE '{match[1]}'"
    return Mistake(
        f"{match[1]} without quotes is a subtraction; write it as {written}.",
        None if start is None else start + match.start(1),
    )


def mistake_in(leaf: Written, field: Field) -> Mistake | None:
    """What is wrong with a condition on this column that could not be bound, if it is surely wrong."""
    position = leaf.column.position
    if leaf.column.casts or isinstance(leaf, NullTest) or _has_null(leaf):
        return None
    if not is_atomic(field.type):
        return Mistake(
            f"column {field.name!r} is {field.type} and cannot be compared with a value; only IS NULL and IS NOT NULL "
            "can be asked of it here.",
            position,
        )
    type_: AtomicType = field.type  # type: ignore[assignment]  # atomic, as checked
    match leaf:
        case Truth() if type_ != BOOLEAN:
            return Mistake(
                f"column {field.name!r} is {type_}, which is no condition; compare it with a value.", position
            )
        case Comparison(_, _, literal):
            return _misfit(field.name, type_, literal)
        case Membership(_, literals):
            return next((m for m in (_misfit(field.name, type_, literal) for literal in literals) if m), None)
        case _:
            return None


def _has_null(leaf: Written) -> bool:
    """Whether it compares with NULL, which Spark takes for a value of any type."""
    match leaf:
        case Comparison(_, _, literal):
            return literal.value is None
        case Membership(_, literals):
            return any(literal.value is None for literal in literals)
        case _:
            return False


def _misfit(name: str, type_: AtomicType, literal: Literal) -> Mistake | None:
    assert literal.type is not None  # it is not NULL
    if literal.type == type_:
        return None
    if type_ == STRING and literal.type != BINARY:
        shown = display(literal.type, literal.value)
        return Mistake(
            f"column {name!r} is {type_}, and {shown} is {_kind(literal.type)}; write it as a text, '{shown}'. "
            "Spark would convert every value of the column, and fail at the first that cannot be.",
            literal.position,
        )
    if isinstance(literal.value, str):
        wrong = _unreadable(literal.value, type_)
        return None if wrong is None else Mistake(f"column {name!r} is {type_}, and {wrong} {_FAILS}", literal.position)
    if common_type(type_, literal.type) is None and not (_is_number(type_) and _is_number(literal.type)):
        shown = display(literal.type, literal.value)
        return Mistake(
            f"column {name!r} is {type_} and cannot be compared with {shown}, which is {_kind(literal.type)}.",
            literal.position,
        )
    return None


def _unreadable(text: str, type_: AtomicType) -> str | None:
    """Why a text is no value of the type, if it surely is none. Blanks around it do not matter to Spark."""
    bare = text.strip()
    if type_ in TEMPORAL:
        if temporal.is_no_date(bare):
            return f"there is no date {bare}."
        if _DAY.fullmatch(bare) or (type_ != DATE and _CLOCK.fullmatch(bare)):
            return None
        example = "2026-05-17" if type_ == DATE else "2026-05-17 08:30:00"
        return f"{text!r} is not {_kind(type_)}; write it as {example}."
    if type_ == BOOLEAN:
        return None if bare.lower() in _FLAGS else f"{text!r} is not {_kind(type_)}."
    readable = _WHOLE if type_ in INTEGRAL_BITS else _NUMBER
    if type_ == BINARY or readable.fullmatch(bare) or cast_value(text, STRING, type_, "UTC") is not None:
        return None
    return f"{text!r} is not {_kind(type_)}."


def _is_number(type_: AtomicType) -> bool:
    return isinstance(type_, DecimalType) or type_ in INTEGRAL_BITS or type_ in FLOATING


def _kind(type_: AtomicType) -> str:
    if type_ in INTEGRAL_BITS:
        return "a whole number"
    if _is_number(type_):
        return "a number"
    return "true or false" if type_ == BOOLEAN else f"a {type_}"
