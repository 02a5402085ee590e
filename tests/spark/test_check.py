"""Tables that Spark has written, rewritten and compacted are sound, and Spark reads what was mended."""

from pathlib import Path
from typing import TYPE_CHECKING

import coalesce
from coalesce.table.maintain import kinds
from tests.support.engines import by_jobs
from tests.table.maintain import planting
from tests.table.maintain.planting import first, plant
from tests.table.maintain.test_repair import CHANGES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = """
    SELECT DATE '2026-05-15' + CAST(id % 3 AS INT) AS dt,
           IF(id % 7 = 0, NULL, 'app-' || id % 20) AS app,
           id AS n,
           IF(id % 11 = 0, CAST('NaN' AS DOUBLE), id / 2.0D) AS x,
           TIMESTAMP '2026-01-01' + make_interval(0, 0, 0, 0, 0, 0, id) AS ts,
           named_struct('a', id, 'b', array(CAST(id AS INT))) AS s
    FROM range(500)
"""


def test_what_spark_wrote_is_sound(spark: "SparkSession", tmp_path: Path) -> None:
    """By jobs and by the driver, rewritten by a delete, moved by compact, after columns have changed."""
    rows = spark.sql(ROWS)
    fields, rule = ["dt", "app", "bucket(2, n)"], coalesce.small("app")
    table = coalesce.create(tmp_path / "t", rows.schema, partition_by=fields, rule=rule, spark=spark)
    table.append(rows)
    by_jobs(table, spark).append(rows)
    table.delete("n % 5 = 0")
    table.rename_column("x", "y")
    table.drop_column("ts")
    table.overwrite(rows.where("n < 9").withColumnRenamed("x", "y").drop("ts"), "n < 9")
    table.evolve(drop="n_bucket")
    table.compact()
    assert table.check() == []
    assert table.check(deep=True) == []


def test_spark_reads_what_was_mended(spark: "SparkSession", tmp_path: Path) -> None:
    """Rows that an entry hid are there again, natively too."""
    table = planting.sound(tmp_path / "t")
    plant(table, first(CHANGES[kinds.WRONG_TUPLE]))
    frame = coalesce.open(tmp_path / "t", spark=spark)
    assert frame.read().where("app = 'a'").count() < 10
    frame.repair()
    assert frame.read().where("app = 'a'").count() == 10
