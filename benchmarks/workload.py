"""A workload: what rows there are, how they are skewed, and what is asked of them; read from `workloads/NAME.toml`.

Nothing here makes rows or runs a query. What is not understood is refused in a sentence: a measure that is misspelt and
left out in silence would be worse than none.
"""

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from string import Formatter
from typing import Any, Final

DIRECTORY: Final = Path(__file__).parent / "workloads"

# What becomes of the table, see `flows/`.
FLOWS: Final = ("table", "appends", "evolution")
# How rows are shared out among tenants, see `staging.py`.
SKEWS: Final = ("zipf", "uniform", "giant", "npm-downloads")
# What is filled in where a condition has it in braces, see `staging.py`.
PLACES: Final = ("day", "later", "small", "large", "fifty")
# The columns beside `dt` and `app`, see `staging.py`.
COLUMNS: Final = ("id", "member", "ts", "kind", "value", "session")
FUNCTIONS: Final = ("count", "sum", "min", "max")
MEASURES: Final = (
    "memory",
    "plan",
    "queries",
    "again",
    "overwrite",
    "delete-tenant",
    "merge",
    "merge-day",
    "update",
    "delete-rows",
    "compact",
    "rename",
    "append",
    "spec",
)
# What a query computes unless it says so: whole numbers and texts, which have the same sum in every order.
_AGGREGATES: Final = ("count", "sum id", "sum member", "max session")


class Refused(Exception):
    """What was asked for cannot be meant; a sentence for whoever asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Some aggregates of the rows that match; `where` has places such as `{small}` that the staged rows fill in."""

    name: str
    where: str | None = None
    aggregates: tuple[tuple[str, str | None], ...] = ()
    by: str | None = None
    join: bool = False

    def filled(self, values: Mapping[str, str]) -> "Query":
        """The query for certain rows."""
        return self if self.where is None else replace(self, where=self.where.format_map(dict(values)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it computes with, those of the condition aside."""
        wanted = [column for _, column in self.aggregates if column is not None]
        return tuple(dict.fromkeys(wanted if self.by is None else [self.by, *wanted]))

    def sql(self, table: str) -> str:
        """As text. The join is with a small table `days` of which a condition leaves one day: dynamic pruning."""
        items = ["count(*)" if c is None else f"{f}({table_prefix(self)}{c})" for f, c in self.aggregates]
        parts = [f"SELECT {', '.join(items if self.by is None else [self.by, *items])} FROM {table}"]
        if self.join:
            parts.append("AS t JOIN days ON t.dt = days.dt")
        if self.where is not None:
            parts.append(f"WHERE {self.where}")
        if self.by is not None:
            parts.append(f"GROUP BY {self.by}")
        return " ".join(parts)


def table_prefix(query: Query) -> str:
    """What stands before a column's name, so that it is the table's and not that of `days`."""
    return "t." if query.join else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """One form of a workload."""

    rows: int
    days: int
    tenants: int
    skew: str
    below: str
    repeats: int
    appends: int
    append_rows: int
    minutes: float
    together: tuple[str, ...] | None  # the engines that take turns; None for all of them
    engines: tuple[str, ...]
    measures: tuple[str, ...]
    only: tuple[str, ...]  # the queries by name; none for all of them
    processes: int  # that use a table of their own each: what one happens to be like, another is not
    seconds: float  # for which a query that is short is repeated, in all processes together


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A file of `workloads/`."""

    name: str
    purpose: str
    seed: int
    first_day: date
    flow: str
    columns: tuple[str, ...]
    sizes: Mapping[str, Size]
    default: str
    queries: tuple[Query, ...]

    def named(self, size: str | None) -> str:
        """The name of one of its sizes: that which the file calls the default if none is given."""
        chosen = self.default if size is None else size
        if chosen not in self.sizes:
            raise Refused(f"{self.name} has no size {chosen!r}; it has {', '.join(self.sizes)}.")
        return chosen

    def size(self, name: str | None) -> Size:
        """One of its sizes."""
        return self.sizes[self.named(name)]

    def asked(self, size: Size) -> list[Query]:
        """The queries of one of its sizes."""
        return [query for query in self.queries if not size.only or query.name in size.only]


def names(directory: Path = DIRECTORY) -> list[str]:
    """The workloads there are."""
    return sorted(path.stem for path in directory.glob("*.toml"))


def load(name: str, directory: Path = DIRECTORY) -> Workload:
    """Read one, and check it."""
    path = directory / f"{name}.toml"
    if not path.exists():
        raise Refused(f"there is no workload {name!r}; there are {', '.join(names(directory))}.")
    try:
        return parse(name, tomllib.loads(path.read_text()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Refused(f"{path.name} is not TOML: {error}.") from error
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}.") from error


_TOP: Final = {
    "purpose", "seed", "first_day", "flow", "columns", "engines", "measures", "default", "sizes", "queries", "skew",
    "below", "repeats", "appends", "append_rows", "minutes", "together", "only",
    "processes", "seconds",
}  # fmt: skip
_SIZE: Final = {
    "rows", "days", "tenants", "skew", "below", "repeats", "appends", "append_rows", "minutes", "together", "engines",
    "measures", "only", "processes", "seconds",
}  # fmt: skip
_DEFAULTS: Final[Mapping[str, Any]] = {
    "skew": "zipf", "below": "64MB", "repeats": 3, "appends": 0, "append_rows": 1_000, "minutes": 30,
    "together": (), "engines": (), "measures": MEASURES, "only": (), "processes": 1, "seconds": 3.0,
}  # fmt: skip
_LEAST: Final = {"rows": 1, "days": 1, "tenants": 1, "processes": 1, "repeats": 1, "appends": 0, "append_rows": 1}
_QUERY: Final = {"name", "where", "aggregates", "by", "join"}
_KINDS: Final[Mapping[str, type]] = {
    "purpose": str, "seed": int, "first_day": date, "flow": str, "columns": list, "default": str, "sizes": dict,
    "queries": list,
}  # fmt: skip
_NOT_MEANT: Final[Mapping[type, type]] = {int: bool, date: datetime}  # which Python takes for one
_TYPES: Final = {str: "a text", int: "a number", date: "a date", list: "a list", dict: "a table", bool: "true or false"}


def parse(name: str, text: Mapping[str, Any]) -> Workload:
    """A workload out of what its file holds."""
    _known(f"{name}.toml", text, _TOP)
    for needed in ("purpose", "seed", "sizes"):
        if needed not in text:
            raise Refused(f"{name}.toml says nothing of {needed}.")
    said = {key: _typed(f"{name}.toml", key, text[key], kind) for key, kind in _KINDS.items() if key in text}
    if not text["sizes"] or not all(isinstance(size, dict) for size in text["sizes"].values()):
        raise Refused(f"{name}.toml: sizes are tables, such as [sizes.tiny], at least one.")
    if dashed := [key for key in text["sizes"] if "-" in key]:
        raise Refused(f"{name}.toml: a size has no dash in its name, as outcomes are WORKLOAD-SIZE.json: {dashed[0]}.")
    columns = tuple(_one_of(f"{name}.toml", "column", c, COLUMNS) for c in said.get("columns", COLUMNS))
    queries = tuple(_query(f"{name}.toml", q, ("dt", "app", *columns)) for q in said.get("queries", ()))
    if not queries or len({query.name for query in queries}) < len(queries):
        raise Refused(f"{name}.toml: queries are wanted, at least one, and each with a name of its own.")
    shared = {**_DEFAULTS, **{key: text[key] for key in _SIZE if key in text}}
    sizes = {key: _size(f"{name}.toml, size {key}", {**shared, **given}) for key, given in text["sizes"].items()}
    for key, size in sizes.items():
        for asked in size.only:
            _one_of(f"{name}.toml, size {key}", "query", asked, tuple(query.name for query in queries))
    flow = _one_of(f"{name}.toml", "flow", text.get("flow", "table"), FLOWS)
    if flow != "table" and any(size.processes > 1 for size in sizes.values()):
        raise Refused(f"{name}.toml: several processes use tables only in the flow 'table', not in {flow!r}.")
    default = text.get("default", next(iter(sizes)))
    if default not in sizes:
        raise Refused(f"{name}.toml names {default!r} as the default, which is none of its sizes.")
    return Workload(
        name=name,
        purpose=text["purpose"],
        seed=text["seed"],
        first_day=text.get("first_day", date(2026, 5, 1)),
        flow=flow,
        columns=columns,
        sizes=sizes,
        default=default,
        queries=queries,
    )


def _size(where: str, given: Mapping[str, Any]) -> Size:
    _known(where, given, _SIZE)
    for needed, least in _LEAST.items():
        number = given.get(needed)
        if not isinstance(number, int) or isinstance(number, bool) or number < least:
            raise Refused(f"{where}: {needed} has to be a number of {least} or more, not {number!r}.")
    for needed in ("minutes", "seconds"):
        number = given[needed]
        if not isinstance(number, int | float) or isinstance(number, bool) or not 0 < number < math.inf:
            raise Refused(f"{where}: {needed} has to be a number above 0, not {number!r}.")
    if not re.fullmatch(r"[1-9]\d*(KB|MB|GB)", str(given["below"])):
        raise Refused(f"{where}: below has to be a size such as '64MB', not {given['below']!r}.")
    _one_of(where, "skew", given["skew"], SKEWS)
    turns = given["together"]  # `true` means all, `false` nobody
    together = None if turns is True else _texts(where, "together", () if turns is False else turns)
    lists = {key: _texts(where, key, given[key]) for key in ("engines", "measures", "only")}
    for measure in lists["measures"]:
        _one_of(where, "measure", measure, MEASURES)
    return Size(**{**given, "together": together, **lists})


def _texts(where: str, name: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise Refused(f"{where}: {name} has to be a list of names, not {given!r}.")
    return tuple(given)


def _typed(where: str, name: str, given: Any, kind: type) -> Any:
    if not isinstance(given, kind) or isinstance(given, _NOT_MEANT.get(kind, ())):
        raise Refused(f"{where}: {name} has to be {_TYPES[kind]}, not {given!r}.")
    return given


def _query(file: str, given: Any, columns: tuple[str, ...]) -> Query:
    where = f"{file}, a query"
    _known(where, _typed(file, "a query", given, dict), _QUERY)
    if "name" not in given:
        raise Refused(f"{file}: a query has no name.")
    for key, kind in (("name", str), ("where", str), ("by", str), ("aggregates", list), ("join", bool)):
        _typed(where, key, given.get(key, kind()), kind)
    try:
        for _, place, _, _ in Formatter().parse(given.get("where", "")):
            if place is not None:
                _one_of(where, "place", place, PLACES)
    except ValueError as error:
        raise Refused(f"{where}: {given['where']!r} has a brace too many: {error}.") from error
    if "by" in given:
        _one_of(where, "column", given["by"], columns)
    return Query(
        name=given["name"],
        where=given.get("where"),
        aggregates=tuple(_aggregate(where, text, columns) for text in given.get("aggregates", _AGGREGATES)),
        by=given.get("by"),
        join=given.get("join", False),
    )


def _aggregate(where: str, text: str, columns: tuple[str, ...]) -> tuple[str, str | None]:
    function, _, column = _typed(where, "an aggregate", text, str).partition(" ")
    _one_of(where, "function", function, FUNCTIONS)
    if (function == "count") != (column == ""):
        raise Refused(f"{where}: {text!r} is no aggregate; 'count' and 'sum id' are.")
    return function, _one_of(where, "column", column, columns) if column else None


def _known(where: str, given: Mapping[str, Any], allowed: set[str]) -> None:
    if unknown := sorted(given.keys() - allowed):
        raise Refused(f"{where}: {', '.join(unknown)} is not known; {', '.join(sorted(allowed))} are.")


def _one_of(where: str, what: str, given: Any, allowed: tuple[str, ...]) -> str:
    if given not in allowed:
        raise Refused(f"{where}: {given!r} is no {what}; there are {', '.join(allowed)}.")
    return str(given)
