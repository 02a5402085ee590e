"""Changing what a table is: every function takes a version and returns the changed one, touching no file.

Files keep the spec, the rule and the physical names they were written with; the planner and the readers go by ids, so
files of every spec are read side by side. Ids only grow. Physical names follow usage tracking (`model/schema.py`): the
first drop or rename sets `has_dropped_or_renamed` for good, and columns added later get names no file has ever used.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from uuid import uuid4

import pyarrow as pa

from coalesce.arguments import check_flag, check_settings, check_text, check_texts, shown
from coalesce.errors import SchemaError, SpecError
from coalesce.model.arrow_schema import type_from_arrow
from coalesce.model.schema import Schema, children, did_you_mean, with_fresh_ids
from coalesce.model.spec import PartitionField, Spec, field_name, field_text, parse_partition_fields
from coalesce.model.transforms import Bucket
from coalesce.model.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL_BITS,
    TIMESTAMP_NTZ,
    AtomicType,
    DecimalType,
    Field,
    ListType,
    MapType,
    StructType,
    Type,
    atomic_type,
    is_atomic,
)
from coalesce.model.values import from_python
from coalesce.model.version import COLUMN_MAPPING_USAGE_TRACKING, ICEBERG_COMPAT_V3, WRITER_FEATURES, Version
from coalesce.predicate.names import parts_of

Texts = str | Sequence[str]

# --- specs -----------------------------------------------------------------------------------------------------------


def evolve_spec(
    head: Version, add: Texts = (), drop: Texts = (), replacements: Mapping[str, str] | None = None
) -> Version:
    """Other partition fields from now on. A set of fields the table has had before gets its old spec back."""
    fields = list(head.spec.fields)
    for text in texts(drop):
        field = _current_field(head, text)
        if field not in fields:
            raise SpecError(f"{text!r} is to be dropped twice.")
        fields.remove(field)
    for old, new in _replacements(replacements).items():
        if _current_field(head, old) not in fields:
            raise SpecError(f"{old!r} is to be dropped and replaced; say one of the two.")
        place = fields.index(_current_field(head, old))
        (fields[place],) = parse_partition_fields([new], head.schema, head.partition_fields)
    known = (*head.partition_fields, *fields)
    fields += parse_partition_fields(texts(add), head.schema, known)
    if tuple(fields) == head.spec.fields:
        raise SpecError("that changes nothing: say what to add, drop or replace.")
    same = next((s for s in head.specs if s.fields == tuple(fields)), None)
    if same is not None:
        return replace(head, current_spec_id=same.spec_id)
    spec = Spec(max(s.spec_id for s in head.specs) + 1, tuple(fields))
    return replace(head, specs=(*head.specs, spec), current_spec_id=spec.spec_id)


def _current_field(head: Version, text: str) -> PartitionField:
    """The field of the current spec that is called `text`, or is written so."""
    squeezed = text.replace(" ", "").lower()
    for field in head.spec.fields:
        if squeezed in (field.name.lower(), field_text(field, head.schema).replace(" ", "").lower()):
            return field
    known = ", ".join(field_text(f, head.schema) for f in head.spec.fields) or "none"
    raise SpecError(f"{text!r} is not a partition field of the table; they are {known}.")


def texts(given: Texts) -> Sequence[str]:
    """One partition field, or several, as texts."""
    return [given] if isinstance(given, str) else check_texts(given, "the partition fields", "{}")


def _replacements(given: Mapping[str, str] | None) -> dict[str, str]:
    settings = {} if given is None else check_settings(given, "replacements of partition fields")
    return {old: check_text(new, f"what replaces the partition field {old!r}") for old, new in settings.items()}


# --- columns ---------------------------------------------------------------------------------------------------------


def add_column(
    head: Version,
    name: str,
    type_: object,
    *,
    after: str | None = None,
    first: bool = False,
    default: object = None,
    required: bool = False,
) -> Version:
    """A new column, last unless said otherwise; `a.b` adds a member to the struct `a`.

    Rows written before hold `default` in it, or NULL.
    """
    path = _path(name)
    resolved = column_type(type_)
    if check_flag(first, "first=") and after is not None:
        raise SchemaError(f"column {name!r} cannot be first and after {after!r}; say one of the two.")
    following = None if after is None else check_text(after, "after=")
    needed = check_flag(required, "required=")
    if needed and default is None:
        raise SchemaError(f"column {name!r} cannot be required without a default: rows already there have no value.")
    if default is not None and not is_atomic(resolved):
        raise SchemaError(f"column {name!r} is {resolved}; only a column of a single value can have a default.")
    ids = count(head.max_column_id + 1)
    (field,) = with_fresh_ids((Field(id=0, name=path[-1], type=resolved, required=needed),), lambda: next(ids))
    field = _physically_named(field, head.has_dropped_or_renamed)
    if default is not None:
        field = replace(field, default=from_python(resolved, default))  # type: ignore[arg-type]  # atomic, as checked

    def insert(siblings: tuple[Field, ...]) -> tuple[Field, ...]:
        place = 0 if first else len(siblings) if following is None else _position(siblings, following) + 1
        return (*siblings[:place], field, *siblings[place:])

    return replace(head, schema=Schema(_inside(head.schema.fields, path[:-1], insert)), max_column_id=next(ids) - 1)


def drop_column(head: Version, name: str) -> Version:
    """A column less. Files keep its values, and no later column can show them."""
    path = _path(name, head.schema)
    field = _find(head.schema.fields, path)
    used = [f for f in head.spec.fields if f.source_id == field.id]
    if used:
        raise SchemaError(
            f"column {name!r} is used by the partition field {field_text(used[0], head.schema)!r}; "
            f'drop that first: evolve(drop="{field_text(used[0], head.schema)}").'
        )

    def leave_out(siblings: tuple[Field, ...]) -> tuple[Field, ...]:
        if len(siblings) == 1:
            raise SchemaError(f"{name!r} is the last column there is; a table without columns cannot be.")
        return tuple(f for f in siblings if f.id != field.id)

    schema = Schema(_inside(head.schema.fields, path[:-1], leave_out))
    return replace(head, schema=schema, has_dropped_or_renamed=True)


def rename_column(head: Version, name: str, new_name: str) -> Version:
    """Another name for a column, a partition column among them; nothing on disk changes."""
    path = _path(name, head.schema)
    check_text(new_name, "the new name of a column")
    field = _find(head.schema.fields, path)
    if field.name == new_name:
        raise SchemaError(f"column {name!r} is called {new_name!r} already.")

    def rename(siblings: tuple[Field, ...]) -> tuple[Field, ...]:
        return tuple(replace(f, name=new_name) if f.id == field.id else f for f in siblings)

    schema = Schema(_inside(head.schema.fields, path[:-1], rename))
    specs = tuple(_with_renamed(s, field, new_name, schema) for s in head.specs)
    return replace(head, schema=schema, specs=specs, has_dropped_or_renamed=True)


def _with_renamed(spec: Spec, column: Field, new_name: str, schema: Schema) -> Spec:
    """The spec with the fields of a column renamed.

    A field whose column is gone leaves the name to one that is there; its own is for people, tuples go by ids.
    """
    fields = [_renamed(f, column, new_name) for f in spec.fields]
    taken = {f.name.lower(): f for f in fields if f.source_id == column.id}
    for place, field in enumerate(fields):
        if field.source_id == column.id or field.name.lower() not in taken:
            continue
        if schema.atomic(field.source_id) is not None:
            raise SchemaError(f"there is a partition field {field.name!r}; choose another name for {column.name!r}.")
        fields[place] = replace(field, name=f"{field.name}_{field.field_id}")
    return replace(spec, fields=tuple(fields))


def _renamed(partition_field: PartitionField, column: Field, new_name: str) -> PartitionField:
    """A partition field named after its column follows the column's name."""
    if partition_field.source_id != column.id:
        return partition_field
    if partition_field.name != field_name(column.name, partition_field.transform):
        return partition_field
    return replace(partition_field, name=field_name(new_name, partition_field.transform))


def reorder(head: Version, names: Sequence[str]) -> Version:
    """These columns first, in this order; the others after them as they are."""
    front = [head.schema.field(name) for name in names]
    if not front:
        raise SchemaError("say which columns come first: reorder([…]).")
    twice = next((f.name for i, f in enumerate(front) if f in front[:i]), None)
    if twice is not None:
        raise SchemaError(f"column {twice!r} can come first only once.")
    rest = [f for f in head.schema if f not in front]
    return replace(head, schema=Schema((*front, *rest)))


def widen_column(head: Version, name: str, type_: object) -> Version:
    """A type that holds every value the old one could; files are read through it."""
    path = _path(name, head.schema)
    field = _find(head.schema.fields, path)
    wide = column_type(type_)
    if not widens(field.type, wide):
        raise SchemaError(
            f"column {name!r} is {field.type} and cannot become {wide}; possible are wider integers, float → double, "
            "decimals of the same scale with more digits, and date → timestamp_ntz."
        )
    hashed = [f for f in head.partition_fields if f.source_id == field.id and isinstance(f.transform, Bucket)]
    if hashed and field.type == DATE:
        raise SchemaError(
            f"column {name!r} is in buckets by its day ({field_text(hashed[0], head.schema)}), and a timestamp's "
            "buckets are others; it has to stay a date."
        )

    def widen(siblings: tuple[Field, ...]) -> tuple[Field, ...]:
        return tuple(_widened(f, wide) if f.id == field.id else f for f in siblings)

    return replace(head, schema=Schema(_inside(head.schema.fields, path[:-1], widen)))


_DAY_MICROS = 86_400_000_000


def _widened(field: Field, wide: Type) -> Field:
    default = field.default
    if field.type == DATE and wide == TIMESTAMP_NTZ and isinstance(default, int):
        default *= _DAY_MICROS
    return replace(field, type=wide, default=default)


def widens(narrow: Type, wide: Type) -> bool:
    """Whether a column of one type may become one of the other, so that files keep what they hold."""
    if narrow in INTEGRAL_BITS and wide in INTEGRAL_BITS:
        return INTEGRAL_BITS[narrow] < INTEGRAL_BITS[wide]
    if isinstance(narrow, DecimalType) and isinstance(wide, DecimalType):
        return narrow.scale == wide.scale and narrow.precision < wide.precision
    return (narrow, wide) in ((FLOAT, DOUBLE), (DATE, TIMESTAMP_NTZ))


# --- whole tables ----------------------------------------------------------------------------------------------------


def replaced(head: Version, schema: Schema, partition_by: Sequence[str]) -> Version:
    """Another schema and spec for a table that begins empty again; a column of the same name and type stays itself."""
    ids = count(head.max_column_id + 1)
    kept = {f.name: f for f in head.schema}
    gone = {f.id for f in head.schema} - {kept[f.name].id for f in schema if _same(kept.get(f.name), f)}
    dropped = head.has_dropped_or_renamed or bool(gone)
    fields = tuple(
        kept[f.name]
        if _same(kept.get(f.name), f)
        else _physically_named(with_fresh_ids((f,), lambda: next(ids))[0], dropped)
        for f in schema
    )
    columns = Schema(fields)
    if not fields:
        raise SchemaError("a table needs at least one column.")
    parsed = parse_partition_fields(partition_by, columns, head.partition_fields)
    _check_iceberg_names(head, parsed)
    known = next((s for s in head.specs if s.fields == parsed), None)
    spec = Spec(max(s.spec_id for s in head.specs) + 1, parsed) if known is None else known
    return replace(
        head,
        schema=columns,
        specs=head.specs if known is not None else (*head.specs, spec),
        current_spec_id=spec.spec_id,
        max_column_id=next(ids) - 1,
        has_dropped_or_renamed=dropped,
    )


def _same(old: Field | None, new: Field) -> bool:
    return old is not None and is_atomic(old.type) and old.type == new.type and old.required == new.required


def _check_iceberg_names(head: Version, fields: Sequence[PartitionField]) -> None:
    if ICEBERG_COMPAT_V3 not in head.writer_features or not head.spec.fields:
        return
    before, after = [f.name for f in head.spec.fields], [f.name for f in fields]
    if before != after:
        raise SpecError(
            f"with {ICEBERG_COMPAT_V3} a table partitioned by {', '.join(before)} cannot be replaced by one "
            f"partitioned by {', '.join(after) or 'nothing'}: the names have to stay, only types may change."
        )


def enable_feature(head: Version, feature: str) -> Version:
    """Turn a writer feature on. Usage tracking on a table that has mapped columns before must assume the worst."""
    if check_text(feature, "a feature") not in WRITER_FEATURES:
        raise SchemaError(f"there is no feature {feature!r}; there are {', '.join(sorted(WRITER_FEATURES))}.")
    flag = head.has_dropped_or_renamed
    if feature == COLUMN_MAPPING_USAGE_TRACKING and feature not in head.writer_features:
        flag = flag or any(f.physical_name != f.name for f in _every_field(head.schema.fields))
    return replace(head, writer_features=head.writer_features | {feature}, has_dropped_or_renamed=flag)


# --- finding and rebuilding fields -----------------------------------------------------------------------------------


def column_type(given: object) -> Type:
    """A type from a model type, a pyarrow type, or text such as `int64` or `decimal(10,2)`."""
    if isinstance(given, AtomicType | StructType | ListType | MapType):
        return given
    if isinstance(given, pa.DataType):
        return type_from_arrow(given)
    if isinstance(given, str):
        return atomic_type(_SQL_NAMES.get(given.strip().lower(), given.strip().lower()))
    raise SchemaError(f"{shown(given)} is not a type; give a pyarrow type or text such as 'int64' or 'decimal(10,2)'.")


_SQL_NAMES = {
    "tinyint": "int8",
    "byte": "int8",
    "smallint": "int16",
    "short": "int16",
    "int": "int32",
    "integer": "int32",
    "bigint": "int64",
    "long": "int64",
    "real": "float",
    "bool": "boolean",
}


def _path(name: object, schema: Schema | None = None) -> tuple[str, ...]:
    """The parts of a column's name: `a.b` is a member of `a`, unless a column is called just that."""
    text = check_text(name, "the name of a column")
    parts = (text,) if schema is not None and schema.find(text) is not None else parts_of(text)
    if parts is None:
        raise SchemaError(f"{shown(text)} is not a column's name; put a name with dots or quotes in `back-quotes`.")
    return parts


def _find(fields: tuple[Field, ...], path: Sequence[str]) -> Field:
    field = fields[_position(fields, path[0])]
    return field if len(path) == 1 else _find(_members(field), path[1:])


def _members(field: Field) -> tuple[Field, ...]:
    inner = children(field.type)
    if not inner:
        raise SchemaError(f"column {field.name!r} is {field.type} and has no members.")
    return inner


def _position(fields: tuple[Field, ...], name: str) -> int:
    for i, field in enumerate(fields):
        if field.name.lower() == name.lower():
            return i
    raise SchemaError(f"there is no column {name!r}{did_you_mean(name, tuple(f.name for f in fields))}")


Siblings = Callable[[tuple[Field, ...]], tuple[Field, ...]]


def _inside(fields: tuple[Field, ...], path: Sequence[str], change: Siblings) -> tuple[Field, ...]:
    """The fields with `change` applied to the members at `path`; list elements are called `element`."""
    if not path:
        return change(fields)
    place = _position(fields, path[0])
    field = fields[place]
    inner = _members(field)
    changed = _inside(inner, path[1:], change)
    if not isinstance(field.type, StructType) and [f.name for f in changed] != [f.name for f in inner]:
        raise SchemaError(f"column {field.name!r} is {field.type}; only a struct's members have names that can change.")
    match field.type:
        case StructType():
            type_: Type = StructType(changed)
        case ListType():
            type_ = ListType(*changed)
        case MapType():
            type_ = MapType(*changed)
        case _:
            raise SchemaError(f"column {field.name!r} is {field.type} and has no members.")
    return (*fields[:place], replace(field, type=type_), *fields[place + 1 :])


def _every_field(fields: tuple[Field, ...]) -> Iterator[Field]:
    for field in fields:
        yield field
        yield from _every_field(children(field.type))


def _physically_named(field: Field, unique: bool) -> Field:
    """A new field under the name its files will use: its own, or one that no file has ever used."""
    name = f"{field.name}-{uuid4().hex}" if unique else field.name
    match field.type:
        case StructType(fields):
            type_: Type = StructType(tuple(_physically_named(f, unique) for f in fields))
        case ListType(element):
            type_ = ListType(replace(element, type=_physically_named(element, unique).type))
        case MapType(key, value):
            type_ = MapType(
                replace(key, type=_physically_named(key, unique).type),
                replace(value, type=_physically_named(value, unique).type),
            )
        case _:
            type_ = field.type
    return replace(field, physical_name=name, type=type_)
