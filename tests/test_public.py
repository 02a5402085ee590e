"""The public surface is what it says it is, and needs neither Spark nor Java until they are asked for."""

import subprocess
import sys

import coalesce

NAMES = {
    "CoalesceError",
    "Table",
    "attach",
    "col",
    "create",
    "group",
    "keep_all",
    "open",
    "session",
    "small",
}


def test_the_public_names_are_these_and_no_others() -> None:
    """A name is public because somebody decided so."""
    assert set(coalesce.__all__) == NAMES
    for name in NAMES:
        assert getattr(coalesce, name) is not None


def test_importing_starts_nothing() -> None:
    """`import coalesce` loads neither PySpark nor pandas nor obstore: a planner in a small function stays small."""
    code = "import sys, coalesce; print([m for m in ('pyspark', 'py4j', 'pandas', 'obstore') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
