"""What a query of Spark has read, by its own count: files by the metrics of its scans, bytes by those of its tasks."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GROUP: Final = "measured"
# What Parquet reads in vectors, Hadoop's statistics do not count, and they are where Spark's come from. So it is
# switched off for what is counted; nothing of that is timed.
_VECTORS: Final = "parquet.hadoop.vectored.io.enabled"
_LOOKED_AT: Final = 20  # executions; a query is one, or a few with what a format asks itself
# What sources call the number of files: Spark's own, and Iceberg's.
_FILES: Final = ("number of files read", "number of result data files")


@contextmanager
def observed(spark: "SparkSession") -> Iterator[None]:
    """Run something whose jobs are to be told from others."""
    context: Any = spark.sparkContext
    context.setJobGroup(_GROUP, "measured")
    try:
        yield
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)


def _input_bytes(stages: Any, number: int) -> int:
    """What a stage has read; none of one that never ran, as its rows were there already."""
    from py4j.protocol import Py4JJavaError

    try:
        return int(stages.lastStageAttempt(number).inputBytes())
    except Py4JJavaError as error:
        if "NoSuchElementException" not in str(error.java_exception):
            raise
        return 0


class Executions:
    """Spark's list of what it has run; it remembers what was there when it was last asked."""

    def __init__(self, spark: "SparkSession") -> None:
        self._spark = spark
        self._context: Any = spark.sparkContext
        self._store: Any = spark._jsparkSession.sharedState().statusStore()
        self._jobs: set[int] = set()

    def forget(self) -> None:
        """What ran until now is not asked for."""
        self._spark.conf.set(_VECTORS, "false")
        self._settle()
        self._jobs = set(self._context.statusTracker().getJobIdsForGroup(_GROUP))
        self._before = max(self._newest(), default=-1)

    def read(self) -> tuple[int | None, int]:
        """The files and bytes read since then."""
        self._spark.conf.unset(_VECTORS)
        self._settle()
        tracker, stages = self._context.statusTracker(), self._context._jsc.sc().statusStore()
        jobs = set(tracker.getJobIdsForGroup(_GROUP)) - self._jobs
        numbers = {stage for job in jobs for stage in tracker.getJobInfo(job).stageIds}
        return self._files(), sum(_input_bytes(stages, number) for number in numbers)

    def _settle(self) -> None:
        self._context._jsc.sc().listenerBus().waitUntilEmpty()

    def _newest(self) -> list[int]:
        """The ids of the last few executions. Spark keeps a thousand, so their number says nothing."""
        count = int(self._store.executionsCount())
        listed = self._store.executionsList(max(0, count - _LOOKED_AT), _LOOKED_AT)
        return [int(listed.apply(place).executionId()) for place in range(listed.size())]

    def _files(self) -> int | None:
        """The sum over all scans; None if no scan says."""
        found: list[int] = []
        for execution in self._newest():
            if execution <= self._before:
                continue
            values = self._store.executionMetrics(execution)
            nodes = self._store.planGraph(execution).allNodes()
            for index in range(nodes.size()):
                node = nodes.apply(index)
                metrics = node.metrics()
                for number in range(metrics.size()):
                    metric = metrics.apply(number)
                    if metric.name() in _FILES and values.contains(metric.accumulatorId()):
                        found.append(int(values.apply(metric.accumulatorId()).replace(",", "")))
        return sum(found) if found else None
