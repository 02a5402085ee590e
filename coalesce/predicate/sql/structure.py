"""What sqlglot, in the Spark dialect, makes of a condition: which function of which operands it is.

sqlglot is asked for the structure alone. Literals are read by `literals.py` before it sees the text, because to it the
sign of `-128Y` is no part of the number; a literal reaches it as the text '#3', which stands for the third. And
functions keep the names they were written by: what they mean is for `scalar/catalogue.py` to say, where sqlglot would
make `year(to_date(dt))` of `year(dt)`. Nor may it leave out the plus of `+ a`, which makes a number of a text.

Where sqlglot and Spark do not agree how far an operator reaches, the answer is None, as for all that has no name here.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Final

from sqlglot import TokenType, exp, parse_one
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from coalesce.model.types import BOOLEAN, AtomicType
from coalesce.predicate.expr import Calculation, Column, Literal, Operand
from coalesce.predicate.sql import literals
from coalesce.predicate.sql.lexer import Tokens
from coalesce.predicate.sql.literal_tokens import read_literal
from coalesce.predicate.sql.typenames import CAST_FUNCTIONS, PARAMETRISED, TYPES, named_type

_NOT_READ: Final = frozenset({"CHAR", "CHARACTER", "VARCHAR"})
_KEPT: Final = ("CAST", "TRY_CAST", "EXTRACT", "SUBSTR", "SUBSTRING", "TRIM")  # what is no plain list of arguments


class _Structure(Spark):
    """Spark's dialect, with functions by name only."""

    class Parser(Spark.Parser):  # type: ignore[misc, valid-type]  # a class that sqlglot makes
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parser for name, parser in Spark.Parser.FUNCTION_PARSERS.items() if name in _KEPT
        }
        UNARY_PARSERS: ClassVar[dict[Any, Any]] = {
            **Spark.Parser.UNARY_PARSERS,
            TokenType.PLUS: lambda self: exp.Anonymous(this="positive", expressions=[self._parse_unary()]),
        }
        STRICT_CAST = True


class _NotUnderstood(Exception):
    """The condition has something that has no name here."""


def operand_of(tokens: Tokens, start: int, end: int, time_zone: str) -> Operand | None:
    """The value in the tokens from `start` up to `end`, or None if not all of it is understood."""
    found: list[Literal] = []
    text = _without_literals(tokens, start, end, time_zone, found)
    if text is None:
        return None
    try:
        parsed: Any = parse_one(text, dialect=_Structure, into=exp.Condition)
        return _Translation(found).operand(parsed)
    except (SqlglotError, _NotUnderstood):
        return None
    except Exception:  # noqa: BLE001 - sqlglot stumbled; whether this is SQL is for Spark to say
        return None


def _without_literals(tokens: Tokens, start: int, end: int, time_zone: str, found: list[Literal]) -> str | None:
    """The text with '#n' for each literal, which is put into `found`; None if one cannot be read."""
    pieces: list[str] = []
    index = start
    while index < end:
        kind, word = tokens.kinds[index], tokens.words[index]
        if word in _NOT_READ and index + 1 in tokens.partner:
            return None  # sqlglot would read it without its length
        if word in PARAMETRISED and index + 1 in tokens.partner and index > start:
            closing = tokens.partner[index + 1]
            pieces.append(tokens.slice(index, closing + 1))
            index = closing + 1
            continue
        if word == "INTERVAL" and index + 1 < end and tokens.words[index + 1] != "(":
            taken = 2 + (tokens.words[index + 1] == "-")
            pieces.append(tokens.slice(index, min(index + taken, end)))
            index += taken
            continue
        typed = word in literals.TYPED and index + 1 < end and tokens.kinds[index + 1] == "string"
        signed = (
            word == "-"
            and index + 1 < end
            and tokens.kinds[index + 1] == "number"
            and tokens.starts_operand(index, start)
        )
        if kind in ("number", "string") or typed or signed:
            literal, index = read_literal(tokens, index, end, time_zone)
            if literal is None:
                return None
            pieces.append(f"'#{len(found)}'")
            found.append(literal)
            continue
        if tokens.calls_between(index, start):
            word = _BETWEEN
        pieces.append(_SPELT.get(word) or tokens.raw(index))
        index += 1
    return " ".join(pieces)


_BETWEEN: Final = "BETWEEN("
# What sqlglot does not know, or takes for something else.
_SPELT: Final = {"!<": ">=", "!>": "<=", _BETWEEN: "between_function"}
_OPERATORS: Final[dict[type[exp.Expression], str]] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "div",
    exp.Mod: "%",
    exp.DPipe: "||",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}
_CONNECTIVES: Final[dict[type[exp.Expression], str]] = {exp.And: "and", exp.Or: "or"}
_TESTS: Final[dict[type[exp.Expression], str]] = {exp.Like: "like", exp.ILike: "ilike", exp.RegexpLike: "rlike"}
# What reaches further to Spark than to sqlglot, or the other way round, unless there are parentheses around it.
_LOOSE: Final = (
    exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Escape, exp.Not, exp.And, exp.Or,
    exp.NullSafeEQ, exp.NullSafeNEQ,
)  # fmt: skip
_SUMS: Final = (exp.Add, exp.Sub)
_FIELDS: Final = frozenset({"year", "quarter", "month", "day", "hour", "minute"})  # that are functions of the same name
# What sqlglot calls the types that are known here; it takes CHAR and VARCHAR for others, and so do we.
_TYPE_NAMES: Final = {
    "BOOLEAN": "BOOLEAN",
    "TINYINT": "TINYINT",
    "SMALLINT": "SMALLINT",
    "INT": "INT",
    "BIGINT": "BIGINT",
    "FLOAT": "FLOAT",
    "DOUBLE": "DOUBLE",
    "DECIMAL": "DECIMAL",
    "TEXT": "STRING",
    "BINARY": "BINARY",
    "DATE": "DATE",
    "TIMESTAMPTZ": "TIMESTAMP",
    "TIMESTAMPLTZ": "TIMESTAMP_LTZ",
    "TIMESTAMPNTZ": "TIMESTAMP_NTZ",
}


class _Translation:
    """From sqlglot's tree to ours."""

    def __init__(self, found: list[Literal]) -> None:
        self.found = found

    def operand(self, node: exp.Expression | None) -> Operand:
        """One node; `_NotUnderstood` for what has no name here."""
        if node is None:
            raise _NotUnderstood
        kind = type(node)
        if kind in _OPERATORS:
            return self._binary(node)
        if kind in _CONNECTIVES:
            return Calculation(_CONNECTIVES[kind], (self.operand(node.this), self.operand(node.expression)))
        if kind in _TESTS:
            pair = (self._tight(node.this), self._tight(node.expression))
            return self._negated(node, Calculation(_TESTS[kind], pair))
        special = _SPECIAL.get(kind)
        if special is None:
            raise _NotUnderstood
        return special(self, node)

    def _tight(self, node: exp.Expression | None) -> Operand:
        if isinstance(node, _LOOSE):
            raise _NotUnderstood
        return self.operand(node)

    def _binary(self, node: exp.Expression) -> Operand:
        sides = (node.this, node.expression)
        # To Spark, || is as + and -, from left to right.
        if isinstance(node, exp.DPipe) and any(isinstance(side, _SUMS) for side in sides):
            raise _NotUnderstood
        return Calculation(_OPERATORS[type(node)], (self._tight(sides[0]), self._tight(sides[1])))

    def _negated(self, node: exp.Expression, value: Calculation) -> Calculation:
        return Calculation("not", (value,)) if node.args.get("negate") else value

    def _paren(self, node: exp.Expression) -> Operand:
        return self.operand(node.this)

    def _not(self, node: exp.Expression) -> Operand:
        return Calculation("not", (self.operand(node.this),))

    def _minus(self, node: exp.Expression) -> Operand:
        return Calculation("negative", (self._tight(node.this),))

    def _literal(self, node: exp.Expression) -> Operand:
        name = str(node.this)
        if not node.is_string or not name.startswith("#"):
            raise _NotUnderstood
        return self.found[int(name[1:])]

    def _column(self, node: exp.Expression) -> Operand:
        parts = node.parts  # type: ignore[attr-defined]  # columns have them
        if not all(isinstance(part, exp.Identifier) for part in parts):
            raise _NotUnderstood
        return Column(tuple(part.name for part in parts))

    def _boolean(self, node: exp.Expression) -> Operand:
        return Literal(bool(node.this), BOOLEAN)

    def _null(self, _: exp.Expression) -> Operand:
        return Literal(None, None)

    def _is(self, node: exp.Expression) -> Operand:
        """IS NULL, and IS TRUE, which NULL is not: a comparison that NULL does not make NULL."""
        value, wanted = self._tight(node.this), node.expression
        if isinstance(wanted, exp.Null):
            return self._negated(node, Calculation("isnull", (value,)))
        if isinstance(wanted, exp.Boolean):
            return self._negated(node, Calculation("<=>", (value, Literal(bool(wanted.this), BOOLEAN))))
        raise _NotUnderstood

    def _distinct(self, node: exp.Expression) -> Operand:
        same = Calculation("<=>", (self._tight(node.this), self._tight(node.expression)))
        return Calculation("not", (same,))

    def _in(self, node: exp.Expression) -> Operand:
        listed = node.expressions
        if not listed or (
            set(node.args) - {"this", "expressions", "negate"}
            and any(node.args.get(name) for name in ("query", "unnest", "field", "is_global"))
        ):
            raise _NotUnderstood
        values = (self._tight(node.this), *(self.operand(item) for item in listed))
        return self._negated(node, Calculation("in", values))

    def _between(self, node: exp.Expression) -> Operand:
        value, low, high = self._tight(node.this), self._tight(node.args["low"]), self._tight(node.args["high"])
        if node.args.get("symmetric"):
            raise _NotUnderstood
        ends = (Calculation(">=", (value, low)), Calculation("<=", (value, high)))
        return self._negated(node, Calculation("and", ends))

    def _escape(self, node: exp.Expression) -> Operand:
        like = node.this
        if type(like) not in _TESTS:
            raise _NotUnderstood
        operands = (self._tight(like.this), self._tight(like.expression), self.operand(node.expression))
        return self._negated(like, Calculation(_TESTS[type(like)], operands))

    def _cast(self, node: exp.Expression) -> Operand:
        return Calculation("cast", (self.operand(node.this),), self._type(node))

    def _try_cast(self, node: exp.Expression) -> Operand:
        return Calculation("try_cast", (self.operand(node.this),), self._type(node))

    def _type(self, node: exp.Expression) -> AtomicType:
        if {name for name, value in node.args.items() if value} - {"this", "to", "safe", "_type"}:
            raise _NotUnderstood  # a format, an action
        named = node.args["to"]
        digits = [param.this.this for param in named.expressions]
        name = _TYPE_NAMES.get(named.this.name)
        type_ = None if name is None else named_type(f"{name}({','.join(digits)})" if digits else name)
        if type_ is None:
            raise _NotUnderstood
        return type_

    def _case(self, node: exp.Expression) -> Operand:
        """`CASE WHEN c THEN v … ELSE d END` as case(c, v, …, d); a value after CASE is compared with each."""
        subject = None if node.this is None else self.operand(node.this)
        arguments: list[Operand] = []
        for branch in node.args["ifs"]:
            wanted = self.operand(branch.this)
            arguments.append(wanted if subject is None else Calculation("=", (subject, wanted)))
            arguments.append(self.operand(branch.args["true"]))
        default = node.args.get("default")
        arguments.append(Literal(None, None) if default is None else self.operand(default))
        return Calculation("case", tuple(arguments))

    def _if(self, node: exp.Expression) -> Operand:
        return Calculation("case", tuple(self.operand(node.args.get(name)) for name in ("this", "true", "false")))

    def _function(self, node: exp.Expression) -> Operand:
        if not isinstance(node.this, str):
            raise _NotUnderstood
        name = "between" if node.this == _SPELT[_BETWEEN] else node.this.lower()
        arguments = tuple(self.operand(item) for item in node.expressions)
        if name.upper() in CAST_FUNCTIONS and len(arguments) == 1:
            return Calculation("cast", arguments, TYPES[name.upper()])
        return Calculation(name, arguments)

    def _extract(self, node: exp.Expression) -> Operand:
        field = node.this.name.lower()
        if field not in _FIELDS:
            raise _NotUnderstood  # seconds, for one, have a fraction here, and none in second()
        return Calculation(field, (self.operand(node.expression),))

    def _trim(self, node: exp.Expression) -> Operand:
        """trim(LEADING 'x' FROM a) is ltrim('x', a): what goes comes first."""
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or ""), "trim")
        if node.args.get("collation"):
            raise _NotUnderstood
        removed = node.args.get("expression")
        arguments = (node.this,) if removed is None else (removed, node.this)
        return Calculation(name, tuple(self.operand(argument) for argument in arguments))

    def _substring(self, node: exp.Expression) -> Operand:
        arguments = [node.this, node.args.get("start"), node.args.get("length")]
        return Calculation("substring", tuple(self.operand(a) for a in arguments if a is not None))

    def _interval(self, node: exp.Expression) -> Operand:
        unit = node.args.get("unit")
        if not isinstance(node.this, exp.Literal) or not isinstance(unit, exp.Var):
            raise _NotUnderstood
        found = literals.interval(str(node.this.this), unit.name)
        if found is None:
            raise _NotUnderstood
        return found


_SPECIAL: Final[dict[type[exp.Expression], Callable[[_Translation, exp.Expression], Operand]]] = {
    exp.Anonymous: _Translation._function,
    exp.Between: _Translation._between,
    exp.Boolean: _Translation._boolean,
    exp.Case: _Translation._case,
    exp.Cast: _Translation._cast,
    exp.Column: _Translation._column,
    exp.Escape: _Translation._escape,
    exp.Extract: _Translation._extract,
    exp.If: _Translation._if,
    exp.In: _Translation._in,
    exp.Interval: _Translation._interval,
    exp.Is: _Translation._is,
    exp.Literal: _Translation._literal,
    exp.Neg: _Translation._minus,
    exp.Not: _Translation._not,
    exp.Null: _Translation._null,
    exp.NullSafeNEQ: _Translation._distinct,
    exp.Paren: _Translation._paren,
    exp.Substring: _Translation._substring,
    exp.Trim: _Translation._trim,
    exp.TryCast: _Translation._try_cast,
}
