"""The rows of a DataFrame in the driver, as Arrow.

`DataFrame.toArrow` is not enough. It fails on a struct that is NULL and has members that never are; and where lists
inside of lists are all empty, the Java library leaves their offsets out, which pyarrow (26) reads all the same.
"""

import pyarrow as pa
import pyarrow.types as at
from pyspark.sql import DataFrame


def collected(frame: DataFrame) -> pa.Table:
    """All rows of the frame."""
    batches = frame._collect_as_arrow(empty_list_if_zero_records=False)  # type: ignore[operator]
    rows = pa.Table.from_batches(batches)
    for place, field in enumerate(rows.schema):
        if at.is_nested(field.type):
            chunks = [_with_offsets(chunk) for chunk in rows.column(place).chunks]
            rows = rows.set_column(place, field, pa.chunked_array(chunks, field.type))
    return rows


def _with_offsets(array: pa.Array) -> pa.Array:
    """The array; at any depth, one of no elements is made anew."""
    type_ = array.type
    if len(array) == 0:
        return pa.nulls(0, type_)
    mask = array.is_null() if array.null_count else None
    if at.is_struct(type_):
        members = [_with_offsets(array.field(i)) for i in range(type_.num_fields)]
        return pa.StructArray.from_arrays(members, fields=list(type_), mask=mask) if members else array
    if at.is_map(type_):
        keys, items = _with_offsets(array.keys), _with_offsets(array.items)
        return pa.MapArray.from_arrays(array.offsets, keys, items, type=type_, mask=mask)
    if at.is_list(type_):
        return pa.ListArray.from_arrays(array.offsets, _with_offsets(array.values), type=type_, mask=mask)
    return array
