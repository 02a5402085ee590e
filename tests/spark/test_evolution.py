"""Evolution as Spark sees it: the same story, every step and every earlier version read through Spark."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import coalesce
from coalesce.table.table import Table
from tests.table.story import Rows, Story, look_back, twelve_evolutions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("rows_are_read")


def through_spark(table: Table) -> Rows:
    """All rows, as a Spark DataFrame gives them."""
    rows: Rows = [row.asDict(recursive=True) for row in table.read().collect()]
    return rows


def test_twelve_evolutions_read_through_spark(tmp_path: Path, spark: "SparkSession") -> None:
    """Renames, drops, defaults, widenings, specs and rules, at each version: Spark shows the rows in memory."""
    story = Story(tmp_path, through_spark, spark=spark)
    twelve_evolutions(story)
    look_back(story)


def test_spark_prunes_mixed_specs_each_by_its_own(tmp_path: Path, spark: "SparkSession") -> None:
    """A query over two specs reads one day of the old files and one bucket of the new ones."""
    schema = pa.schema([("dt", pa.string()), ("merchant", pa.string())])
    table: Any = coalesce.create(tmp_path, schema, partition_by=["dt"], spark=spark)
    rows = pa.table({"dt": ["d1", "d2"] * 40, "merchant": [f"m-{i // 2}" for i in range(80)]}, schema=schema)
    table.append(rows)
    table.evolve(add="bucket(8, merchant)")
    table.append(rows)
    found = table.read().where("dt = 'd1' AND merchant = 'm-7'")
    assert found.count() == 2
    report = table.last_scan()
    assert report.stages[-1].files == 2
    assert table.version == 3
