"""Changing what a table is: every function takes a version and returns the changed one, touching no file.

Files keep the spec, the rule and the physical names they were written with; the planner and the readers go by ids, so
files of every spec are read side by side. Ids only grow. Physical names follow usage tracking (`model/schema.py`): the
first drop or rename sets `has_dropped_or_renamed` for good, and columns added later get names no file has ever used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

from coalesce.arguments import check_flag, check_settings, check_text, check_texts
from coalesce.errors import SchemaError, SpecError
from coalesce.model.schema import Schema, with_fresh_ids
from coalesce.model.spec import PartitionField, Spec, field_name, field_text, parse_partition_fields
from coalesce.model.transforms import Bucket
from coalesce.model.types import (
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL_BITS,
    TIMESTAMP_NTZ,
    DecimalType,
    Field,
    Type,
    is_atomic,
)
from coalesce.model.values import from_python
from coalesce.model.version import COLUMN_MAPPING_USAGE_TRACKING, ICEBERG_COMPAT_V3, WRITER_FEATURES, Version
from coalesce.table.column_paths import (
    changed_at,
    column_type,
    every_field,
    found_at,
    path_of,
    physically_named,
    position_of,
)

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
    path = path_of(name)
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
    field = physically_named(field, head.has_dropped_or_renamed)
    if default is not None:
        field = replace(field, default=from_python(resolved, default))  # type: ignore[arg-type]  # atomic, as checked

    def insert(siblings: tuple[Field, ...]) -> tuple[Field, ...]:
        place = 0 if first else len(siblings) if following is None else position_of(siblings, following) + 1
        return (*siblings[:place], field, *siblings[place:])

    return replace(head, schema=Schema(changed_at(head.schema.fields, path[:-1], insert)), max_column_id=next(ids) - 1)


def drop_column(head: Version, name: str) -> Version:
    """A column less. Files keep its values, and no later column can show them."""
    path = path_of(name, head.schema)
    field = found_at(head.schema.fields, path)
    used = [f for f in head.spec.fields if f.source_id == field.id]
    if used:
        raise SchemaError(
            f"column {name!r} is used by the partition field {field_text(used[0], head.schema)!r}; "
            f'drop that first: evolve(drop="{field_text(used[0], head.schema)}").'
        )
    told = {s.spec_id for s in head.specs if any(f.source_id == field.id for f in s.fields)}
    if any(ref.dead_rows for ref in head.manifests if ref.spec_id in told):
        raise SchemaError(
            f"column {name!r} tells which rows of some files were removed; call purge() first, which writes those "
            "files again without them."
        )

    def leave_out(siblings: tuple[Field, ...]) -> tuple[Field, ...]:
        if len(siblings) == 1:
            raise SchemaError(f"{name!r} is the last column there is; a table without columns cannot be.")
        return tuple(f for f in siblings if f.id != field.id)

    schema = Schema(changed_at(head.schema.fields, path[:-1], leave_out))
    return replace(head, schema=schema, has_dropped_or_renamed=True)


def rename_column(head: Version, name: str, new_name: str) -> Version:
    """Another name for a column, a partition column among them; nothing on disk changes."""
    path = path_of(name, head.schema)
    check_text(new_name, "the new name of a column")
    field = found_at(head.schema.fields, path)
    if field.name == new_name:
        raise SchemaError(f"column {name!r} is called {new_name!r} already.")

    def rename(siblings: tuple[Field, ...]) -> tuple[Field, ...]:
        return tuple(replace(f, name=new_name) if f.id == field.id else f for f in siblings)

    schema = Schema(changed_at(head.schema.fields, path[:-1], rename))
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


def move_column(head: Version, name: str, *, after: str | None) -> Version:
    """A column after another one of the same place, or first."""
    path = path_of(name, head.schema)
    field = found_at(head.schema.fields, path)

    def move(siblings: tuple[Field, ...]) -> tuple[Field, ...]:
        others = tuple(f for f in siblings if f.id != field.id)
        if after is not None and after.lower() == field.name.lower():
            return siblings
        place = 0 if after is None else position_of(others, after) + 1
        return (*others[:place], field, *others[place:])

    return replace(head, schema=Schema(changed_at(head.schema.fields, path[:-1], move)))


def comment_column(head: Version, name: str, comment: str) -> Version:
    """What people are told of a column; an empty text takes it away."""
    path = path_of(name, head.schema)
    field = found_at(head.schema.fields, path)

    def tell(siblings: tuple[Field, ...]) -> tuple[Field, ...]:
        return tuple(replace(f, comment=comment or None) if f.id == field.id else f for f in siblings)

    return replace(head, schema=Schema(changed_at(head.schema.fields, path[:-1], tell)))


def widen_column(head: Version, name: str, type_: object) -> Version:
    """A type that holds every value the old one could; files are read through it."""
    path = path_of(name, head.schema)
    field = found_at(head.schema.fields, path)
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

    return replace(head, schema=Schema(changed_at(head.schema.fields, path[:-1], widen)))


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
        else physically_named(with_fresh_ids((f,), lambda: next(ids))[0], dropped)
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
        flag = flag or any(f.physical_name != f.name for f in every_field(head.schema.fields))
    return replace(head, writer_features=head.writer_features | {feature}, has_dropped_or_renamed=flag)
