"""What all tables on Spark have in common: SQL for questions and changes, and Spark's metrics for what was read."""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.engines.engine import Engine, Read, Rows
from benchmarks.engines.sessions import session
from benchmarks.engines.spark_metrics import Executions, observed
from benchmarks.staged import Staged, Target
from benchmarks.workload import Query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SparkTable(Engine):
    """A table with a name in Spark's SQL."""

    def __init__(self, staged: Staged, place: Path) -> None:
        super().__init__(staged, place)
        self.spark = session(place, self.settings())
        self.name = "t"
        # All staged rows have the same columns, and to infer them is nobody's work that is measured.
        self._schema = self.spark.read.parquet(str(staged.warm)).schema
        self._executions = Executions(self.spark)
        self.spark.read.parquet(str(staged.days)).createOrReplaceTempView("days")

    @abstractmethod
    def settings(self) -> Mapping[str, str]:
        """What its session needs besides what all have."""

    @property
    def _location(self) -> Path:
        """Where the table lies, for engines that have it in a directory of its name."""
        return self.place / self.name

    @property
    @abstractmethod
    def table(self) -> str:
        """The table's name in SQL."""

    def versions(self) -> dict[str, str]:
        """See `Engine`."""
        return {"spark": self.spark.version}

    def rows(self, source: Path) -> "DataFrame":
        """What lies in a directory of Parquet files."""
        return self.spark.read.schema(self._schema).parquet(str(source))

    @property
    def columns(self) -> str:
        """The columns of the rows, as CREATE TABLE takes them."""
        return ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in self._schema)

    def append(self, source: Path) -> None:
        """See `Engine`."""
        self.rows(source).writeTo(self.table).append()

    def query(self, query: Query) -> Rows:
        """See `Engine`."""
        with observed(self.spark):
            return self.spark.sql(query.sql(self.table)).collect()

    def watch(self) -> None:
        """See `Engine`."""
        self._executions.forget()

    def read(self) -> Read:
        """See `Engine`."""
        files, size = self._executions.read()
        return Read(files=files, bytes=size)

    def plan(self, where: str) -> int:
        """See `Engine`; the tasks of the scan. Spark then knows every file it will read, and has read none."""
        frame = self.spark.sql(f"SELECT * FROM {self.table} WHERE {where}")
        return int(frame._jdf.queryExecution().toRdd().getNumPartitions())

    def run(self, statement: str) -> None:
        """One statement of SQL."""
        self.spark.sql(statement).collect()

    def overwrite(self, source: Path, target: Target) -> None:
        """See `Engine`; by a condition, in one commit."""
        from pyspark.sql.functions import expr

        self.rows(source).writeTo(self.table).overwrite(expr(target.where))

    def delete(self, where: str) -> None:
        """See `Engine`."""
        self.run(f"DELETE FROM {self.table} WHERE {where}")

    def update(self, column: str, value: str, where: str) -> None:
        """See `Engine`."""
        self.run(f"UPDATE {self.table} SET {column} = {value} WHERE {where}")

    def merge(self, source: Path) -> None:
        """See `Engine`; the day is said, since all rows are of one: what is known to be equal, formats prune by."""
        self.rows(source).createOrReplaceTempView("source")
        self.run(
            f"MERGE INTO {self.table} AS t USING source AS s "
            f"ON t.dt = {self.staged.values['day']} AND t.dt = s.dt AND t.app = s.app AND t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET value = s.value WHEN NOT MATCHED THEN INSERT *"
        )

    def rename(self, old: str, new: str) -> None:
        """See `Engine`."""
        self.run(f"ALTER TABLE {self.table} RENAME COLUMN {old} TO {new}")

    def close(self) -> None:
        """See `Engine`."""
        self.spark.stop()
