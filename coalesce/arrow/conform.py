"""Make Arrow rows fit a table, or say everything that is wrong with them at once, before anything is written."""

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.types as at

from coalesce.arrow.reshape import MAX_STRING_BYTES, default_of, fitted, in_memory, map_entries
from coalesce.model.arrow_schema import arrow_schema, arrow_type, type_from_arrow
from coalesce.model.schema import Schema
from coalesce.model.spec import Spec
from coalesce.model.types import Field, ListType, MapType, StructType
from coalesce.table.match import inside, matched, misfits, refusal


def conform(rows: pa.Table, schema: Schema, spec: Spec | None = None) -> pa.Table:
    """The rows under the table's own names, order and types, or one SchemaError that names all that is wrong.

    With a spec, the rows have to bring the columns that it makes tuples of.
    """
    found, problems = matched(schema.fields, rows.column_names, "", () if spec is None else spec.sources)
    columns = []
    for field, index in zip(schema.fields, found, strict=True):
        if index is None:
            columns.append(pa.chunked_array([default_of(field, rows.num_rows)]))
            continue
        wrong_types = list(_type_problems(rows.schema.field(index).type, field, field.name))
        problems += wrong_types
        if not wrong_types:
            columns.append(_converted(rows.column(index), field, problems))
    if problems:
        raise refusal(problems)
    return pa.Table.from_arrays(columns, schema=arrow_schema(schema))


# --- names and types ---------------------------------------------------------------------------------------------


def _type_problems(given: pa.DataType, field: Field, place: str) -> Iterator[str]:
    given = _decoded_type(given)
    if at.is_null(given):
        return  # nothing but NULL, which has every type
    match field.type:
        case StructType(members) if at.is_struct(given):
            given_members = [given.field(i) for i in range(given.num_fields)]
            found, problems = matched(members, [m.name for m in given_members], place)
            yield from problems
            for member, index in zip(members, found, strict=True):
                if index is not None:
                    yield from _type_problems(given_members[index].type, member, inside(place, member.name))
        case MapType(key, value) if at.is_map(given):
            yield from _type_problems(given.key_type, key, f"{place}.key")
            yield from _type_problems(given.item_type, value, f"{place}.value")
        case ListType(element) if _is_list(given):
            yield from _type_problems(given.value_type, element, f"{place}.element")
        case _:
            yield from misfits(lambda: type_from_arrow(given, place), place, field)


def _decoded_type(given: pa.DataType) -> pa.DataType:
    while at.is_dictionary(given) or at.is_run_end_encoded(given):
        given = given.value_type
    return given


def _is_list(given: pa.DataType) -> bool:
    kinds = (at.is_list, at.is_large_list, at.is_fixed_size_list, at.is_list_view, at.is_large_list_view)
    return any(kind(given) for kind in kinds)


# --- values ------------------------------------------------------------------------------------------------------


def _converted(column: pa.ChunkedArray, field: Field, problems: list[str]) -> pa.ChunkedArray:
    """The column in the table's type; what cannot be is added to `problems`."""
    try:
        chunks = [
            fitted(part, field.type, _by_name, default_of) for chunk in column.chunks for part in _short_enough(chunk)
        ]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        problems.append(f"column {field.name!r} does not fit {field.type}: {error}.")
        return column
    converted = pa.chunked_array(chunks, arrow_type(field.type))
    nulls: dict[str, int] = {}
    for chunk in chunks:
        for place, count in _nulls_in_required(chunk, field, field.name):
            nulls[place] = nulls.get(place, 0) + count
    problems += [f"column {place!r} is required and has {count} NULLs." for place, count in nulls.items()]
    return converted


def _short_enough(chunk: pa.Array) -> Iterator[pa.Array]:
    """The chunk in pieces whose strings have room in 32-bit offsets: they may come with 64-bit ones, or as views."""
    pieces = -(-in_memory(chunk) // MAX_STRING_BYTES)
    if pieces < 2:
        yield chunk
        return
    step = -(-len(chunk) // (2 * pieces))  # twice as many, as they are not all of one length
    yield from (chunk.slice(start, step) for start in range(0, len(chunk), step))


def _by_name(members: Sequence[pa.Field]) -> Callable[[Field], int | None]:
    places = {member.name.lower(): i for i, member in enumerate(members)}
    return lambda field: places.get(field.name.lower())


def _nulls_in_required(array: pa.Array, field: Field, place: str) -> Iterator[tuple[str, int]]:
    """Where a required field holds NULL inside something that is not NULL itself."""
    if field.required and array.null_count:
        yield place, array.null_count
    match field.type:
        case StructType(members):
            for member, child in zip(members, array.drop_null().flatten(), strict=True):
                yield from _nulls_in_required(child, member, f"{place}.{member.name}")
        case ListType(element):
            yield from _nulls_in_required(array.flatten(), element, f"{place}.element")
        case MapType(key, value):
            keys, items = map_entries(array).flatten().flatten()
            yield from _nulls_in_required(keys, key, f"{place}.key")
            yield from _nulls_in_required(items, value, f"{place}.value")
        case _:
            return
