import json
import os
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

import coalesce
from coalesce.cli.main import main

COALESCE = Path(sys.executable).with_name("coalesce")
APPS = ["web", "web", "web", "A", "B", None, "", "[#small]", "日本"]


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """A table of three versions: two days of nine events, of eight apps that share, and then one app less."""
    rows = pa.table(
        {
            "dt": [date(2026, 5, 17)] * 9 + [date(2026, 5, 18)] * 9,
            "app": APPS * 2,
            "amount": pa.array(range(18), pa.int64()),
        }
    )
    path = tmp_path / "events"
    table = coalesce.create(path, rows.schema, partition_by=["dt", "app"], rule=coalesce.small("app", below="1MB"))
    table.append(rows)
    table.drop_partition(app="B")
    return path


def answer(capsys: pytest.CaptureFixture[str], *argv: object) -> str:
    """What a command that succeeds prints; it says nothing on stderr."""
    assert main([str(a) for a in argv]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def complaint(capsys: pytest.CaptureFixture[str], *argv: object) -> str:
    """What a command that fails says on stderr; it prints nothing."""
    assert main([str(a) for a in argv]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    return err


def refusal(capsys: pytest.CaptureFixture[str], *argv: object) -> str:
    """What a wrong command line gets to read: the last line, after the usage."""
    with pytest.raises(SystemExit) as stopped:
        main([str(a) for a in argv])
    assert stopped.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()[-1]


def keys(answered: object) -> object:
    """The shape of an answer: its keys, and of a list the shape of its first member."""
    match answered:
        case dict():
            return {key: keys(value) for key, value in answered.items()}
        case [first, *_]:
            return [keys(first)]
        case _:
            return type(answered).__name__


# --- for people -------------------------------------------------------------------------------------------------


def test_describe_says_what_the_table_is(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Version, size, partition fields, rule and columns, each on a line of its own."""
    lines = answer(capsys, "describe", events).splitlines()
    assert lines[0].split() == ["table", str(events)]
    assert re.match(r"version +2, drop_partition, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", lines[1])
    assert lines[2].startswith("holds           16 rows in 2 files, ")
    assert lines[3].startswith("removed         2 rows that still lie in files, about ")
    assert lines[4].split() == ["partitioned", "by", "dt,", "app"]
    assert lines[5].endswith('small("app", below="1MB", group="[#small]")')
    assert lines[-3:] == [" 1  dt      date", " 2  app     string", " 3  amount  int64"]


def test_describe_shows_every_kind_of_rule_as_the_call_that_makes_it(
    events: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is shown can be typed again."""
    coalesce.open(events).set_rule(coalesce.group("app", {"[#small]": ["A", None], "rest": ["B"]}))
    assert 'group("app", {"[#small]": [\'A\', NULL], "rest": [\'B\']})  (1 earlier rule)' in answer(
        capsys, "describe", events
    )
    coalesce.open(events).set_rule(coalesce.keep_all())
    assert "rule            keep_all()  (2 earlier rules)" in answer(capsys, "describe", events)


def test_partitions_tells_awkward_values_apart(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """NULL, '' and '[#small]' are three lines, and wide characters do not disturb the columns."""
    listed = answer(capsys, "partitions", events, "dt = DATE '2026-05-17'").splitlines()
    assert [re.split(r"  +", line)[:4] for line in listed] == [
        ["dt", "app", "files", "rows"],
        ["2026-05-17", "NULL", "1", "1"],
        ["2026-05-17", "''", "1", "1"],
        ["2026-05-17", "'A'", "1", "1"],
        ["2026-05-17", "'[#small]'", "1", "1"],
        ["2026-05-17", "'web'", "1", "3"],
        ["2026-05-17", "'日本'", "1", "1"],
    ]
    assert {len(line) + line.count("日本") * 2 for line in listed} == {len(listed[0])}


def test_partitions_can_be_sorted_and_limited(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The largest come first when asked for, and no more than asked for."""
    listed = answer(capsys, "partitions", events, "--sort", "rows", "--limit", 2).splitlines()[1:]
    assert [line.split()[1] for line in listed] == ["'web'", "'web'"]


def test_partitions_of_several_specs_are_listed_apart(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After the partition fields have changed, each spec has columns of its own."""
    table = coalesce.open(events)
    table.evolve(drop="app")
    table.append(pa.table({"dt": [date(2026, 5, 19)], "app": ["A"], "amount": [1]}))
    first, second = answer(capsys, "partitions", events).split("\n\n")
    assert first.startswith("by dt, app\ndt          app")
    assert second.splitlines()[0] == "by dt"
    assert second.splitlines()[2].startswith("2026-05-19      1     1")


def test_plan_explains_and_lists(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report for people is what `Plan.explain` says; `--files` adds the files."""
    predicate = "dt = DATE '2026-05-17' AND app = 'A'"
    explained = coalesce.open(events).plan(predicate).explain()
    assert answer(capsys, "plan", events, predicate) == f"{explained}\n"
    with_files = answer(capsys, "plan", events, predicate, "--files")
    assert with_files.startswith(explained)
    assert "dt=2026-05-17 app=[#small]" in with_files


def test_files_shows_physical_partitions_and_paths(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each file in a hundred columns, or whole paths for other programs."""
    listed = answer(capsys, "files", events).splitlines()
    assert len(listed) == 3
    assert max(len(line) for line in listed) <= 100
    assert re.split(r"  +", listed[1].strip())[5] == "dt=2026-05-17 app=[#small]"
    paths = answer(capsys, "files", events, "--paths").split()
    assert len(paths) == 2
    assert all((events / path).is_file() for path in paths)


def test_count_is_a_bare_number(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So that a shell can compute with it."""
    assert answer(capsys, "count", events) == "16\n"
    assert answer(capsys, "count", events, "app IS NULL OR amount > 15") == "4\n"


def test_history_is_newest_first(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each version with what it changed; a limit and an older version leave some out."""
    listed = answer(capsys, "history", events).splitlines()
    assert [line.split()[0] for line in listed] == ["version", "2", "1", "0"]
    assert listed[1].split()[3:] == ["drop_partition", "2", "16", "2", "-2"]
    assert len(answer(capsys, "history", events, "--limit", 1).splitlines()) == 2
    assert len(answer(capsys, "history", events, "--version", 1).splitlines()) == 3


def test_the_past_can_be_looked_at(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By version, and by time: the table is created now, so the far future shows the newest."""
    assert answer(capsys, "count", events, "--version", 1) == "18\n"
    assert answer(capsys, "count", events, "--as-of", "2999-01-01") == "16\n"


# --- for programs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (
            ["describe"],
            {
                "location": "str",
                "table_id": "str",
                "version": "int",
                "committed": "str",
                "operation": "str",
                "rows": "int",
                "dead_rows": "int",
                "files": "int",
                "bytes": "int",
                "dead_bytes": "int",
                "manifests": "int",
                "columns": [{"id": "int", "name": "str", "type": "str", "required": "bool"}],
                "partition_by": ["str"],
                "rule": "str",
                "specs": "int",
                "rules": "int",
                "properties": {},
                "reader_features": ["str"],
                "writer_features": ["str"],
            },
        ),
        (["count"], {"version": "int", "predicate": "str", "rows": "int"}),
        (
            ["partitions", "app = 'A'"],
            {
                "version": "int",
                "partitions": [
                    {
                        "spec_id": "int",
                        "values": {"dt": "str", "app": "str"},
                        "files": "int",
                        "rows": "int",
                        "bytes": "int",
                    }
                ],
            },
        ),
        (
            ["files"],
            {
                "version": "int",
                "files": [
                    {
                        "path": "str",
                        "spec_id": "int",
                        "rule_id": "int",
                        "physical_key": {"dt": {"value": "str"}, "app": {"group": "str"}},
                        "tuples": "int",
                        "rows": "int",
                        "dead_rows": "int",
                        "bytes": "int",
                        "added_version": "int",
                    }
                ],
            },
        ),
        (
            ["history"],
            {
                "versions": [
                    {
                        "version": "int",
                        "committed": "str",
                        "operation": "str",
                        "files": "int",
                        "rows": "int",
                        "dead_rows": "int",
                        "bytes": "int",
                        "summary": {
                            "files_added": "int",
                            "rows_added": "int",
                            "bytes_added": "int",
                            "files_removed": "int",
                            "rows_removed": "int",
                            "bytes_removed": "int",
                        },
                    }
                ]
            },
        ),
        (
            ["plan", "app = 'A'", "--files"],
            {
                "version": "int",
                "predicate": "str",
                "stages": [{"name": "str", "manifests": "int", "files": "int", "bytes": "int", "why": "str"}],
                "unknown_files": "int",
                "residual": "str",
                "files": [{"path": "str", "rows": "int", "bytes": "int", "spec_id": "int", "rule_id": "int"}],
            },
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_json_has_these_keys(
    argv: list[str], expected: object, events: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Programs rely on them: a key may be added, but none may go or change its type."""
    assert keys(json.loads(answer(capsys, argv[0], events, *argv[1:], "--json"))) == expected


def test_json_values_are_plain(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Dates are ISO text, NULL is null, and text is itself, in any script."""
    found = json.loads(answer(capsys, "partitions", events, "dt = DATE '2026-05-18'", "--json"))
    assert [p["values"] for p in found["partitions"]] == [
        {"dt": "2026-05-18", "app": app} for app in (None, "", "A", "[#small]", "web", "日本")
    ]


# --- what goes wrong ---------------------------------------------------------------------------------------------


def test_errors_are_one_sentence(events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On stderr, with exit code 1 and no stack trace."""
    nowhere = tmp_path / "nowhere"
    assert complaint(capsys, "describe", nowhere) == f"coalesce: there is no coalesce table at {nowhere}.\n"
    assert "there is no version 9 of the table" in complaint(capsys, "count", events, "--version", 9)
    assert "has no tag '-1'" in complaint(capsys, "count", events, "--version=-1")
    assert "has no tag '1.5'" in complaint(capsys, "count", events, "--version=1.5")
    assert complaint(capsys, "plan", events, "ap = 'A'").splitlines() == [
        "coalesce: there is no column 'ap'; did you mean 'app'?",
        "  ap = 'A'",
        "  ^",
    ]
    assert "was committed after 1999-01-01" in complaint(capsys, "count", events, "--as-of", "1999-01-01")
    assert "only Spark can evaluate `soundex(app) = 'a'`" in complaint(capsys, "count", events, "soundex(app) = 'a'")


def test_debug_shows_where_an_error_came_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For whoever has to find out."""
    shown = complaint(capsys, "describe", tmp_path / "nowhere", "--debug")
    assert "Traceback" in shown
    assert "TableNotFound" in shown


def test_wrong_command_lines_are_refused(events: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With exit code 2, and a last line that says what is wrong."""
    assert "'' is not a version" in refusal(capsys, "count", events, "--version=")
    assert "'first' is not a whole number" in refusal(capsys, "tag", events, "a", "--at", "first")
    assert "'soon' is not a time" in refusal(capsys, "count", events, "--as-of", "soon")
    assert "not allowed with" in refusal(capsys, "count", events, "--as-of", "2026-05-17", "--version", "1")
    assert "'region' is not a setting" in refusal(capsys, "count", events, "--storage-option", "region")
    assert "'0' is not a number of lines" in refusal(capsys, "files", events, "--limit", "0")
    assert "required: PREDICATE" in refusal(capsys, "plan", events)
    assert "invalid choice: 'descibe'" in refusal(capsys, "descibe", events)
    assert "unrecognized arguments: --js" in refusal(capsys, "count", events, "--js")


def test_without_a_verb_it_shows_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Help, on stderr, because nothing was asked for."""
    assert main([]) == 2
    assert "partitions" in capsys.readouterr().err


def test_the_release_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """`coalesce --version` is about the program, `coalesce describe --version N` about a table."""
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert re.fullmatch(r"coalesce \d+\.\d+\.\d+\n", capsys.readouterr().out)


# --- the real thing ----------------------------------------------------------------------------------------------


def test_it_runs_where_there_is_no_java(events: Path, tmp_path: Path) -> None:
    """The installed command, with a PATH that has nothing on it."""
    environment = {"PATH": str(tmp_path), "LC_ALL": "C.UTF-8"}
    ran = subprocess.run(
        [COALESCE, "partitions", events, "app = 'A'"], env=environment, capture_output=True, text=True, timeout=60
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert len(ran.stdout.splitlines()) == 3


def test_a_reader_that_goes_away_is_no_error(events: Path) -> None:
    """`coalesce … | head -1` says nothing on stderr, however much is left to print."""
    table = coalesce.open(events)
    many = pa.table({"dt": [date(2026, 5, 20)] * 5000, "app": [f"app-{i}" for i in range(5000)], "amount": [0] * 5000})
    table.append(many)
    with subprocess.Popen(
        [COALESCE, "partitions", events], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as ran:
        assert ran.stdout is not None
        assert ran.stderr is not None
        ran.stdout.readline()
        ran.stdout.close()
        assert ran.stderr.read() == ""
        assert ran.wait(60) == 0


def test_the_command_line_loads_no_spark() -> None:
    """Starting it costs no more than it must."""
    program = "import sys, coalesce.cli.command; print('pyspark' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ran.stdout == "False\n"


@pytest.mark.spark
def test_demo_tells_the_whole_story(tmp_path: Path) -> None:
    """From end to end in a Spark of its own: few files, one of them read, neighbours untouched, nothing left behind."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    ran = subprocess.run([COALESCE, "demo"], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"^partitionBy +759 +759 +759 ", ran.stdout, re.MULTILINE)
    assert re.search(r"^coalesce +759 +9 +9 ", ran.stdout, re.MULTILINE)
    assert re.search(r"^  logical tuples +1 +1 ", ran.stdout, re.MULTILINE)
    assert ran.stdout.count("neighbours are as before") == 2
    assert "… starting Spark" in ran.stderr
    assert not [name for name in os.listdir(temporary) if name.startswith("coalesce-demo-")]
    assert os.listdir(tmp_path) == ["temporary"]


def test_demo_does_not_write_into_what_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--keep` takes a new directory; it refuses before it starts Spark."""
    (tmp_path / "mine").touch()
    assert "is not an empty directory" in complaint(capsys, "demo", "--keep", tmp_path)


def test_compact_says_what_it_would_do_and_does_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A sentence and the reasons; the same as JSON; and nothing the second time."""
    table = coalesce.create(tmp_path / "t", pa.schema([("app", pa.string())]), partition_by=["app"])
    for _ in range(3):
        table.append([{"app": "A"}])
    assert re.match(
        r"3 files \(.*\) would become about 1\n  3 small\n", answer(capsys, "compact", tmp_path / "t", "--dry-run")
    )
    assert re.match(
        r"3 files \(.*\) became 1 \(.*\) in 1 commit\n  3 small\n", answer(capsys, "compact", tmp_path / "t")
    )
    again = json.loads(answer(capsys, "compact", tmp_path / "t", "app = 'A'", "--json"))
    assert (again["files_before"], again["version"]) == (0, 4)
    assert answer(capsys, "compact", tmp_path / "t", "--max-bytes", "1GB", "--target", "1MB") == "nothing to do\n"
    assert complaint(capsys, "compact", tmp_path / "t", "--target", "much") == (
        "coalesce: 'much' is not a size; write a number of bytes or \"64MB\".\n"
    )


@pytest.fixture
def partly_dead(tmp_path: Path) -> Path:
    """Two days of three apps that share files; of the first day one is gone, and its rows still lie there."""
    schema = pa.schema([("dt", pa.int64()), ("app", pa.string())])
    table = coalesce.create(tmp_path / "t", schema, partition_by=["dt", "app"], rule=coalesce.small("app"))
    table.set_properties({"remove.by": "mark"})
    table.append([{"dt": day, "app": app} for day in (1, 2) for app in "ABC" for _ in range(4)])
    table.drop_partition(dt=1, app="B")
    return tmp_path / "t"


def test_dead_rows_are_shown(capsys: pytest.CaptureFixture[str], partly_dead: Path) -> None:
    """Of the table, of each file and of each version, where there are any; and not a word where there are none."""
    (file, other) = json.loads(answer(capsys, "files", partly_dead, "--json"))["files"]
    assert (file["rows"], file["dead_rows"], other["rows"], other["dead_rows"]) == (8, 4, 12, 0)
    described = json.loads(answer(capsys, "describe", partly_dead, "--json"))
    assert (described["rows"], described["dead_rows"], described["dead_bytes"]) == (20, 4, file["bytes"] // 3)
    about = answer(capsys, "describe", partly_dead)
    assert re.search(r"^removed +4 rows that still lie in files, about [0-9.]+ \w+; purge writes", about, re.MULTILINE)
    assert re.search(r"rows +dead rows +bytes.*\n +8 +4 .*\n +12 +0 ", answer(capsys, "files", partly_dead))
    newest = answer(capsys, "history", partly_dead).splitlines()[1]
    assert newest.split()[3:] == ["drop_partition", "2", "20", "4", "-4"]
    versions = json.loads(answer(capsys, "history", partly_dead, "--json"))["versions"]
    assert [v["dead_rows"] for v in versions] == [4, 0, 0, 0]
    listed = coalesce.open(partly_dead)
    assert listed.files().to_arrow().column("dead_rows").to_pylist() == [4, 0]
    assert listed.history().to_arrow().column("dead_rows").to_pylist() == [4, 0, 0, 0]
    for verb in ("describe", "files", "history"):
        assert not re.search(r"dead rows|removed +\d", answer(capsys, verb, partly_dead, "--version", "2"))


def test_purge_says_what_it_would_do_and_does_it(capsys: pytest.CaptureFixture[str], partly_dead: Path) -> None:
    """Where it is asked for: by what was removed, not by what is there."""
    assert answer(capsys, "purge", partly_dead, "--where", "app = 'A'") == "nothing to do\n"
    would = answer(capsys, "purge", partly_dead, "--where", "app = 'B'", "--dry-run")
    assert re.match(r"1 file \(.*\) would become about 1\n  1 with rows that were removed\n", would)
    did = answer(capsys, "purge", partly_dead)
    assert re.match(r"1 file \(.*\) became 1 \(.*\) in 1 commit\n  1 with rows that were removed\n", did)
    again = json.loads(answer(capsys, "purge", partly_dead, "--json"))
    assert (again["files_before"], again["version"]) == (0, 4)
    assert coalesce.open(partly_dead).state.dead_rows == 0
    assert complaint(capsys, "purge", partly_dead, "--where", "apps = 1").startswith("coalesce: ")
