"""No eight lines of the package stand in two places, to the letter or but for names and values."""

import ast
import io
import keyword
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import coalesce

PACKAGE = Path(coalesce.__file__).parent
LINES = 8

# Files in which a shape may repeat itself, and why.
EXCUSED = {
    "StoredNames.java": "Spark's filters are classes of their own, and none can be copied under another name",
    "builder.py": "a method for each function that terms have: its name, and a sentence about it",
}

_WORDS = frozenset({
    *keyword.kwlist, "boolean", "catch", "else", "extends", "final", "instanceof", "int", "new", "null", "private",
    "public", "static", "String", "throw", "void",
})  # fmt: skip
_STRING = re.compile(r"""[rfb]*"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")
_NAME = re.compile(r"[A-Za-z_]\w*|\d[\d_]*")
_DATA = re.compile(r"[ns]: .*|[ns],?|n = [{\[(]")  # a member of a table or of a class: no logic


def significant(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that say something, with their numbers: no imports, comments, docstrings, or brackets alone."""
    text = path.read_text("utf-8")
    left_out = _of_python(text) if path.suffix == ".py" else _of_java(text)
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if number not in left_out and re.search(r"\w", stripped) and not stripped.startswith(("import ", "package ")):
            yield number, stripped


def _of_python(text: str) -> set[int]:
    """The lines of imports, docstrings and comments."""
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        ):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.line.strip().startswith("#"):
            left_out.add(token.start[0])
    return left_out


def _of_java(text: str) -> set[int]:
    """The lines of comments."""
    left_out, inside = set(), False
    for number, line in enumerate(text.splitlines(), 1):
        inside = inside or line.strip().startswith("/*")
        if inside or line.strip().startswith("//"):
            left_out.add(number)
        inside = inside and not line.strip().endswith("*/")
    return left_out


def shape(line: str) -> str:
    """The line without its names, strings and numbers."""
    return _NAME.sub(lambda found: found[0] if found[0] in _WORDS else "n", _STRING.sub("s", line))


def repeated(files: list[Path]) -> list[str]:
    """Where runs of lines stand that stand somewhere else as well, overlapping ones once."""
    places: dict[tuple[str, ...], list[tuple[Path, int, int]]] = defaultdict(list)
    for path in files:
        lines = list(significant(path))
        for start in range(len(lines) - LINES + 1):
            window = lines[start : start + LINES]
            run = tuple(shape(text) for _, text in window)
            if sum(_DATA.fullmatch(line) is None for line in run) > 1:
                places[run].append((path, start, window[0][0]))
    found = []
    for where in places.values():
        apart = [p for i, p in enumerate(where) if all(p[0] != q[0] or abs(p[1] - q[1]) >= LINES for q in where[:i])]
        if len(apart) > 1 and not any(path.name in EXCUSED for path, _, _ in apart):
            found.append(" and ".join(f"{path.name}:{number}" for path, _, number in apart))
    return found


def test_nothing_stands_twice() -> None:
    """What two places need is a function that both call."""
    files = sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.java")])
    assert repeated(files) == []


def test_what_stands_twice_is_found(tmp_path: Path) -> None:
    """The check above can fail; imports and docstrings do not count."""
    body = "\n".join(f"    x{n} = {n}" for n in range(LINES))
    imports = "from os import (\n" + "".join(f"    path as p{n},\n" for n in range(LINES)) + ")\n"
    (tmp_path / "one.py").write_text(f'{imports}def f():\n    """Says so."""\n{body}\n')
    (tmp_path / "other.py").write_text(f"{imports}def g():\n{body.replace('x', 'another')}\n")
    assert repeated([tmp_path / "one.py", tmp_path / "other.py"])[0] == "one.py:11 and other.py:11"
