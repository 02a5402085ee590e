"""Compaction by Spark: the table comes out as when the process itself does it, and rows keep their ids."""

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import coalesce
from coalesce.arrow.read import open_file
from coalesce.table.maintain.worth import GROWN, OLD, SMALL
from coalesce.table.table import Table, core_of
from tests.checker import check_files
from tests.spark.frames import content, stored
from tests.spark.test_operations import SCHEMA, events
from tests.support.engines import by_jobs
from tests.support.settings import changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def filled(directory: Path, spark: "SparkSession | None" = None, **properties: str) -> Table:
    """Six appends of thirty rows; the apps share a file in each."""
    table = coalesce.create(
        directory,
        SCHEMA,
        partition_by=["dt", "app"],
        rule=coalesce.small("app", below="1MB"),
        properties=properties,
        spark=spark,
    )
    for start in range(0, 180, 30):
        table.append(events(["a", "b", None, "", "long"], range(start, start + 30)))
    return table


def facts(table: Table) -> list[Any]:
    """Every row with its id and version."""
    found = []
    for entry in table.files():
        with open_file(core_of(table).storage, entry, table.state) as file:
            rows = file.read(table.schema.fields, range(len(file.group_rows))).to_pylist()
            lineage = file.lineage()
            assert lineage is not None
            found += [f"{row} {own}" for row, own in zip(rows, lineage.to_pylist(), strict=True)]
    return sorted(found)


def said(table: Table) -> list[Any]:
    """What the entries say, but for paths and bytes."""
    return [
        (f.spec_id, f.rule_id, f.physical_key, f.rows, f.tuples, f.tuple_rows, f.complete, f.statistics)
        for f in sorted(table.files(), key=lambda f: repr(f.tuples))
    ]


def test_jobs_and_the_process_itself_do_the_same(spark: "SparkSession", tmp_path: Path) -> None:
    """Small files become one: same rows, ids, tuples, counts, statistics and physical key; nothing is left behind."""
    here, jobs = filled(tmp_path / "here"), by_jobs(filled(tmp_path / "jobs", spark), spark)
    before = facts(jobs)
    results = [table.compact() for table in (here, jobs)]
    assert [(r.files_before, r.files_after, r.rows, r.reasons) for r in results] == [(6, 1, 180, {SMALL: 6})] * 2
    assert facts(jobs) == before
    assert said(jobs) == said(here)
    assert content(jobs) == content(here)
    check_files(core_of(jobs).storage, jobs.state, jobs.files())
    assert len(stored(jobs)) == 7
    assert jobs.compact().files_before == 0
    assert jobs.read().count() == 180


def test_rows_go_where_the_planner_wants_them(spark: "SparkSession", tmp_path: Path) -> None:
    """Several files, cut by rows, and an app that has grown: as many files as planned, in the right places."""
    table = by_jobs(filled(tmp_path / "t", spark), spark)
    table.set_rule(coalesce.small("app", below="1KB", target="2KB"))
    before = content(table)
    result = table.compact()
    assert set(result.reasons) <= {OLD, GROWN, SMALL}
    assert content(table) == before
    check_files(core_of(table).storage, table.state, table.files())
    assert table.compact().files_before == 0
    assert {f.rule_id for f in table.files()} == {1}
    assert len(table.files()) > 1


@pytest.fixture
def shuffles(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """To how many tasks each write has sent its rows: one number for each shuffle that a write asks for."""
    from pyspark.sql.classic.dataframe import DataFrame

    asked: list[int] = []
    send = DataFrame.repartitionById

    def counted(frame: DataFrame, count: int, task: Any) -> Any:
        asked.append(count)
        return send(frame, count, task)

    monkeypatch.setattr(DataFrame, "repartitionById", counted)
    return asked


def test_new_files_of_whole_old_ones_take_no_shuffle(
    spark: "SparkSession", tmp_path: Path, shuffles: list[int]
) -> None:
    """Days that become a file each, some of whose files lack a column: as the process does it, and no row is sent."""
    both = []
    for name, session in (("here", None), ("jobs", spark)):
        table = filled(tmp_path / name, session)
        table.append(events(["b", None], range(200, 230), date(2026, 5, 18)))
        table.append(events(["alone"], range(230, 240), date(2026, 5, 19)))
        table.add_column("n", "int", default=7)
        days = [events(["x", "b"], range(300 + d, 310 + d), date(2026, 5, 17 + d)) for d in range(3)]
        table.append(pa.concat_tables(days).append_column("n", pa.array(range(30), pa.int32())))
        both.append(table if session is None else by_jobs(table, spark))
    here, jobs = both
    before = facts(jobs)
    results = [table.compact() for table in both]
    assert [(r.files_before, r.files_after, r.steps) for r in results] == [(11, 3, 1)] * 2
    assert shuffles == []
    assert facts(jobs) == before
    assert said(jobs) == said(here)
    check_files(core_of(jobs).storage, jobs.state, jobs.files())


def test_old_files_that_go_to_several_new_ones_are_shuffled(
    spark: "SparkSession", tmp_path: Path, shuffles: list[int]
) -> None:
    """A large day is cut into files, each of which has rows of all old ones."""
    table = by_jobs(filled(tmp_path / "t", spark), spark)
    before = facts(table)
    table.set_rule(coalesce.small("app", target="2KB"))
    assert table.compact().files_after > 1
    assert shuffles
    assert facts(table) == before
    check_files(core_of(table).storage, table.state, table.files())


@pytest.mark.parametrize("lenient", ["ignoreMissingFiles", "ignoreCorruptFiles"])
def test_no_row_is_left_out_because_a_session_reads_leniently(
    spark: "SparkSession", tmp_path: Path, lenient: str
) -> None:
    """A file that is gone or broken fails the compaction: its rows would otherwise be missing from what replaces it."""
    table = by_jobs(filled(tmp_path / "t", spark), spark)
    file = tmp_path / "t" / table.files()[2].path
    if lenient == "ignoreMissingFiles":
        file.unlink()
    else:
        file.write_bytes(bytes(file.stat().st_size))
    with changed(spark, {f"spark.sql.files.{lenient}": "true"}), pytest.raises(Exception, match=file.name):
        table.compact()
    assert table.state.files == 6


def test_files_of_an_older_spec_are_counted_first(spark: "SparkSession", tmp_path: Path) -> None:
    """Their tuples of now are in the rows only; afterwards all is of one generation."""
    table = by_jobs(filled(tmp_path / "t", spark), spark)
    table.evolve(add="bucket(2, k)", drop="app")
    before, ids = content(table), facts(table)
    assert table.compact().reasons == {OLD: 6}
    assert (content(table), facts(table)) == (before, ids)
    assert [generation.current for generation in table.describe_evolution()] == [True]
    check_files(core_of(table).storage, table.state, table.files())


@pytest.mark.parametrize("streams", [1, 3])
def test_a_stream_sees_no_new_rows(spark: "SparkSession", tmp_path: Path, streams: int) -> None:
    """A table that keeps itself in shape, written by small frames and read as a stream: each row once."""
    table = filled(tmp_path / "t", spark, **{"write.auto-compact": "true", "write.auto-compact-files": "2"})
    assert table.state.files < 6
    frame = spark.readStream.format("coalesce").load(str(tmp_path / "t"))
    for number in range(streams):
        table.append(spark.sql(f"SELECT DATE '2026-05-17' dt, 'x' app, {1000 + number}L k, 1.0D v, map('y', 1) m"))
        query = (
            frame.writeStream.format("parquet")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(tmp_path / "out"))
        )
        assert query.awaitTermination(120)
    out = spark.read.parquet(str(tmp_path / "out"))
    assert sorted(row.k for row in out.select("k").collect()) == [*range(180), *range(1000, 1000 + streams)]
