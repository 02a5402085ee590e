"""Small logical partitions share a physical one, and lose nothing.

import coalesce

t = coalesce.create("events", schema, partition_by=["dt", "app"], rule=coalesce.small("app"))
t.append(rows)
t.scan("dt = DATE '2026-05-17' AND app = 'A'").to_arrow()
"""

from typing import TYPE_CHECKING, Any

from coalesce.api import create, open
from coalesce.errors import CoalesceError
from coalesce.model.rule import group, keep_all, small
from coalesce.predicate.builder import col
from coalesce.table.table import Table

if TYPE_CHECKING:
    from coalesce.spark.attach import attach
    from coalesce.spark.session import session

__all__ = ["CoalesceError", "Table", "attach", "col", "create", "group", "keep_all", "open", "session", "small"]


def __getattr__(name: str) -> Any:
    """What needs PySpark is imported when it is asked for: the rest of the library works without."""
    if name == "attach":
        from coalesce.spark.attach import attach

        return attach
    if name == "session":
        from coalesce.spark.session import session

        return session
    raise AttributeError(f"module 'coalesce' has no attribute {name!r}")
