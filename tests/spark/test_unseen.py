"""What the library does in Spark, its user does not see: no call sites, no other session."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, utils
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

import coalesce
from coalesce.spark.jvm.unseen import without_call_sites

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def switched_on() -> Iterator[None]:
    """PySpark looks call sites up, as it does unless told otherwise."""
    switches = vars(utils)
    before, switches["_enable_debugging_cache"] = switches["_enable_debugging_cache"], True
    yield
    switches["_enable_debugging_cache"] = before


def said(spark: "SparkSession", within: bool) -> str:
    """Where Spark says that a column which is not there was asked for; it was made within, or not."""
    if within:
        with without_call_sites():
            column = F.col("nope") + 1
    else:
        column = F.col("nope") + 1
    with pytest.raises(AnalysisException) as error:
        spark.range(1).select(column)
    return " ".join(context.callSite() for context in error.value.getQueryContext())


@pytest.mark.usefixtures("switched_on")
def test_ours_have_none_and_others_have_theirs(spark: "SparkSession") -> None:
    """Before, after, and once all threads that were inside are out again, in whatever order they leave."""
    assert __file__ in said(spark, within=False)
    assert __file__ not in said(spark, within=True)
    inside, leave = Event(), Event()

    def stays() -> None:
        with without_call_sites():
            inside.set()
            leave.wait(60)

    thread = Thread(target=stays)
    with without_call_sites():
        thread.start()
        inside.wait(60)
    assert __file__ not in said(spark, within=False)
    leave.set()
    thread.join()
    assert __file__ in said(spark, within=False)


def test_the_session_that_was_active_is_active(spark: "SparkSession", tmp_path: Path) -> None:
    """Writes work in sessions of their own, in which they make frames; the user's next query is in the user's."""
    table = coalesce.create(tmp_path / "t", pa.schema([("k", pa.int64())]), partition_by=["k"], spark=spark)
    spark.createDataFrame([], "k LONG")
    table.append(spark.range(3).selectExpr("id AS k"))
    table.merge([{"k": 1}, {"k": 7}], "t.k = s.k").when_matched_delete().when_not_matched_insert().execute()
    spark.sql(f"UPDATE coalesce.`{table.location}` SET k = k + 1")
    active = spark.getActiveSession()
    assert active is not None
    assert active._jsparkSession.equals(spark._jsparkSession)
    assert sorted(row.k for row in table.refresh().read().collect()) == [1, 3, 8]
