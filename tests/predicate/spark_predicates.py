"""One table of awkward values of every type, and any number of predicates about it as SQL text.

Predicates are drawn from a seeded generator: every operator meets every pair of types that Spark compares, and then
they are nested. Literals are near the table's values, where the differences are.
"""

import math
import random
from collections.abc import Iterator
from decimal import Decimal
from itertools import cycle, islice

import pyarrow as pa

from coalesce.model.arrow_schema import arrow_type
from coalesce.model.schema import Schema
from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
    DecimalType,
    Field,
    Value,
)
from coalesce.model.values import column_of

_DAY = 86_400_000_000
_DAYS = (0, -1, 1, 20_590, 20_589, 20_591, -719_162, 2_932_896, 11_016)
_MICROS = (*(d * _DAY for d in _DAYS), 1, -1, 20_590 * _DAY + 1, 20_590 * _DAY - 1, 20_590 * _DAY + _DAY // 2)
_SHORT_MONEY = ("0", "1.50", "1.55", "1.56", "-1.50", "2", "9999999.99", "-9999999.99", "5", "0.01", "0.10")
_LONG_MONEY = ("0", "1.5", "1.55555", "999999999999999.99999", "9007199254740993", "9007199254740992", "-1.5", "0.1")

COLUMNS: dict[str, tuple[AtomicType, tuple[Value, ...]]] = {
    "bo": (BOOLEAN, (True, False)),
    "i8": (INT8, (0, 1, -1, 5, 6, 127, -128)),
    "i16": (INT16, (0, 1, -1, 5, 300, 32767, -32768)),
    "i32": (INT32, (0, 1, -1, 5, 6, 16777217, 16777216, 2147483647, -2147483648)),
    "i64": (INT64, (0, 5, -5, 2**53, 2**53 + 1, 2**53 - 1, 2**53 + 2, 2**63 - 1, -(2**63), 3_000_000_000)),
    "fl": (
        FLOAT,
        (0.0, -0.0, 1.5, 5.0, 0.10000000149011612, 16777216.0, math.nan, math.inf, -math.inf, 3.4028234663852886e38),
    ),
    "db": (DOUBLE, (0.0, -0.0, 1.5, 5.0, 0.1, float(2**53), math.nan, math.inf, -math.inf, 1e308, 5e-324)),
    "m9": (DecimalType(9, 2), tuple(Decimal(d).quantize(Decimal("0.01")) for d in _SHORT_MONEY)),
    "m22": (DecimalType(22, 5), tuple(Decimal(d).quantize(Decimal("0.00001")) for d in _LONG_MONEY)),
    "m38": (DecimalType(38, 0), tuple(Decimal(d) for d in ("0", "1", "2", "5", "9" * 38, "-" + "9" * 38))),
    "st": (
        STRING,
        (
            "", "a", "ab", "abc", "ac", "b", "A", "5", "é", "e\u0301", "\uffff", "🙂", "a'b", "a\\b", "true",
            "[#small]", "\0", "a%",
        ),
    ),
    "by": (BINARY, (b"", b"\0", b"a", b"ab", b"\xff", b"\x80\x00")),
    "da": (DATE, _DAYS),
    "ts": (TIMESTAMP, _MICROS),
    "tn": (TIMESTAMP_NTZ, _MICROS),
}  # fmt: skip

ROWS = 41  # a prime, so that cycling columns of different length meet in many combinations


def table() -> tuple[Schema, pa.Table]:
    """The table: each column's values over and over, NULL among them."""
    fields = tuple(Field(id=i, name=name, type=type_) for i, (name, (type_, _)) in enumerate(COLUMNS.items(), 1))
    arrays = [column_of(type_, list(islice(cycle([*values, None]), ROWS))) for type_, values in COLUMNS.values()]
    names = pa.schema([(name, arrow_type(type_)) for name, (type_, _) in COLUMNS.items()])
    return Schema(fields), pa.table(arrays, schema=names)


# --- literals ---------------------------------------------------------------------------------------------------

_INTEGERS = (0, 1, -1, 5, 6, -5, 127, -128, 128, 300, 32767, -32768, 16777217, 2147483647, -2147483648)
_LONGS = (*_INTEGERS, 2147483648, 3_000_000_000, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63))
_DECIMALS = (
    "0.0", "1.5", "1.50", "1.55", "1.555", "-1.5", "5.0", "5.5", "-0.5", "127.5", "0.1", "0.10000000149011612",
    "2147483647.5", "9007199254740993.0", "9999999.99", "9999999.995", "99999999999999999999", "12345678901234567890.5",
)  # fmt: skip
_DOUBLES = (
    "0.0", "1.5", "-1.5", "5.0", "5.5", "0.1", "1e3", "127.5", "16777217.0", "2147483647.5", "9007199254740993.0",
    "9.223372036854775807E18", "1E308", "5E-324", "3.4028234663852886E38", "0.10000000149011612", "9999999.99",
)  # fmt: skip
_DAYS_TEXT = ("1970-01-01", "1969-12-31", "2026-05-17", "2026-05-18", "0001-01-01", "9999-12-31", "2000-02-29")
_CLOCKS = ("", " 00:00:00", " 00:00:00.000001", "T12:00:00", " 12:00", " 23:59:59.999999", " 12:00:00.5")
_TEXTS = (
    "", "a", "ab", "abb", "abc", "A", "b", "é", "e\u0301", "\uffff", "🙂", "a'b", "a\\b", "[#small]", "\0", "a%", "z",
)  # fmt: skip


def _quoted(rng: random.Random, text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("\0", "\\0")
    match rng.randrange(4):
        case 0:
            return "'" + escaped.replace("'", "''") + "'"
        case 1:
            return '"' + escaped.replace('"', '\\"') + '"'
        case 2 if "'" not in text and "\0" not in text:
            return f"r'{text}'"
    return "'" + escaped.replace("'", "\\'") + "'"


def _timestamp(rng: random.Random) -> str:
    return rng.choice(_DAYS_TEXT) + rng.choice(_CLOCKS)


def literal(rng: random.Random, kind: str) -> str:
    """A literal of one kind, as SQL."""
    match kind:
        case "boolean":
            return rng.choice(("true", "false", "TRUE"))
        case "tinyint":
            return f"{rng.choice([i for i in _INTEGERS if -128 <= i <= 127])}Y"
        case "smallint":
            return f"{rng.choice([i for i in _INTEGERS if -32768 <= i <= 32767])}S"
        case "int":
            return str(rng.choice(_INTEGERS))
        case "bigint":
            return f"{rng.choice(_LONGS)}L"
        case "decimal":
            return rng.choice(_DECIMALS) + rng.choice(("", "BD"))
        case "float":
            text = rng.choice(("0.0", "1.5", "-1.5", "5.0", "0.1", "16777217.0", "3.4028234E38", "127.5"))
            return rng.choice((f"{text}F", f"CAST('{text}' AS FLOAT)", "CAST('NaN' AS FLOAT)", "float('Infinity')"))
        case "double":
            special = ("CAST('NaN' AS DOUBLE)", "double('Infinity')", "CAST('-Infinity' AS DOUBLE)")
            return rng.choice((*(f"{d}D" for d in _DOUBLES), "1e3", "-1.5e0", *special))
        case "string":
            return _quoted(rng, rng.choice(_TEXTS))
        case "binary":
            return rng.choice(("X''", "X'00'", "X'61'", "x'6162'", "X'FF'", "X'8000'", "X'0'"))
        case "date":
            return f"DATE '{rng.choice(_DAYS_TEXT)}'"
        case "timestamp":
            zone = rng.choice(("", "", "Z", "+02:00", "-00:30"))
            text = _timestamp(rng)
            return f"TIMESTAMP '{text}{zone if len(text) > 16 else ''}'"
        case "timestamp_ntz":
            return f"TIMESTAMP_NTZ '{_timestamp(rng)}'"
        case "number text":
            return _quoted(rng, rng.choice(("0", "1", "5", "-1", "127", "9007199254740993", "1.5", "NaN", "1e3")))
        case "integer text":
            return _quoted(rng, rng.choice(("0", "1", "5", "-1", "127", "300", "9007199254740993")))
        case "date text":
            return _quoted(rng, rng.choice(_DAYS_TEXT))
        case "timestamp text":
            return _quoted(rng, _timestamp(rng))
        case "boolean text":
            return _quoted(rng, rng.choice(("true", "false", "t", "NO", "1")))
        case _:
            return rng.choice(("NULL", "NULL", "CAST(NULL AS {})"))  # of the column's type


_NUMBERS = ("tinyint", "smallint", "int", "bigint", "decimal", "float", "double", "null")
_TIMES = ("date", "timestamp", "timestamp_ntz", "null")
KINDS: dict[str, tuple[str, ...]] = {
    "bo": ("boolean", "boolean text", "null"),
    **dict.fromkeys(("i8", "i16", "i32", "i64"), (*_NUMBERS, "integer text")),
    **dict.fromkeys(("fl", "db", "m9", "m22", "m38"), (*_NUMBERS, "number text")),
    "st": ("string", "string", "string", "null"),
    "by": ("binary", "binary", "string", "null"),
    "da": (*_TIMES, "date text"),
    "ts": (*_TIMES, "timestamp text"),
    "tn": (*_TIMES, "timestamp text"),
}
_SQL_NAMES = {
    "bo": "BOOLEAN", "i8": "TINYINT", "i16": "SMALLINT", "i32": "INT", "i64": "BIGINT", "fl": "FLOAT", "db": "DOUBLE",
    "m9": "DECIMAL(9,2)", "m22": "DECIMAL(22,5)", "m38": "DECIMAL(38,0)", "st": "STRING", "by": "BINARY", "da": "DATE",
    "ts": "TIMESTAMP", "tn": "TIMESTAMP_NTZ",
}  # fmt: skip
_CASTS = (
    "CAST(i8 AS BIGINT)", "CAST(i32 AS DOUBLE)", "CAST(i64 AS DOUBLE)", "CAST(i32 AS DECIMAL(11,1))", "i16::int",
    "CAST(CAST(i8 AS DECIMAL(3,0)) AS DECIMAL(4,1))", "CAST(m9 AS DOUBLE)", "CAST(m9 AS DECIMAL(12,3))",
    "CAST(fl AS DOUBLE)", "CAST(i64 AS DECIMAL(20,0))", "CAST(m22 AS DOUBLE)",
)  # fmt: skip
_TIME_CASTS = (
    "CAST(ts AS DATE)", "date(tn)", "CAST(da AS TIMESTAMP)", "CAST(tn AS TIMESTAMP)", "CAST(ts AS TIMESTAMP_NTZ)",
)  # fmt: skip
_COMPARISONS = ("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>")


def predicates(count: int, seed: int) -> list[str]:
    """`count` predicates: every operator for every pair of types first, then nested ones."""
    rng = random.Random(seed)
    made = list(_pairs(rng))
    while len(made) < count:
        made.append(nested(rng, rng.randint(1, 3)) if rng.random() < 0.7 else simple(rng))
    return made[:count]


def _pairs(rng: random.Random) -> Iterator[str]:
    for column, kinds in KINDS.items():
        for kind in dict.fromkeys(kinds):
            for operator in (*_COMPARISONS, "IN", "BETWEEN"):
                yield _with_operator(rng, column, column, (kind,), operator)


def simple(rng: random.Random) -> str:
    """One condition on one column."""
    column = rng.choice(list(COLUMNS))
    left, kinds = column, KINDS[column]
    if rng.random() < 0.15:
        left, kinds = rng.choice(_CASTS), (*_NUMBERS, "number text")
    elif rng.random() < 0.1:
        left, kinds = rng.choice(_TIME_CASTS), (*_TIMES, "date text")
    choice = rng.random()
    if choice < 0.1:
        return rng.choice((f"{left} IS NULL", f"isnotnull({left})", f"{column} IS NOT NULL", f"isnull({column})"))
    if choice < 0.2:
        return rng.choice(
            (
                "bo", "!bo", "bo IS TRUE", "bo IS NOT FALSE", "bo IS UNKNOWN", "isnan(fl)", "isnan(db)", "isnan(i32)",
                "NOT isnan(db)", "st LIKE 'a%'", "st LIKE 'ab'", "st NOT LIKE 'a%'", "st LIKE 'a_'", "st LIKE '%'",
                r"st LIKE 'a\\%'", r"st LIKE 'a\%'", "startswith(st, 'a')", "startswith(st, '')", "st LIKE '%b'",
                "startswith(st, '\uffff')", "st LIKE '🙂%'", "startswith(i32, '1')", "i32 LIKE '5'", "1 = 1", "true",
                "lower(st) = 'a'", "i8 + 1 = 6", "i32 = i64", "length(st) > 1", "st = 'a' COLLATE UTF8_LCASE", "NULL",
                "CASE WHEN bo THEN i32 = 5 ELSE st = 'a' END", "i32 % 2 = 1", "date_add(da, 1) = DATE '1970-01-01'",
            )
        )  # fmt: skip
    operator = rng.choice((*_COMPARISONS, "IN", "NOT IN", "BETWEEN", "NOT BETWEEN", "IS NOT DISTINCT FROM", "MANY"))
    return _with_operator(rng, left, column, kinds, operator)


def nested(rng: random.Random, depth: int) -> str:
    """Conditions under AND, OR and NOT, with and without parentheses."""
    if depth == 0:
        return simple(rng)
    match rng.randrange(4):
        case 0:
            return f"NOT ({nested(rng, depth - 1)})"
        case 1:
            return f"({nested(rng, depth - 1)}) AND ({nested(rng, depth - 1)})"
        case 2:
            return f"({nested(rng, depth - 1)}) OR ({nested(rng, depth - 1)})"
        case _:
            return f"{simple(rng)} OR NOT {simple(rng)} AND {simple(rng)}"


def _with_operator(rng: random.Random, left: str, column: str, kinds: tuple[str, ...], operator: str) -> str:
    def value() -> str:
        return literal(rng, rng.choice(kinds)).format(_SQL_NAMES[column] if left == column else "STRING")

    match operator:
        case "IN" | "NOT IN":
            return f"{left} {operator} ({', '.join(value() for _ in range(rng.randint(1, 4)))})"
        case "MANY":  # beyond ten Spark changes to a hash set
            return f"{left} IN ({', '.join(value() for _ in range(15))})"
        case "BETWEEN" | "NOT BETWEEN":
            return f"{left} {operator} {value()} AND {value()}"
        case _ if rng.random() < 0.1:
            return f"{value()} {operator} {left}"
        case _:
            return f"{left} {operator} {value()}"
