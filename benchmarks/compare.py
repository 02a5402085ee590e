"""`compare`: two outcomes of the same workload side by side. Do the ratios agree?"""

import math

from benchmarks.engines.registry import ENTRIES, OURS
from benchmarks.outcome import Outcome
from benchmarks.ratios import figures, table, times
from benchmarks.workload import Refused


def compared(one: Outcome, other: Outcome, within: float) -> tuple[str, list[str]]:
    """Both ratios of every figure, as Markdown, and what is against it: those that differ by more than `within` or are
    in one only, and runs whose own answers differ.
    """
    if (one.workload, one.size) != (other.workload, other.size):
        raise Refused(
            f"{one.workload} ({one.size}) and {other.workload} ({other.size}) are not the same: nothing to compare."
        )
    rows, apart, alone = [], [], []
    for name in dict.fromkeys([*one.engines, *other.engines]):
        ours = OURS[ENTRIES[name].spark]
        if name == ours:
            continue
        for figure in dict.fromkeys(figure for outcome in (one, other) for figure in _figures(outcome, name)):
            first, second = [_ratio(outcome, name, ours, figure) for outcome in (one, other)]
            if first is None and second is None:
                continue
            if first is None or second is None:
                alone.append(f"{name}, {figure}: only the {'second' if first is None else 'first'} has it")
                continue
            least, most = min(first, second), max(first, second)
            difference = 0.0 if least == most else most / least - 1 if least > 0 else math.inf
            rows.append([name, figure, f"{first:.2f}×", f"{second:.2f}×", f"{difference:.0%}"])
            if difference > within:
                apart.append(f"{name}, {figure}: {first:.2f}× and {second:.2f}×")
    if not rows:
        raise Refused("the two have no engine and figure in common: nothing to compare.")
    wrong = [f"an answer, {text}" for outcome in (one, other) for text in outcome.disagreements()]
    header = ["engine", "figure", f"first, {_commit(one)}", f"second, {_commit(other)}", "apart"]
    return table(header, rows), [*apart, *alone, *wrong]


def _commit(outcome: Outcome) -> str:
    return f"commit {outcome.machine.get('commit', 'unknown')}"


def _figures(outcome: Outcome, name: str) -> list[str]:
    return figures(outcome, [name]) if name in outcome.engines else []


def _ratio(outcome: Outcome, name: str, ours: str, figure: str) -> float | None:
    if name not in outcome.engines or ours not in outcome.engines:
        return None
    found, base = outcome.engines[name], outcome.engines[ours]
    if figure in found.units and found.units[figure] != base.units.get(figure, found.units[figure]):
        raise Refused(f"{figure} of {name} is in {found.units[figure]}, and ours is in {base.units[figure]}.")
    return times(found, base, figure)
