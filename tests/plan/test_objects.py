from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import coalesce
from coalesce.plan import objects
from coalesce.plan.objects import Objects, objects_of

ROWS = pa.table({"app": [f"{i % 7}" for i in range(70)], "n": range(70)})


def _plan(directory: Path, predicate: str | None = None) -> coalesce.Plan:
    if not directory.exists():
        coalesce.create(directory, ROWS.schema, partition_by=["app"]).append(ROWS)
    return coalesce.open(directory).plan(predicate)


@pytest.mark.parametrize("predicate", [None, "n > 20", "app = '3'", "app > '2' AND n < 9", "n = 1000"])
def test_objects_are_what_the_entries_say(tmp_path: Path, predicate: str | None) -> None:
    """Made or found again, each object has its own entry's path, tuples and statistics of the columns asked for."""
    coalesce.create(tmp_path / "t", ROWS.schema, partition_by=["app"]).append(ROWS)
    for _ in range(2):
        plan = _plan(tmp_path / "t", predicate)
        asked = {2} if predicate is not None and "n" in predicate else set()
        plain = {f.path: f for f in plan.files}
        assert [f.path for f in plan.files_to_scan] == [f.path for f in plan.files]
        for file in plan.files_to_scan:
            whole = plain[file.path]
            assert (file.tuples, file.tuple_rows, file.rows) == (whole.tuples, whole.tuple_rows, whole.rows)
            for column in asked:
                assert file.statistics[column] == whole.statistics[column]


def test_objects_are_found_again(tmp_path: Path) -> None:
    """The second plan of a table makes none, whichever of the files it asks for, and in whichever order."""
    first = {f.path: f for f in _plan(tmp_path / "t").files_to_scan}
    again = _plan(tmp_path / "t").files_to_scan
    assert all(first[f.path] is f for f in again)
    (manifest,) = _plan(tmp_path / "t").manifests
    backwards = manifest.files[::-1].copy()
    components = manifest.components(_plan(tmp_path / "t").version.schema)
    made = objects_of(manifest.index).files(backwards, components, frozenset())
    assert [f.path for f in made] == [f.path for f in reversed(again)]


def test_no_more_is_held_than_was_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is what the index counts; files that have no room are made each time, and are the same."""
    (manifest,) = _plan(tmp_path / "t").manifests
    components = manifest.components(_plan(tmp_path / "t").version.schema)
    expected = manifest.index.entries.files(manifest.files, components, set())
    for bound in ({"_MOST_BYTES": 4_000}, {"_MOST_FILES": 1}):
        with monkeypatch.context() as patch:
            for name, value in bound.items():
                patch.setattr(objects, name, value)
            held = Objects(manifest.index.entries)
            for _ in range(3):
                assert held.files(manifest.files, components, frozenset()) == expected
            assert held._made.total <= held.nbytes
    assert objects_of(manifest.index).files(np.empty(0, np.int64), components, frozenset()) == []
