"""What a process of an engine has found so far: one line of JSON each, on disk as soon as it is known.

So what was measured before an engine failed, or took too long, is not lost.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Final

from benchmarks.answers import Answer

TIMES: Final = ("ms", "s")
MEMORY: Final = "peak memory"  # how the names of such figures end
PROCESS: Final = "the process that is to"  # how those of words begin that say how a process has ended


class Notebook:
    """Where a process writes its findings."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def figure(self, name: str, value: float, unit: str) -> None:
        """A measured figure; several of one name are repeats."""
        self._line({"figure": name, "value": value, "unit": unit})

    def words(self, name: str, text: str) -> None:
        """What stands in a figure's place."""
        self._line({"words": name, "text": text})

    def answer(self, question: str, answer: Answer) -> None:
        """What was answered."""
        self._line({"answer": question, "rows": answer.rows, "checksum": answer.checksum})

    def versions(self, versions: Mapping[str, str]) -> None:
        """What the engine is made of."""
        self._line({"versions": dict(versions)})

    def _line(self, content: Mapping[str, object]) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps(content, ensure_ascii=False) + "\n")


@dataclass(slots=True, kw_only=True)
class Findings:
    """All that is known of one engine: figures with their units and repeats, words, answers, versions."""

    figures: dict[str, list[float]] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    contradictions: list[str] = field(default_factory=list)
    unavailable: str | None = None

    def take(self, path: Path) -> None:
        """Add what a process has written down; of one that was killed, the last line may be half of one."""
        text = path.read_text(errors="replace") if path.exists() else ""
        for line in text.split("\n")[:-1]:
            said = json.loads(line)
            if "figure" in said:
                self.figures.setdefault(said["figure"], []).append(said["value"])
                self.units[said["figure"]] = said["unit"]
            elif "words" in said:
                self.words[said["words"]] = said["text"]
            elif "versions" in said:
                self.versions |= said["versions"]
            else:
                self._take_answer(said["answer"], Answer(said["rows"], said["checksum"]))

    def _take_answer(self, question: str, given: Answer) -> None:
        before = self.answers.setdefault(question, given)
        if before != given:
            self.contradictions.append(f"{question}: {before.rows:,} rows once and {given.rows:,} another time")

    def value(self, name: str, *, middle: bool = False) -> float | None:
        """Of times the mean of the faster half, of memory the least, of everything else the median; if the `middle`
        is wanted, the median of everything.

        Whatever comes in between makes times longer, but the least of all is luck, and the more repeats there are, the
        more of it: two runs agreed better by the half than by the quarter, the median or the mean. And a JVM holds what
        it once had.
        """
        values = sorted(self.figures.get(name, ()))
        if not values:
            return None
        if middle:
            return median(values)
        if self.units[name] in TIMES:
            return fmean(values[: -(-len(values) // 2)])
        return values[0] if name.endswith(MEMORY) else median(values)

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        if self.unavailable is not None:
            return {"unavailable": self.unavailable}
        return {
            "versions": self.versions,
            "figures": {
                name: {"unit": self.units[name], "values": [round(value, 6) for value in values]}
                for name, values in self.figures.items()
            },
            "words": self.words,
            "answers": {question: [given.rows, given.checksum] for question, given in self.answers.items()},
            "contradictions": self.contradictions,
        }

    @classmethod
    def from_dict(cls, said: Mapping[str, object]) -> "Findings":
        """Out of JSON."""
        found = cls(unavailable=_text(said.get("unavailable")))
        figures = said.get("figures", {})
        assert isinstance(figures, dict)
        for name, figure in figures.items():
            found.figures[name], found.units[name] = [float(value) for value in figure["values"]], figure["unit"]
        for name in ("words", "versions"):
            given = said.get(name, {})
            assert isinstance(given, dict)
            getattr(found, name).update(given)
        answers, contradictions = said.get("answers", {}), said.get("contradictions", [])
        assert isinstance(answers, dict)
        assert isinstance(contradictions, list)
        found.answers = {question: Answer(rows, checksum) for question, (rows, checksum) in answers.items()}
        found.contradictions = list(contradictions)
        return found


def _text(value: object) -> str | None:
    return None if value is None else str(value)
