"""A directory of Parquet files, with or without directories that are called `column=value`, as entries of a table."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from coalesce.errors import SchemaError, TableNotFound
from coalesce.interop.adopt.columns import Kind, as_given, check_typed, common_type, grouped, merged_fields, numbered
from coalesce.interop.adopt.directories import Candidate, Found, find_files, inferred_type, value_of
from coalesce.interop.adopt.entries import entry_of, holds_all, scanned
from coalesce.interop.adopt.footers import Footer, read_footers
from coalesce.interop.adopt.foreign import make_spec
from coalesce.interop.adopt.new_version import first_version, with_columns
from coalesce.interop.adopt.own_names import check_names
from coalesce.interop.adopt.packing import packing_of
from coalesce.interop.adopt.survey import PARQUET, Asked, LeftOut, Seen, Survey, some
from coalesce.model.schema import Schema
from coalesce.model.spec import Spec, parse_partition_fields
from coalesce.model.transforms import Identity
from coalesce.model.types import FLOATING, AtomicType, Field, Value, is_atomic
from coalesce.model.version import Version
from coalesce.storage.base import Storage


def survey_directory(storage: Storage, asked: Asked, base: Version | None, known: Mapping[str, Seen]) -> Survey:
    """What lies in a directory; of files that were not `known` as they are, everything."""
    found = find_files(storage)
    if base is None:  # later, they are what the table has written itself
        check_names(storage.root, [file.path for file in found.own])
    if base is None and not found.candidates:
        raise TableNotFound(f"there is nothing to adopt at {storage.root}: no Parquet file lies there, nor below.")
    listed = {c.file.path: Seen(c.file.size, c.file.modified_ms) for c in found.candidates}
    new = [c for c in found.candidates if not listed[c.file.path].looks_like(known.get(c.file.path))]
    footers = read_footers(storage, [c.file for c in new])
    listed |= {path: known[path] for path, seen in listed.items() if seen.looks_like(known.get(path))}
    listed |= {f.file.path: replace(listed[f.file.path], footer=f.digest) for f in footers.read}
    taken = {f.file.path for f in footers.read}
    found = found.only(taken | known.keys())
    by_path = {c.file.path: c for c in new if c.file.path in taken}
    if base is None and not taken:
        raise TableNotFound(f"there is nothing to adopt at {storage.root}: of its files, none is Parquet.")
    kinds = grouped({f.file.path: f.shape for f in footers.read})
    ignored: list[str] = []
    if base is None:
        version = _first(asked, found, kinds)
        if asked.schema is not None:
            ignored = _beyond(kinds, version.schema)
    else:
        version, ignored = _again(base, found, kinds)
    check_typed(kinds, frozenset(f.physical_name.lower() for f in version.schema) - {n.lower() for n in found.names})
    _check_required(version, footers.read)
    under = _under(version, found)
    named = _named(under, found)
    told = {path: _told(candidate, named, asked) for path, candidate in by_path.items()}
    _check_floats(version, footers.read, told)
    full = [f for f in footers.read if f.rows]
    entries = [entry_of(footer, told[footer.file.path], under) for footer in full]
    if asked.scan:
        entries = scanned(storage, entries, under)
    empty = [LeftOut(f.file.path, "it has no rows") for f in footers.read if not f.rows]
    without = {file.path for file in [*footers.left_out, *empty]}
    return Survey(
        kind=PARQUET,
        version=version,
        listed={path: seen for path, seen in listed.items() if path not in without},
        files=entries,
        left_out=(*found.left_out, *footers.left_out, *empty),
        ignored_columns=tuple(ignored),
        materialized=all(holds_all(footer, under) for footer in full),
        packing=packing_of(full),
        own=found.own_data,
    )


# --- columns -----------------------------------------------------------------------------------------------------


def _first(asked: Asked, found: Found, kinds: Sequence[Kind]) -> Version:
    """The table that the files make: their columns in order, then those of the directories that they do not have."""
    own = {name.lower() for name in found.names}
    if asked.schema is None:
        check_typed(kinds, None)
    fields = merged_fields(kinds, frozenset(own))
    beside = [_typed(name, inferred_type({c.texts[i] for c in found.candidates})) for i, name in enumerate(found.names)]
    if asked.schema is not None:
        given = {f.name.lower(): f for f in asked.schema}
        wanted = as_given(Schema(tuple(f for f in asked.schema if f.name.lower() not in own)), fields, kinds)
        rest = [given.get(f.name.lower(), f) for f in beside]
        by_name = {f.name.lower(): f for f in (*wanted, *rest)}
        names = [
            *(f.name.lower() for f in asked.schema),
            *(f.name.lower() for f in rest if f.name.lower() not in given),
        ]
        schema = numbered([replace(by_name[name], id=by_name[name].id if name not in own else 0) for name in names])
    else:
        schema = numbered(_in_place(kinds, fields, beside))
    nested = [name for name in found.names if not is_atomic(schema.field(name).type)]
    if nested:
        raise SchemaError(
            f"a directory's name cannot be {schema.field(nested[0]).type}: give {nested[0]!r} another type."
        )
    if asked.partition_by is None:
        columns = [schema.field(name) for name in found.names]
        spec = make_spec(0, [(column.id, Identity(), column.name) for column in columns], ())
    else:
        spec = Spec(0, parse_partition_fields(asked.partition_by, schema))
    missing = [name for name in found.names if spec_lacks(spec, schema, name)]
    if missing:
        raise SchemaError(
            f"the directories say what {missing[0]!r} is in each file, so it has to be among the partition fields: "
            f"leave partition_by= out, or add {missing[0]!r} to it."
        )
    return first_version(asked, schema, (spec,))


def spec_lacks(spec: Spec, schema: Schema, name: str) -> bool:
    """Whether the column itself is no partition field."""
    return spec.identity_position(schema.field(name).id) is None


def _typed(name: str, type_: AtomicType) -> Field:
    return Field(id=0, name=name, type=type_)


def _in_place(kinds: Sequence[Kind], fields: Sequence[Field], beside: Sequence[Field]) -> list[Field]:
    """As Spark orders them: a directory's column where the files have one of its name, else behind all of theirs."""
    by_name = {f.name.lower(): f for f in (*fields, *beside)}
    order = dict.fromkeys(c.name.lower() for kind in kinds for c in kind.shape.columns)
    order |= dict.fromkeys(f.name.lower() for f in beside)
    return [by_name[name] for name in order if name in by_name]


def _beyond(kinds: Sequence[Kind], schema: Schema) -> list[str]:
    """The columns of files that the table does not have."""
    names = {f.physical_name.lower() for f in schema}
    return [*dict.fromkeys(c.name for k in kinds for c in k.shape.columns if c.name.lower() not in names)]


def _again(base: Version, found: Found, kinds: Sequence[Kind]) -> tuple[Version, list[str]]:
    """The table with what new files bring: columns that it lacks, and wider types. What it has dropped stays so."""
    own = {f.physical_name.lower(): f for f in base.schema}
    directories = {name.lower() for name in found.names}
    wider: dict[int, Field] = {}
    new: list[Field] = []
    for field in merged_fields(kinds, frozenset(directories)):
        known = own.get(field.name.lower())
        if known is None:
            new.append(field)
            continue
        type_ = common_type(known.type, field.type)
        if type_ is None or any(_differs(kind, known) for kind in kinds):
            paths = [p for k in kinds if k.shape.find(field.name) is not None for p in k.paths]
            raise SchemaError(
                f"column {known.name!r} is {known.type} in the table, and new files hold {field.type}, which no type "
                f"takes together with it: {some(paths)}. Write them again, or move them away."
            )
        if is_atomic(known.type) or not base.has_dropped_or_renamed:  # inside, names may be another column's
            wider[known.id] = replace(known, type=type_)
    columns = [wider.get(f.id, f) for f in base.schema]
    if base.has_dropped_or_renamed and new:  # one of this name may have been dropped, and must not come back
        return with_columns(base, numbered(columns, base.max_column_id)), [f.name for f in new]
    return with_columns(base, numbered([*columns, *new], base.max_column_id)), []


def _differs(kind: Kind, known: Field) -> bool:
    """Whether files with ids have another one for the column than the table."""
    column = kind.shape.find(known.physical_name)
    return column is not None and column.field is not None and column.field.id not in (0, known.id)


# --- what directories tell -----------------------------------------------------------------------------------------


def _under(version: Version, found: Found) -> Version:
    """The version with the newest spec that has every column of the directories: of another one, files lack some."""
    wanted = [f.id for name in found.names if (f := _column(version, name)) is not None]
    if len(wanted) == len(found.names):
        for spec in (version.spec, *reversed(version.specs)):
            if all(spec.identity_position(i) is not None for i in wanted):
                return replace(version, current_spec_id=spec.spec_id)
    raise SchemaError(
        f"the directories have the columns {', '.join(found.names)}, and the table does not have all of these among "
        "its partition fields, so it could not say what they are in each file."
    )


def _column(version: Version, name: str) -> Field | None:
    """The table's column that files and directories call so."""
    return next((f for f in version.schema if f.physical_name.lower() == name.lower()), None)


def _named(version: Version, found: Found) -> list[tuple[Field, AtomicType]]:
    """The columns that the directories tell of, in their order."""
    fields = [f for name in found.names if (f := _column(version, name)) is not None]
    return [(f, type_) for f in fields if (type_ := version.schema.atomic(f.id)) is not None]


def _told(candidate: Candidate, fields: Sequence[tuple[Field, AtomicType]], asked: Asked) -> dict[int, Value]:
    return {
        field.id: value_of(text, type_, field.name, candidate.file.path, asked.time_zone)
        for (field, type_), text in zip(fields, candidate.texts, strict=True)
    }


def _check_floats(version: Version, footers: Sequence[Footer], told: Mapping[str, Mapping[int, Value]]) -> None:
    """A float's text in a path does not tell all of it, so that a file's own values count; these could be others."""
    floats = [f for f in version.schema if f.type in FLOATING]
    both = [
        footer.file.path
        for footer in footers
        for f in floats
        if f.id in told[footer.file.path] and footer.shape.find(f.physical_name) is not None
    ]
    if both:
        raise SchemaError(
            f"the directories tell a floating-point column that lies in the files, too: {some(both)}. Which of the two "
            "counts would be unclear; give it the type string with schema=."
        )


def _check_required(version: Version, footers: Sequence[Footer]) -> None:
    for field in version.schema:
        if field.required:
            told = [f.statistics.get(field.physical_name.lower()) for f in footers]
            wrong = [
                f.file.path for f, s in zip(footers, told, strict=True) if f.rows and (s is None or s.null_count != 0)
            ]
            if wrong:
                raise SchemaError(
                    f"column {field.name!r} is required, and of some files it is not known that it is never NULL: "
                    f"{some(wrong)}. Let it be nullable."
                )
