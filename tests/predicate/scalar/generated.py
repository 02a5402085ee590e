"""Predicates with functions, drawn from a seeded generator: every kind of value, from columns of every type, nested.

The columns are those of `tests/predicate/spark_predicates.py`.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>")
COLUMNS: Mapping[str, Sequence[str]] = {
    "integer": ("i8", "i16", "i32", "i64"),
    "decimal": ("m9", "m22", "m38"),
    "double": ("fl", "db"),
    "text": ("st",),
    "date": ("da",),
    "timestamp": ("ts",),
    "clock": ("tn",),
    "boolean": ("bo",),
}
LITERALS: Mapping[str, Sequence[str]] = {
    "integer": ("0", "1", "-1", "5", "2147483647", "127Y", "300S", "9007199254740993L", "NULL"),
    "decimal": ("1.5", "0.0", "-1.50BD", "9999999.99", "99999999999999999999.5"),
    "double": ("1.5D", "0.0D", "-0.0D", "1e3", "CAST('NaN' AS DOUBLE)"),
    "text": ("''", "'a'", "'ab'", "'A'", "'5'", "'é'", "'🙂'", "'true'", "'a%'", "NULL"),
    "date": ("DATE '2026-05-17'", "DATE '1970-01-01'", "DATE '2000-02-29'", "DATE '0001-01-01'"),
    "timestamp": ("TIMESTAMP '2026-05-17 00:00:00Z'", "TIMESTAMP '1969-12-31 23:59:59.999999Z'"),
    "clock": ("TIMESTAMP_NTZ '2026-05-17 12:00:00'", "TIMESTAMP_NTZ '1970-01-01 00:00:00'"),
    "boolean": ("true", "false", "NULL"),
}
PATTERNS = ("'a%'", "'%b'", "'_'", "'a_'", "'%'", "'a\\\\%'", "'%a%b%'", "''", "'é%'")
EXPRESSIONS = ("'^a'", "'b$'", "'[a-c]+'", "'a|b'", "'^$'", "'a.c'")
UNITS = ("'YEAR'", "'MONTH'", "'WEEK'", "'DAY'", "'HOUR'", "'QUARTER'")


class Generator:
    """One stream of predicates."""

    def __init__(self, seed: object, columns: Mapping[str, Sequence[str]] = COLUMNS) -> None:
        self.rng = random.Random(str(seed))
        self.columns = columns
        self.kinds = [kind for kind, names in columns.items() if names]

    def predicates(self, count: int) -> list[str]:
        """So many, each another."""
        found: dict[str, None] = {}
        while len(found) < count:
            found[self.condition(self.rng.choice((1, 2, 2, 3)))] = None
        return list(found)

    def condition(self, depth: int) -> str:
        """A condition that reads a column."""
        while True:
            text = self._condition(depth)
            words = set(text.replace("(", " ").replace(")", " ").replace(",", " ").split())
            if any(name in words for names in self.columns.values() for name in names):
                return text

    def _condition(self, depth: int) -> str:
        rng = self.rng
        kind = rng.choice(self.kinds)
        match rng.randrange(14):
            case 0 if depth > 1:
                return f"({self._condition(depth - 1)}) {rng.choice(('AND', 'OR'))} ({self._condition(depth - 1)})"
            case 1 if depth > 1:
                return f"NOT ({self._condition(depth - 1)})"
            case 2 if depth > 1:
                wanted = rng.choice(("TRUE", "FALSE", "NULL", "NOT TRUE", "NOT FALSE", "NOT NULL"))
                return f"({self._condition(depth - 1)}) IS {wanted}"
            case 3:
                return f"{self.value(kind, depth)} IS {rng.choice(('', 'NOT '))}NULL"
            case 4:
                listed = ", ".join(self.value(kind, 0) for _ in range(rng.randint(1, 3)))
                return f"{self.value(kind, depth)} {rng.choice(('', 'NOT '))}IN ({listed})"
            case 5:
                ends = f"{self.value(kind, 0)} AND {self.value(kind, 0)}"
                return f"{self.value(kind, depth)} {rng.choice(('', 'NOT '))}BETWEEN {ends}"
            case 6 if "text" in self.kinds:
                return f"{self.value('text', depth)} {rng.choice(('', 'NOT '))}LIKE {rng.choice(PATTERNS)}"
            case 7 if "text" in self.kinds:
                return f"{self.value('text', depth)} RLIKE {rng.choice(EXPRESSIONS)}"
            case 8 if "text" in self.kinds:
                name = rng.choice(("startswith", "endswith", "contains"))
                return f"{name}({self.value('text', depth)}, {self.value('text', 0)})"
            case 9 if "boolean" in self.kinds:
                return self.value("boolean", depth)
            case _:
                return f"{self.value(kind, depth)} {rng.choice(COMPARISONS)} {self.value(kind, depth - 1)}"

    def value(self, kind: str, depth: int) -> str:
        """A value of a kind."""
        rng = self.rng
        made = _FUNCTIONS[kind]
        if depth <= 0 or rng.random() < 0.15:
            names = self.columns.get(kind, ())
            return rng.choice(names) if names and rng.random() < 0.6 else rng.choice(LITERALS[kind])
        match rng.randrange(8):
            case 0:
                others = ", ".join(self.value(kind, depth - 1) for _ in range(2))
                return f"{rng.choice(('coalesce', 'greatest', 'least', 'nullif'))}({others})"
            case 1:
                then, otherwise = self.value(kind, depth - 1), self.value(kind, depth - 1)
                return f"CASE WHEN {self._condition(0)} THEN {then} ELSE {otherwise} END"
            case 2:
                return f"if({self._condition(0)}, {self.value(kind, depth - 1)}, {self.value(kind, depth - 1)})"
            case _:
                return rng.choice(made)(self, depth - 1)

    def some(self, *kinds: str) -> str:
        """One of these kinds that there is a column of."""
        return self.rng.choice([kind for kind in kinds if kind in self.kinds] or list(kinds))


Make = Callable[[Generator, int], str]


def _of(template: str, *kinds: str) -> Make:
    """A function of values of these kinds: `{0}`, `{1}`."""
    return lambda generator, depth: template.format(*(generator.value(kind, depth) for kind in kinds))


def _unit(template: str, kind: str) -> Make:
    return lambda generator, depth: template.format(generator.rng.choice(UNITS), generator.value(kind, depth))


_FUNCTIONS: Mapping[str, Sequence[Make]] = {
    "integer": (
        *(_of(f"({{0}} {operator} {{1}})", "integer", "integer") for operator in ("+", "-", "*", "%", "div")),
        _of("length({0})", "text"), _of("abs({0})", "integer"), _of("(- {0})", "integer"),
        _of("year({0})", "date"), _of("month({0})", "date"),
        _of("day({0})", "timestamp"), _of("hour({0})", "timestamp"),
        _of("datediff({0}, {1})", "date", "date"), _of("unix_date({0})", "date"), _of("CAST({0} AS BIGINT)", "integer"),
        _of("TRY_CAST({0} AS INT)", "text"), _of("TRY_CAST({0} AS TINYINT)", "integer"),
        _of("try_add({0}, {1})", "integer", "integer"), _of("try_multiply({0}, {1})", "integer", "integer"),
        _of("floor({0})", "decimal"), _of("CAST({0} AS INT)", "boolean"),
    ),
    "decimal": (
        *(_of(f"({{0}} {operator} {{1}})", "decimal", "decimal") for operator in ("+", "-", "*", "/", "%")),
        _of("({0} + {1})", "decimal", "integer"), _of("round({0}, 1)", "decimal"), _of("abs({0})", "decimal"),
        _of("CAST({0} AS DECIMAL(20,3))", "integer"), _of("CAST({0} AS DECIMAL(12,1))", "decimal"),
    ),
    "double": (
        *(_of(f"({{0}} {operator} {{1}})", "double", "double") for operator in ("+", "-", "*", "%")),
        _of("({0} / {1})", "integer", "integer"), _of("CAST({0} AS DOUBLE)", "integer"), _of("abs({0})", "double"),
        _of("CAST({0} AS DOUBLE)", "decimal"),
    ),
    "text": (
        *(_of(f"{name}({{0}})", "text") for name in ("lower", "upper", "trim", "ltrim", "rtrim")),
        _of("concat({0}, {1})", "text", "text"), _of("({0} || {1})", "text", "text"),
        _of("substring({0}, 1, 2)", "text"), _of("substring({0}, -1)", "text"), _of("left({0}, 1)", "text"),
        _of("right({0}, 1)", "text"), _of("replace({0}, 'a', 'b')", "text"), _of("CAST({0} AS STRING)", "integer"),
        _of("CAST({0} AS STRING)", "date"), _of("CAST({0} AS STRING)", "boolean"),
    ),
    "date": (
        _of("date_add({0}, 3)", "date"), _of("date_sub({0}, 1)", "date"), _of("CAST({0} AS DATE)", "timestamp"),
        _of("CAST({0} AS DATE)", "clock"), _of("to_date({0})", "timestamp"), _of("add_months({0}, 1)", "date"),
        _of("({0} + INTERVAL 1 DAY)", "date"), _of("({0} - INTERVAL 1 MONTH)", "date"), _of("last_day({0})", "date"),
        _of("trunc({0}, 'MM')", "date"),
    ),
    "timestamp": (
        _unit("date_trunc({0}, {1})", "timestamp"), _of("({0} + INTERVAL 1 HOUR)", "timestamp"),
        _of("({0} - INTERVAL 1 DAY)", "timestamp"), _of("({0} + INTERVAL 1 MONTH)", "timestamp"),
        _of("CAST({0} AS TIMESTAMP)", "date"),
    ),
    "clock": (_of("({0} + INTERVAL 1 HOUR)", "clock"), _of("CAST({0} AS TIMESTAMP_NTZ)", "date")),
    "boolean": (
        lambda generator, depth: f"({generator.condition(max(depth, 0))})",
        _of("isnan({0})", "double"),
    ),
}  # fmt: skip


def predicates(count: int, seed: int) -> Iterator[str]:
    """So many predicates about every column."""
    yield from Generator(seed).predicates(count)
