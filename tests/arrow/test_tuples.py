from random import Random

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from coalesce.arrow.tuples import can_compute, tuples_of
from coalesce.model.arrow_schema import schema_from_arrow
from coalesce.model.schema import Schema
from coalesce.model.spec import Spec, parse_partition_fields
from tests.arrow.generated import Generated, tables
from tests.builders import make_version

ROWS = pa.table({"app": ["b", None, "b", "a", None], "n": [10, 11, 19, 10, 11]})
SCHEMA = schema_from_arrow(ROWS.schema)


def spec(*texts: str) -> Spec:
    """A spec of these fields."""
    return Spec(0, parse_partition_fields(texts, SCHEMA))


def test_distinct_tuples_in_order_of_appearance() -> None:
    """Each tuple once, with its rows."""
    found = tuples_of(ROWS, spec("app", "truncate(10, n)"), SCHEMA)
    assert found.distinct == [("b", 10), (None, 10), ("a", 10)]
    assert found.counts == [2, 2, 1]
    assert found.codes.tolist() == [0, 1, 0, 2, 1]
    assert not found.in_runs


def test_runs() -> None:
    """Rows of one tuple that lie together are a run, whatever order the runs are in."""
    rows = ROWS.take(pa.array([3, 0, 2, 1, 4]))
    assert tuples_of(rows, spec("app"), SCHEMA).in_runs


def test_no_fields_and_no_rows() -> None:
    """Without fields there is one empty tuple; without rows there is none."""
    assert tuples_of(ROWS, spec(), SCHEMA).distinct == [()]
    assert tuples_of(ROWS.slice(0, 0), spec("app"), SCHEMA).distinct == []
    assert tuples_of(ROWS.slice(0, 0), spec(), SCHEMA).distinct == []


@given(tables(), st.randoms())
def test_some_rows_have_the_tuples_that_they_had_among_all(generated: Generated, random: Random) -> None:
    """What is said of rows that are given tuple by tuple is what would be found out about them by themselves."""
    version, rows = generated.version, generated.rows
    found = tuples_of(rows, version.spec, version.schema)
    ranks = random.sample(range(len(found.distinct)), len(found.distinct))
    in_runs = np.array(sorted(range(rows.num_rows), key=lambda i: ranks[found.codes[i]]), np.int64)
    some = in_runs[random.randint(0, len(in_runs)) :]
    if len(some):
        part, alone = found.of_run(some), tuples_of(rows.take(pa.array(some)), version.spec, version.schema)
        assert (part.distinct, part.counts) == (alone.distinct, alone.counts)
        assert part.codes.tolist() == alone.codes.tolist()


def test_many_fields_do_not_overflow() -> None:
    """The codes of several columns with many values each are combined without wrapping around."""
    count = 1000
    columns = {f"c{i}": np.arange(count) * (i + 1) for i in range(10)}
    rows = pa.table(columns)
    schema = schema_from_arrow(rows.schema)
    wide = Spec(0, parse_partition_fields(list(columns), schema))
    found = tuples_of(rows, wide, schema)
    assert found.distinct == [tuple(i * (j + 1) for j in range(10)) for i in range(count)]
    assert found.counts == [1] * count


def test_a_dropped_column() -> None:
    """Tuples of a spec whose column is gone cannot be computed."""
    assert can_compute(spec("app"), SCHEMA)
    assert not can_compute(spec("app"), Schema(SCHEMA.fields[1:]))


def test_null_in_a_later_column_is_no_value_of_the_next_tuple() -> None:
    """('a', NULL) and ('b', 1) are two tuples; and rows that come back to a tuple are not in runs."""
    rows = pa.table({"p": ["a", "a", "b"], "q": pa.array([1, None, 1], pa.int64())})
    version = make_version(rows.schema, ["p", "q"])
    assert tuples_of(rows, version.spec, version.schema).distinct == [("a", 1), ("a", None), ("b", 1)]
    assert not tuples_of(rows.take([0, 2, 0, 2]), version.spec, version.schema).in_runs
