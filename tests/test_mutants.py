"""`make mutants`: its bugs can still be planted, so that the list does not rot, and its verdicts are right."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from tests.mutants.mutant import Mutant
from tests.mutants.planted import MUTANTS
from tests.mutants.trial import try_mutant, without_a_bug

ROOT = Path(__file__).parents[1]


def test_there_are_enough_of_them_and_each_has_a_name() -> None:
    """Forty at least, over every layer, no two under one name or the same."""
    assert len(MUTANTS) >= 40
    assert max(Counter(m.name for m in MUTANTS).values()) == 1
    assert max(Counter((m.file, m.old, m.new) for m in MUTANTS).values()) == 1
    layers = {m.file.split("/")[1] for m in MUTANTS}
    assert layers >= {"plan", "predicate", "model", "manifest", "storage", "table", "arrow", "spark"}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_it_can_be_planted(mutant: Mutant) -> None:
    """Its old text stands exactly once in its file, what comes of it is a program, and its tests are there."""
    spoilt = mutant.applied(ROOT)
    if mutant.file.endswith(".py"):
        compile(spoilt, mutant.file, "exec")
    for selection in mutant.tests:
        path, _, name = selection.partition("::")
        assert (f"def {name}(" if name else "") in (ROOT / path).read_text()


# A tree with a test for each way to end, of a bug that makes 2 of 1; a service that one of them needs goes down.
TREE = {
    "conftest.py": """
        from hypothesis import settings
        settings.register_profile("mutants")
    """,
    "counted.py": "ONE = 1",
    "test_counted.py": """
        import counted, pathlib, pytest

        @pytest.fixture
        def table():
            assert counted.ONE == 1

        @pytest.fixture
        def service():
            assert not pathlib.Path("down").exists()

        def test_one():
            assert counted.ONE == 1

        def test_with_a_table(table):
            pass

        def test_with_a_service(service):
            pass

        def test_something_else():
            pass

        def test_that_is_red_anyway():
            assert counted.ONE == 3
    """,
}


def test_verdicts(tmp_path: Path) -> None:
    """Caught is what a test notices that passes without the bug, in its body or in a fixture; nothing else is."""
    for name, text in TREE.items():
        (tmp_path / name).write_text(dedent(text))
    mutants = {
        test: Mutant(name=test, file="counted.py", old="1", new="2", tests=(f"test_counted.py::{test}",), seen="")
        for test in ("test_one", "test_with_a_table", "test_with_a_service", "test_something_else")
    }
    mutants["red"] = replace(mutants["test_one"], tests=("test_counted.py::test_that_is_red_anyway",))
    mutants["missing"] = replace(mutants["test_one"], tests=("test_counted.py::test_oen",))
    sound = without_a_bug(tmp_path, [m for name, m in mutants.items() if name != "missing"])
    (tmp_path / "down").touch()
    found = {name: try_mutant(tmp_path, mutant, sound) for name, mutant in mutants.items()}
    assert {name: (trial.verdict, trial.why) for name, trial in found.items()} == {
        "test_one": ("caught", "test_counted.py::test_one"),
        "test_with_a_table": ("caught", "test_counted.py::test_with_a_table (in a fixture)"),
        "test_with_a_service": ("broken", "test_counted.py::test_with_a_service breaks, and not because of the bug"),
        "test_something_else": ("escaped", "its tests pass"),
        "red": ("broken", "test_counted.py::test_that_is_red_anyway is red without it"),
        "missing": ("broken", "no test of test_counted.py::test_oen passes without it"),
    }
    assert (tmp_path / "counted.py").read_text() == "ONE = 1"
