"""Plant one bug in a copy of the tree, run the tests that ought to notice, and say whether they did."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from tests.mutants.mutant import Mutant, Stale

Verdict = Literal["caught", "escaped", "broken"]

# What a copy does without: environments, caches, and what tests and builds leave behind.
_LEFT_OUT: Final = shutil.ignore_patterns(
    ".git", ".venv*", "__pycache__", ".*_cache", ".hypothesis", "build", "dist", "spark-warehouse", "metastore_db"
)
_OPTIONS: Final = (
    *("-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=short"),
    *("--hypothesis-seed=1", "--hypothesis-profile=mutants"),
)
_SECONDS: Final = 600
_PASSED, _FAILED = 0, 1  # pytest's exit codes
# A failure that says that the mutant is no program, not that a test has noticed.
_NO_PROGRAM: Final = re.compile(
    r"^E\s+(SyntaxError|IndentationError|ImportError|ModuleNotFoundError|NameError|UnboundLocalError)\b"
    r"|CompileException|cannot be compiled|failed to compile",
    re.MULTILINE,
)
_FAILURE: Final = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What became of a mutant; `why` names the test that noticed, or says what is broken."""

    mutant: Mutant
    verdict: Verdict
    why: str


def copy_tree(root: Path, target: Path) -> None:
    """A copy of the tree, to be spoilt; fails unless tests that run there would test the copy."""
    shutil.copytree(root, target, ignore=_LEFT_OUT)
    program = [sys.executable, "-c", "import coalesce; print(coalesce.__file__)"]
    found = subprocess.run(program, cwd=target, env=_environment(target), capture_output=True, text=True, check=True)
    if not Path(found.stdout.strip()).is_relative_to(target):
        raise RuntimeError(f"in {target} the package comes from {found.stdout.strip()}: nothing would be tried.")


def _environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "250"}


def red_without_a_bug(tree: Path, mutants: Iterable[Mutant]) -> list[str]:
    """The tests of these mutants' selections that fail although nothing is planted, by node id."""
    selections = sorted({selection for mutant in mutants for selection in mutant.tests})
    output, code = _pytest(tree, [s for s in selections if not _covered(s, selections)], every=True)
    failed = _FAILURE.findall(output)
    return failed or ([] if code == _PASSED else selections)


def _covered(selection: str, others: Sequence[str]) -> bool:
    """Whether another selection, a whole file, has it in it: pytest would run it twice."""
    path, separator, _ = selection.partition("::")
    return bool(separator) and path in others


def try_mutant(tree: Path, mutant: Mutant, red: Sequence[str]) -> Trial:
    """Plant the bug in `tree`, run its tests, and put the file back."""
    ruined = [test for test in red if any(_belongs(test, selection) for selection in mutant.tests)]
    if ruined:
        return Trial(mutant=mutant, verdict="broken", why=f"{ruined[0]} is red without it")
    try:
        spoilt = mutant.applied(tree)
        if mutant.file.endswith(".py"):
            compile(spoilt, mutant.file, "exec")
    except (Stale, SyntaxError) as error:
        return Trial(mutant=mutant, verdict="broken", why=str(error))
    file = tree / mutant.file
    sound = file.read_text()
    file.write_text(spoilt)
    try:
        output, code = _pytest(tree, mutant.tests)
    except subprocess.TimeoutExpired:
        return Trial(mutant=mutant, verdict="broken", why=f"its tests did not end within {_SECONDS} seconds")
    finally:
        file.write_text(sound)
    if code == _PASSED:
        return Trial(mutant=mutant, verdict="escaped", why="its tests pass")
    failed = _FAILURE.findall(output)
    if code != _FAILED or not failed or _NO_PROGRAM.search(output):
        return Trial(mutant=mutant, verdict="broken", why=_last_line(output))
    return Trial(mutant=mutant, verdict="caught", why=failed[0])


def _belongs(test: str, selection: str) -> bool:
    return test == selection or test.startswith((f"{selection}::", f"{selection}["))


def _pytest(tree: Path, selections: Sequence[str], *, every: bool = False) -> tuple[str, int]:
    options = [o for o in _OPTIONS if not (every and o == "-x")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *selections],
        cwd=tree,
        env=_environment(tree),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=None if every else _SECONDS,
    )
    return done.stdout, done.returncode


def _last_line(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("E  ")]
    return (errors or lines or ["pytest said nothing"])[-1].strip()
