"""The table of functions is the one that the page shows, and everything in it can be computed."""

import re
from pathlib import Path

from coalesce.predicate.scalar.catalogue import names
from coalesce.predicate.scalar.evaluate import CHOOSING, KERNELS
from coalesce.predicate.sql.typenames import CAST_FUNCTIONS

PAGE = Path(__file__).parents[3] / "docs" / "predicates.md"


def test_the_page_lists_every_function() -> None:
    """And no other; `if` is a CASE, and types are casts."""
    text = PAGE.read_text()
    table = text[text.index("| text |") : text.index("Operators:")]
    shown = set(re.findall(r"`([a-z0-9_]+)`", table))
    assert shown == set(names()) | {"if"} | {name.lower() for name in CAST_FUNCTIONS}


def test_no_kernel_has_the_name_of_another() -> None:
    """One that chooses among its arguments is asked before one that does not."""
    assert not set(KERNELS) & set(CHOOSING)
