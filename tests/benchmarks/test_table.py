import pytest

from benchmarks.flows.table import WRITES


@pytest.mark.parametrize(
    ("took", "times"),
    [
        (0.1, 12),  # what is short is done as often as is allowed
        (3.0, 4),  # until it has taken so long
        (15.0, 3),  # what is long, still a few times
        (40.0, 2),  # but nobody waits for minutes
        (100.0, 1),
    ],
)
def test_how_often_something_is_done(took: float, times: int) -> None:
    """All engines do what is long equally often, unless it is far too long."""
    spent, number = 0.0, 0
    while WRITES.goes_on(number, spent):
        number, spent = number + 1, spent + took
    assert number == times
