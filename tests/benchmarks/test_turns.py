import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.turns import Turns, Worker, hand_out

ROOT = Path(__file__).parents[2]
# Writes down what it does; its words are steps ("|") and turns (any other), then how it ends.
PROGRAM = """
import sys, time
from benchmarks.turns import Turns

turns, name, log = Turns(), sys.argv[1], sys.argv[3]
for word in sys.argv[2]:
    if word == "x":
        raise ValueError("no more of this")
    if word == "z":
        time.sleep(60)
    turns.step() if word == "|" else turns.next()
    with open(log, "a") as file:
        file.write(name + word + " ")
"""


def worker(tmp_path: Path, name: str, words: str, seconds: float = 30) -> Worker:
    """A process that does what the words say."""
    command = [sys.executable, "-c", PROGRAM, name, words, str(tmp_path / "done")]
    return Worker(command, directory=ROOT, log=tmp_path / f"{name}.log", seconds=seconds)


def test_processes_take_turns_one_after_the_other(tmp_path: Path) -> None:
    """Each has one turn before any has its next, and each is the first in its turn."""
    failed = hand_out({name: worker(tmp_path, name, "123") for name in "abc"})
    assert failed == {}
    assert (tmp_path / "done").read_text().split() == ["b1", "c1", "a1", "c2", "a2", "b2", "a3", "b3", "c3"]


def test_nobody_begins_a_step_before_the_others_have_come_to_it(tmp_path: Path) -> None:
    """One that has less to do waits there."""
    assert hand_out({"a": worker(tmp_path, "a", "|1|2"), "b": worker(tmp_path, "b", "|123|4")}) == {}
    done = (tmp_path / "done").read_text().split()
    assert {*done[:2]} == {"a|", "b|"}
    assert {*done[2:6]} == {"a1", "b1", "b2", "b3"}
    assert {*done[6:8]} == {"a|", "b|"}
    assert {*done[8:]} == {"a2", "b4"}


def test_one_that_fails_or_takes_too_long_leaves_its_turns_to_the_others(tmp_path: Path) -> None:
    """What went wrong is said; whatever still runs is ended."""
    begun = time.monotonic()
    failed = hand_out(
        {
            "fails": worker(tmp_path, "a", "1x"),
            "sleeps": worker(tmp_path, "b", "1z2", seconds=1.5),
            "works": worker(tmp_path, "c", "123"),
        }
    )
    assert failed == {"fails": "failed: ValueError: no more of this", "sleeps": "not finished in 0 minutes"}
    assert (tmp_path / "done").read_text().split() == ["b1", "c1", "a1", "c2", "c3"]
    assert time.monotonic() - begun < 30


def test_one_that_is_killed_while_it_waits_leaves_its_turns_to_the_others(tmp_path: Path) -> None:
    """As a machine does that has no memory left."""
    killer = (
        f"import os, signal, time; time.sleep(1); os.kill(int(open({str(tmp_path / 'pid')!r}).read()), signal.SIGKILL)"
    )
    waiting = PROGRAM.replace(
        "import sys, time", f"import os, sys, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))"
    )
    workers = {
        "killed": Worker(
            [sys.executable, "-c", waiting, "a", "12", str(tmp_path / "done")],
            directory=ROOT,
            log=tmp_path / "a.log",
            seconds=30,
        ),
        "kills": Worker([sys.executable, "-c", killer], directory=ROOT, log=tmp_path / "b.log", seconds=30),
        "works": worker(tmp_path, "c", "123"),
    }
    failed = hand_out(workers)
    assert failed.keys() == {"killed"}
    assert failed["killed"].startswith("failed")
    assert (tmp_path / "done").read_text().split() == ["c1", "c2", "c3"]


def test_only_the_turns_of_a_process_count_as_its_time(tmp_path: Path) -> None:
    """Not those that it has waited for."""
    slow = [sys.executable, "-c", "import time; time.sleep(4.5)"]
    workers = {
        "waits": worker(tmp_path, "a", "12", seconds=4),
        "slow": Worker(slow, directory=ROOT, log=tmp_path / "slow.log", seconds=30),
    }
    assert hand_out(workers) == {}


RESTLESS = """
import sys, threading, time
from benchmarks.turns import Turns

def ticks():
    while True:
        with open(sys.argv[1], "a") as file:
            file.write(f"{time.time()}\\n")
        time.sleep(0.02)

threading.Thread(target=ticks, daemon=True).start()
turns = Turns()
for _ in range(2):
    time.sleep(0.5)
    turns.next()
time.sleep(0.5)
"""
WORKING = """
import sys, time
from benchmarks.turns import Turns

turns = Turns()
turns.next()
with open(sys.argv[1], "a") as file:
    begun = time.time()
    time.sleep(1.5)
    file.write(f"{begun} {time.time()}")
"""


def test_whoever_waits_does_nothing(tmp_path: Path) -> None:
    """What a process does beside its work, it does in its own turns: in those of others it is stopped."""
    workers = {
        name: Worker(
            [sys.executable, "-c", program, str(tmp_path / name)],
            directory=ROOT,
            log=tmp_path / f"{name}.log",
            seconds=30,
        )
        for name, program in (("restless", RESTLESS), ("working", WORKING))
    }
    assert hand_out(workers) == {}
    begun, ended = map(float, (tmp_path / "working").read_text().split())
    ticks = [float(line) for line in (tmp_path / "restless").read_text().splitlines()]
    assert not [tick for tick in ticks if begun + 0.1 < tick < ended - 0.1]
    assert min(ticks) < begun
    assert max(ticks) > ended


@pytest.mark.skipif(not Path("/proc").exists(), reason="only Linux tells there what a process does")
def test_nobody_stays_stopped_when_whoever_hands_out_turns_is_killed(tmp_path: Path) -> None:
    """Those that waited are ended, too."""
    program = f"""
import sys
from pathlib import Path
from benchmarks.turns import Worker, hand_out

own = "import os, sys, time; from benchmarks.turns import Turns; open(sys.argv[1], 'w').write(str(os.getpid())); "
workers = {{
    name: Worker(
        [sys.executable, "-c", own + last, f"{tmp_path}/{{name}}"],
        directory=Path("."),
        log=Path("{tmp_path}/log"),
        seconds=60,
    )
    for name, last in (("waits", "Turns().next()"), ("works", "time.sleep(60)"))
}}
hand_out(workers)
"""
    runner = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)
    waits, works = tmp_path / "waits", tmp_path / "works"
    until(lambda: works.exists() and works.read_text() != "")
    pids = [int(path.read_text()) for path in (waits, works)]
    assert all(runs(pid) for pid in pids)
    runner.kill()
    runner.wait()
    until(lambda: not any(runs(pid) for pid in pids))


def until(true: Callable[[], bool]) -> None:
    """Wait, half a minute at the most."""
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def runs(pid: int) -> bool:
    """Whether there is such a process, which has not ended and waits to be looked at."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_without_anybody_who_hands_out_turns_it_is_always_ones_turn() -> None:
    """As in a test, or by hand."""
    assert "COALESCE_BENCHMARKS_TURNS" not in os.environ
    turns = Turns()
    turns.step()
    turns.next()


def test_a_worker_whose_parent_is_gone_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not go on measuring for nobody."""
    asked, asking = os.pipe()
    granted, grants = os.pipe()
    os.close(grants)
    monkeypatch.setenv("COALESCE_BENCHMARKS_TURNS", f"[{asking}, {granted}]")
    with pytest.raises(SystemExit, match="nobody hands out turns"):
        Turns().next()
    for pipe in (asked, asking, granted):
        os.close(pipe)
