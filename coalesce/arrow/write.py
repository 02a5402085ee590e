"""Write rows: which tuple each has, which file that goes to, and the files themselves, sorted by tuple.

Nothing is written of rows before everything about them has been checked. All work per row is Arrow's or NumPy's.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as at

from coalesce.arrow.conform import conform
from coalesce.arrow.encode import Target, data_path, encode_file, encoded_bytes
from coalesce.arrow.reshape import MAX_STRING_BYTES, bare_rows, rebased, until
from coalesce.arrow.row_filter import is_true
from coalesce.arrow.store import MakeFile, store
from coalesce.arrow.tuples import RowTuples, tuples_of
from coalesce.manifest.paths import new_write_directory
from coalesce.model.arrow_schema import arrow_schema
from coalesce.model.columns import whole
from coalesce.model.datafile import DataFile
from coalesce.model.rule import BySize, Group
from coalesce.model.schema import Schema
from coalesce.model.spec import LogicalTuple
from coalesce.model.transforms import Identity
from coalesce.model.types import FLOATING
from coalesce.model.version import Version
from coalesce.predicate.expr import Bound
from coalesce.table.engine import Snapshot
from coalesce.table.layout import Known, plan_files, ripe, spark_order
from coalesce.table.match import outside, refusal

Order = npt.NDArray[np.int64]

_SAMPLE_RUNS, _SAMPLE_RUN_ROWS = 16, 2048

_NONE: Final = np.empty(0, np.int64)


def write(snapshot: Snapshot, rows: pa.Table, lineage: pa.Table | None = None) -> list[DataFile]:
    """Write the rows under the current spec and rule; nothing is committed, and a failure leaves no file.

    Rows that have been in the table before bring their ids and versions along as `lineage`.
    """
    writing = Writing(snapshot)
    writing.put(checked(snapshot, rows), lineage)
    return writing.files


def checked(snapshot: Snapshot, rows: pa.Table) -> pa.Table:
    """The rows as the table has them, or a SchemaError about all that do not fit it or are not `snapshot.within`."""
    fitting = conform(rows, snapshot.version.schema, snapshot.version.spec)
    refuse_outside(fitting, snapshot.version.schema, snapshot.within)
    return fitting


@dataclass
class Writing:
    """A write under way, in a directory of its own: its files, and what they hold of tuples if the rule asks for it."""

    snapshot: Snapshot
    files: list[DataFile] = field(default_factory=list)
    _directory: str = ""
    _sizes: dict[LogicalTuple, int] = field(default_factory=dict)
    _alone: set[LogicalTuple] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._directory = new_write_directory(self.snapshot.below)

    def put(self, rows: pa.Table, lineage: pa.Table | None = None, *, ripe_only: bool = False) -> pa.Table:
        """Write rows that fit the table, sorted by tuple.

        With `ripe_only`, some stay behind and are returned: those that would make small files, at most half.
        """
        version, spec, schema = self.snapshot.version, self.snapshot.version.spec, self.snapshot.version.schema
        if rows.num_rows == 0:
            return rows
        tuples = tuples_of(rows, spec, schema)
        rows = in_one_piece(rows)
        in_order = spark_order(tuples.distinct, spec.types(schema))
        order = row_order(tuples, in_order)
        bytes_per_row = self.snapshot.bytes_per_row
        if bytes_per_row is None:
            bytes_per_row = _sampled_bytes_per_row(version, rows, order)
        target_bytes = self.snapshot.target_file_bytes
        planned = plan_files(
            tuples.distinct,
            tuples.counts,
            bytes_per_row=bytes_per_row,
            target=target_bytes,
            rule=version.rule,
            spec=spec,
            schema=schema,
            known=self._known(tuples.distinct),
            in_order=in_order,
        )
        in_files = [s.index for file in planned for s in file.slices]
        if in_files != in_order:  # files of several physical partitions whose tuples lie between each other
            order = row_order(tuples, in_files)
        now = ripe(planned, target_bytes / bytes_per_row) if ripe_only else [True] * len(planned)
        makers: list[MakeFile] = []
        later, start = [], 0
        for is_due, file in zip(now, planned, strict=True):
            chosen = order[start : start + file.rows]
            start += file.rows
            if not is_due:
                later.append(chosen)
                continue
            number = len(self.files) + len(makers)
            target = Target(
                path=data_path(self._directory, number, spec, schema, file.physical_key),
                spec=spec,
                rule_id=version.current_rule_id,
                physical_key=file.physical_key,
            )
            makers.append(partial(_make, rows, tuples, lineage, chosen, version, target, bytes_per_row))
        self._add(store(self.snapshot.storage, makers))
        return _taken(rows, np.concatenate([_NONE, *later]), schema)

    def _add(self, written: list[DataFile]) -> None:
        self.files += written
        if not isinstance(self.snapshot.version.rule, BySize):
            return
        for file in written:
            for tuple_, rows in zip(file.tuples or (), file.tuple_rows or (), strict=False):
                self._sizes[tuple_] = self._sizes.get(tuple_, 0) + file.bytes * (rows or 0) // file.rows
            if not any(isinstance(component, Group) for component in file.physical_key or ()):
                self._alone.update(file.tuples or ())

    def _known(self, tuples: Sequence[LogicalTuple]) -> Known:
        """What the table and the files of this write hold of the tuples."""
        known = self.snapshot.known(tuples)
        if not self._sizes:
            return known
        held = known.sizes or {}
        sizes = {t: held.get(t, 0) + self._sizes.get(t, 0) for t in tuples}
        return Known(sizes=sizes, alone={*known.alone, *self._alone})


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
    ranks[np.array(in_order, np.int64)] = np.arange(len(in_order))
    # Of 16 bits NumPy's stable sort is a radix sort, several times as fast; so more of them are sorted 16 at a time.
    order = np.argsort(ranks.astype(np.uint16)[tuples.codes], kind="stable")
    for shift in range(16, len(in_order).bit_length(), 16):
        order = order[np.argsort((ranks >> shift).astype(np.uint16)[tuples.codes[order]], kind="stable")]
    return order


def _make(
    rows: pa.Table,
    tuples: RowTuples,
    lineage: pa.Table | None,
    chosen: Order,
    version: Version,
    target: Target,
    bytes_per_row: float,
) -> tuple[bytes, DataFile]:
    return make_file(rows, tuples.of_run(chosen), lineage, chosen, version, target, bytes_per_row)


def make_file(
    rows: pa.Table,
    held: RowTuples,
    lineage: pa.Table | None,
    chosen: Order,
    version: Version,
    target: Target,
    bytes_per_row: float,
) -> tuple[bytes, DataFile]:
    """A file with the rows at the `chosen` positions, which are tuple by tuple and have the tuples `held`."""
    kept = None if lineage is None else lineage.take(pa.array(chosen))
    part = _taken(rows, chosen, version.schema, _alike(version), held.counts)
    return encode_file(part, version.schema, target, bytes_per_row, kept, held)


def _alike(version: Version) -> set[str]:
    """The columns that have one value in all rows of a tuple, bit for bit: not those of floats, as 0.0 is -0.0."""
    sources = [version.schema.by_id(f.source_id) for f in version.spec.fields if isinstance(f.transform, Identity)]
    return {source.name for source in sources if source is not None and source.type not in FLOATING}


def _taken(
    rows: pa.Table, positions: Order, schema: Schema, alike: Collection[str] = (), runs: Sequence[int] = ()
) -> pa.Table:
    """The rows at these positions. Of the columns `alike`, each run of so many rows has one value."""
    wanted = arrow_schema(schema)
    taken = pa.array(positions)
    lengths = np.array(runs, np.int64)
    ends = np.cumsum(lengths)
    firsts = pa.array(positions[ends - lengths])
    columns = [
        until(whole(column.take(firsts)), ends) if field.name in alike else column.take(taken)
        for column, field in zip(rows.columns, wanted, strict=True)
    ]
    narrowed = [c if c.type == f.type else _narrowed(c, f.type) for c, f in zip(columns, wanted, strict=True)]
    return pa.Table.from_arrays(narrowed, schema=wanted) if narrowed else bare_rows(len(positions))


def in_one_piece(rows: pa.Table) -> pa.Table:
    """Every column as one chunk, from which rows are taken fastest."""
    columns = [whole(_widened(column)) for column in rows.columns]
    return pa.Table.from_arrays(columns, names=rows.column_names)


def _widened(column: pa.ChunkedArray) -> pa.ChunkedArray:
    # Columns too long for 32-bit offsets are held with 64-bit ones until they are cut into files.
    if column.nbytes <= MAX_STRING_BYTES:
        return column
    if at.is_string(column.type):
        return column.cast(pa.large_string())
    return column.cast(pa.large_binary()) if at.is_binary(column.type) else column


def _narrowed(column: pa.Array | pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    """The column with 32-bit offsets, in as many pieces as that takes: what repeats itself is small in a file only."""
    if len(column) <= 1 or column.nbytes <= MAX_STRING_BYTES:
        return pa.chunked_array([rebased(whole(column)).cast(type_)])
    half = len(column) // 2
    pieces = [_narrowed(part, type_) for part in (column.slice(0, half), column.slice(half))]
    return pa.chunked_array([chunk for piece in pieces for chunk in piece.chunks], type_)


def bytes_per_row_of(sample: pa.Table, version: Version) -> float:
    """What a row takes in a data file of the table, by a sample of rows in any order that fit it."""
    rows = conform(sample, version.schema)
    tuples = tuples_of(rows, version.spec, version.schema)
    in_order = spark_order(tuples.distinct, version.spec.types(version.schema))
    return _sampled_bytes_per_row(version, in_one_piece(rows), row_order(tuples, in_order))


def _sampled_bytes_per_row(version: Version, rows: pa.Table, order: Order) -> float:
    """What a row takes, by a sample of these rows: runs of neighbours, as they will lie in the files."""
    starts = np.linspace(0, max(0, len(order) - _SAMPLE_RUN_ROWS), _SAMPLE_RUNS).astype(np.int64)
    sampled = np.unique((starts[:, None] + np.arange(_SAMPLE_RUN_ROWS)).ravel())
    sample = _taken(rows, order[sampled[sampled < len(order)]], version.schema)
    return float(max(encoded_bytes(sample, version.schema, version.spec) / sample.num_rows, 1.0))
