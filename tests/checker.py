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
    assert file.physical_rows == parquet.metadata.num_rows
    columns = _columns_by_id(parquet.read(), version)
    in_order = file.ordered or b"coalesce.tuple_order" in (parquet.metadata.metadata or {})
    live = _check_tuples(version, file, columns, in_order=in_order)
    for column_id, statistics in file.statistics.items():
        type_ = version.schema.atomic(column_id)
        if type_ is not None and column_id in columns:
            values = [v for v, alive in zip(columns[column_id], live, strict=True) if alive]
            _check_statistics(type_, statistics, values, exact=not file.dead)


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


def _check_tuples(version: Version, file: DataFile, columns: dict[int, list[Value]], *, in_order: bool) -> list[bool]:
    """Check the tuples, live and dead, and say which rows are live."""
    everything = [True] * file.physical_rows
    spec = version.spec_by_id(file.spec_id)
    if any(f.source_id not in columns for f in spec.fields):
        assert not file.dead
        return everything  # adopted without its partition columns, or made from a column that was dropped since
    components = []
    for field in spec.fields:
        type_ = version.schema.atomic(field.source_id)
        assert type_ is not None
        components.append([apply(field.transform, type_, v) for v in columns[field.source_id]])
    physical: list[Hashable] = [_hashable(t) for t in zip(*components, strict=True)] if components else [()] * file.rows
    dead = {_hashable(d.values): d for d in file.dead}
    assert len(dead) == len(file.dead)
    assert {t: d.rows for t, d in dead.items()} == {t: n for t, n in Counter(physical).items() if t in dead}
    live = [t not in dead for t in physical]
    rows = [t for t in physical if t not in dead]
    truth = Counter(rows)
    if file.physical_key is not None:
        outside = _hashable(file.physical_key)
        assert all(isinstance(o, Group) or i == o for tuple_ in truth for i, o in zip(tuple_, outside, strict=True))
    if file.tuples is None:
        assert not file.complete
        return live
    listed = [_hashable(t) for t in file.tuples]
    assert len(set(listed)) == len(listed)
    assert set(listed) <= set(truth)
    if file.complete:
        assert set(listed) == set(truth)
    if file.tuple_rows is not None:
        for tuple_, count in zip(listed, file.tuple_rows, strict=True):
            assert count is None or count == truth[tuple_]
    if in_order:
        for d in sorted(file.dead, key=lambda d: d.place):
            listed.insert(d.place, _hashable(d.values))
        assert list(dict.fromkeys(physical)) == listed
        assert 1 + sum(a != b for a, b in pairwise(physical)) == len(listed)
    return live


def _check_statistics(type_: AtomicType, statistics: ColumnStatistics, values: list[Value], *, exact: bool) -> None:
    is_nan = [v is not None and v != v for v in values]
    assert statistics.null_count in (None, values.count(None))
    assert statistics.nan_count in (None, sum(is_nan))
    assert type_ in FLOATING or statistics.nan_count is None
    keys = [order_key(type_, v) for v, nan in zip(values, is_nan, strict=True) if v is not None and not nan]
    if not keys:
        assert not exact or statistics.lower is None
        assert not exact or statistics.upper is None
        return
    wider = not exact or isinstance(next(v for v in values if v is not None), str | bytes)  # those are cut
    if statistics.lower is not None:
        lower = order_key(type_, statistics.lower)
        assert lower <= min(keys) if wider else lower == min(keys)
    if statistics.upper is not None:
        upper = order_key(type_, statistics.upper)
        assert upper >= max(keys) if wider else upper == max(keys)


def _hashable(tuple_: Sequence[Value | Group]) -> Hashable:
    return tuple(_NAN if isinstance(v, float) and math.isnan(v) else v for v in tuple_)
