"""One data file: rows to Parquet bytes, and the entry that describes them.

The entry is computed from the very rows that were encoded, never from what was planned. Row groups are cut between
tuples where that is reasonable, so that reading one small tuple out of a shared file touches one or two of them:
pyarrow decodes a row group from its beginning and cannot skip pages from Python, while Spark uses the page index.
"""

from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from coalesce.arrow.column_places import leaf_count
from coalesce.arrow.dictionaries import dictionary_paths
from coalesce.arrow.statistics import statistics_of
from coalesce.arrow.tuples import RowTuples, can_compute, tuples_of
from coalesce.manifest.paths import physical_directory
from coalesce.model.arrow_schema import FIELD_ID, arrow_schema
from coalesce.model.datafile import DataFile
from coalesce.model.rule import PhysicalKey
from coalesce.model.schema import ROW_ID_FIELD, ROW_VERSION_FIELD, Schema
from coalesce.model.spec import Spec, file_order
from coalesce.table.layout import cuts, listing

# In a file that many tuples share, a row group is what it costs to read one of them, so it is small as long as the
# footer is, which has something to say of each column of each row group and is read first: some hundred bytes, and
# readers fetch the last 64 KiB of a file at once. A file of one tuple has no use for small ones.
SMALL_ROW_GROUP_BYTES: Final = 1024 * 1024
SHARED_ROW_GROUP_BYTES: Final = 4 * 1024 * 1024
ALONE_ROW_GROUP_BYTES: Final = 16 * 1024 * 1024
MAX_ROW_GROUP_ROWS: Final = 1024 * 1024
MOST_SMALL_CHUNKS: Final = 512  # columns times row groups
_PAGE_BYTES: Final = 128 * 1024

# The footer says so if the rows lie in the order of the entry's tuples, each tuple's together. Only then do the
# entry's counts tell where in the file a tuple lies.
TUPLE_ORDER: Final = b"coalesce.tuple_order"

ROW_ID: Final = "_row_id"
ROW_VERSION: Final = "_row_commit_version"
LINEAGE: Final = pa.schema(
    [
        pa.field(ROW_ID, pa.int64(), metadata={FIELD_ID: str(ROW_ID_FIELD)}),
        pa.field(ROW_VERSION, pa.int64(), metadata={FIELD_ID: str(ROW_VERSION_FIELD)}),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a data file goes and what it is written under."""

    path: str
    spec: Spec
    rule_id: int | None
    physical_key: PhysicalKey | None


def data_path(directory: str, number: int, spec: Spec, schema: Schema, key: PhysicalKey | None) -> str:
    """The path of a write's file; `number` is one that no other file of the write has.

    The directories below `directory` are for people. Where the key, or a column it is made of, is gone, there are none.
    """
    inside = ""
    if key is not None and can_compute(spec, schema):
        inside = physical_directory([f.name for f in spec.fields], spec.types(schema), key)
    return "/".join(part for part in (directory, inside, f"{number:05d}.parquet") if part)


def encode_file(
    rows: pa.Table,
    schema: Schema,
    target: Target,
    bytes_per_row: float,
    lineage: pa.Table | None = None,
    tuples: RowTuples | None = None,
) -> tuple[bytes, DataFile]:
    """The bytes of a data file with these rows (at least one), and its entry.

    `rows` have the schema's names, order and types. `lineage` has the columns of `LINEAGE`, if rows keep theirs.
    `tuples` are those of these very rows, if they have been computed before.
    """
    if tuples is None and can_compute(target.spec, schema):
        tuples = tuples_of(rows, target.spec, schema)
    in_runs = tuples is not None and tuples.in_runs
    data = _parquet(_physical(rows, schema, target.spec, lineage), tuples if in_runs else None, bytes_per_row)
    entry = DataFile(
        path=target.path,
        spec_id=target.spec.spec_id,
        rows=rows.num_rows,
        bytes=len(data),
        rule_id=target.rule_id,
        physical_key=target.physical_key,
        statistics=statistics_of(rows, schema),
    )
    return data, entry if tuples is None else listing(entry, tuples.distinct, tuples.counts, ordered=in_runs)


def encoded_bytes(rows: pa.Table, schema: Schema, spec: Spec) -> int:
    """What the rows take in a data file, footer aside."""
    data = _parquet(_physical(rows, schema, spec, None), None, 1.0, indexed=False)
    footer = int.from_bytes(data[-8:-4], "little")
    return len(data) - footer - 12  # the file begins with four bytes of its own, and ends with eight


def _physical(rows: pa.Table, schema: Schema, spec: Spec, lineage: pa.Table | None) -> pa.Table:
    """The rows as a file holds them: physical names and ids, partition columns last, then lineage."""
    ordered = file_order(schema, spec)
    physical = arrow_schema(Schema(tuple(ordered)), physical=True)
    columns = [
        # The same buffers under other names, at every level.
        pa.chunked_array([chunk.view(field.type) for chunk in rows.column(logical.name).chunks], field.type)
        for logical, field in zip(ordered, physical, strict=True)
    ]
    if lineage is not None:
        physical = pa.schema([*physical, *lineage.schema])
        columns += lineage.columns
    return pa.Table.from_arrays(columns, schema=physical)


def row_group_rows(rows: int, tuples: int, columns: int, bytes_per_row: float) -> float:
    """About how many rows a row group should have in a file of so many rows, tuples and Parquet columns."""
    most = MAX_ROW_GROUP_ROWS / 1.5
    if tuples <= 1:
        return min(ALONE_ROW_GROUP_BYTES / bytes_per_row, most)
    size = rows * bytes_per_row
    small = min(size / SMALL_ROW_GROUP_BYTES, MOST_SMALL_CHUNKS / max(1, columns), tuples)
    return min(rows / max(size / SHARED_ROW_GROUP_BYTES, small), most)


def _parquet(table: pa.Table, runs: RowTuples | None, bytes_per_row: float, *, indexed: bool = True) -> bytes:
    """The rows as Parquet; `runs` are their tuples if the rows of each lie together."""
    ends = [table.num_rows] if runs is None else list(accumulate(runs.counts))
    group_rows = row_group_rows(table.num_rows, len(ends), leaf_count(table.schema), bytes_per_row)
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink,
        table.schema,
        compression="zstd",
        write_statistics=True,
        write_page_index=indexed,
        write_page_checksum=True,  # compressed bytes that change may decompress into other values, without an error
        data_page_size=_PAGE_BYTES,
        use_dictionary=dictionary_paths(table),
        store_schema=False,  # types and ids are all in Parquet's own schema
    ) as writer:
        if runs is not None:
            writer.add_key_value_metadata({TUPLE_ORDER: b"true"})
        start = 0
        for stop in cuts(ends, group_rows):
            writer.write_table(table.slice(start, stop - start), row_group_size=stop - start)
            start = stop
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]
