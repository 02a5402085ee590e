"""On how many examples a property is tried: few, as all tests run each time, and more for those who ask."""

import os
from typing import Final

TIMES: Final = "COALESCE_EXAMPLES"


def examples(few: int) -> int:
    """`few`, or so many times as many: `COALESCE_EXAMPLES=20 make test`."""
    return few * int(os.environ.get(TIMES, "1"))
