from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.answers import Answer, answer, disagreements
from benchmarks.compare import compared
from benchmarks.findings import Findings, Notebook
from benchmarks.outcome import Outcome, joined, load
from benchmarks.page import section
from benchmarks.pictures import draw_all
from benchmarks.ratios import amount, markdown
from benchmarks.workload import Query, Refused

COUNTED = Query(name="q", aggregates=(("count", None), ("sum", "id")), by="app")


def findings(**figures: float) -> Findings:
    """Figures in milliseconds."""
    found = Findings(versions={"spark": "4.1"})
    for name, value in figures.items():
        found.figures[name], found.units[name] = [value], "ms"
    return found


def outcome(**engines: Findings) -> Outcome:
    """A run of the named engines; underscores stand for hyphens."""
    return Outcome(
        workload="saas-events",
        size="quick",
        rows=100,
        partitions=10,
        rounds=1,
        machine={"cores": 2, "processor": "p", "memory_gb": 4, "system": "s", "python": "3"},
        begun={"at": "now", "load": 0.1},
        ended={"at": "then", "load": 0.2},
        configurations={},
        engines={name.replace("_", "-"): found for name, found in engines.items()},
    )


def test_an_answer_does_not_depend_on_order_or_on_how_numbers_are_shown() -> None:
    """Groups in any order, and whole numbers as floats, are the same answer; another value is not."""
    one = answer(COUNTED, [("a", 2, 10), ("b", 1, 5)])
    assert one == answer(COUNTED, [("b", 1, 5.0), ("a", 2, 10.0)])
    assert one.rows == 3
    assert one != answer(COUNTED, [("a", 2, 11), ("b", 1, 5)])
    assert one != answer(COUNTED, [("a", 2, 10), (None, 1, 5)])


def test_a_time_is_the_same_with_and_without_its_zone() -> None:
    """Spark hands times to Python in the machine's zone, and names none; others name theirs."""
    time = datetime(2026, 5, 17, 12, 30, tzinfo=UTC)
    local = time.astimezone().replace(tzinfo=None)
    elsewhere = time.astimezone(timezone(timedelta(hours=5)))
    assert len({answer(COUNTED, [("a", 1, value)]) for value in (time, local, elsewhere)}) == 1
    assert answer(COUNTED, [("a", 1, time)]) != answer(COUNTED, [("a", 1, time + timedelta(microseconds=1))])


def test_who_differs_is_named() -> None:
    """And what the others say; a question that only some answered is no difference."""
    same, other = Answer(3, "aa"), Answer(4, "bb")
    said = {"ours": {"q": same, "r": same}, "theirs": {"q": other}, "third": {"q": same}}
    (text,) = disagreements(said)
    assert text == "q: theirs says 4 rows (bb); the others say 3 rows (aa)"
    assert disagreements({"ours": {"q": same}, "theirs": {"q": same, "s": other}}) == []


def test_a_difference_stands_in_the_table() -> None:
    """An error that nobody can overlook."""
    ours, theirs = findings(write=1), findings(write=2)
    ours.answers, theirs.answers = {"q": Answer(1, "a")}, {"q": Answer(2, "b")}
    text = markdown(outcome(coalesce=ours, hive=theirs))
    assert "**ERROR: the answers differ.**" in text
    assert "2 rows (b)" in text
    theirs.answers = dict(ours.answers)
    assert "The answers to 1 questions were compared" in markdown(outcome(coalesce=ours, hive=theirs))


def test_an_engine_that_contradicts_itself_is_a_difference(tmp_path: Path) -> None:
    """Between two rounds."""
    for number, rows in enumerate((1, 2)):
        Notebook(tmp_path / str(number)).answer("q", Answer(rows, "x"))
    found = Findings()
    found.take(tmp_path / "0")
    found.take(tmp_path / "1")
    assert outcome(coalesce=found).disagreements() == ["coalesce, q: 1 rows once and 2 another time"]


def test_half_a_line_is_of_a_process_that_was_killed(tmp_path: Path) -> None:
    """What it had written down before is known."""
    notes = tmp_path / "notes"
    Notebook(notes).figure("write", 1.5, "s")
    with notes.open("a") as file:
        file.write('{"figure": "plan", "val')
    found = Findings()
    found.take(notes)
    assert found.figures == {"write": [1.5]}


@pytest.mark.parametrize(
    ("ended", "shown"), [("not finished in 4 minutes", "too long"), ("failed: killed", "**ended**")]
)
def test_what_was_not_reached_says_so(ended: str, shown: str) -> None:
    """A figure that is missing since its process ended before is not empty, nor "no"."""
    theirs = findings(write=3_000)
    theirs.words = {"the process that is to use": ended, "merge": "failed: X"}
    ours = findings(write=1_500, plan=10)
    for name in ("write: bytes read", "plan: bytes read", "merge: bytes read"):
        ours.figures[name], ours.units[name] = [1.0], "KB"
    text = markdown(outcome(coalesce=ours, hive=theirs))
    assert f"| plan | 10.0 ms | {shown} |" in text
    assert f"| plan: bytes read | 1.00 KB | {shown} |" in text
    assert "| write: bytes read | 1.00 KB |  |" in text
    assert "| merge: bytes read | 1.00 KB | **failed** |" in text


def test_what_the_median_says_otherwise_is_said() -> None:
    """Of times only, and only if the two are far apart."""
    ours, theirs = findings(write=1, plan=1), findings(write=2, plan=2)
    ours.figures["write"], theirs.figures["write"] = [1.0, 1.0, 1.0, 7.0, 7.0, 7.0], [2.0, 2.0, 2.0, 2.0, 2.1]
    ours.figures["plan"], theirs.figures["plan"] = [1.0, 1.0, 1.1, 1.1, 1.1], [2.0, 2.0, 2.0, 2.0, 2.0]
    text = markdown(outcome(coalesce=ours, hive=theirs))
    assert "**Otherwise by the median**, by more than 20%: write (hive 0.50×)." in text
    assert "| write | 1.00 ms | 2.00× |" in text


def test_the_table_is_of_ratios_to_ours() -> None:
    """Our figure with its unit; the others by how many times; what there is not, in words."""
    theirs = findings(write=3_000, plan=5)
    theirs.words = {"merge": "has no MERGE"}
    gone = Findings(unavailable="no mvn to fetch its jars with")
    failing = findings(write=1_500)
    failing.words = {"plan": "failed: X"}
    text = markdown(
        outcome(coalesce=findings(write=1_500, plan=10, merge=2), hive=theirs, delta_day=failing, hudi=gone)
    )
    assert "|  | coalesce | hive | delta-day |" in text
    assert "| write | 1.50 s | 2.00× | 1.00× |" in text
    assert "| plan | 10.0 ms | 0.50× | **failed** |" in text
    assert "| merge | 2.00 ms | no |  |" in text
    assert "* merge: hive: has no MERGE." in text
    assert "* hudi has no figures: no mvn to fetch its jars with." in text
    assert "**Behind**: plan (hive 0.50×)." in text


def test_engines_without_a_jvm_are_compared_with_ours_without_one() -> None:
    """Not with Spark's figures."""
    text = markdown(outcome(coalesce=findings(write=100), coalesce_arrow=findings(write=2), duckdb=findings(write=4)))
    assert "| write | 2.00 ms | 2.00× |" in text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.5, "ms", "0.50 ms"), (12.34, "ms", "12.3 ms"), (2_500, "ms", "2.50 s"), (19_990, "files", "19,990"),
     (2_048, "KB", "2.00 MB"), (900, "KB", "900 KB")],
)  # fmt: skip
def test_amounts_are_for_people(value: float, unit: str, text: str) -> None:
    """In units that leave few digits."""
    assert amount(value, unit) == text


def test_an_outcome_is_the_same_after_it_was_kept(tmp_path: Path) -> None:
    """In JSON, with repeats, words and answers."""
    found = findings(write=1)
    found.figures["write"] = [1.0, 3.0, 2.0]
    found.words, found.answers = {"merge": "has no MERGE"}, {"q": Answer(1, "a")}
    one = outcome(coalesce=found, hudi=Findings(unavailable="gone"))
    one.save(tmp_path / "kept.json")
    again = load(tmp_path / "kept.json")
    assert again == one
    assert again.engines["coalesce"].value("write") == 1.5


def test_what_is_made_of_repeats() -> None:
    """Of times the faster half, of memory the least, of everything else the median."""
    found = findings()
    for name, unit in (("query", "ms"), ("files", "files"), ("write: peak memory", "MB")):
        found.figures[name], found.units[name] = [9.0, 1.0, 8.0, 3.0, 7.0, 6.0, 5.0, 20.0], unit
    assert found.value("query") == 3.75
    assert found.value("files") == 6.5
    assert found.value("write: peak memory") == 1.0
    assert found.value("merge") is None


def test_what_is_no_outcome_is_refused(tmp_path: Path) -> None:
    """In a sentence, with the name of the file."""
    with pytest.raises(Refused, match="there is no file"):
        load(tmp_path / "missing.json")
    (tmp_path / "other.json").write_text('{"benchmark": "soak"}')
    with pytest.raises(Refused, match=r"other.json is not the outcome of a run"):
        load(tmp_path / "other.json")
    with pytest.raises(Refused, match="there is no file"):
        load(tmp_path)
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(Refused, match=r"bytes.json is not the outcome of a run"):
        load(tmp_path / "bytes.json")
    good = outcome(coalesce=findings(write=1))
    for name, bad, said in (
        ("workload", replace(good, workload="nope"), "a workload that there is not: 'nope'"),
        ("rows", replace(good, rows="x"), "rows is 'x'"),  # type: ignore[arg-type]
        ("machine", replace(good, machine={}), "machine has no cores"),
        ("begun", replace(good, begun={"at": "now"}), "begun has no load"),
    ):
        bad.save(tmp_path / f"{name}.json")
        with pytest.raises(Refused, match=said):
            load(tmp_path / f"{name}.json")
    outcome(coalesce=findings(write=1.5)).save(tmp_path / "text.json")
    (tmp_path / "text.json").write_text((tmp_path / "text.json").read_text().replace("1.5", '"much"'))
    with pytest.raises(Refused, match=r"text.json is not the outcome of a run"):
        load(tmp_path / "text.json")
    outcome(spork=findings(write=1)).save(tmp_path / "spork.json")
    with pytest.raises(Refused, match="an engine that there is not: spork"):
        load(tmp_path / "spork.json")


def test_two_runs_are_compared_by_their_ratios() -> None:
    """Both are shown; what is further apart than allowed is named; twice as slow a machine makes no difference."""
    one = outcome(coalesce=findings(write=10, plan=1), hive=findings(write=20, plan=5))
    other = outcome(coalesce=findings(write=20, plan=2), hive=findings(write=40, plan=20))
    table, apart = compared(one, other, 0.2)
    assert "| hive | write | 2.00× | 2.00× | 0% |" in table
    assert apart == ["hive, plan: 5.00× and 10.00×"]
    other.engines["hive"].contradictions.append("q: 1 rows once and 2 another time")
    assert compared(one, other, 0.2)[1][-1] == "an answer, hive, q: 1 rows once and 2 another time"
    with pytest.raises(Refused, match="not the same"):
        compared(one, replace(other, size="2m"), 0.2)
    with pytest.raises(Refused, match="no engine and figure in common"):
        compared(one, outcome(coalesce=findings(write=1), hudi=findings(write=1)), 0.2)


def test_what_only_one_run_has_is_no_agreement() -> None:
    """An engine that failed in the second run, a figure that is gone, nothing beside something, another unit."""
    one = outcome(coalesce=findings(write=10, plan=1), hive=findings(write=20, plan=5), hudi=findings(plan=5))
    other = outcome(coalesce=findings(write=10, plan=1), hive=findings(write=0), hudi=Findings(unavailable="gone"))
    for first, second, has in ((one, other, "first"), (other, one, "second")):
        _, apart = compared(first, second, 0.2)
        assert {text for text in apart if "only" in text} == {
            f"hive, plan: only the {has} has it",
            f"hudi, plan: only the {has} has it",
        }
        assert len(apart) == 3
    other.engines["hive"].units["write"] = "s"
    with pytest.raises(Refused, match="write of hive is in s, and ours is in ms"):
        compared(one, other, 0.2)


def test_what_was_seldom_repeated_or_answered_by_one_alone_is_said() -> None:
    """Below the table: luck has a part in it, and nobody has checked it."""
    ours, theirs = findings(write=1, plan=1), findings(write=2, plan=2)
    ours.figures["plan"], theirs.figures["plan"] = [1.0] * 9, [2.0] * 4
    ours.answers = {"q": Answer(1, "a"), "after ×2": Answer(1, "b")}
    theirs.answers = {"q": Answer(1, "a")}
    text = markdown(outcome(coalesce=ours, hive=theirs))
    assert "**Seldom repeated**: write (1)." in text
    assert "1 more had one answer only, and so none to compare with: after ×2 (coalesce)." in text


def test_every_hundredth_append_is_in_the_table() -> None:
    """With what was read there; the picture has the others."""
    figures = {
        "append @50": 1.0,
        "append @100": 1.0,
        "point @50: files read": 1.0,
        "point @200: files read": 1.0,
        "write": 1.0,
    }
    text = section(outcome(coalesce=findings(**figures), hive=findings(**figures)))
    shown = [line.split(" | ")[0].removeprefix("| ") for line in text.splitlines() if line.startswith("| ")]
    assert shown[2:] == ["append @100", "point @200: files read", "write"]


def test_outcomes_of_other_engines_become_one(tmp_path: Path) -> None:
    """In the order of all engines; answers are compared over all; what is not of the same run of things is refused."""
    ours, later = findings(write=1), findings(write=2)
    ours.answers, later.answers = {"q": Answer(1, "a")}, {"q": Answer(2, "b")}
    left = Findings(unavailable="it was not asked for in this run")
    one, other = outcome(coalesce=ours, hive=left, hudi=left), outcome(coalesce=left, hive=later)
    both = joined([other, one])
    assert list(both.engines) == ["coalesce", "hive", "hudi"]
    assert [both.engines[name].unavailable is None for name in both.engines] == [True, True, False]
    assert both.disagreements()
    with pytest.raises(Refused, match="coalesce is in two of them"):
        joined([one, one])
    with pytest.raises(Refused, match="the size of one is quick, of another 2m"):
        joined([one, replace(other, size="2m")])
    one.save(tmp_path / "one.json")
    other.save(tmp_path / "other.json")
    assert main(["join", str(tmp_path / "one.json"), str(tmp_path / "other.json"), "--out", str(tmp_path / "b")]) == 1
    assert load(tmp_path / "b") == both


def test_pictures_are_drawn_of_what_there_is(tmp_path: Path) -> None:
    """Of ratios, for each kind of engine; one engine alone gives none."""
    both = outcome(coalesce=findings(write=10), hive=findings(write=20), coalesce_arrow=findings(write=1))
    both.save(tmp_path / "saas-events-quick.json")
    assert draw_all([tmp_path / "saas-events-quick.json"], tmp_path / "out") == [tmp_path / "out/saas-events-quick.png"]
    assert (tmp_path / "out/saas-events-quick.png").stat().st_size > 0
    outcome(coalesce=findings(write=10)).save(tmp_path / "alone.json")
    assert main(["plot", str(tmp_path / "alone.json"), "--out", str(tmp_path / "out")]) == 2
