"""Arrow arrays of one shape into another: decoded, cast, and inside nested types member by member.

Arrow's own `cast` does some of this, but it matches members by exact name and position, in release 26 it loses the last
list when it casts a list_view to a list, and dictionaries of views, which polars has, it does not decode.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as at

from coalesce.model.arrow_schema import arrow_field, arrow_type
from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    STRING,
    Field,
    ListType,
    MapType,
    StructType,
    Type,
    Value,
    is_atomic,
)
from coalesce.model.values import column_of

# Arrow's plain strings have 32-bit offsets.
MAX_STRING_BYTES: Final = 2**31 - 1

_BLANKS: Final[dict[Type, object]] = {BOOLEAN: False, STRING: "", BINARY: b""}

# Of the members that are given: which of them is a field, if any.
FindMember = Callable[[Sequence[pa.Field]], Callable[[Field], int | None]]
# So many rows of a field that was not given.
FillMember = Callable[[Field, int], pa.Array]


def in_memory(rows: pa.Array | pa.Table) -> int:
    """How many bytes the rows take. Older releases of Arrow cannot tell of views: then it is all that these may see."""
    try:
        return rows.nbytes  # type: ignore[no-any-return]
    except (pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return rows.get_total_buffer_size()  # type: ignore[no-any-return]


def fitted(array: pa.Array, type_: Type, find: FindMember, fill: FillMember) -> pa.Array:
    """The array in the Arrow type of `type_`, logical names and ids inside; values are cast where that is exact.

    Members of structs are looked up by `find`, and made by `fill` where there is none.
    """
    if at.is_dictionary(array.type) or at.is_run_end_encoded(array.type):
        values, indices = encoded(array)
        if is_atomic(type_):  # each distinct value is cast once; Arrow takes plain strings, and no views
            return fitted(values, type_, find, fill).take(indices)
        return fitted(values.take(indices), type_, find, fill)
    target = arrow_type(type_)
    if at.is_null(array.type):
        return pa.nulls(len(array), target)
    match type_:
        case StructType(members):
            place_of = find([array.type.field(i) for i in range(array.type.num_fields)])
            values = array.flatten()
            children = []
            for member in members:
                index = place_of(member)
                child = fill(member, len(array)) if index is None else fitted(values[index], member.type, find, fill)
                children.append(child)
            return _struct_of(children, type_, array)
        case ListType(element):
            return _list_of(fitted(array.flatten(), element.type, find, fill), type_, array)
        case MapType(key, value):
            keys, items = map_entries(array).flatten().flatten()
            keys, items = fitted(keys, key.type, find, fill), fitted(items, value.type, find, fill)
            return _map_of(keys, items, type_, array)
        case _:
            return array if array.type == target else rebased(array).cast(target)


def rebased(array: pa.Array) -> pa.Array:
    """The array; a slice of one too long for 32-bit offsets gets buffers of its own, in which it begins at 0."""
    is_large = at.is_large_string(array.type) or at.is_large_binary(array.type)
    if is_large and array.get_total_buffer_size() > MAX_STRING_BYTES:
        return array.take(pa.array(np.arange(len(array))))
    return array


def encoded(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The values of a dictionary or run-end encoded array, and for each element which of them it is."""
    if at.is_dictionary(array.type):
        return array.dictionary, array.indices
    ends = np.asarray(array.run_ends)  # a slice shares them with the whole
    places = np.arange(array.offset, array.offset + len(array))
    return array.values, pa.array(np.searchsorted(ends, places, side="right"))


def bare_rows(count: int) -> pa.Table:
    """Rows without columns: only their number."""
    return pa.table({"": pa.nulls(count)}).select([])


def default_of(field: Field, count: int) -> pa.Array:
    """What a column holds in rows that do not have it: its default, or NULL."""
    return repeated(field.type, field.default, count)


def repeated(type_: Type, value: Value, count: int) -> pa.Array:
    """One value so many times; NULL stands for anything nested."""
    if value is None or not is_atomic(type_):
        return pa.nulls(count, arrow_type(type_))
    return pa.repeat(column_of(type_, [value])[0], count)  # type: ignore[arg-type]


def until(values: pa.Array, ends: npt.NDArray[np.int64]) -> pa.Array:
    """Each value again and again until its end; many times as fast as to take it so often."""
    return pc.run_end_decode(pa.RunEndEncodedArray.from_arrays(pa.array(ends), values))


def _struct_of(children: Sequence[pa.Array], type_: StructType, like: pa.Array) -> pa.Array:
    """A struct of the children, which are NULL wherever `like` is, as those of `like.flatten()` are."""
    fields = [arrow_field(member) for member in type_.fields]
    if like.null_count == 0:
        return pa.StructArray.from_arrays(children, fields=fields)
    # Parquet cannot say of a required member that it is NULL, not even inside a struct that is; some value has to
    # stand there, and will not be seen.
    absent = like.is_null()
    filled = [
        _blank_where(absent, child, member.type) if member.required else child
        for child, member in zip(children, type_.fields, strict=True)
    ]
    return pa.StructArray.from_arrays(filled, fields=fields, mask=absent)


def _blank_where(absent: pa.Array, child: pa.Array, type_: Type) -> pa.Array:
    with_blank = pa.concat_arrays([child, pa.array([_blank(type_)], child.type)])
    return with_blank.take(pa.array(np.where(np.asarray(absent), len(child), np.arange(len(child)))))


def _blank(type_: Type) -> object:
    """Any value of the type that is not NULL, as pyarrow takes it."""
    match type_:
        case StructType(members):
            return {member.name: _blank(member.type) for member in members}
        case ListType() | MapType():
            return []
        case _:
            return _BLANKS.get(type_, 0)


def _list_of(values: pa.Array, type_: ListType, like: pa.Array) -> pa.Array:
    """Lists as long as those of `like`, over the values that `like.flatten()` gives."""
    mask = like.is_null() if like.null_count else None
    return pa.ListArray.from_arrays(_offsets(like), values, type=arrow_type(type_), mask=mask)


def _map_of(keys: pa.Array, items: pa.Array, type_: MapType, like: pa.Array) -> pa.Array:
    """Maps as long as those of `like`, over the entries that `map_entries(like).flatten()` gives."""
    mask = like.is_null() if like.null_count else None
    return pa.MapArray.from_arrays(_offsets(map_entries(like)), keys, items, type=arrow_type(type_), mask=mask)


def map_entries(maps: pa.Array) -> pa.Array:
    """Maps as lists of entries, which Arrow has functions for."""
    # A cast would do, if it did not look for NULLs in members that are required, also inside of values that are NULL.
    entries = pa.StructArray.from_arrays([maps.keys, maps.items], fields=[maps.type.key_field, maps.type.item_field])
    offsets = pa.array(np.asarray(maps.offsets))  # of a slice: not one of a buffer, which is not taken with a mask
    return pa.ListArray.from_arrays(offsets, entries, mask=maps.is_null() if maps.null_count else None)


def _offsets(lists: pa.Array) -> pa.Array:
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0))
    return pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
