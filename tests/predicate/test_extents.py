"""What is known of computed values between bounds: never less than brute force finds, NULL included."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import coalesce
from coalesce import col

ROWS = pa.table(
    {
        "n": pa.array([1, 5, 1000, None], pa.int64()),
        "ts": pa.array(
            [
                datetime(2021, 1, 28, tzinfo=UTC),
                datetime(2021, 1, 30, 23, tzinfo=UTC),
                datetime(2021, 1, 31, 1, tzinfo=UTC),
                None,
            ],
            pa.timestamp("us", "UTC"),
        ),
        "s": ["x", "y", "z", None],
    }
)


def written(where: Path) -> coalesce.Table:
    """A table of one file, of which only bounds are known."""
    table = coalesce.create(where / "t", ROWS.schema)
    table.append(ROWS)
    return table


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("CAST(dt AS STRING) = '+10000-01-01'", 1),
        ("CAST(dt AS STRING) < '0000'", 2),
        ("CAST(dt AS STRING) > '2020'", 1),
        ("CAST(dt AS STRING) BETWEEN '2020' AND '2030'", 1),
        ("startswith(CAST(date_sub(dt, 1) AS STRING), '9999')", 1),
    ],
)
def test_dates_as_texts_are_in_order_for_four_digits_only(tmp_path: Path, where: str, count: int) -> None:
    """As text the year 10000, `+10000`, comes before all others, and -1 before that: such ends say nothing."""
    days = pa.array([-719_529, -719_528, 20_590, 2_932_897], pa.int32()).cast(pa.date32())
    table = coalesce.create(tmp_path / "t", pa.schema([("dt", pa.date32())]))
    table.append(pa.table({"dt": days}))
    assert table.count(where) == count
    assert table.scan(where).to_arrow().num_rows == count


@pytest.mark.parametrize(
    ("days", "where"),
    [
        ((-720_258, -719_742, 20_590), "CAST(dt AS STRING) = '-0001-06-01'"),  # as text before -0002-01-01
        ((2_932_897, 6_585_322, 34_000_000), "CAST(dt AS STRING) = '+20000-01-01'"),  # and behind +95058-11-03
    ],
)
def test_dates_between_two_far_ones_are_found(tmp_path: Path, days: tuple[int, ...], where: str) -> None:
    """Between two ends that are in order as texts, others lie that are not."""
    table = coalesce.create(tmp_path / "t", pa.schema([("dt", pa.date32())]))
    table.append(pa.table({"dt": pa.array(days, pa.int32()).cast(pa.date32())}))
    assert table.count(where) == 1


def test_dates_as_texts_prune(tmp_path: Path) -> None:
    """Between two years of four digits, texts are in the order of the dates."""
    table = coalesce.create(tmp_path / "t", pa.schema([("dt", pa.date32())]))
    table.append(pa.table({"dt": pa.array([20_590, 20_600], pa.int32()).cast(pa.date32())}))
    assert table.plan("CAST(dt AS STRING) >= '2027'").file_count == 0
    assert table.plan("CAST(dt AS STRING) >= '2026-05-20'").file_count == 1


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("try_cast(n AS TINYINT) IS NULL", 2),
        ("try_cast(n AS TINYINT) IS NOT NULL", 2),
        ("try_cast(n AS TINYINT) <=> NULL", 2),
        ("try_add(n, 9223372036854775000L) IS NULL", 2),
        ("try_multiply(n, 9223372036854775807L) <=> NULL", 3),
        ("ts + INTERVAL 1 MONTH > TIMESTAMP '2021-02-28 12:00:00'", 1),
        ("ts + INTERVAL 1 MONTH <= TIMESTAMP '2021-02-28 12:00:00'", 2),
        ("n + 1 IN (2, 6, 3, 4, 5, 7, 8, 9, 10, 11, 12)", 2),
        ("n + 1 NOT IN (2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13)", 2),
        ("n + 1 NOT IN (2, 3, 4, 5, 7, 8, 9, 10, 11, 12, NULL)", 0),
        ("n + " * 60 + "n > 61", 2),
    ],
)
def test_bounds_never_hide_rows(tmp_path: Path, where: str, count: int) -> None:
    """A value may be NULL between two ends that are not, and come back before it: rows are found, and only those go."""
    table = written(tmp_path)
    assert table.count(where) == count
    assert table.scan(where).to_arrow().num_rows == count
    table.delete(where)
    assert table.count() == ROWS.num_rows - count


@pytest.mark.parametrize(
    "where",
    [
        "(repeat('a', 20000000) <> s) IS NULL",
        "replace('a', 'a', repeat('a', 20000000)) <> s",
        "upper('\U00010d50') <> s",
    ],
)
def test_a_fixed_value_that_is_unsure_is_not_null(tmp_path: Path, where: str) -> None:
    """It makes the condition one that cannot be answered, and nothing is removed by it."""
    table = written(tmp_path)
    for ask in (table.count, table.delete):
        with pytest.raises(coalesce.CoalesceError):
            ask(where)
    assert table.refresh().version == 1


def test_texts_that_would_fill_the_memory(tmp_path: Path) -> None:
    """They are not made."""
    table = written(tmp_path)
    with pytest.raises(coalesce.CoalesceError, match="very long"):
        table.count("replace(repeat(s, 100000), 'x', repeat(s, 1000000)) = 'a'")


def test_values_of_values_end_somewhere(tmp_path: Path) -> None:
    """A long chain in Python is refused with a sentence, where Python itself would give up."""
    term = col("n")
    for _ in range(600):
        term = term + 1
    with pytest.raises(coalesce.PredicateError, match="more than 100 steps"):
        term > 5  # noqa: B015 - the comparison is what fails
    assert written(tmp_path).count((col("n") + 1).isin([])) == 0
