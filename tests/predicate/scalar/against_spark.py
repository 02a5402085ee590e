"""Values that Spark and we compute from the same rows, with ANSI mode on and off, in any time zone."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from coalesce.model.arrow_schema import arrow_type
from coalesce.model.columns import whole
from coalesce.model.schema import Schema
from coalesce.model.types import AtomicType, Value
from coalesce.model.values import order_key, values_of
from coalesce.predicate.expr import Column
from coalesce.predicate.render import sql_type
from coalesce.predicate.scalar.catalogue import bind_operand
from coalesce.predicate.scalar.evaluate import evaluate
from coalesce.predicate.scalar.evaluated import spread
from coalesce.predicate.scalar.nodes import Call, Fixed, Reference, Scalar
from coalesce.predicate.sql.lexer import tokenize
from coalesce.predicate.sql.structure import operand_of
from tests.support.settings import INTERPRETED, TIME_ZONE, changed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ANSI = "spark.sql.ansi.enabled"
# Rows at hand Spark may compute before it simplifies what is asked of them: `1 / 0 < NULL` then fails. Not a table's.
AS_OF_A_TABLE = {"spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"}
BATCH = 60


@dataclass(frozen=True)
class Rows:
    """The same rows on both sides."""

    schema: Schema
    table: pa.Table
    frame: "DataFrame"

    @staticmethod
    def of(spark: "SparkSession", schema: Schema, table: pa.Table) -> "Rows":
        """Rows for Spark too; a number tells them apart."""
        numbered = table.append_column("row_number", pa.array(range(len(table)), pa.int32()))
        types = ", ".join(f"{f.name} {sql_type(_atomic(schema, f.id))}" for f in schema)
        return Rows(schema, table, spark.createDataFrame(numbered, f"{types}, row_number INT"))

    def value(self, text: str, time_zone: str) -> Scalar | None:
        """The value that the text says, bound to the columns; None if it has no meaning here."""
        tokens = tokenize(text)
        operand = operand_of(tokens, 0, len(tokens), time_zone)
        bound = None if operand is None else bind_operand(operand, self._column, time_zone)
        return bound if isinstance(bound, Reference | Fixed | Call) and bound.type is not None else None

    def _column(self, column: Column) -> Reference | None:
        field = self.schema.find(column.parts[-1])
        return None if field is None else Reference(field.id, field.name, _atomic(self.schema, field.id))

    def ours(self, value: Scalar) -> tuple[list[Value], "np.ndarray[Any, np.dtype[np.bool_]]"]:
        """Our values, and where we are unsure."""
        count = len(self.table)
        found = evaluate(value, {f.id: whole(self.table[f.name]) for f in self.schema}, count)
        column = spread(found.values, count)
        assert value.type is not None
        assert column.type == arrow_type(value.type), (value, column.type)
        assert len(column) == count, value
        unsure = np.zeros(count, np.bool_) if found.unsure is None else found.unsure
        assert not unsure.any() or found.why, f"{value}: unsure, but not said why"
        return values_of(value.type, _blanked(column, unsure)), unsure


def _blanked(column: pa.Array, unsure: "np.ndarray[Any, np.dtype[np.bool_]]") -> pa.Array:
    """Without what means nothing."""
    return (
        pa.array([None if u else v for u, v in zip(unsure, column, strict=True)], column.type)
        if unsure.any()
        else column
    )


def _atomic(schema: Schema, id_: int) -> AtomicType:
    type_ = schema.atomic(id_)
    assert type_ is not None
    return type_


@dataclass
class Comparison:
    """What came of many values."""

    compared: int = 0  # values of rows
    unsure: int = 0  # values of rows that we leave to Spark
    expressions: int = 0
    opaque: tuple[str, ...] = ()  # what we have no meaning for
    refused: tuple[str, ...] = ()  # what Spark refuses, and we do not: harmless, but of no use
    wrong: tuple[str, ...] = ()


def compare(
    spark: "SparkSession",
    rows: Rows,
    texts: Sequence[str],
    zones: Iterable[str] = ("UTC",),
    ansi: Iterable[bool] = (True, False),
) -> Comparison:
    """Every value of a row where we are sure is Spark's, in each zone, with ANSI mode on and off, and so is its type.

    Spark computes just the rows that we are sure of, and must not fail on any.
    """
    result = Comparison()
    for zone in zones:
        bound = {text: rows.value(text, zone) for text in dict.fromkeys(texts)}
        result.opaque += tuple(text for text, value in bound.items() if value is None and text not in result.opaque)
        known = {text: value for text, value in bound.items() if value is not None}
        for on in ansi:
            settings = {**INTERPRETED, **AS_OF_A_TABLE, TIME_ZONE: zone, ANSI: str(on).lower()}
            with changed(spark, settings):
                _compare(rows, known, result, zone, on)
    return result


def _compare(rows: Rows, known: dict[str, Scalar], result: Comparison, zone: str, ansi: bool) -> None:
    ours = {text: rows.ours(value) for text, value in known.items()}
    where = f"{zone}, ANSI {'on' if ansi else 'off'}"
    texts = list(known)
    for start in range(0, len(texts), BATCH):
        _batch(rows.frame, rows, texts[start : start + BATCH], known, ours, result, where)


def _asked(text: str, unsure: "np.ndarray[Any, np.dtype[np.bool_]]") -> str:
    """The value where we are sure of it, if Spark would fail elsewhere: of what is not chosen nothing is computed."""
    if not unsure.any():
        return f"({text})"
    places = "".join("01"[int(u)] for u in unsure)
    return f"if(substring('{places}', row_number + 1, 1) = '0', ({text}), NULL)"


def _batch(
    frame: "DataFrame",
    rows: Rows,
    texts: list[str],
    known: dict[str, Scalar],
    ours: Any,
    result: Comparison,
    where: str,
) -> None:
    from pyspark.errors import PySparkException

    try:
        selected = frame.selectExpr(
            "row_number",
            *(f"{_asked(text, ours[text][1])} AS c{i}" for i, text in enumerate(texts)),
        )
        types = [field.dataType.simpleString() for field in selected.schema][1:]
        answer = selected.toArrow()
    except PySparkException as error:
        if len(texts) > 1:
            half = len(texts) // 2
            _batch(frame, rows, texts[:half], known, ours, result, where)
            _batch(frame, rows, texts[half:], known, ours, result, where)
        elif frame is rows.frame and ours[texts[0]][1].any():  # with ANSI mode off, some functions still fail
            sure = [int(i) for i in np.flatnonzero(~ours[texts[0]][1])]
            _batch(frame.where(frame["row_number"].isin(sure)), rows, texts, known, ours, result, where)
        elif "DATATYPE_MISMATCH" in str(error) or "PARSE_SYNTAX_ERROR" in str(error) or "UNRESOLVED" in str(error):
            result.refused += (texts[0],)
        else:
            result.wrong += (f"{texts[0]} ({where}): Spark fails and we do not: {str(error).splitlines()[0][:150]}",)
        return
    numbers = answer.column("row_number").to_pylist()
    for i, text in enumerate(texts):
        value = known[text]
        assert value.type is not None
        wanted = sql_type(value.type).lower().replace(" ", "")
        if types[i].replace(" ", "") not in (wanted, "void"):
            result.wrong += (f"{text} ({where}): Spark says {types[i]}, we say {wanted}",)
            continue
        mine, unsure = ours[text]
        sure = [not unsure[number] for number in numbers]
        theirs = values_of(value.type, whole(answer.column(i + 1)).filter(pa.array(sure)))
        result.expressions += 1
        result.unsure += len(sure) - len(theirs)
        result.compared += len(theirs)
        for number, their in zip((n for n in numbers if not unsure[n]), theirs, strict=True):
            if not same(value.type, mine[number], their):
                row = {name: rows.table[name][number] for name in rows.table.column_names if name in text}
                result.wrong += (f"{text} ({where}): ours {mine[number]!r}, Spark's {their!r} at {row}",)
                break


def same(type_: AtomicType, one: Value, other: Value) -> bool:
    """Whether two values are the same to Spark."""
    if one is None or other is None:
        return one is other
    if isinstance(one, float) and isinstance(other, float) and one == 0 == other:
        return math.copysign(1, one) == math.copysign(1, other) or True  # Spark shows both as equal
    return bool(order_key(type_, one) == order_key(type_, other))
