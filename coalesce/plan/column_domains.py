"""Domains of columns over what a manifest has: the values of a partition field, physical keys, statistics of files."""

from hashlib import sha256
from weakref import WeakValueDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.model.arrow_schema import arrow_type
from coalesce.model.columns import is_null, numbers
from coalesce.model.entries import Entries
from coalesce.model.spec import PartitionField
from coalesce.model.transforms import Transform
from coalesce.model.types import FLOATING, AtomicType
from coalesce.predicate.domains import Domain, Gathered, Interval, KnownWhere, Remembered
from coalesce.predicate.encoding import HIGHEST, LOWEST, NAN_KEY, encode, has_keys
from coalesce.predicate.outcomes import Mask
from coalesce.predicate.tuple_domains import component_domain

Domains = dict[int, Domain]  # by column id

_CODE_BYTES, _OBJECT_BYTES = 16, 64  # for a value in a domain: its codes, a Python object if its type has no keys


def domain_bytes(type_: AtomicType, values: pa.Array) -> int:
    """About how much memory a domain over `values` takes."""
    return int(values.nbytes) + len(values) * (_CODE_BYTES if has_keys(type_) else _CODE_BYTES + _OBJECT_BYTES)


_Shared = WeakValueDictionary[tuple[Transform, AtomicType, pa.DataType, int, int, bytes], Remembered]
_SHARED: _Shared = WeakValueDictionary()


def shared_domain(transform: Transform, source_type: AtomicType, values: pa.Array) -> Domain:
    """The domain over `values`, one for all manifests that have the same.

    Manifests of a table often do: the apps of one day are those of the next. A leaf is then answered once for all.
    """
    content = sha256()
    for buffer in values.buffers():
        content.update(b"" if buffer is None else buffer)
    key = (transform, source_type, values.type, values.offset, len(values), content.digest())
    found = _SHARED.get(key)
    if found is None:
        found = _SHARED[key] = Remembered(component_domain(transform, source_type, values))
    return found


def where_known(field: PartitionField, source_type: AtomicType, values: pa.Array, known: Mask) -> Domain:
    """The domain over files whose component is `values` where `known`, and unknown elsewhere."""
    distinct = values.drop_null().unique()
    codes = numbers(pc.index_in(values, distinct), null=-1)
    inner = component_domain(field.transform, source_type, distinct)
    return KnownWhere(Gathered(inner, codes), known)


def statistics_domain(entries: Entries, column_id: int, type_: AtomicType, rows: np.ndarray) -> Domain | None:
    """What statistics say of a column in each file, `rows` of which there are; None if they say nothing."""
    lower = _statistic(entries, f"lower_{column_id}", type_)
    upper = _statistic(entries, f"upper_{column_id}", type_)
    nulls = entries.statistic(f"null_count_{column_id}")
    if lower is None and upper is None and nulls is None:
        return None
    count = len(entries)
    null_count = np.full(count, -1) if nulls is None else numbers(nulls, null=-1)
    may_be_null = null_count != 0
    may_be_value = (null_count < rows) | (null_count > rows)  # more NULLs than rows is nonsense, hence unknown
    if lower is None or upper is None:
        lower = upper = pa.nulls(count, arrow_type(type_))
    both = pa.concat_arrays([lower, upper])
    encoding, codes = encode(type_, both)
    lowest = np.where(is_null(lower), LOWEST, codes[:count])
    highest = np.where(is_null(upper), HIGHEST, codes[count:])
    if type_ in FLOATING:
        nans = entries.statistic(f"nan_count_{column_id}")
        no_nan = np.zeros(count, np.bool_) if nans is None else numbers(nans, null=-1) == 0
        lowest = np.where(lowest == NAN_KEY, LOWEST, lowest)  # NaN is no bound, whatever the writer meant by it
        highest = np.where(no_nan, highest, HIGHEST)
    inverted = lowest > highest
    return Interval(
        encoding, np.where(inverted, LOWEST, lowest), np.where(inverted, HIGHEST, highest), may_be_null, may_be_value
    )


def _statistic(entries: Entries, name: str, type_: AtomicType) -> pa.Array | None:
    column = entries.statistic(name)
    return column if column is None or column.type == arrow_type(type_) else column.cast(arrow_type(type_))
