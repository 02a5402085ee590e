"""Which columns of a data file are worth a dictionary.

Parquet's writer puts the values of every column into a hash table until that has become too large, and then begins
anew without it. Where nearly every value is another, that takes longer than all the rest of the encoding, and
what was written by then is larger than it need be. A few rows tell.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as at

# Runs of neighbours, as in a file that is sorted by tuple these may have much in common.
_RUNS, _RUN_ROWS = 16, 256
# If more than this share of the sampled values are distinct, the column has many thousands of values.
_MOST_DISTINCT: Final = 0.85


def dictionary_paths(rows: pa.Table) -> list[str]:
    """The Parquet columns that are to have dictionaries, by their paths: those of which a sample repeats values.

    What is nested always has one, since nobody looks into it here. Few rows have none: they are compressed as well
    without, and a dictionary would be one more page to write and to read for every column.
    """
    if rows.num_rows <= _RUNS * _RUN_ROWS:
        return []
    sample = _sample(rows.num_rows)
    return [
        path
        for field, column in zip(rows.schema, rows.columns, strict=True)
        if field.type.num_fields or _repeats(column, sample)
        for path in _leaf_paths(field.name, field.type)
    ]


def _sample(rows: int) -> pa.Array:
    """The places of the rows to look at."""
    starts = np.linspace(0, rows - _RUN_ROWS, _RUNS).astype(np.int64)
    return pa.array((starts[:, None] + np.arange(_RUN_ROWS)).ravel())


def _repeats(column: pa.ChunkedArray, sample: pa.Array) -> bool:
    # To take rows out of several chunks, Arrow makes one of them first, for which strings may be too long.
    taken = column.take(sample) if column.num_chunks == 1 else pa.chunked_array(_slices(column, sample), column.type)
    distinct = pc.count_distinct(taken, mode="all").as_py()
    return bool(distinct <= _MOST_DISTINCT * len(sample))


def _slices(column: pa.ChunkedArray, sample: pa.Array) -> list[pa.Array]:
    starts = np.asarray(sample)[::_RUN_ROWS].tolist()
    return [chunk for start in starts for chunk in column.slice(start, _RUN_ROWS).chunks]


def _leaf_paths(path: str, type_: pa.DataType) -> Iterator[str]:
    """The paths of the Parquet columns that an Arrow column becomes."""
    if at.is_map(type_):
        yield from _leaf_paths(f"{path}.key_value.key", type_.key_type)
        yield from _leaf_paths(f"{path}.key_value.value", type_.item_type)
    elif at.is_struct(type_):
        for member in (type_.field(i) for i in range(type_.num_fields)):
            yield from _leaf_paths(f"{path}.{member.name}", member.type)
    elif at.is_list(type_):
        yield from _leaf_paths(f"{path}.list.element", type_.value_type)
    else:
        yield path
