"""Plain Parquet through Polars."""

from typing import Any

import polars as pl

from benchmarks.engines.arrow_dataset import ArrowDataset
from benchmarks.engines.conditions import no_join
from benchmarks.engines.engine import NotOffered, Rows
from benchmarks.workload import Query


class PolarsScan(ArrowDataset):
    """`scan_parquet` over directories by dt, rows sorted by app, that pyarrow wrote: the same files as for the other
    scans.
    """

    def versions(self) -> dict[str, str]:
        """See `Engine`."""
        return {"polars": pl.__version__}

    def open(self, name: str) -> None:
        """See `Engine`; a scan is lazy, and lists the files anew in each query."""
        self._place = self.place / name

    def query(self, query: Query) -> Rows:
        """See `Engine`; through its SQL."""
        no_join(query)
        scan = pl.scan_parquet(str(self._place / "**" / "*.parquet"), hive_partitioning=True, try_parse_hive_dates=True)
        context: Any = pl.SQLContext(t=scan, eager=True)
        return context.execute(query.sql("t")).rows()  # type: ignore[no-any-return]

    def plan(self, where: str) -> int:
        """See `Engine`."""
        raise NotOffered("plans only as part of a query")
