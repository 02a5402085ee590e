"""What every engine can be asked to do. An adapter is a class with these operations, in its own words underneath.

An adapter's docstring is its configuration: what is set, and why, which is what the format's own documentation advises
for tables that are asked for a day and a tenant. What an engine does not have it says (`NotOffered`), and the table of
results shows the sentence.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.staged import Staged, Target
from benchmarks.workload import Query

Rows = Sequence[Sequence[Any]]


class NotOffered(Exception):
    """The engine has no such operation; the sentence says what a user would have to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """What a table takes: the data files it consists of, the directories they lie in, and bytes of both kinds."""

    files: int
    directories: int
    data_bytes: int
    metadata_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a query has read, by the engine's own count."""

    files: int | None
    bytes: int | None


class Engine(ABC):
    """One way to keep a table. It holds one at a time: `create` or `open` says which."""

    def __init__(self, staged: Staged, place: Path) -> None:
        self.staged = staged
        self.place = place

    @abstractmethod
    def versions(self) -> dict[str, str]:
        """Of what it is made, by name."""

    @abstractmethod
    def create(self, name: str, source: Path, by: Sequence[str] = ("dt", "app")) -> None:
        """A new table of the rows in a directory of Parquet files; laid out as its user would, who asks by `by`."""

    @abstractmethod
    def open(self, name: str) -> None:
        """A table that another process made."""

    @abstractmethod
    def append(self, source: Path) -> None:
        """Add rows."""

    @abstractmethod
    def query(self, query: Query) -> Rows:
        """Its answer."""

    def prepare(self, where: str | None) -> None:  # noqa: B027 - most take conditions as they are
        """Put a condition into the engine's own words, before the clock runs: its user would have written those."""

    def watch(self) -> None:  # noqa: B027 - most count nothing
        """Begin to count what queries read."""

    def read(self) -> Read:
        """What queries have read since `watch`."""
        return Read(files=None, bytes=None)

    def plan(self, where: str) -> int:
        """Find out what has to be read for a condition, and read nothing; how many pieces that are."""
        raise NotOffered("plans only as part of a query")

    def overwrite(self, source: Path, target: Target) -> None:
        """Replace one logical partition."""
        raise NotOffered("replaces no rows by a condition")

    def delete(self, where: str) -> None:
        """Remove the rows that match."""
        raise NotOffered("has no DELETE")

    def delete_tenant(self, app: str) -> None:
        """Remove a tenant everywhere."""
        self.delete(f"app = '{app}'")

    def update(self, column: str, value: str, where: str) -> None:
        """Set a column of the rows that match."""
        raise NotOffered("has no UPDATE")

    def merge(self, source: Path) -> None:
        """Update the rows that have the source's `dt`, `app` and `id`, and insert the others."""
        raise NotOffered("has no MERGE")

    def compact(self) -> None:
        """What is to be done now and then, by its documentation, to keep the table fast."""
        raise NotOffered("has no compaction")

    def rename(self, old: str, new: str) -> None:
        """Rename a partition column."""
        raise NotOffered("has no rename: its directories are the column's name, and all files would be written again")

    def change_spec(self, field: str) -> None:
        """Lay rows out by one more field, such as `kind` or `bucket(8, app)`; old ones may stay as they are."""
        raise NotOffered("has no change of layout: all files would be written again")

    @abstractmethod
    def footprint(self) -> Footprint:
        """What the table takes now."""

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Let go of everything."""


def measured(table: Path, metadata: Sequence[str]) -> Footprint:
    """What lies below a directory; `metadata` are directories at its top, or ends of names, that hold no rows.

    Checksums that Hadoop's local file system leaves beside each file are nobody's choice, and are not counted.
    """
    files = directories = data = other = 0
    for place, inside, here in os.walk(table):
        top = Path(place).relative_to(table).parts[:1]
        directories += len(inside)
        for name in here:
            if name.endswith(".crc") or name == "_SUCCESS":
                continue
            size = (Path(place) / name).stat().st_size
            if (top and top[0] in metadata) or name.endswith(tuple(m for m in metadata if m.startswith("."))):
                other += size
            else:
                files, data = files + 1, data + size
    return Footprint(files=files, directories=directories, data_bytes=data, metadata_bytes=other)
