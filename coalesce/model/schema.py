"""A table's columns: identity by id, names by position, physical names by the usage-tracking rule.

Physical names (`columnMappingUsageTracking`): until a table has ever dropped or renamed a column, a new column's
physical name is its logical name; from then on it is a fresh unique one, so that a name reused for another
column can never show the old column's data. `Version.has_dropped_or_renamed` carries the flag.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from coalesce.arguments import suggestion
from coalesce.errors import SchemaError
from coalesce.model.types import AtomicType, Field, ListType, MapType, StructType, Type, is_atomic

# Reserved ids of row-lineage columns that a data file may materialize; never given to a user's column.
ROW_ID_FIELD = 2147483540
ROW_VERSION_FIELD = 2147483539
MAX_COLUMN_ID = 2147483000
_SHOWN = 20  # columns of a schema that is looked at
RESERVED_NAMES = frozenset({"_row_id", "_row_commit_version"})


@dataclass(frozen=True, repr=False)
class Schema:
    """Columns in order. Names are compared as Spark does by default: without regard to case."""

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        _check_names(self.fields, "the table")
        ids = [f.id for f in all_fields(self.fields)]
        if len(set(ids)) != len(ids):
            raise SchemaError(f"column ids are not unique: {sorted(i for i in set(ids) if ids.count(i) > 1)}.")

    @cached_property
    def _by_id(self) -> dict[int, Field]:
        return {f.id: f for f in self.fields}

    @cached_property
    def _by_folded_name(self) -> dict[str, Field]:
        return {f.name.lower(): f for f in self.fields}

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    @property
    def names(self) -> tuple[str, ...]:
        """The logical names, in order."""
        return tuple(f.name for f in self.fields)

    def field(self, name: str) -> Field:
        """The top-level column called `name`, or an error with a suggestion."""
        found = self.find(name)
        if found is None:
            raise SchemaError(f"there is no column {name!r}{did_you_mean(name, self.names)}")
        return found

    def find(self, name: str, *, case_sensitive: bool = False) -> Field | None:
        """The top-level column called `name`, or None."""
        found = self._by_folded_name.get(name.lower())
        if found is not None and case_sensitive and found.name != name:
            return None
        return found

    def by_id(self, id_: int) -> Field | None:
        """The top-level column with this id, or None if it was dropped."""
        return self._by_id.get(id_)

    def atomic(self, id_: int) -> AtomicType | None:
        """The type of the top-level column with this id if it is atomic, else None."""
        field = self._by_id.get(id_)
        return field.type if field is not None and is_atomic(field.type) else None  # type: ignore[return-value]

    @property
    def highest_id(self) -> int:
        """The highest id in use, nested ones included; 0 for an empty schema."""
        return max((f.id for f in all_fields(self.fields)), default=0)

    def __repr__(self) -> str:
        shown = [f"{f.name} {f.type}{' not null' if f.required else ''}" for f in self.fields[:_SHOWN]]
        return f"<schema: {', '.join([*shown, *(['…'] if len(self) > _SHOWN else [])])}>"


def all_fields(fields: tuple[Field, ...]) -> Iterator[Field]:
    """Every field, nested ones included, parents before children."""
    for field in fields:
        yield field
        yield from all_fields(children(field.type))


def children(type_: Type) -> tuple[Field, ...]:
    """The fields directly inside a type."""
    match type_:
        case StructType(fields):
            return fields
        case ListType(element):
            return (element,)
        case MapType(key, value):
            return (key, value)
        case _:
            return ()


def with_fresh_ids(fields: tuple[Field, ...], next_id: Callable[[], int]) -> tuple[Field, ...]:
    """The same fields with new ids: siblings first, then what is inside them, as Iceberg numbers them."""
    numbered = [replace(f, id=next_id()) for f in fields]
    return tuple(replace(f, type=_inside(f.type, next_id)) for f in numbered)


def _inside(type_: Type, next_id: Callable[[], int]) -> Type:
    match type_:
        case StructType(fields):
            return StructType(with_fresh_ids(fields, next_id))
        case ListType(element):
            return ListType(*with_fresh_ids((element,), next_id))
        case MapType(key, value):
            return MapType(*with_fresh_ids((key, value), next_id))
        case _:
            return type_


def did_you_mean(name: str, known: tuple[str, ...]) -> str:
    """The end of a sentence about an unknown column: a suggestion, or the columns there are."""
    return suggestion(name, known, "the columns")


def _check_names(fields: tuple[Field, ...], place: str) -> None:
    seen: dict[str, str] = {}
    for field in fields:
        if not field.name:
            raise SchemaError(f"a column of {place} has an empty name.")
        if field.name.lower() in RESERVED_NAMES:
            raise SchemaError(f"a column cannot be called {field.name!r}: files keep row ids and versions under it.")
        folded = field.name.lower()
        if folded in seen:
            if seen[folded] == field.name:
                raise SchemaError(f"{place} cannot have two columns called {field.name!r}.")
            raise SchemaError(
                f"{place} has two columns that differ only in case: {seen[folded]!r} and {field.name!r}; "
                "Spark could not tell them apart."
            )
        seen[folded] = field.name
        if isinstance(field.type, StructType):
            _check_names(field.type.fields, f"column {field.name!r}")
    physical = [f.physical_name.lower() for f in fields]
    if len(set(physical)) != len(physical):
        twice = next(f.physical_name for f in fields if physical.count(f.physical_name.lower()) > 1)
        raise SchemaError(f"two columns of {place} would be called {twice!r} in the data files.")
