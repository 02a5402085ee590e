"""One condition of a SQL predicate: a comparison, a list, a range, a test, or something foreign.

`condition` recognises what the predicate language can say, in every way a user or Catalyst spells it, and hands all
else to `unknown.py`. It reads operands itself, because which literal stands there in which type is exactly what
matters: `5`, `5L` and `CAST('5' AS BIGINT)` make Spark compare differently.
"""

from dataclasses import dataclass, field, replace
from typing import Final

from coalesce.errors import PredicateError
from coalesce.model.types import BOOLEAN, AtomicType, DecimalType
from coalesce.predicate.coercion import cast_value
from coalesce.predicate.expr import (
    Column,
    Expr,
    Literal,
    Membership,
    NullTest,
    Operator,
)
from coalesce.predicate.sql import literals
from coalesce.predicate.sql.lexer import Tokens
from coalesce.predicate.sql.literal_tokens import read_literal
from coalesce.predicate.sql.operands import TESTS, Operand, alone, between, compared, like
from coalesce.predicate.sql.typenames import CAST_FUNCTIONS, TYPES
from coalesce.predicate.sql.unknown import computed
from coalesce.predicate.tree import negation

_OPERATORS: Final = {o.value: o for o in Operator} | {
    "==": Operator.EQ,
    "!=": Operator.NE,
    "!<": Operator.GE,
    "!>": Operator.LE,  # Spark has them from other databases
}
_MAX_OPERAND_NESTING: Final = 20

# Words that cannot be a column's name where an operand is expected, unless back-quoted.
_NOT_NAMES: Final = frozenset({
    "AND", "BETWEEN", "CASE", "EXISTS", "IN", "INTERVAL", "IS", "LIKE", "NOT", "OR", "SELECT", "WHERE", "WITH",
})  # fmt: skip


def condition(tokens: Tokens, start: int, end: int, time_zone: str) -> Expr:
    """The condition in the tokens from `start` up to `end`, at least one."""
    reader = _Reader(tokens, start, end, time_zone)
    understood = reader.condition()
    if understood is not None:
        return understood
    return computed(tokens, start, end, time_zone, tuple(dict.fromkeys(reader.names)))


@dataclass(slots=True)
class _Reader:
    """A place in the tokens of one condition. What a method does not understand it answers with None."""

    tokens: Tokens
    index: int
    end: int
    time_zone: str
    nesting: int = 0
    names: list[Column] = field(default_factory=list)  # every operand that was a name, whatever came of the condition

    @property
    def word(self) -> str:
        return self.tokens.words[self.index] if self.index < self.end else ""

    @property
    def at_end(self) -> bool:
        return self.index == self.end

    def accept(self, *words: str) -> bool:
        """Step over these words if they come next."""
        after = self.index + len(words)
        if after > self.end or tuple(self.tokens.words[self.index : after]) != words:
            return False
        self.index = after
        return True

    def next_is(self, kind: str, ahead: int = 0) -> bool:
        index = self.index + ahead
        return index < self.end and self.tokens.kinds[index] == kind

    # --- conditions ---------------------------------------------------------------------------------------------

    def condition(self) -> Expr | None:
        text = self.tokens.slice(self.index, self.end)
        called = self._function_test(text)
        if called is not None:
            return called
        left = self.operand()
        if left is None:
            return None
        if self.at_end:
            return alone(left, text)
        if self.word in _OPERATORS:
            return self._comparison(left, text)
        if self.accept("IS"):
            return self._is(left, text)
        negated = self.accept("NOT")
        test = self._predicate(left, text)
        return negation(test) if test is not None and negated else test

    def _comparison(self, left: Operand, text: str) -> Expr | None:
        operator = _OPERATORS[self.word]
        self.index += 1
        right = self.operand()
        return compared(left, operator, right, text) if right is not None and self.at_end else None

    def _is(self, left: Operand, text: str) -> Expr | None:
        negated = self.accept("NOT")
        test: Expr | None = None
        if isinstance(left, Column) and (self.accept("NULL") or self.accept("UNKNOWN")):
            test = NullTest(left)
        elif self.accept("DISTINCT", "FROM"):
            right = self.operand()
            test = None if right is None else compared(left, Operator.NULL_SAFE_EQ, right, text)
            negated = not negated
        elif self.word in ("TRUE", "FALSE"):
            value = Literal(self.word == "TRUE", BOOLEAN, self.tokens.starts[self.index])
            self.index += 1
            test = compared(left, Operator.NULL_SAFE_EQ, value, text)
        if test is None or not self.at_end:
            return None
        return negation(test) if negated else test

    def _predicate(self, left: Operand, text: str) -> Expr | None:
        """IN, BETWEEN or LIKE."""
        if self.accept("IN"):
            return self._membership(left, text)
        if self.accept("BETWEEN"):
            low = self.operand()
            if low is None or not self.accept("AND"):
                return None
            high = self.operand()
            return between(left, low, high, text) if high is not None and self.at_end else None
        if self.accept("LIKE"):
            pattern = self.operand()
            if isinstance(left, Column) and isinstance(pattern, Literal) and self.at_end:
                return like(left, pattern, text)
        return None

    def _membership(self, left: Operand, text: str) -> Expr | None:
        if self.at_end or self.word != "(":
            raise PredicateError(
                "IN needs a list of values in parentheses.", self.tokens.text, self.tokens.ends[self.index - 1]
            )
        closing = self.tokens.partner[self.index]
        if closing == self.index + 1:
            raise PredicateError(
                "IN needs at least one value; an empty list is never matched.",
                self.tokens.text,
                self.tokens.starts[closing],
            )
        self.index += 1
        found = self._list(closing)
        if found is None or not isinstance(left, Column) or closing + 1 != self.end:
            return None
        listed = tuple(item for item in found if isinstance(item, Literal))
        return Membership(left, listed, text) if len(listed) == len(found) else None

    def _list(self, closing: int) -> list[Operand] | None:
        """Operands with commas between, up to the bracket at `closing`."""
        inside = _Reader(self.tokens, self.index, closing, self.time_zone, self.nesting, self.names)
        items: list[Operand] = []
        while True:
            item = inside.operand()
            if item is None:
                return None
            items.append(item)
            if inside.at_end:
                return items
            if not inside.accept(","):
                return None

    def _function_test(self, text: str) -> Expr | None:
        """A condition that is one call of a function this language knows."""
        test = TESTS.get(self.word)
        if test is None or self.tokens.partner.get(self.index + 1) != self.end - 1 or self.index + 2 == self.end - 1:
            return None
        arguments = _Reader(self.tokens, self.index + 2, self.end, self.time_zone)._list(self.end - 1)
        return None if arguments is None else test(arguments, text)

    # --- operands -----------------------------------------------------------------------------------------------

    def operand(self) -> Operand | None:
        """A column or a literal, converted or not."""
        self.nesting += 1
        try:
            if self.at_end or self.nesting > _MAX_OPERAND_NESTING:
                return None
            operand = self._plain_operand()
            while operand is not None and self.accept("::"):
                operand = self._cast(operand, self._type())
            return operand
        finally:
            self.nesting -= 1

    def _plain_operand(self) -> Operand | None:
        position = self.tokens.starts[self.index]
        if self.next_is("number") or self.next_is("string") or (self.word == "-" and self.next_is("number", 1)):
            return self._literal()
        if self.word in literals.TYPED and self.next_is("string", 1):
            return self._literal()
        if self.word in _CONSTANTS and not self._followed_by("(", "."):
            value = _CONSTANTS[self.word]
            self.index += 1
            return Literal(value, None if value is None else BOOLEAN, position)
        if self.accept("("):
            inside = self.operand()
            return inside if self.accept(")") else None
        if self.accept("CAST", "("):
            inside = self.operand()
            if inside is None or not self.accept("AS"):
                return None
            converted = self._cast(inside, self._type())
            return converted if self.accept(")") else None
        if self.word in CAST_FUNCTIONS and self._followed_by("("):
            type_ = TYPES[self.word]
            self.index += 2
            inside = self.operand()
            return self._cast(inside, type_) if inside is not None and self.accept(")") else None
        return self._column(position)

    def _followed_by(self, *words: str) -> bool:
        return self.index + 1 < self.end and self.tokens.words[self.index + 1] in words

    def _literal(self) -> Literal | None:
        literal, self.index = read_literal(self.tokens, self.index, self.end, self.time_zone)
        return literal

    def _type(self) -> AtomicType | None:
        type_ = TYPES.get(self.word)
        if type_ is None:
            return None
        self.index += 1
        if isinstance(type_, DecimalType) and self.accept("("):
            closing = self.tokens.partner[self.index - 1]
            numbers = self.tokens.slice(self.index, closing).split(",") if closing > self.index else []
            self.index = closing + 1
            digits = [int(n) for n in numbers if n.strip().isdecimal() and len(n.strip()) <= 2]
            precision, scale = (*digits, 0, 0)[:2]
            if len(digits) != len(numbers) or not (1 <= precision <= 38 and scale <= precision):
                return None
            return DecimalType(precision, scale)
        return None if self.word == "(" else type_

    def _cast(self, operand: Operand | None, type_: AtomicType | None) -> Operand | None:
        if operand is None or type_ is None:
            return None
        if isinstance(operand, Column):
            return replace(operand, casts=(*operand.casts, type_))
        if operand.value is None or operand.type is None:
            return Literal(None, type_, operand.position)
        value = cast_value(operand.value, operand.type, type_, self.time_zone)
        return None if value is None else Literal(value, type_, operand.position)

    def _column(self, position: int) -> Column | None:
        if self.word in _NOT_NAMES:
            return None
        parts: list[str] = []
        while self.next_is("word") or self.next_is("quoted"):
            raw = self.tokens.raw(self.index)
            parts.append(raw[1:-1].replace("``", "`") if self.next_is("quoted") else raw)
            self.index += 1
            if not self.accept("."):
                # A call, an element, or two words in a row are more than a name.
                if self.word in ("(", "[") or self.next_is("string"):
                    return None
                self.names.append(Column(tuple(parts), position))
                return self.names[-1]
        return None


_CONSTANTS: Final[dict[str, bool | None]] = {"TRUE": True, "FALSE": False, "NULL": None}
