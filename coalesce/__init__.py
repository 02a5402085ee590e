"""Small logical partitions share a physical one, and lose nothing.

import coalesce

t = coalesce.create("events", schema, partition_by=["dt", "app"], rule=coalesce.small("app"))
t.append(rows)
t.scan("dt = DATE '2026-05-17' AND app = 'A'").to_arrow()
"""

__distribution__ = "coalesce-tables"  # before the imports: `distribution.py` tells by it whose file this is
__version__ = "0.1.0"

from importlib import import_module
from typing import TYPE_CHECKING, Any

from coalesce.errors import CoalesceError

if TYPE_CHECKING:
    from coalesce.api import create, open
    from coalesce.model.rule import group, keep_all, small
    from coalesce.predicate.builder import col
    from coalesce.spark.session.attach import attach
    from coalesce.spark.session.start import session
    from coalesce.table.table import Table

__all__ = ["CoalesceError", "Table", "attach", "col", "create", "group", "keep_all", "open", "session", "small"]

_HOME = {
    "Table": "coalesce.table.table",
    "attach": "coalesce.spark.session.attach",
    "col": "coalesce.predicate.builder",
    "create": "coalesce.api",
    "group": "coalesce.model.rule",
    "keep_all": "coalesce.model.rule",
    "open": "coalesce.api",
    "session": "coalesce.spark.session.start",
    "small": "coalesce.model.rule",
}


def __getattr__(name: str) -> Any:
    """A name is imported when it is first asked for.

    What needs PySpark must not keep the rest from working without it, and the command can answer Ctrl-C, or a wrong
    command line, before half a second of imports.
    """
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'coalesce' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(home), name)
    return found


def __dir__() -> list[str]:
    """All public names, imported or not."""
    return sorted({*globals(), *__all__})
