"""Entries as columns."""

import numpy as np
import pyarrow as pa

from coalesce.model.entries import from_table

_COLUMNS = 2_000


def test_many_columns_are_taken_once_each() -> None:
    """A table of thousands of columns has as many statistics thrice: each is touched once, not once for each other.

    When they were gone through for each of them, this took minutes, and so did every commit to such a table.
    """
    core = {"path": ["a", "b"], "rows": [1, 2]}
    statistics = {f"{kind}_{i}": [i, i + 1] for i in range(_COLUMNS) for kind in ("lower", "upper", "null_count")}
    everything = pa.table(core | statistics)
    entries = from_table(0, (), everything)
    assert entries.core.column_names == ["path", "rows"]
    assert entries.table() == everything
    assert entries.take(np.array([1])).table() == everything.slice(1)
    assert entries.statistic("upper_7") == pa.array([7, 8])
    assert entries.statistic("upper_x") is None
