"""Rows of dead tuples are in data files and leave them by no way: scans, filters, ids, rewriting, merging."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coalesce
from coalesce.arrow.read import open_file
from coalesce.errors import CorruptMetadata
from coalesce.model.datafile import DataFile
from coalesce.model.entries import Entries, from_files
from coalesce.table.table import Table, core_of
from tests.support.examples import examples
from tests.table.examples import DAY

APPS: Sequence[str | None] = ["A", "B", "C", None, "", "D"]


def rows(apps: Sequence[str | None]) -> pa.Table:
    """A row for each app, in this order."""
    return pa.table({"dt": [DAY] * len(apps), "app": pa.array(apps, pa.string()), "k": range(len(apps))})


def shared(path: Path, data: pa.Table) -> Table:
    """A table that has them in one file, with small row groups."""
    table = coalesce.create(
        path,
        data.schema,
        partition_by=["dt", "app"],
        rule=coalesce.small("app"),
        properties={"remove.by": "mark"},
    )
    table.append(data)
    return table


def out_of_order(table: Table, path: Path, by: str) -> None:
    """Put a file in the place of the table's with the same rows in another order; nobody says in which."""
    (file,) = table.files()
    there = path / file.path
    held = pq.ParquetFile(there).read().replace_schema_metadata(None)  # which has what the footer says
    pq.write_table(held.sort_by([(by, "descending")]), there)
    transaction = core_of(table).transaction("swap")
    transaction.mend(_entries(table, replace(file, bytes=there.stat().st_size, ordered=False)))
    core_of(table).commit(transaction)


def _entries(table: Table, file: DataFile) -> Entries:
    return from_files([file], table.state.spec, table.schema)


def keys(table: pa.Table) -> list[int]:
    """Which rows they are."""
    found: list[int] = sorted(table.column("k").to_pylist())
    return found


@given(
    st.lists(st.sampled_from(APPS), min_size=1, max_size=60),
    st.lists(st.sets(st.sampled_from(APPS), min_size=1, max_size=3), min_size=1, max_size=3),
    st.booleans(),
)
@settings(max_examples=examples(15), deadline=None)
def test_no_way_out_of_a_file_shows_dead_rows(
    tmp_path_factory: pytest.TempPathFactory,
    apps: list[str | None],
    removals: list[set[str | None]],
    ordered: bool,
) -> None:
    """Whatever is asked, of all columns or few, whether the file says where its tuples lie or not; ids stay."""
    path = tmp_path_factory.mktemp("t") / "t"
    data = rows(apps)
    table = shared(path, data)
    if not ordered:
        out_of_order(table, path, "k")
    ids = _row_ids(table)
    left = set(apps)
    for gone in removals:
        for app in gone:
            table.drop_partition(app=app)
        left -= gone
        expected = [k for k, app in enumerate(apps) if app in left]
        assert keys(table.scan().to_arrow()) == expected
        assert keys(pa.table(table.scan(columns=["k"]))) == expected
        assert table.scan(columns=[]).to_arrow().num_rows == table.count() == len(expected)
        half = len(apps) // 2
        assert keys(table.scan(f"k < {half}").to_arrow()) == [k for k in expected if k < half]
        for app in APPS:
            condition = "app IS NULL" if app is None else f"app = '{app}'"
            found = table.scan(f"{condition} AND k >= {half // 2}").to_arrow()
            assert keys(found) == [k for k in expected if apps[k] == app and k >= half // 2]
            assert pc.all(pc.equal(found.column("dt"), DAY), min_count=0).as_py()
        assert table.distinct("app") == sorted(left, key=lambda a: (a is not None, a))
        assert _row_ids(table) == {k: ids[k] for k in expected}
    table.delete("k = 0")
    assert keys(table.scan().to_arrow()) == [k for k in expected if k != 0]
    assert _row_ids(table) == {k: ids[k] for k in expected if k != 0}


def _row_ids(table: Table) -> dict[int, int]:
    found: dict[int, int] = {}
    for entry in table.files():
        with open_file(core_of(table).storage, entry, table.state) as file:
            lineage = file.lineage()
            read = file.read([table.schema.field("k")], range(len(file.group_rows)))
            assert lineage is not None
            found |= zip(read.column("k").to_pylist(), lineage.column(0).to_pylist(), strict=True)
    return found


def test_a_file_without_the_rows_that_were_removed_is_refused(tmp_path: Path) -> None:
    """By its number of rows, and where its order is unknown by its tuples: others might be left out instead."""
    table = shared(tmp_path / "t", rows(["A", "A", "B", "C"]))
    out_of_order(table, tmp_path / "t", "k")
    table.drop_partition(app="A")
    (file,) = table.files()
    other = replace(file, dead=(file.dead[0]._replace(values=(file.dead[0].values[0], "Z")),))
    transaction = core_of(table).transaction("forge")
    transaction.mend(_entries(table, other))
    core_of(table).commit(transaction)
    with pytest.raises(CorruptMetadata, match="does not have the rows that its entry says were removed"):
        table.scan().to_arrow()
