"""The bugs of `make mutants` can still be planted: their list does not rot while the code moves on."""

from collections import Counter
from pathlib import Path

import pytest

from tests.mutants.mutant import Mutant
from tests.mutants.planted import MUTANTS

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
