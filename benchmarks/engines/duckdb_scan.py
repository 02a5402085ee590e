"""Plain Parquet through DuckDB."""

from pathlib import Path

import duckdb

from benchmarks.engines.arrow_dataset import ArrowDataset
from benchmarks.engines.engine import NotOffered, Rows
from benchmarks.staged import Staged
from benchmarks.workload import Query


class DuckDbScan(ArrowDataset):
    """`read_parquet` over directories by dt, rows sorted by app, that pyarrow wrote, so that the files are those of the
    other scans; two threads, as everybody here.
    """

    def __init__(self, staged: Staged, place: Path) -> None:
        super().__init__(staged, place)
        self._connection = duckdb.connect(config={"threads": 2})
        self._connection.execute(f"CREATE VIEW days AS SELECT * FROM read_parquet('{staged.days}/*.parquet')")

    def versions(self) -> dict[str, str]:
        """See `Engine`."""
        return {"duckdb": duckdb.__version__}

    def open(self, name: str) -> None:
        """See `Engine`; a view: the files are listed anew in each query."""
        self._place = self.place / name
        source = f"read_parquet('{self._place}/**/*.parquet', hive_partitioning = true, hive_types = {{'dt': DATE}})"
        self._connection.execute(f"CREATE OR REPLACE VIEW t AS SELECT * FROM {source}")

    def query(self, query: Query) -> Rows:
        """See `Engine`."""
        return self._connection.execute(query.sql("t")).fetchall()

    def plan(self, where: str) -> int:
        """See `Engine`."""
        raise NotOffered("plans only as part of a query")

    def close(self) -> None:
        """See `Engine`."""
        self._connection.close()
