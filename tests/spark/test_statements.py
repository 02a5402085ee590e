"""DELETE, UPDATE and MERGE: whatever they say, they do what it means to rows in a list, and rows keep their ids."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from random import Random
from threading import Barrier
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException

import coalesce
from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import AmbiguousMatch, CoalesceError, SchemaError
from coalesce.model.rule import RuleRequest, keep_all, small
from coalesce.table.engine import REMOVALS, Engines
from coalesce.table.revising import revised
from coalesce.table.statement import Clause, Star, Statement
from coalesce.table.table import Table, core_of
from tests.spark.events import unmanaged
from tests.spark.statement_model import Outcome, expected, multiset, text
from tests.spark.statements import SCHEMA, Said, Speaker, Spoken, rows
from tests.spark.test_native_adopted import SCHEMA as ADOPTED
from tests.spark.test_native_adopted import adopt
from tests.support.engines import by_jobs
from tests.support.examples import examples
from tests.support.lineage import held
from tests.support.settings import INTERPRETED, TIME_ZONE, changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "said"
DAY = date(2026, 5, 17)
ZONES = ("UTC", "UTC", "America/New_York", "Asia/Kolkata")


@contextmanager
def cataloged(spark: "SparkSession", table: Table) -> Iterator[None]:
    """The table under a name, and queries so small that Spark had better not compile them."""
    with changed(spark, INTERPRETED):
        spark.sql(f"CREATE TABLE {NAME} USING coalesce LOCATION '{table.location}'")
        try:
            yield
        finally:
            spark.sql(f"DROP TABLE {NAME}")


def made(spark: "SparkSession", directory: Path, rng: Random) -> Table:
    """A table of several writes, some of whose rows may be dead."""
    table = coalesce.create(
        directory / uuid4().hex,
        SCHEMA,
        partition_by=rng.choice([["dt", "app"], ["dt", "app"], ["app"], ["dt", "bucket(2, k)"], []]),
        properties={"remove.by": rng.choice(REMOVALS)},
        spark=spark,
    )
    if "app" in [f.name for f in table.state.spec.fields]:
        rules: list[RuleRequest] = [small("app"), small("app"), keep_all()]
        table.set_rule(rng.choice(rules))
    for _ in range(rng.randint(0, 3)):
        table.append(rows(rng, rng.randint(1, 12)))
    if rng.random() < 0.5:
        table.delete("app = 'A'")
    return table


def source(spark: "SparkSession", rng: Random) -> None:
    """New rows in the views that statements read."""
    src = rows(rng, rng.randint(0, 6))
    src = src.append_column("m", pa.array(range(src.num_rows), pa.int64()))
    spark.createDataFrame(src).createOrReplaceTempView("src")
    spark.createDataFrame(rows(rng, 3)).createOrReplaceTempView("other")


def by_sql(spark: "SparkSession", table: Table, spoken: Spoken) -> None:
    """As people say it."""
    del table
    spark.sql(spoken.sql(NAME))


def by_python(spark: "SparkSession", table: Table, spoken: Spoken) -> None:
    """The same through the table's methods."""
    if spoken.kind == "insert":
        spark.sql(spoken.sql(NAME))
        return

    def said(clause: Said) -> Clause:
        condition = None if clause.condition is None else clause.condition.replace("{T}", NAME)
        if clause.values is None or clause.star:
            return Clause(condition, Star.ALL if clause.star else None)
        return Clause(condition, {name: value.replace("{T}", NAME) for name, value in clause.values.items()})

    clauses = {
        "matched": tuple(map(said, spoken.matched)),
        "not_matched": tuple(map(said, spoken.not_matched)),
        "by_source": tuple(map(said, spoken.by_source)),
    }
    frame = None
    if spoken.source is not None:
        frame = spark.sql(f"SELECT * FROM {spoken.source}".replace("{T}", NAME))
    statement = Statement(source=frame, on=spoken.on, **clauses)
    revised(core_of(table), spoken.kind, core_of(table).engines.needed_frames.revision(statement))


def carried_out(spark: "SparkSession", table: Table, spoken: Spoken, way: str) -> bool:
    """Whether the statement was carried out; if not, several rows of its source were about one row."""
    try:
        (by_sql if way == "sql" else by_python)(spark, table, spoken)
    except AmbiguousMatch:
        return False
    except PySparkException as error:
        if "AmbiguousMatch" not in str(error):
            raise
        return False
    return True


def check(spark: "SparkSession", table: Table, spoken: Spoken, way: str) -> None:
    """Carry a statement out, and compare: rows as Spark and as Arrow reads them, ids, versions and counts."""
    before, version = held(table), table.refresh().version
    next_id = table.state.next_row_id
    outcome = expected(spark, {i: row for i, (_, row) in before.items()}, spoken)
    files = {f.path for f in core_of(table).storage.list("data")}
    if not carried_out(spark, table, spoken, way):
        assert outcome is None, "it is not ambiguous"
        assert table.refresh().version == version
        assert {f.path for f in core_of(table).storage.list("data")} == files
        return
    assert outcome is not None, "several rows of the source act on one row"
    after = held(table)
    assert {i: text(row) for i, (_, row) in after.items() if i < next_id} == {
        i: text(row) for i, row in outcome.rows.items()
    }
    assert Counter(text(row) for i, (_, row) in after.items() if i >= next_id) == Counter(map(text, outcome.new))
    for i, (of, _) in after.items():
        is_as_it_was = i < next_id and i not in outcome.changed
        assert of == (before[i][0] if is_as_it_was else table.version), "a version that no reader expects"
    everything = Counter(text(row) for _, row in after.values())
    assert multiset(table.scan().to_arrow()) == everything
    assert multiset(spark.table(NAME).toArrow()) == everything
    _check_counts(table, spoken, outcome, len(before))


def _check_counts(table: Table, spoken: Spoken, outcome: Outcome, before: int) -> None:
    """The version says how many rows came, changed and went."""
    summary = table.state.summary
    assert table.state.rows == len(outcome.rows) + len(outcome.new)
    if spoken.kind in ("update", "merge") and table.state.operation == spoken.kind:
        assert summary.get("rows_updated", 0) == len(outcome.changed)
        assert summary["rows_added"] == len(outcome.new)
        assert summary["rows_removed"] == before - len(outcome.rows)


WAYS = {"sql": (None, 1, 6), "jobs": (-1, 1, 3), "found here, written by jobs": (64 * 1024 * 1024, 1, 3)}


@pytest.mark.parametrize("way", WAYS)
def test_any_statements_do_what_they_mean(spark: "SparkSession", tmp_path: Path, way: str) -> None:
    """Rows, ids, versions and counts are those of a list after each, wherever rows are found and written."""
    write, few, most = WAYS[way]

    @settings(
        max_examples=examples(few), phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.integers(0, 2**32))
    def any_statements(seed: int) -> None:
        assume(seed)  # which is always the first, and would be the only one
        rng = Random(seed)
        table = made(spark, tmp_path, rng)
        if write is not None:
            _by_jobs(table, spark, write)
        with cataloged(spark, table), changed(spark, {TIME_ZONE: rng.choice(ZONES)}):
            for _ in range(most):
                source(spark, rng)
                check(spark, table, Speaker(rng).statement(), way)
        assert list(table.refresh().check(deep=True)) == []

    any_statements()


def _by_jobs(table: Table, spark: "SparkSession", write: int) -> None:
    """Spark jobs write files again; what changes is found in them too, unless it has fewer bytes than `write`."""
    from coalesce.spark.engine import SparkEngine
    from coalesce.spark.write.here import Here

    core_of(table).engines = Engines(ArrowEngine(), SparkEngine(spark, here=Here(write=write, rewrite=-1, read=-1)))


# --- single cases --------------------------------------------------------------------------------------------------

EVENTS = pa.schema(
    [
        ("dt", pa.date32()),
        ("app", pa.string()),
        ("k", pa.int64()),
        ("n", pa.int32()),
        ("info", pa.struct([("a", pa.int32()), ("b", pa.string())])),
    ]
)
HERE, JOBS = "here", "jobs"


@pytest.fixture
def events(spark: "SparkSession", tmp_path: Path) -> Iterator[Table]:
    """A table whose four apps of two rows each share a file; `k` is 0 to 7, and every other `info` is NULL."""
    table = coalesce.create(
        tmp_path / "t",
        EVENTS,
        partition_by=["dt", "app"],
        rule=small("app"),
        properties={"remove.by": "mark"},
        spark=spark,
    )
    rows_ = [
        {"dt": DAY, "app": "ABCD"[i % 4], "k": i, "n": 0, "info": {"a": i, "b": "x"} if i % 2 else None}
        for i in range(8)
    ]
    table.append(pa.Table.from_pylist(rows_, schema=EVENTS))
    with cataloged(spark, table):
        yield table
    assert unmanaged(table) == set()


def column(table: Table, name: str) -> dict[int, Any]:
    """A column by `k`, which every row has once; as Arrow reads it."""
    found = table.refresh().scan().to_arrow().to_pylist()
    assert len({row["k"] for row in found}) == len(found)
    return {row["k"]: row[name] for row in found}


def test_a_condition_that_is_null_does_not_hold(spark: "SparkSession", events: Table) -> None:
    """Neither for rows that change or go, nor for rows that come in; the next clause has its turn."""
    spark.sql(f"UPDATE {NAME} SET n = 1 WHERE info.a > 3")
    assert column(events, "n") == {i: int(i in (5, 7)) for i in range(8)}
    spark.sql(
        f"MERGE INTO {NAME} t USING (SELECT explode(array(0L, 5L, 9L)) AS k, CAST(NULL AS INT) AS n) s ON t.k = s.k"
        " WHEN MATCHED AND t.info.a > 3 THEN DELETE WHEN MATCHED THEN UPDATE SET n = 2"
        " WHEN NOT MATCHED AND s.n > 0 THEN INSERT (k, n) VALUES (s.k, s.n)"
        " WHEN NOT MATCHED BY SOURCE AND t.info.a < 2 THEN DELETE"
    )
    assert column(events, "n") == {0: 2, 2: 0, 3: 0, 4: 0, 6: 0, 7: 1}


@pytest.mark.parametrize("work", [HERE, JOBS])
def test_structs_are_read_as_they_were_written(spark: "SparkSession", events: Table, work: str) -> None:
    """By whichever engine and whatever their members are called by now; a job that changes a file forgets none."""
    events.rename_column("info.b", "c")
    events.rename_column("n", "m")
    events.add_column("info.z", "int")
    if work == JOBS:
        by_jobs(events, spark)
    events.update({"m": "m + 1", "info.z": "7"}, "k IN (1, 2)")
    assert column(events, "m") == {i: int(i in (1, 2)) for i in range(8)}
    assert column(events, "info") == {
        1: {"a": 1, "c": "x", "z": 7},
        2: {"a": None, "c": None, "z": 7},
        **{i: {"a": i, "c": "x", "z": None} for i in (3, 5, 7)},
        **dict.fromkeys((0, 4, 6)),
    }
    by_spark = {row.k: row.info and row.info.asDict() for row in spark.table(NAME).collect()}
    assert by_spark == column(events, "info")


def test_a_member_of_a_struct_that_is_null_gets_its_value(spark: "SparkSession", events: Table) -> None:
    """As in Spark's own tables: the struct is there from then on, and its other members are NULL."""
    spark.sql(f"UPDATE {NAME} SET info.a = k, info.b = 'y' WHERE k = 0")
    spark.sql(f"MERGE INTO {NAME} t USING (SELECT 2 AS k) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET info.a = 5")
    found = column(events, "info")
    assert (found[0], found[2], found[4]) == ({"a": 0, "b": "y"}, {"a": 5, "b": None}, None)


@pytest.mark.parametrize("removed", [False, True], ids=["all live", "some dead"])
def test_two_subqueries_of_the_same_rows(spark: "SparkSession", events: Table, removed: bool) -> None:
    """Of the table or another one: Spark makes one of them, which then stands beside the statement."""
    if removed:
        events.set_properties({"remove.by": "mark"})
        events.delete("app = 'B'")
    spark.range(3, 8).createOrReplaceTempView("others")
    before = column(events, "n")
    least, most = min(before), max(before)
    spark.sql(f"UPDATE {NAME} SET n = (SELECT count(*) FROM {NAME}) WHERE k = (SELECT max(k) FROM {NAME})")
    assert column(events, "n") == before | {most: len(before)}
    spark.sql(
        f"MERGE INTO {NAME} t USING (SELECT {least}L AS k) s ON t.k = s.k"
        f" WHEN MATCHED AND t.k > (SELECT avg(k) FROM {NAME}) THEN DELETE"
        f" WHEN MATCHED THEN UPDATE SET n = (SELECT count(*) FROM {NAME})"
    )
    assert column(events, "n") == before | {most: len(before), least: len(before)}
    spark.sql(f"DELETE FROM {NAME} WHERE k < (SELECT min(id) FROM others) OR k > (SELECT max(id) FROM others) - 1")
    assert sorted(column(events, "n")) == [k for k in sorted(before) if 3 <= k <= 6]


def test_subqueries_that_speak_of_the_row(spark: "SparkSession", events: Table) -> None:
    """In conditions and values, several at once, of other tables and of the table itself."""
    spark.sql("SELECT 1L AS k, 5 AS n UNION ALL SELECT 1L, 6 UNION ALL SELECT 2L, 7").createOrReplaceTempView("other")
    most = "(SELECT max(o.n) FROM other o WHERE o.k = t.k)"
    spark.sql(
        f"UPDATE {NAME} t SET n = {most} + (SELECT count(*) FROM {NAME})"
        f" WHERE {most} > 1 AND t.k IN (SELECT k FROM other)"
    )
    assert column(events, "n") == {i: {1: 14, 2: 15}.get(i, 0) for i in range(8)}
    spark.sql(f"DELETE FROM {NAME} t WHERE t.n < (SELECT avg(x.n) FROM {NAME} x WHERE x.app = t.app)")
    assert sorted(column(events, "n")) == [0, 1, 2, 3, 4, 7]
    spark.sql(
        f"MERGE INTO {NAME} t USING other s ON t.k = s.k"
        " WHEN MATCHED AND EXISTS (SELECT 1 FROM other o WHERE o.n > s.n)"
        f" AND NOT EXISTS (SELECT 1 FROM {NAME} x WHERE x.k = s.k AND s.n = 5) THEN UPDATE SET n = -s.n"
        " WHEN NOT MATCHED BY SOURCE AND t.k NOT IN (SELECT k + 2 FROM other) THEN DELETE"
    )
    assert column(events, "n") == {1: -6, 2: 15, 3: 0, 4: 0}


@pytest.mark.parametrize("work", [HERE, JOBS])
def test_tables_without_partition_fields(spark: "SparkSession", tmp_path: Path, work: str) -> None:
    """Their files are written again as a whole."""
    table = coalesce.create(tmp_path / "t", EVENTS, spark=spark)
    table.append(pa.Table.from_pylist([{"k": i, "n": 0} for i in range(4)], schema=EVENTS))
    if work == JOBS:
        by_jobs(table, spark)
    assert table.update({"n": "n + 1"}, "k > 1").rows_updated == 2
    assert table.merge([{"k": 1}], "t.k = s.k").when_matched_delete().execute().rows_removed == 1
    assert column(table, "n") == {0: 0, 2: 1, 3: 1}


@pytest.mark.parametrize("work", [HERE, JOBS])
def test_a_required_column_is_not_given_null(spark: "SparkSession", tmp_path: Path, work: str) -> None:
    """Neither by an UPDATE nor by rows that come in; a column that has a default gets it."""
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), ("n", pa.int32())])
    table = coalesce.create(tmp_path / "t", schema, spark=spark)
    table.append(pa.table({"k": [1, 2], "n": [1, None]}, schema=schema))
    table.add_column("more", "int", default=5)
    if work == JOBS:
        by_jobs(table, spark)
    with pytest.raises(SchemaError, match="k"):
        table.update({"k": "n"})
    merge = table.merge([{"k": 3, "n": 3}], "t.k = s.k")
    with pytest.raises(SchemaError, match="k"):
        merge.when_not_matched_insert({"n": "s.n"}).execute()
    assert table.refresh().version == 2
    merge.when_not_matched_insert({"k": "s.k"}).execute()
    assert column(table, "more") == {1: 5, 2: 5, 3: 5}
    assert unmanaged(table) == set()


def test_more_keys_than_a_predicate_lists(spark: "SparkSession", events: Table) -> None:
    """A source of thousands of rows, some of which are there."""
    result = (
        events.merge(spark.range(3, 3_003), "t.k = s.id")
        .when_matched_update({"n": "1"})
        .when_not_matched_insert({"k": "s.id", "app": "'new'"})
        .execute()
    )
    assert (result.rows_updated, result.rows_added) == (5, 2_995)
    assert sorted(column(events, "n")) == list(range(3_003))


def test_a_frame_is_put_in_the_place_of_rows_as_any_rows_are(spark: "SparkSession", events: Table) -> None:
    """By keys, whatever their case; columns that it lacks stay, and what Arrow refuses is refused."""
    before = held(events)
    frame = spark.sql("SELECT 'A' AS APP, explode(array(4L, 9L)) AS K, 5 AS n")
    result = events.upsert(frame, ["app", "k"])
    assert (result.rows_updated, result.rows_added) == (1, 1)
    assert column(events, "n") == {i: 5 if i in (4, 9) else 0 for i in [*range(8), 9]}
    after = held(events)
    assert {i: after[i][1]["k"] for i in before} == {i: row["k"] for i, (_, row) in before.items()}
    assert after[next(i for i, (_, row) in before.items() if row["k"] == 4)][1]["dt"] == DAY
    with pytest.raises(AmbiguousMatch, match="more than one of the rows"):
        events.upsert(frame.union(frame), ["app", "k"])
    with pytest.raises(SchemaError, match="NULL"):
        events.upsert(spark.sql("SELECT 'A' AS app, CAST(NULL AS BIGINT) AS k"), ["app", "k"])
    with pytest.raises(SchemaError, match="lack the key 'dt'"):
        events.upsert(frame, ["dt", "app", "k"])


def test_files_that_lack_their_partition_columns(spark: "SparkSession", tmp_path: Path) -> None:
    """As those of a Hive-style directory do: their rows change, and hold them from then on."""
    table = coalesce.create(tmp_path / "t", ADOPTED, partition_by=["dt", "app"], rule=small("app"), spark=spark)
    adopt(table, tmp_path / "t", ["A", "B", None], 2)
    before = column(table, "app")
    table.update({"s": "concat(s, '!')", "app": "coalesce(app, 'C')"}, "k % 20 = 1 AND (app IS NULL OR app = 'A')")
    changed_ = {k for k, app in before.items() if k % 20 == 1 and app in (None, "A")}
    assert changed_
    assert column(table, "app") == {k: (app or "C") if k in changed_ else app for k, app in before.items()}
    assert {k for k, s in column(table, "s").items() if s.endswith("!")} == changed_
    table.upsert([{"dt": day, "app": "B", "k": k, "s": "z"} for k, day in column(table, "dt").items() if k < 2], ["k"])
    assert {k: app for k, app in column(table, "app").items() if k < 2} == {0: "B", 1: "B"}
    assert list(table.check(deep=True)) == []


REFUSED = {
    "UPDATE {T} SET n = 3000000000": "CAST_OVERFLOW|overflow",
    "UPDATE {T} SET n = 1, N = 2": "two values",
    "UPDATE {T} SET info = NULL, info.a = 2": "both given values",
    "UPDATE {T} SET nope = 1": "nope",
    "DELETE FROM {T} WHERE nope = 1": "nope",
    "MERGE INTO {T} t USING {T} s ON t.k IN (SELECT 1) WHEN MATCHED THEN DELETE": "takes no subquery",
    "MERGE INTO {T} t USING (SELECT 1 AS n) s ON t.k < 2 WHEN MATCHED THEN UPDATE SET n = s.n / 0": "DIVIDE_BY_ZERO",
    "MERGE INTO {T} t USING (SELECT explode(array(1, 2)) AS n) s ON t.k = 1 WHEN MATCHED THEN UPDATE SET n = s.n": (
        "several rows of the source would change one row of the table"
    ),
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_cannot_be_done_is_refused_and_changes_nothing(spark: "SparkSession", events: Table, sql: str) -> None:
    """The message says why, no version is made, and no file is left."""
    with pytest.raises((PySparkException, CoalesceError), match=REFUSED[sql]):
        spark.sql(sql.replace("{T}", NAME)).collect()
    assert events.refresh().version == 1


def test_rows_that_do_not_act_may_hold_what_cannot_be_computed(spark: "SparkSession", events: Table) -> None:
    """A value is computed for the rows that get it."""
    spark.sql(f"UPDATE {NAME} SET n = 8 / k WHERE k > 0")
    spark.sql(
        f"MERGE INTO {NAME} t USING (SELECT 0L AS k UNION ALL SELECT 2L) s ON t.k = s.k"
        " WHEN MATCHED AND t.k = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET n = 10 / s.k"
    )
    assert column(events, "n")[2] == 5


def test_a_statement_that_is_explained_is_not_carried_out(spark: "SparkSession", events: Table) -> None:
    """Nor one on a table at a version."""
    spark.sql(f"EXPLAIN UPDATE {NAME} SET n = 1").collect()
    spark.sql(f"EXPLAIN DELETE FROM {NAME}").collect()
    assert events.refresh().version == 1


@pytest.mark.parametrize("apps", ["AB", "AA"])
def test_two_sessions_at_once(spark: "SparkSession", events: Table, apps: str) -> None:
    """Tenants of one file are changed at the same time, or one tenant is: no change is lost, no row doubled."""
    before = held(events)
    sessions = [(app, spark.newSession()) for app in apps]
    barrier = Barrier(len(sessions))

    def change(app: str, own: "SparkSession") -> None:
        barrier.wait(60)
        for i in range(3):
            own.sql(
                f"MERGE INTO {NAME} t USING (SELECT '{app}' AS app, 1 AS n) s ON t.app = s.app"
                " WHEN MATCHED THEN UPDATE SET n = t.n + s.n WHEN NOT MATCHED THEN INSERT (app, n) VALUES (s.app, s.n)"
                if i
                else f"UPDATE {NAME} SET n = n + 1 WHERE app = '{app}'"
            )

    with ThreadPoolExecutor(len(sessions)) as pool:
        for done in [pool.submit(change, app, own) for app, own in sessions]:
            done.result()
    assert column(events, "n") == {i: 3 * apps.count("ABCD"[i % 4]) for i in range(8)}
    assert {i: row["k"] for i, (_, row) in held(events).items()} == {i: row["k"] for i, (_, row) in before.items()}
    assert events.version == 1 + 3 * len(sessions)
    assert list(events.check(deep=True)) == []
