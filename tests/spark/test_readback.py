"""What is read back of files that Spark has written: in the driver and by a job the same, and what is really there."""

from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coalesce.model.datafile import ColumnStatistics
from coalesce.model.spec import LogicalTuple
from coalesce.model.transforms import apply
from coalesce.model.types import DOUBLE, Value
from coalesce.model.values import values_of
from coalesce.spark.jvm.catalyst import in_session, own_session
from coalesce.spark.translate.schema import FIELD_ID
from coalesce.spark.write.here import HERE
from coalesce.spark.write.readback import Found, read_back
from coalesce.spark.write.writer import SETTINGS, write_parquet
from coalesce.table.engine import Snapshot
from tests.builders import make_snapshot, make_version
from tests.spark.frames import frame_of
from tests.support.engines import NOTHING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAN = float("nan")
ROWS = pa.table(
    {
        "app": ["b", None, "a", "", "a", "b", "é", "a", None, "a"],
        "k": pa.array([5, 1, 2, None, 2, 17, 2**40, -3, 1, 2], pa.int64()),
        "v": [0.0, -0.0, NAN, None, 1.5, NAN, -0.0, 0.0, NAN, 2.5],
        "w": pa.array([1.0, 2.0, 3.0, None, 5.0, 6.0, 7.0, 8.0, 9.0, NAN], pa.float64()),
    }
)
WRITE = "data/one-write"


def _written(
    spark: "SparkSession", directory: Path, partition_by: list[str]
) -> tuple[Snapshot, list[Found], list[Found]]:
    """Files of some rows each, one of one tuple alone, one in order, one in another; read back here, and by a job."""
    snapshot = make_snapshot(directory, make_version(ROWS.schema, partition_by))
    session = own_session(spark, SETTINGS)
    alone = pa.concat_tables([ROWS.slice(4, 1)] * 3)
    in_order, in_runs = ROWS.take([1, 8, 3, 2, 4, 7, 9, 0, 5, 6]), ROWS.take([0, 5, 2, 4, 7, 9, 1, 8, 3, 6])
    for part in (ROWS.slice(0, 6), ROWS.slice(6), alone, in_order, in_runs):
        write_parquet(_with_ids(in_session(frame_of(spark, part), session), snapshot), str(directory / WRITE), [])
    here, by_job = (
        read_back(session, snapshot, WRITE, snapshot.version.spec, here_bytes) for here_bytes in (HERE.read, NOTHING)
    )
    return snapshot, here, by_job


def _with_ids(frame: "DataFrame", snapshot: Snapshot) -> "DataFrame":
    """The columns as a data file has them, in one task."""
    from pyspark.sql import functions as F  # noqa: N812

    fields = snapshot.version.schema
    return frame.coalesce(1).select(*(F.col(f.name).alias(f.physical_name, metadata={FIELD_ID: f.id}) for f in fields))


def _tuples(snapshot: Snapshot, rows: pa.Table) -> Counter[LogicalTuple]:
    """The tuples of rows, counted one by one."""
    return Counter(_in_rows(snapshot, rows))


def _in_rows(snapshot: Snapshot, rows: pa.Table) -> list[LogicalTuple]:
    """The tuple of each row; one zero and one NaN."""
    version = snapshot.version
    columns = []
    for field in version.spec.fields:
        type_ = version.schema.atomic(field.source_id)
        source = version.schema.by_id(field.source_id)
        assert type_ is not None
        assert source is not None
        columns.append([apply(field.transform, type_, v) for v in values_of(type_, rows.column(source.name))])
    return [tuple(_comparable(v) for v in t) for t in zip(*columns, strict=True)]


def _comparable(value: Value) -> Value:
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0
    return value


@pytest.mark.parametrize("partition_by", [["app"], ["app", "bucket(4, k)"], ["truncate(10, k)"], ["v", "app"]])
def test_both_ways_find_what_is_there(spark: "SparkSession", tmp_path: Path, partition_by: list[str]) -> None:
    """Tuples, counts, order and statistics of each file, against its rows as pyarrow reads them; none with floats."""
    snapshot, here, by_job = _written(spark, tmp_path, partition_by)
    assert [f.path for f in here] == [f.path for f in by_job]
    assert len(here) == 5
    for one, other in zip(here, by_job, strict=True):
        path = tmp_path / WRITE / one.path
        rows = pq.read_table(path)
        assert (one.rows, one.bytes) == (rows.num_rows, path.stat().st_size)
        expected = _tuples(snapshot, rows)
        for found in (one, other):
            assert found.tuples is not None
            assert found.tuple_rows is not None
            counted = zip((tuple(map(_comparable, t)) for t in found.tuples), found.tuple_rows, strict=True)
            assert dict(counted) == dict(expected)
        assert [tuple(map(_comparable, t)) for t in one.tuples or ()] == [
            tuple(map(_comparable, t)) for t in other.tuples or ()
        ]
        for field in snapshot.version.schema:
            for found in (one, other):
                _check_statistics(found.statistics[field.id], rows.column(field.name), field.type == DOUBLE)
        lies = [tuple_ for tuple_, _ in groupby(_in_rows(snapshot, rows))]
        said = "v" not in partition_by and lies == [tuple(map(_comparable, t)) for t in one.tuples or ()]
        assert one.ordered == other.ordered == said
    assert {f.ordered for f in here} == ({False} if "v" in partition_by else {True, False})


def _check_statistics(statistics: ColumnStatistics, column: pa.ChunkedArray, floating: bool) -> None:
    held = [v for v in column.to_pylist() if v is not None]
    numbers = [v for v in held if not (floating and v != v)]
    assert statistics.null_count == column.null_count
    assert statistics.nan_count == (len(held) - len(numbers) if floating else None)
    if numbers:
        assert statistics.lower is not None
        assert statistics.upper is not None
        assert statistics.lower <= min(numbers)
        assert statistics.upper >= max(numbers)


def test_a_file_without_rows_is_none(spark: "SparkSession", tmp_path: Path) -> None:
    """Spark may write a file without rows; there is nothing to say of it."""
    snapshot = make_snapshot(tmp_path, make_version(ROWS.schema, ["app"]))
    session = own_session(spark, SETTINGS)
    empty = in_session(frame_of(spark, ROWS.slice(0, 0)), session)
    write_parquet(_with_ids(empty, snapshot), str(tmp_path / WRITE), [])
    assert read_back(session, snapshot, WRITE, snapshot.version.spec) == []
