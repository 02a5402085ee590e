"""The outcome of a run: what was run, on what, and what each engine was found to do; kept as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.answers import disagreements
from benchmarks.engines.registry import ENTRIES
from benchmarks.findings import Findings
from benchmarks.workload import Refused, names

_HOUR: Final = {"at", "load"}
_NEEDED: Final = {"machine": {"cores", "processor", "memory_gb", "system", "python"}, "begun": _HOUR, "ended": _HOUR}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One run of one workload in one size."""

    workload: str
    size: str
    rows: int
    partitions: int
    rounds: int
    machine: Mapping[str, object]
    begun: Mapping[str, object]
    ended: Mapping[str, object]
    configurations: Mapping[str, str]
    engines: Mapping[str, Findings]

    def disagreements(self) -> list[str]:
        """Where answers differ: between engines, or of one engine between rounds."""
        between = disagreements({name: found.answers for name, found in self.engines.items()})
        within = [f"{name}, {text}" for name, found in self.engines.items() for text in found.contradictions]
        return between + within

    def questions(self) -> int:
        """How many questions more than one engine has answered."""
        answered = [question for found in self.engines.values() for question in found.answers]
        return len({question for question in answered if answered.count(question) > 1})

    def answered_alone(self) -> dict[str, str]:
        """Questions that only one engine has answered, as nobody else did the same changes as often; and who it was."""
        answered = [(question, name) for name, found in self.engines.items() for question in found.answers]
        asked = [question for question, _ in answered]
        return {question: name for question, name in answered if asked.count(question) == 1}

    def failures(self) -> list[str]:
        """What failed, as opposed to what an engine does not have."""
        return [
            f"{name}, {step}: {text}"
            for name, found in self.engines.items()
            for step, text in found.words.items()
            if text.startswith(("failed", "not finished"))
        ]

    def save(self, path: Path) -> None:
        """Write it down."""
        path.parent.mkdir(parents=True, exist_ok=True)
        said = {name: getattr(self, name) for name in self.__slots__ if name != "engines"}
        said["disagreements"] = self.disagreements()
        said["engines"] = {name: found.to_dict() for name, found in self.engines.items()}
        path.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def joined(outcomes: Sequence[Outcome]) -> Outcome:
    """One of several, of different engines: for those that run one after the other anyway, on another hour."""
    first = outcomes[0]
    for other in outcomes[1:]:
        for what in ("workload", "size", "rows", "partitions", "rounds", "machine"):  # with the commit
            if getattr(first, what) != getattr(other, what):
                raise Refused(f"the {what} of one is {getattr(first, what)}, of another {getattr(other, what)}.")
    engines: dict[str, Findings] = {}
    for outcome in outcomes:
        for name, found in outcome.engines.items():
            if found.unavailable is None and name in engines and engines[name].unavailable is None:
                raise Refused(f"{name} is in two of them: one engine has its figures from one run.")
            if name not in engines or found.unavailable is None:
                engines[name] = found
    order = [name for name in ENTRIES if name in engines]
    return replace(
        first,
        begun=min((outcome.begun for outcome in outcomes), key=lambda hour: str(hour["at"])),
        ended=max((outcome.ended for outcome in outcomes), key=lambda hour: str(hour["at"])),
        configurations={name: text for outcome in outcomes for name, text in outcome.configurations.items()},
        engines={name: engines[name] for name in order},
    )


def load(path: Path) -> Outcome:
    """Read one that was saved."""
    if not path.is_file():
        raise Refused(f"there is no file {path}.")
    try:
        said: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        engines = {name: Findings.from_dict(found) for name, found in said.pop("engines").items()}
        said.pop("disagreements", None)
        if unknown := sorted(engines.keys() - ENTRIES.keys()):
            raise Refused(f"{path} is of an engine that there is not: {', '.join(unknown)}.")
        if said["workload"] not in names():
            raise Refused(f"{path} is of a workload that there is not: {said['workload']!r}.")
        for name in ("rows", "partitions", "rounds"):
            assert isinstance(said[name], int), f"{name} is {said[name]!r}"
        for name, needed in _NEEDED.items():
            assert needed <= said[name].keys(), f"{name} has no {', '.join(sorted(needed - said[name].keys()))}"
        return Outcome(engines=engines, **said)
    except (OSError, ValueError, TypeError, KeyError, AssertionError, AttributeError) as error:
        raise Refused(f"{path} is not the outcome of a run: {error}.") from error
