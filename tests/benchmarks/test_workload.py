from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks import workload
from benchmarks.engines.registry import ENTRIES, chosen
from benchmarks.workload import Refused, parse

SMALL: dict[str, Any] = {
    "purpose": "a few rows",
    "seed": 1,
    "sizes": {"tiny": {"rows": 100, "days": 2, "tenants": 10}},
    "queries": [{"name": "point", "where": "dt = {day} AND app = {small}"}],
}


@pytest.mark.parametrize("name", workload.names())
def test_every_workload_is_understood(name: str) -> None:
    """A file in `workloads/` says nothing that is not known, and names engines that there are."""
    loaded = workload.load(name)
    assert loaded.sizes
    for size in loaded.sizes.values():
        assert chosen(list(size.engines)) == [ENTRIES[engine] for engine in size.engines]
        assert set(size.together or ()) <= set(ENTRIES)
    values = {"day": "DATE '2026-05-01'", "later": "DATE '2026-05-02'", "small": "'a'", "large": "'b'", "fifty": "'a'"}
    assert all("{" not in query.filled(values).sql("t") for query in loaded.queries)


def test_what_is_not_said_has_a_default() -> None:
    """The first size, Zipf's law, 64 MB, a day in May, and every measure."""
    loaded = parse("small", SMALL)
    assert loaded.default == "tiny"
    assert loaded.first_day == date(2026, 5, 1)
    assert loaded.size(None).skew == "zipf"
    assert loaded.size(None).below == "64MB"
    assert loaded.size(None).measures == workload.MEASURES


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sead": 2}, "sead is not known"),
        ({"flow": "tabel"}, "'tabel' is no flow"),
        ({"skew": "zip"}, "'zip' is no skew"),
        ({"measures": ["queries", "delet-tenant"]}, "'delet-tenant' is no measure"),
        ({"columns": ["id", "colour"]}, "'colour' is no column"),
        ({"processes": 0}, "processes has to be a number of 1 or more"),
        ({"processes": 2, "flow": "appends"}, "several processes use tables only in the flow 'table'"),
        ({"default": "huge"}, "none of its sizes"),
        ({"sizes": {"tiny": {"rows": 0, "days": 1, "tenants": 1}}}, "rows has to be a number of 1 or more"),
        ({"sizes": {"tiny": {"rows": 1, "days": 1, "tenants": 1, "tenant": 1}}}, "tenant is not known"),
        ({"queries": [{"where": "true"}]}, "has no name"),
        ({"queries": [{"name": "q", "aggregates": ["sum"]}]}, "'sum' is no aggregate"),
        ({"queries": [{"name": "q", "aggregates": ["avg value"]}]}, "'avg' is no function"),
        ({"queries": [{"name": "q", "aggregates": ["sum idd"]}]}, "'idd' is no column"),
        ({"queries": [{"name": "q", "aggregates": "sum id"}]}, "aggregates has to be a list"),
        ({"queries": [{"name": "q", "by": "ap"}]}, "'ap' is no column"),
        ({"queries": [{"name": "q", "where": "dt = {dya}"}]}, "'dya' is no place; there are day, later"),
        ({"queries": [{"name": "q", "where": "dt = {day"}]}, "has a brace too many"),
        ({"queries": [{"name": "q", "where": "dt = day}"}]}, "has a brace too many"),
        ({"queries": [{"name": "q", "where": 1}]}, "where has to be a text"),
        ({"queries": [{"name": "q", "join": "yes"}]}, "join has to be true or false"),
        ({"queries": [{"name": "q"}, {"name": "q"}]}, "a name of its own"),
        ({"queries": []}, "at least one"),
        ({"queries": ["q"]}, "a query has to be a table"),
        ({"repeats": "3"}, "repeats has to be a number of 1 or more, not '3'"),
        ({"repeats": 0}, "repeats has to be a number of 1 or more"),
        ({"appends": -1}, "appends has to be a number of 0 or more"),
        ({"minutes": "x"}, "minutes has to be a number above 0"),
        ({"seconds": 0}, "seconds has to be a number above 0"),
        ({"below": "lots"}, "below has to be a size such as '64MB'"),
        ({"engines": "coalesce"}, "engines has to be a list of names"),
        ({"together": ["coalesce", 1]}, "together has to be a list of names"),
        ({"first_day": "2026-05-01"}, "first_day has to be a date"),
        ({"first_day": datetime(2026, 5, 1)}, "first_day has to be a date"),
        ({"seed": True}, "seed has to be a number"),
        ({"sizes": [1]}, "sizes has to be a table"),
        ({"sizes": {}}, "sizes are tables"),
        ({"sizes": {"tiny": 3}}, "sizes are tables"),
        ({"sizes": {"very-tiny": {"rows": 1, "days": 1, "tenants": 1}}}, "a size has no dash in its name"),
        ({"sizes": {"tiny": {"rows": True, "days": 1, "tenants": 1}}}, "rows has to be a number of 1 or more"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(change: dict[str, Any], said: str) -> None:
    """A misspelt word is not left out in silence."""
    with pytest.raises(Refused, match=said):
        parse("small", {**SMALL, **change})


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"a = ", "odd.toml is not TOML"), (b"\xff", "odd.toml is not TOML"), (None, "cannot be read")],
)
def test_a_file_that_is_none_is_refused_in_a_sentence(tmp_path: Path, content: bytes | None, said: str) -> None:
    """Half a line, bytes that are no text, a directory of that name."""
    path = tmp_path / "odd.toml"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(Refused, match=said):
        workload.load("odd", tmp_path)


def test_a_size_may_measure_less_than_the_others() -> None:
    """What is said of all sizes holds for those that say nothing else."""
    sizes = {"tiny": SMALL["sizes"]["tiny"], "quick": {**SMALL["sizes"]["tiny"], "measures": ["plan"]}}
    loaded = parse("small", {**SMALL, "measures": ["plan", "merge"], "sizes": sizes})
    assert loaded.size("quick").measures == ("plan",)
    assert loaded.size("tiny").measures == ("plan", "merge")


def test_a_size_may_ask_some_of_the_queries() -> None:
    """Those that it names; one that there is not is refused, with those that there are."""
    second = {"name": "everything"}
    said = {**SMALL, "queries": [*SMALL["queries"], second]}
    loaded = parse("small", said)
    assert [query.name for query in loaded.asked(loaded.size(None))] == ["point", "everything"]
    some = {"tiny": {**SMALL["sizes"]["tiny"], "only": ["everything"]}}
    loaded = parse("small", {**said, "sizes": some})
    assert [query.name for query in loaded.asked(loaded.size(None))] == ["everything"]
    other = {"tiny": {**SMALL["sizes"]["tiny"], "only": ["all"]}}
    with pytest.raises(Refused, match=r"'all' is no query; there are point, everything"):
        parse("small", {**said, "sizes": other})


def test_names_that_are_not_there_are_refused_with_those_that_are() -> None:
    """Of a workload, of a size and of an engine."""
    with pytest.raises(Refused, match=r"no workload 'saas-event'; there are .*saas-events"):
        workload.load("saas-event")
    with pytest.raises(Refused, match=r"saas-events has no size '3m'; it has tiny, quick"):
        workload.load("saas-events").size("3m")
    with pytest.raises(Refused, match=r"no engine 'icebreg-day'; there are .*iceberg-day"):
        chosen(["coalesce", "icebreg-day"])


def test_a_query_as_sql() -> None:
    """Aggregates, a condition, groups, and a join whose columns are the table's."""
    loaded = parse(
        "small",
        {
            **SMALL,
            "queries": [
                {"name": "point", "where": "app = {small}"},
                {"name": "by", "by": "app", "aggregates": ["count", "sum id"]},
                {"name": "join", "join": True, "where": "days.label = 'chosen'", "aggregates": ["count", "sum id"]},
            ],
        },
    )
    point, by, join = loaded.queries
    assert point.filled({"small": "'x'"}).sql("t").endswith("FROM t WHERE app = 'x'")
    assert by.sql("t") == "SELECT app, count(*), sum(id) FROM t GROUP BY app"
    assert by.columns == ("app", "id")
    assert join.sql("big") == (
        "SELECT count(*), sum(t.id) FROM big AS t JOIN days ON t.dt = days.dt WHERE days.label = 'chosen'"
    )
