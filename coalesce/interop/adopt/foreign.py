"""What Delta and Iceberg tables have in common when they are adopted: ids, specs, and files that must bear them out.

Their metadata is believed for what is in each file. How columns are found in files is another matter: by ids in one
engine, by names in the other. So footers are looked at, of all files where columns were renamed, else of some, and must
have for each column the id and the name that the table will have.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

from coalesce.errors import SchemaError, UnsupportedFeature
from coalesce.interop.adopt.columns import common_type, numbered, without_ids
from coalesce.interop.adopt.footers import read_footers
from coalesce.interop.adopt.new_version import with_columns
from coalesce.interop.adopt.packing import packing_of
from coalesce.interop.adopt.survey import Asked, Packing, some
from coalesce.model.datafile import DataFile
from coalesce.model.schema import Schema, all_fields, children
from coalesce.model.spec import FIRST_PARTITION_FIELD_ID, PartitionField, Spec
from coalesce.model.transforms import Transform
from coalesce.model.types import Field, StructType, Type
from coalesce.model.version import Version
from coalesce.storage.base import Storage, StoredFile

_LOOKED_AT: Final = 1_000  # footers, if there is no reason to doubt

# A partition field as other formats have it: the column's id, the transform, and what it is called.
Wanted = tuple[int, Transform, str]


def refused(kind: str, root: str, reasons: Sequence[str]) -> UnsupportedFeature:
    """All reasons at once."""
    return UnsupportedFeature(f"the {kind} table at {root} cannot be adopted: {'; '.join(reasons)}.")


def check_unasked(kind: str, asked: Asked) -> None:
    """Its columns and partition fields are the other table's."""
    for name, given in (("schema=", asked.schema), ("partition_by=", asked.partition_by)):
        if given is not None:
            raise SchemaError(f"{name} is for Parquet directories: the {kind} table says this itself; leave it out.")


def make_spec(spec_id: int, wanted: Sequence[Wanted], known: Sequence[PartitionField]) -> Spec:
    """A spec of these fields; the same column and transform has the same id as among the `known` ones."""
    ids = {(f.source_id, f.transform): f.field_id for f in known}
    next_id = max((f.field_id for f in known), default=FIRST_PARTITION_FIELD_ID - 1) + 1
    fields = []
    for source_id, transform, name in wanted:
        field_id = ids.setdefault((source_id, transform), next_id)
        next_id = max(next_id, field_id + 1)
        fields.append(PartitionField(field_id=field_id, source_id=source_id, transform=transform, name=name))
    return Spec(spec_id, tuple(fields))


def all_specs(wanted: Sequence[Sequence[Wanted]], base: Version | None) -> tuple[list[Spec], list[int]]:
    """The specs of a table, and the id of each that is wanted; those that it has are used again."""
    specs = [] if base is None else list(base.specs)
    chosen = []
    for fields in wanted:
        known = [f for spec in specs for f in spec.fields]
        made = make_spec(max((s.spec_id for s in specs), default=-1) + 1, fields, known)
        same = next((s for s in specs if _pairs(s) == _pairs(made)), None)
        if same is None:
            specs.append(made)
        chosen.append(made.spec_id if same is None else same.spec_id)
    return specs, chosen


def _pairs(spec: Spec) -> list[tuple[int, Transform]]:
    return [(f.source_id, f.transform) for f in spec.fields]


def again(kind: str, root: str, base: Version, columns: Schema, *, by_id: bool) -> tuple[Version, list[str], Schema]:
    """The table with what has come to the other one's columns; what was left out; and the other's as the table has
    them.

    Columns are the same if their ids are, or where the other table has none, their names.
    """
    own = {f.physical_name.lower(): f for f in base.schema}
    found, new, ignored, theirs = dict[int, Field](), list[Field](), list[str](), list[Field]()
    for field in columns:
        known = base.schema.by_id(field.id) if by_id else own.get(field.physical_name.lower())
        if known is None:
            taken = field.id <= base.max_column_id if by_id else base.has_dropped_or_renamed
            if taken:
                ignored.append(field.name)
            else:
                new.append(field if by_id else without_ids(field))
            continue
        type_ = common_type(known.type, field.type if by_id else without_ids(field).type)
        if type_ is None:
            reason = f"its column {field.name!r} is {field.type} now, and was {known.type} when it was adopted"
            raise refused(kind, root, [reason])
        found[known.id] = replace(known, type=type_)
        theirs.append(found[known.id])
    schema = numbered([*(found.get(f.id, f) for f in base.schema), *new], base.max_column_id)
    named = {f.physical_name: f for f in schema}
    return with_columns(base, schema), ignored, Schema(tuple(named[f.physical_name] for f in (*theirs, *new)))


def relative(path: str, roots: Sequence[str]) -> str | None:
    """A file's path below one of the roots; None if it lies elsewhere."""
    bare = bare_path(path)
    for root in roots:
        begin = bare_path(root).rstrip("/") + "/"
        if bare.startswith(begin):
            return bare[len(begin) :]
    return None


def bare_path(uri: str) -> str:
    """A local path without its scheme; other URIs as they are."""
    if uri.startswith("file:"):
        rest = uri.removeprefix("file:")
        return "/" + rest.lstrip("/")
    return uri


def decoded_path(path: str) -> str:
    """A path of a Delta log, where it is URI-encoded."""
    return unquote(path)


# --- do files bear it out ------------------------------------------------------------------------------------------


def as_files_call_them(storage: Storage, files: Sequence[DataFile], schema: Schema) -> Schema:
    """The columns, each with the physical name that all files have for its id, if they have one and the same."""
    footers = read_footers(storage, [StoredFile(f.path, f.bytes, 0) for f in files])
    names: dict[int, set[str]] = {}
    for shape in {id(f.shape): f.shape for f in footers.read}.values():
        for field in all_fields(tuple(c.field for c in shape.columns if c.field is not None)):
            names.setdefault(field.id, set()).add(field.name)
    return Schema(_called(schema.fields, names))


def _called(fields: tuple[Field, ...], names: Mapping[int, set[str]]) -> tuple[Field, ...]:
    return tuple(
        replace(
            f,
            physical_name=next(iter(names[f.id])) if len(names.get(f.id, ())) == 1 else f.physical_name,
            type=StructType(_called(f.type.fields, names)) if isinstance(f.type, StructType) else f.type,
        )
        for f in fields
    )


def check_files(kind: str, storage: Storage, files: Sequence[DataFile], schema: Schema, *, every: bool) -> Packing:
    """Refuse files whose columns have another id, or another name, than the table's; and say how they are packed."""
    step = 1 if every else max(1, len(files) // _LOOKED_AT)
    footers = read_footers(storage, [StoredFile(f.path, f.bytes, 0) for f in files[::step]])
    reasons: dict[str, list[str]] = {}
    for shape in {id(f.shape): f.shape for f in footers.read}.values():
        held = tuple(c.field for c in shape.columns if c.field is not None)
        for wrong in _contradictions(held, schema.fields, shape.has_ids)[:1]:
            reasons.setdefault(wrong, []).extend(f.file.path for f in footers.read if f.shape is shape)
    if reasons:
        raise refused(kind, storage.root, [f"{reason} ({some(paths)})" for reason, paths in reasons.items()])
    return packing_of(footers.read)


def _contradictions(held: Sequence[Field], wanted: Sequence[Field], has_ids: bool) -> list[str]:
    by_id, by_name = {f.id: f for f in wanted}, {f.physical_name.lower(): f for f in wanted}
    found = []
    for field in held:
        named = by_name.get(field.name.lower())
        same = by_id.get(field.id) if has_ids else named
        if has_ids and same is not named:
            found.append(
                f"in files, column {field.name!r} has the id {field.id}, by which it is "
                f"{'none of the table' if same is None else repr(same.name)}, while by its name it is "
                f"{'none' if named is None else repr(named.name)}; write the table again with one name for each column"
            )
        elif same is not None:
            found += _inside(field.type, same.type, has_ids)
    return found


def _inside(held: Type, wanted: Type, has_ids: bool) -> list[str]:
    """The same inside of a column; elements, keys and values are found by where they stand."""
    if isinstance(held, StructType) and isinstance(wanted, StructType):
        return _contradictions(held.fields, wanted.fields, has_ids)
    pairs = zip(children(held), children(wanted), strict=False)
    return [wrong for one, other in pairs for wrong in _inside(one.type, other.type, has_ids)]
