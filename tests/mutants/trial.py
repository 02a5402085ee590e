"""Plant one bug in a copy of the tree, run the tests that ought to notice, and say whether they did."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Self

from tests.mutants.mutant import Mutant, Stale
from tests.support.examples import TIMES

Verdict = Literal["caught", "escaped", "broken"]

# What a copy does without: environments, caches, and what tests and builds leave behind.
_LEFT_OUT: Final = shutil.ignore_patterns(
    ".git", ".venv*", "__pycache__", ".*_cache", ".hypothesis", "build", "dist", "spark-warehouse", "metastore_db"
)
_OPTIONS: Final = (
    *("-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=short"),
    *("--hypothesis-seed=1", "--hypothesis-profile=mutants"),
    "-rpfE",  # a line for each test: what it came to
)
_SECONDS: Final = 600
_PASSED, _FAILED = 0, 1  # pytest's exit codes
# A failure that says that the mutant is no program, not that a test has noticed.
_NO_PROGRAM: Final = re.compile(
    r"^E\s+(SyntaxError|IndentationError|ImportError|ModuleNotFoundError|NameError|UnboundLocalError)\b"
    r"|CompileException|cannot be compiled|failed to compile",
    re.MULTILINE,
)
_OUTCOME: Final = re.compile(r"^(PASSED|FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """What a run of tests came to, by node id. One that breaks outside of its body, in a fixture, is in `errors`."""

    code: int
    passed: tuple[str, ...]
    failed: tuple[str, ...]
    errors: tuple[str, ...]

    @classmethod
    def of(cls, output: str, code: int) -> Self:
        """As pytest has printed them. A test that passed and whose fixture failed after it, has not passed."""
        found: dict[str, list[str]] = {"PASSED": [], "FAILED": [], "ERROR": []}
        for outcome, test in _OUTCOME.findall(output):
            found[outcome].append(test)
        red = {*found["FAILED"], *found["ERROR"]}
        return cls(
            code=code,
            passed=tuple(test for test in found["PASSED"] if test not in red),
            failed=tuple(found["FAILED"]),
            errors=tuple(found["ERROR"]),
        )


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
    # Some bugs take an example that comes up seldom.
    return {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "250", TIMES: "2"}


def without_a_bug(tree: Path, mutants: Iterable[Mutant]) -> Outcomes:
    """What the tests of these mutants' selections come to if nothing is planted."""
    selections = sorted({selection for mutant in mutants for selection in mutant.tests})
    output, code = _pytest(tree, [s for s in selections if not _covered(s, selections)], every=True)
    return Outcomes.of(output, code)


def _covered(selection: str, others: Sequence[str]) -> bool:
    """Whether another selection, a whole file, has it in it: pytest would run it twice."""
    path, separator, _ = selection.partition("::")
    return bool(separator) and path in others


def try_mutant(tree: Path, mutant: Mutant, sound: Outcomes) -> Trial:
    """Plant the bug in `tree`, run its tests, and put the file back. `sound` is what they came to without it."""
    wrong = _no_ground(mutant, sound)
    if wrong is not None:
        return Trial(mutant=mutant, verdict="broken", why=wrong)
    try:
        spoilt = mutant.applied(tree)
        if mutant.file.endswith(".py"):
            compile(spoilt, mutant.file, "exec")
    except (Stale, SyntaxError) as error:
        return Trial(mutant=mutant, verdict="broken", why=str(error))
    file = tree / mutant.file
    before = file.read_text()
    file.write_text(spoilt)
    try:
        output, code = _pytest(tree, mutant.tests)
    except subprocess.TimeoutExpired:
        return Trial(mutant=mutant, verdict="broken", why=f"its tests did not end within {_SECONDS} seconds")
    finally:
        file.write_text(before)
    if code == _PASSED:
        return Trial(mutant=mutant, verdict="escaped", why="its tests pass")
    if code != _FAILED or _NO_PROGRAM.search(output):
        return Trial(mutant=mutant, verdict="broken", why=_last_line(output))
    return _judged(tree, mutant, Outcomes.of(output, code), sound)


def _no_ground(mutant: Mutant, sound: Outcomes) -> str | None:
    """Why nothing can be said of a mutant: a test of its selections is red without it, or there is none."""
    for selection in mutant.tests:
        red = [
            test for test in (*sound.failed, *sound.errors) if _belongs(test, selection) or _belongs(selection, test)
        ]
        if red:
            return f"{red[0]} is red without it"
        if not any(_belongs(test, selection) for test in sound.passed):
            return f"no test of {selection} passes without it"
    return None


def _judged(tree: Path, mutant: Mutant, outcomes: Outcomes, sound: Outcomes) -> Trial:
    """What failures mean: a test noticed if it passes on the sound tree.

    A fixture may break because of the bug, or because a port was taken and memory short: what breaks outside of a
    test is tried again without the bug.
    """
    noticed = [test for test in outcomes.failed if test in sound.passed]
    if noticed:
        return Trial(mutant=mutant, verdict="caught", why=noticed[0])
    broken = [test for test in outcomes.errors if test in sound.passed]
    if broken and Outcomes.of(*_pytest(tree, broken[:1])).passed:
        return Trial(mutant=mutant, verdict="caught", why=f"{broken[0]} (in a fixture)")
    named = [*broken, *outcomes.errors, *outcomes.failed, "pytest"]
    return Trial(mutant=mutant, verdict="broken", why=f"{named[0]} breaks, and not because of the bug")


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
