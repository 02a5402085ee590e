from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.outcome import load


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "saas"], "there is no workload 'saas'"),
        (["run", "saas-events", "--size", "1t"], "has no size '1t'"),
        (["run", "saas-events", "--engines", "coalesce,spork"], "there is no engine 'spork'"),
        (["compare", "one.json", "other.json"], "there is no file one.json"),
        (["plot", "one.json"], "there is no file one.json"),
        (["run", "saas-events", "--engines", "coalesce"], "say with --out where to"),
        (["run", "saas-events", "--out", "."], "is a directory"),
        (["run", "saas-events", "--out", f"{__file__}/out.json"], "cannot be made a directory"),
        (["run", "saas-events", "--out", "/proc/out.json"], "cannot be written"),
        (["run", "saas-events", "--directory", __file__], "cannot be made a directory"),
        (["plot", "--out", __file__], "cannot be made a directory"),
        (["compare", "/proc/self/mem", "other.json"], "is not the outcome of a run"),
    ],
)
def test_what_is_misspelt_is_refused_in_a_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is run, and the exit code says so."""
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["run"],
        ["runn"],
        ["run", "saas-events", "--rounds", "0"],
        ["run", "x", "--sise", "1"],
        ["compare", "a", "b", "--within", "nan"],
    ],
)
def test_what_is_no_command_shows_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """As programs do."""
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert "usage: python -m benchmarks" in capsys.readouterr().err


def test_the_list_has_workloads_engines_and_measures(capsys: pytest.CaptureFixture[str]) -> None:
    """Also when nothing is asked for."""
    assert main([]) == 0
    said = capsys.readouterr().out
    for name in ("saas-events", "many-tenants", "iceberg-bucket-mor", "coalesce-arrow", "planning", "soak"):
        assert name in said


def test_two_engines_run_a_workload_in_processes_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From staging to the table, with answers compared."""
    out = tmp_path / "outcome.json"
    arguments = [
        "run",
        "payments",
        "--size",
        "tiny",
        "--engines",
        "coalesce-arrow,delta-rs",
        "--directory",
        str(tmp_path / "work"),
    ]
    assert main([*arguments, "--out", str(out)]) == 0
    assert "all engines agree" in capsys.readouterr().out
    assert not out.with_name(f"{out.name}.partial").exists()
    kept = load(out)
    assert kept.engines["iceberg-day"].unavailable == "it was not asked for in this run"
    assert not kept.failures()
    assert kept.engines["coalesce-arrow"].value("one day, mixed")
    for found in kept.engines["coalesce-arrow"], kept.engines["delta-rs"]:
        assert {"point, small tenant, mixed", "point, small tenant, mixed, of others (2)"} <= found.answers.keys()
    assert kept.engines["delta-rs"].words["change of layout"].startswith("has no change of layout")
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["staged-payments-tiny"]
