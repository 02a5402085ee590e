"""What is counted without reading a file."""

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import coalesce
from coalesce.errors import FileMissing
from tests.support.entries import mend


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("p IN ('a', 'b', 'c')", 6),  # all of the file that does not tell them apart
        ("p = 'd'", 2),  # all of the other one
        ("p = 'a'", None),
        ("p < 'd' AND k > 1", None),
        ("k > 100", 0),
    ],
)
def test_rows_that_were_not_counted_by_tuple(tmp_path: Path, where: str, rows: int | None) -> None:
    """Where all tuples of a file match, the rows of the file are known; where some do, it has to be read."""
    schema = pa.schema([("p", pa.string()), ("k", pa.int64())])
    table = coalesce.create(tmp_path / "t", schema, partition_by=["p"], rule=coalesce.small("p"))
    table.append([{"p": p, "k": k} for k, p in enumerate("aabbbc")])
    table.append([{"p": "d", "k": k} for k in (7, 8)])
    mend(table, lambda file: replace(file, tuple_rows=None) if file.rows == 6 else file)
    expected = table.scan(where).to_arrow().num_rows
    assert table.count(where) == expected
    shutil.rmtree(tmp_path / "t" / "data")
    if rows is None:
        with pytest.raises(FileMissing):
            table.count(where)
    else:
        assert table.count(where) == rows == expected
