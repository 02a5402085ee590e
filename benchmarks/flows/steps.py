"""One step after the other: what is timed, how often, and what stands in the table if it cannot be done.

A step that fails, or that the engine does not have, leaves words in place of its figure; the others go on.
"""

import time
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from typing import Any, Final

from benchmarks.answers import Answer, answer
from benchmarks.engines.engine import Engine, NotOffered
from benchmarks.findings import Notebook
from benchmarks.turns import Turns
from benchmarks.workload import Query, Size

_ENOUGH: Final = 20.0  # seconds, in all processes together, after which no query is repeated any more
_CHANGED_ENOUGH: Final = 40.0  # and no change: whoever has done the same changes as often has the same rows
# What is short is repeated so often, first to warm up, since so long does a JVM compile what it runs, and then by the
# clock; as long as all of it takes no more than so many seconds, by the clock those that the workload says.
_ROUNDS, _SHORT = (12, 60), 2.0
# What is the same each time and takes less than so many seconds is done several times in a turn: of a fraction of a
# millisecond, most would be to wake up after the turns of others.
_BRIEF, _AT_MOST = 0.005, 20


@dataclass(slots=True)
class Attempt:
    """Whether a step was done."""

    done: bool = False


class Steps:
    """The steps of one flow, with an engine and a notebook; other engines take the same steps, and turns.

    `process` is the number of this process among those that take the same steps, each on a table of its own.
    """

    def __init__(
        self, engine: Engine, notes: Notebook, size: Size, turns: Turns | None = None, process: int = 0
    ) -> None:
        self.engine = engine
        self.notes = notes
        self.repeats = size.repeats
        self.turns = Turns() if turns is None else turns
        self.process = process
        self._seconds = size.seconds / size.processes
        self._enough = _ENOUGH / size.processes
        self._changed_enough = _CHANGED_ENOUGH / size.processes

    @contextmanager
    def words_for(self, name: str) -> Iterator["Attempt"]:
        """What goes wrong inside becomes words."""
        attempt = Attempt()
        try:
            yield attempt
            attempt.done = True
        except NotOffered as reason:
            self.notes.words(name, str(reason))
        except Exception as error:  # noqa: BLE001 - whatever a peer raises is what there is to say of it
            traceback.print_exc()
            self.notes.words(name, f"failed: {_first_line(error)}")

    def once(self, name: str, work: Callable[[], object], unit: str = "ms") -> bool:
        """Time something that can be done only once; whether it was."""
        self.turns.step()
        with self.words_for(name) as attempt:
            took = seconds(work)
            self.notes.figure(name, took * (1e3 if unit == "ms" else 1), unit)
        return attempt.done

    def each(self, name: str, works: Sequence[Callable[[], object]], unmeasured: int = 1) -> int:
        """Time what can be done only once, each on a table or a tenant of its own; so many first ones warm up.

        How many were done. Of changes two at least: what is there afterwards is asked for those.
        """
        self.turns.step()
        done, spent = 0, 0.0
        with self.words_for(name):
            for work in works:
                if done:
                    self.turns.next()
                took = seconds(work)
                if done >= unmeasured:
                    self.notes.figure(name, took * 1e3, "ms")
                spent += took
                done += 1
                if done > unmeasured and spent > self._changed_enough:
                    break
        return done

    def in_turns(
        self,
        works: Mapping[str, Callable[[], object]],
        least: int = 1,
        rounds: tuple[int, int] = _ROUNDS,
        alike: Collection[str] = (),
    ) -> None:
        """Time each of several again and again, all of them in turns; a long one less often.

        So what disturbs the machine for a while is in few figures of each. Every round begins with another. `rounds`
        are those that warm up and those that are measured. What is `alike` asks the same each time.
        """
        self.turns.step()
        warming, measured = dict.fromkeys(works, 0.0), dict.fromkeys(works, 0.0)
        often = dict.fromkeys(works, 1)
        for number in range(-rounds[0], rounds[1]):
            going = [n for n in measured if self._goes_on(number, least, warming[n], measured[n])]
            first = number % len(going) if going else 0
            for name in [*going[first:], *going[:first]]:
                with self.words_for(name) as attempt:
                    spent = seconds(partial(_repeatedly, works[name], often[name]))
                    (warming if number < 0 else measured)[name] += spent
                    took = spent / often[name]
                    if number >= 0:
                        self.notes.figure(name, took * 1e3, "ms")
                    elif name in alike:
                        often[name] = max(1, int(_BRIEF / max(took, _BRIEF / _AT_MOST)))
                if not attempt.done:
                    del measured[name]
            if going:
                self.turns.next()

    def _goes_on(self, number: int, least: int, warming: float, measured: float) -> bool:
        """Whether something is done in a round, by what it has taken so far; those before round 0 warm up."""
        if number < 0:
            return warming == 0 or warming < min(_SHORT, self._seconds)
        if number == 0:
            return True
        return warming + measured <= self._enough if number < max(self.repeats, least) else measured <= self._seconds

    def queries(
        self,
        queries: Mapping[str, Sequence[Query]],
        beside: Mapping[str, Callable[[], object]] | None = None,
        rounds: tuple[int, int] = _ROUNDS,
        own: Collection[str] = (),
        again: int = 3,
    ) -> None:
        """Time queries, by the names that their figures are to have; and what takes turns with them.

        Each has several forms, of which every round asks the next one: who has kept what the first one found does not
        know the second. Of the first, the answer is written down and, by a run of its own, what it reads, when what
        the table itself is made of has been read before. When all have been timed, so many forms are asked `again`, and
        what anybody has kept is compared, too. Answers to its `own` questions each engine has for itself: they depend
        on what it has been able to do.
        """
        self.turns.step()
        works: dict[str, Callable[[], object]] = dict(beside or {})
        firsts: dict[str, Answer] = {}
        for name, forms in queries.items():
            with self.words_for(name) as attempt:
                for form in forms:
                    self.engine.prepare(form.where)
                firsts[name] = answer(forms[0], self.engine.query(forms[0]))
                if name not in own:
                    self.notes.answer(name, firsts[name])
                self.engine.watch()
                self.engine.query(forms[0])
                read = self.engine.read()
                if read.files is not None:
                    self.notes.figure(f"{name}: files read", read.files, "files")
                if read.bytes is not None:
                    self.notes.figure(f"{name}: bytes read", read.bytes / 1024, "KB")
            if attempt.done:
                works[name] = rotating(self.engine.query, forms)
        self.in_turns(works, rounds=rounds, alike=[name for name, forms in queries.items() if len(forms) == 1])
        for name, forms in queries.items():
            known = 0 if name not in works else 1 if name in own else again
            for number, form in enumerate(forms[:known]):
                with self.words_for(name):
                    given = answer(form, self.engine.query(form))
                    if name not in own:
                        self.notes.answer(name if number == 0 else f"{name}, of others ({number})", given)
                    elif given != firsts[name]:
                        raise ValueError(f"it was {firsts[name]} once, and is {given} by now")

    def check(self, query: Query) -> None:
        """Write down an answer, and time nothing."""
        with self.words_for(query.name):
            self.notes.answer(query.name, answer(query, self.engine.query(query)))

    def footprint(self, after: str = "") -> None:
        """Write down what the table takes."""
        with self.words_for(f"files{after}"):
            found = self.engine.footprint()
            self.notes.figure(f"files{after}", found.files, "files")
            self.notes.figure(f"directories{after}", found.directories, "directories")
            self.notes.figure(f"data{after}", found.data_bytes / 2**20, "MB")
            self.notes.figure(f"metadata{after}", found.metadata_bytes / 1024, "KB")


def rotating(ask: Callable[[Any], object], forms: Sequence[Any]) -> Callable[[], object]:
    """Ask the next form each time, and after the last one the first again."""
    following = cycle(forms)
    return lambda: ask(next(following))


def _repeatedly(work: Callable[[], object], times: int) -> None:
    for _ in range(times):
        work()


def seconds(work: Callable[[], object]) -> float:
    """How long some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return f"{type(error).__name__}: {text.splitlines()[0]}"[:200]
