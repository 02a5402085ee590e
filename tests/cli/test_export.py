"""Exports on the command line."""

import json
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

import coalesce
from coalesce.cli.main import main
from tests.interop.export.tables import delta, iceberg, ours, rows, shared


def answer(capsys: pytest.CaptureFixture[str], *argv: object) -> str:
    """What a command that succeeds prints; it says nothing on stderr."""
    assert main([str(a) for a in argv]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_both_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was written, for people and programs; and when there is nothing to write."""
    table = shared(tmp_path / "t")
    place = table.location
    assert answer(capsys, "export", place, "--format", "iceberg").splitlines() == [
        f"{place}: iceberg shows version 1 now: 1 files, 1 added, 0 removed",
        "partitioned by dt; other columns are pruned by their bounds",
    ]
    assert answer(capsys, "export", place, "--format", "iceberg") == f"{place}: iceberg is at version 1 already\n"
    told = json.loads(answer(capsys, "export", place, "--format", "delta", "--unpartitioned", "--json"))
    assert (told["files_added"], told["partitioned_by"], told["number"]) == (1, [], 0)
    assert iceberg(place) == delta(place) == ours(table)
    elsewhere = tmp_path / "elsewhere"
    answer(capsys, "export", place, "--format", "iceberg", "--location", elsewhere)
    assert iceberg(elsewhere) == ours(table)


def test_removed_rows_and_features(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same choices as in Python, and the same refusals."""
    table = shared(tmp_path / "t")
    table.drop_partition(dt=date(2026, 5, 1), app="app-1")
    assert main(["export", table.location, "--format", "delta", "--dead-rows", "refuse"]) == 1
    assert "5 removed rows lie in its files; purge()." in capsys.readouterr().err
    answer(capsys, "export", table.location, "--format", "delta", "--feature", "rowTracking")
    assert delta(table.location) == ours(coalesce.open(table.location))


def test_an_export_is_dropped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its files go, and no others."""
    table = shared(tmp_path / "t")
    table.append(rows(2))
    answer(capsys, "export", table.location, "--format", "delta")
    told = answer(capsys, "export", table.location, "--format", "delta", "--drop")
    assert told == "deleted 1 files of the delta export\n"
    assert json.loads(answer(capsys, "export", table.location, "--format", "delta", "--drop", "--json")) == {
        "format": "delta",
        "files_deleted": 0,
    }
    assert pa.table(table.scan().to_arrow()).num_rows == 40
