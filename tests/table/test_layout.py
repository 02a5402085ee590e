import math
from collections import Counter
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coalesce.model.arrow_schema import schema_from_arrow
from coalesce.model.rule import BySize, Group, KeepAll, Rule, group, resolve, route, route_all, small
from coalesce.model.schema import Schema
from coalesce.model.spec import LogicalTuple, Spec, parse_partition_fields
from coalesce.model.types import DOUBLE, INT64, STRING
from coalesce.table.layout import MAX_TUPLES_PER_FILE, Known, PlannedFile, cuts, plan_files, spark_order

SCHEMA = schema_from_arrow(pa.schema([("day", pa.int64()), ("app", pa.string()), ("x", pa.float64())]))
SPEC = Spec(0, parse_partition_fields(["day", "app"], SCHEMA))
SHARED = Group("[#small]")


def plan(
    tuples: list[LogicalTuple],
    rows: list[int],
    *,
    rule: Rule | None = None,
    target: int = 100,
    spec: Spec = SPEC,
    schema: Schema = SCHEMA,
    known: Known | None = None,
    max_tuples: int = MAX_TUPLES_PER_FILE,
) -> list[PlannedFile]:
    """The layout at one byte a row, so that sizes are rows."""
    return plan_files(
        tuples,
        rows,
        bytes_per_row=1.0,
        target=target,
        rule=KeepAll(0) if rule is None else rule,
        spec=spec,
        schema=schema,
        known=known,
        max_tuples=max_tuples,
    )


def by_size(below: int) -> BySize:
    """The rule that lets small values of `app` share."""
    rule = resolve(small("app", below=below), 0, SPEC, SCHEMA)
    assert isinstance(rule, BySize)
    return rule


@st.composite
def tuples_with_rows(draw: st.DrawFn) -> tuple[list[LogicalTuple], list[int]]:
    """Distinct tuples, NULLs among them, with rows from one to many targets."""
    tuples: list[LogicalTuple] = draw(
        st.lists(
            st.tuples(st.none() | st.integers(0, 2), st.none() | st.text("abc", max_size=3)),
            max_size=40,
            unique=True,
        )
    )
    rows = draw(st.lists(st.integers(1, 30) | st.integers(1, 1000), min_size=len(tuples), max_size=len(tuples)))
    return tuples, rows


# --- laws --------------------------------------------------------------------------------------------------------


@given(tuples_with_rows(), st.integers(1, 300), st.sampled_from([0, 50, 500, 10**9]), st.integers(1, 20))
def test_every_row_is_in_exactly_one_file(
    some: tuple[list[LogicalTuple], list[int]], target: int, below: int, max_tuples: int
) -> None:
    """Whatever the sizes, the slices of a tuple add up to it without gap or overlap, under one physical key."""
    tuples, rows = some
    files = plan(tuples, rows, rule=by_size(below), target=target, max_tuples=max_tuples)
    reached = Counter[int]()
    keys: dict[int, object] = {}
    for file in files:
        assert file.slices
        assert len(file.slices) <= max_tuples
        for piece in file.slices:
            assert piece.start == reached[piece.index]
            assert piece.rows > 0
            reached[piece.index] += piece.rows
            assert keys.setdefault(piece.index, file.physical_key) == file.physical_key
    assert reached == Counter(dict(enumerate(rows)))


@given(tuples_with_rows(), st.integers(1, 300), st.sampled_from([0, 50, 500, 10**9]))
def test_a_file_holds_a_contiguous_run_of_tuples(
    some: tuple[list[LogicalTuple], list[int]], target: int, below: int
) -> None:
    """The files of a physical key, one after the other, list its tuples in Spark's order, each in one stretch."""
    tuples, rows = some
    files = plan(tuples, rows, rule=by_size(below), target=target)
    rank = {index: r for r, index in enumerate(spark_order(tuples, SPEC.types(SCHEMA)))}
    for key in {f.physical_key for f in files}:
        ranks = [rank[s.index] for f in files if f.physical_key == key for s in f.slices]
        assert ranks == sorted(ranks)


@given(tuples_with_rows(), st.integers(2, 300), st.sampled_from([0, 50, 500, 10**9]))
@example(([(0, "a"), (0, "b"), (0, "c")], [90, 20, 90]), 100, 10**9)
def test_no_slivers(some: tuple[list[LogicalTuple], list[int]], target: int, below: int) -> None:
    """A file has between a half and one and a half of the target, unless its whole physical partition has less."""
    tuples, rows = some
    files = plan(tuples, rows, rule=by_size(below), target=target)
    totals = Counter[object]()
    for file in files:
        totals[file.physical_key] += file.rows
    for file in files:
        slack = 1  # a row is not divided
        assert file.rows <= 1.5 * target + slack
        assert file.rows >= min(0.5 * target, totals[file.physical_key]) - slack


@given(st.lists(st.integers(1, 50), min_size=1), st.floats(0.5, 200))
def test_cuts_ascend_to_the_end_of_the_run(sizes: list[int], target: float) -> None:
    """Cuts are strictly ascending and the last one is the end, also where a member is larger than a piece."""
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    chosen = cuts(ends, target)
    assert chosen[-1] == ends[-1]
    assert all(a < b for a, b in pairwise([0, *chosen]))


# --- examples ----------------------------------------------------------------------------------------------------


def test_small_tuples_are_cut_apart_between_them() -> None:
    """Where small tuples share files, none of them is in two."""
    tuples: list[LogicalTuple] = [(0, f"{i:03}") for i in range(100)]
    files = plan(tuples, [7] * 100, rule=by_size(1000))
    assert sorted(f.rows for f in files) == [98] * 5 + [105] * 2
    assert all(s.start == 0 and s.stop == 7 for f in files for s in f.slices)


def test_a_big_tuple_is_split_evenly() -> None:
    """A tuple of several targets becomes files of the same size, not full ones and a remainder."""
    files = plan([(0, "a")], [1030])
    assert [f.rows for f in files] == [103] * 10


def test_small_ones_share_and_big_ones_are_alone() -> None:
    """The rule by size: below the threshold into the group, at it alone."""
    files = plan([(0, "big"), (0, "a"), (0, "b"), (1, "c")], [50, 49, 10, 5], rule=by_size(50))
    assert {f.physical_key: f.rows for f in files} == {(0, SHARED): 59, (0, "big"): 50, (1, SHARED): 5}


def test_what_the_table_holds_counts() -> None:
    """A tuple is judged by the rows written now together with those the table has, with hysteresis."""
    tuples: list[LogicalTuple] = [(0, "a"), (0, "b"), (0, "c")]
    known = Known(sizes={(0, "a"): 45}, alone=frozenset({(0, "b")}))
    files = plan(tuples, [5, 30, 30], rule=by_size(50), known=known)
    assert {f.physical_key for f in files} == {(0, "a"), (0, "b"), (0, SHARED)}


def test_nan_is_one_tuple_to_the_table_too() -> None:
    """A NaN that comes from elsewhere is found among the table's sizes, and makes one physical partition."""
    spec = Spec(0, parse_partition_fields(["x"], SCHEMA))
    rule = resolve(small("x", below=50), 0, spec, SCHEMA)
    known = Known(sizes={(float("nan"),): 49})
    (file,) = plan([(float("nan"),)], [1], rule=rule, spec=spec, known=known)
    assert math.isnan(file.physical_key[0])  # type: ignore[arg-type]


def test_nan_stays_alone_once_it_is() -> None:
    """Found among the tuples that are alone already, it keeps its place down to half of the threshold."""
    spec = Spec(0, parse_partition_fields(["x"], SCHEMA))
    rule = resolve(small("x", below=50), 0, spec, SCHEMA)
    tuples: list[LogicalTuple] = [(float("nan"),), (1.0,)]
    files = plan(tuples, [30, 30], rule=rule, spec=spec, known=Known(alone=[(float("nan"),), (None,)]))
    assert {str(f.physical_key): f.rows for f in files} == {str((SHARED,)): 30, str((math.nan,)): 30}


@pytest.mark.parametrize("below", [0, 7, 100])
@pytest.mark.parametrize("shared", [["app"], ["day"], ["day", "app"]])
def test_all_are_routed_as_each_is(shared: list[str], below: int) -> None:
    """Many tuples at once get the keys that each gets by itself, those below, at and above the limit, and NULLs too."""
    rule = resolve(small(*shared, below=below), 1, SPEC, SCHEMA)
    tuples: list[LogicalTuple] = [(d, a) for d in (None, 0, 1) for a in (None, "", "a", "b")]
    sizes = [6, 7, 8, 4, 3, 100, 99, 101, 0, 50, 49, 51]
    alone = tuples[2:7]
    expected = [route(rule, SPEC, t, n, t in alone) for t, n in zip(tuples, sizes, strict=True)]
    assert route_all(rule, SPEC, tuples, sizes, alone) == expected


def test_explicit_groups() -> None:
    """Values that were named share; `'[#small]'` as a user's own value stays apart from the group of that name."""
    rule = resolve(group("app", {"[#small]": ["a", "b", None]}), 0, SPEC, SCHEMA)
    files = plan([(0, "a"), (0, None), (0, "[#small]"), (0, "")], [1, 1, 1, 1], rule=rule)
    assert {f.physical_key: f.rows for f in files} == {(0, SHARED): 2, (0, "[#small]"): 1, (0, ""): 1}


def test_no_file_has_more_tuples_than_an_entry_lists() -> None:
    """Tuples so small that too many would fit are spread evenly over more files."""
    tuples: list[LogicalTuple] = [(i, "a") for i in range(25)]
    rule = resolve(small("day", below=1000), 0, SPEC, SCHEMA)
    files = plan(tuples, [1] * 25, rule=rule, max_tuples=10)
    assert [len(f.slices) for f in files] == [8, 8, 9]


def test_no_partition_fields() -> None:
    """A table without partition fields has one tuple, the empty one."""
    (file,) = plan([()], [10], spec=Spec(0, ()))
    assert (file.physical_key, file.rows) == ((), 10)


def test_tuples_without_rows_make_no_file() -> None:
    """A tuple with no rows is in no file."""
    assert plan([(0, "a"), (0, "b")], [0, 0]) == []
    assert plan([], []) == []


def test_rows_larger_than_the_target() -> None:
    """A file has at least one row, however large that is."""
    assert [f.rows for f in plan([(0, "a"), (0, "b")], [2, 1], target=1, rule=by_size(10))] == [1, 1, 1]


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (INT64, [None, -5, 0, 7]),
        (DOUBLE, [None, -math.inf, -1.5, 0.0, math.inf, math.nan]),
        (STRING, [None, "", "A", "a", "\uffff", "🙂"]),
    ],
)
def test_spark_order(type_: object, values: list[object]) -> None:
    """NULL first, NaN last, text by its UTF-8 bytes."""
    assert spark_order([(v,) for v in values], [type_]) == list(range(len(values)))  # type: ignore[misc,list-item]
    backwards = spark_order([(v,) for v in values[::-1]], [type_])  # type: ignore[misc,list-item]
    assert backwards == list(range(len(values)))[::-1]
