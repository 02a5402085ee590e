import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from coalesce.errors import SparkUnavailable
from coalesce.spark.session.launcher import DROPPED_FLAG, launcher_home


@pytest.fixture
def java(tmp_path: Path) -> Path:
    """A `java` that prints its arguments one a line; its path holds what a shell could trip over."""
    program = tmp_path / "it's a $HOME" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    program.chmod(0o755)
    return program


def test_drops_the_flag_and_nothing_else(java: Path, tmp_path: Path) -> None:
    """Every other argument arrives as it was, also empty ones and ones with spaces and quotes."""
    home = launcher_home(java, {"XDG_CACHE_HOME": str(tmp_path)})
    arguments = ["-Xmx1g", "", "--add-modules=java.sql", "two words", "a\"b'c*", "-cp", "x:y"]

    ran = subprocess.run(
        [home / "bin" / "java", arguments[0], DROPPED_FLAG, *arguments[1:], DROPPED_FLAG],
        capture_output=True,
        text=True,
        check=True,
    )

    assert ran.stdout == "".join(f"{argument}\n" for argument in arguments)


def test_is_reused(java: Path, tmp_path: Path) -> None:
    """A second session finds the launcher of the first and does not write it again."""
    first = launcher_home(java, {"XDG_CACHE_HOME": str(tmp_path)})
    written = (first / "bin" / "java").stat().st_ino

    assert launcher_home(java, {"XDG_CACHE_HOME": str(tmp_path)}) == first
    assert (first / "bin" / "java").stat().st_ino == written


def test_follows_a_java_that_moved(java: Path, tmp_path: Path) -> None:
    """Another Java gets another launcher, and the old one still starts the old Java."""
    moved = java.with_name("elsewhere")
    first = launcher_home(java, {"XDG_CACHE_HOME": str(tmp_path)})
    second = launcher_home(moved, {"XDG_CACHE_HOME": str(tmp_path)})

    assert first != second
    assert "elsewhere" in (second / "bin" / "java").read_text()
    assert "elsewhere" not in (first / "bin" / "java").read_text()


@pytest.mark.parametrize("damage", ["truncated", "not executable", "gone", "not text"])
def test_a_damaged_launcher_is_rebuilt(java: Path, tmp_path: Path, damage: str) -> None:
    """Whatever happened to the launcher in the cache, asking for it again gives one that works."""
    script = launcher_home(java, {"XDG_CACHE_HOME": str(tmp_path)}) / "bin" / "java"
    match damage:
        case "truncated":
            script.write_text("#!/bin/sh\n")
        case "not executable":
            script.chmod(0o644)
        case "gone":
            script.unlink()
        case _:
            script.write_bytes(b"\xff\xfe")

    launcher_home(java, {"XDG_CACHE_HOME": str(tmp_path)})

    assert subprocess.run([script, "-version"], capture_output=True, text=True, check=True).stdout == "-version\n"


def test_many_at_once_leave_one_launcher_and_nothing_else(java: Path, tmp_path: Path) -> None:
    """Sessions that start together do not disturb each other or leave unfinished files behind."""
    with ThreadPoolExecutor(8) as pool:
        homes = set(pool.map(lambda _: launcher_home(java, {"XDG_CACHE_HOME": str(tmp_path)}), range(32)))

    (home,) = homes
    assert os.listdir(home / "bin") == ["java"]


def test_a_cache_that_cannot_be_written_is_no_obstacle(
    java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home that is no directory sends the launcher to a new private directory among the temporary files."""
    not_a_directory = tmp_path / "file"
    not_a_directory.touch()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    home = launcher_home(java, {"HOME": str(not_a_directory)})

    assert home.is_relative_to(temporary)
    assert home.parent.stat().st_mode & 0o077 == 0


def test_nowhere_to_put_it_is_said(java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With neither a cache nor a temporary directory the error names the variable to set."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))

    with pytest.raises(SparkUnavailable, match="XDG_CACHE_HOME"):
        launcher_home(java, {})
