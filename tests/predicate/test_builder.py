"""Predicates built in Python mean what the same words mean in SQL."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from coalesce.errors import PredicateError
from coalesce.model.schema import Schema
from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT32,
    INT64,
    PRIMITIVES,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
    DecimalType,
    Field,
    Value,
)
from coalesce.predicate.bind import bind
from coalesce.predicate.builder import Term, col, literal
from coalesce.predicate.expr import Column, Expr, Literal
from coalesce.predicate.sql.parse import parse

SCHEMA = Schema(
    (
        *(Field(id=i, name=name, type=type_) for i, (name, type_) in enumerate(PRIMITIVES.items(), 1)),
        Field(id=20, name="money", type=DecimalType(9, 2)),
        Field(id=21, name="a.b", type=INT32),
    )
)


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (col("string") == "A", "string = 'A'"),
        (col("string") != "A", "string <> 'A'"),
        (col("int32") < 5, "int32 < 5"),
        (col("int32") <= 5, "int32 <= 5"),
        (col("int32") > 3_000_000_000, "int32 > 3000000000"),
        (col("int32") >= 5, "int32 >= 5"),
        (5 < col("int32"), "int32 > 5"),  # noqa: SIM300 - either way round
        (col("double") == 0.1, "double = 0.1D"),
        (col("float") == 0.1, "float = 0.1D"),
        (col("money") < Decimal("1.555"), "money < 1.555"),
        (col("boolean") == True, "boolean = true"),  # noqa: E712 - that is what users write
        (col("binary") == b"\x0a", "binary = X'0A'"),
        (col("date") == date(2026, 5, 17), "`date` = DATE '2026-05-17'"),
        (col("timestamp") > datetime(2026, 5, 17, 8, tzinfo=UTC), "`timestamp` > TIMESTAMP '2026-05-17 08:00:00Z'"),
        (col("timestamp_ntz") > datetime(2026, 5, 17, 8), "timestamp_ntz > TIMESTAMP_NTZ '2026-05-17 08:00:00'"),
        (col("int32").isin(1, 2, None), "int32 IN (1, 2, NULL)"),
        (col("int32").isin([1, 2]), "int32 IN (1, 2)"),
        (col("string").isin("ab"), "string IN ('ab')"),
        (col("int32").between(1, 9), "int32 BETWEEN 1 AND 9"),
        (col("string").startswith("ab"), "startswith(string, 'ab')"),
        (col("string").is_null(), "string IS NULL"),
        (col("string").is_not_null(), "string IS NOT NULL"),
        (col("double").is_nan(), "isnan(double)"),
        (col("int32").eq_null_safe(5), "int32 <=> 5"),
        (col("int32").eq_null_safe(None), "int32 <=> NULL"),
        (col("`a.b`") == 1, "`a.b` = 1"),
        (col("ev.string") == "A", "ev.string = 'A'"),
        (col("int32") == col("int64"), "int32 = int64"),
        (col("int32") + 1 > col("int64"), "(int32 + 1) > int64"),
        (1 - col("int32") * 2 < 5, "(1 - (int32 * 2)) < 5"),
        (col("int32") / 2 >= col("double") % 3, "(int32 / 2) >= (double % 3)"),
        (-col("int32") == 5, "(- int32) = 5"),
        (col("string").lower() == "a", "lower(string) = 'a'"),
        (col("string").upper().trim().isin("A", col("string")), "trim(upper(string)) IN ('A', string)"),
        (col("string").like("S_N"), "string LIKE 'S_N'"),
        (col("string").like("50!%", "!"), "string LIKE '50!%' ESCAPE '!'"),
        (col("string").rlike("^a+b"), "string RLIKE '^a+b'"),
        (col("string").substring(2, 3).startswith("a"), "startswith(substring(string, 2, 3), 'a')"),
        (col("string").endswith("z") | col("string").contains("y"), "endswith(string, 'z') OR contains(string, 'y')"),
        (col("string").length() > 3, "length(string) > 3"),
        (col("string").cast("bigint") == 5, "CAST(string AS BIGINT) = 5"),
        (col("string").try_cast("int64") == 5, "TRY_CAST(string AS BIGINT) = 5"),
        (col("date").year() == 2026, "year(`date`) = 2026"),
        (col("date").date_add(3) > date(2026, 5, 17), "date_add(`date`, 3) > DATE '2026-05-17'"),
        (col("date") + timedelta(days=1) > date(2026, 5, 17), "`date` + INTERVAL '1' DAY > DATE '2026-05-17'"),
        (col("timestamp").date_trunc("month").is_null(), "date_trunc('month', `timestamp`) IS NULL"),
        (col("string").coalesce("none") == "none", "coalesce(string, 'none') = 'none'"),
        (col("int32").call("greatest", col("int64"), 0) > 3, "greatest(int32, int64, 0) > 3"),
        (col("money").round(1).abs().between(1, 2), "abs(round(money, 1)) >= 1 AND abs(round(money, 1)) <= 2"),
        ((col("int32") == 1) & (col("string") == "A"), "int32 = 1 AND string = 'A'"),
        ((col("int32") == 1) | ~(col("string") == "A"), "int32 = 1 OR NOT string = 'A'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_same_as_sql(built: Expr, text: str) -> None:
    """Both ways to say it are bound to the same expression."""
    assert bind(built, SCHEMA) == bind(parse(text), SCHEMA)


@pytest.mark.parametrize(
    ("value", "type_", "inside"),
    [
        (True, BOOLEAN, True),
        (5, INT32, 5),
        (2**31, INT64, 2**31),
        (2**63, DecimalType(19, 0), Decimal(2**63)),
        (1.5, DOUBLE, 1.5),
        (Decimal("1.50"), DecimalType(3, 2), Decimal("1.50")),
        ("A", STRING, "A"),
        (b"A", BINARY, b"A"),
        (bytearray(b"A"), BINARY, b"A"),
        (date(1970, 1, 2), DATE, 1),
        (datetime(1970, 1, 1, 0, 0, 1), TIMESTAMP_NTZ, 1_000_000),
        (datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), TIMESTAMP, 0),
        (np.int64(5), INT32, 5),
        (np.float32(0.5), DOUBLE, 0.5),
        (np.bool_(True), BOOLEAN, True),
        (None, None, None),
    ],
)
def test_types_of_python_values(value: object, type_: AtomicType | None, inside: Value) -> None:
    """Values get Spark's types, the smallest that holds them for integers."""
    assert literal(value) == Literal(inside, type_)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: col("a").call("lowr"), "there is no function 'lowr' here; did you mean 'lower'"),
        (lambda: col("a").cast("strnig"), "there is no type 'strnig'"),
        (lambda: col("a") // 2, "rounds down in Python"),
        (lambda: col("a") == None, "use is_null"),  # noqa: E711 - that is the mistake
        (lambda: col("a") < None, "use is_null"),
        (lambda: col("a") == object(), "cannot be compared with a column"),
        (lambda: col("a") == "\ud800", "surrogate"),
        (lambda: col("a") == 10**40, "cannot be compared"),
        (lambda: col(""), "not a column's name"),
        (lambda: col("a..b"), "not a column's name"),
        (lambda: col("`a"), "not a column's name"),
    ],
)
def test_refused(build: Callable[[], Any], message: str) -> None:
    """What cannot be meant is an error that says what to write."""
    with pytest.raises(PredicateError, match=message):
        build()


def test_no_truth_value() -> None:
    """`and`, `or`, `not` and `if` on predicates are caught: they would silently mean something else."""
    with pytest.raises(PredicateError, match="combine predicates with"):
        print((col("a") == 1) and (col("b") == 2))  # noqa: T201 - never gets there
    with pytest.raises(PredicateError, match="compare it"):
        assert not col("a")


def test_names() -> None:
    """A name is split at its dots; back-quotes keep them."""
    assert col("a.b").operand == Column(("a", "b"))
    assert col("`a.b`").operand == Column(("a.b",))
    assert isinstance(col("a"), Term)
