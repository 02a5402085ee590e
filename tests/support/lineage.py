"""The rows of a table with their ids and versions, read from its files."""

from collections.abc import Iterator
from typing import Any

from coalesce.arrow.read import open_file
from coalesce.table.table import Table, core_of

Row = dict[str, Any]


def held(table: Table) -> dict[int, tuple[int, Row]]:
    """The rows of the newest version by their ids, with the versions that they are of."""
    found = list(_held(table.refresh()))
    by_id = dict(found)
    assert len(by_id) == len(found), "two rows have one id"
    return by_id


def _held(table: Table) -> Iterator[tuple[int, tuple[int, Row]]]:
    for entry in table.files():
        with open_file(core_of(table).storage, entry, table.state) as file:
            lineage = file.lineage()
            assert lineage is not None
            ids, versions = (column.to_pylist() for column in lineage.columns)
            rows = file.read(table.schema.fields, range(len(file.group_rows))).to_pylist()
            yield from zip(ids, zip(versions, rows, strict=True), strict=True)
