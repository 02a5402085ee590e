"""What happens when applications die, compete, or have executors of their own: each in processes of its own."""

import time
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import coalesce
from coalesce.table.table import Table, core_of
from tests.checker import check_files
from tests.spark.applications import finish, follow, start
from tests.spark.events import make_events
from tests.spark.frames import frame_of, stored
from tests.support.numbers import table_numbers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ON_A_CLUSTER = "local-cluster[2,1,1024]"
SCHEMA = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("k", pa.int64())])


def events(first: int, count: int) -> pa.Table:
    """Rows of three apps, numbered."""
    numbers = range(first, first + count)
    return pa.table(
        {"dt": [date(2026, 5, 17)] * count, "app": [f"app{i % 3}" for i in numbers], "k": list(numbers)}, schema=SCHEMA
    )


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table with ten rows, in one shared file."""
    made = coalesce.create(tmp_path / "t", SCHEMA, partition_by=["dt", "app"], rule=coalesce.small("app"))
    made.append(events(0, 10))
    return made


@pytest.mark.spark
def test_an_application_killed_while_it_writes(table: Table) -> None:
    """What it had begun is named by no version: the table is as it was, and the next write is not disturbed."""
    before = stored(table)
    application = start("die_writing", table.location)
    _, err = application.communicate(timeout=300)
    assert application.returncode == -9, err[-3000:]

    assert before < stored(table), "it died too early for this test"
    assert table.refresh().version == 1
    assert table_numbers(table) == list(range(10))
    table.append(events(10, 5))
    assert table_numbers(table) == list(range(15))
    check_files(core_of(table).storage, table.state, table.files())


def test_two_applications_write_at_once(spark: "SparkSession", table: Table) -> None:
    """The appends of both land, each row once, though they race for the same version numbers."""
    own = coalesce.open(table.location, spark=spark)
    other = start("append_often", table.location, 1000, 4)
    assert other.stdout is not None
    assert other.stdout.readline() == "ready\n", other.communicate()[1][-3000:]
    for number in range(4):
        own.append(frame_of(spark, events(2000 + 10 * number, 10)))
    finish(other)

    assert table_numbers(table) == [*range(10), *range(1000, 1040), *range(2000, 2040)]
    assert table.version == 9
    check_files(core_of(table).storage, table.state, table.files())


@dataclass(frozen=True)
class Cluster:
    """What an application has printed whose executors are processes of their own, and where it has worked."""

    printed: list[str]
    table: Path
    failures: Path
    events: list[int]  # how many rows it should have found in a table that was there


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """One application for the tests below; its tasks fail twice."""
    directory = tmp_path_factory.mktemp("cluster")
    (directory / "failures").mkdir()
    events = make_events(directory / "events")
    counts = [events.count(w) for w in ("app = 'A'", "true", "s = 's1'", "s IS NULL")]
    started = start("on_a_cluster", *(directory / n for n in ("t", "failures", "events")), master=ON_A_CLUSTER)
    return Cluster(finish(started).splitlines(), directory / "t", directory / "failures", [*counts, 3])


@pytest.mark.spark
def test_executors_in_processes_of_their_own(cluster: Cluster) -> None:
    """On a cluster, with tasks that fail twice, rows are written once, read, overwritten and deleted exactly."""
    assert len(list(cluster.failures.iterdir())) == 2
    expected = {f"app{a}": [k for k in range(300) if k % 7 == a] for a in range(7)}
    expected["app1"] = [k for k in range(1000, 1007) if k % 7 == 1]
    expected["app2"] = [k for k in range(2000, 2007) if k % 7 == 2]
    expected["app3"] = [k for k in expected["app3"] if k % 2]
    assert cluster.printed[0] == str([(app, len(ks), sum(ks)) for app, ks in expected.items()])
    table = coalesce.open(cluster.table)
    assert table_numbers(table) == sorted(k for ks in expected.values() for k in ks)
    check_files(core_of(table).storage, table.state, table.files())


@pytest.mark.spark
def test_executors_need_nothing(cluster: Cluster) -> None:
    """They lack the classes of the source, and yet scans and mapped names work."""
    assert cluster.printed[1] == str(cluster.events)


def test_a_stream_that_is_killed_and_started_again(spark: "SparkSession", table: Table, tmp_path: Path) -> None:
    """A batch that was committed before the process died is given again, and not written again."""
    source, checkpoint = tmp_path / "source", tmp_path / "checkpoint"
    source.mkdir()
    for number in range(3):
        pq.write_table(events(100 + 10 * number, 10), source / f"{number}.parquet")
        time.sleep(0.01)  # files are taken in the order of their times
    first = start("stream", table.location, source, checkpoint, 1)
    _, err = first.communicate(timeout=300)
    assert first.returncode == -9, err[-3000:]
    assert table_numbers(table) == [*range(10), *range(100, 120)]
    assert [v.operation for v in table.history()] == ["append", "append", "append", "create"]

    given: list[int] = []
    append = coalesce.each_batch(coalesce.open(table.location, spark=spark))

    def append_and_tell(batch: "DataFrame", number: int) -> None:
        given.append(number)
        append(batch, number)

    follow(spark, str(source), str(checkpoint), append_and_tell)

    assert given == [1, 2], "Spark did not know that batch 1 was done"
    assert table_numbers(table) == [*range(10), *range(100, 130)]
    assert list(table.state.applied.values()) == [2]
