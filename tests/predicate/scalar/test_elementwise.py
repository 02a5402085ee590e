"""Kernels see columns in every shape in which Arrow has them."""

import random

import pyarrow as pa
import pytest

from coalesce.model.columns import whole
from coalesce.model.values import order_key
from coalesce.predicate.scalar.evaluate import evaluate
from coalesce.predicate.scalar.evaluated import spread
from coalesce.predicate.scalar.nodes import Scalar
from tests.predicate.scalar.against_spark import Rows
from tests.predicate.scalar.awkward_numbers import COLUMNS, NUMBERS, table
from tests.predicate.scalar.test_choices import choices
from tests.predicate.scalar.test_conversion import TARGETS
from tests.predicate.scalar.test_numbers import LITERALS, ONE, OPERATORS, TRYING
from tests.support.examples import examples

SCHEMA, TABLE = table()


def texts(rng: random.Random) -> list[str]:
    """Of each kind some."""
    names, count = list(NUMBERS), examples(40)
    casts = [f"{rng.choice(('CAST', 'TRY_CAST'))}({a} AS {t})" for a in COLUMNS for t in TARGETS]
    twos = [
        form.format(a=rng.choice(names), b=rng.choice((*names, *LITERALS)))
        for form in (*OPERATORS, *TRYING)
        for _ in range(9)
    ]
    ones = [form.format(a=a) for form in (*ONE, "round({a}, 1)", "bround({a}, -1)") for a in names]
    chosen = [choices(rng, list(COLUMNS)) for _ in range(count)]
    return [text for kind in (casts, twos, ones, chosen) for text in rng.sample(kind, min(len(kind), count))]


def values() -> list[tuple[str, Scalar]]:
    """What they are, bound."""
    rows = Rows(SCHEMA, TABLE, None)  # type: ignore[arg-type]  # nothing is asked of Spark
    bound = [(text, rows.value(text, "UTC")) for text in texts(random.Random(5))]
    return [(text, value) for text, value in bound if value is not None]


def answers(value: Scalar, rows: pa.Table) -> list[object]:
    """The value at each row, as something that compares; of what is unsure just that."""
    found = evaluate(value, {field.id: whole(rows[field.name]) for field in SCHEMA}, len(rows))
    column = spread(found.values, len(rows))
    assert len(column) == len(rows)
    type_ = value.type
    assert type_ is not None
    unsure = [False] * len(rows) if found.unsure is None else found.unsure.tolist()
    return [
        "unsure" if doubt else None if not one.is_valid else order_key(type_, one.as_py())
        for one, doubt in zip(column, unsure, strict=True)
    ]


@pytest.fixture(scope="module")
def bound() -> list[tuple[str, Scalar]]:
    """Once for all tests."""
    return values()


def test_some_rows_have_the_values_that_all_rows_have(bound: list[tuple[str, Scalar]]) -> None:
    """A slice shares its column's memory, and begins somewhere in it."""
    for text, value in bound:
        everything = answers(value, TABLE)
        assert answers(value, TABLE.slice(13, 50)) == everything[13:63], text


def test_no_rows_and_no_values(bound: list[tuple[str, Scalar]]) -> None:
    """Of no rows there is no value, and columns that are NULL throughout fail nowhere."""
    nothing = TABLE.schema.empty_table()
    nulls = pa.table([pa.nulls(3, field.type) for field in TABLE.schema], schema=TABLE.schema)
    for text, value in bound:
        assert answers(value, nothing) == [], text
        assert len(answers(value, nulls)) == 3, text
