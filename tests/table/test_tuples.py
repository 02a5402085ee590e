"""The predicate that a row's tuple is one of some tuples."""

import pickle
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coalesce
from coalesce.arrow.row_filter import is_true
from coalesce.arrow.tuples import tuples_of
from coalesce.errors import SchemaError
from coalesce.model.transforms import Bucket, apply
from coalesce.model.types import INT64, STRING
from coalesce.predicate.expr import FALSE, TRUE, And, InBuckets, InSet
from coalesce.predicate.scalar.nodes import Reference
from coalesce.table.tuples import among
from tests.arrow.generated import Generated, tables
from tests.builders import make_version
from tests.support.examples import examples


@given(tables(max_rows=25), st.data())
@settings(max_examples=examples(80))
def test_true_on_exactly_the_rows_of_these_tuples(generated: Generated, data: st.DataObject) -> None:
    """Whatever the transforms: rows of the tuples match, all others do not."""
    version = generated.version
    tuples = tuples_of(generated.rows, version.spec, version.schema)
    chosen = data.draw(st.sets(st.integers(0, len(tuples.distinct) - 1))) if tuples.distinct else set()

    predicate = among([tuples.distinct[i] for i in chosen], version.spec, version.schema)

    assert is_true(predicate, generated.rows, version.schema).tolist() == [int(c) in chosen for c in tuples.codes]


def test_tuples_with_the_same_parts_are_one_condition() -> None:
    """Ten days of the same hundred apps are two sets, not a thousand conditions."""
    version = make_version(pa.schema([("dt", pa.int32()), ("app", pa.string())]), ["dt", "app"])
    tuples = [(day, f"app{i}") for day in range(10) for i in range(100)]

    predicate = among(tuples, version.spec, version.schema)

    assert isinstance(predicate, And)
    assert [len(leaf.values) for leaf in predicate.parts if isinstance(leaf, InSet)] == [10, 100]


def test_a_bucket_is_a_question_of_its_own() -> None:
    """What hashes alike cannot be listed, so the predicate asks for the bucket."""
    version = make_version(pa.schema([("app", pa.string())]), ["bucket(16, app)"])

    predicate = among([(3,), (5,)], version.spec, version.schema)

    assert predicate == InBuckets(Reference(1, "app", STRING), Bucket(16), (3, 5))


def test_a_partition_field_is_dropped_by_its_own_name(tmp_path: Path) -> None:
    """A field that is no column can be named as well: the day of a timestamp, a bucket."""
    schema = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
    table = coalesce.create(tmp_path, schema, partition_by=["day(ts)", "bucket(4, k)"])
    moments = [datetime(2026, 5, 1 + k % 3, tzinfo=UTC) for k in range(20)]
    table.append(pa.table({"k": range(20), "ts": moments}, schema=schema))

    table.drop_partition(ts_day="2026-05-02")
    assert sorted(table.scan().to_arrow().column("k").to_pylist()) == [k for k in range(20) if k % 3 != 1]
    table.drop_partition(k_bucket=0, ts_day=date(2026, 5, 1))
    dropped = {k for k in range(0, 20, 3) if apply(Bucket(4), INT64, k) == 0}
    left = {k for k in range(20) if k % 3 != 1} - dropped
    assert dropped
    assert set(table.scan().to_arrow().column("k").to_pylist()) == left
    with pytest.raises(SchemaError, match="no column 'day'"):
        table.drop_partition(day=None)


def test_listed_values_are_those_of_the_fields_listed(tmp_path: Path) -> None:
    """A bucket goes by its own values though a column has its name; the bare name may mean either and is refused."""
    schema = pa.schema([("n", pa.int64()), ("n_bucket", pa.int32())])
    table = coalesce.create(tmp_path, schema, partition_by=["bucket(4, n)"])
    table.append(pa.table({"n": range(4), "n_bucket": [7] * 4}, schema=schema))
    listed = table.partitions()[0]
    with pytest.raises(SchemaError, match=r"'n_bucket' is the name of a column and of a partition field; give"):
        table.drop_partition(dict(listed.values))
    assert table.drop_partition(pickle.loads(pickle.dumps(listed)).values).rows_removed == listed.rows == 3
    held = table.files()[0].partitions
    assert held is not None
    assert table.drop_partition(held[0]).rows_removed == 1


def test_values_of_a_column_that_is_gone_drop_no_others(tmp_path: Path) -> None:
    """Another column has its name now: nothing is removed, neither by what was listed nor by the names alone."""
    schema = pa.schema([("a", pa.string()), ("b", pa.string())])
    table = coalesce.create(tmp_path, schema, partition_by=["a", "b"])
    table.append([{"a": "x", "b": "1"}])
    table.evolve(drop="a")
    table.drop_column("a")
    table.add_column("a", "string")
    table.append([{"a": "x", "b": "1"}] * 2)
    listed = table.partitions()[0]
    with pytest.raises(SchemaError, match="made from a column that the table no longer has"):
        table.drop_partition(listed.values)
    with pytest.raises(SchemaError, match="'a' is the name of a column and of a partition field"):
        table.drop_partition(a="x", b="1")
    assert table.drop_partition(table.partitions()[1].values).rows_removed == 3  # by b alone, which both specs have
    assert table.append([{"a": "x", "b": "1"}]).rows_added == 1
    assert table.drop_partition(a="x", b="1").rows_removed == 1  # no file of the other meaning is left


def test_listed_values_are_judged_by_the_spec_they_were_listed_under(tmp_path: Path) -> None:
    """Bucket 1 of three is not bucket 1 of four, though both go by one name."""
    schema = pa.schema([("k", pa.int64())])
    table = coalesce.create(tmp_path, schema, partition_by=["bucket(3, k)"])
    table.append(pa.table({"k": range(40)}))
    old = next(p for p in table.partitions() if p.values == {"k_bucket": 1})
    table.evolve(replace={"bucket(3, k)": "bucket(4, k)"})
    table.drop_partition(old.values)
    assert sorted(table.scan().to_arrow().column("k").to_pylist()) == [
        k for k in range(40) if apply(Bucket(3), INT64, k) != 1
    ]
    with pytest.raises(SchemaError, match="'k_bucket' is the name of a partition field and of another partition field"):
        table.drop_partition(k_bucket=1)


def test_no_tuples_and_no_fields() -> None:
    """No tuple matches nothing; the one tuple of a table without partition fields matches everything."""
    version = make_version(pa.schema([("app", pa.string())]))

    assert among([], version.spec, version.schema) == FALSE
    assert among([()], version.spec, version.schema) == TRUE


@pytest.mark.parametrize("counts", [(3, 8, 4), (4, 8, 3)], ids=str)
def test_partitions_are_overwritten_across_bucket_counts_that_do_not_divide_each_other(
    tmp_path: Path, counts: tuple[int, int, int]
) -> None:
    """Files of 3 and of 8 buckets beside the current 4: exactly the rows of the overwritten buckets go, wherever."""
    schema = pa.schema([("k", pa.int64()), ("v", pa.string())])
    table = coalesce.create(tmp_path, schema, partition_by=[f"bucket({counts[0]}, k)"])
    current = Bucket(counts[-1])
    expected: dict[int, str] = {}
    for count, next_count in zip(counts, (*counts[1:], None), strict=True):
        keys = range(100 * count, 100 * count + 40)
        table.append(pa.table({"k": keys, "v": ["old"] * 40}, schema=schema))
        expected |= dict.fromkeys(keys, "old")
        if next_count is not None:
            table.evolve(replace={f"bucket({count}, k)": f"bucket({next_count}, k)"})
    table.overwrite_partitions(pa.table({"k": [7], "v": ["new"]}, schema=schema))
    bucket = apply(current, INT64, 7)
    expected = {k: v for k, v in expected.items() if apply(current, INT64, k) != bucket} | {7: "new"}
    assert 1 < len(expected) < 120
    rows = table.scan().to_arrow()
    assert dict(zip(rows.column("k").to_pylist(), rows.column("v").to_pylist(), strict=True)) == expected
    assert rows.num_rows == len(expected)
    listed = [p for p in table.partitions() if p.spec_id == table.state.current_spec_id]
    table.drop_partition(next(p.values for p in listed if p.values == {"k_bucket": bucket}))
    assert sorted(table.scan().to_arrow().column("k").to_pylist()) == sorted(k for k in expected if k != 7)


def test_the_same_numbers_under_another_bucket_count_are_other_buckets(tmp_path: Path) -> None:
    """Files of buckets 0 to 3 of five beside files of 0 to 3 of four: each is judged by its own count."""
    schema = pa.schema([("k", pa.int64())])
    table = coalesce.create(tmp_path, schema, partition_by=["bucket(5, k)"])
    low = [k for k in range(0, 80, 2) if apply(Bucket(5), INT64, k) in range(4)]
    table.append(pa.table({"k": low}, schema=schema))
    table.evolve(replace={"bucket(5, k)": "bucket(4, k)"})
    table.append(pa.table({"k": range(1, 80, 2)}, schema=schema))
    assert [k for k in (*low, *range(1, 80, 2)) if table.count(f"k = {k}") != 1] == []


def test_a_column_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    """As a dict and by name, or in two spellings: which of both is meant, nobody knows."""
    table = coalesce.create(tmp_path / "t", pa.schema([("app", pa.string()), ("n", pa.int64())]), partition_by=["app"])
    table.append([{"app": app, "n": n} for n, app in enumerate("abc")])
    listed = table.partitions()[0].values
    with pytest.raises(SchemaError, match="'app' is given twice"):
        table.drop_partition({"app": "a"}, app="b")
    with pytest.raises(SchemaError, match="'APP' is given twice"):
        table.drop_partition({"APP": "a", "app": "c"})
    with pytest.raises(SchemaError, match="'app' is given twice"):
        table.drop_partition(listed, App="a")
    assert table.version == 1
    assert table.drop_partition({"app": "a"}, n=0).rows_removed == 1
