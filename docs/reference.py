"""`python -m docs.reference` writes `docs/reference.md` from the docstrings of everything public.

The page is checked in, so that it can be read where the code is; `tests/test_reference.py` says when it is out of date,
and runs every example in it.
"""

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import coalesce

PAGE = Path(__file__).with_name("reference.md")

# What stands before every example.
SETUP = """\
from datetime import date

import pyarrow as pa

import coalesce

rows = pa.table(
    {
        "dt": [date(2026, 5, 17)] * 3 + [date(2026, 5, 18)],
        "app": ["web", "web", "tiny", "web"],
        "n": [1, 2, 3, 4],
    }
)
table = coalesce.create("events", rows.schema, partition_by=["dt", "app"], rule=coalesce.small("app"))
table.append(rows)
"""

_HEAD = f"""\
# Reference

Everything that `import coalesce` offers, made from the docstrings by `make reference`; do not edit this page. What
things are called is explained in [ARCHITECTURE.md](../ARCHITECTURE.md). Whatever is raised on purpose is a
`CoalesceError`, and a sentence.

Each example begins with this table of four rows:

```python
{SETUP}```
"""

FUNCTIONS = (
    "create",
    "open",
    "adopt",
    "advise",
    "small",
    "group",
    "keep_all",
    "col",
    "session",
    "attach",
    "each_batch",
)
CLASSES = (
    *("WriteResult", "Scan", "Plan", "Report", "LogicalPartition", "DataFile", "Listing", "Version", "Schema"),
    *("Description", "Step", "Generation", "Finding", "RepairResult", "AdoptResult", "Advice"),
)

_LONGEST = 96
_MODULES = re.compile(r"\b([a-z_]+\.)+(?=[A-Z])")  # the modules in front of a class


def page() -> str:
    """The page as it should be."""
    parts = [_HEAD, "## Functions\n", *(_function(getattr(coalesce, name), f"coalesce.{name}") for name in FUNCTIONS)]
    parts += [_class(coalesce.Table), *(_class(getattr(coalesce, name)) for name in CLASSES)]
    parts.append("## Errors\n\n| error | |\n|---|---|\n" + "".join(_errors()))
    return "\n".join(parts)


def documented() -> Iterator[tuple[str, str]]:
    """Every public function, class and method on the page, and its docstring."""
    for name in FUNCTIONS:
        yield f"coalesce.{name}", inspect.getdoc(getattr(coalesce, name)) or ""
    for name in ("Table", *CLASSES):
        kind = getattr(coalesce, name)
        yield name, inspect.getdoc(kind) or ""
        for member, held in _members(kind):
            yield f"{name}.{member}", inspect.getdoc(held) or ""


def _class(kind: type) -> str:
    parts = [f"## `{kind.__name__}`\n", f"{_text(inspect.getdoc(kind) or '')}\n"]
    if dataclasses.is_dataclass(kind) and kind.__name__ != "Plan":
        listed = ", ".join(f"`{f.name}`" for f in dataclasses.fields(kind) if not f.name.startswith("_"))
        parts.append(f"Fields: {listed}.\n")
    for name, held in _members(kind):
        title = f"{kind.__name__}.{name}"
        if callable(held):
            parts.append(_function(held, title))
        else:
            parts.append(f"### `{title}`\n\n{_text(inspect.getdoc(held) or '')}\n")
    return "\n".join(parts)


def _members(kind: type) -> Iterator[tuple[str, object]]:
    """Methods and properties of a class, in the order they are written in; a subclass's after those of its base."""
    seen = set()
    for base in reversed(kind.__mro__):
        if not base.__module__.startswith("coalesce."):
            continue
        for name in vars(base):
            held = inspect.getattr_static(kind, name)
            described = callable(held) or hasattr(held, "__get__")
            if name.startswith("_") or name in seen or not described or inspect.ismemberdescriptor(held):
                continue
            if inspect.getdoc(held):
                seen.add(name)
                yield name, held


def _function(function: Callable[..., object], title: str) -> str:
    return (
        f"### `{title}`\n\n```python\n{_signature(function, title)}\n```\n\n{_text(inspect.getdoc(function) or '')}\n"
    )


def _signature(function: Callable[..., object], title: str) -> str:
    """The call, on one line if that is short enough; without the types, which the text explains."""
    found = inspect.signature(function)
    parameters = [p.replace(annotation=p.empty) for p in found.parameters.values() if p.name != "self"]
    kind = found.return_annotation
    name = "" if kind is found.empty else kind if isinstance(kind, str) else inspect.formatannotation(kind)
    result = f" -> {_MODULES.sub('', name)}" if name else ""
    inside = str(found.replace(parameters=parameters, return_annotation=found.empty))[1:-1]
    line = f"{title}({inside}){result}"
    if len(line) <= _LONGEST:
        return line
    return "\n".join([f"{title}(", *(f"    {parameter}," for parameter in inside.split(", ")), f"){result}"])


def _text(docstring: str) -> str:
    """A docstring as Markdown: what begins with `>>>` is an example."""
    blocks = [
        f"```python\n{block}\n```" if block.startswith(">>>") else block for block in re.split(r"\n{2,}", docstring)
    ]
    return "\n\n".join(blocks)


def _errors() -> Iterator[str]:
    for name in coalesce.__all__:
        kind = getattr(coalesce, name)
        if inspect.isclass(kind) and issubclass(kind, coalesce.CoalesceError):
            first = (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")
            yield f"| `{name}` | {first} |\n"


if __name__ == "__main__":
    PAGE.write_text(page())
