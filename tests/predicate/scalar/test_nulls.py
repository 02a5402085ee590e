"""A NULL of no type, as every argument of every function: it has the type and the value that it has in Spark."""

import random
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from coalesce.model.types import BOOLEAN, DATE, DOUBLE, INT32, INT64, STRING, TIMESTAMP, AtomicType, DecimalType
from coalesce.predicate.expr import Column
from coalesce.predicate.scalar.catalogue import bind_operand, names
from coalesce.predicate.scalar.evaluate import evaluate
from coalesce.predicate.scalar.nodes import UNTYPED, Argument, Call, Fixed, Reference
from coalesce.predicate.sql.lexer import tokenize
from coalesce.predicate.sql.structure import operand_of
from tests.predicate.scalar.against_spark import Rows, compare
from tests.predicate.spark_predicates import COLUMNS, table
from tests.support.examples import examples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZONES = ("UTC", "America/New_York", "Asia/Kolkata")
FEW = ("i8", "i64", "db", "m9", "5")  # without ANSI mode, floats meet integers otherwise, and Catalyst says so
NUMBERS = ("i8", "i32", "i64", "fl", "db", "m9", "m38", "5", "1.5")
TEXTS = ("st", "'a'", "i32", "da")
TIMES = ("da", "ts", "tn")
COUNTS = ("i8", "i32", "1")
ANY = ("bo", "i32", "i64", "db", "m9", "m22", "st", "da", "ts", "5", "1.5")
CONDITIONS = ("bo", "i32 > 1", "1 / i32 > 1")
# Functions by what they take, each argument one of these.
FORMS: dict[str, tuple[tuple[str, ...], ...]] = {
    **dict.fromkeys(
        ("ascii", "bit_length", "btrim", "char_length", "character_length", "lcase", "len", "length", "lower", "ltrim",
         "octet_length", "reverse", "rtrim", "trim", "ucase", "upper"), (TEXTS,)
    ),
    **dict.fromkeys(
        ("concat", "concat_ws", "contains", "endswith", "instr", "locate", "position", "startswith"), (TEXTS, TEXTS)
    ),
    **dict.fromkeys(("left", "repeat", "right", "substr", "substring"), (TEXTS, COUNTS)),
    **dict.fromkeys(("lpad", "rpad"), (TEXTS, COUNTS, TEXTS)),
    **dict.fromkeys(("replace", "translate"), (TEXTS, TEXTS, TEXTS)),
    "split_part": (TEXTS, TEXTS, ("1", "2")),
    **dict.fromkeys(("like", "ilike", "rlike", "regexp", "regexp_like"), (TEXTS, ("'a%'",))),
    **dict.fromkeys(
        ("day", "dayofmonth", "dayofweek", "dayofyear", "hour", "last_day", "minute", "month", "quarter", "second",
         "to_date", "to_timestamp", "to_timestamp_ntz", "weekday", "weekofyear", "year"), (TIMES,)
    ),
    "unix_date": (("da",),),
    **dict.fromkeys(("unix_micros", "unix_millis", "unix_seconds"), (("ts",),)),
    **dict.fromkeys(
        ("timestamp_micros", "timestamp_millis", "timestamp_seconds", "date_from_unix_date"), (COUNTS,)
    ),
    **dict.fromkeys(("add_months", "date_add", "date_sub", "dateadd"), (TIMES, COUNTS)),
    **dict.fromkeys(("date_diff", "datediff"), (TIMES, TIMES)),
    "date_trunc": (("'MONTH'", "'nope'"), TIMES),
    "trunc": (TIMES, ("'MM'", "'nope'")),
    "next_day": (TIMES, ("'MO'",)),
    "make_date": (("2020", "i8"), ("2", "i8"), ("3", "i8")),
    **dict.fromkeys(
        ("abs", "ceil", "ceiling", "floor", "negative", "nullifzero", "positive", "sign", "signum", "sqrt", "isnan",
         "zeroifnull"), (NUMBERS,)
    ),
    **dict.fromkeys(("bround", "round"), (NUMBERS, ("1", "-1"))),
    **dict.fromkeys(
        ("mod", "pmod", "try_add", "try_divide", "try_mod", "try_multiply", "try_subtract"), (NUMBERS, NUMBERS)
    ),
    "nanvl": (("fl", "db"), ("fl", "db")),
    **dict.fromkeys(("isnotnull", "isnull"), (ANY,)),
    **dict.fromkeys(("coalesce", "greatest", "ifnull", "least", "nullif", "nvl"), (ANY, ANY)),
    "nvl2": (ANY, ("i32", "m9", "5"), ("i64", "m9", "1.5")),
    "if": (CONDITIONS, ("i32", "m9", "5"), ("i64", "m9", "1.5")),
}  # fmt: skip
OPERATORS: dict[str, tuple[tuple[str, ...], ...]] = {
    **{f"({{}} {operator} {{}})": (NUMBERS, NUMBERS) for operator in ("+", "-", "*", "/", "%")},
    "({} div {})": (("i8", "i64", "m9", "5"), ("i8", "i64", "m9", "5")),
    "({} + ({}))": (TIMES, ("5",)),
    "(- {})": (NUMBERS,),
    "(+ {})": (NUMBERS,),
    "({} || {})": (TEXTS, TEXTS),
    **{f"({{}} {operator} {{}})": (ANY, ANY) for operator in ("=", "<>", "<", "<=", ">", ">=", "<=>")},
    **{f"({{}} {operator} {{}})": (TEXTS, ("'a%'",)) for operator in ("LIKE", "NOT LIKE", "ILIKE", "RLIKE")},
    "({} LIKE {} ESCAPE '/')": (TEXTS, ("'a/%'",)),
    "({} IN ({}, {}))": (FEW, FEW, FEW),
    "({} NOT IN ({}))": (ANY, ANY),
    "({} BETWEEN {} AND {})": (FEW, FEW, FEW),
    "({} NOT BETWEEN {} AND {})": (TEXTS[:2], TEXTS[:2], TEXTS[:2]),
    "({} AND {})": (CONDITIONS[:2], CONDITIONS[:2]),
    "({} OR {})": (CONDITIONS[:2], CONDITIONS[:2]),
    "(NOT {})": (CONDITIONS,),
    "(({}) IS NOT FALSE)": (CONDITIONS,),
    "(CASE WHEN {} THEN {} END)": (CONDITIONS, ("i32", "m9")),
    "(CASE {} WHEN {} THEN {} ELSE {} END)": (("i32", "m9"), ("i32", "5"), ("i32", "m9"), ("i64", "m9")),
}
# What is NULL of no type to Spark, or gets one from the function alone.
NOTHING = (
    "NULL", "coalesce(NULL, NULL)", "nullif(NULL, i32)", "if(bo, NULL, NULL)", "(CASE WHEN bo THEN NULL END)",
    "greatest(NULL, NULL)", "nvl2(i32, NULL, NULL)", "nullifzero(NULL)", "if(1 / i32 > 1, NULL, NULL)",
)  # fmt: skip


def with_nulls() -> Iterator[list[str]]:
    """The texts of each form: every argument, and every choice of some, a NULL."""
    forms = {f"{name}({', '.join(['{}'] * len(slots))})": slots for name, slots in FORMS.items()}
    for form, slots in (*forms.items(), *OPERATORS.items()):
        choices = product((False, True), repeat=len(slots))
        kinds = [[("NULL",) if null else slot for null, slot in zip(c, slots, strict=True)] for c in choices if any(c)]
        texts = [form.format(*arguments) for kind in kinds for arguments in product(*kind)]
        yield [text for text in texts if not text.startswith("(CASE WHEN NULL")]  # which Spark refuses


def test_every_function_meets_a_null() -> None:
    """The forms above are all there are, but for casts."""
    assert set(FORMS) == set(names()) - {"cast", "try_cast"} | {"if"}


def test_types_and_values_of_nulls_are_spark_s(spark: "SparkSession") -> None:
    """In every function, with ANSI mode on and off, in three zones; and none of it is left to Spark."""
    rng = random.Random(16)
    rows = Rows.of(spark, *table())
    texts = [text for each in with_nulls() for text in rng.sample(each, min(examples(3), len(each)))]
    result = compare(spark, rows, texts)
    assert not result.wrong, "\n".join(result.wrong[:20])
    assert not [text for text in result.opaque if not isinstance(_bound(text), Fixed)]
    some = [rng.choice(each) for each in with_nulls()]
    zoned = compare(spark, rows, some, ZONES[1:])
    assert not zoned.wrong, "\n".join(zoned.wrong[:20])
    assert result.compared > 10_000


def test_nulls_inside_each_other_are_spark_s(spark: "SparkSession") -> None:
    """What has no type has none until it meets one, and beside it nothing is computed that could fail."""
    rng = random.Random(17)
    rows = Rows.of(spark, *table())
    nested: set[str] = set()
    forms = list(with_nulls())
    while len(nested) < examples(60):
        nested.add(rng.choice(rng.choice(forms)).replace("NULL", rng.choice(NOTHING)))
    result = compare(spark, rows, sorted(nested), ansi=(True,))
    assert not result.wrong, "\n".join(result.wrong[:20])


# --- without Spark ----------------------------------------------------------------------------------------------------


def _column(column: Column) -> Reference:
    name = column.parts[-1]
    return Reference(list(COLUMNS).index(name) + 1, name, COLUMNS[name][0])


def _bound(text: str) -> Argument | None:
    tokens = tokenize(text)
    operand = operand_of(tokens, 0, len(tokens), "UTC")
    assert operand is not None, text
    return bind_operand(operand, _column, "UTC")


@pytest.mark.parametrize("text", NOTHING)
def test_a_null_of_no_type(text: str) -> None:
    """A choice among NULLs takes the type of what it meets, as they would."""
    assert _bound(text) == UNTYPED
    assert _bound(f"coalesce({text}, m9)") == _bound("coalesce(NULL, m9)")


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("(- NULL)", DOUBLE),
        ("abs(NULL)", DOUBLE),
        ("floor(NULL)", INT64),
        ("NULL + NULL", DOUBLE),
        ("NULL div NULL", INT64),
        ("try_multiply(NULL, 127)", INT32),
        ("NULL + 1.50", DecimalType(4, 2)),
        ("NULL * 1.50", DecimalType(7, 4)),
        ("NULL / 1.50", DOUBLE),
        ("1.50 / NULL", DecimalType(9, 6)),
        ("round(m9, NULL)", DecimalType(8, 0)),
        ("st LIKE NULL", BOOLEAN),
        ("NULL RLIKE st", BOOLEAN),
        ("NULL = NULL", BOOLEAN),
        ("NULL NOT BETWEEN 1 AND NULL", BOOLEAN),
        ("db IN (NULL)", BOOLEAN),
        ("da + NULL", TIMESTAMP),
        ("date_trunc(NULL, da)", TIMESTAMP),
        ("unix_date(NULL)", INT32),
        ("trunc(da, NULL)", DATE),
        ("trim(trim(NULL))", STRING),
    ],
)
def test_a_null_gets_the_type_of_its_place(text: str, type_: AtomicType) -> None:
    """Also where nothing stands beside it that has a type."""
    value = _bound(text)
    assert not isinstance(value, Reference | None)
    assert getattr(value, "type", None) == type_


def test_where_a_null_is_no_null() -> None:
    """Functions that answer NULL with something else."""
    assert _bound("isnan(NULL)") == Fixed(False, BOOLEAN)
    assert _bound("locate('a', st, NULL)") == Fixed(0, INT32)
    assert _bound("zeroifnull(NULL)") == Fixed(0, INT32)
    assert _bound("greatest(NULL, 5, NULL)") == Fixed(5, INT32)


@pytest.mark.parametrize(
    "text",
    [
        "try_add(NULL, i32 + i32) > 5",
        "try_cast('x' AS INT) < i32 * i32",
        "i32 % CASE WHEN 5 IS NULL THEN i32 END = 1",
        "nullif(i32, i32) < i32 * i32",
        "try_multiply(i32, i32) + abs(i32) > 5",
    ],
)
def test_what_stands_behind_a_null_is_not_computed(spark: "SparkSession", text: str) -> None:
    """Of two operands Spark computes the first, and of a division the divisor: if that is NULL, nothing can fail."""
    rows = Rows.of(spark, *table())
    result = compare(spark, rows, [text])
    assert not result.wrong
    value = rows.value(text, "UTC")
    assert value is not None
    outcomes, unsure = rows.ours(value)
    assert not unsure.any()
    assert None in outcomes


def test_what_is_computed_before_a_null_may_fail() -> None:
    """A sum that overflows is computed before the NULL that follows it, where that is not the same for every row."""
    number, other = _column(Column(("i32",))), _column(Column(("i64",)))
    columns = {number.id: pa.array([2**31 - 1, 1], pa.int32()), other.id: pa.array([None, None], pa.int64())}
    value = _bound("(i32 + i32) + i64")
    assert isinstance(value, Call)
    found = evaluate(value, columns, 2)
    assert found.unsure is not None
    assert found.unsure.tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("CASE WHEN 5 IS NULL THEN i64 WHEN 'a' LIKE 'a%' THEN i32 ELSE i64 END", "CAST(i32 AS BIGINT)"),
        ("CASE WHEN 5 IS NULL THEN i32 END", "CAST(NULL AS INT)"),
        ("if(lower('A') = 'a', i32, CAST('x' AS INT))", "i32"),
        ("upper(concat('a', 'b'))", "'AB'"),
        ("(i32 % i32 IS NULL) IS NULL", "false"),
        ("coalesce(i32 % i32, 5) IS NULL", "false"),
        ("1 / 0 IS NULL", "1 / 0 IS NULL"),
    ],
)
def test_what_needs_no_column_is_computed_once(text: str, same: str) -> None:
    """As Spark does it; not what fails."""
    assert _bound(text) == _bound(same)
