"""The portable source, against a real Spark Connect server that the test starts."""

import json
from pathlib import Path
from typing import Any

import pytest

import coalesce
from tests.spark.asked import CONNECT as PORTABLE
from tests.spark.asked import asked, check_read, check_write, make
from tests.spark.events import make_events, unmanaged
from tests.spark.processes import run

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, object], Path]:
    """What a client of a Connect server has seen; one server for all tests of this module."""
    directory = tmp_path_factory.mktemp("connect")
    make_events(directory / "events")
    places = (directory / name for name in ("events", "new", "asked"))
    lines = run("connect_client", *places, directory=directory)
    return json.loads(lines[-1]), directory


def test_it_is_a_connect_session(connect: tuple[dict[str, object], Path]) -> None:
    """The session has no JVM to reach, and so is not given a catalog."""
    assert str(connect[0]["connect"]).startswith("pyspark.sql.connect")
    assert "its driver is another process" in str(connect[0]["catalog"])


def test_right_rows(connect: tuple[dict[str, object], Path]) -> None:
    """Filter then count, union of two filters, a view used twice, self-join: each as it should be."""
    answers, directory = connect
    table = coalesce.open(directory / "events")
    assert answers["filter then count"] == [1, 450]
    assert answers["union"] == [2, 3]
    assert answers["view twice"] == [table.count("app = 'A'"), 450]
    assert answers["self join"] == 10


def test_options(connect: tuple[dict[str, object], Path]) -> None:
    """`where`, `columns` and `version` choose rows, columns and the version."""
    answers, directory = connect
    table = coalesce.open(directory / "events")
    expected = table.scan("app = 'A' AND dt IS NOT NULL", columns=["k"]).to_arrow().column("k").to_pylist()
    assert answers["columns"] == ["k", "app"]
    assert answers["where"] == sorted(expected)
    assert answers["version"] == 150


def test_values(connect: tuple[dict[str, object], Path]) -> None:
    """Every type arrives as it was written, awkward strings included."""
    answers, directory = connect
    table = coalesce.open(directory / "events")
    rows = table.scan("k < 40").to_arrow().sort_by("k").to_pylist()
    assert repr(answers["rows"]) == repr(json.loads(json.dumps(rows, default=str)))
    assert answers["awkward"] == sorted({str(app) for app in table.distinct("app")})


def test_writes(connect: tuple[dict[str, object], Path]) -> None:
    """`append`, `df.write` and `overwrite` each make one commit, and leave no file that no version names."""
    answers, directory = connect
    assert answers["read"] == 450
    assert answers["appended"] == [100, 100]
    assert answers["written"] == [110, 2]
    assert answers["overwritten"] == [5, 3]
    assert answers["deleted"] == 4
    assert unmanaged(coalesce.open(directory / "new")) == set()


def test_removed_rows_that_still_lie_in_files(connect: tuple[dict[str, Any], Path]) -> None:
    """Rows that were only marked as removed are not read."""
    answers, directory = connect
    dead, rows, of_app = answers["marked"]
    assert dead > 0
    assert (rows, of_app) == (coalesce.open(directory / "new").count(), 0)


def test_rows_outside_of_what_is_overwritten_are_refused(connect: tuple[dict[str, object], Path]) -> None:
    """Counted in the workers, before any of them writes a file."""
    outside = connect[0]["outside"]
    assert isinstance(outside, list)
    assert "2 rows do not match k < 5L, such as " in outside[0]
    assert outside[1] == 0


def test_what_does_not_fit_is_said_in_our_words(connect: tuple[dict[str, object], Path]) -> None:
    """By columns alone if there are no rows; and what only a worker can see, as the error that it is."""
    assert "'id'" in str(connect[0]["other columns"])
    assert "UTF-8" in str(connect[0]["no text"])


def test_errors(connect: tuple[dict[str, object], Path]) -> None:
    """No table: the sentence arrives through the server."""
    assert "there is no coalesce table at" in str(connect[0]["error"])


def test_writes_with_options(connect: tuple[dict[str, Any], Path]) -> None:
    """Each spelling of each option does what the model says, or is refused and leaves nothing behind, as natively."""
    answers, _ = connect
    for (case, mode), found in zip(asked(PORTABLE), answers["option writes"], strict=True):
        check_write(case, mode, PORTABLE, found)
    assert "there is no coalesce table at" in answers["no table"]
    assert "coalesce.create(path" in answers["no table"]
    assert "read it with load(path)" in answers["catalog"]


def test_reads_with_options(connect: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    """Each spelling of each option reads what it says, or is refused, as natively."""
    make(tmp_path / "t")
    for number, found in enumerate(connect[0]["option reads"]):
        check_read(tmp_path / "t", number, PORTABLE, found)
