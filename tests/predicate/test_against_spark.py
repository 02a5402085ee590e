"""Spark is asked what it makes of thousands of predicates, row by row; we must never say otherwise."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from coalesce.model.schema import Schema
from coalesce.model.types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, Field
from coalesce.model.values import column_of
from coalesce.predicate.bind import bind
from coalesce.predicate.domains import computed_outcomes, rows_domain
from coalesce.predicate.expr import Asked, Bound, Computed, InSet, Opaque
from coalesce.predicate.normalize import is_plain, normalize, to_sql
from coalesce.predicate.outcomes import ANYTHING, FALSE, NULL, TRUE, Outcomes, possible
from coalesce.predicate.render import literal_sql, sql_type
from coalesce.predicate.scalar.nodes import Reference
from coalesce.predicate.sql.parse import parse
from tests.predicate.spark_predicates import predicates, table
from tests.support.examples import examples
from tests.support.settings import TIME_ZONE, changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = examples(800)
SEED = 20260517
BATCH = 100
MOST_OPAQUE = 0.45

# Interpreted: compiling a hundred expressions takes longer than evaluating them for forty rows.
# And without the rule that would evaluate a local table while planning, and leave no expressions to print.
SETTINGS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
}


@pytest.fixture(scope="module")
def awkward(spark: "SparkSession") -> Iterator["Awkward"]:
    """The table, here and in Spark."""
    with changed(spark, SETTINGS):
        yield Awkward(spark, *table())


class Awkward:
    """A table on both sides, and what either makes of a predicate about it."""

    def __init__(self, spark: "SparkSession", schema: Schema, rows: pa.Table) -> None:
        self.schema = schema
        self.rows = rows
        # The types are named because PySpark would make timestamps of timestamps without a zone.
        self.frame = spark.createDataFrame(rows, ", ".join(f"{f.name} {_sql_type(schema, f.id)}" for f in schema))
        self.domains = {f.id: rows_domain(schema.atomic(f.id), rows[f.name].combine_chunks()) for f in schema}  # type: ignore[arg-type]

    def bound(self, text: str, time_zone: str = "UTC") -> Bound:
        """The predicate in our language."""
        return bind(parse(text, time_zone=time_zone), self.schema, time_zone=time_zone, text=text)

    def ours(self, expr: Bound) -> Outcomes:
        """Our possible outcomes for each row."""

        def leaf(expr: Asked) -> Outcomes:
            if isinstance(expr, Opaque):
                return np.full(len(self.rows), ANYTHING, np.uint8)
            if isinstance(expr, Computed):
                return computed_outcomes(expr, self.domains, len(self.rows))
            return self.domains[expr.column.id].outcomes(expr)

        return possible(expr, leaf, len(self.rows))

    def answers(self, texts: Sequence[str]) -> "list[Answer]":
        """What Spark says to each predicate; one on which it fails is left out."""
        from pyspark.errors import PySparkException

        if not texts:
            return []
        try:
            frame: Any = self.frame.selectExpr(*(f"({text}) AS c{i}" for i, text in enumerate(texts)))
            outcomes = [_bits(column.to_pylist()) for column in frame.toArrow().columns]
        except PySparkException:
            half = len(texts) // 2
            return self.answers(texts[:half]) + self.answers(texts[half:]) if half else []
        plans = frame._jdf.queryExecution()
        analyzed, optimized = plans.analyzed().expressions(), plans.optimizedPlan().expressions()
        return [
            Answer(text, outcomes[i], (analyzed.apply(i).child().sql(), optimized.apply(i).child().sql()))
            for i, text in enumerate(texts)
        ]


def _sql_type(schema: Schema, id_: int) -> str:
    type_ = schema.atomic(id_)
    assert type_ is not None
    return sql_type(type_)


@dataclass(frozen=True)
class Answer:
    """Spark's outcome of a predicate for each row, and the predicate as Catalyst prints it, analysed and optimised."""

    text: str
    outcomes: Outcomes
    printed: tuple[str, str]


def _bits(values: list[bool | None]) -> Outcomes:
    return np.array([{True: TRUE, False: FALSE, None: NULL}[v] for v in values], np.uint8)


def _disagreement(text: str, ours: Outcomes, sparks: Outcomes, bound: Bound) -> list[str]:
    wrong = np.flatnonzero((ours & sparks) == 0)
    return [f"{text}\n  as {to_sql(bound)}\n  row {row}: ours {ours[row]}, Spark's {sparks[row]}" for row in wrong[:1]]


def _is_exact(bound: Bound) -> bool:
    return "Opaque(" not in repr(bound)


def test_outcomes_equal_sparks(awkward: Awkward, capsys: pytest.CaptureFixture[str]) -> None:
    """For eight hundred predicates, every row's outcome is Spark's, also after normalizing and in Catalyst's words."""
    texts = predicates(COUNT, SEED)
    bound = {text: awkward.bound(text) for text in texts}
    judged = [text for text in texts if not isinstance(bound[text], Opaque)]
    answers = [a for start in range(0, len(judged), BATCH) for a in awkward.answers(judged[start : start + BATCH])]
    failed = len(judged) - len(answers)

    wrong: list[str] = []
    for text in judged:  # on all of them: where Spark fails we may say anything, but must say something
        outcomes = awkward.ours(bound[text])
        simplified = awkward.ours(normalize(bound[text]))
        assert not np.any(simplified & ~outcomes), f"normalizing changes {text}"
        if is_plain(bound[text]):
            assert set(outcomes.tolist()) <= {TRUE, FALSE, NULL}, f"not one outcome a row: {text}"
    printed_opaque = skipped = 0
    for answer in answers:
        expr = bound[answer.text]
        wrong += _disagreement(answer.text, awkward.ours(expr), answer.outcomes, expr)
        for printed in answer.printed:
            if "_common_expr_" in printed:
                skipped += 1  # part of it is computed in the plan below
                continue
            again = awkward.bound(printed)
            printed_opaque += isinstance(again, Opaque)
            wrong += _disagreement(f"{answer.text}\n  printed {printed}", awkward.ours(again), answer.outcomes, again)

    opaque = len(texts) - len(judged)
    partly = sum(not _is_exact(bound[text]) for text in judged)
    with capsys.disabled():
        print(  # noqa: T201 - the counts are worth seeing
            f"\n{len(texts)} predicates: {opaque} opaque, {partly} in part, {failed} on which Spark fails; "
            f"{2 * len(answers)} as Catalyst prints them: {printed_opaque} opaque, {skipped} not whole",
            end=" ",
        )
    assert not wrong, f"{len(wrong)} disagree, such as\n" + "\n".join(wrong[:10])
    assert opaque <= MOST_OPAQUE * len(texts)
    assert printed_opaque + skipped <= MOST_OPAQUE * 2 * len(answers)
    assert failed <= 0.05 * len(texts)


# Summer time begins and ends: in Berlin at night, in São Paulo at midnight, so that one day there had no 00:00.
_CHANGES = ("2026-03-29T01:00", "2026-10-25T01:00", "2018-11-04T03:00", "2018-02-18T02:00")
_ZONES = ("Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu", "+05:30", "-03:00", "Etc/UTC")


def _around_changes() -> tuple[Schema, pa.Table]:
    """Instants each quarter of an hour around the changes, as timestamps, wall clocks and dates."""
    quarter, day = 900_000_000, 86_400_000_000
    changes = [int(np.datetime64(c, "us").astype(np.int64)) for c in _CHANGES]
    micros = [c + i * quarter for c in changes for i in range(-16, 17)]
    columns = {"ts": TIMESTAMP, "tn": TIMESTAMP_NTZ, "da": DATE}
    schema = Schema(tuple(Field(id=i, name=name, type=type_) for i, (name, type_) in enumerate(columns.items(), 1)))
    arrays = [
        column_of(TIMESTAMP, micros),
        column_of(TIMESTAMP_NTZ, micros),
        column_of(DATE, [m // day for m in micros]),
    ]
    return schema, pa.table(arrays, names=list(columns))


def _zone_predicates() -> Iterator[str]:
    for change in _CHANGES:
        date, hour = change[:10], int(change[11:13])
        for clock in (
            "00:00:00",
            "00:30:00",
            "01:59:59.999999",
            "02:00:00",
            "02:30:00",
            "03:00:00",
            f"{hour:02}:15:00",
        ):
            yield f"ts >= '{date} {clock}'"
            yield f"ts = TIMESTAMP '{date} {clock}'"
            yield f"ts < TIMESTAMP '{date}T{clock}+01:00'"
            yield f"ts <= TIMESTAMP_NTZ '{date} {clock}'"
            yield f"tn > TIMESTAMP '{date} {clock}'"
            yield f"tn <= '{date} {clock}'"
            yield f"da < TIMESTAMP '{date} {clock}'"
            yield f"da >= TIMESTAMP_NTZ '{date} {clock}'"
        yield f"ts >= DATE '{date}'"
        yield f"ts IN (DATE '{date}', '{date} 02:30:00')"
        yield f"CAST(ts AS DATE) = '{date}'"
        yield f"date(tn) <> '{date}'"
        yield f"CAST(da AS TIMESTAMP) > '{date} 00:30:00'"


@pytest.mark.parametrize("zone", _ZONES)
def test_session_time_zones(awkward: Awkward, spark: "SparkSession", zone: str) -> None:
    """Text, dates and wall clocks mean the instants Spark takes them for, also where clocks are put forward or back."""
    del awkward  # for its settings
    around = Awkward(spark, *_around_changes())  # under UTC: PySpark fails to make a table of times that come twice
    with changed(spark, {TIME_ZONE: zone}):
        answers = around.answers(list(_zone_predicates()))
    wrong: list[str] = []
    opaque = 0
    for answer in answers:
        for text in (answer.text, *answer.printed):
            expr = around.bound(text, zone)
            opaque += isinstance(expr, Opaque)
            wrong += _disagreement(f"{answer.text}\n  as {text}", around.ours(expr), answer.outcomes, expr)
    assert not wrong, f"{len(wrong)} disagree, such as\n" + "\n".join(wrong[:10])
    assert len(answers) == len(list(_zone_predicates()))
    assert opaque <= MOST_OPAQUE * 3 * len(answers)


def test_strings_survive_catalyst(awkward: Awkward) -> None:
    """Whatever a string holds, Catalyst prints it and we read it back."""
    rng = random.Random(SEED)
    alphabet = "ab'\"\\`%_\n\t\0\x1aéß🙂\u2028 -/*x0u"
    strings = ["".join(rng.choices(alphabet, k=rng.randint(0, 8))) for _ in range(300)]
    texts = [f"st = {literal_sql(STRING, string)}" for string in strings]
    answers = awkward.answers(texts)
    assert len(answers) == len(texts)
    for string, answer in zip(strings, answers, strict=True):
        for text in (answer.text, *answer.printed):
            assert awkward.bound(text) == InSet(Reference(11, "st", STRING), (string,)), text
