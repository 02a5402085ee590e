"""Rows that an overwrite would add without ever replacing them, and files of overwrites that came to nothing."""

from collections.abc import Sequence

import pyarrow as pa
import pytest

import coalesce
from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import CommitConflict, InvalidArgument, NeedsSpark, SchemaError
from coalesce.model.datafile import DataFile
from coalesce.predicate.expr import Bound
from coalesce.table.create import create_table
from coalesce.table.engine import Engines, Rewritten, Snapshot
from coalesce.table.table import Table, core_of
from tests.table.examples import create, events, ids
from tests.table.stores import MemoryStorage


def table_of(apps: list[str | None], numbers: list[int]) -> Table:
    """A table with one file for all apps."""
    table = create(MemoryStorage(), coalesce.small("app"))
    table.append(events(apps, numbers))  # type: ignore[arg-type]
    return table


def stored(table: Table) -> set[str]:
    """Every file of the table but the hint."""
    return {f.path for f in core_of(table).storage.list("")}


def test_rows_that_do_not_match_are_refused() -> None:
    """With a count and one of them, before anything is written; repeated, they would have been doubled."""
    table = table_of(["A", "B"], [1, 2])
    before = stored(table)
    with pytest.raises(SchemaError) as caught:
        table.overwrite(events(["A", "B", "C"], [10, 11, 12]), "app = 'A'")
    assert "nothing was written" in str(caught.value)
    assert "2 rows do not match app = 'A', such as dt = datetime.date(2026, 5, 17), app = 'B', id = 11." in str(
        caught.value
    )
    assert "allow_outside=True" in str(caught.value)
    assert (stored(table), ids(table)) == (before, [1, 2])


@pytest.mark.parametrize("where", ["app = 'A'", "NOT (app = 'B')", "app IN ('A', 'C')", "app = 'A' OR id < 0"])
def test_a_row_for_which_it_is_unknown_is_outside(where: str) -> None:
    """NULL is not TRUE: a second overwrite would not replace that row either."""
    table = table_of(["A", "B"], [1, 2])
    with pytest.raises(SchemaError, match=r"1 row does not match .*, such as .*app = NULL, id = 11"):
        table.overwrite(events(["A", None], [10, 11]), where)  # type: ignore[list-item]


def test_a_row_outside_that_cannot_be_shown_is_refused_all_the_same() -> None:
    """A string that is not UTF-8, which Python cannot hold, is left out of the example."""
    offsets = pa.array([0, 2], pa.int32()).buffers()[1]
    not_text = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff\xfe")])
    rows = pa.table({"n": [7], "note": not_text, "tags": pa.ListArray.from_arrays([0, 1], not_text)})
    table = create_table(MemoryStorage(), Engines(ArrowEngine()), rows.schema)
    with pytest.raises(SchemaError, match=r"1 row does not match n = 1L, such as n = 7\. The same"):
        table.overwrite(rows, "n = 1")


def test_rows_outside_can_be_allowed() -> None:
    """Said so, they are added."""
    table = table_of(["A", "B"], [1, 2])
    table.overwrite(events(["A", "B"], [10, 11]), "app = 'A'", allow_outside=True)
    assert ids(table) == [2, 10, 11]


def test_it_is_judged_by_the_values_the_table_will_hold() -> None:
    """Columns are matched without regard to case and widened first, so the check speaks of what will be read."""
    schema = pa.schema([("app", pa.string()), ("v", pa.float64())])
    table = create_table(MemoryStorage(), Engines(ArrowEngine()), schema, partition_by=["app"])
    rows = pa.table({"V": pa.array([0.1], pa.float32()), "APP": ["A"]})
    with pytest.raises(SchemaError, match="1 row does not match"):
        table.overwrite(rows, "v = 0.1D")
    table.overwrite(rows, "v > 0.1D AND v < 0.1000001D")
    assert table.count() == 1


def test_everything_is_within_everything() -> None:
    """Without `where` nothing is outside, and an empty overwrite is only a delete."""
    table = table_of(["A", "B"], [1, 2])
    table.overwrite(events(["A", None], [3, 4]))  # type: ignore[list-item]
    assert ids(table) == [3, 4]
    table.overwrite(events([], []), "app = 'A'")
    assert ids(table) == [4]


@pytest.mark.parametrize("allow_outside", [False, True])
def test_what_needs_spark_is_found_before_anything_is_written(allow_outside: bool) -> None:
    """A predicate that only Spark understands: no file of the new rows is left."""
    table = table_of(["A", "B"], [1, 2])
    before = stored(table)
    with pytest.raises(NeedsSpark):
        table.overwrite(events("A", [10]), "soundex(app) = 'A'", allow_outside=allow_outside)
    assert (stored(table), ids(table)) == (before, [1, 2])


def test_a_conflict_leaves_no_files() -> None:
    """An overwrite that another writer overtakes takes its data files and manifests away again."""
    table = table_of(["A", "B"], [1, 2])
    other = Table(core_of(table).storage, Engines(ArrowEngine()))

    class Overtaken(ArrowEngine):
        """Another writer commits while the shared file is written again."""

        def rewrite(self, snapshot: Snapshot, files: Sequence[DataFile], drop: Bound) -> Rewritten:
            """As ever, but slower than the other."""
            other.append(events("A", [3]))
            return super().rewrite(snapshot, files, drop)

    slow = Table(core_of(table).storage, Engines(Overtaken()))
    with pytest.raises(CommitConflict):
        slow.overwrite(events("A", [10]), "app = 'A'")
    named = {f.path for f in other.files()}
    assert {f.path for f in core_of(table).storage.list("data")} == named
    assert {f.path for f in core_of(table).storage.list("_coalesce/manifests")} == {
        m.path for v in other.history() for m in v.manifests
    }
    assert ids(other) == [1, 2, 3]


def test_columns_are_replaced_with_the_rows() -> None:
    """One commit: other columns, other types, the same partition fields; older versions are what they were."""
    table = table_of(["A", "B"], [1, 2])
    new = pa.table({"app": ["A", "C"], "dt": ["2026", "2027"], "note": [1.5, 2.5]})
    result = table.overwrite(new, schema_mode="overwrite")
    assert (result.version, result.rows_added, result.rows_removed) == (2, 2, 2)
    assert table.scan("app = 'C'").to_arrow().to_pylist() == [{"app": "C", "dt": "2027", "note": 2.5}]
    assert [field.name for field in table.state.spec.fields] == ["dt", "app"]
    assert ids(table.at(version=1)) == [1, 2]
    assert not table.check(deep=True)


def test_columns_cannot_be_replaced_for_some_rows() -> None:
    """Nor without those that the partition fields are made of; nothing is committed, and no file is left."""
    table = table_of(["A"], [1])
    before = stored(table)
    with pytest.raises(InvalidArgument, match="leave out where="):
        table.overwrite(events("A", [2]), "app = 'A'", schema_mode="overwrite")
    with pytest.raises(SchemaError, match="there is no column 'dt'"):
        table.overwrite(pa.table({"n": [1]}), schema_mode="overwrite")
    with pytest.raises(InvalidArgument, match="schema_mode= is"):
        table.append(events("A", [2]), schema_mode="overwrite")
    assert (stored(table), ids(table)) == (before, [1])
