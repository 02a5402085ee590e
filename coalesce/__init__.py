"""Small logical partitions share a physical one, and lose nothing.

import coalesce

t = coalesce.create("events", schema, partition_by=["dt", "app"], rule=coalesce.small("app"))
t.append(rows)
t.scan("dt = DATE '2026-05-17' AND app = 'A'").to_arrow()
"""


