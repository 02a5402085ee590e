"""What columns hold after a statement: values that clauses give them, stored as INSERT would store them."""

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it
from pyspark.sql import types as spark

from coalesce.errors import SchemaError
from coalesce.model.schema import Schema
from coalesce.model.types import Field, StructType, is_atomic
from coalesce.predicate.names import dotted, parts_of
from coalesce.spark.jvm.catalyst import is_stored, stored
from coalesce.spark.jvm.frames import Marks, selected
from coalesce.spark.translate.schema import nullable, spark_type
from coalesce.spark.write.conform import converted, missing, type_problems
from coalesce.table.match import refusal

Own = Callable[[Field], Column]
"""A column of the row as it is in the table."""

Name = str | tuple[str, ...]
"""What is given a value: as people write it, or the names of a column and of members in it, one by one."""


class Assigned:
    """The values that each of some clauses gives to columns of `frame`; one that gives none to a column keeps it.

    A clause that `makes` rows gives the others what a row holds that does not bring them. None is a clause that
    removes rows.
    """

    def __init__(
        self,
        frame: DataFrame,
        schema: Schema,
        clauses: Sequence[Mapping[Name, Column] | None],
        makes: Callable[[int], bool],
        own: Own,
    ) -> None:
        self._spark: SparkSession = frame.sparkSession
        self._makes, self._own = makes, own
        found = {n: by_column(schema, values, own) for n, values in enumerate(clauses) if values is not None}
        given = [(n, id_) for n, values in found.items() for id_ in values]
        # Which types they have, the analyser says; nothing is computed.
        marks = Marks()
        types = selected(
            frame, [f"{marks.put(found[n][id_])} AS v{i}" for i, (n, id_) in enumerate(given)], marks
        ).schema
        self._types = {key: field.dataType for key, field in zip(given, types.fields, strict=True)}
        self._found = found
        fields = {field.id: field for field in schema}
        problems = [p for number, id_ in given for p in self._problems(number, fields[id_])]
        if problems:
            raise refusal(problems)

    def _problems(self, number: int, field: Field) -> list[str]:
        given = self._types[number, field.id]
        if not is_atomic(field.type):
            return [*type_problems(given, field, field.name)]
        if given == spark_type(field.type) or is_stored(self._spark, given, spark_type(field.type)):
            return []
        return [f"column {field.name!r} is {field.type} and takes no {given.simpleString()}; cast the value."]

    def value(self, field: Field, own: str, action: str, marks: Marks) -> str:
        """What the column holds after the clause whose number is the `action`, as SQL; `own` is what it holds now."""
        if not any(self._makes(number) or field.id in values for number, values in self._found.items()):
            return own
        branches = [f"WHEN {action} = {n} THEN {self._after(field, n, own, marks)}" for n in self._found]
        return f"CASE {' '.join(branches)} END"

    def _after(self, field: Field, number: int, own: str, marks: Marks) -> str:
        """What the column holds after one of the clauses."""
        is_given = field.id in self._found[number]
        if is_atomic(field.type) and not is_given and not self._makes(number):
            return own
        value = self._value(field, number)
        if not is_atomic(field.type) or not is_given:
            value = value.cast(nullable(spark_type(field.type)))
        return marks.put(value)

    def _value(self, field: Field, number: int) -> Column:
        given = self._found[number].get(field.id)
        if given is None:
            return missing(field) if self._makes(number) else self._own(field)
        given_type = self._types[number, field.id]
        if is_atomic(field.type):
            return stored(self._spark, given, given_type, spark_type(field.type))
        return given if isinstance(given_type, spark.NullType) else converted(given, given_type, field.type)


def by_column(schema: Schema, values: Mapping[Name, Column], own: Own) -> dict[int, Column]:
    """The values by the ids of columns; one for `a.b` is for the struct `a` with another member."""
    found: dict[int, Column] = {}
    parts: set[int] = set()
    for given, value in values.items():
        root, *members = _path(schema, given) if isinstance(given, str) else given
        field, name = schema.field(root), given if isinstance(given, str) else dotted(given)
        if members and isinstance(field.type, StructType):
            if field.id in found and field.id not in parts:
                raise SchemaError(f"column {field.name!r} and its member {name!r} are both given values; give one.")
            parts.add(field.id)
            found[field.id] = _with_member(found.get(field.id, own(field)), field.type, members, value, name)
            continue
        if members:
            raise SchemaError(f"column {field.name!r} is {field.type} and has no member {name!r}; name a column.")
        if field.id in found:
            raise SchemaError(f"column {field.name!r} is given two values; give one.")
        found[field.id] = value
    return found


def _path(schema: Schema, name: str) -> tuple[str, ...]:
    """The names of a column and of members in it; a column may have dots in its own."""
    parts = parts_of(name)
    if schema.find(name) is None:
        return (name,) if parts is None else parts
    if parts is not None and len(parts) > 1:
        root = schema.find(parts[0])
        if root is not None and isinstance(root.type, StructType):
            raise SchemaError(f"{name!r} may be a column, or a member of {root.name!r}; write the column as `{name}`.")
    return (name,)


def _with_member(struct: Column, type_: StructType, path: Sequence[str], value: Column, name: str) -> Column:
    """The struct with another value in it. One that is NULL becomes one whose other members are, as in Spark."""
    own = next((f for f in type_.fields if f.name.lower() == path[0].lower()), None)
    if own is None or (len(path) > 1 and not isinstance(own.type, StructType)):
        raise SchemaError(f"there is no member {name!r} that could be given a value.")
    if len(path) > 1 and isinstance(own.type, StructType):
        value = _with_member(struct.getField(own.name), own.type, path[1:], value, name)
    return F.struct(*((value if f is own else struct.getField(f.name)).alias(f.name) for f in type_.fields))
