"""Specs: which columns, through which transforms, make a table's logical tuples.

A table keeps every spec it ever had. A partition field's id stands for one (source column, transform) pair
across all specs, so a field that is dropped and added again is the same field.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from coalesce.arguments import check_texts
from coalesce.errors import SpecError
from coalesce.model.schema import Schema
from coalesce.model.transforms import Identity, Transform, Void, result_type, transform
from coalesce.model.types import AtomicType, Field, Value, is_atomic

LogicalTuple = tuple[Value, ...]

FIRST_PARTITION_FIELD_ID = 1000

_CALL = re.compile(r"\s*(?P<function>[A-Za-z_]+)\s*\(\s*(?:(?P<number>\d+)\s*,\s*)?(?P<column>[^()]+?)\s*\)\s*")
_SUFFIXES = {"bucket": "bucket", "truncate": "trunc"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionField:
    """One component of a logical tuple: `transform` of the column `source_id`, called `name`."""

    field_id: int
    source_id: int
    transform: Transform
    name: str


@dataclass(frozen=True, slots=True, repr=False)
class Spec:
    """The partition fields in order; `fields` is empty for a table without partitions."""

    spec_id: int
    fields: tuple[PartitionField, ...]

    def __post_init__(self) -> None:
        names = [f.name.lower() for f in self.fields]
        if len(set(names)) != len(names):
            raise SpecError(f"two partition fields have the same name: {', '.join(f.name for f in self.fields)}.")
        ids = [f.field_id for f in self.fields]
        if len(set(ids)) != len(ids):
            raise SpecError("the same column and transform stands twice among the partition fields.")

    def field(self, name: str) -> PartitionField:
        """The partition field called `name`, without regard to case."""
        for field in self.fields:
            if field.name.lower() == name.lower():
                return field
        known = ", ".join(f.name for f in self.fields) or "none"
        raise SpecError(f"there is no partition field {name!r}; the partition fields are {known}.")

    @property
    def sources(self) -> frozenset[int]:
        """The ids of the columns that tuples say something of."""
        return frozenset(f.source_id for f in self.fields if not isinstance(f.transform, Void))

    def identity_position(self, column_id: int) -> int | None:
        """Where in its tuples the column itself stands, if it does."""
        for position, field in enumerate(self.fields):
            if field.source_id == column_id and isinstance(field.transform, Identity):
                return position
        return None

    def __repr__(self) -> str:
        fields = ", ".join(f"{f.name} ({f.transform})" for f in self.fields) or "not partitioned"
        return f"<spec {self.spec_id}: {fields}>"

    def types(self, schema: Schema) -> tuple[AtomicType, ...]:
        """The types of a tuple's components under `schema`."""
        return tuple(field_type(f, schema) for f in self.fields)


def file_order(schema: Schema, spec: Spec) -> list[Field]:
    """The columns as a data file has them: those the spec's tuples are made of come last."""
    sources = dict.fromkeys(f.source_id for f in spec.fields)
    last = [found for i in sources if (found := schema.by_id(i)) is not None]
    return [*(f for f in schema if f.id not in sources), *last]


def field_type(field: PartitionField, schema: Schema) -> AtomicType:
    """The type of one tuple component; the source column must still be in the schema."""
    source = schema.atomic(field.source_id)
    if source is None:
        raise SpecError(f"partition field {field.name!r} is made from a column that the table no longer has.")
    return result_type(field.transform, source)


def parse_partition_fields(
    texts: Sequence[str], schema: Schema, known: Sequence[PartitionField] = ()
) -> tuple[PartitionField, ...]:
    """Partition fields from text such as `dt`, `day(ts)`, `bucket(64, merchant)`, `truncate(4, zip)`.

    `known` are the fields the table has had before: the same column and transform gets the same id.
    """
    ids = {(f.source_id, f.transform): f.field_id for f in known}
    next_id = max((f.field_id for f in known), default=FIRST_PARTITION_FIELD_ID - 1) + 1
    fields = []
    for text in check_texts(texts, "the partition fields", "{}"):
        column, transform_ = _parse_one(text, schema)
        source = schema.field(column)
        if not is_atomic(source.type):
            raise SpecError(f"column {source.name!r} is {source.type} and cannot partition a table.")
        result_type(transform_, source.type)  # type: ignore[arg-type]  # raises where the pair makes no sense
        field_id = ids.setdefault((source.id, transform_), next_id)
        next_id = max(next_id, field_id + 1)
        name = field_name(source.name, transform_)
        fields.append(PartitionField(field_id=field_id, source_id=source.id, transform=transform_, name=name))
    return tuple(fields)


def field_name(column: str, transform_: Transform) -> str:
    """What a field is called: the column's own name for identity, `ts_day` and the like otherwise."""
    if isinstance(transform_, Identity):
        return column
    kind = str(transform_).partition("[")[0]
    return f"{column}_{_SUFFIXES.get(kind, kind)}"


def field_text(field: PartitionField, schema: Schema) -> str:
    """The text `parse_partition_fields` reads: the inverse of it."""
    source = schema.by_id(field.source_id)
    column = field.name if source is None else source.name
    kind, _, parameter = str(field.transform).rstrip("]").partition("[")
    if kind == "identity":
        return column
    return f"{kind}({parameter}, {column})" if parameter else f"{kind}({column})"


def _parse_one(text: str, schema: Schema) -> tuple[str, Transform]:
    match = _CALL.fullmatch(text)
    own = schema.find(_unquoted(text.strip()))
    if own is not None:  # a column may be called anything: `amount (eur)`, or what Spark calls the result of day(ts)
        if match is not None and schema.find(match["column"].strip("`")) is not None:
            raise SpecError(
                f"{text!r} is the name of a column, and a transform of the column {match['column']!r} as well: "
                "rename the former, and say which of them is meant."
            )
        return own.name, Identity()
    if match is None:
        if "(" in text or ")" in text:
            raise SpecError(
                f"{text!r} is not a partition field; write a column (`dt`) or a transform of one "
                "(`day(ts)`, `bucket(64, merchant)`, `truncate(4, zip)`)."
            )
        return text.strip().strip("`"), Identity()
    function, column = match["function"].lower(), match["column"].strip("`")
    if function in _SUFFIXES and int(match["number"] or 0) == 0:
        raise SpecError(f"{text!r} needs a number of 1 or more; write {function}(64, {column}).")
    parameter = f"[{match['number']}]" if match["number"] else ""
    return column, transform(f"{function}{parameter}")


def _unquoted(name: str) -> str:
    quoted = len(name) > 1 and name[0] == name[-1] == "`"
    return name[1:-1].replace("``", "`") if quoted else name
