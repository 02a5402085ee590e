import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalesce
from coalesce.arrow import encode
from coalesce.arrow.places import places_of
from coalesce.arrow.read import OpenFile, open_file
from coalesce.arrow.row_groups import matching_parts
from coalesce.arrow.write import write
from coalesce.model.datafile import DataFile
from coalesce.model.rule import small
from coalesce.model.types import INT64, STRING
from coalesce.predicate.outcomes import ANYTHING, FALSE, NULL, TRUE
from coalesce.storage.local import LocalStorage
from tests.builders import bound, make_snapshot, make_version


def entry(counts: list[int]) -> DataFile:
    """An entry of the tuples ('0',), ('1',), … with so many rows each."""
    tuples = tuple((str(i),) for i in range(len(counts)))
    return DataFile(
        path="f", spec_id=0, rows=sum(counts), bytes=1, tuples=tuples, tuple_rows=tuple(counts), complete=True
    )


@given(
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from([TRUE, FALSE, NULL, ANYTHING])), min_size=1, max_size=8),
    st.data(),
)
def test_parts_have_every_row_that_may_match(tuples: list[tuple[int, np.uint8]], data: st.DataObject) -> None:
    """However tuples and row groups are cut: what is left out cannot match, and what is said to be known is so."""
    file = entry([count for count, _ in tuples])
    places = places_of(file)
    outcome_of_row = [o for count, o in tuples for _ in range(count)]
    cuts = sorted(data.draw(st.sets(st.integers(1, max(file.rows - 1, 1)), max_size=3)) - {file.rows})
    group_rows = np.diff([0, *(c for c in cuts if c < file.rows), file.rows]).tolist()
    parts = places.parts(np.array([o for count, o in tuples if count], np.uint8), group_rows)
    starts = [0, *np.cumsum(group_rows).tolist()]
    seen: dict[int, bool | None] = {}
    for part in parts:
        assert 0 <= part.start < part.stop <= group_rows[part.group]
        known = [None] * (part.stop - part.start) if part.matching is None else part.matching.tolist()
        seen |= zip(range(starts[part.group] + part.start, starts[part.group] + part.stop), known, strict=True)
    for row, outcome in enumerate(outcome_of_row):
        if row not in seen:
            assert not outcome & TRUE
        elif seen[row] is not None:
            assert outcome == TRUE if seen[row] else not outcome & TRUE


@given(st.lists(st.integers(0, 4), min_size=1, max_size=8).filter(any), st.data())
def test_components_are_those_of_the_rows(counts: list[int], data: st.DataObject) -> None:
    """Any stretch of a file has the values that its tuples say, also where it begins or ends inside of one."""
    file = entry(counts)
    start = data.draw(st.integers(0, file.rows - 1))
    stop = data.draw(st.integers(start + 1, file.rows))
    all_rows = [str(i) for i, count in enumerate(counts) for _ in range(count)]
    found = places_of(file).component(0, STRING, range(start, stop))
    assert found.to_pylist() == all_rows[start:stop]


def test_types_of_components() -> None:
    """NULL is a value of a tuple like others, and numbers stay numbers."""
    file = DataFile(path="f", spec_id=0, rows=5, bytes=1, tuples=((7,), (None,)), tuple_rows=(2, 3), complete=True)
    assert places_of(file).component(0, INT64, range(1, 4)) == pa.array([7, None, None], pa.int64())


ROWS = pa.table({"app": np.repeat(["a", "b", "c", "d"], 25), "n": range(100)})


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Up to which row each part of a row group was decoded."""
    stops: list[int] = []
    original = OpenFile._until

    def until(self: OpenFile, stop: int, group: int, leaves: list[int]) -> Iterator[pa.RecordBatch]:
        stops.append(stop)
        return original(self, stop, group, leaves)

    monkeypatch.setattr(OpenFile, "_until", until)
    return stops


def test_rows_behind_a_tuple_are_not_decoded(tmp_path: Path, decoded: list[int]) -> None:
    """One of four tuples in a row group: what is before it has to be decoded, what comes after it has not."""
    version = make_version(ROWS.schema, ["app"], small("app"))
    snapshot = make_snapshot(tmp_path, version)
    (file,) = write(snapshot, ROWS)
    with open_file(snapshot.storage, file, version) as opened:
        (part,) = matching_parts(opened, bound(version, "app = 'b'"))
        assert (part.start, part.stop) == (25, 50)
        assert part.matching is not None
        assert part.matching.all()
        found = opened.read(version.schema.fields, [0], range(25, 50))
    assert found.to_pydict() == {"app": ["b"] * 25, "n": list(range(25, 50))}
    assert decoded == [50]


def test_what_all_rows_have_is_made_by_row_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long default of millions of rows is too long for one array of strings; a row group has fewer."""
    monkeypatch.setattr(encode, "SHARED_ROW_GROUP_BYTES", 100)
    table = coalesce.create(tmp_path, ROWS.schema, partition_by=["app"], rule=coalesce.small("app"))
    table.append(ROWS)
    table.add_column("note", "string", default="long")
    (file,) = table.plan().files
    with open_file(LocalStorage(tmp_path), file, table.state) as opened:
        groups = opened.group_rows
        found = opened.read(table.state.schema.fields, range(len(groups)))
    assert len(groups) > 1
    assert [len(chunk) for chunk in found.column("note").chunks] == groups
    assert table.scan().to_arrow().column("note").to_pylist() == ["long"] * 100


def test_a_part_may_lie_in_several_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it does where strings are too long for one."""
    version = make_version(ROWS.schema, ["app"], small("app"))
    snapshot = make_snapshot(tmp_path, version)
    (file,) = write(snapshot, ROWS)
    original = OpenFile._until

    def in_pieces(self: OpenFile, stop: int, group: int, leaves: list[int]) -> Iterator[pa.RecordBatch]:
        for batch in original(self, stop, group, leaves):
            yield from (batch.slice(start, 7) for start in range(0, batch.num_rows, 7))

    monkeypatch.setattr(OpenFile, "_until", in_pieces)
    n = [field for field in version.schema if field.name == "n"]
    with open_file(snapshot.storage, file, version) as opened:
        for start, stop in itertools.combinations(range(0, 101, 5), 2):
            found = opened.read(n, [0], range(start, stop))
            assert found.column("n").to_pylist() == list(range(start, stop))


def test_partition_columns_are_not_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tuples say of every row is taken from there, whole row groups or parts, one or several."""
    monkeypatch.setattr(encode, "SHARED_ROW_GROUP_BYTES", 1000)
    version = make_version(ROWS.schema, ["app"], small("app"))
    snapshot = make_snapshot(tmp_path, version)
    (file,) = write(snapshot, ROWS)
    read: list[tuple[int, ...]] = []
    original = OpenFile._stored

    def stored(self: OpenFile, positions: list[int], *others: object) -> list[pa.ChunkedArray]:
        read.append(tuple(positions))
        return original(self, positions, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(OpenFile, "_stored", stored)
    with open_file(snapshot.storage, file, version) as opened:
        count = len(opened.group_rows)
        assert opened.read([version.schema.field("app")], range(count)).column("app") == ROWS.column("app")
        assert opened.read(version.schema.fields, range(count)).to_pydict() == ROWS.to_pydict()
    assert read == [(), (0,)]


def test_short_runs_are_decoded(tmp_path: Path) -> None:
    """A tuple of two rows takes longer to repeat than they take to decode; the values are the same."""
    rows = pa.table({"app": np.repeat([f"{i:02}" for i in range(50)], 2), "n": range(100)})
    version = make_version(rows.schema, ["app"], small("app"))
    snapshot = make_snapshot(tmp_path, version)
    (file,) = write(snapshot, rows)
    with open_file(snapshot.storage, file, version) as opened:
        app = version.schema.field("app")
        assert not opened._is_told_by_tuples(app)
        assert opened.read([app], [0], range(3, 7)).to_pydict() == {"app": ["01", "02", "02", "03"]}
