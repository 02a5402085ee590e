"""What is found where a table is to be made of what is there: the nouns that every kind of source has in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from coalesce.model.datafile import DataFile
from coalesce.model.rule import RuleRequest
from coalesce.model.schema import Schema
from coalesce.model.version import Version
from coalesce.storage.base import StoredFile

PARQUET: Final = "parquet"
DELTA: Final = "delta"
ICEBERG: Final = "iceberg"

# In the place of a component that neither the path nor the footer tells: a group, which says nothing.
UNTOLD: Final = "[#adopted]"

_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that does not become one of the table's, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as a listing shows it; `modified_ms` is 0 where the source keeps no such thing.

    `footer` is the digest of its footer, None if that was not read. `dead_rows` of it the table had removed, and lay in
    it still, when it was gone from the source.
    """

    bytes: int
    modified_ms: int
    footer: str | None = None
    dead_rows: int = 0

    def looks_like(self, other: "Seen | None") -> bool:
        """Whether a listing shows the same of both."""
        return other is not None and (self.bytes, self.modified_ms) == (other.bytes, other.modified_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a caller says of the table to be made. With `scan`, rows are read for tuples that nothing else tells."""

    schema: Schema | None = None
    partition_by: Sequence[str] | None = None
    rule: RuleRequest | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    scan: bool = False
    time_zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Packing:
    """How much of a file is rows: not its `footer`, nor what is `fixed`; and the rest shrinks by `factor`.

    What that will be is only known when the rows are written: between `least` and `most` of what the factor says.
    """

    footer: float = 0.0
    fixed: float = 0.0
    factor: float = 1.0
    least: float = 1.0
    most: float = 1.0

    def payload(self, size: int, rows: int) -> float:
        """What the rows of a file would take in a larger one."""
        return max((size - self.footer - self.fixed) * self.factor, float(rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What a source has: every file in `listed`, and of those that were not known before the entries, in `files`.

    `version` is the table as it is to be, but for its manifests. `materialized` says that every file holds its
    partition columns, and `state` is what the source itself calls the state that was looked at. `packing` tells
    how much of the files is rows. `own` are files that the table's writers may have made: their names are like those.
    """

    kind: str
    version: Version
    listed: Mapping[str, Seen]
    files: Sequence[DataFile]
    left_out: Sequence[LeftOut] = ()
    ignored_columns: Sequence[str] = ()
    materialized: bool = True
    state: str | None = None
    packing: Packing = Packing()
    own: Sequence[StoredFile] = ()


def some(paths: Sequence[str]) -> str:
    """The paths, or the first of many, for a message."""
    listed = ", ".join(paths[:_SHOWN])
    return listed if len(paths) <= _SHOWN else f"{listed} and {len(paths) - _SHOWN:,} more"
