"""Lists that people look at: of logical partitions, data files and versions. Each turns into Arrow and pandas.

A partition field is a column of its own name. Where specs have fields of one name and different types, or a field is
called like one of the columns that are always there, it says more of itself: `dt (string)`, `rows (partition field)`.
The plain name is that of the current fields.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Generic, TypeVar, overload

import pyarrow as pa

from coalesce.model.arrow_schema import arrow_type
from coalesce.model.datafile import DataFile
from coalesce.model.types import AtomicType
from coalesce.model.values import Components
from coalesce.model.version import Version
from coalesce.table.from_metadata import LogicalPartition
from coalesce.table.outgoing import pandas_frame, polars_frame

Item = TypeVar("Item")

_SHOWN: Final = 10  # lines of a listing that is looked at, not gone through

_PARTITION: Final = pa.schema(
    [("files", pa.int64()), ("rows", pa.int64()), ("bytes", pa.int64()), ("spec_id", pa.int64())]
)
_FILE: Final = pa.schema(
    [
        ("path", pa.string()),
        ("rows", pa.int64()),
        ("dead_rows", pa.int64()),
        ("bytes", pa.int64()),
        ("spec_id", pa.int64()),
        ("rule_id", pa.int64()),
        ("added_version", pa.int64()),
    ]
)
_COUNTS: Final = ("rows_added", "rows_removed", "files_added", "files_removed")
_VERSION: Final = pa.schema(
    [
        ("version", pa.int64()),
        ("committed", pa.timestamp("ms", "UTC")),
        ("operation", pa.string()),
        *((name, pa.int64()) for name in _COUNTS),
        ("rows", pa.int64()),
        ("dead_rows", pa.int64()),
        ("files", pa.int64()),
        ("bytes", pa.int64()),
        ("commit_id", pa.string()),
    ]
)


class Listing(Sequence[Item], Generic[Item]):
    """A sequence that can be gone through, indexed and sliced, and turned into an Arrow table or a data frame."""

    def __init__(self, items: Iterable[Item], tabulate: Callable[[Sequence[Item]], pa.Table]) -> None:
        self._items = tuple(items)
        self._tabulate = tabulate

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> "Listing[Item]": ...
    def __getitem__(self, index: int | slice) -> "Item | Listing[Item]":
        return Listing(self._items[index], self._tabulate) if isinstance(index, slice) else self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        """Whether the other, a listing, a list or a tuple, has the same members in the same order."""
        if not isinstance(other, Listing | list | tuple):
            return NotImplemented
        return self._items == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # as a list has none

    def to_arrow(self) -> pa.Table:
        """A row for each member."""
        return self._tabulate(self._items)

    def to_pandas(self) -> Any:
        """The same as a pandas data frame. Raises `NotInstalled` where there is no pandas."""
        return pandas_frame(self.to_arrow())

    def to_polars(self) -> Any:
        """The same as a polars data frame. Raises `NotInstalled` where there is no polars."""
        return polars_frame(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The same for every library that takes Arrow's streams."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        lines = [f"[{len(self):,}]", *(f"  {item!r}" for item in self._items[:_SHOWN])]
        if len(self) > _SHOWN:
            lines.append(f"  … {len(self) - _SHOWN:,} more")
        return "\n".join(lines)


def partition_listing(
    partitions: Iterable[LogicalPartition], components: Mapping[int, Components]
) -> Listing[LogicalPartition]:
    """Logical partitions; `components` are those of each spec."""
    return Listing(partitions, partial(_partition_table, components))


def _partition_table(components: Mapping[int, Components], items: Sequence[LogicalPartition]) -> pa.Table:
    specs = [dict(components[item.spec_id]) for item in items]
    columns = _columns(components.values(), _PARTITION.names)
    fields = [
        pa.array(
            [i.values[name] if spec.get(name) == type_ else None for i, spec in zip(items, specs, strict=True)],
            arrow_type(type_),
        )
        for name, type_ in columns
    ]
    always = [pa.array([getattr(item, f.name) for item in items], f.type) for f in _PARTITION]
    return pa.Table.from_arrays([*fields, *always], names=[*columns.values(), *_PARTITION.names])


def file_listing(files: Iterable[DataFile], components: Mapping[int, Components]) -> Listing[DataFile]:
    """Data files, with the logical partitions that each is known to hold; `components` are those of each spec."""
    return Listing(files, partial(_file_table, components))


def _file_table(components: Mapping[int, Components], files: Sequence[DataFile]) -> pa.Table:
    columns = _columns([*components.values(), *(f.components or () for f in files)], ())
    struct = pa.struct([(column, arrow_type(type_)) for (_, type_), column in columns.items()])
    held = [None if f.partitions is None else [_member(f, values, columns) for values in f.partitions] for f in files]
    always = [pa.array([getattr(f, name.name) for f in files], name.type) for name in _FILE]
    return pa.Table.from_arrays([*always, pa.array(held, pa.list_(struct))], names=[*_FILE.names, "partitions"])


def _member(
    file: DataFile, values: Mapping[str, object], columns: Mapping[tuple[str, AtomicType], str]
) -> dict[str, object]:
    return {columns[component]: values[component[0]] for component in file.components or ()}


def version_listing(versions: Iterable[Version]) -> Listing[Version]:
    """Versions, with what each has changed where it says so."""
    return Listing(versions, _version_table)


def _version_table(versions: Sequence[Version]) -> pa.Table:
    rows = [
        {
            "version": v.number,
            "committed": v.timestamp_ms,
            "operation": v.operation,
            **{name: count if isinstance(count := v.summary.get(name), int) else None for name in _COUNTS},
            "rows": v.rows,
            "dead_rows": v.dead_rows,
            "files": v.files,
            "bytes": v.bytes,
            "commit_id": v.commit_id,
        }
        for v in versions
    ]
    return pa.Table.from_pylist(rows, _VERSION)


def _columns(components: Iterable[Components], taken: Sequence[str]) -> dict[tuple[str, AtomicType], str]:
    """A column for each name and type among the components, called so that no two are called the same."""
    columns: dict[tuple[str, AtomicType], str] = {}
    for component in (c for each in components for c in each):
        name, type_ = component
        if name in taken:
            name = f"{name} (partition field)"
        if component not in columns:
            columns[component] = f"{name} ({type_})" if name in columns.values() else name
    return columns
