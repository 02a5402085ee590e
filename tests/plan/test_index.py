"""The index over a manifest against a plain dictionary from tuples to files."""

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalesce.model.datafile import DataFile
from coalesce.model.entries import from_files
from coalesce.model.schema import Schema
from coalesce.model.spec import LogicalTuple, Spec, parse_partition_fields
from coalesce.model.types import DOUBLE, FLOAT, INT64, STRING, AtomicType, Field, Value
from coalesce.model.values import order_key, values_of
from coalesce.plan.index import ManifestIndex, runs
from coalesce.predicate.expr import InSet
from coalesce.predicate.outcomes import FALSE, NULL, TRUE
from coalesce.predicate.scalar.nodes import Reference
from tests import strategies

Key = tuple[Any, ...]


def made(types: Sequence[AtomicType], files: Sequence[DataFile]) -> tuple[Schema, Spec, ManifestIndex]:
    """The index of a manifest, in a table partitioned by one column of each type."""
    schema = Schema(tuple(Field(id=i, name=f"c{i}", type=t) for i, t in enumerate(types, start=1)))
    spec = Spec(0, parse_partition_fields([f.name for f in schema], schema))
    return schema, spec, ManifestIndex(from_files(files, spec, schema))


def file_of(number: int, tuples: Sequence[LogicalTuple] | None, *, complete: bool = True) -> DataFile:
    """A file with these tuples, the first of one row, the second of two, and so on."""
    counts = tuple(range(1, len(tuples or ()) + 1))
    return DataFile(
        path=f"data/{number}.parquet",
        spec_id=0,
        rows=sum(counts),
        bytes=number,
        tuples=None if tuples is None else tuple(tuples),
        tuple_rows=None if tuples is None else counts,
        complete=complete,
    )


def key_of(types: Sequence[AtomicType], values: LogicalTuple) -> Key:
    """What makes two tuples the same to Spark, and sorts them: NULL first, NaN last, one zero."""
    return tuple((v is not None, None if v is None else order_key(t, v)) for t, v in zip(types, values, strict=True))


def posted(types: Sequence[AtomicType], files: Sequence[DataFile]) -> dict[Key, list[tuple[int, int]]]:
    """Tuple → the files that hold it, with its rows in each."""
    found: dict[Key, list[tuple[int, int]]] = defaultdict(list)
    for number, file in enumerate(files):
        if file.trusted:
            for values, rows in zip(file.tuples or (), file.tuple_rows or (), strict=True):
                found[key_of(types, values)].append((number, rows or 0))
    return found


def tuples_of(types: Sequence[AtomicType], index: ManifestIndex) -> list[Key]:
    """The distinct tuples of the index, in its order."""
    columns: list[list[Value]] = []
    for position, type_ in enumerate(types):
        component = index.component(position)
        values: list[Value] = [*values_of(type_, component.values), None]
        columns.append([values[code] for code in component.codes])
    return [key_of(types, t) for t in zip(*columns, strict=True)] if types else [()] * index.tuple_count


@st.composite
def manifests(draw: st.DrawFn) -> tuple[list[AtomicType], list[DataFile]]:
    """A few files over a few tuples of any types; some files' tuples are missing, empty or not all."""
    types = draw(st.lists(strategies.atomic_types(), max_size=3))
    pool = draw(st.lists(st.tuples(*(strategies.values(t) for t in types)), min_size=1, max_size=6))
    several = st.lists(st.sampled_from(pool), max_size=5)
    drawn = draw(st.lists(st.tuples(st.none() | several | several, st.sampled_from([True, True, False])), max_size=8))
    return types, [file_of(n, tuples, complete=complete) for n, (tuples, complete) in enumerate(drawn)]


@given(manifests())
def test_posting_lists_are_a_dictionary(manifest: tuple[list[AtomicType], list[DataFile]]) -> None:
    """Each distinct tuple once, in order, with exactly the files that hold it and its rows in each."""
    types, files = manifest
    _, _, index = made(types, files)
    expected = posted(types, files)
    tuples = tuples_of(types, index)
    assert tuples == sorted(expected)
    for position, key in enumerate(tuples):
        pairs = index.postings(np.array([position]))
        found = zip(index.posting_file[pairs].tolist(), index.posting_rows[pairs].tolist(), strict=True)
        assert list(found) == expected[key]
        assert set(index.posting_tuple[pairs].tolist()) == {position}
        assert index.posting_counts(np.array([position])).tolist() == [len(expected[key])]
    assert index.trusted.tolist() == [f.trusted for f in files]
    assert index.untrusted_files.tolist() == [n for n, f in enumerate(files) if not f.trusted]


@given(manifests(), st.data())
def test_several_tuples_and_several_files_at_once(
    manifest: tuple[list[AtomicType], list[DataFile]], data: st.DataObject
) -> None:
    """References of some tuples are those of each together; those of some files, all that lie in them."""
    types, files = manifest
    _, _, index = made(types, files)
    tuples = data.draw(st.sets(st.integers(0, index.tuple_count - 1))) if index.tuple_count else set()
    asked = np.array(sorted(tuples), np.int64)
    assert index.postings(asked).tolist() == np.flatnonzero(np.isin(index.posting_tuple, asked)).tolist()
    wanted = np.array(sorted(data.draw(st.sets(st.integers(0, len(files) - 1))) if files else []), np.int64)
    inside = np.flatnonzero(np.isin(index.posting_file, wanted)).tolist()
    assert sorted(index.postings_in(wanted).tolist()) == inside


@given(manifests(), st.data())
def test_a_component_finds_its_tuples(manifest: tuple[list[AtomicType], list[DataFile]], data: st.DataObject) -> None:
    """Values are distinct and sorted; the tuples of some of them, NULL among them, are found by search."""
    types, files = manifest
    _, _, index = made(types, files)
    for position, type_ in enumerate(types):
        component = index.component(position)
        keys = [order_key(type_, v) for v in values_of(type_, component.values)]
        assert keys == sorted(keys)
        assert all(a != b for a, b in pairwise(keys))
        null = len(component.values)
        places = np.array(sorted(data.draw(st.sets(st.integers(0, null)))), np.int64)
        expected = [t for t, code in enumerate(component.codes) if (null if code < 0 else code) in places]
        assert sorted(component.tuples(places).tolist()) == expected
        assert component.count(places) == len(expected)


@pytest.mark.parametrize("type_", [FLOAT, DOUBLE], ids=str)
def test_floats_that_are_equal_to_spark_are_one_tuple(type_: AtomicType) -> None:
    """A foreign writer may leave -0.0, or a NaN with other bits than ours."""
    other_nan = float(np.array([0x7FC00001], np.uint32).view(np.float32)[0])
    files = [file_of(0, [(-0.0,), (math.nan,)]), file_of(1, [(0.0,), (other_nan,)]), file_of(2, [(None,), (1.5,)])]
    _, _, index = made([type_], files)
    assert [str(v) for v in index.component(0).values.to_pylist()] == ["0.0", "1.5", "nan"]
    assert index.tuple_count == 4
    zero = int(np.flatnonzero(index.component(0).codes == 0)[0])
    assert index.posting_file[index.postings(np.array([zero]))].tolist() == [0, 1]
    last = int(np.flatnonzero(index.component(0).codes == 2)[0])
    assert index.posting_file[index.postings(np.array([last]))].tolist() == [0, 1]


def test_null_in_a_later_component_has_a_place_of_its_own() -> None:
    """The greatest of one value's tuples and the NULL of the next are two, and each is found."""
    tuples: list[LogicalTuple] = [("a", 1), ("a", 2), ("b", None), ("b", 1), (None, 2), (None, None)]
    types: list[AtomicType] = [STRING, INT64]
    files = [file_of(n, [tuple_]) for n, tuple_ in enumerate(tuples)]
    _, _, index = made(types, files)
    assert tuples_of(types, index) == sorted(posted(types, files))
    assert index.tuple_count == len(tuples)
    assert sorted(index.posting_file[index.postings(np.arange(len(tuples)))].tolist()) == list(range(len(tuples)))


def test_a_manifest_of_nothing() -> None:
    """No file, so no tuple, and whatever is asked of it is empty."""
    schema, spec, index = made([STRING, INT64], [])
    assert index.tuple_count == 0
    nothing = np.empty(0, np.int64)
    assert index.postings(nothing).tolist() == index.postings_in(nothing).tolist() == []
    assert index.component(0).tuples(np.array([0])).tolist() == []
    assert (
        index.tuple_domains(spec, schema, {1, 2})[1].outcomes(InSet(Reference(1, "c1", STRING), ("a",))).tolist() == []
    )
    assert index.nbytes < 50_000


def test_a_table_without_partitions_has_one_tuple() -> None:
    """The empty one, in every file whose entry lists it."""
    _, _, index = made([], [file_of(0, [()]), file_of(1, None), file_of(2, [()])])
    assert index.tuple_count == 1
    assert index.posting_file[index.postings(np.array([0]))].tolist() == [0, 2]
    assert index.untrusted_files.tolist() == [1]


def test_more_tuples_than_a_number_can_tell_apart() -> None:
    """Ten components of many values each have more combinations than 64 bits; the order must survive."""
    types: list[AtomicType] = [INT64] * 10
    rows = np.random.default_rng(5).integers(0, 200, (200, 10)).tolist()
    files = [file_of(n, [tuple(row)]) for n, row in enumerate(rows)]
    _, _, index = made(types, files)
    assert tuples_of(types, index) == sorted(posted(types, files))


def test_the_same_leaf_gets_the_same_answer_and_another_its_own() -> None:
    """The last answer is remembered by the leaf itself, and nobody can write to it."""
    schema, spec, index = made([STRING], [file_of(0, [("a",), (None,)]), file_of(1, [("b",)])])
    domain = index.values_domain(0, spec.fields[0], STRING)
    column = Reference(1, "c1", schema.by_id(1).type)  # type: ignore[union-attr, arg-type]
    leaf, other = InSet(column, ("a",)), InSet(column, ("b",))
    assert domain.outcomes(leaf).tolist() == [TRUE, FALSE, NULL]
    assert domain.outcomes(leaf) is domain.outcomes(leaf)
    assert domain.outcomes(other).tolist() == [FALSE, TRUE, NULL]
    assert domain.outcomes(leaf).tolist() == [TRUE, FALSE, NULL]
    with pytest.raises(ValueError, match="read-only"):
        domain.outcomes(leaf)[0] = 0


@given(st.lists(st.integers(0, 4), max_size=8), st.data())
def test_runs_are_cut_where_they_start(lengths: list[int], data: st.DataObject) -> None:
    """Any of them, empty ones too, one after the other."""
    starts = np.concatenate(([0], np.cumsum(np.array(lengths, np.int64))))
    which = sorted(data.draw(st.sets(st.integers(0, len(lengths) - 1)))) if lengths else []
    expected = [p for w in which for p in range(starts[w], starts[w + 1])]
    assert runs(starts, np.array(which, np.int64)).tolist() == expected
