"""The engine that needs nothing but pyarrow."""

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa

from coalesce.arrow.compact import compact
from coalesce.arrow.frames import is_frame, rows_of, schema_of
from coalesce.arrow.rewrite import rewrite
from coalesce.arrow.scan import ArrowScan
from coalesce.arrow.write import write
from coalesce.errors import SchemaError
from coalesce.model.arrow_schema import schema_from_arrow
from coalesce.model.datafile import DataFile
from coalesce.model.schema import Schema
from coalesce.plan.plan import Plan
from coalesce.predicate.expr import Bound
from coalesce.table.engine import Rewritten, Snapshot


class ArrowEngine:
    """Takes pyarrow tables, record batches, readers and schemas, and pandas data frames."""

    def accepts(self, data: object) -> bool:
        """Whether `data` is Arrow's or pandas'."""
        return isinstance(data, pa.Table | pa.RecordBatch | pa.RecordBatchReader | pa.Schema) or is_frame(data)

    def infer_schema(self, data: object) -> Schema:
        """The table schema that fits `data`, with fresh column ids; no row of a reader is consumed."""
        if isinstance(data, pa.Schema):
            return schema_from_arrow(data)
        if isinstance(data, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
            return schema_from_arrow(data.schema)
        return schema_from_arrow(schema_of(data))

    def write(self, snapshot: Snapshot, data: object) -> list[DataFile]:
        """Write the rows under the current spec and rule; nothing is committed."""
        return write(snapshot, _rows(data, snapshot.version.schema.names))

    def rewrite(self, snapshot: Snapshot, files: Sequence[DataFile], drop: Bound) -> Rewritten:
        """Write the rows of `files` on which `drop` is not TRUE into new files."""
        return rewrite(snapshot, files, drop)

    def compact(self, snapshot: Snapshot, files: Sequence[DataFile]) -> list[DataFile]:
        """Write the rows of `files` into new files under the current spec and rule; they keep their ids."""
        return compact(snapshot, files)

    def scan(self, snapshot: Snapshot, plan: Plan, columns: Sequence[str] | None) -> ArrowScan:
        """The rows of the plan's files for which its whole predicate is TRUE."""
        return ArrowScan(snapshot, plan, columns)


def _rows(data: Any, columns: Collection[str]) -> pa.Table:
    """The rows as one table: which file a row goes to depends on how many others have its tuple."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all()
    if is_frame(data):
        return rows_of(data, columns)
    raise SchemaError(f"a {type(data).__name__} has no rows to write; give a pyarrow table or a pandas data frame.")
