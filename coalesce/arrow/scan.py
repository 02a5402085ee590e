"""A scan without Spark: the plan's files, row group by row group, and exactly the rows that match."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, Final, Self

import pyarrow as pa

from coalesce.arrow.places import Part
from coalesce.arrow.read import OpenFile, open_file
from coalesce.arrow.row_filter import asked_fields, is_true
from coalesce.arrow.row_groups import matching_parts
from coalesce.arrow.stretches import Stretch, groups_together, stretches
from coalesce.arrow.threads import each
from coalesce.errors import FileMissing
from coalesce.model.arrow_schema import arrow_schema
from coalesce.model.datafile import DataFile
from coalesce.model.schema import Schema
from coalesce.model.types import Field
from coalesce.plan.plan import Plan
from coalesce.predicate.expr import TRUE, And, Bound
from coalesce.table.commit.log import why_missing
from coalesce.table.engine import Snapshot
from coalesce.table.outgoing import pandas_frame, polars_frame

# Files read at the same time: more than there are cores, since most of it is waiting for the store.
_READERS: Final = 8

_WORTH_SHARING: Final = 1_000_000  # rows; each share reads the footer again

_SHOWN: Final = 10  # columns on a line


@dataclass(eq=False, repr=False)
class ArrowScan:
    """The rows of the plan's files for which its whole predicate is TRUE; `columns` None is all of them."""

    snapshot: Snapshot
    plan: Plan
    columns: Sequence[str] | None = None

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The columns to be returned, each once, in the order they were asked for."""
        schema = self.plan.version.schema
        if self.columns is None:
            return schema.fields
        return tuple(dict.fromkeys(schema.field(name) for name in self.columns))

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the result."""
        return arrow_schema(Schema(self.fields))

    def to_arrow(self) -> pa.Table:
        """All rows at once; several files are read at the same time."""
        shares = [share for pair in self._residuals() for share in _shares(*pair, len(self.plan.files_to_scan))]
        parts = each(lambda share: list(self._file(share)), shares, _READERS)
        batches = [batch for part in parts for batch in part]
        return pa.Table.from_batches(batches, self.schema) if self.fields else _rows_only(batches)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, a batch at a time; no more than a row group, or a few small ones, is in memory."""
        for file, residual in self._residuals():
            yield from self._file(_Share(file, residual), at_once=False)

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as a reader that reads them when it is asked for them; each call begins anew."""
        return pa.RecordBatchReader.from_batches(self.schema, _OneAtATime(self.to_batches()))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream for any library that speaks Arrow, such as polars and DuckDB.

        A requested schema is followed where each column can be cast to it.
        """
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """The rows as a pandas data frame; integers with NULLs stay integers, of pandas' nullable types."""
        return pandas_frame(self.to_arrow())

    def to_polars(self) -> Any:
        """The rows as a polars data frame."""
        return polars_frame(self.to_arrow())

    def __repr__(self) -> str:
        if self.columns is None:
            return f"<scan of all columns: {self.plan!r}>"
        names = [*(f.name for f in self.fields[:_SHOWN]), *(["…"] if len(self.fields) > _SHOWN else [])]
        return f"<scan of {', '.join(names) or 'no columns'}: {self.plan!r}>"

    def _residuals(self) -> Iterator[tuple[DataFile, Bound]]:
        """Each file with the conditions that its rows do not surely satisfy."""
        conjuncts, satisfied = self.plan.conjuncts, self.plan.satisfied
        for position, file in enumerate(self.plan.files_to_scan):
            left = tuple(c for c, done in zip(conjuncts, satisfied, strict=True) if not done[position])
            yield file, And(left) if left else TRUE

    def _file(self, share: "_Share", *, at_once: bool = True) -> Iterator[pa.RecordBatch]:
        """The matching rows of one file, a stretch at a time; `at_once` if all may be in memory."""
        try:
            yield from self._rows(share, at_once)
        except FileMissing as missing:
            raise why_missing(self.snapshot.storage, self.plan.version) or missing from missing

    def _rows(self, share: "_Share", at_once: bool) -> Iterator[pa.RecordBatch]:
        with open_file(self.snapshot.storage, share.file, self.plan.version) as file:
            if share.residual == TRUE:
                groups = [group for group, rows in enumerate(file.live_rows) if rows]
                for some in [groups] if at_once else groups_together(file, groups):
                    yield from file.read(self.fields, some).to_batches()
                return
            for stretch in stretches(file, share.of(matching_parts(file, share.residual))):
                yield from self._stretch(file, stretch, share.residual).to_batches()

    def _stretch(self, file: OpenFile, stretch: Stretch, residual: Bound) -> pa.Table:
        """The matching rows of a stretch: what the predicate asks about is read first, if it has to be."""
        groups, rows = stretch.groups, stretch.part
        if stretch.matching is not None:
            return file.read(self.fields, groups, rows, stretch.matching)
        schema = self.plan.version.schema
        asked = asked_fields(residual, schema)
        judged = file.read(asked, groups, rows)
        matching = is_true(residual, judged, schema)
        if not matching.any():
            return self.schema.empty_table()
        asked_ids = {f.id for f in asked}
        rest = file.read([f for f in self.fields if f.id not in asked_ids], groups, rows, matching)
        if not matching.all():
            judged = judged.filter(pa.array(matching))
        found = dict(zip((f.id for f in asked), judged.columns, strict=True))
        found |= zip((f.id for f in self.fields if f.id not in asked_ids), rest.columns, strict=True)
        columns = [found[f.id] for f in self.fields]
        return pa.Table.from_arrays(columns, schema=self.schema) if columns else rest


@dataclass(frozen=True, slots=True)
class _Share:
    """One of `shares` that a file is read in, each by a thread of its own, and what its rows have to satisfy."""

    file: DataFile
    residual: Bound
    number: int = 0
    shares: int = 1

    def of(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Those of the file's parts that are in this share, in their order."""
        begin, end = (len(parts) * n // self.shares for n in (self.number, self.number + 1))
        return parts[begin:end]


def _shares(file: DataFile, residual: Bound, files: int) -> list[_Share]:
    """A file as a whole, or, if it is large and there are fewer files than cores, in several shares.

    Where nothing is left to check, Arrow itself reads columns at the same time; else few are read at a time.
    """
    many = 1 if residual == TRUE or file.physical_rows < _WORTH_SHARING else -(-(os.cpu_count() or 1) // files)
    return [_Share(file, residual, number, many) for number in range(many)]


@dataclass(frozen=True, slots=True)
class _OneAtATime:
    """Batches for several threads, each of which waits until another has got its own."""

    batches: Iterator[pa.RecordBatch]
    lock: Lock = field(default_factory=Lock)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> pa.RecordBatch:
        with self.lock:
            return next(self.batches)


def _rows_only(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(batches) if batches else pa.table({})
