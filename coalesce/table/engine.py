"""What a table asks of whoever moves its rows.

Engines live above this layer (`arrow/`, `spark/`) and are handed to the table when it is opened; the table decides
what is written, removed and committed, an engine only turns rows into data files and data files into rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from coalesce.model.datafile import DataFile
from coalesce.model.rule import parse_bytes
from coalesce.model.schema import Schema
from coalesce.model.spec import LogicalTuple
from coalesce.model.version import Version
from coalesce.plan.plan import Plan
from coalesce.predicate.expr import Bound
from coalesce.storage.base import Storage

TARGET_FILE_BYTES = "write.target-file-bytes"
DEFAULT_TARGET_FILE_BYTES = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A table at one version, as an engine sees it.

    `sizes` are the bytes the table already holds of each tuple of the current spec, where that matters to the
    rule; `alone` are the tuples that have a physical partition of their own now.
    """

    storage: Storage
    version: Version
    sizes: Mapping[LogicalTuple, int] | None = None
    alone: frozenset[LogicalTuple] = frozenset()

    @property
    def target_file_bytes(self) -> int:
        """How large data files should become."""
        return parse_bytes(self.version.properties.get(TARGET_FILE_BYTES, DEFAULT_TARGET_FILE_BYTES))


class Scan(Protocol):
    """The rows of a plan, not read yet."""

    plan: Plan

    def to_arrow(self) -> pa.Table:
        """All rows at once."""

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, a batch at a time."""


class Engine(Protocol):
    """Turns rows into data files and back."""

    def accepts(self, data: object) -> bool:
        """Whether `data` (rows or a schema) is of this engine's kind."""

    def infer_schema(self, data: object) -> Schema:
        """The table schema that fits `data`, with fresh column ids."""

    def write(self, place: Place, data: object) -> list[DataFile]:
        """Write the rows under the current spec and rule; nothing is committed.

        The entries say what is in the files, not what was meant to be. If it fails, it leaves no files behind.
        """

    def rewrite(self, place: Place, files: Sequence[DataFile], drop: Bound) -> list[DataFile]:
        """Write the rows of `files` on which `drop` is not TRUE into new files, each under its own file's spec."""

    def scan(self, place: Place, plan: Plan, columns: Sequence[str] | None) -> Scan:
        """The rows of the plan's files for which its whole predicate is TRUE."""
