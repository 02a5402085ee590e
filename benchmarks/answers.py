"""Answers of queries, and whether all engines gave the same one."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from benchmarks.workload import Query


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query said: over how many rows it computed, and a digest of all it computed."""

    rows: int
    checksum: str


def answer(query: Query, rows: Sequence[Sequence[Any]]) -> Answer:
    """The answer in a few characters. The order of groups means nothing; a count of 3 and one of 3.0 are the same."""
    texts = sorted("|".join(_text(value) for value in row) for row in rows)
    place = next((i for i, (function, _) in enumerate(query.aggregates) if function == "count"), None)
    counted = 0 if place is None else sum(int(row[place + (query.by is not None)]) for row in rows)
    return Answer(counted, hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12])


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, datetime):  # without a zone it is the machine's, as Spark hands it to Python
        return value.astimezone(UTC).isoformat()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def disagreements(answers: Mapping[str, Mapping[str, Answer]]) -> list[str]:
    """For each question, who differs from most; `answers` goes by engine, then by question. Empty if all agree."""
    questions = dict.fromkeys(question for said in answers.values() for question in said)
    found = []
    for question in questions:
        said = {engine: given[question] for engine, given in answers.items() if question in given}
        if len(set(said.values())) > 1:
            usual = max(said.values(), key=list(said.values()).count)
            others = ", ".join(
                f"{engine} says {given.rows:,} rows ({given.checksum})"
                for engine, given in said.items()
                if given != usual
            )
            found.append(f"{question}: {others}; the others say {usual.rows:,} rows ({usual.checksum})")
    return found
