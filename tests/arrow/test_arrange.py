"""Rows written again as an arrangement says: the same rows with the same ids, wherever they lay before."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coalesce
from coalesce.arrow import arrange as module
from coalesce.arrow.encode import TUPLE_ORDER
from coalesce.arrow.read import open_file
from coalesce.errors import CorruptMetadata, StorageError
from coalesce.model.rule import Group
from coalesce.table.layout import Arrangement, PlannedFile, files_of_keys, spark_order
from coalesce.table.table import Table, core_of
from tests.checker import check_files
from tests.support.examples import examples
from tests.support.order import forget_order
from tests.table.examples import create, events
from tests.table.stores import MemoryStorage


def facts(table: Table, files: Any) -> list[tuple[Any, ...]]:
    """Every row of some files, with its id and version."""
    found: list[tuple[Any, ...]] = []
    for entry in files:
        with open_file(core_of(table).storage, entry, table.state) as file:
            rows = file.read(table.schema.fields, range(len(file.group_rows))).to_pylist()
            lineage = file.lineage()
            assert lineage is not None
            found += [(*row.values(), *own.values()) for row, own in zip(rows, lineage.to_pylist(), strict=True)]
    return found


def arrangement_of(table: Table, target_rows: float) -> Arrangement:
    """All rows of the table, in files of about so many."""
    counts: dict[Any, int] = {}
    for file in table.files():
        for tuple_, rows in zip(file.tuples or (), file.tuple_rows or (), strict=True):
            counts[tuple_] = counts.get(tuple_, 0) + (rows or 0)
    tuples = [list(counts)[i] for i in spark_order(list(counts), table.state.spec.types(table.schema))]
    keys = [(t[0], Group("[#small]")) for t in tuples]
    files = files_of_keys(range(len(tuples)), keys, [counts[t] for t in tuples], target_rows)
    return Arrangement(tuples=tuples, files=files, bytes_per_row=10.0)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("ABCDEF"), min_size=1, max_size=30), min_size=1, max_size=6),
    st.integers(1, 40),
    st.integers(1, 400),
    st.booleans(),
)
def test_rows_and_ids_stay(appends: list[list[str]], target_rows: int, together: int, rewritten: bool) -> None:
    """Any files, cut anywhere, made any number at a time: no row is lost, doubled or renumbered."""
    table = create(MemoryStorage(), coalesce.small("app"))
    number = 0
    for apps in appends:
        table.append(events(apps, range(number, number + len(apps))))
        number += len(apps)
    if rewritten and number > 1:
        table.delete("id < 2")
    if not table.state.files:
        return
    before = sorted(facts(table, table.files()))
    arrangement = arrangement_of(table, target_rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TOGETHER", together)
        written = module.arrange(core_of(table).snapshot(), table.files(), arrangement)
    assert sorted(facts(table, written)) == before
    assert [f.rows for f in written] == [f.rows for f in arrangement.files]
    check_files(core_of(table).storage, table.state, written)


def test_files_without_order_are_put_in_order() -> None:
    """A file that does not say that its rows lie by tuple is read whole; its rows come out in the right place."""
    table = create(MemoryStorage(), coalesce.small("app"))
    table.append(events(["A", "B", "A", "C", "B"], range(5)))
    table.append(events(["C", "A"], [5, 6]))
    (one, _) = table.files()
    storage = core_of(table).storage
    rows = pq.read_table(pa.BufferReader(storage.read(one.path)))
    stored = rows.replace_schema_metadata(None).take(pa.array(range(rows.num_rows - 1, -1, -1)))
    sink = pa.BufferOutputStream()
    pq.write_table(stored, sink)
    storage.put(one.path, sink.getvalue().to_pybytes())
    assert TUPLE_ORDER not in (pq.read_metadata(pa.BufferReader(storage.read(one.path))).metadata or {})
    forget_order(table)
    before = sorted(facts(table, table.files()))
    written = module.arrange(core_of(table).snapshot(), table.files(), arrangement_of(table, 2.0))
    assert sorted(facts(table, written)) == before
    check_files(storage, table.state, written)


def test_an_entry_that_counts_wrongly_is_refused() -> None:
    """Its rows would get the partition values of others, for good; as they are, the entry can still be mended."""
    table = create(MemoryStorage(), coalesce.small("app"))
    table.append(events(["A", "B", "A", "C", "B"], range(5)))
    (entry,) = table.files()
    storage = core_of(table).storage
    sink = pa.BufferOutputStream()
    pq.write_table(pq.read_table(pa.BufferReader(storage.read(entry.path))).replace_schema_metadata(None), sink)
    storage.put(entry.path, sink.getvalue().to_pybytes())
    for counts in ((1, 3, 1), (2, 1, 2)):
        wrong = replace(entry, tuple_rows=counts, ordered=False)
        with pytest.raises(CorruptMetadata, match="are not of the logical partitions that its entry lists"):
            module.arrange(core_of(table).snapshot(), [wrong], arrangement_of(table, 2.0))


def test_a_failure_leaves_no_file() -> None:
    """Neither of the files that were made already, nor of the one that could not be."""
    table = create(MemoryStorage(), coalesce.small("app"))
    table.append(events(["A", "B"] * 20, range(40)))
    storage = core_of(table).storage
    arrangement = arrangement_of(table, 5.0)
    there = {f.path for f in storage.list("data")}
    original, calls = storage.put_if_absent, []

    def fail(path: str, data: bytes) -> bool:
        calls.append(path)
        if len(calls) > 3:
            raise StorageError("no more room.")
        return original(path, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TOGETHER", 1)
        patch.setattr(storage, "put_if_absent", fail)
        with pytest.raises(StorageError, match="no more room"):
            module.arrange(core_of(table).snapshot(), table.files(), arrangement)
    assert {f.path for f in storage.list("data")} == there


def test_few_files_are_made_together() -> None:
    """As many as fit, and at least one; each once."""
    files = [PlannedFile(("k",), ()) for _ in range(3)]
    arrangement = Arrangement(tuples=[], files=files, bytes_per_row=1.0)
    assert list(module._together(arrangement)) == [range(3)]
