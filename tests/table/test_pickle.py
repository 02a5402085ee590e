"""A table can be sent to another process, at its version, and without what belongs to this one."""

import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import coalesce
from coalesce.errors import CoalesceError, NeedsSpark
from coalesce.table.table import core_of
from tests.s3 import S3Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = pa.table({"app": ["A", "B", "B"], "n": [1, 2, 3]})


@pytest.fixture
def table(tmp_path: Path) -> coalesce.Table:
    """Three rows."""
    made = coalesce.create(tmp_path / "events", ROWS.schema, partition_by=["app"], rule=coalesce.small("app"))
    made.append(ROWS)
    return made


def copied(table: coalesce.Table) -> coalesce.Table:
    """The table after a journey."""
    found = pickle.loads(pickle.dumps(table))
    assert isinstance(found, coalesce.Table)
    return found


def test_plans_and_scans_can_be_sent(table: coalesce.Table) -> None:
    """They stay at their version: the copy has the same files and reads the same rows, whatever came since."""
    scan = table.scan("app = 'B'", columns=["n"])
    table.append(ROWS)
    plan: coalesce.Plan = pickle.loads(pickle.dumps(scan.plan))
    assert (plan.version.number, list(plan.paths()), plan.explain()) == (
        1,
        list(scan.plan.paths()),
        scan.plan.explain(),
    )
    copy: coalesce.Scan = pickle.loads(pickle.dumps(scan))
    assert copy.to_arrow().to_pydict() == scan.to_arrow().to_pydict() == {"n": [2, 3]}


def test_the_copy_is_at_the_same_version_and_follows(table: coalesce.Table) -> None:
    """It sees what the original saw, also if rows came since, and moves on as any table does."""
    other = coalesce.open(table.location)
    other.append(ROWS)
    copy = copied(table)
    assert (copy.version, copy.count(), copy.refresh().count()) == (1, 3, 6)
    assert copy.append(ROWS).version == 3
    assert table.refresh().count() == 9


def test_one_that_was_opened_at_a_version_stays_there(table: coalesce.Table) -> None:
    """And refuses writes."""
    copy = copied(table.at(version=0))
    assert copy.refresh().count() == 0
    with pytest.raises(CoalesceError, match="opened at version 0 and is read-only"):
        copy.append(ROWS)


def test_a_copy_needs_no_request(table: coalesce.Table) -> None:
    """The version travels with it: a thousand workers do not ask for the same file."""
    sent = pickle.dumps(table)
    versions = Path(table.location) / "_coalesce" / "versions"
    versions.rename(versions.with_name("elsewhere"))
    assert pickle.loads(sent).count() == 3


def appended(table: coalesce.Table) -> int:
    """What another process does with it."""
    return table.append(ROWS).version


@pytest.mark.usefixtures("table")
def test_a_process_of_its_own_writes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From another directory, too, though it was opened by a relative path."""
    monkeypatch.chdir(tmp_path)
    relative = coalesce.open("events")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert pool.submit(appended, relative).result() == 2
    sent = tmp_path / "table.pickle"
    sent.write_bytes(pickle.dumps(relative))
    code = f"import pickle; print(pickle.loads(open({str(sent)!r}, 'rb').read()).refresh().count())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stdout == "6\n", ran.stderr


def test_options_of_an_object_store_go_with_it(s3_location: S3Location) -> None:
    """Without them the other side would not get in."""
    table = coalesce.create(s3_location.location, ROWS.schema, storage_options=s3_location.options)
    table.append(ROWS)
    assert copied(table).count() == 3


def test_spark_stays_here(table: coalesce.Table, spark: "SparkSession") -> None:
    """The copy reads and writes with Arrow, and its conditions keep the session's time zone and case."""
    with_spark = coalesce.open(table.location, spark=spark)
    copy = copied(with_spark)
    assert copy.append(ROWS).rows_added == 3
    with pytest.raises(NeedsSpark, match="needs a session"):
        copy.read()
    assert core_of(copy).time_zone == core_of(with_spark).time_zone

    def counted(apps: "list[str]") -> list[int]:
        return [copy.count(f"app = '{app}'") for app in apps]

    assert spark.sparkContext.parallelize([["A"], ["B"]], 2).map(counted).collect() == [[2], [4]]
