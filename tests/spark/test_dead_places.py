"""Where dead rows lie, as Spark is told: the ranges are those of the rows of dead tuples in the files, and no other."""

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coalesce.predicate.expr import TRUE
from coalesce.spark.source import versions
from coalesce.spark.source.dead import file_numbers, list_dead
from coalesce.table.table import Table
from tests.arrow.test_dead import APPS, rows, shared
from tests.support.examples import examples
from tests.support.order import forget_order
from tests.table.examples import DAY


def told(table: Table) -> tuple[list[str], dict[str, list[bool]]]:
    """The parts that have dead rows, and of each file whose rows are told by places which of them are dead."""
    found = versions.resolve(table.location, None)
    plan, constants = found.plan(TRUE), found.constants
    parts, dead = [], {}
    for part in constants.parts[1:]:
        listed = list_dead(plan, constants, part)
        if listed is None:
            continue
        parts.append("places" if constants.placed(part) else "tuples")
        if not constants.placed(part):
            continue
        extents, edges = ([int(word) for word in text.split()] for text in listed if text is not None)
        assert edges == sorted(set(edges))
        numbers = file_numbers(plan.version, constants, part)
        assert numbers is not None
        for planned in constants.within(plan, part).manifests:
            for file, number in zip(
                planned.index.entries.files(planned.files), numbers(planned).to_pylist(), strict=True
            ):
                first = int(number[1:])
                assert (first, first + file.physical_rows, file.bytes) in zip(
                    *(extents[i::3] for i in range(3)), strict=True
                )
                inside = [sum(edge <= first + row for edge in edges) % 2 == 1 for row in range(file.physical_rows)]
                dead[file.path] = inside
    return parts, dead


@given(
    st.lists(st.lists(st.sampled_from(APPS), min_size=1, max_size=12), min_size=1, max_size=4),
    st.sets(st.sampled_from(APPS), min_size=1, max_size=4),
    st.integers(0, 3),
)
@settings(max_examples=examples(12), deadline=None)
def test_the_ranges_are_the_dead_rows(
    tmp_path_factory: pytest.TempPathFactory, writes: list[list[str | None]], gone: set[str | None], unknown: int
) -> None:
    """Of several files, removed from one after the other; one of them may not be known to be in order."""
    path = tmp_path_factory.mktemp("t") / "t"
    table = shared(path, rows(writes[0]))
    for apps in writes[1:]:
        table.append(rows(apps))
    if unknown < len(table.files()):
        forgotten = table.files()[unknown].path
        forget_order(table, lambda file: file.path == forgotten)
    for app in sorted(gone, key=str):
        table.drop_partition(app=app)
    parts, dead = told(table)
    with_dead = [file for file in table.files() if file.dead]
    assert parts == [
        *["places"] * any(f.ordered for f in with_dead),
        *["tuples"] * any(not f.ordered for f in with_dead),
    ]
    assert set(dead) == {file.path for file in with_dead if file.ordered}
    for name, flags in dead.items():
        assert flags == [app in gone for app in pq.read_table(path / name, columns=["app"]).column(0).to_pylist()]


def test_several_files_of_a_manifest(tmp_path: Path) -> None:
    """Places are counted in each file anew: one write of three days makes three, of different tuples."""
    apps = ["A", "B", "C", "A", "B", "B", "C", "C", "A", "D"]
    days = pa.array([DAY + timedelta(days=i % 3) for i in range(len(apps))])
    table = shared(tmp_path / "t", rows(apps).set_column(0, "dt", days))
    assert (len(table.files()), len(table.state.manifests)) == (3, 1)
    table.drop_partition(app="A")
    table.drop_partition(app="C")
    _, dead = told(table)
    assert len(dead) > 1
    for name, flags in dead.items():
        held = pq.read_table(tmp_path / "t" / name, columns=["app"]).column(0).to_pylist()
        assert flags == [app in ("A", "C") for app in held]


def test_a_name_that_spark_has_for_itself(tmp_path: Path) -> None:
    """A column called as the one that Spark makes up would be taken for the numbers of rows: tuples tell then."""
    table = shared(tmp_path / "t", rows(["A", "B", "C"]))
    table.drop_partition(app="B")
    assert told(table)[0] == ["places"]
    table.add_column("_TMP_metadata_row_index", "int64")
    assert told(table)[0] == ["tuples"]
