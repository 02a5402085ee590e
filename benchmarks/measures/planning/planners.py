"""Who plans: each opens a table and says how many files a predicate leaves, by the way its documentation gives.

A planner's module is imported when it is made, so that what is timed afterwards has no imports in it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

# The tables that `peers.py` builds, by the names of their directories.
DELTA, ICEBERG, OWN, SHARED = "delta", "iceberg", "own", "shared"
DAY, APP = "2026-05-04", "app-01234"  # one logical partition of every peer's table
POINT = f"dt = DATE '{DAY}' AND app = '{APP}'"


class Planner(Protocol):
    """Opens tables and plans."""

    def open(self, location: str) -> Any:
        """The table at a location, with whatever the planner reads to open it."""

    def plan(self, table: Any, where: str) -> int:
        """How many files may hold rows that match."""


class Coalesce:
    """`Table.plan(where)`. Keeps count of the files it reads."""

    def __init__(self) -> None:
        from coalesce.arrow.engine import ArrowEngine
        from coalesce.predicate.sql import parse  # noqa: F401 - the rest comes with the table
        from coalesce.storage.local import LocalStorage
        from coalesce.table.engine import Engines
        from coalesce.table.table import Table

        class Counting(LocalStorage):
            """A disk that remembers what was read from it."""

            def read(self, path: str) -> bytes:
                data = super().read(path)
                seen[path] = len(data)
                return data

        self.read = seen = dict[str, int]()
        self._open: Callable[[str], Table] = lambda location: Table(Counting(location), Engines(ArrowEngine()))

    def open(self, location: str) -> Any:
        """See `Planner`."""
        return self._open(location)

    def plan(self, table: Any, where: str) -> int:
        """See `Planner`."""
        return int(table.plan(where).file_count)


class Delta:
    """`DeltaTable.file_uris(file_pruning_predicate=…)`, with tuple filters, which it plans faster than SQL text."""

    def __init__(self) -> None:
        from deltalake import DeltaTable

        self.open: Callable[[str], DeltaTable] = DeltaTable

    def plan(self, table: Any, where: str) -> int:
        """See `Planner`; of predicates it knows the one point."""
        assert where == POINT
        return len(table.file_uris(file_pruning_predicate=[("dt", "=", DAY), ("app", "=", APP)]))


class DeltaByHand(Delta):
    """No planner, but faster than the one above: every file's entry as Arrow, filtered by the user with pyarrow."""

    def __init__(self) -> None:
        super().__init__()
        from datetime import date

        import pyarrow as pa
        import pyarrow.compute as pc

        self._table = pa.table
        self._wanted = (pc.field("partition.dt") == date.fromisoformat(DAY)) & (pc.field("partition.app") == APP)

    def plan(self, table: Any, where: str) -> int:
        """See `Planner`; of predicates it knows the one point."""
        assert where == POINT
        return int(self._table(table.get_add_actions(flatten=True)).filter(self._wanted).num_rows)


class Iceberg:
    """`StaticTable.from_metadata(…)`, which spares it the catalog, then `scan(row_filter).plan_files()`."""

    def __init__(self) -> None:
        import pyiceberg.io.pyarrow  # noqa: F401 - it would be imported by the first plan
        from pyiceberg import expressions
        from pyiceberg.table import StaticTable

        equals: Any = expressions.EqualTo  # its own annotations know only the form that its serializer uses
        self._open = StaticTable.from_metadata
        self._filter = expressions.And(equals("dt", DAY), equals("app", APP))

    def open(self, location: str) -> Any:
        """See `Planner`."""
        return self._open((Path(location) / "newest").read_text())

    def plan(self, table: Any, where: str) -> int:
        """See `Planner`; of predicates it knows the one point."""
        assert where == POINT
        return len(list(table.scan(row_filter=self._filter).plan_files()))


PLANNERS: Mapping[str, Callable[[], Planner]] = {
    "coalesce": Coalesce,
    "delta-rs": Delta,
    "delta-rs by hand": DeltaByHand,
    "PyIceberg": Iceberg,
}
# Which planner plans which of the peers' tables, and what a reader of the results calls that.
CONTESTANTS: Mapping[str, tuple[str, str]] = {
    "coalesce, shared files": ("coalesce", SHARED),
    "coalesce, a file each": ("coalesce", OWN),
    "delta-rs": ("delta-rs", DELTA),
    "delta-rs by hand": ("delta-rs by hand", DELTA),
    "PyIceberg": ("PyIceberg", ICEBERG),
}
