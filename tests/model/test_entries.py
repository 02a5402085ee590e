"""Entries as columns."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from coalesce.model.datafile import DataFile
from coalesce.model.entries import from_files, from_table
from tests.builders import make_version

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


def test_an_order_is_believed_where_all_is_known() -> None:
    """Not if tuples or counts are missing, or contradict the rows: nobody could say where a tuple lies."""
    sound = DataFile(
        path="0", spec_id=0, rows=3, bytes=1, tuples=(("a",), ("b",)), tuple_rows=(1, 2), complete=True, ordered=True
    )
    files = [
        sound,
        replace(sound, path="1", ordered=False),
        replace(sound, path="2", complete=False),
        replace(sound, path="3", tuples=None, tuple_rows=None),
        replace(sound, path="4", tuple_rows=(None, 2)),
        replace(sound, path="5", tuple_rows=(2, 2)),
    ]
    version = make_version(pa.schema([("app", pa.string())]), ["app"])
    entries = from_files(files, version.spec, version.schema)
    assert entries.files() == files
    assert entries.ordered.tolist() == [True, *[False] * 5]
    assert from_files(files[1:2], version.spec, version.schema).ordered.tolist() == [False]
