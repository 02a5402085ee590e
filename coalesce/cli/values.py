"""Values of partition fields, for people and for programs."""

from collections.abc import Iterator, Mapping
from datetime import date

from coalesce.model.rule import Group, PhysicalKey
from coalesce.model.schema import Schema
from coalesce.model.spec import PartitionField, Spec
from coalesce.model.transforms import result_type
from coalesce.model.types import TEMPORAL, AtomicType, Value
from coalesce.model.values import PythonValue, display, from_python, to_json
from coalesce.predicate.names import dotted


def _type(field: PartitionField, schema: Schema) -> AtomicType | None:
    """The type of a field's values; None once its column was dropped."""
    source = schema.atomic(field.source_id)
    return None if source is None else result_type(field.transform, source)


def shown(spec: Spec, schema: Schema, values: Mapping[str, PythonValue]) -> list[str]:
    """Each value of a logical partition as a literal, so that NULL, 'NULL' and '' can be told apart."""
    return [literal(type_, value) for _, type_, value in _stored(spec, schema, values)]


def as_data(spec: Spec, schema: Schema, values: Mapping[str, PythonValue]) -> dict[str, object]:
    """Field name → value for JSON; dates and timestamps are ISO text."""
    return {name: _as_data(type_, value) for name, type_, value in _stored(spec, schema, values)}


def _stored(
    spec: Spec, schema: Schema, values: Mapping[str, PythonValue]
) -> Iterator[tuple[str, AtomicType | None, Value]]:
    """The fields of a logical partition, their types, and the values as the library holds them.

    Of a field whose column was dropped the type is not known, and its value stays what Python shows.
    """
    for field in spec.fields:
        type_, value = _type(field, schema), values[field.name]
        stored = value if not isinstance(value, date) else str(value)
        yield field.name, type_, stored if type_ is None else from_python(type_, value)


def physical_key(spec: Spec, schema: Schema, key: PhysicalKey | None) -> str:
    """A physical key as one line: groups by their bare names, values as literals."""
    if key is None:
        return "?"
    parts = [
        f"{dotted((field.name,))}={value.name if isinstance(value, Group) else literal(_type(field, schema), value)}"
        for field, value in zip(spec.fields, key, strict=True)
    ]
    return " ".join(parts) or "-"


def key_as_data(spec: Spec, schema: Schema, key: PhysicalKey | None) -> dict[str, object] | None:
    """Field name → `{"group": …}` or `{"value": …}`; None if the key is unknown."""
    if key is None:
        return None
    return {
        field.name: {"group": value.name}
        if isinstance(value, Group)
        else {"value": _as_data(_type(field, schema), value)}
        for field, value in zip(spec.fields, key, strict=True)
    }


def literal(type_: AtomicType | None, value: Value) -> str:
    """A value as people read it; without a type, because its column was dropped, as Python shows it."""
    return repr(value) if type_ is None else display(type_, value)


def _as_data(type_: AtomicType | None, value: Value) -> object:
    if type_ is None:
        return None if value is None else str(value)
    return display(type_, value) if type_ in TEMPORAL and value is not None else to_json(type_, value)
