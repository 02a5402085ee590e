"""Make rows fit a table, or say everything that is wrong with them at once, before anything is written.

Columns are matched by name as Spark does by default, without regard to case, at every level of nesting. A nullable
column that is missing is NULL; a type that is narrower than the table's is widened; whatever would change a value
is refused.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.types as at

from coalesce.arrow.fit import fitted, map_entries
from coalesce.errors import SchemaError
from coalesce.model.arrow_schema import arrow_schema, arrow_type, type_from_arrow
from coalesce.model.schema import Schema, did_you_mean
from coalesce.model.types import (
    DOUBLE,
    FLOAT,
    INTEGRAL_BITS,
    DecimalType,
    Field,
    ListType,
    MapType,
    StructType,
    Type,
    is_atomic,
)

# Decimal digits that hold every integer of so many bits, and integers that a float of each kind holds exactly.
_DIGITS: Final = {8: 3, 16: 5, 32: 10, 64: 19}
_EXACT_BITS: Final[dict[Type, int]] = {FLOAT: 16, DOUBLE: 32}


def conform(rows: pa.Table, schema: Schema) -> pa.Table:
    """The rows under the table's own names, order and types, or one SchemaError that names all that is wrong."""
    found, problems = _matched(schema.fields, [(f.name, f.type) for f in rows.schema], "")
    columns = []
    for field, index in zip(schema.fields, found, strict=True):
        if index is None:
            columns.append(pa.chunked_array([pa.nulls(rows.num_rows, arrow_type(field.type))]))
            continue
        wrong_types = list(_type_problems(rows.schema.field(index).type, field, field.name))
        problems += wrong_types
        if not wrong_types:
            columns.append(_converted(rows.column(index), field, problems))
    if problems:
        listed = "".join(f"\n  - {problem}" for problem in problems)
        raise SchemaError(f"the rows do not fit the table, and nothing was written:{listed}")
    return pa.Table.from_arrays(columns, schema=arrow_schema(schema))


def is_widening(source: Type, target: Type) -> bool:
    """Whether every value of `source` is exactly a value of `target`, another atomic type."""
    if isinstance(target, DecimalType):
        whole = target.precision - target.scale
        if isinstance(source, DecimalType):
            return source.scale <= target.scale and source.precision - source.scale <= whole
        return source in INTEGRAL_BITS and _DIGITS[INTEGRAL_BITS[source]] <= whole
    if source in INTEGRAL_BITS:
        limit = INTEGRAL_BITS.get(target, 0) or _EXACT_BITS.get(target, 0)
        return INTEGRAL_BITS[source] <= limit
    return source == FLOAT and target == DOUBLE


# --- names and types ---------------------------------------------------------------------------------------------


def _matched(
    fields: Sequence[Field], given: Sequence[tuple[str, pa.DataType]], place: str
) -> tuple[list[int | None], list[str]]:
    """For each field the position among the given names, or None; and what is wrong with the names."""
    problems = []
    positions: dict[str, int] = {}
    known = {f.name.lower() for f in fields}
    for position, (name, _) in enumerate(given):
        if name.lower() in positions:
            problems.append(f"column {_inside(place, name)!r} is there twice.")
        elif name.lower() not in known:
            problems.append(
                f"there is no column {_inside(place, name)!r} in the table"
                f"{did_you_mean(name, tuple(f.name for f in fields))}"
            )
        positions.setdefault(name.lower(), position)
    found = [positions.get(f.name.lower()) for f in fields]
    problems += [
        f"column {_inside(place, field.name)!r} is required and missing."
        for field, position in zip(fields, found, strict=True)
        if position is None and field.required
    ]
    return found, problems


def _inside(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _type_problems(given: pa.DataType, field: Field, place: str) -> Iterator[str]:
    given = _decoded_type(given)
    if at.is_null(given):
        return  # nothing but NULL, which has every type
    match field.type:
        case StructType(members) if at.is_struct(given):
            inside = [given.field(i) for i in range(given.num_fields)]
            found, problems = _matched(members, [(f.name, f.type) for f in inside], place)
            yield from problems
            for member, index in zip(members, found, strict=True):
                if index is not None:
                    yield from _type_problems(inside[index].type, member, _inside(place, member.name))
        case MapType(key, value) if at.is_map(given):
            yield from _type_problems(given.key_type, key, f"{place}.key")
            yield from _type_problems(given.item_type, value, f"{place}.value")
        case ListType(element) if _is_list(given):
            yield from _type_problems(given.value_type, element, f"{place}.element")
        case _:
            try:
                type_ = type_from_arrow(given, place)
            except SchemaError as error:
                yield str(error)
                return
            same = type_ == field.type and is_atomic(type_)
            if not same and not (is_atomic(type_) and is_widening(type_, field.type)):
                yield f"column {place!r} is {type_}, which does not widen to the table's {field.type}; cast it."


def _decoded_type(given: pa.DataType) -> pa.DataType:
    return given.value_type if at.is_dictionary(given) or at.is_run_end_encoded(given) else given


def _is_list(given: pa.DataType) -> bool:
    kinds = (at.is_list, at.is_large_list, at.is_fixed_size_list, at.is_list_view, at.is_large_list_view)
    return any(kind(given) for kind in kinds)


# --- values ------------------------------------------------------------------------------------------------------


def _converted(column: pa.ChunkedArray, field: Field, problems: list[str]) -> pa.ChunkedArray:
    """The column in the table's type; what cannot be is added to `problems`."""
    try:
        chunks = [fitted(chunk, field.type, _by_name, _null) for chunk in column.chunks]
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


def _by_name(field: Field, members: Sequence[pa.Field]) -> int | None:
    return next((i for i, m in enumerate(members) if m.name.lower() == field.name.lower()), None)


def _null(field: Field, count: int) -> pa.Array:
    return pa.nulls(count, arrow_type(field.type))


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
