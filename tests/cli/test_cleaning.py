"""Tags, expiry and vacuum on the command line."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pytest

import coalesce
from coalesce.cli.main import main
from coalesce.cli.progress import Progress
from coalesce.manifest.paths import new_write_directory

COALESCE = Path(sys.executable).with_name("coalesce")
LONG_AGO = time.time() - 30 * 24 * 60 * 60


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """A table of four versions, a month old; the last is empty."""
    path = tmp_path / "events"
    rows = pa.table({"app": ["A", "B"]})
    table = coalesce.create(path, rows.schema, partition_by=["app"])
    table.append(rows)
    table.append(rows)
    table.truncate()
    month_passes(path)
    return path


def month_passes(path: Path) -> None:
    """For all files of the table."""
    for file in path.rglob("*"):
        os.utime(file, (LONG_AGO, LONG_AGO))


def answer(capsys: pytest.CaptureFixture[str], *argv: object) -> str:
    """What a command that succeeds prints; it says nothing on stderr, as that is no terminal."""
    assert main([str(a) for a in argv]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_a_version_is_tagged_and_opened_by_its_tag(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the tag is listed, moved and taken away."""
    assert answer(capsys, "tags", events) == "no version has a tag\n"
    assert answer(capsys, "tag", events, "audit", "--at", 1) == "audit names version 1\n"
    assert answer(capsys, "tag", events, "audit", "--at", 1) == "audit names version 1, as it did before\n"
    assert answer(capsys, "count", events, "--version", "audit") == "2\n"
    assert answer(capsys, "tags", events).split() == ["version", "tag", "1", "audit"]
    assert json.loads(answer(capsys, "tags", events, "--json")) == {"tags": {"audit": 1}}
    moved = json.loads(answer(capsys, "tag", events, "audit", "--at", 2, "--replace", "--json"))
    assert moved == {"tag": "audit", "names": 2, "version": 5, "committed": True}
    assert answer(capsys, "untag", events, "audit") == "audit is gone, since version 6\n"
    assert main(["count", str(events), "--version", "audit"]) == 1
    assert "has no tag 'audit'; it has no tags." in capsys.readouterr().err


@pytest.mark.parametrize("name", ["1.0", "2026.05", "-1", "+7", "..."])
def test_tags_that_resemble_numbers(events: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A release may be called 1.0; what can be tagged can be opened."""
    answer(capsys, "tag", events, "--at", 1, "--", name)
    assert answer(capsys, "count", events, f"--version={name}") == "2\n"


def test_versions_expire_and_files_go(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """First what would go, then it does; both say how much."""
    dry = answer(capsys, "expire", events, "--keep-last", 1, "--dry-run")
    assert dry == "would expire: 3 versions, 0 to 2; kept: from version 3 on, and those with a tag\n"
    done = json.loads(answer(capsys, "expire", events, "--keep-last", 1, "--json"))
    assert (done["versions"], done["retained_from"], done["version"], done["failures"]) == ([0, 1, 2], 3, 4, [])
    lines = answer(capsys, "vacuum", events, "--dry-run").splitlines()
    assert len(lines) == 7
    assert lines[-1].startswith("would delete 6 files, ")
    assert answer(capsys, "vacuum", events).startswith("deleted 6 files, ")
    assert json.loads(answer(capsys, "vacuum", events, "--json"))["paths"] == []


def test_less_than_a_day_takes_force(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sentence says so, and nothing is done."""
    for verb in ("expire", "vacuum"):
        assert main([verb, str(events), "--older-than", "1h"]) == 1
        assert "24 hours at the least" in capsys.readouterr().err
    assert answer(capsys, "expire", events, "--older-than", "0s", "--keep-last", 1, "--force").startswith("expired: 3")
    assert "'soon'" in (main(["vacuum", str(events), "--older-than", "soon"]), capsys.readouterr().err)[1]


def test_what_could_not_be_deleted_is_a_failure(
    events: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code says so, and a line for each file."""
    from coalesce.table.maintain import deleting

    coalesce.open(events).expire(keep_last=1)
    monkeypatch.setattr(
        deleting, "_delete", lambda _, path: deleting.NotDeleted(path, f"could not delete {path}: busy.")
    )
    assert main(["vacuum", str(events)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("deleted 0 files")
    assert len(lines) == 7
    assert all(line.startswith("not deleted: could not delete ") for line in lines[1:])


def test_a_verb_that_writes_has_no_older_version(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is past cannot be changed."""
    with pytest.raises(SystemExit):
        main(["vacuum", str(events), "--version", "1"])
    assert "unrecognized arguments: --version 1" in capsys.readouterr().err


# --- how far it is -----------------------------------------------------------------------------------------------


class Terminal(StringIO):
    """What is written, by somebody who looks at it."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def test_progress_is_one_line_that_goes_away() -> None:
    """Written over, and nothing of it is left in the end."""
    terminal = Terminal()
    with Progress("files deleted", terminal) as progress:
        progress(1, 4)
        progress(2, 4)  # a moment later: not shown
        progress(4, 4)
    first, second, last, end = terminal.getvalue().removeprefix("\r").split("\r")
    assert first == " 25% [#######.......................] 1 of 4 files deleted"
    assert second == "100% [##############################] 4 of 4 files deleted"
    assert last.strip() == end == ""
    assert "\n" not in terminal.getvalue()


def test_progress_is_for_terminals_only() -> None:
    """Nothing goes into a file or a pipe, nor to where nobody is."""
    nowhere = StringIO()
    with Progress("files", nowhere) as progress:
        progress(1, 2)
    assert nowhere.getvalue() == ""
    nowhere.close()
    with Progress("files", nowhere) as progress:
        progress(1, 2)


def test_a_vacuum_on_a_terminal_shows_how_far_it_is(events: Path) -> None:
    """On standard error; the answer is on standard output as ever."""
    coalesce.open(events).expire(keep_last=1)
    ours, theirs = pty.openpty()
    ran = subprocess.run([COALESCE, "vacuum", events], stdout=subprocess.PIPE, stderr=theirs, timeout=60)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert ran.stdout.startswith(b"deleted 6 files")
    assert "6 of 6 files deleted" in shown


def test_ctrl_c_lets_a_verb_that_writes_clean_up(events: Path) -> None:
    """It ends with exit code 130, without a stack trace, and leaves a whole table."""
    for _ in range(600):
        orphan = events / new_write_directory() / "00000.parquet"
        orphan.parent.mkdir(parents=True)
        orphan.write_bytes(b"x")
    month_passes(events)
    # It interrupts itself after the first wave, so that the moment does not depend on the machine's speed.
    program = (
        "import os, signal, sys\n"
        "from coalesce.cli import progress\n"
        "progress.Progress.__call__ = lambda self, done, total: os.kill(os.getpid(), signal.SIGINT)\n"
        "from coalesce.cli.main import main\n"
        f"sys.exit(main(['vacuum', {str(events)!r}]))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout) == (130, "")
    assert "Traceback" not in ran.stderr
    assert ran.returncode != -signal.SIGINT
    left = len(list((events / "data").rglob("*.parquet")))
    assert 4 <= left < 604
    assert coalesce.open(events, version=2).count() == 4
