"""The command as a process, on terminals and pipes as they are: of another encoding, full, closed, interrupted."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import coalesce

COALESCE = Path(sys.executable).with_name("coalesce")


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with one row and one file, whose app no narrow encoding has, and a long one that is cut."""
    path = tmp_path_factory.mktemp("tables") / "événements"
    rows = pa.table({"app": ["日本 é \U0001f600", "x" * 60]})
    table = coalesce.create(path, rows.schema, partition_by=["app"], rule=coalesce.small("app"))
    table.append(rows)
    return path


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """What a shell makes of a command line; `coalesce` is the installed command."""
    line = f'coalesce() {{ {shlex.quote(str(COALESCE))} "$@"; }}; {command}'
    return subprocess.run(
        ["bash", "-c", line],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
    ids=["ascii", "latin-1", "C"],
)
def test_what_a_terminal_cannot_show_is_escaped(events: Path, environment: dict[str, str]) -> None:
    """Every encoding gets an answer: letters it has not as escapes, our own typography as plain characters."""
    ran = shell(f"coalesce partitions {events}", **environment)
    assert (ran.returncode, ran.stderr) == (0, b"")
    shown = ran.stdout.decode("ascii" if "latin-1" not in environment.values() else "latin-1")
    assert "'\\u65e5\\u672c " in shown
    assert "\\U0001f600'" in shown
    assert "xxx..." in shown
    if environment.get("PYTHONIOENCODING") == "latin-1":
        assert " é " in shown


def test_json_is_json_in_every_encoding(events: Path) -> None:
    """Where letters cannot be written as they are, they are written as JSON escapes them."""
    for encoding in ["ascii", "latin-1", "utf-8"]:
        ran = shell(f"coalesce partitions {events} --json", PYTHONIOENCODING=encoding)
        found = json.loads(ran.stdout.decode(encoding))
        assert sorted(p["values"]["app"] for p in found["partitions"]) == ["x" * 60, "日本 é \U0001f600"]


def test_a_name_that_is_no_text_can_be_complained_about(tmp_path: Path) -> None:
    """A path may be any bytes; the message about it is still a message."""
    ran = shell(f"coalesce describe {tmp_path}/$'\\xff'")
    assert ran.returncode == 1
    assert ran.stderr.startswith(b"coalesce: there is no coalesce table at ")
    ran = shell(f"coalesce describe {tmp_path}/$'\\xff'", PYTHONIOENCODING="utf-8:strict")
    assert ran.stderr.startswith(b"coalesce: there is no coalesce table at ")


def test_an_answer_that_cannot_be_written_is_a_failure(events: Path) -> None:
    """A full disk and a closed output get a sentence and exit code 1: nobody may take what is there for the answer."""
    for command in [f"count {events}", f"describe {events} --json", "--help", "--version"]:
        full = shell(f"coalesce {command} > /dev/full")
        assert full.returncode == 1, command
        assert full.stderr == b"coalesce: could not write to standard output: No space left on device.\n"
        closed = shell(f"coalesce {command} >&-")
        assert closed.returncode == 1, command
        assert closed.stderr == b"coalesce: could not write to standard output: it is closed.\n"


def test_a_message_that_nobody_can_read_does_not_end_up_in_the_answer(tmp_path: Path) -> None:
    """With standard error closed or full, standard output stays empty and the exit code says that it failed."""
    for redirection in ["2>&-", "2>/dev/full"]:
        ran = shell(f"coalesce count {tmp_path}/nowhere {redirection}")
        assert (ran.returncode, ran.stdout, ran.stderr) == (1, b"", b"")
        ran = shell(f"coalesce count {redirection}")
        assert (ran.returncode, ran.stdout, ran.stderr) == (2, b"", b"")


def test_help_into_a_pager_that_is_left_is_no_error() -> None:
    """`coalesce --help | true` says nothing."""
    ran = shell("coalesce --help | true; exit ${PIPESTATUS[0]}")
    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.parametrize("module", ["argparse", "numpy", "pyarrow"])
def test_an_interrupt_while_it_starts_is_quiet(events: Path, tmp_path: Path, module: str) -> None:
    """Ctrl-C during half a second of imports ends the command as it ends any other, without a stack trace."""
    # The module interrupts whoever imports it, so that the moment does not depend on the machine's speed.
    (tmp_path / f"{module}.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(30)\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run(
        [COALESCE, "count", events], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=20
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (-signal.SIGINT, "", "")


def test_one_is_not_several(events: Path) -> None:
    """A table with one file says so."""
    assert b"2 rows in 1 file, " in shell(f"coalesce describe {events}").stdout
