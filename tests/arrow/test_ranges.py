"""Rows told by where they begin and end are the same as by a flag for each."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coalesce.arrow import ranges
from coalesce.arrow.ranges import Ranges, chosen_rows, joined
from tests.support.examples import examples

FLAGS = st.lists(st.booleans(), max_size=12)


def of(flags: list[bool]) -> Ranges:
    """Those that are true."""
    return Ranges.of(np.array(flags, np.bool_))


def flags(found: Ranges) -> list[bool]:
    """The rows as flags; no range is empty, and no two touch."""
    assert (found.starts < found.stops).all()
    assert (found.stops[:-1] < found.starts[1:]).all()
    told: list[bool] = found.mask().tolist()
    assert (found.count, found.total, found.is_all) == (sum(told), len(told), all(told))
    return told


@given(FLAGS, st.data())
@settings(max_examples=examples(60), deadline=None)
def test_as_flags(chosen: list[bool], data: st.DataObject) -> None:
    """A part of them, some of them, and the rows themselves."""
    rows = of(chosen)
    assert flags(rows) == chosen
    start = data.draw(st.integers(0, len(chosen)))
    stop = data.draw(st.integers(start, len(chosen)))
    assert flags(rows.between(start, stop)) == chosen[start:stop]
    places = np.flatnonzero(chosen)
    assert rows.rows(np.arange(len(places))).tolist() == places.tolist()
    assert rows.numbers(places).tolist() == list(range(len(places)))
    wanted = data.draw(st.lists(st.booleans(), min_size=sum(chosen), max_size=sum(chosen)))
    left = iter(wanted)
    assert flags(rows.among(np.array(wanted, np.bool_))) == [flag and next(left) for flag in chosen]


@given(st.lists(FLAGS, min_size=1, max_size=4))
@settings(max_examples=examples(60), deadline=None)
def test_one_behind_the_other(parts: list[list[bool]]) -> None:
    """What ends one part and begins the next is one range; so are neighbours among runs, and empty runs are none."""
    assert flags(joined([of(part) for part in parts])) == [flag for part in parts for flag in part]
    lengths = np.array([len(part) for part in parts], np.int64)
    chosen = np.array([sum(part) % 2 == 1 for part in parts], np.bool_)
    told = [flag for length, flag in zip(lengths.tolist(), chosen.tolist(), strict=True) for _ in range(length)]
    assert flags(Ranges.of_runs(lengths, chosen)) == told


@pytest.mark.parametrize("long", [1, 1_000])
def test_slices_or_copies(monkeypatch: pytest.MonkeyPatch, long: int) -> None:
    """The same rows, whether they are many together or few."""
    monkeypatch.setattr(ranges, "_LONG_SLICE", long)
    column = pa.chunked_array([[0, 1, 2], [3, 4], [5, 6, 7]])
    (found,) = chosen_rows([column], of([True, False, True, True, False, False, False, True]))
    assert found.to_pylist() == [0, 2, 3, 7]
    assert found.type == column.type
    (none,) = chosen_rows([column], of([False] * 8))
    assert none.to_pylist() == []
