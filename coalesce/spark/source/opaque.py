"""Conditions that only Catalyst understands, judged by Catalyst over the distinct tuples.

`lower(app) = 'x'` or `date_format(dt, 'yyyy-MM') = '2026-05'` cannot be said in the predicate language, but where they
read partition columns only, there are few values to try: the driver evaluates the query's own expression on each, in
one call. Only identity fields count, since only they say what the column holds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Final, cast
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from coalesce.model.schema import Schema
from coalesce.model.spec import Spec
from coalesce.model.types import AtomicType, Field
from coalesce.plan.index import ManifestIndex
from coalesce.plan.planner import Tuples
from coalesce.predicate.expr import Opaque
from coalesce.predicate.outcomes import ANYTHING, FALSE, NULL, TRUE, Outcomes
from coalesce.spark.jvm.catalyst import jvm
from coalesce.spark.jvm.values import END, crosses, rows, texts
from coalesce.spark.translate.schema import spark_schema

_OUTCOMES: Final = {"T": TRUE, "F": FALSE, "N": NULL, "?": ANYTHING}

# (condition, names of columns, rows) → a character for each row, or nothing: `Evaluator.evaluate` in Java.
Evaluate = Callable[[str, str, str], str]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Catalyst:
    """Judges the opaque conditions of one query. What it was asked before it does not ask again."""

    schema: Schema
    evaluate: Evaluate
    _known: WeakKeyDictionary[ManifestIndex, dict[str, dict[int, int]]] = field(default_factory=WeakKeyDictionary)

    def __call__(self, condition: Opaque, tuples: Tuples) -> Outcomes | None:
        """The outcomes at some tuples of a manifest; None where Catalyst cannot say."""
        spec, index, chosen = tuples
        columns = self._columns(condition, spec, index)
        if columns is None:
            return None
        combinations, places = np.unique(_combined(columns, chosen), return_inverse=True)
        known = self._known.setdefault(index, {}).setdefault(condition.text, {})
        missing = [c for c in combinations.tolist() if c not in known]
        if missing:
            answer = self._ask(condition, columns, np.array(missing, np.int64))
            if len(answer) != len(missing):
                return None
            known.update((c, int(_OUTCOMES[outcome])) for c, outcome in zip(missing, answer, strict=True))
        return np.array([known[c] for c in combinations.tolist()], np.uint8)[places]

    def _columns(self, condition: Opaque, spec: Spec, index: ManifestIndex) -> "list[_Column] | None":
        """The columns the condition reads; None if one is not known from the tuples, or there are too many values."""
        if not condition.columns:  # unknown, or none: a condition without columns is for Spark to fold
            return None
        found = []
        for column_id in sorted(cast(frozenset[int], condition.columns)):
            source, position = self.schema.by_id(column_id), spec.identity_position(column_id)
            if source is None or position is None or not crosses(cast(AtomicType, source.type)):
                return None
            component = index.component(position)
            found.append(_Column(source, component.values, component.codes))
        # More combinations than there are numbers for: two of them would get the same.
        return found if prod(len(column.values) + 1 for column in found) <= np.iinfo(np.int64).max else None

    def _ask(self, condition: Opaque, columns: "Sequence[_Column]", combinations: Codes) -> str:
        names = "".join(column.field.name + END for column in columns)
        lines = rows([c.texts for c in columns], _separated(columns, combinations), len(combinations))
        return self.evaluate(condition.text, names, "".join(line + END for line in lines.to_pylist()))


def judge(spark: SparkSession, schema: Schema) -> Catalyst:
    """What judges conditions that were written for a table's columns, as the session would understand them.

    What Spark does not understand, it cannot say: whoever reads rows by the condition is told what is wrong with it.
    """
    nothing = spark.createDataFrame([], spark_schema(schema))

    def evaluate(text: str, names: str, lines: str) -> str:
        try:
            frame = nothing.where(F.expr(text))
            return str(jvm(spark).coalesce.spark.Evaluator.judge(frame._jdf, names, lines))
        except (PySparkException, Py4JError):
            return ""

    return Catalyst(schema, evaluate)


@dataclass(frozen=True)
class _Column:
    field: Field
    values: pa.Array  # distinct
    codes: npt.NDArray[np.integer]  # for each tuple the position of its value; -1 is NULL

    @property
    def texts(self) -> pa.Array:
        """The values as they cross, NULL first."""
        with_null = pa.concat_arrays([pa.nulls(1, self.values.type), self.values])
        return texts(cast(AtomicType, self.field.type), with_null)


def _combined(columns: Sequence[_Column], chosen: npt.NDArray[np.integer] | None) -> Codes:
    """One number for the values of all columns at each tuple."""
    combined: Codes = np.zeros(len(columns[0].codes) if chosen is None else len(chosen), np.int64)
    for column in columns:
        codes = column.codes if chosen is None else column.codes[chosen]
        combined = combined * (len(column.values) + 1) + codes + 1
    return combined


def _separated(columns: Sequence[_Column], combined: Codes) -> list[Codes]:
    """The inverse of `_combined`: for each column the positions in its `texts`."""
    found = []
    for column in reversed(columns):
        combined, codes = np.divmod(combined, len(column.values) + 1)
        found.append(codes)
    return found[::-1]
