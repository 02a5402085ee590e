"""Predicates with functions, as people write them and as Catalyst prints them: never another outcome than Spark's."""

from typing import TYPE_CHECKING

import numpy as np
import pytest

from coalesce.predicate.expr import Opaque
from coalesce.predicate.outcomes import ANYTHING
from tests.predicate.scalar.generated import Generator
from tests.predicate.spark_predicates import table
from tests.predicate.test_against_spark import SETTINGS, Awkward
from tests.support.examples import examples
from tests.support.settings import TIME_ZONE, changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = examples(50)
BATCH = 50
ZONES = ("UTC", "America/New_York", "Asia/Kolkata")
ANSI = "spark.sql.ansi.enabled"
MOST_OPAQUE = 0.05


@pytest.mark.parametrize(("zone", "ansi"), [(ZONES[0], True), (ZONES[0], False), (ZONES[1], True), (ZONES[2], False)])
def test_outcomes_are_sparks(spark: "SparkSession", zone: str, ansi: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """Where we say what a condition comes to, Spark says the same: of the text, and, in ANSI mode and without it, of
    what Catalyst prints of it.
    """
    texts = Generator(f"{zone} {ansi}").predicates(COUNT)
    rows = Awkward(spark, *table())
    wrong: list[str] = []
    opaque = failed = unsure = total = 0
    with changed(spark, {**SETTINGS, TIME_ZONE: zone, ANSI: str(ansi).lower()}):
        answers = [a for start in range(0, COUNT, BATCH) for a in rows.answers(texts[start : start + BATCH])]
    failed = len(texts) - len(answers)
    for text in texts:
        bound = rows.bound(text, zone)
        opaque += isinstance(bound, Opaque)
        rows.ours(bound)  # where Spark fails we may say anything, but must say something
    for answer in answers:
        # Without ANSI mode, Spark converts what people write by other rules; what it prints has them spelled out.
        for text in (answer.text, *answer.printed) if ansi else answer.printed:
            if "_common_expr_" in text:
                continue  # part of it is computed in the plan below
            bound = rows.bound(text, zone)
            ours = rows.ours(bound)
            total += len(ours)
            unsure += int((ours == ANYTHING).sum())
            places = np.flatnonzero((ours & answer.outcomes) == 0)
            wrong += [
                f"{answer.text}\n  as {text}\n  row {p}: ours {ours[p]}, Spark's {answer.outcomes[p]}"
                for p in places[:1]
            ]
    with capsys.disabled():
        print(  # noqa: T201 - the counts are worth seeing
            f"\n{COUNT} predicates in {zone}, ANSI {'on' if ansi else 'off'}: {opaque} opaque, {failed} on which Spark "
            f"fails; of {total:,} outcomes {unsure:,} left open",
            end=" ",
        )
    assert not wrong, f"{len(wrong)} disagree, such as\n" + "\n".join(wrong[:10])
    assert opaque <= MOST_OPAQUE * COUNT
