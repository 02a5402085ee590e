"""Write rows: which tuple each has, which file that goes to, and the files themselves, sorted by tuple.

Nothing is written before everything about the rows has been checked. All work per row is Arrow's or NumPy's.
"""

from contextlib import suppress
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as at

from coalesce.arrow.conform import conform
from coalesce.arrow.encode import Target, data_path, encode_file, encoded_bytes
from coalesce.arrow.row_filter import is_true
from coalesce.arrow.store import store
from coalesce.arrow.tuples import RowTuples, tuples_of
from coalesce.manifest.paths import new_write_directory
from coalesce.model.arrow_schema import arrow_schema
from coalesce.model.datafile import DataFile
from coalesce.model.schema import Schema
from coalesce.model.version import Version
from coalesce.predicate.expr import Bound
from coalesce.table.engine import Snapshot
from coalesce.table.layout import plan_files, spark_order
from coalesce.table.match import outside, refusal

Order = npt.NDArray[np.int64]

_SAMPLE_RUNS, _SAMPLE_RUN_ROWS = 16, 2048

# Arrow's strings have 32-bit offsets: longer columns are held with 64-bit ones until they are cut into files.
MAX_STRING_BYTES: Final = 2**31 - 1


def write(snapshot: Snapshot, rows: pa.Table, lineage: pa.Table | None = None) -> list[DataFile]:
    """Write the rows under the current spec and rule; nothing is committed, and a failure leaves no file.

    Rows that have been in the table before bring their ids and versions along as `lineage`.
    """
    version, spec, schema = snapshot.version, snapshot.version.spec, snapshot.version.schema
    rows = conform(rows, schema, spec)
    refuse_outside(rows, schema, snapshot.within)
    if rows.num_rows == 0:
        return []
    tuples = tuples_of(rows, spec, schema)
    rows = _in_one_piece(rows)
    in_order = spark_order(tuples.distinct, spec.types(schema))
    bytes_per_row = snapshot.bytes_per_row
    if bytes_per_row is None:
        bytes_per_row = _sampled_bytes_per_row(version, rows, row_order(tuples, in_order))
    planned = plan_files(
        tuples.distinct,
        tuples.counts,
        bytes_per_row=bytes_per_row,
        target=snapshot.target_file_bytes,
        rule=version.rule,
        spec=spec,
        schema=schema,
        known=snapshot.known(tuples.distinct),
    )
    directory = new_write_directory(snapshot.below)
    order = row_order(tuples, [s.index for file in planned for s in file.slices])
    makers, start = [], 0
    for number, file in enumerate(planned):
        target = Target(
            path=data_path(directory, number, spec, schema, file.physical_key),
            spec=spec,
            rule_id=version.current_rule_id,
            physical_key=file.physical_key,
        )
        chosen = slice(start, start + file.rows)
        makers.append(partial(_make, rows, lineage, order[chosen], schema, target, bytes_per_row))
        start = chosen.stop
    return store(snapshot.storage, makers)


def refuse_outside(rows: pa.Table, schema: Schema, within: Bound | None) -> None:
    """Refuse rows, which fit the table already, on which the predicate is not TRUE."""
    if within is None or rows.num_rows == 0:
        return
    positions = np.flatnonzero(~is_true(within, rows, schema))
    if len(positions):
        raise refusal([outside(len(positions), within, _row(rows, int(positions[0])))])


def _row(rows: pa.Table, position: int) -> dict[str, object]:
    """One row as Python's values, to be shown; without strings that are not UTF-8, which Python cannot hold."""
    shown: dict[str, object] = {}
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        with suppress(UnicodeDecodeError):
            shown[name] = column[position].as_py()
    return shown


def row_order(tuples: RowTuples, in_order: list[int]) -> Order:
    """The rows sorted by their tuples' places in `in_order` (a tuple may stand there twice); otherwise as they were."""
    ranks = np.empty(len(tuples.distinct), np.int64)
    for rank, index in enumerate(in_order):
        ranks[index] = rank
    # Up to 16 bits NumPy's stable sort is a radix sort, several times as fast.
    narrow = np.uint16 if len(in_order) <= np.iinfo(np.uint16).max else np.int64
    return np.argsort(ranks.astype(narrow)[tuples.codes], kind="stable")


def _make(
    rows: pa.Table,
    lineage: pa.Table | None,
    chosen: Order,
    schema: Schema,
    target: Target,
    bytes_per_row: float,
) -> tuple[bytes, DataFile]:
    kept = None if lineage is None else lineage.take(pa.array(chosen))
    return encode_file(_taken(rows, chosen, schema), schema, target, bytes_per_row, kept)


def _taken(rows: pa.Table, positions: Order, schema: Schema) -> pa.Table:
    part = rows.take(pa.array(positions))
    wanted = arrow_schema(schema)
    narrowed = [c if c.type == f.type else c.cast(f.type) for c, f in zip(part.columns, wanted, strict=True)]
    return pa.Table.from_arrays(narrowed, schema=wanted)


def _in_one_piece(rows: pa.Table) -> pa.Table:
    """Every column as one chunk, from which rows are taken fastest."""
    columns = [_widened(column).combine_chunks() for column in rows.columns]
    return pa.Table.from_arrays(columns, names=rows.column_names)


def _widened(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if column.nbytes <= MAX_STRING_BYTES:
        return column
    if at.is_string(column.type):
        return column.cast(pa.large_string())
    return column.cast(pa.large_binary()) if at.is_binary(column.type) else column


def bytes_per_row_of(sample: pa.Table, version: Version) -> float:
    """What a row takes in a data file of the table, by a sample of rows in any order that fit it."""
    rows = conform(sample, version.schema)
    tuples = tuples_of(rows, version.spec, version.schema)
    in_order = spark_order(tuples.distinct, version.spec.types(version.schema))
    return _sampled_bytes_per_row(version, _in_one_piece(rows), row_order(tuples, in_order))


def _sampled_bytes_per_row(version: Version, rows: pa.Table, order: Order) -> float:
    """What a row takes, by a sample of these rows: runs of neighbours, as they will lie in the files."""
    starts = np.linspace(0, max(0, len(order) - _SAMPLE_RUN_ROWS), _SAMPLE_RUNS).astype(np.int64)
    sampled = np.unique((starts[:, None] + np.arange(_SAMPLE_RUN_ROWS)).ravel())
    sample = _taken(rows, order[sampled[sampled < len(order)]], version.schema)
    return float(max(encoded_bytes(sample, version.schema, version.spec) / sample.num_rows, 1.0))
