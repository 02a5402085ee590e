"""Does an entry say what is in its file? Read back with plain pyarrow, recomputed row by row, nothing shared.

Slow and simple on purpose: whatever wrote the file and its entry, this is the second opinion.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq

from coalesce.model.datafile import ColumnStatistics, DataFile
from coalesce.model.rule import Group
from coalesce.model.transforms import apply
from coalesce.model.types import FLOATING, AtomicType, Value
from coalesce.model.values import order_key, values_of
from coalesce.model.version import Version
from coalesce.storage.base import Storage

Hashable = tuple[Value | Group, ...]

_NAN = "NaN"  # stands for every NaN, which Python would not find equal to itself


def check_files(storage: Storage, version: Version, files: Iterable[DataFile]) -> None:
    """`check_file` on each."""
    for file in files:
        check_file(storage, version, file)


def check_file(storage: Storage, version: Version, file: DataFile) -> None:
    """Fail unless everything the entry says of the file is so; what it does not say cannot be wrong."""
    data = storage.read(file.path)
    parquet = pq.ParquetFile(pa.BufferReader(data))
    assert file.bytes == len(data)
    assert file.rows == parquet.metadata.num_rows
    columns = _columns_by_id(parquet.read(), version)
    _check_tuples(version, file, columns, in_order=b"coalesce.tuple_order" in (parquet.metadata.metadata or {}))
    for column_id, statistics in file.statistics.items():
        type_ = version.schema.atomic(column_id)
        if type_ is not None and column_id in columns:
            _check_statistics(type_, statistics, columns[column_id])


def _columns_by_id(table: pa.Table, version: Version) -> dict[int, list[Value]]:
    """The in-memory values of every atomic column that the file has and the table still knows."""
    by_physical_name = {f.physical_name: f.id for f in version.schema}
    found = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        text = (field.metadata or {}).get(b"PARQUET:field_id")
        column_id = by_physical_name.get(field.name, -1) if text is None else int(text)
        type_ = version.schema.atomic(column_id)
        if type_ is not None:
            found[column_id] = values_of(type_, column)
    return found


def _check_tuples(version: Version, file: DataFile, columns: dict[int, list[Value]], *, in_order: bool) -> None:
    spec = version.spec_by_id(file.spec_id)
    if any(f.source_id not in columns for f in spec.fields):
        return  # adopted without its partition columns, or made from a column that was dropped since
    components = []
    for field in spec.fields:
        type_ = version.schema.atomic(field.source_id)
        assert type_ is not None
        components.append([apply(field.transform, type_, v) for v in columns[field.source_id]])
    rows: list[Hashable] = [_hashable(t) for t in zip(*components, strict=True)] if components else [()] * file.rows
    truth = Counter(rows)
    if file.physical_key is not None:
        outside = _hashable(file.physical_key)
        assert all(isinstance(o, Group) or i == o for tuple_ in truth for i, o in zip(tuple_, outside, strict=True))
    if file.tuples is None:
        assert not file.complete
        return
    listed = [_hashable(t) for t in file.tuples]
    assert len(set(listed)) == len(listed)
    assert set(listed) <= set(truth)
    if file.complete:
        assert set(listed) == set(truth)
    if file.tuple_rows is not None:
        for tuple_, count in zip(listed, file.tuple_rows, strict=True):
            assert count is None or count == truth[tuple_]
    if in_order:
        assert list(dict.fromkeys(rows)) == listed
        assert 1 + sum(a != b for a, b in pairwise(rows)) == len(listed)


def _check_statistics(type_: AtomicType, statistics: ColumnStatistics, values: list[Value]) -> None:
    is_nan = [v is not None and v != v for v in values]
    assert statistics.null_count in (None, values.count(None))
    assert statistics.nan_count in (None, sum(is_nan))
    assert type_ in FLOATING or statistics.nan_count is None
    keys = [order_key(type_, v) for v, nan in zip(values, is_nan, strict=True) if v is not None and not nan]
    if not keys:
        assert statistics.lower is None
        assert statistics.upper is None
        return
    cut = isinstance(next(v for v in values if v is not None), str | bytes)
    if statistics.lower is not None:
        lower = order_key(type_, statistics.lower)
        assert lower <= min(keys) if cut else lower == min(keys)
    if statistics.upper is not None:
        upper = order_key(type_, statistics.upper)
        assert upper >= max(keys) if cut else upper == max(keys)


def _hashable(tuple_: Sequence[Value | Group]) -> Hashable:
    return tuple(_NAN if isinstance(v, float) and math.isnan(v) else v for v in tuple_)
