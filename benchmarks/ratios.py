"""Outcomes as a Markdown table of ratios: our figure with its unit, and how many times as much each other takes."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from benchmarks.engines.registry import ENTRIES, OURS
from benchmarks.findings import PROCESS, TIMES, Findings
from benchmarks.outcome import Outcome

_LESS: Final = 0.95  # of our figure: what is closer is the same
_MANY: Final = 4  # repeats: of fewer, the faster half is hardly more than the least
_OTHERWISE: Final = 0.2  # by which a ratio of medians is another one


def markdown(outcome: Outcome, only: Callable[[str], bool] = lambda _: True) -> str:
    """The whole of it: what was run and on what, a table for each kind of engine, and what could not be had or done."""
    parts = [_heading(outcome)]
    for spark in (True, False):
        names = [name for name in outcome.engines if ENTRIES[name].spark is spark]
        there = [name for name in names if outcome.engines[name].unavailable is None]
        if there:
            parts.append(_table(outcome, there, OURS[spark], only))
            parts.append(_behind(outcome, there, OURS[spark], only))
            parts.append(_by_the_median(outcome, there, OURS[spark], only))
            parts.append(_few(outcome, there, only))
    notes = [*_unavailable(outcome), *_words(outcome)]
    if notes:
        parts.append("\n".join(["Not in the table:", "", *notes]))
    parts.append(_agreement(outcome))
    return "\n\n".join(part for part in parts if part) + "\n"


def _heading(outcome: Outcome) -> str:
    machine, begun, ended = outcome.machine, outcome.begun, outcome.ended
    versions: dict[str, str] = {}
    for found in outcome.engines.values():
        for name, version in found.versions.items():
            if version not in versions.get(name, ""):
                versions[name] = f"{versions[name]} and {version}" if name in versions else version
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"`{outcome.workload}`, {outcome.size}: {outcome.rows:,} rows, {outcome.partitions:,} logical partitions. "
        f"{begun['at']} to {ended['at']}; load {begun['load']} and {ended['load']} on {machine['cores']} cores "
        f"({machine['processor']}, {machine['memory_gb']} GB); {machine['system']}, Python {machine['python']}, "
        f"{listed}; commit {machine.get('commit', 'unknown')}. "
        f"Of times the mean of the faster half; {outcome.rounds} {'round' if outcome.rounds == 1 else 'rounds'}."
    )


def _table(outcome: Outcome, names: Sequence[str], ours: str, only: Callable[[str], bool]) -> str:
    base = outcome.engines.get(ours)
    if base is None or base.unavailable is not None:
        base = Findings()
    others = [name for name in names if name != ours]
    rows = [
        [figure, _absolute(base, figure), *(_cell(outcome.engines[name], base, figure) for name in others)]
        for figure in figures(outcome, names)
        if only(figure)
    ]
    return table(["", ours, *others], rows)


def figures(outcome: Outcome, names: Iterable[str]) -> list[str]:
    """All figures of some engines, each once, as they were measured, those of one thing together."""
    found = [outcome.engines[name] for name in names]
    known = dict.fromkeys(figure for one in found for figure in one.figures)
    order = max((list(one.figures) for one in found), key=len, default=[])
    all_ = [*order, *(figure for figure in known if figure not in order)]
    place = {kind: number for number, kind in reversed([*enumerate(figure.partition(":")[0] for figure in all_)])}
    return sorted(all_, key=lambda figure: (place[figure.partition(":")[0]], ":" in figure))


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown."""
    lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _behind(outcome: Outcome, names: Sequence[str], ours: str, only: Callable[[str], bool]) -> str:
    """Everything that takes others less, the table's own figures: nobody has to look for what is lost."""
    base, lost = outcome.engines.get(ours, Findings()), []
    for figure in figures(outcome, names):
        less = [(times(outcome.engines[name], base, figure) or 1, name) for name in names if name != ours]
        least = [f"{name} {factor:.2f}×" for factor, name in sorted(less) if factor < _LESS]
        if least and only(figure):
            lost.append(f"{figure} ({', '.join(least)})")
    return f"**Behind**: {'; '.join(lost)}." if lost else ""


def _by_the_median(outcome: Outcome, names: Sequence[str], ours: str, only: Callable[[str], bool]) -> str:
    """Times whose ratio would be another one by the median: of somebody, repeats are far apart."""
    base, other = outcome.engines.get(ours, Findings()), []
    for figure in figures(outcome, names):
        said = []
        for name in names:
            one, middle = (times(outcome.engines[name], base, figure, middle=middle) for middle in (False, True))
            if name != ours and one and middle and max(one, middle) / min(one, middle) - 1 > _OTHERWISE:
                said.append(f"{name} {middle:.2f}×")
        if said and only(figure) and base.units[figure] in TIMES:
            other.append(f"{figure} ({', '.join(said)})")
    return f"**Otherwise by the median**, by more than {_OTHERWISE:.0%}: {'; '.join(other)}." if other else ""


def _few(outcome: Outcome, names: Sequence[str], only: Callable[[str], bool]) -> str:
    """Times that were measured so seldom that luck has a part in them, with the least number of repeats."""
    seldom = {}
    for figure in figures(outcome, names):
        found = [outcome.engines[name] for name in names if figure in outcome.engines[name].figures]
        least = min(len(one.figures[figure]) for one in found)
        if least < _MANY and found[0].units[figure] in TIMES and only(figure):
            seldom[figure] = least
    return f"**Seldom repeated**: {', '.join(f'{figure} ({n})' for figure, n in seldom.items())}." if seldom else ""


def times(found: Findings, base: Findings, figure: str, *, middle: bool = False) -> float | None:
    """How many times as much as another takes; None where that says nothing."""
    value, other = found.value(figure, middle=middle), base.value(figure, middle=middle)
    return None if value is None or other is None else ratio(value, other)


def ratio(one: float, other: float) -> float | None:
    """How many times as much; None where that says nothing."""
    return one / other if other > 0 else None


def _absolute(found: Findings, figure: str) -> str:
    value = found.value(figure)
    return missing(found, figure) if value is None else amount(value, found.units[figure])


def _cell(found: Findings, base: Findings, figure: str) -> str:
    value, factor = found.value(figure), times(found, base, figure)
    if value is None:
        return missing(found, figure)
    if factor is None:
        return amount(value, found.units[figure])
    return f"{factor:,.0f}×" if factor >= 100 else f"{factor:.1f}×" if factor >= 10 else f"{factor:.2f}×"


def missing(found: Findings, figure: str) -> str:
    """What stands in the place of a figure: that there is no such thing, or how its process ended before it."""
    step = figure.partition(":")[0]  # of which others, such as bytes read, are a part
    text = found.words.get(figure, found.words.get(step))
    if text is not None:
        return "**failed**" if text.startswith("failed") else "no"
    if step != figure and step in found.figures:
        return ""
    ended = next((text for step, text in found.words.items() if step.startswith(PROCESS)), None)
    return "" if ended is None else "too long" if ended.startswith("not finished") else "**ended**"


def amount(value: float, unit: str) -> str:
    """A figure for people."""
    for unit_, more, step in (("ms", "s", 1000), ("KB", "MB", 1024), ("MB", "GB", 1024)):
        if unit == unit_ and value >= step:
            value, unit = value / step, more
    if unit in ("files", "directories"):
        return f"{value:,.0f}"
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.1f} {unit}" if value >= 10 else f"{value:.2f} {unit}"


def _unavailable(outcome: Outcome) -> list[str]:
    return [
        f"* {name} has no figures: {found.unavailable}."
        for name, found in outcome.engines.items()
        if found.unavailable is not None
    ]


def _words(outcome: Outcome) -> list[str]:
    """What engines said in place of a figure; those that said the same stand together."""
    said: dict[tuple[str, str], list[str]] = {}
    for name, found in outcome.engines.items():
        for step, text in found.words.items():
            said.setdefault((step, text), []).append(name)
    return [f"* {step}: {', '.join(names)}: {text}." for (step, text), names in said.items()]


def _agreement(outcome: Outcome) -> str:
    if differing := outcome.disagreements():
        return "\n".join(["**ERROR: the answers differ.**", "", *(f"* {text}" for text in differing)])
    if outcome.questions() == 0:
        return "No question was answered by more than one engine: nothing could be compared."
    alone = outcome.answered_alone()
    said = f"The answers to {outcome.questions()} questions were compared, rows and checksums: all engines agree."
    return (
        said
        if not alone
        else f"{said} {len(alone)} more had one answer only, and so none to compare with: "
        + ("; ".join(f"{question} ({name})" for question, name in alone.items()) + ".")
    )
