from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from benchmarks.engines.arrow_dataset import ArrowDataset
from benchmarks.engines.conditions import aggregated, expression
from benchmarks.engines.engine import NotOffered, Rows, measured
from benchmarks.engines.registry import ENTRIES
from benchmarks.findings import Findings, Notebook
from benchmarks.flows.steps import Steps
from benchmarks.workload import Query, parse

_ROWS = {"rows": 10, "days": 1, "tenants": 1, "repeats": 2}
SIZE = parse(
    "small", {"purpose": "a few rows", "seed": 1, "sizes": {"tiny": _ROWS}, "queries": [{"name": "all"}]}
).size(None)


@pytest.mark.parametrize("name", ENTRIES)
def test_every_engine_says_how_it_is_set_up(name: str) -> None:
    """Its class has a docstring, which goes to the results."""
    assert len(ENTRIES[name].configuration()) > 40


def test_an_engine_whose_packages_are_missing_cannot_be_had() -> None:
    """And is reported so."""
    missing = replace(ENTRIES["duckdb"], packages=("pyarrow", "no_such_package"))
    assert missing.unavailable() == "no_such_package is not installed"
    assert ENTRIES["pyarrow-dataset"].unavailable() is None


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("dt = DATE '2026-05-01' AND app = 'a'", [1]),
        ("app IN ('a', 'c')", [1, 2, 4]),
        ("NOT (app = 'a') AND dt = DATE '2026-05-01'", [3]),
        ("dt >= DATE '2026-05-02' AND dt <= DATE '2026-05-09'", [2, 4]),
        ("dt = DATE '2026-05-02' OR app = 'B'", [2, 3, 4]),
        ("lower(app) = 'b'", [3]),
        (None, [1, 2, 3, 4]),
    ],
)
def test_conditions_mean_the_same_without_sql(where: str | None, kept: list[int]) -> None:
    """As an expression of pyarrow's."""
    rows = pa.table(
        {
            "dt": pa.array(["2026-05-01", "2026-05-02", "2026-05-01", "2026-05-02"]).cast(pa.date32()),
            "app": ["a", "a", "B", "c"],
            "id": [1, 2, 3, 4],
        }
    )
    condition = expression(where)
    assert (rows if condition is None else rows.filter(condition))["id"].to_pylist() == kept


def test_a_condition_that_cannot_be_translated_is_not_guessed() -> None:
    """It is said that the engine does not take it."""
    with pytest.raises(NotOffered, match="takes no condition"):
        expression("app LIKE 'a%'")


def test_aggregates_of_rows() -> None:
    """As SQL would give them, in one row or in one for each group."""
    rows = pa.table({"app": ["a", "b", "a"], "id": [1, 2, 3]})
    both = (("count", None), ("sum", "id"))
    assert [list(row) for row in aggregated(Query(name="q", aggregates=both), rows)] == [[3, 6]]
    assert sorted(map(tuple, aggregated(Query(name="q", aggregates=both, by="app"), rows))) == [
        ("a", 2, 4),
        ("b", 1, 2),
    ]


def test_metadata_and_data_are_told_apart(tmp_path: Path) -> None:
    """By directories at the top and by ends of names; checksums of Hadoop's are nobody's."""
    for name, size in {
        "dt=1/a.parquet": 10,
        "dt=1/.a.parquet.crc": 5,
        "_log/0.json": 3,
        "v.bin": 2,
        "_SUCCESS": 0,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * size)
    found = measured(tmp_path, ("_log", ".bin"))
    assert (found.files, found.directories, found.data_bytes, found.metadata_bytes) == (1, 2, 10, 5)


def test_what_is_brief_is_done_several_times_in_a_turn(tmp_path: Path) -> None:
    """If it is the same each time: of several forms each turn asks one, or they would come back too soon."""

    class Counting(ArrowDataset):
        asked = 0

        def query(self, query: Query) -> Rows:
            self.asked += len(query.aggregates)
            return [[1]]

    for name, forms, least, most in (("one", 1, 60 * 20, 80 * 20), ("two", 2, 60, 90)):
        engine = Counting.__new__(Counting)
        asked = [Query(name="q", where=f"app = '{n}'", aggregates=(("count", None),)) for n in range(forms)]
        Steps(engine, Notebook(tmp_path / name), SIZE).queries({"q": asked})
        found = Findings()
        found.take(tmp_path / name)
        assert len(found.figures["q"]) == 60
        assert least <= engine.asked <= most


def test_what_fails_or_is_not_there_becomes_words(tmp_path: Path) -> None:
    """The other steps go on, and the first of several changes is not measured."""
    engine: Any = object()
    steps = Steps(engine, Notebook(tmp_path / "notes"), SIZE)

    def lacks() -> None:
        raise NotOffered("has no MERGE")

    def breaks() -> None:
        raise ValueError("bad\nthing")

    assert not steps.once("merge", lacks)
    assert not steps.each("delete", [breaks])
    done: list[int] = []
    assert steps.each("update", [lambda: done.append(1), lambda: done.append(2)])
    steps.in_turns({"query": lambda: done.append(3)})
    found = Findings()
    found.take(tmp_path / "notes")
    assert found.words == {"merge": "has no MERGE", "delete": "failed: ValueError: bad"}
    assert done == [1, 2, *[3] * 72]  # what is short is repeated often, and not measured at first
    assert [len(found.figures[name]) for name in ("update", "query")] == [1, 60]


def test_what_is_long_is_repeated_as_often_as_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what takes very long only once, after it has warmed up."""
    engine: Any = object()
    for took, times in ((0.5, 7), (2.0, 2), (9.0, 2), (21.0, 1)):
        monkeypatch.setattr("benchmarks.flows.steps.seconds", lambda _, took=took: took)
        Steps(engine, Notebook(tmp_path / f"notes-{took}"), SIZE).in_turns({"query": lambda: None})
        found = Findings()
        found.take(tmp_path / f"notes-{took}")
        assert len(found.figures["query"]) == times


def test_processes_share_the_time_for_which_a_query_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two, each has half of it."""
    monkeypatch.setattr("benchmarks.flows.steps.seconds", lambda _: 0.25)
    engine: Any = object()
    for processes, times in ((1, 13), (2, 7)):
        size = replace(SIZE, processes=processes)
        Steps(engine, Notebook(tmp_path / f"notes-{processes}"), size).in_turns({"query": lambda: None})
        found = Findings()
        found.take(tmp_path / f"notes-{processes}")
        assert len(found.figures["query"]) == times


def test_an_answer_that_changes_while_it_is_timed_is_a_failure(tmp_path: Path) -> None:
    """Also of a question that each engine has for itself: something that was kept is not true any more."""

    class Forgetful(ArrowDataset):
        answers = 0

        def query(self, query: Query) -> Rows:
            self.answers += len(query.aggregates)
            return [[self.answers]]

    forms = [Query(name="q", aggregates=(("count", None),))]
    for name, own in (("shared", ()), ("own", ("q",))):
        Steps(Forgetful.__new__(Forgetful), Notebook(tmp_path / name), SIZE).queries(
            {"q": forms}, rounds=(0, 1), own=own
        )
        found = Findings()
        found.take(tmp_path / name)
        assert bool(found.contradictions) is (name == "shared")
        assert found.words.get("q", "").startswith("failed: ValueError: it was Answer") is (name == "own")


def test_each_round_asks_the_next_form_of_a_query(tmp_path: Path) -> None:
    """Whoever keeps what the first one found does not know the second; some answers are written down afterwards."""
    asked: list[str | None] = []

    class Asked(ArrowDataset):
        def query(self, query: Query) -> Rows:
            asked.append(query.where)
            return [[1]]

    forms = [Query(name="q", where=f"app = '{app}'", aggregates=(("count", None),)) for app in "abc"]
    engine = Asked.__new__(Asked)
    Steps(engine, Notebook(tmp_path / "notes"), SIZE).queries({"q": forms}, rounds=(1, 4))
    Steps(engine, Notebook(tmp_path / "other"), SIZE).queries({"q": forms}, rounds=(0, 0), own=["q"])
    other = Findings()
    other.take(tmp_path / "other")
    assert other.answers == {}
    assert [str(where)[-2] for where in asked] == [*"aa", *"abcab", *"abc", *"aa", "a"]
    found = Findings()
    found.take(tmp_path / "notes")
    assert found.answers.keys() == {"q", "q, of others (1)", "q, of others (2)"}
    assert len(found.figures["q"]) == 4


def test_queries_take_turns_and_one_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    """Each is done once in every round, which each begins in turn; what fails later keeps what it had."""
    engine: Any = object()
    done: list[str] = []

    def fails_at_last() -> None:
        done.append("b")
        if done.count("b") == 14:
            raise ValueError("too often")

    Steps(engine, Notebook(tmp_path / "notes"), SIZE).in_turns({"a": lambda: done.append("a"), "b": fails_at_last})
    found = Findings()
    found.take(tmp_path / "notes")
    assert "".join(done) == "abba" * 7 + "a" * 58
    assert [len(found.figures[name]) for name in ("a", "b")] == [60, 1]
    assert found.words == {"b": "failed: ValueError: too often"}
