"""What a table asks of those that write it down in the words of other formats, over the same data files.

Exporters live above this layer (`interop/export/`) and take libraries that are extras, so they are found by name when
one is asked for. What they get is a version and its manifests; what they write is never part of a commit.
"""

import importlib
import logging
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from coalesce.errors import CoalesceError, NotInstalled
from coalesce.model.version import ManifestRef, Version
from coalesce.plan.index import ManifestIndex
from coalesce.storage.base import Storage

EXPORT_AUTO: Final = "export.auto"
ICEBERG: Final = "iceberg"
DELTA: Final = "delta"
FORMATS: Final = (ICEBERG, DELTA)

# What becomes of rows that are in the files and not in the table: other engines are told which they are, files with
# such rows are written again first, or the export is refused.
MARKED: Final = "mark"
PURGED: Final = "purge"
REFUSED: Final = "refuse"
DEAD_ROWS: Final = (MARKED, PURGED, REFUSED)
# Every reader of Iceberg leaves out position deletes. Of Delta's readers, some know no deletion vectors, and one shows
# the rows all the same where the name of a file has to be escaped.
USUAL: Final = {ICEBERG: MARKED, DELTA: PURGED}

_HOME: Final = {name: f"coalesce.interop.export.{name}.exporter" for name in FORMATS}

_LOG: Final = logging.getLogger(__name__)

Load = Callable[[Sequence[ManifestRef]], Iterable[ManifestIndex]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportSource:
    """A version of a table that is to be exported; to `purge` makes a later one, without dead rows."""

    storage: Storage
    version: Version
    load: Load
    newest: Callable[[], Version]
    purge: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """How. `location` is where the metadata goes, the table itself if it is None.

    `features` are those of Delta, and `partitioned` says whether its table may have partition columns. `catalog` and
    `identifier` name a table of an Iceberg catalog that is to follow.
    """

    dead_rows: str = MARKED
    location: Storage | None = None
    features: tuple[str, ...] = ()
    partitioned: bool = True
    catalog: Any = None
    identifier: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExportResult:
    """What an export wrote.

    `version` is the table's that other engines see now, `number` that of the other format (Iceberg's
    `v<number>.metadata.json`, Delta's version). `files` are all data files they see, `files_added` and `files_removed`
    what changed since the last export; `dead_files` are those with rows that they are told to leave out.
    `partitioned_by` are the partition fields that the other format has, too; other columns it prunes by their bounds.
    `written` is False if there was nothing to write.
    """

    format: str
    location: str
    version: int
    number: int
    files: int
    files_added: int = 0
    files_removed: int = 0
    dead_files: int = 0
    partitioned_by: tuple[str, ...] = ()
    written: bool = True
    seconds: float = field(default=0.0, compare=False)

    def __repr__(self) -> str:
        done = f"+{self.files_added:,} -{self.files_removed:,} files" if self.written else "nothing to write"
        return f"<{self.format} export of version {self.version}: {done}; {self.seconds:.2f} s>"


class Exporter(Protocol):
    """Writes a version down for engines that read another format."""

    def export(self, source: ExportSource, options: ExportOptions) -> ExportResult:
        """Write what changed since the last export, atomically."""

    def drop(self, storage: Storage, table_id: str) -> int:
        """Delete what exports have written; how many files that were."""


def exporter(format_: str) -> Exporter:
    """The one that writes a format; an error that says what to install if it takes a library that is not there."""
    try:
        found: Exporter = importlib.import_module(_HOME[format_]).EXPORTER
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "pyiceberg":
            raise
        raise NotInstalled(
            "exporting to Iceberg takes PyIceberg; install coalesce-tables[iceberg], or pyiceberg itself."
        ) from error
    return found


def automatic(properties: Mapping[str, str]) -> tuple[str, ...]:
    """The formats that a table is exported to after each commit."""
    return tuple(name for name in FORMATS if name in properties.get(EXPORT_AUTO, "").replace(" ", "").split(","))


def export_after_commit(source: Callable[[], ExportSource]) -> None:
    """Export what was just committed, if the table is to be kept so. It is committed: failing is a warning.

    `source` gives the newest version, which is another one after a purge.
    """
    try:
        committed = source()
    except Exception as error:  # noqa: BLE001 - the commit is made, and must not seem to fail
        _warn(f"a version is committed, but it was not exported: {_said(error)}")
        return
    for name in automatic(committed.version.properties):
        try:
            export(name, source, ExportOptions(dead_rows=USUAL[name]))
        except Exception as error:  # noqa: BLE001 - of other libraries, too
            _warn(
                f"version {committed.version.number} of {committed.storage.root} is committed, but it was not exported "
                f"to {name}, whose readers see an older one: {_said(error)}"
            )


def export(format_: str, source: Callable[[], ExportSource], options: ExportOptions) -> ExportResult:
    """Export the newest version, without its dead rows if these are to be purged."""
    found = exporter(format_)
    if options.dead_rows == PURGED and (newest := source()).version.dead_rows:
        newest.purge()
    return found.export(source(), options)


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, CoalesceError) else f"{type(error).__name__}: {error}"


def _warn(text: str) -> None:
    """Warn; where warnings are made errors, log it instead."""
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    except RuntimeWarning:
        _LOG.warning(text)
