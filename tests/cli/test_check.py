"""`coalesce check` and `coalesce repair`: what they say, and the exit codes that scripts go by."""

import json
from pathlib import Path

import pytest

from coalesce.cli.main import main
from coalesce.manifest.paths import version_path
from coalesce.table.maintain import kinds
from coalesce.table.table import Table
from tests.table.maintain.planting import first, on_disk, plant, sound
from tests.table.maintain.test_repair import CHANGES


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A sound table."""
    return sound(tmp_path / "t")


def answer(capsys: pytest.CaptureFixture[str], code: int, *argv: object) -> str:
    """What a command prints that ends with this exit code; it says nothing on stderr."""
    assert main([str(a) for a in argv]) == code
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_a_sound_table(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0, for people and for programs."""
    assert answer(capsys, 0, "check", table.location) == "nothing is wrong; --deep looks into the data files, too\n"
    assert answer(capsys, 0, "check", table.location, "--deep") == "nothing is wrong\n"
    found = json.loads(answer(capsys, 0, "check", table.location, "--json"))
    assert found == {"version": 2, "deep": False, "findings": []}
    assert answer(capsys, 0, "repair", table.location) == "nothing is wrong\n"


def test_what_is_wrong_is_told(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1, a paragraph for each finding, and the same for programs."""
    path = table.files()[0].path
    on_disk(table).unlink()
    told = answer(capsys, 1, "check", table.location)
    assert told.startswith(f"missing-file, versions 1 to 2\n{path}: the data file is missing. Restore the file from a ")
    assert told.endswith("\n\n1 finding\n")
    (found,) = json.loads(answer(capsys, 1, "check", table.location, "--json"))["findings"]
    assert (found["kind"], found["where"], found["versions"]) == (kinds.MISSING_FILE, path, [1, 2])
    assert found["mendable"] is False
    assert found["message"].startswith(path)


def test_a_repair_is_told(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0 if all was mended, 1 if something is left; a dry run says what it would be."""
    plant(table, first(CHANGES[kinds.WRONG_TUPLE]))
    assert "\n\n1 finding; coalesce repair mends 1\n" in answer(capsys, 1, "check", table.location, "--deep")
    dry = answer(capsys, 0, "repair", table.location, "--dry-run")
    assert dry.startswith("wrong-tuple, version 3\n")
    assert dry.endswith("would mend 1, left 0; version 3; older versions stay as they are\n")
    on_disk(table, 2).unlink()
    done = json.loads(answer(capsys, 1, "repair", table.location, "--json"))
    assert (done["version"], done["committed"], done["dry_run"]) == (4, True, False)
    assert [f["kind"] for f in done["mended"]] == [kinds.WRONG_TUPLE]
    assert [f["kind"] for f in done["left"]] == [kinds.MISSING_FILE]


def test_a_table_whose_newest_version_is_damaged(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    """It cannot be opened, and yet be checked."""
    path = Path(table.location) / version_path(2)
    path.write_bytes(path.read_bytes()[:-1])
    assert answer(capsys, 1, "check", table.location).startswith("damaged-version, version 2\n")
    assert main(["describe", table.location]) == 1
    assert "the file is damaged" in capsys.readouterr().err


def test_wrong_command_lines(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, so that nobody takes a misspelt option for a finding."""
    for argv in (["check", table.location, "--depe"], ["check"], ["repair", table.location, "--version", "1"]):
        with pytest.raises(SystemExit) as stopped:
            main(argv)
        assert stopped.value.code == 2
        assert capsys.readouterr().out == ""
