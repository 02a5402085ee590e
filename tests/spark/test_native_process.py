"""Spark that is stopped and started again, or not what the Java classes were written for."""

import pytest

from tests.spark.events import make_events
from tests.spark.processes import run

pytestmark = pytest.mark.spark

RESTARTED = """
import sys
import warnings
from pathlib import Path
import coalesce
from coalesce.spark.session import java_classes

# A Spark that the classes do not fit.
broken, classes = Path(sys.argv[2]), java_classes.load_classes.__defaults__
broken.mkdir()
(broken / "Bridge.java").write_text("package coalesce.spark; public class Bridge { NoSuchClassOfSpark x; }")
java_classes.load_classes.__defaults__ = (broken,)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    spark = coalesce.session("local[1]", **{"spark.sql.shuffle.partitions": 1})
print([str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)][0])
frame = spark.read.format("coalesce").option("where", "app = 'A'").load(sys.argv[1])
print(frame.count(), coalesce.open(sys.argv[1], spark=spark).read().count())
spark.stop()

# Two that they do.
java_classes.load_classes.__defaults__ = classes
for _ in range(2):
    spark = coalesce.session("local[1]", **{"spark.sql.shuffle.partitions": 1})
    frame = spark.read.format("coalesce").load(sys.argv[1])
    print(frame.where("app = 'A'").count(), frame.count())
    spark.stop()
"""


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], str]:
    """What a program prints that starts Spark three times, and what it should find."""
    directory = tmp_path_factory.mktemp("restarted")
    table, where = make_events(directory / "events"), "app = 'A'"
    lines = run(RESTARTED, directory / "events", directory / "java", directory=directory)
    return lines, f"{table.count(where)} {table.count()}"


def test_a_spark_the_classes_do_not_fit(restarted: tuple[list[str], str]) -> None:
    """If the classes do not compile, the portable source reads, and a warning says why."""
    (warning, found, *_), expected = restarted
    assert "the native source does not fit Spark" in warning
    assert "NoSuchClassOfSpark" in warning
    assert found == expected


def test_stop_and_start_again(restarted: tuple[list[str], str]) -> None:
    """After `spark.stop()` a new session in the same process reads as the first did."""
    (_, _, *found), expected = restarted
    assert found == [expected, expected]
