"""Binding: each conversion Spark makes before it compares, said in the column's own type."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from coalesce.errors import PredicateError
from coalesce.model.schema import Schema
from coalesce.model.types import (
    INT32,
    INT64,
    PRIMITIVES,
    STRING,
    AtomicType,
    DecimalType,
    Field,
    ListType,
    StructType,
)
from coalesce.model.values import order_key
from coalesce.predicate.bind import bind
from coalesce.predicate.coercion import cast_value, common_type
from coalesce.predicate.expr import (
    FALSE,
    NULL,
    And,
    Bound,
    Column,
    Comparison,
    Computed,
    Expr,
    InRange,
    IsNull,
    Literal,
    Membership,
    Not,
    NullTest,
    Opaque,
    Operator,
    Or,
)
from coalesce.predicate.ranges import with_prefix
from coalesce.predicate.render import to_sql
from coalesce.predicate.scalar.nodes import Reference
from coalesce.predicate.sql.parse import parse
from tests.predicate.reference import outcome
from tests.strategies import atomic_types, values

MONEY = DecimalType(9, 2)
COLUMNS: dict[str, AtomicType] = {
    **PRIMITIVES,
    "money": MONEY,
    "wide": DecimalType(38, 10),
    "tiny": DecimalType(38, 38),
}
SCHEMA = Schema(
    (
        *(Field(id=i, name=name, type=type_) for i, (name, type_) in enumerate(COLUMNS.items(), 1)),
        Field(
            id=50,
            name="st",
            type=StructType((Field(id=51, name="string", type=STRING), Field(id=52, name="x", type=INT32))),
        ),
        Field(id=53, name="li", type=ListType(Field(id=54, name="element", type=INT32))),
    )
)


def bound(text: str, time_zone: str = "UTC") -> Bound:
    """The text bound to the test's columns, which are called after their types."""
    return bind(parse(text, time_zone=time_zone), SCHEMA, time_zone=time_zone, text=text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # integers against wider integers, decimals, doubles and text
        ("int8 = 5", "int8 = 5Y"),
        ("int8 = 300", "int8 <> int8"),
        ("int8 < 300", "int8 = int8"),
        ("int8 > 300L", "int8 <> int8"),
        ("int32 <> 3000000000", "int32 = int32"),
        ("int32 = 5.0", "int32 = 5"),
        ("int32 = 5.5", "int32 <> int32"),
        ("int32 > 5.5", "int32 >= 6"),
        ("int32 >= 5.5", "int32 >= 6"),
        ("int32 < 5.5", "int32 < 6"),
        ("int32 <= -5.5", "int32 < -5"),
        ("int32 > 5.0BD", "int32 > 5"),
        ("int32 = 5e0", "int32 = 5"),
        ("int32 < 1e300", "int32 = int32"),
        ("int32 > CAST('NaN' AS DOUBLE)", "int32 <> int32"),
        ("int32 < CAST('NaN' AS DOUBLE)", "int32 = int32"),
        ("int32 = '5'", "int32 = 5"),
        ("int32 = '3000000000'", "int32 <> int32"),
        ("int64 = 9007199254740993D", "int64 >= 9007199254740992L AND int64 <= 9007199254740993L"),
        ("int64 > 9007199254740993D", "int64 >= 9007199254740994L"),
        ("int64 <> 1.5F", "int64 = int64"),
        # floats: always as doubles unless the literal is a float
        ("float = 0.1F", "float = CAST('0.1' AS FLOAT)"),
        ("float = 0.1", "float <> float"),
        ("float > 0.1D", "float >= CAST('0.1' AS FLOAT)"),
        ("float = 16777217", "float <> float"),
        (
            "float >= 16777217",
            f"float >= CAST('{np.float32(16777218)!s}' AS FLOAT)",
        ),  # NumPy releases write it differently
        ("float = '1.5'", "float = CAST('1.5' AS FLOAT)"),
        ("double = 0.1", "double = 0.1D"),
        ("double = 9007199254740993", "double = 9007199254740992.0D"),
        ("double = -0.0D", "double = 0.0D"),
        ("double > CAST('NaN' AS DOUBLE)", "double > CAST('NaN' AS DOUBLE)"),
        ("isnan(double)", "double IS NOT NULL AND double = CAST('NaN' AS DOUBLE)"),
        # decimals
        ("money = 5", "money = 5.00BD"),
        ("money = 1.5", "money = 1.50BD"),
        ("money = 1.555", "money <> money"),
        ("money > 1.555", "money >= 1.56BD"),
        ("money < 99999999999999999999", "money = money"),
        ("money = 1.5D", "money = 1.50BD"),
        ("money < 0.1D", "money < 0.10BD"),
        ("money = '1.5'", "money = 1.50BD"),
        ("wide = 5", "wide = 5.0000000000BD"),
        # text, binary, boolean
        ("string = 'it''s'", "string = 'it\\'s'"),
        ("string LIKE 'ab%'", "string >= 'ab' AND string < 'ac'"),
        ("string LIKE 'ab'", "string = 'ab'"),
        ("string LIKE '%'", "string = string"),
        ("binary = 'ab'", "binary = X'6162'"),
        ("boolean", "boolean = true"),
        ("NOT boolean", "boolean <> true"),
        ("boolean = 'yes'", "boolean = true"),
        ("boolean < true", "boolean < true"),
        # dates and times
        ("date = '2026-05-17'", "`date` = DATE '2026-05-17'"),
        ("date > TIMESTAMP '2026-05-17 00:00:01'", "`date` >= DATE '2026-05-18'"),
        ("date >= TIMESTAMP_NTZ '2026-05-17 00:00:00'", "`date` >= DATE '2026-05-17'"),
        ("timestamp >= '2026-05-17'", "`timestamp` >= TIMESTAMP '2026-05-17T00:00:00Z'"),
        ("timestamp < DATE '2026-05-17'", "`timestamp` < TIMESTAMP '2026-05-17T00:00:00Z'"),
        ("timestamp = TIMESTAMP_NTZ '2026-05-17 08:30:00'", "`timestamp` = TIMESTAMP '2026-05-17T08:30:00Z'"),
        ("timestamp_ntz = '2026-05-17 08:30'", "`timestamp_ntz` = TIMESTAMP_NTZ '2026-05-17T08:30:00'"),
        ("timestamp_ntz = DATE '2026-05-17'", "`timestamp_ntz` = TIMESTAMP_NTZ '2026-05-17T00:00:00'"),
        (
            "CAST(timestamp AS DATE) = '2026-05-17'",
            (
                "`timestamp` >= TIMESTAMP '2026-05-17T00:00:00Z' "
                "AND `timestamp` <= TIMESTAMP '2026-05-17T23:59:59.999999Z'"
            ),
        ),
        # before 1970 a day is below its moments too, not above them
        ("date = CAST(TIMESTAMP '1969-12-31 23:59:59' AS DATE)", "`date` = DATE '1969-12-31'"),
        ("date = CAST(TIMESTAMP '1969-12-31 00:00:00' AS DATE)", "`date` = DATE '1969-12-31'"),
        ("date > CAST(TIMESTAMP_NTZ '1582-10-15 00:00:01' AS DATE)", "`date` > DATE '1582-10-15'"),
        ("date > TIMESTAMP '1969-12-30 00:00:01'", "`date` >= DATE '1969-12-31'"),
        # casts that Catalyst prints
        ("CAST(int32 AS BIGINT) = 5L", "int32 = 5"),
        ("CAST(int32 AS DOUBLE) > 5.5D", "int32 >= 6"),
        ("CAST(CAST(int8 AS DECIMAL(3,0)) AS DECIMAL(4,1)) > 5.5BD", "int8 >= 6Y"),
        ("CAST(float AS DOUBLE) = 1.5D", "float = CAST('1.5' AS FLOAT)"),
        ("CAST(int32 AS BIGINT) IS NULL", "int32 IS NULL"),
        # NULL
        ("int32 = NULL", "CAST(NULL AS BOOLEAN)"),
        ("int32 <=> NULL", "int32 IS NULL"),
        ("int32 <=> 5", "int32 IS NOT NULL AND int32 = 5"),
        ("int32 IN (1, NULL)", "int32 = 1 OR CAST(NULL AS BOOLEAN)"),
        ("int32 NOT IN (1, NULL)", "NOT (int32 = 1 OR CAST(NULL AS BOOLEAN))"),
        ("int32 IN (NULL)", "int32 <> int32 OR CAST(NULL AS BOOLEAN)"),
        # lists
        ("int32 IN (3, 1, 2, 1)", "int32 IN (1, 2, 3)"),
        ("int32 IN (1, 2.5, 3.0, 99999999999)", "int32 IN (1, 3)"),
        ("double IN (0.0D, -0.0D, 'NaN')", "double IN (0.0D, CAST('NaN' AS DOUBLE))"),
        ("int64 IN ('9007199254740993', 1.5)", "int64 = 9007199254740993L"),
        ("int64 IN (1.5, '9007199254740993')", "int64 >= 9007199254740992L AND int64 <= 9007199254740993L"),
        ("date IN ('2026-05-17', TIMESTAMP '2026-05-18 00:00:00')", "`date` IN (DATE '2026-05-17', DATE '2026-05-18')"),
    ],
)
def test_conversion(text: str, expected: str) -> None:
    """A comparison, and what it says about the column's own values."""
    assert to_sql(bound(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "string = 5",  # Spark converts the column, row by row
        "string = DATE '2026-05-17'",
        "string IN ('a', 5)",
        "binary = 5",
        "boolean = 1",
        "date = 5",  # Spark refuses
        "timestamp = 'now'",
        "int32 = ' 5 '",
        "int32 = 'five'",
        "int32 = '5.0'",
        "boolean = 'maybe'",
        "tiny = 1.5",  # more than 38 digits: Spark rounds
        "int32 < 99999999999999999999",  # to Spark this is TRUE, of NULL too
        "double IN (1.0, NULL)",  # of NaN, Spark says NULL or FALSE by the length of the list
        "CAST(string AS INT) = 5",
        "CAST(int64 AS INT) = 5",
        "CAST(double AS INT) = 5",
        "CAST(int32 AS STRING) = '5'",
        "CAST(string AS INT) IS NULL",
        "int32 LIKE '5'",
        "startswith(binary, 'a')",
        "isnan(int32)",
        "int32",
        "string",
        "st.x = 5",
        "st.string = 'a'",
        "t.st.x = 5",
        "st.string IS NULL",
        "li = 5",
        "string = 'x' COLLATE UTF8_LCASE",
        "current_date = date",
        "current_user = 'me'",
    ],
)
def test_not_certain_is_no_range(text: str) -> None:
    """Where Spark converts the column, refuses or rounds, the condition is no range of the column's own values."""
    expr = bound(text)
    assert isinstance(expr, Opaque | Computed)
    assert expr.text == text


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("date = '2026-5-7'", "date = '2026-05-07'"),
        ("date = '2026-05-17 00:00:00'", "date = '2026-05-17'"),
        ("timestamp_ntz = '2026-05-17 08:30:00Z'", "timestamp_ntz = '2026-05-17 08:30:00'"),
        ("double = '1.5f'", "double = 1.5D"),
        ("CASE WHEN 'ab' RLIKE '^a' THEN boolean ELSE false END", "boolean"),
        ("wide = 0.00000000001", "wide = 0.0"),  # more than 38 digits: Spark rounds
    ],
)
def test_texts_that_spark_reads_in_its_own_way(text: str, same: str) -> None:
    """Spark takes more for a date, a time, a number or a condition than people should write."""
    assert bound(text) == bound(same)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("soundex(string) = int32", {"string", "int32"}),
        ("string = 5", {"string"}),
        ("st.x = 5", {"st"}),
        ("lower(st.string) = 'a'", {"st", "string"}),  # which of the two is not ours to say
        ("exists(li, x -> x > int32)", None),
        ("collate(string, SOME_COLLATION) = 'a'", None),
        ("rand() > 0.5", set()),
    ],
)
def test_columns_of_opaque(text: str, names: set[str] | None) -> None:
    """An Opaque condition tells which columns it reads, or that it does not know; never too few."""
    expr = bound(text)
    assert isinstance(expr, Opaque)
    assert expr.columns == (None if names is None else frozenset(SCHEMA.field(name).id for name in names))


def test_qualified_names() -> None:
    """Qualifiers are dropped, in any case; a struct's member is not taken for the column of the same name."""
    assert bound("spark_catalog.default.t.INT32 = 5") == bound("int32 = 5")
    assert bound("t.int32 = 5") == bound("int32 = 5")
    assert isinstance(bound("st.string = 'a'"), Opaque)


def test_empty_list() -> None:
    """Spark says FALSE to an empty list, even of NULL."""
    assert bind(Membership(Column(("int32",)), ()), SCHEMA) == FALSE


def test_bound_already() -> None:
    """What is bound stays as it is."""
    leaf = IsNull(Reference(4, "int32", INT32))
    assert bind(Or((leaf, NULL)), SCHEMA) == Or((leaf, NULL))


def test_written_without_text() -> None:
    """A condition that came without words gets some when it becomes Opaque."""
    assert bind(Comparison(Column(("string",)), Operator.LT, Literal(5, INT64)), SCHEMA) == Opaque(
        "string < 5L", frozenset({SCHEMA.field("string").id})
    )
    assert bind(NullTest(Column(("st", "x"))), SCHEMA) == Opaque("st.`x` IS NULL", frozenset({50}))


def test_long_chains() -> None:
    """Chains that programs build with & and | are bound whatever their length."""
    expr: Expr = NullTest(Column(("int32",)))
    for i in range(20_000):
        expr = expr | Comparison(Column(("int32",)), Operator.EQ, Literal(i, INT32))
    whole = bind(expr, SCHEMA)
    assert isinstance(whole, Or)
    assert len(whole.parts) == 20_001


# --- time zones -------------------------------------------------------------------------------------------------


def test_days_in_a_region() -> None:
    """A date is midnight in the session's zone, unless that day had no midnight."""
    assert (
        to_sql(bound("timestamp >= DATE '2026-05-17'", "Europe/Berlin"))
        == "`timestamp` >= TIMESTAMP '2026-05-16T22:00:00Z'"
    )
    assert to_sql(bound("timestamp >= DATE '2018-11-04'", "America/Sao_Paulo")).endswith("'2018-11-04T03:00:00Z'")
    assert isinstance(bound("timestamp >= DATE '2018-11-05'", "America/Sao_Paulo"), InRange)
    for text in ("date > TIMESTAMP '2026-05-17 12:00:00'", "CAST(timestamp AS DATE) = '2026-05-17'"):
        assert isinstance(bound(text, "Europe/Berlin"), Computed)  # the column has to be converted
        assert not isinstance(bound(text, "+02:00"), Computed)


# --- laws -------------------------------------------------------------------------------------------------------


@given(st.data())
def test_comparisons_are_what_they_say(data: st.DataObject) -> None:
    """Each operator, bound, answers as comparing in the common type does."""
    column = data.draw(atomic_types())
    literal_type = data.draw(atomic_types() | st.just(column))
    common = common_type(column, literal_type)
    assume(common is not None and literal_type != STRING)
    assert common is not None
    literal = data.draw(values(literal_type, nulls=False))
    held = data.draw(values(column, nulls=False))
    schema = Schema((Field(id=1, name="c", type=column),))
    right = cast_value(literal, literal_type, common, "UTC")
    left = cast_value(held, column, common, "UTC")
    for operator in Operator:
        expr = bind(Comparison(Column(("c",)), operator, Literal(literal, literal_type)), schema)
        if isinstance(expr, Opaque) or left is None:  # a date that no timestamp has: Spark fails on it
            continue
        assert right is not None
        one, other = order_key(common, left), order_key(common, right)
        expected = {
            Operator.EQ: one == other,
            Operator.NE: one != other,
            Operator.LT: one < other,
            Operator.LE: one <= other,
            Operator.GT: one > other,
            Operator.GE: one >= other,
            Operator.NULL_SAFE_EQ: one == other,
        }[operator]
        assert outcome(expr, {1: held}, {}) is expected
        assert outcome(expr, {1: None}, {}) is (False if operator is Operator.NULL_SAFE_EQ else None)


@given(st.text(), st.text())
def test_prefix_is_a_range(prefix: str, rest: str) -> None:
    """A text lies in the prefix's range if and only if it starts with the prefix."""
    column = Reference(1, "c", STRING)
    expr = with_prefix(column, prefix)
    for text in (prefix + rest, rest, rest + prefix, prefix[:-1], prefix[:-1] + rest):
        assert outcome(expr, {1: text}, {}) is text.startswith(prefix)


def test_prefix_at_the_end_of_unicode() -> None:
    """The last characters there are have nothing above them."""
    column = Reference(1, "c", STRING)
    assert with_prefix(column, "a\U0010ffff") == InRange(column, "a\U0010ffff", True, "b", False)
    assert with_prefix(column, "\U0010ffff") == InRange(column, "\U0010ffff", True, None, False)
    assert with_prefix(column, "\ud7ff") == InRange(column, "\ud7ff", True, "\ue000", False)


def test_unknown_without_text() -> None:
    """An unknown column is named even if there is no text to point into."""
    with pytest.raises(PredicateError, match="no column 'nope'"):
        bind(And((NullTest(Column(("nope",))), Not(NULL))), SCHEMA)
