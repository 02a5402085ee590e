"""Conditions that can hardly be meant: what is wrong with them is said, and Spark has no use for them either."""

import re
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import coalesce
from coalesce.errors import NeedsSpark, PredicateError
from coalesce.model.arrow_schema import schema_from_arrow
from coalesce.predicate.bind import bind
from coalesce.predicate.expr import Opaque
from coalesce.predicate.mistakes import refuse
from coalesce.predicate.sql.parse import parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = pa.table(
    {
        "app": pa.array(["A", "B", None]),
        "n": pa.array([1, 2, None], pa.int64()),
        "ratio": pa.array([0.5, None, 1.5]),
        "flag": pa.array([True, None, False]),
        "dt": pa.array([date(2026, 5, 17), date(2026, 5, 18), None]),
        "ts": pa.array([datetime(2026, 5, 17), None, datetime(2026, 5, 19)], pa.timestamp("us", "UTC")),
        "st": pa.array([{"a": 1}, None, {"a": None}]),
        "tags": pa.array([["x"], [], None]),
        "sizes": pa.array([None, [("k", 1)], []], pa.map_(pa.string(), pa.int64())),
    }
)
SCHEMA = schema_from_arrow(ROWS.schema)
FAILS = "Spark, in ANSI mode, would fail on it too."
NULL_ONLY = "only IS NULL and IS NOT NULL can be asked of it here."
CONVERTS = "Spark would convert every value of the column, and fail at the first that cannot be."

MISTAKES = {
    "app = web": (6, "there is no column 'web'; did you mean the text 'web'?"),
    "NOT (n > 1 AND app <> web)": (22, "there is no column 'web'; did you mean the text 'web'?"),
    "app IN (web, ios)": (8, "there is no column 'web'; did you mean the text 'web'?"),
    "app LIKE web": (9, "there is no column 'web'; did you mean the text 'web'?"),
    "n BETWEEN 1 AND many": (16, "there is no column 'many'; did you mean the text 'many'?"),
    "ap = web": (0, "there is no column 'ap'; did you mean 'app'?"),
    "web = ap": (0, "there is no column 'web'; the columns are app, n, ratio, flag, dt, ts, st, tags, sizes."),
    "app = apps": (6, "there is no column 'apps'; did you mean 'app', or the text 'apps'?"),
    "n = 'x'": (4, f"column 'n' is int64, and 'x' is not a whole number. {FAILS}"),
    "n = '1.5'": (4, f"column 'n' is int64, and '1.5' is not a whole number. {FAILS}"),
    "n IN (1, 'x')": (9, f"column 'n' is int64, and 'x' is not a whole number. {FAILS}"),
    "ratio > 'high'": (8, f"column 'ratio' is double, and 'high' is not a number. {FAILS}"),
    "flag = 'perhaps'": (7, f"column 'flag' is boolean, and 'perhaps' is not true or false. {FAILS}"),
    "dt = '01/02/2026'": (5, f"column 'dt' is date, and '01/02/2026' is not a date; write it as 2026-05-17. {FAILS}"),
    "dt = '2026-02-30'": (5, f"column 'dt' is date, and there is no date 2026-02-30. {FAILS}"),
    "ts < 'soon'": (
        5,
        f"column 'ts' is timestamp, and 'soon' is not a timestamp; write it as 2026-05-17 08:30:00. {FAILS}",
    ),
    "n = 1 AND dt >= 2026-05-17": (16, "2026-05-17 without quotes is a subtraction; write it as DATE '2026-05-17'."),
    "ts BETWEEN 2026-05-01 AND 2026-05-17": (
        11,
        "2026-05-01 without quotes is a subtraction; write it as DATE '2026-05-01'.",
    ),
    "dt NOT IN (2026-5-1)": (11, "2026-5-1 without quotes is a subtraction; write it as DATE '2026-5-1'."),
    "app = 2026-05-17": (6, "2026-05-17 without quotes is a subtraction; write it as '2026-05-17'."),
    "app = 5": (
        6,
        f"column 'app' is string, and 5 is a whole number; write it as a text, '5'. {CONVERTS}",
    ),
    "app >= DATE '2026-05-17'": (
        7,
        f"column 'app' is string, and 2026-05-17 is a date; write it as a text, '2026-05-17'. {CONVERTS}",
    ),
    "n = true": (4, "column 'n' is int64 and cannot be compared with true, which is true or false."),
    "dt > 5": (5, "column 'dt' is date and cannot be compared with 5, which is a whole number."),
    "n": (0, "column 'n' is int64, which is no condition; compare it with a value."),
    "st = 1": (
        0,
        f"column 'st' is struct<a: int64> and cannot be compared with a value; {NULL_ONLY}",
    ),
}

# What Spark takes, so that nothing may be said against it.
FINE = [
    "n = ' 5 '",
    "n = '+5'",
    "ratio > '1.'",
    "ratio < ' 1e3 '",
    "ratio < 'infinity'",
    "flag = ' YES '",
    "dt = '2026-5-1'",
    "dt >= '2026'",
    "dt > '0000-01-01'",
    "dt > DATE '0000-01-01'",
    "dt = '2026-05-17 noon'",
    "ts < '2026-05'",
    "ts < '12:30'",
    "n = ratio",
    "st = NULL",
    "n < 2026-05-17",
    "n IN (2026-05-17, 5)",
    "tags <=> NULL",
    "st IN (NULL)",
    "n IN (n, 5)",
    "dt = current_date",
    "current_user = app",
    "st.a = 1",
    "n LIKE '1%'",
    "isnan(n)",
    "lower(app) = 'a'",
    "app < lower(app)",
]


@pytest.mark.parametrize("text", MISTAKES)
def test_the_real_cause_is_said(text: str) -> None:
    """Without Spark, with a caret under the place; and again the same the next time."""
    position, reason = MISTAKES[text]
    with pytest.raises(PredicateError) as caught:
        refuse(bind(parse(text), SCHEMA, text=text), text)
    assert (caught.value.reason, caught.value.position) == (reason, position)


@pytest.mark.parametrize("text", FINE)
def test_what_spark_takes_is_no_mistake(text: str) -> None:
    """It may be more than can be evaluated here, but nothing is said against it."""
    refuse(bind(parse(text), SCHEMA, text=text), text)


def test_spark_agrees(spark: "SparkSession") -> None:
    """Every mistake is an error to Spark in ANSI mode, and what is fine is none."""
    frame = spark.createDataFrame(ROWS)
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    agreed = [text for text in MISTAKES if _fails(lambda text=text: frame.where(text).collect())]  # type: ignore[misc]
    assert agreed == list(MISTAKES)
    assert [text for text in FINE if _fails(lambda text=text: frame.where(text).collect())] == []  # type: ignore[misc]


def _fails(run: Callable[[], Any]) -> bool:
    from pyspark.errors import PySparkException

    try:
        run()
    except PySparkException:
        return True
    return False


def test_to_the_planner_it_is_opaque_all_the_same() -> None:
    """Spark's own filters are bound too, and never refused for what only a session can know: a variable's name."""
    assert bind(parse("app = web"), SCHEMA) == Opaque("app = web")
    assert bind(parse("n = 'x'"), SCHEMA) == Opaque("n = 'x'", frozenset({2}))


def test_at_the_door(tmp_path: Path) -> None:
    """Nothing is planned, counted or removed for a mistake; a condition that only Spark has words for says that."""
    table = coalesce.create(tmp_path / "t", ROWS.schema)
    for ask in (table.plan, table.count, table.delete, table.scan):
        with pytest.raises(PredicateError, match="did you mean the text 'web'"):
            ask("app = web")
    with pytest.raises(PredicateError, match="'x' is not a whole number"):
        table.plan((coalesce.col("n") == "x") | (coalesce.col("n") == 1))
    table.append(ROWS)
    with pytest.raises(NeedsSpark, match=r"only Spark can evaluate `lowr\(app\) = 'a'` .*did you mean 'lower'"):
        table.count("lowr(app) = 'a'")
    with pytest.raises(NeedsSpark, match="there is no function 'get_json_object' here; the functions are abs, "):
        table.count("get_json_object(app, '$.x') = 'a'")
    with pytest.raises(PredicateError, match="`n / 0 = 1` cannot be answered for every row: division by zero"):
        table.count("n / 0 = 1")
    many = ", ".join(f"'{i}'" for i in range(3_000))
    for long in (f"n / 0 IN ({many})", f"lowr(app) IN ({many})"):
        with pytest.raises(coalesce.CoalesceError) as raised:
            table.count(long)
        assert len(str(raised.value)) < 3_000  # with the names of all functions there are


def test_letters_of_which_spark_may_make_either(tmp_path: Path) -> None:
    """Spark's optimizer takes `lower(upper(s))` for `lower(s)`, and not everything is optimised: ß may be ss, or ß."""
    table = coalesce.create(tmp_path / "t", pa.schema([("s", pa.string())]), partition_by=["s"])
    table.append(pa.table({"s": ["ı", "ß", "ς", "a", "A"]}))
    assert table.plan("lower(upper(s)) = s").file_count == 4
    assert table.count("lower(upper(s)) = 'a' AND s IN ('a', 'A')") == 2
    with pytest.raises(PredicateError, match="cannot be answered for every row"):
        table.count("lower(upper(s)) = s")


@pytest.mark.parametrize("column", ["st", "tags", "sizes"])
def test_whether_a_struct_list_or_map_is_there(column: str, tmp_path: Path) -> None:
    """IS NULL and IS NOT NULL work without Spark on columns of any type, to read and to remove."""
    table = coalesce.create(tmp_path / "t", ROWS.schema, partition_by=["app"])
    table.append(ROWS)
    table.add_column("late", ROWS.schema.field(column).type)
    missing = [i for i, value in enumerate(ROWS[column].to_pylist()) if value is None]
    assert table.count(f"{column} IS NULL") == len(missing) == 1
    assert table.count(f"{column} IS NOT NULL AND late IS NULL") == 2
    assert table.scan(coalesce.col(column).is_null(), columns=["app"]).to_arrow()["app"].to_pylist() == [
        ROWS["app"][missing[0]].as_py()
    ]
    table.delete(f"{column} IS NULL")
    assert table.count() == 2
    table.delete("late IS NOT NULL")
    assert table.count() == 2


def test_whether_it_is_there_with_spark(tmp_path: Path, spark: "SparkSession") -> None:
    """The same through Spark: its filters on such a column keep every file that may hold such a row."""
    table = coalesce.create(tmp_path / "t", ROWS.schema, partition_by=["app"], spark=spark)
    table.append(ROWS)
    assert table.read().where("st IS NULL").count() == 1
    assert table.read().where("tags IS NOT NULL AND sizes IS NOT NULL").count() == 1
    table.delete("st IS NULL")
    assert sorted(str(r.app) for r in table.read().collect()) == ["A", "None"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("sta.n = 1", "'sta' is no column with a member 'n'; did you mean 'st'?"),
        (
            "app = 'A' AND NOT zzz.n = 1",
            "'zzz' is no column with a member 'n'; a column is named without its table: n.",
        ),
        ("n.app IS NULL", "'n' is no column with a member 'app'; a column is named without its table: app."),
        ("a.b.n IN (1, 2)", "'a' is no column with a member 'b.n'; a column is named without its table: n."),
    ],
)
def test_a_member_of_nothing_is_no_column(text: str, reason: str, tmp_path: Path) -> None:
    """A misspelt struct is not taken for the name of a table: rows would go by a column that was not meant."""
    table = coalesce.create(tmp_path / "t", ROWS.schema)
    table.append(ROWS)
    for ask in (table.count, table.scan, table.delete):
        with pytest.raises(PredicateError, match=re.escape(reason)):
            ask(text)
    with pytest.raises(PredicateError, match="no column with a member"):
        table.delete(coalesce.col("sta.n") == 1)
    assert table.count("`st` IS NULL") == 1
    assert table.count() == 3
