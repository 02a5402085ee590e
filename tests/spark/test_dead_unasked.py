"""Files with removed rows, for queries whose own filters leave those out: they are read like any other file."""

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coalesce
from coalesce.table.table import Table
from tests.spark.test_dead import DAY, MARK, SHORT, keys, load, plan_of, removed, short
from tests.support.examples import examples
from tests.support.order import forget_order
from tests.support.settings import INTERPRETED, changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("rows_are_read")

TELLS_DEAD = ("LiveRows", "_tmp_metadata_row_index", "binarySearch", "OpenHashSet", "_file#")


def tells_dead(plan: str) -> bool:
    """Whether a plan leaves rows out that were removed."""
    return any(word in plan for word in TELLS_DEAD)


@pytest.fixture(params=["places", "tuples"])
def removed_from(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    """One file of apps A to D and of none, in which B and the rows without an app are dead; a second without C."""
    table = short(tmp_path / "t", ["A", "B", "C", "D", None], 50)
    table.drop_partition(app="B")
    table.drop_partition(app=None)
    more = [DAY + timedelta(days=1)] * 6
    table.append(pa.table({"dt": more, "app": list("ABCABC"), "k": list(range(50, 56))}, schema=SHORT))
    table.drop_partition(dt=more[0], app="C")
    if request.param == "tuples":
        forget_order(table)
    assert removed(table) == 22
    return table


@pytest.mark.parametrize(
    ("where", "asks"),
    [
        ("app = 'A'", False),
        ("app IN ('A', 'D')", True),  # NULL, not FALSE, on the rows without an app
        ("app IN ('A', 'D') AND app >= 'A'", False),  # by which Spark asks for IS NOT NULL, too
        ("app < 'B'", False),
        ("app <> 'B' AND app <> 'C'", False),
        ("NOT (app = 'B' OR app >= 'C')", False),
        ("k > 3 AND app = 'A'", False),
        ("dt = DATE '2026-05-01' AND app = 'C'", False),  # C is dead in the other file only
        ("app = 'C'", False),  # not in the file in which it is dead, which is not read
        ("app <> 'B'", True),
        ("app IS NULL OR app = 'A'", True),
        ("app <=> NULL", False),  # no file has a row for it
        ("k > 3", True),
        ("app = 'A' OR k > 3", True),
        ("lower(app) = 'a'", True),  # a function may fail on what is dead
        ("lower(app) = 'a' AND app = 'A'", False),
    ],
)
def test_files_are_read_as_they_are(spark: "SparkSession", removed_from: Table, where: str, asks: bool) -> None:
    """Exactly if no condition that is sure to work on any row may hold on a dead one."""
    frame = load(spark, removed_from).where(where)
    assert keys(frame) == sorted(removed_from.scan(where).to_arrow().column("k").to_pylist())
    assert tells_dead(plan_of(frame)) is (asks and frame.count() > 0)


@pytest.mark.usefixtures("spark")
def test_a_filter_reaches_the_reader(spark: "SparkSession", removed_from: Table) -> None:
    """As on files without dead rows, and files with and without dead ones are one scan."""
    day = DAY + timedelta(days=2)
    removed_from.append(pa.table({"dt": [day], "app": ["A"], "k": [99]}, schema=SHORT))
    plan = plan_of(load(spark, removed_from).where("app = 'A'"))
    (scan,) = [line for line in plan.splitlines() if "FileScan" in line]
    assert "PushedFilters: [EqualTo(app,A), IsNotNull(app)]" in scan
    assert "ReadSchema: struct<app:string,k:bigint>" in scan


def test_dead_rows_fail_nothing(spark: "SparkSession", tmp_path: Path) -> None:
    """A condition that would fail on a dead row comes behind those that leave it out, wherever it is written."""
    table = short(tmp_path / "t", ["1", "x"], 10)
    table.drop_partition(app="x")
    frame = load(spark, table)
    with changed(spark, {"spark.sql.ansi.enabled": "true"}):
        assert keys(frame.where("CAST(app AS INT) = 1")) == [0, 2, 4, 6, 8]
        assert keys(frame.where("CAST(app AS INT) = 1 AND app = '1'")) == [0, 2, 4, 6, 8]
        assert keys(frame.where("1 / (k - 1) < 0 AND app = '1'")) == [0]
        assert keys(frame.where("1 / (k - 1) < 0")) == [0]


def test_dead_rows_without_an_app_fail_nothing(spark: "SparkSession", tmp_path: Path) -> None:
    """What Spark asks last leaves them out too late: IS NOT NULL, as written, or as a join has it."""
    table = short(tmp_path / "t", ["A", None], 4)
    table.drop_partition(app=None)
    frame = load(spark, table)
    apps = spark.createDataFrame([("A", 1)], "app string, n int")
    with changed(spark, {"spark.sql.ansi.enabled": "true"}):
        assert keys(frame.where("app IS NOT NULL AND 1 / (k - 1) < 2")) == [0, 2]
        assert keys(frame.join(apps, "app").where("1 / (k - 1) < 2")) == [0, 2]
        assert keys(frame.where("app = 'A' AND 1 / (k - 1) < 2")) == [0, 2]
    assert tells_dead(plan_of(frame.where("app IS NOT NULL")))
    assert not tells_dead(plan_of(frame.where("app = 'A'")))


@pytest.fixture
def failing(tmp_path: Path) -> Table:
    """One file in which the rows without an app and those of `gone` are dead, and they alone have a `v` of 0."""
    apps = ["x", "y", None, "gone"] * 10
    rows = pa.table({"app": apps, "k": range(40), "v": [int(app in ("x", "y")) for app in apps]})
    rule = coalesce.small("app")
    table = coalesce.create(tmp_path / "t", rows.schema, partition_by=["app"], rule=rule, properties=MARK)
    table.append(rows)
    table.drop_partition(app=None)
    table.drop_partition(app="gone")
    assert removed(table) == 20
    return table


ON_EVERY_ROW = "exists(array(v), e -> 10 div e > 0)"  # no code is generated for it, nor for what stands beside it


@pytest.mark.parametrize(
    ("where", "asks"),
    [
        ("app IN ('x', 'y')", True),  # NULL on the rows without an app
        ("NOT (app IN ('gone', 'never'))", True),
        ("app = 'x' OR app = 'y'", True),
        ("app <> 'gone' AND k < 90", False),  # by which Spark asks for IS NOT NULL, too
        ("app = 'x'", False),
    ],
)
@pytest.mark.parametrize("inferring", ["true", "false"])
def test_what_is_null_on_dead_rows_keeps_nothing_from_them(
    spark: "SparkSession", failing: Table, where: str, asks: bool, inferring: str
) -> None:
    """Of `NULL AND …` Spark computes both sides: what could fail there must not see rows that were removed."""
    settings = {"spark.sql.ansi.enabled": "true", "spark.sql.constraintPropagation.enabled": inferring}
    with changed(spark, settings):
        frame = load(spark, failing)
        expected = keys(frame.where(where))
        assert expected == sorted(failing.scan(where).to_arrow().column("k").to_pylist())
        assert expected
        assert keys(frame.where(f"({where}) AND {ON_EVERY_ROW}")) == expected
        assert tells_dead(plan_of(frame.where(where))) is (asks or inferring == "false")


def test_filters_further_up_fail_on_no_dead_row(spark: "SparkSession", failing: Table) -> None:
    """Spark leaves a condition that it takes for one that may fail where it is, and puts it behind the others later."""
    with changed(spark, {"spark.sql.ansi.enabled": "true"}):
        frame = load(spark, failing).where("app IN ('x', 'y')")
        found = keys(frame.where("exists(sequence(1, 5, CAST(v AS INT)), e -> e > 0)"))
        assert found == sorted([*range(0, 40, 4), *range(1, 40, 4)])


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize("statement", ["UPDATE ours SET v = 5 WHERE {}", "DELETE FROM ours WHERE {}"])
@pytest.mark.parametrize("more", ["", "AND k >= 0 ", "AND app > 'a' ", "AND k >= 0 AND app > 'a' AND k <> 50 "])
@pytest.mark.parametrize("on_each", ["10 div v > 9", "10 div v + 10 div v > 19"])
def test_statements_fail_on_no_dead_row(
    spark: "SparkSession", tmp_path: Path, statement: str, more: str, on_each: str
) -> None:
    """They ask a condition twice, once for the files and once for the rows; it is computed for live rows alone."""
    path = tmp_path / "t"
    with changed(spark, {"spark.sql.ansi.enabled": "true"}):
        spark.sql(f"CREATE TABLE ours USING coalesce LOCATION '{path}'")
        try:
            spark.sql(statement.format(f"{on_each} AND k < 9 {more}AND {ON_EVERY_ROW}"))
        finally:
            spark.sql("DROP TABLE ours")
    rows = coalesce.open(path).scan().to_arrow().to_pylist()
    few = {row["k"]: row["v"] for row in rows if row["k"] < 9}
    assert few == ({0: 5, 1: 5, 4: 5, 5: 5, 8: 5} if statement.startswith("UPDATE") else {})
    assert len(rows) == (20 if statement.startswith("UPDATE") else 15)


def test_what_is_asked_later(spark: "SparkSession", removed_from: Table) -> None:
    """Of one frame, in one session: each query by its own filters; after more is removed, by what is dead then."""
    frame = load(spark, removed_from)
    some = frame.where("app = 'A'")
    assert keys(some) == [*range(0, 50, 5), 50, 53]
    assert keys(some.where("k > 20 OR app = 'B'")) == [*range(25, 50, 5), 50, 53]
    assert keys(some.union(frame.where("app = 'D'"))) == sorted([*range(0, 50, 5), *range(3, 50, 5), 50, 53])
    joined = frame.alias("l").join(some.alias("r"), "k", "left").selectExpr("k", "r.app").collect()
    assert sorted(row.k for row in joined if row.app == "A") == keys(some)
    assert sorted(row.k for row in joined) == keys(frame)
    removed_from.drop_partition(app="A")
    assert keys(some) == [*range(0, 50, 5), 50, 53]  # as of its version
    assert keys(load(spark, removed_from).where("app = 'A'")) == []


PAIRS = [(p, q) for p in ("a", "b", None) for q in (1, 2, None)]
CONDITIONS = st.recursive(
    st.sampled_from(
        [
            *(f"p {sign} '{value}'" for sign in ("=", "<>", "<", ">=", "<=>") for value in ("a", "b")),
            *(f"q {sign} {value}" for sign in ("=", "<>", "<", ">=", "<=>") for value in (1, 2)),
            "p IS NULL", "q IS NOT NULL", "p IN ('a', NULL)", "q NOT IN (1, NULL)", "p <=> NULL", "k > 40", "k % 2 = 0",
            "length(p) = q", "true", "CAST(NULL AS BOOLEAN)",
        ]
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda each: "({} {} {})".format(*each)),
        inner.map(lambda one: f"(NOT {one})"),
    ),
    max_leaves=6,
)  # fmt: skip


@given(
    st.sets(st.sampled_from(PAIRS), min_size=1, max_size=8), st.lists(CONDITIONS, min_size=4, max_size=4), st.booleans()
)
@settings(max_examples=examples(10), deadline=None)
def test_against_all_rows(
    spark: "SparkSession",
    tmp_path_factory: pytest.TempPathFactory,
    gone: set[tuple[str | None, int | None]],
    conditions: list[str],
    forgotten: bool,
) -> None:
    """Every pair is in two files, some are dead in one: what Spark finds is what it finds in the rows that are left."""
    schema = pa.schema([("p", pa.string()), ("q", pa.int32()), ("k", pa.int64())])
    path = tmp_path_factory.mktemp("t") / "t"
    table = coalesce.create(path, schema, partition_by=["p", "q"], rule=coalesce.small("p", "q"), properties=MARK)
    both = [pa.table({"p": [p for p, _ in PAIRS * 6], "q": [q for _, q in PAIRS * 6],
                      "k": range(start, start + 54)}, schema=schema) for start in (0, 54)]  # fmt: skip
    table.append(both[0])
    for p, q in sorted(gone, key=str):
        table.drop_partition(p=p, q=q)
    if forgotten and table.state.dead_rows:
        forget_order(table)
    table.append(both[1])
    left = [row for row in both[0].to_pylist() if (row["p"], row["q"]) not in gone] + both[1].to_pylist()
    with changed(spark, INTERPRETED):
        spark.createDataFrame(
            [tuple(row.values()) for row in left], "p string, q int, k bigint"
        ).createOrReplaceTempView("rest")
        for where in conditions:
            expected = sorted(row.k for row in spark.sql(f"SELECT k FROM rest WHERE {where}").collect())
            assert keys(load(spark, table).where(where)) == expected, where
