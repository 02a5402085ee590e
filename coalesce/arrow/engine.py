"""The engine that needs nothing but pyarrow."""

from collections.abc import Callable, Collection, Iterable, Sequence

from coalesce.arrow.arrange import arrange
from coalesce.arrow.compact import compact
from coalesce.arrow.compat import unfit_for_iceberg
from coalesce.arrow.feed import ArrowChanges
from coalesce.arrow.incoming import incoming_rows, incoming_schema, is_incoming, said_schema
from coalesce.arrow.inspect import inspect_file
from coalesce.arrow.rewrite import rewrite
from coalesce.arrow.scan import ArrowScan
from coalesce.arrow.stream import write_stream
from coalesce.arrow.upsert import Upsert
from coalesce.arrow.write import write
from coalesce.model.arrow_schema import schema_from_arrow
from coalesce.model.datafile import DataFile
from coalesce.model.schema import Schema
from coalesce.model.spec import LogicalTuple, Spec
from coalesce.model.version import Version
from coalesce.plan.plan import Plan
from coalesce.predicate.expr import Bound
from coalesce.storage.base import Storage
from coalesce.table.engine import Revision, Rewritten, Snapshot, Step
from coalesce.table.layout import Arrangement
from coalesce.table.maintain.columns import ColumnHistory
from coalesce.table.maintain.contents import Contents


class ArrowEngine:
    """Takes whatever speaks Arrow, pandas data frames, and dicts of Python's values.

    `buffer_bytes` is how much of a stream of rows is gathered before files are made of it; if it is None, the table
    says.
    """

    buffer_bytes: int | None = None

    def __init__(self, *, buffer_bytes: int | None = None) -> None:
        self.buffer_bytes = buffer_bytes

    def accepts(self, data: object) -> bool:
        """Whether `data` is rows or a schema, and not Spark's."""
        return is_incoming(data)

    def infer_schema(self, data: object, known: Schema | None = None) -> Schema:
        """The table schema that fits `data`, with fresh column ids; no row of a stream is consumed."""
        return schema_from_arrow(incoming_schema(data) if known is None else said_schema(data, known))

    def write(self, snapshot: Snapshot, data: object) -> list[DataFile]:
        """Write the rows under the current spec and rule; nothing is committed. A stream is never in memory whole."""
        rows = incoming_rows(data, snapshot.version.schema)
        if rows.streamed:
            most_bytes = snapshot.buffer_bytes if self.buffer_bytes is None else self.buffer_bytes
            return write_stream(snapshot, rows.tables, most_bytes)
        return [file for table in rows.tables for file in write(snapshot, table)]

    def rewrite(self, snapshot: Snapshot, files: Sequence[DataFile], drop: Bound) -> Rewritten:
        """Write the rows of `files` on which `drop` is not TRUE into new files."""
        return rewrite(snapshot, files, drop)

    def compact(
        self, snapshot: Snapshot, files: Sequence[DataFile], arrangement: Arrangement | None = None
    ) -> list[DataFile]:
        """Write the rows of `files` into new files under the current spec and rule; they keep their ids."""
        return compact(snapshot, files) if arrangement is None else arrange(snapshot, files, arrangement)

    def scan(self, snapshot: Snapshot, plan: Plan, columns: Sequence[str] | None) -> ArrowScan:
        """The rows of the plan's files for which its whole predicate is TRUE."""
        return ArrowScan(snapshot, plan, columns)

    def changes(self, storage: Storage, version: Version, steps: Callable[[], Iterable[Step]]) -> ArrowChanges:
        """The rows that versions changed, with the columns of one of them."""
        return ArrowChanges(storage, version, steps)

    def upsert(self, data: object, keys: Sequence[str]) -> Revision:
        """Rows that take the place of those with the same keys."""
        return Upsert(data, keys)

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
        return inspect_file(storage, path, size, spec, columns, dead)

    def unfit_for_iceberg(self, storage: Storage, version: Version, file: DataFile) -> list[str]:
        """What keeps a data file from being one that Iceberg can take over as it is."""
        return unfit_for_iceberg(storage, version, file)
