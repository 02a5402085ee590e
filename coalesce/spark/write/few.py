"""Rows so few that the driver writes them sooner than a Spark job would begin: collected, and written with Arrow.

A frame is collected if it is small and nothing that was not asked for can reach the driver's memory: its plan tells how
many rows there are at most, or they were counted, or no more are taken than there is room for. A row may be as wide as
it likes, though. So all are measured first, or while they are counted; or, where the table's own rows let expect that
there is room, those that are wider than their share come without their values, and only if there are such are all of
them measured.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import types as spark

from coalesce.predicate.names import quoted
from coalesce.predicate.normalize import is_plain
from coalesce.spark.jvm.catalyst import size_estimate
from coalesce.spark.jvm.collected import collected
from coalesce.spark.jvm.frames import renamed, selected
from coalesce.table.engine import Snapshot

_LEAST_ROW_BYTES: Final = 64
_SURELY_LITTLE: Final = 8  # times less than there is room for, by Spark's estimate, is worth a pass of its own
_INFLATED: Final = 16  # what rows take in memory for each byte of a data file, at most as a rule
_IN_THE_DRIVER: Final = frozenset({"LocalRelation", "OneRowRelation"})  # plans whose rows the driver has already
_TRIED_ROWS: Final = 10_000  # of frames about which Spark knows nothing
_MOST_ROWS: Final = 2**31 - 2  # one more is the largest limit that Spark knows
_TOO_MUCH: Final = "spark.driver.maxResultSize"
_FIXED: Final = "8L"  # the width of a number
_IS_WIDE: Final = "is_wide"  # beside columns that are called `g0`, `g1`, …
_OBSERVED: Final = "CollectMetrics"  # in a plan's text; `DataFrame.observe` reports of the first job there is


@dataclass(slots=True)
class FewRows:
    """Rows for a table, of which up to `most_bytes` are collected. `sample` are some, if it turned out to be more.

    `is_open` says that they are best measured while they are counted.
    """

    snapshot: Snapshot
    frame: DataFrame
    most_bytes: int
    sample: pa.Table | None = None
    is_open: bool = False
    _are_many: bool = False

    def at_first(self) -> pa.Table | None:
        """All of the rows, if it can be expected that they are few, and they are."""
        if not self._is_possible(0):
            return None
        plan = self.frame._jdf.queryExecution().optimizedPlan()
        estimate = size_estimate(plan)
        if estimate is not None and estimate > self.most_bytes:
            return None
        if plan.nodeName() in _IN_THE_DRIVER:
            return self._collected(self.frame)
        row_bytes = self._row_bytes()
        room = min(int(self.most_bytes / max(row_bytes or 0, _LEAST_ROW_BYTES)), _MOST_ROWS)
        most = plan.maxRows()
        if most.isDefined() and most.get() > room:
            return None
        if not most.isDefined() and _OBSERVED in plan.toString():
            return None  # what is observed is all of the rows, not those up to a limit
        if row_bytes is not None and estimate is not None and estimate > room * row_bytes / _INFLATED:
            return None  # more rows than there is room for; to count them is less in vain than to try
        tried = room if estimate is not None else min(room, _TRIED_ROWS)
        limited = self.frame.limit(tried + 1)  # which one task gathers, while all others wait
        if row_bytes is None:
            if not most.isDefined() and estimate is not None and estimate > self.most_bytes // _SURELY_LITTLE:
                self.is_open = True
                return None
            is_little = most.isDefined() or estimate is not None
            fits = self._is_measured(self.frame if is_little else limited, tried)
            self._are_many = is_little and not fits
            return self._collected(self.frame) if fits else None
        rows = self._within(self.frame, most.get()) if most.isDefined() else self._within(limited, tried + 1)
        if rows is None or rows.num_rows <= tried:
            return rows
        self.sample = rows
        return None

    def up_to(self, count: int) -> pa.Table | None:
        """All of the rows, if they are no more than these: of frames about whose size Spark is mostly wrong."""
        if not self._is_possible(0):
            return None
        most = min(count, self.most_bytes // _LEAST_ROW_BYTES)
        rows = self._within(self.frame.limit(most + 1), most + 1)
        return rows if rows is not None and rows.num_rows <= most else None

    def no_more_than(self, count: int) -> pa.Table | None:
        """All of the rows, which are known to be no more than these, if that are few; Spark's estimate is not asked."""
        return self._within(self.frame, count) if self._is_possible(count) else None

    def counted(self, count: int, width: int | None = None) -> pa.Table | None:
        """All of the rows, if so many of them are few; `width` is what they take together, if that was measured."""
        if self._are_many or not self._is_possible(count):
            return None
        if width is not None:
            return self._collected(self.frame) if width <= self.most_bytes else None
        row_bytes = self._row_bytes()
        is_narrow = row_bytes is not None and count * row_bytes <= self.most_bytes
        if is_narrow:
            return self._within(self.frame, count)
        return self._collected(self.frame) if self._is_measured(self.frame, count) else None

    def _is_possible(self, count: int) -> bool:
        within = self.snapshot.within
        return count * _LEAST_ROW_BYTES <= self.most_bytes and (within is None or is_plain(within))

    def _row_bytes(self) -> float | None:
        """What a row may take in memory, as far as the table's own rows tell."""
        version = self.snapshot.version
        rows = version.rows + version.dead_rows
        return _INFLATED * version.bytes / rows if rows else None

    def _is_measured(self, frame: DataFrame, most_rows: int) -> bool:
        """Whether the rows are no more than these, and have room."""
        measured = frame.selectExpr("count(1)", f"sum({row_width(frame)})").first()
        assert measured is not None  # without keys, there is one row for none
        return measured[0] <= most_rows and (measured[1] or 0) <= self.most_bytes

    def _within(self, frame: DataFrame, most_rows: int) -> pa.Table | None:
        """The rows, of which there are no more than these, if they have room: nothing larger is ever collected."""
        if not any(_may_be_wide(f.dataType) for f in frame.schema.fields):
            return self._collected(frame)
        rows = self._collected(narrow_rows(frame, self.most_bytes // max(most_rows, 1)))
        if rows is None:
            return None
        if has_wide(rows):
            return self._collected(frame) if self._is_measured(frame, most_rows) else None
        return rows.drop_columns([_IS_WIDE]).rename_columns(frame.columns)

    def _collected(self, frame: DataFrame) -> pa.Table | None:
        """The rows; None if they are more than Spark lets a driver collect, after all."""
        try:
            return collected(frame)
        except (PySparkException, Py4JJavaError) as error:
            if _TOO_MUCH in str(error):
                return None
            raise


def narrow_rows(frame: DataFrame, most_width: int) -> DataFrame:
    """The rows as `g0`, `g1`, …, those that are wider than this without their values; the last column tells them."""
    given = renamed(frame, [f"g{i}" for i in range(len(frame.columns))])
    fields = [spark.StructField(f"g{i}", f.dataType) for i, f in enumerate(frame.schema.fields)]
    judged = selected(
        given, ["*", f"{_sum([_width(f.name, f.dataType) for f in fields])} > {most_width} AS {_IS_WIDE}"]
    )
    narrow = [
        f"CASE WHEN NOT {_IS_WIDE} THEN {f.name} END AS {f.name}" if _may_be_wide(f.dataType) else f.name
        for f in fields
    ]
    return selected(judged, [*narrow, _IS_WIDE])


def has_wide(rows: pa.Table) -> bool:
    """Whether any of these rows of `narrow_rows` came without its values."""
    return pc.any(rows.column(_IS_WIDE)).as_py() is True


def _may_be_wide(type_: spark.DataType) -> bool:
    match type_:
        case spark.StructType():
            return any(_may_be_wide(f.dataType) for f in type_.fields)
        case _:
            return isinstance(type_, spark.StringType | spark.BinaryType | spark.ArrayType | spark.MapType)


def row_width(frame: DataFrame) -> str:
    """About how many bytes a row takes in memory, as an expression."""
    return _sum([_width(quoted(f.name), f.dataType) for f in frame.schema.fields])


def _width(value: str, type_: spark.DataType) -> str:
    """About how many bytes a value takes in memory, as an expression."""
    match type_:
        case spark.StringType() | spark.BinaryType():
            return f"coalesce(bigint(octet_length({value})), 0L)"
        case spark.StructType():
            return _sum([_width(f"{value}.{quoted(f.name)}", f.dataType) for f in type_.fields])
        case spark.ArrayType() | spark.MapType():
            return f"coalesce(bigint(octet_length(CAST({value} AS STRING))), 0L)"
        case _:
            return _FIXED


def _sum(widths: Sequence[str]) -> str:
    """Their sum, as an expression. Thousands of terms in one row are deeper than Spark's parser goes: so, in halves."""
    terms = [width for width in widths if width != _FIXED]
    terms.append(f"{8 * (len(widths) - len(terms))}L")
    while len(terms) > 1:
        terms = [f"({' + '.join(terms[i : i + 2])})" for i in range(0, len(terms), 2)]
    return terms[0]
