"""The columns of Parquet files as the table's: each file's own, and those that many files have in common.

Files are put together by the names of their columns, without regard to case. Types that differ become the widest of
them where that changes no value; a column that a file lacks is NULL there. Everything else is refused, with the files.
A file with field ids is read by these, so they have to say the same of every file that has some; old releases of
pyarrow wrote ids into every file that nobody had asked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as at

from coalesce.errors import SchemaError
from coalesce.interop.adopt.survey import some
from coalesce.model.arrow_schema import FIELD_ID, type_from_arrow
from coalesce.model.schema import MAX_COLUMN_ID, Schema, all_fields, children
from coalesce.model.types import DATE, TIMESTAMP, Field, ListType, MapType, StructType, Type, is_atomic
from coalesce.table.evolve import widens

_NO_ID: Final = 0


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A top-level column of a file: what it is to the table, its first Parquet column, and its Arrow type.

    A column in which there is nothing but NULL, and of which nobody knows the type, has none.
    """

    name: str
    field: Field | None
    leaf: int
    stored: pa.DataType


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of files that have the same ones."""

    columns: tuple[FileColumn, ...]
    has_ids: bool

    def find(self, name: str) -> FileColumn | None:
        """The column of this name, in any case."""
        return next((c for c in self.columns if c.name.lower() == name.lower()), None)


def shape_of(schema: pa.Schema, parquet: pq.ParquetSchema) -> Shape:
    """The columns of a file; SchemaError names one that a table cannot hold."""
    columns, leaf = [], 0
    for member in schema:
        begin = leaf
        if at.is_null(member.type):
            field, leaf = None, leaf + 1
        else:
            field, leaf = _field(member, parquet, leaf, member.name)
        columns.append(FileColumn(member.name, field, begin, member.type))
    known = tuple(c.field for c in columns if c.field is not None)
    Schema(tuple(_numbered(known)))  # refuses names that are there twice, or are nobody's to use
    ids = [f.id != _NO_ID for f in _named(known)]
    if any(ids) and not all(ids):
        raise SchemaError("some of its columns have field ids and others have not.")
    return Shape(tuple(columns), any(ids))


def _field(member: pa.Field, parquet: pq.ParquetSchema, leaf: int, place: str) -> tuple[Field, int]:
    """A column, and the first Parquet column after it."""
    text = (member.metadata or {}).get(FIELD_ID)
    made = Field(id=_NO_ID if text is None else int(text), name=member.name, type=DATE)
    type_ = member.type
    if at.is_struct(type_) and type_.num_fields:
        inside = []
        for i in range(type_.num_fields):
            child = type_.field(i)
            field, leaf = _field(child, parquet, leaf, f"{place}.{child.name}")
            inside.append(field)
        return replace(made, type=StructType(tuple(inside))), leaf
    if at.is_map(type_):
        key, leaf = _field(type_.key_field.with_name("key"), parquet, leaf, f"{place}.key")
        value, leaf = _field(type_.item_field.with_name("value"), parquet, leaf, f"{place}.value")
        return replace(made, type=MapType(replace(key, required=True), value)), leaf  # none is NULL, by Arrow's rule
    if _is_list(type_):
        element, leaf = _field(type_.value_field.with_name("element"), parquet, leaf, f"{place}.element")
        return replace(made, type=ListType(element)), leaf
    return replace(made, type=_atomic(type_, parquet.column(leaf).physical_type, place)), leaf + 1


def _is_list(type_: pa.DataType) -> bool:
    return bool(at.is_list(type_) or at.is_large_list(type_) or at.is_fixed_size_list(type_))


def _atomic(type_: pa.DataType, physical: str, place: str) -> Type:
    if physical == "INT96":  # which are instants, whatever Arrow makes of them
        return TIMESTAMP
    if at.is_float16(type_):
        raise SchemaError(f"column {place!r} is of 16-bit floats, which Spark cannot read.")
    if at.is_timestamp(type_) and type_.unit == "ns":
        raise SchemaError(f"column {place!r} is of nanoseconds, and a table's timestamps are of microseconds.")
    return type_from_arrow(type_, place)


# --- many files --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kind:
    """Files that have the same columns."""

    shape: Shape
    paths: Sequence[str]


def merged_fields(kinds: Sequence[Kind], but: frozenset[str] = frozenset()) -> tuple[Field, ...]:
    """The columns of all files by name, in the order they come; without those called as in `but`, in lower case."""
    found: dict[str, Field] = {}
    for kind in kinds:
        for column in kind.shape.columns:
            folded = column.name.lower()
            if column.field is None or folded in but:
                continue
            known = found.get(folded)
            both = column.field if known is None else _common(known, column.field)
            if both is None:
                raise _disagree(column.name, kinds)
            found[folded] = both
    return tuple(found.values())


def check_typed(kinds: Sequence[Kind], wanted: frozenset[str] | None) -> None:
    """Refuse columns without a type, unless they are not `wanted` (names in lower case): Spark reads them as none."""
    found: dict[str, list[str]] = {}
    for kind in kinds:
        for column in kind.shape.columns:
            if column.field is None and (wanted is None or column.name.lower() in wanted):
                found.setdefault(column.name, []).extend(kind.paths)
    for name, paths in found.items():
        raise SchemaError(
            f"column {name!r} has no type in some files, for it is NULL in all of their rows, and Spark could not "
            f"read it as any: {some(paths)}. Write them again with a type, or leave the column out with schema=."
        )


def _common(one: Field, other: Field) -> Field | None:
    """The field of two that takes the values of both; None if there is none, or the two have other ids."""
    if _NO_ID not in (one.id, other.id) and one.id != other.id:
        return None
    type_ = common_type(one.type, other.type)
    return None if type_ is None else replace(one, id=one.id or other.id, type=type_)


def common_type(one: Type, other: Type) -> Type | None:
    """The type that takes the values of both."""
    match one, other:
        case StructType(), StructType():
            members: dict[str, Field] = {f.name.lower(): f for f in one.fields}
            for field in other.fields:
                known = members.get(field.name.lower())
                both = field if known is None else _common(known, field)
                if both is None:
                    return None
                members[field.name.lower()] = both
            return StructType(tuple(members.values()))
        case ListType(), ListType():
            element = _common(one.element, other.element)
            return None if element is None else ListType(element)
        case MapType(), MapType():
            key, value = _common(one.key, other.key), _common(one.value, other.value)
            return None if key is None or value is None else MapType(key, value)
    if one == other or _takes(one, other):
        return one
    return other if _takes(other, one) else None


def _takes(wide: Type, narrow: Type) -> bool:
    # A date could become a timestamp; but a directory of both was not meant.
    return is_atomic(wide) and is_atomic(narrow) and narrow != DATE and widens(narrow, wide)


def _disagree(name: str, kinds: Sequence[Kind]) -> SchemaError:
    by_type: dict[str, list[str]] = {}
    for kind in kinds:
        column = kind.shape.find(name)
        if column is not None and column.field is not None:
            ids = "".join(f" id {f.id}" for f in all_fields((column.field,)) if f.id)
            by_type.setdefault(f"{column.field.type}{ids}", []).extend(kind.paths)
    told = "; ".join(f"{type_}: {some(paths)}" for type_, paths in by_type.items())
    return SchemaError(
        f"the files do not agree on column {name!r}, and no type takes the values of all of them. It is {told}. "
        "Write those that are wrong again, or adopt them apart."
    )


# --- the table's columns ---------------------------------------------------------------------------------------------


def numbered(fields: Sequence[Field], above: int = 0) -> Schema:
    """The fields as columns of a table: those without an id get one, above all there are, and above another number."""
    for field in all_fields(tuple(fields)):
        if field.id < 0 or field.id > MAX_COLUMN_ID:
            raise SchemaError(f"column {field.name!r} has the field id {field.id}, which is nobody's to use.")
    return Schema(tuple(_numbered(tuple(fields), above)))


def _numbered(fields: tuple[Field, ...], above: int = 0) -> list[Field]:
    ids = count(max([above, *(f.id for f in all_fields(fields))], default=0) + 1)
    return _with_ids(fields, ids)


def _with_ids(fields: tuple[Field, ...], ids: Iterator[int]) -> list[Field]:
    own = [replace(f, id=f.id or next(ids)) for f in fields]  # siblings first, then what is inside them
    return [replace(f, type=_inside(f.type, ids)) for f in own]


def _inside(type_: Type, ids: Iterator[int]) -> Type:
    match type_:
        case StructType(fields):
            return StructType(tuple(_with_ids(fields, ids)))
        case ListType(element):
            return ListType(*_with_ids((element,), ids))
        case MapType(key, value):
            return MapType(*_with_ids((key, value), ids))
        case _:
            return type_


def as_given(given: Schema, fields: Sequence[Field], kinds: Sequence[Kind]) -> tuple[Field, ...]:
    """The columns that were asked for, with the ids that files have for them, if their types take what files hold."""
    found = {f.name.lower(): f for f in fields}
    wanted = []
    for field in given:
        held = found.get(field.name.lower())
        bare = without_ids(field)
        both = bare if held is None else _common(bare, held)
        if held is not None and (both is None or _bare_text(both) != _bare_text(bare)):
            raise SchemaError(
                f"column {field.name!r} is to be {field.type}, and files hold {held.type}, which it does not take: "
                f"{some([p for k in kinds if k.shape.find(field.name) is not None for p in k.paths])}."
            )
        wanted.append(bare if both is None or held is None else replace(both, physical_name=held.name))
    return tuple(wanted)


def without_ids(field: Field) -> Field:
    """The field, and those inside of it, without the ids that they have."""
    match field.type:
        case StructType(fields):
            type_: Type = StructType(tuple(map(without_ids, fields)))
        case ListType(element):
            type_ = ListType(without_ids(element))
        case MapType(key, value):
            type_ = MapType(without_ids(key), without_ids(value))
        case _:
            type_ = field.type
    return replace(field, id=_NO_ID, type=type_)


def _bare_text(field: Field) -> str:
    return str(field.type).lower()


def _named(fields: Sequence[Field]) -> Iterator[Field]:
    """Columns and members of structs; elements, keys and values have no names to be found by."""
    for field in fields:
        yield field
        yield from _named_inside(field.type)


def _named_inside(type_: Type) -> Iterator[Field]:
    if isinstance(type_, StructType):
        yield from _named(type_.fields)
    else:
        for inner in children(type_):
            yield from _named_inside(inner.type)


def grouped(shapes: Mapping[str, Shape]) -> list[Kind]:
    """The files by what columns they have, in order."""
    by_shape: dict[int, tuple[Shape, list[str]]] = {}
    for path, shape in shapes.items():
        by_shape.setdefault(id(shape), (shape, []))[1].append(path)
    return [Kind(shape, paths) for shape, paths in by_shape.values()]
