"""Spark that is stopped and started again, spread over processes, or not what the Java classes were written for."""

from pathlib import Path

import pytest

from tests.spark.events import make_events
from tests.spark.processes import run

pytestmark = pytest.mark.spark

IS_A = "app = 'A'"
IS_S1 = "s = 's1'"

AGAIN = """
import sys
import coalesce

for round in range(2):
    spark = coalesce.session("local[1]", **{"spark.sql.shuffle.partitions": 1})
    frame = spark.read.format("coalesce").load(sys.argv[1])
    print(frame.where("app = 'A'").count(), frame.count())
    spark.stop()
"""

CLUSTER = """
import sys
import coalesce

spark = coalesce.session("local-cluster[2,1,1024]", **{"spark.sql.shuffle.partitions": 2})
frame = spark.read.format("coalesce").load(sys.argv[1])
print(frame.where("app = 'A'").count(), frame.count())
renamed = coalesce.open(sys.argv[1])
renamed.rename_column("s", "subject")
renamed.add_column("extra", "string", default="x")
frame = spark.read.format("coalesce").load(sys.argv[1])
print(frame.where("subject = 's1' AND extra = 'x'").count(), frame.where("subject IS NULL").count())
frame.select("k").limit(3).write.mode("overwrite").parquet(sys.argv[1] + "-copy")
print(spark.read.parquet(sys.argv[1] + "-copy").count())
spark.stop()
"""

UNKNOWN_SPARK = """
import sys
import warnings
from pathlib import Path
import coalesce
from coalesce.spark.session import java_classes

broken = Path(sys.argv[2])
broken.mkdir()
(broken / "Bridge.java").write_text("package coalesce.spark; public class Bridge { NoSuchClassOfSpark x; }")
java_classes.load_classes.__defaults__ = (broken,)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    spark = coalesce.session("local[1]", **{"spark.sql.shuffle.partitions": 1})
print([str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)][0])
frame = spark.read.format("coalesce").option("where", "app = 'A'").load(sys.argv[1])
print(frame.count())
print(coalesce.open(sys.argv[1], spark=spark).read().count())
spark.stop()
"""


def test_stop_and_start_again(tmp_path: Path) -> None:
    """After `spark.stop()` a new session in the same process reads as the first did."""
    table = make_events(tmp_path / "events")
    expected = f"{table.count(IS_A)} 450"
    assert run(AGAIN, tmp_path / "events", directory=tmp_path) == [expected, expected]


def test_executors_need_nothing(tmp_path: Path) -> None:
    """With executors in processes of their own, which lack the classes, scans and mapped names work."""
    table = make_events(tmp_path / "events")
    lines = run(CLUSTER, tmp_path / "events", directory=tmp_path)
    assert lines == [
        f"{table.count(IS_A)} 450",
        f"{table.count(IS_S1)} {table.count('s IS NULL')}",
        "3",
    ]


def test_a_spark_the_classes_do_not_fit(tmp_path: Path) -> None:
    """If the classes do not compile, the portable source reads, and a warning says why."""
    table = make_events(tmp_path / "events", writes=1)
    warning, filtered, total = run(UNKNOWN_SPARK, tmp_path / "events", tmp_path / "java", directory=tmp_path)
    assert "the native source does not fit Spark" in warning
    assert "NoSuchClassOfSpark" in warning
    assert (int(filtered), int(total)) == (table.count("app = 'A'"), 150)
