"""Where the table's columns lie in a file: by their ids, or in a file without ids, one that was adopted, by name."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import pyarrow as pa

from coalesce.model.arrow_schema import FIELD_ID
from coalesce.model.types import Field

_Key = TypeVar("_Key")

Find = Callable[[Field], int | None]  # the place of a column among some, or None
Finder = Callable[[Sequence[pa.Field]], Find]  # among the columns of a file, or the members of a struct in it


def finder(columns: Sequence[pa.Field]) -> Finder:
    """How columns are found in a file that has these: the first of its kind, if there are several."""
    return _by_id if any(field_id(f) is not None for f in columns) else _by_name


def _by_id(members: Sequence[pa.Field]) -> Find:
    places = _first_places(map(field_id, members))
    return lambda field: places.get(field.id)


def _by_name(members: Sequence[pa.Field]) -> Find:
    places = _first_places(m.name for m in members)
    folded = _first_places(m.name.lower() for m in members)  # Hive writes names in lower case
    return lambda field: places.get(field.physical_name, folded.get(field.physical_name.lower()))


def field_id(field: pa.Field) -> int | None:
    """The id that a column has in its file."""
    text = (field.metadata or {}).get(FIELD_ID)
    return None if text is None else int(text)


def _first_places(keys: Iterable[_Key]) -> dict[_Key, int]:
    return {key: place for place, key in reversed([*enumerate(keys)])}


def leaves_of(members: Sequence[pa.Field]) -> list[range]:
    """For each column the places of its Parquet columns: one for an atomic column."""
    found, start = [], 0
    for field in members:
        count = _leaf_count(field.type)
        found.append(range(start, start + count))
        start += count
    return found


def leaf_count(columns: Iterable[pa.Field]) -> int:
    """How many Parquet columns these are."""
    return sum(_leaf_count(field.type) for field in columns)


def _leaf_count(type_: pa.DataType) -> int:
    if isinstance(type_, pa.BaseExtensionType):
        return _leaf_count(type_.storage_type)
    if pa.types.is_dictionary(type_):
        return 1
    return sum(_leaf_count(type_.field(i).type) for i in range(type_.num_fields)) if type_.num_fields else 1
