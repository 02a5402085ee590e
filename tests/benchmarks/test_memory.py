import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.memory import Peak


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux knows the most a process has held")
def test_what_is_over_at_once_is_seen_and_what_was_before_is_not() -> None:
    """A hundred megabytes for a moment; then nothing."""

    def hold() -> int:
        return int(np.ones(100 * 2**20, np.uint8).sum())

    with Peak() as first:
        hold()
    with Peak() as second:
        sys.getsizeof(0)
    assert first.bytes - second.bytes > 80 * 2**20
