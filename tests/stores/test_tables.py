"""Whole tables on each store: commits from several writers, and everything a table's life has in it."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

import coalesce
from coalesce.errors import TableExists
from coalesce.table.table import Table
from tests.storage.test_race import race
from tests.stores.places import Place, storage_at
from tests.table.examples import DAY, SCHEMA, events, ids

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WRITERS, APPENDS = 4, 3


def created(place: Place, session: "SparkSession | None") -> Table:
    """A new table there, whose small apps share files."""
    return coalesce.create(
        place.location,
        SCHEMA,
        partition_by=["dt", "app"],
        rule=coalesce.small("app"),
        storage_options=place.options,
        spark=session,
    )


def opened(place: Place, session: "SparkSession | None") -> Table:
    """The same table, as another program opens it."""
    return coalesce.open(place.location, storage_options=place.options, spark=session)


def test_a_table_lives_there(place: Place, session_of: "SparkSession | None") -> None:
    """Created, appended to, queried, overwritten and dropped by logical partition, and looked at as it was."""
    table = created(place, session_of)
    table.append(events(["A", "B", "C", "", None], range(5)))  # type: ignore[list-item]
    table.append(events("A", [10, 11]))
    assert ids(opened(place, session_of), "app = 'A'") == [0, 10, 11]
    assert table.count("app IS NULL") == 1
    table.overwrite(events("B", [20]), where="app = 'B'")
    table.drop_partition(dt=DAY, app="C")
    again = opened(place, session_of)
    assert ids(again) == [0, 3, 4, 10, 11, 20]
    assert ids(again.at(version=2)) == [0, 1, 2, 3, 4, 10, 11]
    assert len(again.plan("app = 'B'").files) == 1
    again.rollback(1)
    assert ids(opened(place, session_of)) == [0, 1, 2, 3, 4]
    with pytest.raises(TableExists):
        created(place, session_of)


def test_writers_that_commit_at_once_all_do(place: Place, session_of: "SparkSession | None") -> None:
    """Every append is one version, whoever was faster, and every row is there once."""
    created(place, session_of)

    def write(writer: int) -> list[int]:
        table = opened(place, session_of)
        return [table.append(events(f"app {writer}", [100 * writer + n])).version for n in range(APPENDS)]

    with ThreadPoolExecutor(WRITERS) as pool:
        numbers = [number for written in pool.map(write, range(WRITERS)) for number in written]
    assert sorted(numbers) == list(range(1, WRITERS * APPENDS + 1))
    assert ids(opened(place, session_of)) == [100 * w + n for w in range(WRITERS) for n in range(APPENDS)]


def test_of_several_that_create_a_file_one_does(place: Place, session_of: "SparkSession | None") -> None:
    """Who is told True is one, and the bytes are that one's; clients share nothing but the store."""
    names = [f"_coalesce/versions/{n:020}.json" for n in range(20)]
    stores = [storage_at(place, session_of) for _ in range(4)]

    def create(me: int) -> Sequence[str]:
        return [name for name in names if stores[me].put_if_absent(name, str(me).encode() * 1000)]

    with ThreadPoolExecutor(len(stores)) as pool:
        won = list(pool.map(create, range(len(stores))))
    winners = {name: [me for me, mine in enumerate(won) if name in mine] for name in names}
    assert {name: len(said) for name, said in winners.items()} == dict.fromkeys(names, 1)
    assert all(stores[0].read(name) == str(said[0]).encode() * 1000 for name, said in winners.items())
    assert [file.path for file in stores[0].list("")] == names


def test_of_several_processes_one_creates_each_file(place: Place) -> None:
    """The same between processes, where no JVM is needed to get there."""
    if not place.options:
        pytest.skip("a JVM for each process is more than this is worth; the store decides, not the client")
    names = [f"_coalesce/versions/{n:020}.json" for n in range(15)]
    winners = race(place.location, place.options, names)
    assert {name: len(said) for name, said in winners.items()} == dict.fromkeys(names, 1)


def test_a_listing_of_several_pages_is_whole(place: Place, session_of: "SparkSession | None") -> None:
    """More names than a store gives at once come in order, and from a name on."""
    storage = storage_at(place, session_of)
    names = [f"v/{n:020}.json" for n in range(5_100 if place.location.startswith("az:") else 1_100)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: storage.put(name, b""), names))
    assert [file.path for file in storage.list("v")] == names
    assert [file.path for file in storage.list("v", names[-3])] == names[-2:]


def test_spark_reads_and_writes_there(place: Place, session_of: "SparkSession | None") -> None:
    """Rows through Spark's own writers and readers, where Spark has a file system for the place."""
    if session_of is None:
        pytest.skip("obstore goes there; Spark would need a connector, which is not tried here")
    table = created(place, session_of)
    rows = session_of.createDataFrame([(DAY, f"app {n % 7}", n) for n in range(500)], "dt date, app string, id bigint")
    table.append(rows)
    table.overwrite(rows.where("app = 'app 3'").limit(5), where="app = 'app 3'")
    assert table.read().where("app = 'app 3'").count() == 5
    assert table.read(version=1).count() == 500
    assert session_of.read.format("coalesce").load(place.location).where("app = 'app 1'").count() == 72
