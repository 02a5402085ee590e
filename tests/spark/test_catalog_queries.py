"""Queries on a catalog's tables: versions of the past, metadata tables, procedures."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

import coalesce
from coalesce.spark.catalog import answers
from coalesce.spark.source import versions
from tests.spark.lakes import Lake, attached, events
from tests.support.settings import TIME_ZONE, changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def lake(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """A catalog with a table of two commits, the first of which has a tag."""
    with attached(spark, tmp_path_factory.mktemp("lake")) as found:
        found.sql("CREATE NAMESPACE lake.db")
        events(found)
        found.sql("CALL lake.system.tag('db.events', 'audit-2026', 1)")
        yield found


def refused(lake: Lake, statement: str, words: str) -> None:
    """The statement fails with these words."""
    with pytest.raises(PySparkException, match=f"(?s){words}"):
        lake.sql(statement)


def test_a_query_is_planned_natively(lake: Lake) -> None:
    """The scan is Spark's own over the files that the planner picked."""
    frame = lake.spark.sql("SELECT k FROM lake.db.events WHERE app = 'B'")
    plan: Any = frame._jdf.queryExecution()
    assert "FileScan coalesce v3: 1 of 3 files" in plan.executedPlan().toString()
    assert [row.k for row in frame.collect()] == [2]


def test_rows_are_changed_through_the_same_relation(lake: Lake) -> None:
    """DELETE, UPDATE and every kind of MERGE see the relation that queries read, not the table of an INSERT."""
    session: Any = lake.spark._jsparkSession
    skip = lake.spark._jvm.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()  # type: ignore[union-attr]
    source = "(SELECT DATE '2026-05-01' AS dt, 'A' AS app, 1L AS k) s ON t.k = s.k"
    for statement in (
        "DELETE FROM lake.db.events WHERE k = 1",
        "UPDATE lake.db.events SET k = 2 WHERE k = 1",
        f"MERGE INTO lake.db.events t USING {source} WHEN NOT MATCHED THEN INSERT *",
        f"MERGE INTO lake.db.events t USING {source} WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *",
        f"WITH c AS (SELECT 1) MERGE INTO lake.db.events t USING {source} WHEN NOT MATCHED THEN INSERT *",
    ):
        plan = session.sessionState().sqlParser().parsePlan(statement)
        analyzed = session.sessionState().executePlan(plan, skip).analyzed().toString()
        assert "Relation lake.db.events" in analyzed, statement
        assert "RelationV2" not in analyzed, statement


@pytest.mark.parametrize("form", ["SELECT ({}), ({})", "SELECT * FROM ({}) CROSS JOIN ({})"])
@pytest.mark.parametrize(("first", "second"), list(permutations(("lake.db.twice", "twin.db.twice", "path"), 2)))
def test_a_query_reads_one_version_by_whichever_names(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, first: str, second: str, form: str
) -> None:
    """Two catalogs, or a catalog and a path: what is committed between two look-ups is seen by neither."""
    coalesce.attach(lake.spark, catalog="twin", warehouse=lake.root)
    events(lake, "db.twice")
    table, due = lake.table("db/twice"), [1]
    path = f"coalesce.`{table.location}`"

    def and_then_a_commit(look_up: Callable[..., object]) -> Callable[..., object]:
        def looked_up(*arguments: object, **options: object) -> object:
            found = look_up(*arguments, **options)
            if due:
                due.pop()
                table.delete("k = 2")
            return found

        return looked_up

    monkeypatch.setitem(answers._ANSWERS, "load", and_then_a_commit(answers._ANSWERS["load"]))
    monkeypatch.setattr(versions, "resolve", and_then_a_commit(versions.resolve))
    try:
        counts = [f"SELECT count(k) FROM {path if name == 'path' else name}" for name in (first, second)]
        (row,) = lake.spark.sql(form.format(*counts)).collect()
        assert not due
        assert row[0] == row[1]
    finally:
        lake.sql("DROP TABLE lake.db.twice")
        for setting in ("", ".warehouse"):
            lake.spark.conf.unset(f"spark.sql.catalog.twin{setting}")


def test_version_as_of(lake: Lake) -> None:
    """A number, a tag or a time names a version; the newest and an older one are two in one query."""
    assert lake.numbers("lake.db.events VERSION AS OF 1") == [1, 2]
    assert lake.numbers("lake.db.events VERSION AS OF 'audit-2026'") == [1, 2]
    assert lake.numbers("lake.db.events") == [1, 2, 3]
    joined = (
        "SELECT old.k, new.k FROM lake.db.events VERSION AS OF 1 old "
        "FULL JOIN lake.db.events new ON old.k = new.k FULL JOIN lake.db.events VERSION AS OF 0 none ON none.k = new.k "
        "ORDER BY new.k"
    )
    assert lake.sql(joined) == [(1, 1), (2, 2), (None, 3)]
    subtracted = "SELECT k FROM lake.db.events EXCEPT SELECT k FROM lake.db.events VERSION AS OF 1"
    assert lake.sql(subtracted) == [(3,)]
    read = lake.spark.read
    assert read.option("versionAsOf", 1).table("lake.db.events").count() == 2
    assert lake.sql("SELECT count(*) FROM lake.db.events WITH (version = 0)") == [(0,)]


def test_timestamp_as_of(lake: Lake) -> None:
    """A time means what it means in the session's zone."""
    moment = datetime.fromtimestamp(lake.table("db/events").at(version=1).state.timestamp_ms / 1000, UTC)
    for zone, offset in (("UTC", 0), ("Asia/Tokyo", 9)):
        text = (moment + timedelta(hours=offset)).strftime("%Y-%m-%d %H:%M:%S.%f")
        with changed(lake.spark, {TIME_ZONE: zone}):
            assert lake.numbers(f"lake.db.events TIMESTAMP AS OF '{text}'") == [1, 2]
    assert lake.numbers("lake.db.events TIMESTAMP AS OF current_timestamp()") == [1, 2, 3]
    assert lake.spark.read.option("timestampAsOf", "2999-01-01").table("lake.db.events").count() == 3


def test_versions_that_are_not_there(lake: Lake) -> None:
    """They are named in the error; a version of the past is not written to."""
    refused(lake, "SELECT * FROM lake.db.events VERSION AS OF 99", "no version 99")
    refused(lake, "SELECT * FROM lake.db.events VERSION AS OF 'draft'", "no tag 'draft'.*audit-2026")
    refused(lake, "SELECT * FROM lake.db.events TIMESTAMP AS OF '2001-01-01'", "oldest version")
    refused(lake, "INSERT INTO lake.db.events WITH (versionAsOf = 1) VALUES (NULL, 'x', 1)", "version of the past")
    with pytest.raises(PySparkException, match="version of the past"):
        lake.spark.table("lake.db.events").writeTo("lake.db.events").option("versionAsOf", "1").append()
    assert lake.table("db/events").version == 3


def test_a_view_and_a_cached_table_follow(lake: Lake) -> None:
    """Neither a view nor CACHE TABLE shows an older version than there is."""
    lake.sql("CREATE TABLE lake.db.live AS SELECT 1L AS k")
    lake.sql("CREATE TEMP VIEW seen AS SELECT * FROM lake.db.live")
    lake.sql("CACHE TABLE lake.db.live")
    lake.sql("INSERT INTO lake.db.live VALUES (2)")
    assert lake.numbers("seen") == [1, 2]
    assert lake.numbers("lake.db.live") == [1, 2]
    assert lake.numbers("lake.db.live VERSION AS OF 1") == [1]
    lake.sql("UNCACHE TABLE lake.db.live")
    lake.table("db/live").delete("k = 1")  # past Spark
    assert lake.numbers("lake.db.live") == [2]
    lake.sql("DROP TABLE lake.db.live")


def test_metadata_tables(lake: Lake) -> None:
    """Files, logical partitions, versions, tags and specs, with columns of their own types."""
    assert lake.sql(
        "SELECT rows, partitions[0].app FROM lake.db.events.files WHERE partitions[0].dt > DATE '2026-05-02'"
    ) == [(1, "C")]
    rows = lake.sql("SELECT dt, app, rows FROM lake.db.events.partitions WHERE app < 'C' ORDER BY dt")
    assert rows == [(date(2026, 5, 1), "A", 1), (date(2026, 5, 2), "B", 1)]
    history = lake.sql("SELECT version, operation, rows_added FROM lake.db.events.history ORDER BY version")
    assert history == [(0, "create", None), (1, "append", 2), (2, "append", 1), (3, "tag", 0)]
    assert lake.sql("SELECT committed > TIMESTAMP '2026-01-01' FROM lake.db.events.history LIMIT 1") == [(True,)]
    assert lake.sql("SELECT * FROM lake.db.events.tags") == [("audit-2026", 1)]
    assert lake.sql("SELECT * FROM lake.db.events.specs") == [(0, True, ["dt", "app"])]
    joined = (
        "SELECT t.k, p.rows, h.operation FROM lake.db.events t JOIN lake.db.events.partitions p USING (dt, app) "
        "JOIN lake.db.events.files f ON f.partitions[0].app = t.app JOIN lake.db.events.history h "
        "ON h.version = f.added_version ORDER BY t.k"
    )
    assert lake.sql(joined) == [(1, 1, "append"), (2, 1, "append"), (3, 1, "append")]
    types = dict(lake.spark.table("lake.db.events.history").dtypes)
    assert (types["version"], types["committed"], types["commit_id"]) == ("bigint", "timestamp", "string")


def test_metadata_tables_of_the_past(lake: Lake) -> None:
    """VERSION AS OF shows what was so at that version."""
    assert lake.sql("SELECT count(*) FROM lake.db.events.files VERSION AS OF 1") == [(2,)]
    assert lake.sql("SELECT max(version) FROM lake.db.events.history VERSION AS OF 'audit-2026'") == [(1,)]
    assert lake.sql("SELECT * FROM lake.db.events.tags VERSION AS OF 2") == []
    assert lake.sql("SELECT count(*) FROM lake.db.events.partitions VERSION AS OF 0") == [(0,)]


def test_metadata_tables_follow(lake: Lake) -> None:
    """After a commit, a query shows the new state; partition fields of every type come back as they are."""
    lake.sql(
        "CREATE TABLE lake.db.typed (ts TIMESTAMP, n DECIMAL(5,2), b BINARY, t TIMESTAMP_NTZ) "
        "PARTITIONED BY (n, b, t, days(ts))"
    )
    lake.sql(
        "INSERT INTO lake.db.typed VALUES (NULL, NULL, NULL, NULL), "
        "(TIMESTAMP '2026-05-01 12:00:00', 1.50, X'00ff', TIMESTAMP_NTZ '2026-05-01 01:02:03')"
    )
    rows = lake.sql("SELECT n, b, t, ts_day, rows FROM lake.db.typed.partitions ORDER BY rows, n NULLS FIRST")
    values = lake.table("db/typed").partitions()
    assert len(rows) == len(values) == 2
    for row, partition in zip(rows, sorted(values, key=lambda p: p.values["n"] is not None), strict=True):
        n, b, t, day, count = row
        expected = partition.values
        assert (n, None if b is None else bytes(b), t, day, count) == (
            expected["n"], expected["b"], expected["t"], expected["ts_day"], partition.rows
        )  # fmt: skip
    lake.sql("CALL lake.system.evolve('db.typed', drop => array('b'))")
    assert lake.sql("SELECT spec_id, current FROM lake.db.typed.specs ORDER BY 1") == [(0, False), (1, True)]
    lake.sql("DROP TABLE lake.db.typed")


def test_metadata_is_not_written(lake: Lake) -> None:
    """It is refused, as are names that no metadata table has."""
    refused(lake, "INSERT INTO lake.db.events.tags VALUES ('x', 1)", "cannot be written to")
    refused(lake, "SELECT * FROM lake.db.events.nothing", "TABLE_OR_VIEW_NOT_FOUND")
    refused(lake, "SELECT * FROM lake.db.events.files.files", "TABLE_OR_VIEW_NOT_FOUND")
    refused(lake, "DROP TABLE lake.db.events.files", "goes with the table only")
    assert lake.numbers("lake.db.events") == [1, 2, 3]


def test_procedures(lake: Lake) -> None:
    """CALL does what the methods of a table do, and says what it has done."""
    events(lake, "db.kept")
    table = lake.table("db/kept")
    lake.sql("CALL lake.system.set_rule(table => 'db.kept', small => array('app'), below => '1MB')")
    assert lake.sql("CALL lake.system.compact(table => 'db.kept', dry_run => true)")[0][2] == 3
    lake.sql("CALL lake.system.evolve('db.kept', drop => array('dt'))")
    ((version, steps, before, after, *_),) = lake.sql("CALL lake.system.compact('lake.db.kept', where => 'k < 10')")
    assert (version, steps, before, after) == (5, 1, 3, 1)
    table.refresh().set_properties({"remove.by": "mark"})
    table.drop_partition(app="A")
    ((version, *_, reasons, _, _),) = lake.sql("CALL lake.system.purge('db.kept')")
    assert (version, reasons) == (8, {"with rows that were removed": 1})
    assert lake.sql("CALL lake.system.tag('db.kept', 'here')")[0][:2] == (9, "tag")
    assert lake.sql("CALL lake.system.untag('db.kept', 'here')")[0][:2] == (10, "untag")
    assert lake.sql("CALL lake.system.rollback('db.kept', version => 2)")[0][:3] == (11, "rollback", 1)
    assert lake.numbers("lake.db.kept") == [1, 2, 3]
    ((version, first, versions, *_),) = lake.sql(
        "CALL lake.system.expire('db.kept', older_than => '0s', keep_last => 1, force => true)"
    )
    assert (version, first, len(versions)) == (12, 11, 11)
    ((files, paths, *_, dry),) = lake.sql("CALL lake.system.vacuum('db.kept', '0s', dry_run => true, force => true)")
    assert (files, dry) == (len(paths), True)
    assert files > 0
    assert lake.sql("CALL lake.system.check('db.kept', deep => true)") == []
    (lake.root / "db" / "kept" / table.refresh().files()[0].path).unlink()
    ((kind, *_),) = lake.sql("CALL lake.system.check('db.kept')")
    assert kind == "missing-file"
    lake.sql("DROP TABLE lake.db.kept")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("compact(table => 'db.events', wher => 'x')", "where"),
        ("compact()", "table"),
        ("compakt('db.events')", "lake.system has compact, purge"),
        ("compact('db.nothing')", "no table 'db.nothing' in the catalog lake"),
        ("compact('db')", "no table 'db'"),
        ("compact('db.events', where => 'nothing = 1')", "no column 'nothing'"),
        ("rollback('db.events', NULL)", "needs version"),
        ("rollback('db.events', 'first')", "CAST_INVALID_INPUT|type"),
        ("rollback('db.events', 99)", "99"),
        ("expire('db.events', '1h')", "24 hours"),
        ("set_rule('db.events')", r"small => array\('app'\)"),
        ("evolve('db.events')", "changes nothing"),
        ("tag('db.events', '7')", "it is a number"),
    ],
)
def test_calls_that_are_refused(lake: Lake, call: str, words: str) -> None:
    """An argument that is none is refused with those there are."""
    refused(lake, f"CALL lake.system.{call}", words)
    assert lake.table("db/events").version == 3
