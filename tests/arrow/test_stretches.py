"""Row groups that are read at once, and what is kept of entries between scans: the rows are those of brute force."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coalesce
from coalesce.arrow import encode, located, stretches
from coalesce.arrow.places import Places, places_of
from coalesce.arrow.read import OpenFile
from coalesce.errors import PredicateError
from coalesce.model.datafile import DataFile
from coalesce.table.table import Table
from tests.arrow.test_dead import keys, rows, shared
from tests.support.examples import examples

APPS = [f"app {i:02}" for i in range(12)]


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups of a few hundred bytes."""
    monkeypatch.setattr(encode, "SHARED_ROW_GROUP_BYTES", 100)


@given(st.data())
@settings(max_examples=examples(25), deadline=None)
def test_however_many_row_groups_are_read_at_once(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whatever is asked, with tuples removed in between: the rows, in their order, at once and one after the other."""
    apps = sorted(data.draw(st.lists(st.sampled_from(APPS), min_size=1, max_size=80)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encode, "SHARED_ROW_GROUP_BYTES", data.draw(st.sampled_from([1, 100, 400])))
        patch.setattr(stretches, "SHARED_ROW_GROUP_BYTES", data.draw(st.sampled_from([1, 300, 10**9])))
        patch.setattr(located, "_MANY", data.draw(st.sampled_from([1, 1000])))
        table = shared(tmp_path_factory.mktemp("t") / "t", rows(apps))
        left = set(apps)
        for gone in data.draw(st.lists(st.sampled_from(APPS), max_size=3)):
            _compare(table, apps, left, data)
            table.drop_partition(app=gone)
            left.discard(gone)
        _compare(table, apps, left, data)


def _compare(table: Table, apps: list[str], left: set[str], data: st.DataObject) -> None:
    """What a few queries find, and what brute force does."""
    some = data.draw(st.sets(st.sampled_from(APPS), min_size=1, max_size=6))
    low = data.draw(st.integers(0, len(apps)))
    listed = ", ".join(f"'{app}'" for app in sorted(some))
    queries: dict[str, Callable[[int], bool]] = {
        "true": lambda _: True,
        f"app IN ({listed})": lambda k: apps[k] in some,
        f"NOT app IN ({listed})": lambda k: apps[k] not in some,
        f"app IN ({listed}) AND k >= {low}": lambda k: apps[k] in some and k >= low,
        f"app IN ({listed}) OR k < {low}": lambda k: apps[k] in some or k < low,
        f"k % 3 = 1 AND k >= {low}": lambda k: k % 3 == 1 and k >= low,
    }
    for where, matches in queries.items():
        expected = [(app, k) for k, app in enumerate(apps) if app in left and matches(k)]
        scan = table.scan(where, columns=["app", "k"])
        for found in (scan.to_arrow(), pa.Table.from_batches(scan.to_batches(), scan.schema)):
            assert [(row["app"], row["k"]) for row in found.to_pylist()] == expected, where


@pytest.mark.usefixtures("small_groups")
def test_row_groups_are_read_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of many tenants by one call, as long as they are small; of one tenant the one row group that it is in."""
    table = shared(tmp_path / "t", rows(sorted(APPS * 40)))
    (file,) = table.files()
    groups = pq.read_metadata(tmp_path / "t" / file.path).num_row_groups
    assert groups > 2
    read: list[int] = []
    original = OpenFile._stored

    def stored(self: OpenFile, positions: list[int], groups: list[int], part: range | None = None) -> object:
        read.append(len(groups))
        return original(self, positions, groups, part)

    monkeypatch.setattr(OpenFile, "_stored", stored)
    assert len(keys(table.scan("app <> 'app 05'").to_arrow())) == 11 * 40
    assert read == [groups]
    read.clear()
    assert len(keys(table.scan("app = 'app 05'").to_arrow())) == 40
    assert read == [1]
    read.clear()
    monkeypatch.setattr(stretches, "SHARED_ROW_GROUP_BYTES", file.bytes / 2)
    assert len(keys(table.scan("app <> 'app 05'").to_arrow())) == 11 * 40
    assert sum(read) == groups
    assert max(read) < groups


@pytest.mark.usefixtures("small_groups")
def test_rows_of_others_are_not_looked_at(tmp_path: Path) -> None:
    """A condition that cannot be computed for a neighbour's rows is no obstacle, though they lie in the row group."""
    texts = ["none" if app < "app 03" or app > "app 08" else "7" for app in sorted(APPS * 20)]
    data = pa.table({"dt": rows(sorted(APPS * 20)).column("dt"), "app": sorted(APPS * 20), "k": range(240), "t": texts})
    table = shared(tmp_path / "t", data)
    where = "app >= 'app 03' AND app <= 'app 08' AND CAST(t AS INT) = 7"
    assert keys(table.scan(where).to_arrow()) == list(range(60, 180))
    with pytest.raises(PredicateError):
        table.scan("app >= 'app 02' AND app <= 'app 08' AND CAST(t AS INT) = 7").to_arrow()


def test_tuples_are_counted_through_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scans of one version share what follows from its entries; another version has its own."""
    made: list[str] = []

    def made_of(entry: DataFile) -> Places:
        made.append(entry.path)
        return places_of(entry)

    monkeypatch.setattr(located, "places_of", made_of)
    apps = np.repeat([f"{i:04}" for i in range(200)], 5).tolist()
    table = shared(tmp_path / "t", rows(apps))
    for number in (3, 77, 150):
        assert keys(table.scan(f"app = '{number:04}'").to_arrow()) == list(range(5 * number, 5 * number + 5))
    assert len(made) == 1
    table.drop_partition(app="0076")
    assert keys(table.scan("app IN ('0076', '0077')").to_arrow()) == list(range(385, 390))
    assert len(made) == 2
    assert coalesce.open(tmp_path / "t").at(version=1).scan("app = '0076'").to_arrow().num_rows == 5


def test_an_entry_is_not_taken_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept under the place in memory of an entry that is gone says nothing of the one that is there now."""
    many = tuple((f"{i}",) for i in range(100))
    one, other = (
        DataFile(path=name, spec_id=0, rows=100, bytes=1, tuples=many, tuple_rows=(1,) * 100, complete=True)
        for name in ("one", "other")
    )
    kept = located._LOCATED
    monkeypatch.setattr(kept, "_held", type(kept._held)())
    kept.put(id(other), located.Located(one))
    assert located.located(other).entry is other
    assert located.located(other) is located.located(other)
