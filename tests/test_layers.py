"""The layers of ARCHITECTURE.md, as the import statements have them, and no module that needs itself."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

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
    {"__main__"},
]
# The rooms of `spark/` likewise; `engine` is a module.
ROOMS = [{"jvm"}, {"translate"}, {"write", "source"}, {"engine"}, {"commands", "connect"}, {"catalog"}, {"session"}]

LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def sources() -> dict[str, ast.Module]:
    """Every module of the package by its full name, parsed; a package goes by the name of its `__init__`."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ("coalesce", *path.relative_to(PACKAGE).with_suffix("").parts)
        found[".".join(parts)] = ast.parse(path.read_text())
    return found


def imported(module: ast.Module, known: Mapping[str, object]) -> Iterator[str]:
    """The full names of the modules that a module imports anywhere: inside functions and for types, too."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (_module(alias.name, known) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                inside = _module(f"{node.module}.{alias.name}", known)
                yield inside if inside in known else _module(node.module, known)


def _module(name: str, known: Mapping[str, object]) -> str:
    package = f"{name}.__init__"
    return package if package in known else name


def layer_of(module: str) -> str:
    """The layer of `coalesce.plan.index` is `plan`; that of `coalesce.api` is `api`."""
    return module.split(".")[1]


def cycles(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """A cycle of imports, if there is one: each module of it imports the next."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return [list(reversed(error.args[1]))]
    return []


MODULES = sources()
IMPORTS = {name: set(imported(module, MODULES)) for name, module in MODULES.items()}


def test_imports_go_down() -> None:
    """A module imports from its own package and from layers below, never from above or from the side."""
    wrong = [
        f"{module} imports {other}"
        for module, others in IMPORTS.items()
        for other in others
        if other.startswith("coalesce.") and layer_of(other) != layer_of(module)
        if LEVEL[layer_of(other)] >= LEVEL[layer_of(module)]
    ]
    assert wrong == []


def test_the_rooms_of_spark_stand_above_each_other() -> None:
    """What a room imports of `spark/` is its own or lies in a room below."""
    room_level = {name: level for level, names in enumerate(ROOMS) for name in names}
    inside = [name for name in IMPORTS if name.startswith("coalesce.spark.") and name != "coalesce.spark.__init__"]
    assert {_room(name) for name in inside} == room_level.keys()
    wrong = [
        f"{module} imports {other}"
        for module in inside
        for other in IMPORTS[module]
        if other.startswith("coalesce.spark.") and _room(other) != _room(module)
        if room_level[_room(other)] >= room_level[_room(module)]
    ]
    assert wrong == []


def _room(module: str) -> str:
    return module.split(".")[2]


def test_no_module_needs_itself() -> None:
    """No cycle of imports, those inside of functions and those for types included: there is an order to read in."""
    assert cycles(IMPORTS) == []


def test_a_cycle_is_found() -> None:
    """The check above can fail, and says by which imports."""
    known = dict.fromkeys(["coalesce.a.__init__", "coalesce.a.b", "coalesce.a.c", "coalesce.d"])
    texts = {
        "coalesce.a.b": "def f():\n    from coalesce.a import c",
        "coalesce.a.c": "if TYPE_CHECKING:\n    from coalesce.a.b import f\nimport coalesce.d",
        "coalesce.d": "from coalesce import a",
    }
    imports = {name: set(imported(ast.parse(text), known)) for name, text in texts.items()}
    assert imports["coalesce.a.c"] == {"coalesce.a.b", "coalesce.d"}
    assert imports["coalesce.d"] == {"coalesce.a.__init__"}
    (cycle,) = cycles(imports)
    assert sorted(set(cycle)) == ["coalesce.a.b", "coalesce.a.c"]


def test_only_spark_imports_pyspark() -> None:
    """Everything else works where there is no Spark. The demo is a user's program, and needs it."""
    importers = {
        module
        for module, others in IMPORTS.items()
        if any(other.partition(".")[0] in ("pyspark", "py4j") for other in others)
    }
    assert {name for name in importers if layer_of(name) != "spark"} == {"coalesce.cli.demo"}
