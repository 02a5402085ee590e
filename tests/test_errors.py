import pickle

import pytest

from coalesce import errors
from coalesce.errors import CoalesceError, CommitUncertain, CorruptMetadata, PredicateError

MADE = [
    CorruptMetadata("a.json", "it is not JSON.", "schema"),
    CommitUncertain("/t", 3, "5f", "no answer"),
    PredicateError("there is no column b.", "b = 1", 0),
]
PLAIN = [
    kind("what is wrong, and what to do.")
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, CoalesceError) and kind not in map(type, MADE)
]


@pytest.mark.parametrize("error", [*MADE, *PLAIN], ids=lambda error: type(error).__name__)
def test_errors_cross_processes(error: CoalesceError) -> None:
    """A worker's error reaches the caller as the same error: class, sentence and members."""
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is type(error)
    assert str(copied) == str(error)
    assert vars(copied) == vars(error)
