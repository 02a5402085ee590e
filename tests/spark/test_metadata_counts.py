"""Counts that Spark answers from metadata: where it does, the number is that of the rows, and no file is read."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

import coalesce
from coalesce.model.datafile import DataFile
from coalesce.plan.plan import Plan
from coalesce.spark.source import queries
from coalesce.spark.source.versions import QueriedVersion
from coalesce.spark.translate.condition import bound_from
from coalesce.table.table import Table
from tests.spark.events import DAYS, SCHEMA, make_events, rows
from tests.spark.queries import condition
from tests.spark.test_native_pruning import explained, files_read
from tests.support.entries import mend
from tests.support.examples import examples
from tests.support.settings import COUNTED_BY_READING, INTERPRETED, changed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CONDITIONS = examples(10)


def load(spark: "SparkSession", table: Table, view: str = "ours", **options: object) -> "DataFrame":
    """The table, natively, and under this name."""
    frame = spark.read.format("coalesce").options(**{n: str(v) for n, v in options.items()}).load(table.location)
    frame.createOrReplaceTempView(view)
    return frame


def is_answered(frame: "DataFrame") -> bool:
    """Whether no table is read for it."""
    return "coalesce v" not in explained(frame)


# --- the same number as of rows ----------------------------------------------------------------------------------


def _adopted(path: Path) -> Table:
    """Files of a Hive-style directory, which lack two columns; then shared ones beside them."""
    pq.write_to_dataset(rows(0, 120), path, partition_cols=["dt", "app"])
    table = coalesce.adopt(path, schema=SCHEMA, rule=coalesce.small("app")).table
    table.append(rows(150, 100))
    return table


def _forgotten(rng: random.Random) -> Callable[[DataFile], DataFile]:
    """Makes some entries lose something: whether its tuples are all of them, or how many rows each has."""

    def forget(file: DataFile) -> DataFile:
        if file.dead or rng.random() > 0.2:
            return file
        return replace(file, complete=False) if rng.random() < 0.5 else replace(file, tuple_rows=None)

    return forget


def _step(table: Table, rng: random.Random) -> None:
    """Something that happens to a table."""
    steps: list[Callable[[], object]] = [
        lambda: table.append(rows(rng.randrange(450), 40)),
        lambda: table.drop_partition(app=rng.choice(["A", "B", "", None, "[#small]"])),
        lambda: table.delete(f"dt = DATE '{rng.choice(DAYS)}' AND app > 'a'"),
        lambda: table.delete(f"k % 13 = {rng.randrange(13)}"),
        lambda: table.evolve(drop="app") if len(table.state.spec.fields) == 2 else table.evolve(add="bucket(3, app)"),
        lambda: table.evolve(replace={table.state.spec.fields[0].name: rng.choice(["months(ts)", "truncate(2, s)"])}),
        table.compact,
        lambda: mend(table, _forgotten(rng)),
    ]
    rng.choice(steps)()


@pytest.mark.parametrize("start", [make_events, _adopted], ids=["written", "adopted"])
@pytest.mark.parametrize("seed", range(examples(1)))
def test_the_number_of_rows(spark: "SparkSession", tmp_path: Path, seed: int, start: Callable[[Path], Table]) -> None:
    """Whatever has become of a table, and for any condition: versions with dead rows, several specs, lost knowledge."""
    rng = random.Random(seed)
    table = start(tmp_path / "events")
    table.set_properties({"remove.by": "mark"})
    for _ in range(6):
        _step(table, rng)
    for version in sorted({table.version, rng.randrange(1, table.version)}):
        load(spark, table, version=version)
        spark.createDataFrame(table.at(version=version).scan().to_arrow()).createOrReplaceTempView("plain")
        wheres = ["true", "k % 7 = 3", *(condition(rng.randrange(1_000_000)) for _ in range(CONDITIONS))]
        counts = [[f"SELECT {n}, count(*) FROM {t} WHERE {w}" for n, w in enumerate(wheres)] for t in ("ours", "plain")]
        with changed(spark, INTERPRETED):
            ours, plain = (spark.sql(" UNION ALL ".join(texts)) for texts in counts)
            found, expected = (dict(map(tuple, frame.collect())) for frame in (ours, plain))
        assert not [(w, found[n], expected[n]) for n, w in enumerate(wheres) if found[n] != expected[n]]
        assert "OneRowRelation" in explained(ours)  # the first of them, at least
        assert "coalesce v" in explained(ours)  # and the second one is not


# --- what is answered --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Shared files of three writes, without the rows of one app, which are in them still; at version 2 two writes."""
    table = make_events(tmp_path_factory.mktemp("counts") / "events")
    table.set_properties({"remove.by": "mark"})
    table.drop_partition(app="A")
    assert table.state.dead_rows > 0
    return table


@pytest.fixture
def ours(spark: "SparkSession", events: Table) -> Iterator["DataFrame"]:
    """The view `ours` of it."""
    with changed(spark, INTERPRETED):
        yield load(spark, events)


def by_reading(spark: "SparkSession", query: str) -> list[tuple[object, ...]]:
    """What the query gives where nothing is answered from metadata."""
    with changed(spark, COUNTED_BY_READING):
        frame = spark.sql(query)
        assert not is_answered(frame)
        return [tuple(row) for row in frame.collect()]


@pytest.mark.usefixtures("ours")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM ours",
        "SELECT count(1) FROM ours WHERE dt = DATE '2026-05-03' AND app = 'B'",
        "SELECT count('x', 2) FROM ours WHERE app IS NULL OR app IN ('', '[#small]')",
        "SELECT count(*) FROM ours WHERE app = 'A'",
        "SELECT count(*) FROM ours WHERE app <> 'B' AND dt > DATE '2026-05-02'",
        "SELECT count(*) FROM ours WHERE k >= 300",
        "SELECT count(*) FROM ours WHERE lower(app) = 'a'",
        "SELECT count(*) FROM ours WHERE date_format(dt, 'dd') = '03' AND app RLIKE '^[0-9]+$'",
        "SELECT count(*) FROM (SELECT k, dt AS day, app || 'x' AS y FROM ours ORDER BY k) WHERE day IS NOT NULL",
        "SELECT count(coalesce(k, 0)) FROM ours",
        "SELECT count(*) + 1 AS more, count(*) AS n, count(NULL), 'x' FROM ours WHERE app = 'B'",
        "SELECT 1 / count(*), CAST(count(*) AS STRING) FROM ours",
        "SELECT count(*) AS n FROM ours HAVING n > 5",
        "SELECT count(*) AS n FROM ours HAVING n < 5",
        "SELECT (SELECT count(*) FROM ours) - (SELECT count(*) FROM ours WHERE app = 'B')",
        "SELECT id, id IN (SELECT count(*) FROM ours WHERE app = 'A') FROM range(2) ORDER BY id",
        "SELECT id, n FROM range(2), LATERAL (SELECT count(*) AS n FROM ours WHERE app = 'B') ORDER BY id",
        "WITH c AS (SELECT count(*) AS n FROM ours) SELECT one.n + other.n FROM c AS one JOIN c AS other",
    ],
)
def test_from_metadata(spark: "SparkSession", query: str) -> None:
    """Counts of rows, alone, in expressions and in subqueries, are known without a scan."""
    frame = spark.sql(query)
    assert is_answered(frame)
    assert [tuple(row) for row in frame.collect()] == by_reading(spark, query)


@pytest.mark.usefixtures("ours")
def test_counts_side_by_side(spark: "SparkSession") -> None:
    """Later releases of Spark make one scan of two before anybody is asked: the answer is the same."""
    query = "SELECT 'all', count(*) FROM ours UNION ALL SELECT 'B', count(*) FROM ours WHERE app = 'B' ORDER BY 1"
    frame = spark.sql(query)
    assert is_answered(frame) is spark.version.startswith("4.1.")
    assert [tuple(row) for row in frame.collect()] == by_reading(spark, query)


def test_frames_and_versions(spark: "SparkSession", events: Table) -> None:
    """`df.count()` is answered, of the version that the frame reads; nothing is run for it."""
    for version in (2, events.version):
        frame = load(spark, events, version=version).where("app IN ('A', 'B')")
        expected = len(frame.select("k").collect())
        context = spark.sparkContext
        context.setLocalProperty("spark.jobGroup.id", "counting")
        try:
            assert frame.count() == expected == events.at(version=version).count("app IN ('A', 'B')") > 0
            assert list(context.statusTracker().getJobIdsForGroup("counting")) == []
        finally:
            context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
    assert "LocalTableScan" in explained(spark.sql("SELECT count(*) FROM ours"))


@pytest.mark.usefixtures("ours")
def test_a_number_prunes(spark: "SparkSession") -> None:
    """A count in a subquery is a value to the rest of the query, by which it reads fewer files."""
    asked = spark.sql("SELECT k FROM ours WHERE k = (SELECT count(*) FROM ours WHERE app = 'B')")
    assert 0 < sum(files_read(asked)) <= 9


# --- what is not -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("ours")
@pytest.mark.parametrize(
    "query",
    [
        # The rows decide.
        "SELECT count(*) FROM ours WHERE k > 200",
        "SELECT count(*) FROM ours WHERE app = 'B' AND s LIKE 's1%'",
        "SELECT count(*) FROM ours WHERE k % 2 = 0",
        "SELECT count(*) FROM ours WHERE size(tags) > 1",
        "SELECT count(*) FROM ours WHERE info.a = 2",
        # Something else is asked for.
        "SELECT count(app) FROM ours",
        "SELECT count(DISTINCT app) FROM ours",
        "SELECT count(*), max(k) FROM ours",
        "SELECT count(*) FILTER (WHERE app = 'B') FROM ours",
        "SELECT app, count(*) FROM ours GROUP BY app ORDER BY app",
        "SELECT count(*) FROM (SELECT * FROM ours LIMIT 7)",
        "SELECT count(*) FROM (SELECT * FROM ours ORDER BY k OFFSET 7)",
        "SELECT count(*) FROM ours TABLESAMPLE (0 PERCENT)",
        "SELECT count(*) FROM (SELECT DISTINCT app FROM ours)",
        "SELECT count(*) FROM (SELECT explode(tags) FROM ours)",
        "SELECT count(*) FROM ours AS a JOIN ours AS b ON a.k = b.k",
        # Conditions that speak of more than the row, or of another one each time.
        "SELECT count(*) FROM ours WHERE rand() + 1 > 0",
        "SELECT count(*) FROM ours WHERE app = 'B' AND input_file_name() LIKE '%.parquet'",
        "SELECT count(*) FROM ours WHERE app IN (SELECT app FROM ours WHERE k = 7)",
        "SELECT count(*) FROM ours WHERE k = (SELECT max(k) FROM ours)",
        "SELECT id, (SELECT count(*) FROM ours WHERE id > 0) FROM range(2) ORDER BY id",
        "SELECT id, (SELECT count(*) FROM ours WHERE r = id) FROM range(3) ORDER BY id",
    ],
)
def test_by_reading(spark: "SparkSession", query: str) -> None:
    """What metadata cannot know exactly, or nobody has asked for, is read as ever."""
    frame = spark.sql(query)
    assert not is_answered(frame)
    assert [tuple(row) for row in frame.collect()] == by_reading(spark, query)


def test_other_conditions_of_frames(ours: "DataFrame") -> None:
    """Where a row lies is Spark's to know, and a function of somebody's own is left to the executors."""
    is_b = F.udf(lambda app: app == "B", "boolean")
    expected = ours.where("app = 'B'").count()
    for where in (F.expr("_metadata.file_name LIKE '%.parquet' AND app = 'B'"), is_b("app")):
        counted = ours.where(where).groupBy().count()
        assert not is_answered(counted)
        assert counted.collect()[0][0] == expected


@pytest.mark.parametrize("what", ["Missing", "Corrupt"])
def test_who_passes_over_files_counts_what_is_left(spark: "SparkSession", tmp_path: Path, what: str) -> None:
    """A session that leaves out files which it cannot read wants to know how many rows it will see."""
    table = make_events(tmp_path / "events", writes=1)
    gone = table.files()[0]
    file = tmp_path / "events" / gone.path
    file.unlink() if what == "Missing" else file.write_bytes(b"PAR1")
    assert load(spark, table).count() == table.state.rows
    with changed(spark, {f"spark.sql.files.ignore{what}Files": "true"}):
        frame = load(spark, table)
        assert frame.count() == len(frame.select("k").collect()) == table.state.rows - gone.rows


def _fails(*_: object) -> None:
    raise RuntimeError


@pytest.mark.parametrize(
    ("name", "becomes"),
    [("known_count", _fails), ("bound_from", lambda text, schema: None if "'9'" in text else bound_from(text, schema))],
    ids=["the question fails", "one condition is not understood"],
)
def test_no_answer(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, becomes: Callable[..., object]
) -> None:
    """Then the rows are read, as if nobody had asked."""
    table = make_events(tmp_path / "events", writes=1)
    where = "dt > DATE '2026-05-03' AND app > '9'"
    expected = load(spark, table).where(where).count()
    table.append(rows(0, 1))
    monkeypatch.setattr(queries, name, becomes)
    counted = load(spark, table, version=1).where(where).where("k >= 0").groupBy().count()
    assert not is_answered(counted)
    assert counted.collect()[0][0] == expected > 0


def test_a_plan_is_made_once(spark: "SparkSession", events: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was planned to count, and has to be read, is not planned again, with Catalyst's word on tuples in it."""
    made = []
    plan = QueriedVersion.plan

    def planned(found: QueriedVersion, *rest: Any) -> Plan:
        made.append(rest)
        return plan(found, *rest)

    monkeypatch.setattr(QueriedVersion, "plan", planned)
    frame = load(spark, events).where("md5(app) > '7' AND hour(ts) = 3")
    assert frame.count() > 0
    assert len(made) == 1


def test_a_stream_is_not_answered(spark: "SparkSession", tmp_path: Path) -> None:
    """A count over a stream grows by what comes in."""
    table = make_events(tmp_path / "events", writes=1)
    found: list[int] = []

    def run() -> None:
        stream = spark.readStream.format("coalesce").load(table.location).groupBy().count().writeStream
        stream = stream.outputMode("complete").option("checkpointLocation", str(tmp_path / "checkpoint"))
        stream = stream.foreachBatch(lambda batch, _: found.append(batch.collect()[0][0]))
        stream.trigger(availableNow=True).start().awaitTermination()

    run()
    table.append(rows(150, 20))
    run()
    assert found == [150, 170]
