"""The reference is what the docstrings say, and its examples run."""

import doctest
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from docs.reference import PAGE, SETUP, documented, page

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOCUMENTED = dict(documented())
EXAMPLES = {name: text for name, text in DOCUMENTED.items() if ">>>" in text}
WITH_SPARK = [name for name, text in EXAMPLES.items() if "spark" in text]
WITHOUT = [name for name in EXAMPLES if name not in WITH_SPARK]


def run(name: str, directory: Path, monkeypatch: pytest.MonkeyPatch, **names: object) -> str:
    """What is wrong with the example of a docstring, begun with the table that the page begins with."""
    monkeypatch.chdir(directory)
    exec(SETUP, names)
    test = doctest.DocTestParser().get_doctest(EXAMPLES[name], names, name, None, None)
    wrong = StringIO()
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(test, out=wrong.write)
    return wrong.getvalue()


@pytest.mark.parametrize("name", WITHOUT)
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And show what they say they show."""
    assert run(name, tmp_path, monkeypatch) == ""


@pytest.mark.parametrize("name", WITH_SPARK)
def test_examples_with_spark_run(
    name: str, spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those, too, that need a session."""
    assert run(name, tmp_path, monkeypatch, spark=spark) == ""


def test_every_function_and_method_has_an_example() -> None:
    """A method is documented by what it says of itself; most also by what it does."""
    lacking = [name for name, text in DOCUMENTED.items() if not text]
    assert lacking == []
    methods = [name for name in DOCUMENTED if name.startswith(("coalesce.", "Table."))]
    assert [name for name in methods if name not in EXAMPLES] == []


def test_the_reference_is_up_to_date() -> None:
    """Run `make reference` after changing a docstring."""
    assert PAGE.read_text() == page()
