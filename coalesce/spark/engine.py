"""The engine for Spark DataFrames: native Parquet writes, and any predicate Spark understands."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from coalesce.arguments import check_texts
from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import SchemaError
from coalesce.model.datafile import DataFile
from coalesce.model.schema import Schema
from coalesce.plan.plan import Plan
from coalesce.plan.planner import JudgeOpaque
from coalesce.plan.report import Report
from coalesce.predicate.expr import Bound
from coalesce.predicate.normalize import is_plain
from coalesce.spark.jvm.unseen import unseen
from coalesce.spark.source.frame import dataframe, last_scan
from coalesce.spark.source.opaque import judge
from coalesce.spark.translate.schema import schema_from_spark
from coalesce.spark.write.here import HERE, Here
from coalesce.spark.write.report import WriteReport
from coalesce.spark.write.revise import Changes, FrameRevision
from coalesce.spark.write.rewrite import can_rewrite, compact, rewrite
from coalesce.spark.write.statement import changes_of, keyed
from coalesce.spark.write.writer import write
from coalesce.table.engine import Revision, Rewritten, Scan, Snapshot
from coalesce.table.layout import Arrangement
from coalesce.table.statement import Statement


class SparkEngine:
    """Takes DataFrames and schemas of Spark. `last_write` tells where the time of the last write went.

    `here` is what the driver does itself.
    """

    def __init__(self, spark: SparkSession, *, here: Here = HERE) -> None:
        self.spark = spark
        self.here = here
        self.last_write = WriteReport()
        self._arrow = ArrowEngine()

    def accepts(self, data: object) -> bool:
        """Whether `data` is Spark's."""
        return isinstance(data, DataFrame | StructType)

    def infer_schema(self, data: object, known: Schema | None = None) -> Schema:
        """The table schema that fits `data`, with fresh column ids; no row is computed."""
        return schema_from_spark(data if isinstance(data, StructType) else _frame(data).schema, known)

    @unseen()
    def write(self, snapshot: Snapshot, data: object) -> list[DataFile]:
        """Write the rows under the current spec and rule; nothing is committed."""
        frame = _frame(data)
        if type(frame).__module__.startswith("pyspark.sql.connect"):
            raise SchemaError(
                "this DataFrame belongs to a Spark Connect session, which has no driver here to write files from: "
                'write it with df.write.format("coalesce"), or hand over df.toArrow().'
            )
        self.last_write = WriteReport()
        return write(snapshot, frame, self.last_write, self.here)

    @unseen()
    def rewrite(self, snapshot: Snapshot, files: Sequence[DataFile], drop: Bound) -> Rewritten:
        """Write the rows of `files` on which `drop` is not TRUE into new files.

        A little is done here and now; a job takes over what is much, or what only Spark can judge.
        """
        if not can_rewrite(snapshot) or (self._is_little(files) and is_plain(drop)):
            return self._arrow.rewrite(snapshot, files, drop)
        return rewrite(self.spark, snapshot, files, drop, self.here)

    @unseen()
    def compact(
        self, snapshot: Snapshot, files: Sequence[DataFile], arrangement: Arrangement | None = None
    ) -> list[DataFile]:
        """Write the rows of `files` into new files under the current spec and rule."""
        if not can_rewrite(snapshot) or self._is_little(files) or (arrangement is not None and self._has_no_executors):
            return self._arrow.compact(snapshot, files, arrangement)
        return compact(self.spark, snapshot, files, arrangement, self.here)

    def scan(self, snapshot: Snapshot, plan: Plan, columns: Sequence[str] | None) -> Scan:
        """The rows of the plan's files for which its whole predicate is TRUE, without Spark."""
        return self._arrow.scan(snapshot, plan, columns)

    def dataframe(self, snapshot: Snapshot) -> DataFrame:
        """The rows of the version; filters on the frame prune files."""
        return dataframe(self.spark, snapshot)

    @unseen()
    def revision(self, statement: Statement) -> Revision:
        """The change of single rows that a statement is about, as text and values or as Spark's own columns."""
        return self.revised(changes_of(self.spark, statement))

    def revised(self, changes: Changes) -> FrameRevision:
        """The same for changes that are Spark's already."""
        return FrameRevision(self.spark, changes, dataframe, self.here)

    @unseen()
    def upsert(self, data: object, keys: Sequence[str]) -> Revision:
        """Rows of a frame that take the place of those with the same keys."""
        return self.revision(keyed(self.spark, data, check_texts(keys, "the keys", "keys={}")))

    def judge(self, snapshot: Snapshot) -> JudgeOpaque:
        """Catalyst, as far as it can say."""
        return judge(self.spark, snapshot.version.schema)

    def last_scan(self, snapshot: Snapshot) -> Report | None:
        """What the last scan of the table has read and why."""
        return last_scan(self.spark, snapshot)

    @property
    def _has_no_executors(self) -> bool:
        """Whether Spark runs in the driver alone: then this process is twice as fast, in memory that is bounded too.

        Not if it was told to leave everything to jobs.
        """
        return self.here.rewrite >= 0 and str(self.spark.sparkContext.master).startswith("local[")

    def _is_little(self, files: Sequence[DataFile]) -> bool:
        return sum(f.bytes for f in files) <= self.here.rewrite


def _frame(data: object) -> DataFrame:
    if isinstance(data, DataFrame):
        return data
    raise SchemaError(f"a {type(data).__name__} has no rows to write; give a Spark DataFrame.")
