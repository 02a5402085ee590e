"""The page of requirements names tests that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "requirements.md").read_text()
COMPAT = "tests/table/test_compat.py"  # whose tests its table names alone


def named() -> list[tuple[str, str]]:
    """The files, each with a test in it, or an empty text for all of it."""
    found, last = [], COMPAT
    for text in re.findall(r"`((?:tests/|::|test_)[^`]*)`", PAGE):
        file, _, test = text.partition("::")
        if text.startswith("test_"):
            file, test = COMPAT, text
        last = file or last
        found.append((last, test))
    return found


def test_every_test_on_the_page_is_there() -> None:
    """A requirement whose test was renamed or dropped is not proved any more."""
    missing = [
        f"{file}::{test}"
        for file, test in named()
        if not (ROOT / file).exists() or (test and f"def {test}(" not in (ROOT / file).read_text())
    ]
    assert missing == []
    assert len(named()) > 40
