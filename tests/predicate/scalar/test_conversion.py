"""CAST and TRY_CAST between all plain types, and the types in which values meet."""

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT8,
    INT32,
    INT64,
    STRING,
    AtomicType,
    DecimalType,
)
from coalesce.predicate.scalar.conversion import convert, monotone, together, try_convert
from coalesce.predicate.scalar.nodes import Call, Fixed, Reference
from coalesce.predicate.scalar.number_texts import java_text
from tests.predicate.scalar.against_spark import Rows, compare
from tests.predicate.scalar.awkward_numbers import COLUMNS, table
from tests.predicate.scalar.bounds import check_bounds
from tests.support.examples import examples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TARGETS = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "BINARY", "DECIMAL(1,0)",
    "DECIMAL(3,3)", "DECIMAL(9,2)", "DECIMAL(18,0)", "DECIMAL(18,9)", "DECIMAL(19,4)", "DECIMAL(38,0)",
    "DECIMAL(38,10)", "DECIMAL(38,37)",
)  # fmt: skip


def test_values_are_converted_as_spark_converts_them(spark: "SparkSession") -> None:
    """Every type to every other; what fails in ANSI mode, or is something else without it, is unsure."""
    every = [f"{cast}({name} AS {target})" for name in COLUMNS for target in TARGETS for cast in ("CAST", "TRY_CAST")]
    sample = random.Random(16).sample(every, min(len(every), examples(130)))
    always = [f"{cast}(st AS {target})" for cast in ("CAST", "TRY_CAST") for target in TARGETS[:8]]
    result = compare(spark, Rows.of(spark, *table()), [*always, *sample])
    assert not result.wrong, "\n".join(result.wrong[:20])
    assert result.compared > 30_000


def test_converted_twice_is_converted_twice(spark: "SparkSession") -> None:
    """What one conversion makes unsure, another does not make sure; what TRY_CAST makes NULL, it may."""
    names = [name for name in COLUMNS if name != "by"]
    rng = random.Random(17)
    texts = [
        f"{cast}(CAST({rng.choice(names)} AS {rng.choice(TARGETS)}) AS {rng.choice(TARGETS)})"
        for cast in ("CAST", "TRY_CAST")
        for _ in range(examples(25))
    ]
    result = compare(spark, Rows.of(spark, *table()), texts)
    assert not result.wrong, "\n".join(result.wrong[:20])


@pytest.mark.parametrize(
    ("types", "common"),
    [
        ((INT8, INT64), INT64),
        ((INT64, FLOAT), DOUBLE),
        ((STRING, INT8), INT64),
        ((STRING, DecimalType(9, 2)), DOUBLE),
        ((STRING, BOOLEAN), BOOLEAN),
        ((STRING, BINARY), BINARY),
        ((INT64, DecimalType(9, 2)), DecimalType(22, 2)),
        ((DecimalType(38, 0), DecimalType(22, 5)), DecimalType(38, 0)),
        ((DecimalType(38, 10), DecimalType(38, 37)), DecimalType(38, 10)),
        ((BOOLEAN, INT32), None),
        ((BINARY, INT32), None),
    ],
)
def test_two_types_meet_in_one(types: tuple[AtomicType, AtomicType], common: AtomicType | None) -> None:
    """Texts become what they meet; decimals that are too long for both lose digits after the point."""
    same = together([Reference(i, f"c{i}", type_) for i, type_ in enumerate(types)], "UTC")
    assert (None if same is None else {value.type for value in same}) == (None if common is None else {common})


def test_fixed_values_are_converted_at_once() -> None:
    """What would fail is left to fail where it is needed, and NULL has whatever type is wanted."""
    assert convert(Fixed(" 5 ", STRING), INT32, "UTC") == Fixed(5, INT32)
    assert convert(Fixed(None, None), DATE, "UTC") == Fixed(None, DATE)
    assert isinstance(convert(Fixed("five", STRING), INT32, "UTC"), Call)
    assert try_convert(Fixed("five", STRING), INT32, "UTC") == Fixed(None, INT32)
    assert convert(Fixed(b"a", BINARY), INT32, "UTC") is None


@pytest.mark.parametrize(
    ("value", "text", "certain"),
    [
        (1.0, "1.0", True),
        (-0.0, "-0.0", True),
        (1e7, "1.0E7", True),
        (9999999.0, "9999999.0", True),
        (0.001, "0.001", True),
        (0.00012, "1.2E-4", True),
        (123456.789, "123456.789", True),
        (0.1 + 0.2, "0.30000000000000004", False),
        (2e23, "2.0E23", False),  # 1.9999999999999998E23 before Java 19
        (float("-inf"), "-Infinity", True),
    ],
)
def test_doubles_are_written_as_java_writes_them(value: float, text: str, certain: bool) -> None:
    """With an exponent from ten millions on and below a thousandth; in doubt where versions of Java differ."""
    assert java_text(np.float64(value), DOUBLE) == (text, certain)


def test_what_lies_between_two_values_stays_between_them() -> None:
    """Where a conversion is said to be monotone."""
    types = list(dict.fromkeys(type_ for type_, _ in COLUMNS.values()))
    calls = [convert(Reference(1, "a", one), other, "UTC") for one in types for other in types]
    said = check_bounds([call for call in calls if isinstance(call, Call)], monotone, random.Random(3))
    assert said > 100
