"""Frames made of SQL text, in one call to the JVM each.

A column that is put together in Python crosses the bridge several times for each of its words, and once more when it is
forgotten. Columns that users gave are no text: they are put into it by a mark.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from pyspark.sql import Column, DataFrame

from coalesce.spark.jvm.java_helpers import helper
from coalesce.spark.jvm.values import END


@dataclass(frozen=True, slots=True)
class Marks:
    """Columns that stand in SQL text, each by a name that nobody else has."""

    prefix: str = field(default_factory=lambda: f"_given_{uuid4().hex}_")
    columns: list[Column] = field(default_factory=list)

    def put(self, column: Column) -> str:
        """What stands in the text for the column."""
        self.columns.append(column)
        return f"{self.prefix}{len(self.columns) - 1}"


def exactly(name: str) -> str:
    """A column's name as SQL, where no word of Spark's own is taken for it: `current_date` is a function otherwise."""
    return "`" + name.replace("`", "``") + "`"


def selected(frame: DataFrame, texts: Sequence[str], marks: Marks | None = None) -> DataFrame:
    """Expressions on the rows of a frame, in which `marks` stand for columns."""
    prefix, columns = ("", ()) if marks is None else (marks.prefix, marks.columns)
    given = [column._jc for column in columns]
    return DataFrame(_frames(frame).selected(frame._jdf, _joined(texts), prefix, given), frame.sparkSession)


def renamed(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """The frame with other names for its columns, which may have any, also several the same."""
    return DataFrame(_frames(frame).renamed(frame._jdf, _joined(names)), frame.sparkSession)


def _joined(texts: Iterable[str]) -> str:
    return "".join(text + END for text in texts)


def _frames(frame: DataFrame) -> Any:
    return helper(frame.sparkSession.sparkContext._gateway, "Frames")
