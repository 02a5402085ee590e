"""What a table asks of the engines that move its rows.

Engines live above this layer (`arrow/`, `spark/`) and are handed to the table when it is opened; the table decides
what is written, removed and committed, an engine only turns rows into data files and data files into rows.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

import pyarrow as pa

from coalesce.arguments import check_choice
from coalesce.errors import NeedsSpark, SchemaError
from coalesce.manifest.paths import DATA
from coalesce.model.datafile import DataFile
from coalesce.model.rule import parse_bytes
from coalesce.model.schema import Schema
from coalesce.model.spec import LogicalTuple, Spec
from coalesce.model.version import Version
from coalesce.plan.plan import Plan
from coalesce.plan.planner import JudgeOpaque
from coalesce.plan.report import Report
from coalesce.predicate.expr import Bound
from coalesce.storage.base import Storage
from coalesce.table.layout import Arrangement, Known
from coalesce.table.maintain.columns import ColumnHistory
from coalesce.table.maintain.contents import Contents
from coalesce.table.statement import Statement

TARGET_FILE_BYTES: Final = "write.target-file-bytes"
DEFAULT_TARGET_FILE_BYTES: Final = 128 * 1024 * 1024

# How much of a stream is gathered before files are made of it, in memory's bytes. By default so much that the files of
# a few physical partitions come out near the target, at the usual compression.
BUFFER_BYTES: Final = "write.buffer-bytes"
_BUFFERED_TARGETS: Final = 4
_LEAST_BUFFER: Final = 64 * 1024 * 1024

# How a layout learns how many rows each tuple has: by counting the rows that come, or from those the table has.
WRITE_LAYOUT: Final = "write.layout"
COUNTED: Final = "counted"
KNOWN: Final = "known"
LAYOUTS: Final = (COUNTED, KNOWN)

# Whether small files are merged after a write; how many of about the same size one physical partition may have before
# they are; and how much is written again at a time.
AUTO_COMPACT: Final = "write.auto-compact"
AUTO_COMPACT_FILES: Final = "write.auto-compact-files"
AUTO_COMPACT_BYTES: Final = "write.auto-compact-bytes"

# How rows of single tuples leave shared files: by a mark in the entry while not too much of a file is dead, always by
# one, or by writing the files again.
REMOVE_BY: Final = "remove.by"
AUTO: Final = "auto"
MARK: Final = "mark"
REWRITE: Final = "rewrite"
REMOVALS: Final = (AUTO, MARK, REWRITE)
_MOST_DEAD: Final = {AUTO: 0.3, MARK: 1.0, REWRITE: 0.0}

# A file is written again for its dead rows if they are more than this share of its rows, or if some have been dead for
# longer than this.
PURGE_SHARE: Final = "purge.share"
PURGE_AGE: Final = "purge.age"

# What a table's own files say about bytes per row counts for more than a sample once it has this many.
_ENOUGH_HISTORY: Final = 100_000

# What the table holds of some tuples of the current spec, or of all (None).
Measure = Callable[[Sequence[LogicalTuple] | None], Known]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A table at one version, as an engine sees it.

    `measure` tells what the table already holds of tuples, where that matters to the rule. `layout` is `COUNTED` or
    `KNOWN`, if the caller has chosen for this write. `within` is a predicate that must be TRUE on every row of this
    write: an engine refuses the others (`match.outside`) before it writes anything. `below` is the directory of the
    whole write, if this is one task's part of it. `target` is how large data files should become, if not as large as
    the table says.
    """

    storage: Storage
    version: Version
    measure: Measure | None = None
    layout: str | None = None
    within: Bound | None = None
    below: str = DATA
    target: int | None = None

    @property
    def target_file_bytes(self) -> int:
        """How large data files should become."""
        if self.target is not None:
            return self.target
        return parse_bytes(self.version.properties.get(TARGET_FILE_BYTES, DEFAULT_TARGET_FILE_BYTES), least=1)

    @property
    def buffer_bytes(self) -> int:
        """How many bytes of a stream of rows a write may gather before it makes files of them."""
        default = max(_BUFFERED_TARGETS * self.target_file_bytes, _LEAST_BUFFER)
        return parse_bytes(self.version.properties.get(BUFFER_BYTES, default), least=1)

    @property
    def bytes_per_row(self) -> float | None:
        """What a row of this table takes in a data file; None before there are enough rows to tell."""
        version = self.version
        rows = version.rows + version.dead_rows
        return max(version.bytes / rows, 1.0) if rows >= _ENOUGH_HISTORY else None

    @property
    def counts_first(self) -> bool:
        """Whether a write counts its rows before it lays them out."""
        layout = self.version.properties.get(WRITE_LAYOUT, COUNTED) if self.layout is None else self.layout
        return check_choice(layout, "the layout", LAYOUTS) == COUNTED

    def known(self, tuples: Sequence[LogicalTuple] | None) -> Known:
        """What the table already holds of these tuples (None: of all), where that matters to the rule."""
        return Known() if self.measure is None else self.measure(tuples)


def most_dead(properties: Mapping[str, str]) -> float:
    """How much of a file's rows a removal may leave dead, by a table's properties."""
    return _MOST_DEAD[check_choice(properties.get(REMOVE_BY, AUTO), f"the property {REMOVE_BY!r}", REMOVALS)]


def check_layout(layout: object) -> None:
    """Whether `layout=` of a write is one there is, or None; also for an engine that has no use for it."""
    if layout is not None:
        check_choice(layout, "layout=", LAYOUTS)


@runtime_checkable
class Rows(Protocol):
    """Rows that are not read yet; each method reads them anew."""

    @property
    def schema(self) -> pa.Schema:
        """The columns."""

    def to_arrow(self) -> pa.Table:
        """All rows at once."""

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, a batch at a time."""

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as a reader that reads them when it is asked for them."""

    def to_pandas(self) -> Any:
        """The rows as a pandas data frame."""

    def to_polars(self) -> Any:
        """The rows as a polars data frame."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream for any library that speaks Arrow."""


@runtime_checkable
class Scan(Rows, Protocol):
    """The rows of a plan."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What became of files: those written in their stead, and those that stay because nothing of them goes."""

    added: list[DataFile]
    untouched: list[DataFile]


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of some tuples of a file; of all of it if `tuples` is None."""

    file: DataFile
    tuples: frozenset[LogicalTuple] | None

    @property
    def rows(self) -> int:
        """How many rows that are."""
        if self.tuples is None:
            return self.file.rows
        counts = zip(self.file.tuples or (), self.file.tuple_rows or (), strict=True)
        return sum(rows or 0 for values, rows in counts if values in self.tuples)


@dataclass(frozen=True, slots=True)
class Step:
    """What a version did to rows: those of `removed` parts went, unless they are among those of `added` ones."""

    number: int
    timestamp_ms: int
    removed: tuple[Part, ...]
    added: tuple[Part, ...]


class Found(Protocol):
    """The rows that change in one version: how many of each kind, and in which parts of files.

    What is `touched` names the tuples of rows that change, None where they are not known.
    """

    @property
    def touched(self) -> Sequence[Part]:
        """The parts of files that hold rows that change."""

    @property
    def updated(self) -> int:
        """How many rows get other values."""

    @property
    def deleted(self) -> int:
        """How many rows go."""

    @property
    def inserted(self) -> int:
        """How many rows are new."""

    def write(self, parts: Sequence[Part]) -> list[DataFile]:
        """New files with the rows of the parts, as they are now, and the rows that are new; nothing is committed."""


class Revision(Protocol):
    """A change of single rows, as an engine has made it ready. It can be found anew in a newer version."""

    def concerns(self, snapshot: Snapshot) -> Bound:
        """On which rows of the table what it does may depend: all that it changes, and all that it looks for."""

    def find(self, snapshot: Snapshot, plan: Plan) -> Found:
        """The rows that change; `plan` has the files in which they may be."""


class Engine(Protocol):
    """Turns rows into data files and back."""

    def accepts(self, data: object) -> bool:
        """Whether `data` (rows or a schema) is of this engine's kind."""

    def infer_schema(self, data: object, known: Schema | None = None) -> Schema:
        """The table schema that fits `data`, with fresh column ids.

        For a table that has the columns `known` already, without those of them whose type `data` does not say.
        """

    def write(self, snapshot: Snapshot, data: object) -> list[DataFile]:
        """Write the rows under the current spec and rule; nothing is committed.

        The entries say what is in the files, not what was meant to be. If it fails, it leaves no files behind. Rows
        that do not fit the table or are not `snapshot.within` are refused: before anything is written, unless the rows
        come as a stream.
        """

    def rewrite(self, snapshot: Snapshot, files: Sequence[DataFile], drop: Bound) -> Rewritten:
        """Write the rows of `files` on which `drop` is not TRUE into new files, each under its own file's spec.

        A file in which `drop` is TRUE on no row is not written again.
        """

    def compact(
        self, snapshot: Snapshot, files: Sequence[DataFile], arrangement: Arrangement | None = None
    ) -> list[DataFile]:
        """Write the rows of `files` into new files under the current spec and rule; they keep their ids.

        The new files are those of the `arrangement`, if there is one; then the tuples of `files` are known and counted.
        """

    def scan(self, snapshot: Snapshot, plan: Plan, columns: Sequence[str] | None) -> Scan:
        """The rows of the plan's files for which its whole predicate is TRUE."""

    def upsert(self, data: object, keys: Sequence[str]) -> Revision:
        """The change that puts rows in the place of those with the same keys, and adds the others."""


class RowEngine(Engine, Protocol):
    """An engine that works in this process."""

    def changes(self, storage: Storage, version: Version, steps: Callable[[], Iterable[Step]]) -> Rows:
        """The rows that versions changed, with the columns of one of them."""

    def inspect(
        self,
        storage: Storage,
        path: str,
        size: int,
        spec: Spec,
        columns: ColumnHistory,
        dead: Collection[LogicalTuple] | None,
    ) -> Contents:
        """What is in a data file of which some tuples are `dead`: read to its end; with None, what its footer tells."""

    def unfit_for_iceberg(self, storage: Storage, version: Version, file: DataFile) -> list[str]:
        """What keeps a data file from being one that Iceberg can take over as it is."""


class FrameEngine(Engine, Protocol):
    """An engine whose rows are a data frame, to be queried by whatever engine is behind it."""

    def dataframe(self, snapshot: Snapshot) -> Any:
        """The rows of the version, read when the frame is computed and only where its filters need them."""

    def revision(self, statement: Statement) -> Revision:
        """The change of single rows that a statement is about."""

    def judge(self, snapshot: Snapshot) -> JudgeOpaque | None:
        """What judges, on tuples, conditions that only this engine understands, if anything can."""

    def last_scan(self, snapshot: Snapshot) -> Report | None:
        """What the last scan of the table has read and why."""


@dataclass(frozen=True, slots=True)
class Engines:
    """The engines of a table: `rows` works in this process, `frames`, if there is one, with data frames."""

    rows: RowEngine
    frames: FrameEngine | None = None

    def for_data(self, data: object) -> Engine:
        """The engine that understands `data`, or an error that says what would be understood."""
        for engine in (self.rows, self.frames):
            if engine is not None and engine.accepts(data):
                return engine
        kind = f"{type(data).__module__}.{type(data).__qualname__}".removeprefix("builtins.")
        if kind.startswith("pyspark.pandas."):
            hint = "give its rows as a Spark DataFrame, frame.to_spark(), to a table opened with spark=…"
        elif kind.startswith("pyspark."):
            hint = "open the table with spark=…" if self.frames is None else "give a Spark DataFrame"
        else:
            hint = (
                "give what speaks Arrow (pyarrow, polars, DuckDB), a pandas data frame, a list of dicts, or, to a "
                "table opened with spark=…, a Spark DataFrame"
            )
        raise SchemaError(f"a {kind} is neither rows nor a schema that this table can take; {hint}.")

    @property
    def widest(self) -> Engine:
        """The engine that can evaluate the most predicates: that of frames, if there is one."""
        return self.rows if self.frames is None else self.frames

    @property
    def needed_frames(self) -> FrameEngine:
        """The engine of frames, or an error that says how to get one."""
        if self.frames is None:
            raise NeedsSpark(
                "reading with Spark needs a session: open the table with spark=…, or use scan() without one."
            )
        return self.frames
