"""Any sequence of logical operations, written and read by Spark."""

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import invariant, run_state_machine_as_test

import coalesce
from coalesce.table.table import Table
from tests.spark.frames import frame_of
from tests.support.engines import by_jobs
from tests.support.examples import examples
from tests.table.operations import LogicalOperations, Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("work", ["here", "jobs"])
def test_any_sequence_of_operations(spark: "SparkSession", work: str) -> None:
    """After every step the rows are those of a list and every entry is right, be the work done here or by jobs."""

    class ThroughSpark(LogicalOperations):
        """Gives DataFrames to a table that was opened with Spark."""

        def data(self, rows: list[Row]) -> object:
            arrow = super().data(rows)
            assert isinstance(arrow, pa.Table)
            return frame_of(spark, arrow)

        def open(self, table: Table) -> Table:
            opened = coalesce.open(table.location, spark=spark)
            return by_jobs(opened, spark) if work == "jobs" else opened

        @invariant()
        def spark_reads_the_rows(self) -> None:
            """Spark finds the same rows as pyarrow."""
            assert {row.k: tuple(row) for row in self.table.read().collect()} == {row[3]: row for row in self.rows}

    few = settings(
        max_examples=examples(2),
        stateful_step_count=10,
        phases=[Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(ThroughSpark, settings=few)
