"""The layers of ARCHITECTURE.md, as the import statements have them."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import coalesce

PACKAGE = Path(coalesce.__file__).parent

# From the bottom up. Packages on one line do not import each other.
LAYERS = [
    {"distribution"},
    {"errors"},
    {"arguments", "recent"},
    {"model"},
    {"predicate"},
    {"plan", "manifest", "storage"},
    {"table"},
    {"arrow"},
    {"spark", "interop"},
    {"api"},
    {"__init__"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

MODULES = sorted(PACKAGE.rglob("*.py"))


def imported(module: Path) -> Iterator[str]:
    """The full names of what a module imports anywhere, inside functions too."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module


def layer_of(name: str) -> str:
    """The layer of `coalesce.plan.index` is `plan`; `coalesce` itself is its `__init__`."""
    return name.split(".")[1] if "." in name else "__init__"


@pytest.mark.parametrize("module", MODULES, ids=lambda m: str(m.relative_to(PACKAGE)))
def test_imports_go_down(module: Path) -> None:
    """A module imports from its own package and from layers below, never from above or from the side."""
    own = module.relative_to(PACKAGE).parts[0].removesuffix(".py")
    ours = {layer_of(name) for name in imported(module) if name.partition(".")[0] == "coalesce"}
    wrong = {layer for layer in ours if layer != own and LEVEL[layer] >= LEVEL[own]}
    assert not wrong


def test_only_spark_imports_pyspark() -> None:
    """Everything else works where there is no Spark. The demo is a user's program, and needs it."""
    importers = {
        str(module.relative_to(PACKAGE))
        for module in MODULES
        if any(name.partition(".")[0] in ("pyspark", "py4j") for name in imported(module))
    }
    assert {name for name in importers if not name.startswith("spark/")} == {"cli/demo.py"}
