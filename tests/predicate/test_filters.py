"""The filters Spark offers a Python data source."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from coalesce.model.schema import Schema
from coalesce.model.types import INT32, PRIMITIVES, Field, StructType
from coalesce.predicate.bind import bind
from coalesce.predicate.expr import TRUE, Not, Opaque
from coalesce.predicate.filters import from_filter, from_filters
from coalesce.predicate.sql.parse import parse

datasource = pytest.importorskip("pyspark.sql.datasource")

SCHEMA = Schema(
    (
        *(Field(id=i, name=name, type=type_) for i, (name, type_) in enumerate(PRIMITIVES.items(), 1)),
        Field(id=20, name="st", type=StructType((Field(id=21, name="int32", type=INT32),))),
        Field(id=22, name="a.b", type=INT32),
    )
)


def _filter(name: str, *arguments: object) -> Any:
    return getattr(datasource, name)(*arguments)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (_filter("EqualTo", ("string",), "A"), "string = 'A'"),
        (_filter("EqualTo", ("timestamp",), datetime(2026, 1, 1, tzinfo=UTC)), "`timestamp` = TIMESTAMP '2026-01-01'"),
        (_filter("EqualNullSafe", ("int32",), 5), "int32 <=> 5"),
        (_filter("EqualNullSafe", ("int32",), None), "int32 IS NULL"),
        (_filter("GreaterThan", ("int32",), 5), "int32 > 5"),
        (_filter("GreaterThanOrEqual", ("int64",), 2**40), "int64 >= 1099511627776"),
        (_filter("LessThan", ("double",), 0.5), "double < 0.5D"),
        (_filter("LessThanOrEqual", ("int32",), Decimal("1.5")), "int32 <= 1.5"),
        (_filter("In", ("int32",), (1, 2, None)), "int32 IN (1, 2, NULL)"),
        (_filter("IsNull", ("int32",)), "int32 IS NULL"),
        (_filter("IsNotNull", ("int32",)), "int32 IS NOT NULL"),
        (_filter("StringStartsWith", ("string",), "ab"), "startswith(string, 'ab')"),
        (_filter("Not", _filter("In", ("int32",), (1, 2))), "int32 NOT IN (1, 2)"),
        (_filter("Not", _filter("Not", _filter("IsNull", ("int32",)))), "int32 IS NULL"),
        (_filter("EqualTo", ("a.b",), 1), "`a.b` = 1"),
    ],
    ids=str,
)
def test_same_as_sql(given: object, text: str) -> None:
    """A filter is bound to what the same condition in SQL is."""
    assert bind(from_filter(given), SCHEMA) == bind(parse(text), SCHEMA)


def test_all_of_them() -> None:
    """A list of filters means all of them; none at all means every row."""
    given = [_filter("EqualTo", ("int32",), 1), _filter("IsNotNull", ("string",))]
    assert bind(from_filters(given), SCHEMA) == bind(parse("int32 = 1 AND string IS NOT NULL"), SCHEMA)
    assert from_filters([]) == TRUE


@dataclass
class Novelty:
    """A filter of some later Spark."""

    attribute: tuple[str, ...]
    value: object


@pytest.mark.parametrize(
    "given",
    [
        _filter("StringEndsWith", ("string",), "ab"),
        _filter("StringContains", ("string",), "ab"),
        _filter("EqualTo", ("string",), Ellipsis),
        _filter("In", ("string",), ("a", Ellipsis)),
        Novelty(("string",), 1),
        "text",
    ],
    ids=str,
)
def test_unknown_is_opaque(given: object) -> None:
    """What is not understood is kept for Spark, also under Not."""
    assert isinstance(from_filter(given), Opaque)
    assert isinstance(from_filter(_filter("Not", given)), Not)


def test_inside_a_struct() -> None:
    """A struct's member is no column, even if one has its name."""
    assert isinstance(bind(from_filter(_filter("EqualTo", ("st", "int32"), 1)), SCHEMA), Opaque)
