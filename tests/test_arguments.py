"""Every public function, called with one argument that cannot be meant: a `CoalesceError`, and nothing has happened.

The functions are found, not listed, and an argument without a kind fails a test: a new one has to be checked too.
"""

import inspect
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import coalesce
from coalesce.arguments import shown
from coalesce.predicate.builder import Term
from tests.fast import FAST
from tests.support.examples import examples

ROWS = pa.table({"dt": [date(2026, 5, 17)], "app": ["A"], "n": [1], "st": [{"a": 1}]})


class Hostile:
    """It cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("not to be shown")


class Series:
    """It has members, but none that is a text."""

    def __iter__(self) -> Iterator[None]:
        return iter([None, None])


JUNK: list[Any] = [
    *(None, True, False, 0, 1, -1, 5, 2**70, 1.5, float("nan"), 1j, Decimal("NaN"), ..., NotImplemented),
    *("", "zzz", "\0", "\ud800", "a.b", "`", "x" * 5000, b"", b"app", bytearray(b"app"), "app = ", "st.a"),
    *([], ["zzz"], [1], [None], [[]], [b"app"], [""], (), (1, 2), ("job",), ("job", "1"), (None, 1), ("job", -1)),
    *({}, {1: 2}, {"a": 1}, {"a": None}, {"write.x": "1"}, {"app": ["A"]}, {"app"}, frozenset()),
    *(date(2026, 5, 17), datetime(2026, 5, 17), pd.NaT, pd.NA, np.datetime64("NaT"), np.timedelta64(5, "ns")),
    *(np.int64(7), np.float32(1.5), np.bool_(True), np.str_("app"), np.array([1, 2]), np.array(5), np.array(["zzz"])),
    *(object(), Hostile(), int, str, len, lambda: None, Path("zzz"), range(3), Series()),
    *(ROWS, ROWS.schema, ROWS.to_batches()[0], pa.array([1]), pa.int64(), pa.null(), pa.table({}), pa.schema([])),
    *(pd.DataFrame({"app": ["A", 5]}), pd.DataFrame(), pd.Series([1]), pd.DataFrame({"zzz": [1]})),
    *(coalesce.col("app"), coalesce.col("zzz") == 1, coalesce.small("zzz"), coalesce.group("app", {"g": [1]})),
]

TERMS = next(place for place, junk in enumerate(JUNK) if isinstance(junk, Term))


def is_text(value: object) -> bool:
    """A plain text, NumPy's included."""
    return isinstance(value, str)


def is_texts(value: object) -> bool:
    """A series of texts; a generator is one, as far as can be told without using it up."""
    if isinstance(value, list | tuple | np.ndarray):
        return np.ndim(np.asarray(value, object)) == 1 and all(isinstance(text, str) for text in value)
    return isinstance(value, pd.DataFrame) or (isinstance(value, pa.Schema) and not len(value))  # labels, and none


def is_text_or_column(value: object) -> bool:
    """A text, or a column that holds texts."""
    return is_text(value) or isinstance(value, Term)


def is_number(value: object) -> bool:
    """A whole number, and no flag."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_flag(value: object) -> bool:
    """True or False."""
    return isinstance(value, bool | np.bool_)


def is_mapping(value: object) -> bool:
    """A dict of texts."""
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def is_anything(_: object) -> bool:
    """There is no wrong type, only wrong values."""
    return True


def is_rows(value: object) -> bool:
    """Rows of Arrow's or pandas', or a list of none."""
    if isinstance(value, list | tuple):
        return not value
    return isinstance(value, pa.Table | pa.RecordBatch | pd.DataFrame)


@dataclass(frozen=True)
class Kind:
    """A right argument, and which others may be right as well."""

    right: Any
    may_be: Callable[[object], bool]


PREDICATE = Kind("app = 'A'", lambda v: v is None or isinstance(v, str) or type(v).__name__ == "Comparison")
KINDS = {
    "add": Kind("n", lambda v: is_text(v) or is_texts(v)),
    "after": Kind("dt", is_text),
    "allow_outside": Kind(False, is_flag),
    "applies": Kind(("job", 1), lambda v: isinstance(v, tuple)),
    "as_of": Kind(datetime(2999, 1, 1), lambda v: isinstance(v, datetime) and v is not pd.NaT),
    "assignments": Kind({"n": "n + 1"}, is_mapping),
    "below": Kind("1KB", lambda v: is_text(v) or is_number(v)),
    "catalog": Kind(None, lambda v: v is None),
    "column": Kind("app", is_text),
    "columns": Kind(["app"], is_texts),
    "data": Kind(ROWS, is_rows),
    "days": Kind(5, is_anything),
    "dead_rows": Kind("refuse", is_text),
    "deep": Kind(False, is_flag),
    "digits": Kind(1, is_anything),
    "default": Kind(5, is_anything),
    "drop": Kind("app", lambda v: is_text(v) or is_texts(v)),
    "dry_run": Kind(False, is_flag),
    "feature": Kind("icebergCompatV3", is_text),
    "features": Kind(["rowTracking"], is_texts),
    "first": Kind(False, is_flag),
    "force": Kind(False, is_flag),
    "format": Kind("delta", is_text),
    "group": Kind("[#small]", is_text),
    "groups": Kind({"g": ["A"]}, is_mapping),
    "high": Kind(5, is_anything),
    "identifier": Kind("db.events", is_text),
    "keep_last": Kind(1, is_number),
    "layout": Kind("known", is_text),
    "length": Kind(1, is_anything),
    "limit": Kind(1, is_number),
    "location": Kind("another", lambda v: isinstance(v, str | Path)),
    "low": Kind(5, is_anything),
    "max_bytes": Kind("1GB", lambda v: is_text(v) or is_number(v)),
    "name": Kind("n", is_text),
    "names": Kind(["n"], is_texts),
    "new_name": Kind("m", is_text),
    "older_than": Kind("7d", lambda v: is_text(v) or isinstance(v, timedelta)),
    "other": Kind("A", is_anything),
    "others": Kind("A", is_anything),
    "part": Kind("A", is_text_or_column),
    "partition_by": Kind(["app"], is_texts),
    "pattern": Kind("A%", is_text),
    "partitioned": Kind(True, is_flag),
    "prefix": Kind("A", is_text_or_column),
    "progress": Kind(None, callable),
    "properties": Kind({"owner": "me"}, is_mapping),
    "replace": Kind({"app": "truncate(1, app)"}, is_mapping),
    "required": Kind(False, is_flag),
    "rule": Kind(coalesce.small("app"), lambda v: type(v).__name__.endswith("Request")),
    "ending": Kind(1, is_number),
    "escape": Kind("!", is_text),
    "exists_ok": Kind(False, is_flag),
    "function": Kind("greatest", is_text),
    "keys": Kind(["app"], is_texts),
    "on": Kind("t.app = s.app", is_anything),
    "source": Kind(ROWS, is_anything),
    "start": Kind(1, is_anything),
    "starting": Kind(0, is_number),
    "suffix": Kind("A", is_text_or_column),
    "unit": Kind("MONTH", is_text),
    "partition": Kind({"app": "A"}, is_mapping),
    "scan": Kind(False, is_flag),
    "schema_mode": Kind("merge", is_text),
    "schema": Kind(ROWS.schema, lambda v: is_rows(v) or isinstance(v, pa.Schema)),
    "spark": Kind(None, lambda v: v is None),
    "step_bytes": Kind(1000, lambda v: is_text(v) or is_number(v)),
    "storage_options": Kind({}, is_mapping),
    "target": Kind("1MB", lambda v: is_text(v) or is_number(v)),
    "type_": Kind("int64", lambda v: is_text(v) or isinstance(v, pa.DataType)),
    "values": Kind("A", is_anything),
    "version": Kind(0, is_number),
    "where": PREDICATE,
}

FUNCTIONS = ["create", "open", "adopt", "advise", "small", "group", "keep_all", "col"]
METHODS = [name for name, _ in inspect.getmembers(coalesce.Table, inspect.isfunction) if not name.startswith("_")]
TERM = [name for name, _ in inspect.getmembers(Term, inspect.isfunction) if not name.startswith("__")]
OPERATORS = ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__and__", "__add__", "__rsub__"]
CALLS = [
    *(f"coalesce.{name}" for name in FUNCTIONS),
    *(f"table.{name}" for name in METHODS),
    *(f"col.{name}" for name in [*TERM, *OPERATORS] if not name.startswith("_no_") and name != "_compared"),
]


@dataclass(frozen=True)
class Place:
    """A directory with a table in it, and a copy of the table to begin with again."""

    root: Path

    def begin(self) -> coalesce.Table:
        """The table as it was made."""
        shutil.rmtree(self.root / "work", ignore_errors=True)
        shutil.copytree(self.root / "made", self.root / "work")
        return coalesce.open(self.root / "work" / "events")

    def listing(self) -> list[str]:
        """Every file there is."""
        return sorted(str(p) for p in (self.root / "work").rglob("*"))


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """A table of a row, in two versions."""
    with tempfile.TemporaryDirectory(dir=FAST) as root:
        made = Place(Path(root))
        table = coalesce.create(made.root / "made" / "events", ROWS.schema, partition_by=["dt", "app"])
        table.append(ROWS)
        made.begin()
        yield made


def parameters(call: str) -> list[inspect.Parameter]:
    """What the function takes, but for itself."""
    found = list(inspect.signature(function(call, None)).parameters.values())
    return [p for p in found if p.name != "self"]


def function(call: str, table: coalesce.Table | None) -> Any:
    """The function of this name; a table's own if there is one."""
    owner, _, name = call.partition(".")
    if owner == "coalesce":
        return getattr(coalesce, name)
    if owner == "col":
        return getattr(Term if table is None else coalesce.col("app"), name)
    return getattr(coalesce.Table if table is None else table, name)


def arguments(call: str, wrong: str, junk: object) -> tuple[list[Any], dict[str, Any]]:
    """Right arguments where some are needed, and one that is not."""
    given: list[Any] = []
    named: dict[str, Any] = {}
    listed = any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters(call))
    for parameter in parameters(call):
        value = junk if parameter.name == wrong else KINDS[_kind(call, parameter.name)].right
        match parameter.kind:
            case inspect.Parameter.VAR_POSITIONAL:
                given.append(value)
            case inspect.Parameter.POSITIONAL_OR_KEYWORD if listed:
                given.append(value)
            case inspect.Parameter.POSITIONAL_ONLY:
                given.append(value if parameter.name == wrong else None)
            case inspect.Parameter.VAR_KEYWORD:
                named["app"] = value
            case _ if parameter.name == wrong or parameter.default is inspect.Parameter.empty:
                named[parameter.name] = value
            case _:
                pass
    return given, named


def _kind(call: str, parameter: str) -> str:
    """`small(*columns)` takes names one by one."""
    return ALIKE.get((call, parameter), "other" if parameter == "_" else parameter)


ALIKE = {("coalesce.small", "columns"): "column", ("table.tag", "replace"): "force"}
PAIRS = [(call, p.name) for call in CALLS for p in parameters(call)]


def test_every_argument_has_a_kind() -> None:
    """So that none escapes the test below; the arguments are many."""
    assert {_kind(call, name) for call, name in PAIRS} <= set(KINDS)
    assert len(PAIRS) > 90


@settings(max_examples=examples(200))
@given(pair=st.sampled_from(PAIRS), which=st.integers(0, len(JUNK) - 1))
@example(pair=("table.append", "layout"), which=JUNK.index("zzz"))
@example(pair=("table.export_iceberg", "location"), which=JUNK.index("\ud800"))
@example(pair=("col.like", "pattern"), which=TERMS)
@example(pair=("col.like", "escape"), which=TERMS)
@example(pair=("col.date_trunc", "unit"), which=TERMS)
def test_a_wrong_argument_is_refused_and_nothing_happens(place: Place, pair: tuple[str, str], which: int) -> None:
    """Of the wrong type, always; of the right type with a value that makes no sense, with the same kind of error."""
    call, wrong = pair
    check(place, call, wrong, JUNK[which])


def check(place: Place, call: str, wrong: str, junk: Any) -> None:
    """Call the function with the wrong argument."""
    before = place.listing()
    table = coalesce.open(place.root / "work" / "events")
    given, named = arguments(call, wrong, junk)
    with chdir(place.root / "work"):
        try:
            result = function(call, table)(*given, **named)
            list(result) if isinstance(result, Iterator) else None
        except coalesce.CoalesceError:
            pass
        except (TypeError, ValueError):
            if wrong != "progress" or not callable(junk):  # what is called may fail in its own way
                raise
        else:
            kind = _kind(call, wrong)
            optional = next(p.default is None for p in parameters(call) if p.name == wrong)
            fine = KINDS[kind].may_be(junk) or (junk is None and optional)
            assert fine, f"{call}({wrong}={shown(junk)}) was taken"
            if place.listing() != before:
                place.begin()
            return
    assert place.listing() == before
    assert table.refresh().version == 1
