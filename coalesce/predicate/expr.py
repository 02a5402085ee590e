"""The predicate language: closed, small, and in two stages.

*As written*, a predicate is what a front end understood of the user's words: comparisons between names and typed
literals, with the place in the text where each name stood. *Bound*, it speaks about column ids and values of the
columns' own types, and every leaf is one of four questions about one column:

    IsNull(c)            is it NULL?                                TRUE or FALSE, never NULL
    InSet(c, {v, …})     is it one of these?                        NULL when c is NULL
    InRange(c, lo, hi)   does it lie between these?                 NULL when c is NULL
    InBuckets(c, n, {b}) does it hash into one of these buckets?    NULL when c is NULL

All else is spelled with And, Or, Not and constants, exactly as SQL's three-valued logic has it:

    c <> v               Not(InSet(c, {v}))
    c <=> v              And(Not(IsNull(c)), InSet(c, {v}))
    c IN (v, NULL)       Or(InSet(c, {v}), Constant(NULL))
    isnan(c)             And(Not(IsNull(c)), InSet(c, {NaN}))
    c LIKE 'ab%'         InRange(c, 'ab', 'ac')

A condition on values that are computed, such as `lower(c) = 'a'` or `c > d`, is `Computed`: what it comes to where the
columns are known, `scalar/` tells. What the language cannot say exactly is `Opaque`: any outcome, so nothing is ever
pruned on its account.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Generic, TypeVar

from coalesce.arguments import shown
from coalesce.errors import PredicateError
from coalesce.model.transforms import Bucket
from coalesce.model.types import AtomicType, Value
from coalesce.predicate.scalar.nodes import Call, Interval, Reference, references

# Whether a connective joins parts as written or bound parts: And[Expr], And[Bound].
Part = TypeVar("Part", covariant=True)

# --- what both stages share -----------------------------------------------------------------------------------


class Combinable:
    """`&`, `|` and `~` on expressions; `and`, `or` and `not` cannot be overloaded in Python, so they are refused."""

    __slots__ = ()

    def __and__(self, other: "Expr") -> "And[Expr]":
        return And((self, _combinable(other)))  # type: ignore[arg-type]  # every subclass here is a member of Expr

    def __or__(self, other: "Expr") -> "Or[Expr]":
        return Or((self, _combinable(other)))  # type: ignore[arg-type]  # likewise

    def __rand__(self, other: object) -> "And[Expr]":
        return And((_combinable(other), self))  # type: ignore[arg-type]  # never gets there: `other` is no predicate

    def __ror__(self, other: object) -> "Or[Expr]":
        return Or((_combinable(other), self))  # type: ignore[arg-type]  # likewise

    def __invert__(self) -> "Not[Expr]":
        return Not(self)  # type: ignore[arg-type]  # likewise

    def __bool__(self) -> bool:
        raise PredicateError("a predicate has no truth value of its own: combine predicates with &, | and ~.")


def _combinable(other: object) -> "Expr":
    if not isinstance(other, Combinable):
        raise PredicateError(
            f"{shown(other)} is not a predicate to combine with another; compare a coalesce.col(…), or write the whole "
            "condition as SQL text."
        )
    return other  # type: ignore[return-value]  # every subclass is a member of Expr


@dataclass(frozen=True, slots=True)
class And(Combinable, Generic[Part]):
    """TRUE when all parts are, FALSE when one is; at least one part."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Or(Combinable, Generic[Part]):
    """TRUE when one part is, FALSE when all are; at least one part."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Not(Combinable, Generic[Part]):
    """TRUE and FALSE swapped; NULL stays NULL."""

    part: Part


@dataclass(frozen=True, slots=True)
class Constant(Combinable):
    """TRUE, FALSE, or NULL (None)."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Opaque(Combinable):
    """A condition this language cannot state: `text` is its SQL.

    `columns` are the names (as written) or ids (bound) it reads; None if that is not known. Whether it is
    deterministic is not known either: only an engine that evaluates it may say so. `names` (as written) are operands
    that are nothing but names. `mistake` (bound) says why it can hardly be meant, `hint` what is not known of it.
    """

    text: str
    columns: frozenset[str] | frozenset[int] | None = None
    names: tuple["Column", ...] = field(default=(), compare=False)
    mistake: "Mistake | None" = field(default=None, compare=False)
    hint: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with a condition, and where in the predicate's text."""

    reason: str
    position: int | None


# --- as written ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Column:
    """A name as the user wrote it: `parts` of a dotted name, `position` in the text for the caret.

    `casts` are the types it is converted to before the comparison, innermost first: CAST(CAST(c AS …) AS …).
    """

    parts: tuple[str, ...]
    position: int | None = None
    casts: tuple[AtomicType, ...] = ()


@dataclass(frozen=True, slots=True)
class Literal:
    """A value and the SQL type the text gave it; `type` None is an untyped NULL."""

    value: Value
    type: AtomicType | None
    position: int | None = None


class Operator(Enum):
    """Comparisons as SQL spells them."""

    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    NULL_SAFE_EQ = "<=>"

    @property
    def mirrored(self) -> "Operator":
        """The operator that says the same with its sides exchanged."""
        return _MIRRORED.get(self, self)


_MIRRORED: Final = {
    Operator.LT: Operator.GT,
    Operator.LE: Operator.GE,
    Operator.GT: Operator.LT,
    Operator.GE: Operator.LE,
}


@dataclass(frozen=True, slots=True)
class Comparison(Combinable):
    """`column operator literal`; front ends put the column on the left."""

    column: Column
    operator: Operator
    literal: Literal
    text: str = ""  # the condition as SQL, for the Opaque it becomes where Spark would convert inexactly


@dataclass(frozen=True, slots=True)
class Membership(Combinable):
    """`column IN (literals)`; a NULL among them matters."""

    column: Column
    literals: tuple[Literal, ...]
    text: str = ""


@dataclass(frozen=True, slots=True)
class NullTest(Combinable):
    """`column IS NULL`."""

    column: Column


@dataclass(frozen=True, slots=True)
class NanTest(Combinable):
    """`isnan(column)`."""

    column: Column
    text: str = ""


@dataclass(frozen=True, slots=True)
class Prefix(Combinable):
    """`startswith(column, prefix)`, also from LIKE 'prefix%'; the `whole` text when LIKE has no wildcard."""

    column: Column
    prefix: str
    text: str = ""
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Truth(Combinable):
    """A boolean column standing alone as a condition."""

    column: Column
    text: str = ""


@dataclass(frozen=True, slots=True)
class Calculation:
    """A function or an operator of operands, by its name in SQL in small letters; `type` is what a cast makes."""

    function: str
    arguments: tuple["Operand", ...]
    type: AtomicType | None = None


Operand = Column | Literal | Calculation | Interval


@dataclass(frozen=True, slots=True)
class Condition(Combinable):
    """A value that is a condition. Where the columns' types have no such function, it is `otherwise`."""

    value: Calculation
    text: str
    otherwise: Opaque


# --- bound -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class IsNull(Combinable):
    """The column is NULL. Never NULL itself. Also stands for a non-atomic column, by `Reference.id`."""

    column: Reference


@dataclass(frozen=True, slots=True)
class InSet(Combinable):
    """The column is one of `values`: sorted in Spark's order, distinct, never NULL, possibly none at all."""

    column: Reference
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class InRange(Combinable):
    """The column lies between `lower` and `upper` in Spark's order; None is an open end, not SQL NULL."""

    column: Reference
    lower: Value
    lower_inclusive: bool
    upper: Value
    upper_inclusive: bool


@dataclass(frozen=True, slots=True)
class InBuckets(Combinable):
    """The column falls into one of `buckets`, ascending: what overwriting a hashed logical partition comes down to.

    No front end says this; SQL has no words for it.
    """

    column: Reference
    transform: Bucket
    buckets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Computed(Combinable):
    """A condition whose outcome is a value computed from columns; `text` is its SQL."""

    value: Call
    text: str = field(compare=False)

    @property
    def columns(self) -> tuple[Reference, ...]:
        """The columns it is computed from: at least one, each once."""
        return tuple(dict.fromkeys(references(self.value)))


Leaf = IsNull | InSet | InRange | InBuckets
Asked = Leaf | Computed | Opaque
Bound = And["Bound"] | Or["Bound"] | Not["Bound"] | Constant | Asked
Written = Comparison | Membership | NullTest | NanTest | Prefix | Truth
Expr = And["Expr"] | Or["Expr"] | Not["Expr"] | Constant | Written | Condition | Asked

TRUE: Final = Constant(True)
FALSE: Final = Constant(False)
NULL: Final = Constant(None)
