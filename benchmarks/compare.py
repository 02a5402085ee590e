"""`compare`: two outcomes of the same workload side by side. Do the ratios agree?"""

from benchmarks.engines.registry import ENTRIES, OURS
from benchmarks.outcome import Outcome
from benchmarks.ratios import figures, table, times
from benchmarks.workload import Refused


def compared(one: Outcome, other: Outcome, within: float) -> tuple[str, list[str]]:
    """Both ratios of every figure of every engine, as Markdown, and which of them differ by more than `within`."""
    if (one.workload, one.size) != (other.workload, other.size):
        raise Refused(
            f"{one.workload} ({one.size}) and {other.workload} ({other.size}) are not the same: nothing to compare."
        )
    rows, apart = [], []
    for name in one.engines:
        ours = OURS[ENTRIES[name].spark]
        if name == ours or name not in other.engines:
            continue
        for figure in figures(one, [name]):
            first, second = [_ratio(outcome, name, ours, figure) for outcome in (one, other)]
            if first is None or second is None:
                continue
            difference = max(first, second) / min(first, second) - 1 if min(first, second) > 0 else 0.0
            rows.append([name, figure, f"{first:.2f}×", f"{second:.2f}×", f"{difference:.0%}"])
            if difference > within:
                apart.append(f"{name}, {figure}: {first:.2f}× and {second:.2f}×")
    if not rows:
        raise Refused("the two have no engine and figure in common: nothing to compare.")
    return table(["engine", "figure", "first", "second", "apart"], rows), apart


def _ratio(outcome: Outcome, name: str, ours: str, figure: str) -> float | None:
    return times(outcome.engines[name], outcome.engines[ours], figure) if ours in outcome.engines else None
