"""Small logical partitions share a physical one, and lose nothing.

import coalesce

t = coalesce.create("events", schema, partition_by=["dt", "app"], rule=coalesce.small("app"))
t.append(rows)
t.scan("dt = DATE '2026-05-17' AND app = 'A'").to_arrow()
"""

from coalesce.api import create, open
from coalesce.errors import CoalesceError
from coalesce.model.rule import group, keep_all, small
from coalesce.predicate.builder import col
from coalesce.table.table import Table

__all__ = ["CoalesceError", "Table", "col", "create", "group", "keep_all", "open", "small"]
