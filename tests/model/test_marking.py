"""Live tuples become dead ones: entries against lists of Python's, whatever was marked before."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalesce.model.datafile import ColumnStatistics, DataFile, DeadTuple
from coalesce.model.entries import concatenate, from_files
from coalesce.model.entry_columns import DEAD
from coalesce.model.marking import can_be_marked, marked
from coalesce.model.schema import Schema
from coalesce.model.spec import PartitionField, Spec
from coalesce.model.transforms import Day, Identity, Transform, Void
from coalesce.model.types import DOUBLE, INT64, STRING, TIMESTAMP, Field

SCHEMA = Schema(
    (
        Field(id=1, name="app", physical_name="app", type=STRING, required=False),
        Field(id=2, name="k", physical_name="k", type=INT64, required=False),
        Field(id=3, name="x", physical_name="x", type=DOUBLE, required=False),
        Field(id=4, name="ts", physical_name="ts", type=TIMESTAMP, required=False),
    )
)
SPEC = Spec(
    0,
    (
        PartitionField(field_id=1000, source_id=1, transform=Identity(), name="app"),
        PartitionField(field_id=1001, source_id=2, transform=Void(), name="k"),
    ),
)
APPS = ["a", "b", "", None, "c", "d"]


@st.composite
def files(draw: st.DrawFn) -> list[DataFile]:
    """Files of known tuples, of unknown ones and without rows; counts of NULLs as they may be."""
    found = []
    for number in range(draw(st.integers(1, 4))):
        if draw(st.integers(0, 4)) == 0:
            found.append(DataFile(path=f"data/{number}", spec_id=0, rows=3, bytes=9, first_row_id=0, added_version=1))
            continue
        apps = draw(st.lists(st.sampled_from(APPS), min_size=1, unique=True))
        counts = draw(st.lists(st.integers(0, 3), min_size=len(apps), max_size=len(apps)))
        rows = sum(counts)
        nulls = draw(st.sampled_from([None, 0, rows, rows // 2]))
        found.append(
            DataFile(
                path=f"data/{number}",
                spec_id=0,
                rows=rows,
                bytes=100,
                tuples=tuple((app, None) for app in apps),
                tuple_rows=tuple(counts),
                complete=True,
                ordered=draw(st.booleans()),
                statistics={1: ColumnStatistics(lower="", upper="d", null_count=nulls)},
                first_row_id=number * 100,
                added_version=1,
            )
        )
    return found


def by_hand(file: DataFile, gone: set[str | None], since: int) -> DataFile:
    """The same of one file, tuple by tuple."""
    if file.tuples is None or file.tuple_rows is None:
        return file
    free = [n for n in range(len(file.tuples) + len(file.dead)) if n not in {dead.place for dead in file.dead}]
    listed = list(zip(file.tuples, file.tuple_rows, free, strict=True))
    dying = [(t, rows, place) for t, rows, place in listed if t[0] in gone]
    live = [(t, rows) for t, rows, _ in listed if t[0] not in gone]
    left = sum(rows or 0 for _, rows in live)
    new = [DeadTuple(values=t, rows=rows or 0, place=place, since=since) for t, rows, place in dying]
    known = file.statistics[1].null_count if file.statistics else None
    nulls = left if known == file.rows else known if known == 0 or left == file.rows else None
    statistics = {1: ColumnStatistics(lower="", upper="d", null_count=nulls)} if file.statistics else {}
    return replace(
        file,
        rows=left,
        tuples=tuple(t for t, _ in live),
        tuple_rows=tuple(rows for _, rows in live),
        dead=tuple(sorted((*file.dead, *new), key=lambda dead: dead.place)),
        statistics=statistics,
    )


@given(files(), st.lists(st.sets(st.sampled_from(APPS)), min_size=1, max_size=4))
def test_marking_is_what_it_is_by_hand(held: list[DataFile], removals: list[set[str | None]]) -> None:
    """Any number of times, on entries of known and of unknown tuples side by side; places of rows never change."""
    entries = from_files(held, SPEC, SCHEMA)
    for since, gone in enumerate(removals):
        held = [by_hand(file, gone, since) for file in held]
        flat = [t for file in entries.files() for t in file.tuples or ()]
        entries = marked(entries, np.array([t[0] in gone for t in flat], np.bool_), since)
        assert entries.files() == held
        assert entries.dead_rows.tolist() == [file.dead_rows for file in held]
        assert entries.ordered.tolist() == [file.ordered for file in held]
    assert [f.physical_rows for f in entries.files()] == [f.rows + sum(d.rows for d in f.dead) for f in held]


def test_entries_with_and_without_dead_tuples_go_together() -> None:
    """A manifest that has the column and one that has not are merged; those that have none have none after it."""
    file = DataFile(path="data/1", spec_id=0, rows=2, bytes=1, tuples=(("a", None),), tuple_rows=(2,), complete=True)
    dead = DeadTuple(values=("b", None), rows=1, place=0, since=7)
    with_it, without = (from_files([f], SPEC, SCHEMA) for f in (replace(file, path="data/2", dead=(dead,)), file))
    assert DEAD not in without.core.column_names
    both = concatenate([without, with_it])
    assert [f.dead for f in both.files()] == [(), (dead,)]
    assert both.dead_rows.tolist() == [0, 1]
    assert [f.dead for f in both.take(np.array([1])).files()] == [(dead,)]


@pytest.mark.parametrize(
    ("source", "transform", "can_be"),
    [
        (1, Identity(), True),
        (2, Void(), True),
        (3, Identity(), False),
        (4, Day(), False),
        (4, Identity(), True),
        (9, Identity(), False),
    ],
)
def test_only_what_columns_tell_can_be_marked(source: int, transform: Transform, can_be: bool) -> None:
    """A float's tuple does not tell which zero it was, Spark's filter knows no transforms, a dropped column is gone."""
    spec = Spec(
        0,
        (
            PartitionField(field_id=1000, source_id=1, transform=Identity(), name="app"),
            PartitionField(field_id=1001, source_id=source, transform=transform, name="other"),
        ),
    )
    assert can_be_marked(spec, SCHEMA) is can_be
