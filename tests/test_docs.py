"""The documentation's examples run, and print what it says they print.

A fence of `python run` is executed; those of one page share their names and a
working directory, from top to bottom. A fence of `text` right after one is what it prints, sizes in bytes aside.
The page about SQL has statements in its tables as well, which run with the examples.
"""

import re
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SQL = ROOT / "docs" / "sql.md"
LINKED = [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]

_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_STATEMENT = re.compile(
    r"^\| `(?P<statement>(?:CREATE|SHOW|DESCRIBE|INSERT|TRUNCATE|ALTER|DROP|CALL|DELETE|UPDATE|MERGE) [^`]+)` \|",
    re.MULTILINE,
)
_LINK = re.compile(r"\]\((?!https?:|#)(?P<target>[^)#]+)(?:#[^)]*)?\)")


@dataclass(frozen=True)
class Example:
    """A block that runs, where it stands, and what it should print (None if the page does not say)."""

    code: str
    line: int
    output: str | None


def examples(page: Path) -> list[Example]:
    """The examples of a page."""
    text = page.read_text()
    found = []
    for fence, follower in pairwise([*_FENCE.finditer(text), None]):
        info = [] if fence is None else fence["info"].split()
        if fence is None or info[:2] != ["python", "run"]:
            continue
        line = text.count("\n", 0, fence.start("body"))
        output = None
        if follower is not None and follower["info"] == "text" and text[fence.end() : follower.start()].isspace():
            output = follower["body"]
        found.append(Example(fence["body"], line, output))
    return found


def without_sizes(text: str) -> str:
    """The text with all sizes in bytes, and all runs of spaces, made alike."""
    return re.sub(r" +", " ", re.sub(r"[\d.]+ [KMG]?B\b", "0 B", text)).strip()


def pages_to_run(with_spark: bool) -> list[Path]:
    """The pages with examples that run, either those that start Spark or those that do not."""
    return [
        p
        for p in PAGES
        if "```python run" in p.read_text() and ("coalesce.session(" in p.read_text()) == with_spark and p != SQL
    ]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("page", pages_to_run(with_spark=True), ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_with_spark_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example marked to run does, from top to bottom, and prints what the page says."""
    run(page, tmp_path, monkeypatch)


@pytest.mark.parametrize("page", pages_to_run(with_spark=False), ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Likewise, where there is no Spark."""
    run(page, tmp_path, monkeypatch)


def test_every_statement_runs(spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example of the page about SQL, and every statement in its tables, from top to bottom."""
    assert len(statements(SQL)) > 25
    run(SQL, tmp_path, monkeypatch, lambda statement: spark.sql(statement).collect())


def statements(page: Path) -> list[Example]:
    """The statements that stand first in rows of a page's tables."""
    text = page.read_text()
    found = _STATEMENT.finditer(text)
    return [Example(m["statement"], text.count("\n", 0, m.start()), None) for m in found]


def run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, execute: Callable[[str], object] | None = None
) -> None:
    """Run the examples of a page in a directory of their own; and its statements, if there is a way to."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    in_tables = [] if execute is None else statements(page)
    for example in sorted([*examples(page), *in_tables], key=lambda e: e.line):
        if execute is not None and example in in_tables:
            execute(example.code)
            continue
        printed = StringIO()
        with redirect_stdout(printed):
            # Blank lines in front, so that a failure names the line of the page.
            exec(compile("\n" * example.line + example.code, str(page), "exec"), names)
        if example.output is not None:
            assert without_sizes(printed.getvalue()) == without_sizes(example.output)


@pytest.mark.parametrize("page", LINKED, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Every link to a file of the project has a file at its end."""
    missing = [m["target"] for m in _LINK.finditer(page.read_text()) if not (page.parent / m["target"]).exists()]
    assert missing == []
