"""The logical tuples of rows, by hashing whole columns; Python sees each distinct tuple once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.model.schema import Schema
from coalesce.model.spec import LogicalTuple, Spec
from coalesce.model.transform_arrays import apply_array
from coalesce.model.transforms import result_type
from coalesce.model.types import AtomicType
from coalesce.model.values import values_of
from coalesce.table.layout import may_be_nan, one_nan

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RowTuples:
    """Row `i` has the tuple `distinct[codes[i]]`; tuple `j` has `counts[j]` rows. In order of first appearance."""

    distinct: list[LogicalTuple]
    codes: Codes
    counts: list[int]

    @property
    def in_runs(self) -> bool:
        """Whether the rows of every tuple lie together: then they lie in the order of `distinct`."""
        return bool(np.all(self.codes[1:] >= self.codes[:-1]))

    def of_run(self, rows: Codes) -> "RowTuples":
        """Those of some rows, at least one, that are given tuple by tuple."""
        codes = self.codes[rows]
        begins = np.concatenate(([True], codes[1:] != codes[:-1]))
        starts = np.flatnonzero(begins)
        distinct = [self.distinct[code] for code in codes[starts].tolist()]
        return RowTuples(distinct, np.cumsum(begins) - 1, np.diff(starts, append=len(codes)).tolist())


def tuples_of(rows: pa.Table, spec: Spec, schema: Schema) -> RowTuples:
    """The tuples of rows that carry the schema's names and types."""
    components, types = [], []
    for partition_field in spec.fields:
        source = schema.by_id(partition_field.source_id)
        source_type = schema.atomic(partition_field.source_id)
        assert source is not None
        assert source_type is not None
        components.append(apply_array(partition_field.transform, source_type, rows.column(source.name)))
        types.append(result_type(partition_field.transform, source_type))
    return _distinct(components, types, rows.num_rows)


def can_compute(spec: Spec, schema: Schema) -> bool:
    """Whether every column the spec's tuples are made of is still in the schema."""
    return all(schema.atomic(f.source_id) is not None for f in spec.fields)


def _distinct(components: Sequence[pa.Array], types: Sequence[AtomicType], rows: int) -> RowTuples:
    if rows == 0:
        return RowTuples([], np.zeros(0, np.int64), [])
    codes = np.zeros(rows, np.int64)
    for number, component in enumerate(components):
        encoded = component.dictionary_encode()
        if number == 0 and encoded.indices.null_count == 0:  # they are numbered in order of appearance already
            codes = np.asarray(encoded.indices).astype(np.int64)
            continue
        # One more code than there are values: for NULL. Renumbered after each component, so nothing overflows.
        positions = np.asarray(pc.fill_null(encoded.indices, len(encoded.dictionary))).astype(np.int64)
        combined = pa.array(codes * (len(encoded.dictionary) + 1) + positions)
        codes = np.asarray(combined.dictionary_encode().indices).astype(np.int64)
    counts = np.bincount(codes)
    # Of several writes to one place the last one stays: going backwards, that is the tuple's first row.
    first = np.empty(len(counts), np.int64)
    first[codes[::-1]] = np.arange(rows - 1, -1, -1)
    values = [values_of(t, c.take(pa.array(first))) for c, t in zip(components, types, strict=True)]
    distinct: list[LogicalTuple] = list(zip(*values, strict=True)) if values else [()]
    if may_be_nan(types):
        distinct = [one_nan(t) for t in distinct]
    return RowTuples(distinct, codes, counts.tolist())
